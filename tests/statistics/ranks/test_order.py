from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.stats import rankdata

from symscreen.statistics.ranks.sorted_block import sort_block

finite = st.floats(allow_nan=False, allow_infinity=False)
# few distinct values, both zeros, and neighbours that share their truncated keys
crowded = st.sampled_from([0.0, -0.0, 1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0), -1.0, 5e-324])
blocks = arrays(
    np.float64, array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=70), elements=finite | crowded
)


@given(blocks)
def test_order_and_ranks_are_those_of_a_stable_sort(values):
    ordered = sort_block(values)
    assert np.array_equal(ordered.order, np.argsort(values, axis=1, kind="stable"))
    assert np.array_equal(ordered.doubled_ranks, 2 * rankdata(values, axis=1))
    assert np.array_equal(ordered.tied, [len(set(row.tolist())) < values.shape[1] for row in values])


@pytest.mark.parametrize("n", [2, 3, 24, 25, 26, 1000])
def test_a_long_run_of_equal_truncated_keys_is_put_in_full_order(n, rng):
    # all within the bits that the row number takes: the packed keys say nothing of their order
    values = 1.0 + rng.permutation(n)[None, :] * np.finfo(float).eps
    ordered = sort_block(values)
    assert np.array_equal(ordered.order[0], np.argsort(values[0], kind="stable"))
    assert not ordered.tied[0]


def test_the_two_zeros_tie():
    assert sort_block(np.array([[0.0, -0.0, 1.0]])).doubled_ranks.tolist() == [[3, 3, 6]]


def test_values_are_not_changed(rng):
    values = rng.normal(size=(3, 50))
    before = values.copy()
    sort_block(values)
    assert np.array_equal(values, before)


def test_take_keeps_every_array_in_step(rng):
    ordered = sort_block(rng.normal(size=(5, 9)))
    some = ordered.take(np.array([3, 1]))
    for name in ("values", "order", "doubled_ranks", "tied"):
        assert np.array_equal(getattr(some, name), getattr(ordered, name)[[3, 1]])
