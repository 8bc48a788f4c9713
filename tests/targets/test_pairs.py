from __future__ import annotations

import numpy as np
from helpers.ranking_cases import rankings, signs_by_pair
from hypothesis import given

from symscreen.targets.ranking_ranks import (
    compute_pair_signs,
    list_label_pairs,
    mask_ranked_pairs,
    to_mid_ranks,
)


@given(rankings())
def test_signs_are_those_of_each_pair(rows):
    ranks = to_mid_ranks(rows)
    expected = [signs_by_pair(row) for row in rows]
    assert compute_pair_signs(ranks).tolist() == [[sign or 0 for sign in row] for row in expected]
    assert mask_ranked_pairs(ranks).tolist() == [[sign is not None for sign in row] for row in expected]


def test_pairs_stand_in_the_order_of_their_places():
    ranks = np.array([[4.0, 1.0, 3.0, 2.0]])
    first, second = list_label_pairs(4)
    assert compute_pair_signs(ranks)[0].tolist() == np.sign(ranks[0, first] - ranks[0, second]).tolist()
    assert compute_pair_signs(ranks).dtype == np.int8


def test_one_label_has_no_pairs():
    assert compute_pair_signs(np.ones((3, 1))).shape == mask_ranked_pairs(np.ones((3, 1))).shape == (3, 0)
