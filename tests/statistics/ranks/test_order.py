from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.stats import rankdata

from symscreen.statistics.ranks.sorted_block import SortedBlock, sort_block
from symscreen.statistics.ranks.t0 import compute_ranking_metric
from symscreen.statistics.workspace import Workspace
from symscreen.targets import NumericTarget

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
    assert np.array_equal(ordered.tied, _find_tied(values))


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


@given(blocks)
def test_features_are_scored_alike_from_their_keys_and_from_their_order(values):
    target = NumericTarget(np.sort(np.random.default_rng(values.shape[1]).normal(size=values.shape[1])))
    from_order = SortedBlock(
        values, (np.argsort(values, axis=1, kind="stable").astype(np.int32), _find_tied(values))
    )
    expected = compute_ranking_metric(from_order, target).tobytes()
    from_keys = sort_block(values)
    assert compute_ranking_metric(from_keys, target).tobytes() == expected
    some = from_keys.take(np.arange(0, len(values), 2))  # the order of the whole block is not computed yet
    assert np.array_equal(some.order, from_order.order[::2])
    assert np.array_equal(some.tied, from_order.tied[::2])
    assert np.array_equal(from_keys.tied, from_order.tied)
    assert np.array_equal(from_keys.order, from_order.order)
    assert compute_ranking_metric(from_keys, target).tobytes() == expected


def test_known_bounds_and_a_workspace_do_not_change_the_order(rng):
    values, workspace = np.exp(3 * rng.normal(size=(40, 300))), Workspace()
    bounds = values.min(axis=1), values.max(axis=1)
    for _ in range(2):  # the second block overwrites the keys of the first
        ordered = sort_block(values, workspace, None, bounds)
        assert np.array_equal(ordered.tied, _find_tied(values))
        assert np.array_equal(ordered.order, np.argsort(values, axis=1, kind="stable"))
        values = values[:, ::-1].copy()


def _find_tied(values):
    return np.array([len(set(row.tolist())) < values.shape[1] for row in values])
