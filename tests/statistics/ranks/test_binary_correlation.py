from __future__ import annotations

import numpy as np
import pytest

from symscreen.statistics.ranks.correlations import compute_binary_correlations
from symscreen.targets.ranking import RankingTarget
from symscreen.targets.ranking_notation import Rankings
from symscreen.targets.ranking_ranks import compute_pair_signs


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_it_is_the_weighted_mean_over_pairs(rng, missing):
    ranks = rng.normal(size=(60, 4))
    ranks[rng.random((60, 4)) < missing] = np.nan
    ranks[:, 1] = rng.normal(size=60)
    values = rng.normal(size=(7, 60))
    target = RankingTarget(Rankings(ranks, tuple("abcd")))
    found, weights = np.zeros(7), 0
    for signs in compute_pair_signs(target.ranks).T:
        counts = signs != 0
        found += counts.sum() * np.abs([np.corrcoef(z[counts], signs[counts])[0, 1] for z in values])
        weights += counts.sum()
    assert compute_binary_correlations(values, target.binary_targets) == pytest.approx(
        found / weights, abs=1e-12
    )


def test_it_depends_neither_on_the_order_of_labels_nor_on_other_features(rng):
    ranks, values = rng.normal(size=(40, 5)), rng.normal(size=(9, 40))
    found = compute_binary_correlations(values, RankingTarget(Rankings(ranks, tuple("abcde"))).binary_targets)
    turned = compute_binary_correlations(
        values, RankingTarget(Rankings(-ranks[:, ::-1], tuple("abcde"))).binary_targets
    )
    assert turned.tobytes() == found.tobytes()
    target = RankingTarget(Rankings(ranks, tuple("abcde")))
    assert (
        b"".join(compute_binary_correlations(z[None], target.binary_targets).tobytes() for z in values)
        == found.tobytes()
    )
