from __future__ import annotations

import numpy as np

from symscreen.statistics.ranks.binary_targets import build_binary_targets


def test_those_that_tell_features_apart_stay_with_the_fewest_rows_first():
    signs = np.array(
        [[1, -1, 1, -1], [1, 1, 1, 1], [0, 1, -1, 0], [1, -1, 0, 0], [0, 0, 0, 0]], dtype=np.int8
    )
    kept = build_binary_targets(signs)
    assert kept.indices.tolist() == [2, 3, 0]
    assert kept.n_observed.tolist() == [2, 2, 4]
    assert kept.n_opposite_pairs.tolist() == [1, 1, 4]
    assert kept.weights.tolist() == [1, 1, 1]
    assert kept.n == 4
    assert (kept.signs == signs[[2, 3, 0]]).all()


def test_one_without_a_weight_is_left_out():
    signs = np.array([[1, -1, 1], [1, -1, -1], [-1, 1, 0]], dtype=np.int8)
    kept = build_binary_targets(signs, np.array([2.0, 0.0, 0.5]))
    assert kept.indices.tolist() == [2, 0]
    assert kept.weights.tolist() == [0.5, 2.0]
