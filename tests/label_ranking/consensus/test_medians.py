from __future__ import annotations

import numpy as np
import pytest
from helpers.ranking_settings import some_rankings

from symscreen.label_ranking.consensus import median
from symscreen.label_ranking.consensus.median import (
    MEDIAN_METHODS,
    compute_median_rankings,
    find_median_ranking,
)
from symscreen.label_ranking.consensus.pairwise_probabilities import estimate_pairwise_probabilities
from symscreen.targets.ranking_ranks import compute_pair_signs, mask_ranked_pairs


@pytest.mark.parametrize("method", MEDIAN_METHODS)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_each_group_has_its_own_median(rng, monkeypatch, missing, k, method):
    monkeypatch.setattr(median, "_MAX_BLOCK_ELEMENTS", 7 * k * k)  # several blocks
    groups = [some_rankings(rng, int(rng.integers(1, 7)), k, ties=True, missing=missing) for _ in range(40)]
    differences = np.array([compute_pair_signs(ranks).sum(axis=0, dtype=float) for ranks in groups])
    seen = np.array([mask_ranked_pairs(ranks).sum(axis=0, dtype=float) for ranks in groups])
    expected = [
        find_median_ranking(estimate_pairwise_probabilities(ranks), method=method).ranking for ranks in groups
    ]
    assert np.array_equal(compute_median_rankings(differences, seen, k, method), expected)
