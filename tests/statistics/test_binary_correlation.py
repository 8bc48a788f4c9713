from __future__ import annotations

import numpy as np
import pytest

from symscreen.label_ranking import Rankings, pair_signs
from symscreen.response.rankings import RankingResponse
from symscreen.statistics.binary_correlation import binary_correlations


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_it_is_the_weighted_mean_over_pairs(rng, missing):
    ranks = rng.normal(size=(60, 4))
    ranks[rng.random((60, 4)) < missing] = np.nan
    ranks[:, 1] = rng.normal(size=60)
    values = rng.normal(size=(7, 60))
    response = RankingResponse(Rankings(ranks, tuple("abcd")))
    found, weights = np.zeros(7), 0
    for signs in pair_signs(response.ranks).T:
        counts = signs != 0
        found += counts.sum() * np.abs([np.corrcoef(z[counts], signs[counts])[0, 1] for z in values])
        weights += counts.sum()
    assert binary_correlations(values, response.binary) == pytest.approx(found / weights, abs=1e-12)


def test_it_depends_neither_on_the_order_of_labels_nor_on_other_features(rng):
    ranks, values = rng.normal(size=(40, 5)), rng.normal(size=(9, 40))
    found = binary_correlations(values, RankingResponse(Rankings(ranks, tuple("abcde"))).binary)
    turned = binary_correlations(values, RankingResponse(Rankings(-ranks[:, ::-1], tuple("abcde"))).binary)
    assert turned.tobytes() == found.tobytes()
    response = RankingResponse(Rankings(ranks, tuple("abcde")))
    assert (
        b"".join(binary_correlations(z[None], response.binary).tobytes() for z in values) == found.tobytes()
    )
