"""Column screeners against several targets."""

from __future__ import annotations

import numpy as np
import pytest

from symscreen.screeners import SCREENERS, Screener, check_screener, make_multioutput_screener
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.targets.multioutput import build_multi_output_target

COLUMNS = [one for one in SCREENERS.values() if isinstance(one, Screener)]


@pytest.mark.parametrize("aggregate", ["mean", "worst"])
@pytest.mark.parametrize("screener", COLUMNS, ids=lambda one: one.name)
def test_every_promise_is_kept_against_several_targets(screener, aggregate):
    check_screener(make_multioutput_screener(screener, aggregate))


@pytest.mark.parametrize("screener", COLUMNS, ids=lambda one: one.name)
def test_losses_of_single_targets_are_joined(rng, screener):
    targets = {"a": rng.normal(size=40), "b": rng.integers(0, 5, 40).astype(float)}
    values, y = rng.normal(size=(6, 40)), build_multi_output_target(targets)
    values[2:4] = np.round(values[2:4])
    losses = []
    for own, rows in zip(y.outputs, y.sort_order, strict=True):
        block = sort_block(values[:, rows].copy())
        losses.append(screener.loss(screener.statistic(block, own), own, "free"))
    for aggregate, join in (("mean", np.mean), ("worst", np.max)):
        both = make_multioutput_screener(screener, aggregate)
        found = both.loss(both.statistic(sort_block(values), y), y, "free")
        assert found == pytest.approx(join(losses, axis=0), abs=1e-15)
