"""T0 against several responses is what T0 against each is."""

from __future__ import annotations

import numpy as np
import pytest

from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.ranks.t0 import compute_ranking_metric
from symscreen.targets.multioutput import build_multi_output_target


@pytest.mark.parametrize("n", [2, 31, 2100])
def test_it_is_the_metric_by_each_target(rng, n):
    ends = np.r_[0.0, rng.integers(0, 3, n - 2), 3.0]
    y = build_multi_output_target({"a": 1e200 * rng.normal(size=n), "b": ends})
    values = np.concatenate([rng.normal(size=(3, n)), rng.integers(0, 5, (3, n)).astype(float)])
    found = y.compute_ranking_metrics(sort_block(values))
    for own, rows, metric in zip(y.outputs, y.sort_order, found, strict=True):
        expected = compute_ranking_metric(sort_block(values[:, rows].copy()), own)
        assert metric.tolist() == expected.tolist()
    assert y.compute_ranking_metrics(sort_block(-values)).tolist() == (-found).tolist()
