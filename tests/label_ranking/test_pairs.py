from __future__ import annotations

import numpy as np
from hypothesis import given
from ranking_cases import rankings, signs_by_pair

from symscreen.label_ranking import as_rankings, pair_places, pair_signs, pairs_shown


@given(rankings())
def test_signs_are_those_of_each_pair(rows):
    ranks = as_rankings(rows)
    expected = [signs_by_pair(row) for row in rows]
    assert pair_signs(ranks).tolist() == [[sign or 0 for sign in row] for row in expected]
    assert pairs_shown(ranks).tolist() == [[sign is not None for sign in row] for row in expected]


def test_pairs_stand_in_the_order_of_their_places():
    ranks = np.array([[4.0, 1.0, 3.0, 2.0]])
    first, second = pair_places(4)
    assert pair_signs(ranks)[0].tolist() == np.sign(ranks[0, first] - ranks[0, second]).tolist()
    assert pair_signs(ranks).dtype == np.int8


def test_one_label_has_no_pairs():
    assert pair_signs(np.ones((3, 1))).shape == pairs_shown(np.ones((3, 1))).shape == (3, 0)
