"""T0 against several responses is what T0 against each is."""

from __future__ import annotations

import numpy as np
import pytest

from symscreen.response.several import several_of
from symscreen.statistics.order import order_features
from symscreen.statistics.several_t0 import ranking_metrics
from symscreen.statistics.t0 import ranking_metric


@pytest.mark.parametrize("n", [2, 31, 2100])
def test_it_is_the_metric_by_each_target(rng, n):
    ends = np.r_[0.0, rng.integers(0, 3, n - 2), 3.0]
    y = several_of({"a": 1e200 * rng.normal(size=n), "b": ends})
    values = np.concatenate([rng.normal(size=(3, n)), rng.integers(0, 5, (3, n)).astype(float)])
    found = ranking_metrics(order_features(values), y)
    for own, rows, metric in zip(y.targets, y.rows, found, strict=True):
        expected = ranking_metric(order_features(values[:, rows].copy()), own)
        assert metric.tolist() == expected.tolist()
    assert ranking_metrics(order_features(-values), y).tolist() == (-found).tolist()
