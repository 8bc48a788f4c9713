"""T0 over comparable pairs against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from targets.test_survival import pairs_by_definition

from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.ranks.t0 import compute_harrell_c, compute_survival_ranking_metric
from symscreen.targets.survival import SurvivalTarget


def _make_target(rng, n, times, share=0.6):
    events = rng.random(n) < share
    events[np.argmin(times)] = True
    times = np.append(times[:-1], times.max() + 1.0)
    events[:-1] |= times[:-1] == times.min()
    order = np.lexsort((~events, times))
    return SurvivalTarget(times[order], events[order])


@pytest.mark.parametrize("tied_times", [False, True])
@pytest.mark.parametrize("tied_feature", [False, True])
def test_it_is_the_count_over_pairs(rng, tied_times, tied_feature):
    for n in (3, 17, 40):
        times = rng.integers(1, 5, n).astype(float) if tied_times else rng.random(n)
        y = _make_target(rng, n, times)
        values = rng.integers(0, 4, (6, n)).astype(float) if tied_feature else rng.normal(size=(6, n))
        pairs = list(pairs_by_definition(y.times, y.events))
        expected = [sum(np.sign(z[j] - z[i]) for i, j in pairs) / len(pairs) for z in values]
        metric = compute_survival_ranking_metric(sort_block(values), y)
        assert metric.tolist() == expected
        assert compute_survival_ranking_metric(sort_block(-values), y).tolist() == [
            -each for each in expected
        ]


def test_c_is_harrells_share_of_concordant_pairs(rng):
    y = _make_target(rng, 30, rng.integers(1, 9, 30).astype(float))
    z = np.round(rng.normal(size=30))
    pairs = list(pairs_by_definition(y.times, y.events))
    concordant = sum(1.0 if z[j] > z[i] else 0.5 if z[j] == z[i] else 0.0 for i, j in pairs) / len(pairs)
    t0 = 1.0 - compute_survival_ranking_metric(sort_block(z[None]), y)
    assert compute_harrell_c(t0)[0] == pytest.approx(concordant, abs=1e-15)


def test_without_censoring_it_is_kendalls_count(rng):
    times, z = np.sort(rng.random(25)), rng.normal(size=25)
    y = SurvivalTarget(times, np.ones(25, dtype=bool))
    signs = np.sign(np.subtract.outer(z, z))[np.tril_indices(25, -1)]
    assert compute_survival_ranking_metric(sort_block(z[None]), y)[0] == pytest.approx(
        signs.mean(), abs=1e-15
    )
