from __future__ import annotations

import numpy as np
import pytest
from ranking.settings import some_rankings

from symscreen.label_ranking import pair_signs, pairs_shown
from symscreen.ranking import medians
from symscreen.ranking.consensus import median_ranking
from symscreen.ranking.medians import medians_of
from symscreen.ranking.pairwise import pairwise_probabilities


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_each_group_has_its_own_median(rng, monkeypatch, missing, k):
    monkeypatch.setattr(medians, "_AT_ONCE", 7 * k * k)  # in several parts
    groups = [some_rankings(rng, int(rng.integers(1, 7)), k, ties=True, missing=missing) for _ in range(40)]
    differences = np.array([pair_signs(ranks).sum(axis=0, dtype=float) for ranks in groups])
    seen = np.array([pairs_shown(ranks).sum(axis=0, dtype=float) for ranks in groups])
    expected = [median_ranking(pairwise_probabilities(ranks)).ranking for ranks in groups]
    assert np.array_equal(medians_of(differences, seen, k), expected)
