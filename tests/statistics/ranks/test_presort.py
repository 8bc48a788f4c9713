from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.stats import rankdata

from symscreen.statistics.ranks import fast_sort
from symscreen.statistics.ranks.fast_sort import sort_with_short_keys
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.workspace import Workspace

DRAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "product": lambda rng, n: rng.normal(size=n) * rng.normal(size=n),
    "ratio": lambda rng, n: rng.normal(size=n) / rng.normal(size=n),
    "uniform": lambda rng, n: rng.uniform(size=n),
    "lognormal": lambda rng, n: np.exp(5 * rng.normal(size=n)),
    "two sides": lambda rng, n: np.exp(5 * rng.normal(size=n)) * rng.choice([-1.0, 1.0], n),
    "rounded": lambda rng, n: np.round(rng.normal(size=n), 2),
    "whole": lambda rng, n: rng.integers(0, n, n).astype(float),
    "few": lambda rng, n: rng.integers(-1, 2, n).astype(float),
    "sorted": lambda rng, n: np.sort(rng.normal(size=n)),
    "falling": lambda rng, n: -np.sort(rng.normal(size=n)),
    "huge": lambda rng, n: rng.uniform(-1.0, 1.0, n) * 1.7e308,
    "tiny": lambda rng, n: rng.integers(0, n, n) * 5e-324,
    "zeros": lambda rng, n: rng.choice([0.0, -0.0, 1e-310, -1e-310], n),
    "offset": lambda rng, n: 1e15 + rng.normal(size=n),
    "neighbours": lambda rng, n: 1.0 + rng.permutation(n) * np.finfo(float).eps,
    "constant": lambda rng, n: np.full(n, rng.normal()),
    "constant but one": lambda rng, n: rng.permutation(n) // (n - 1) + 0.0,
    "one far out": lambda rng, n: np.where(np.arange(n) == n // 3, 1e300, rng.normal(size=n)),
    "cubes": lambda rng, n: (rng.normal(size=n) * rng.normal(size=n)) ** 3,
    "half nothing": lambda rng, n: np.maximum(rng.normal(size=n), 0.0),
    "two scales": lambda rng, n: np.where(
        rng.random(n) < 0.9, 1.0 + 1e-14 * rng.normal(size=n), np.exp(50 * rng.normal(size=n))
    ),
    "two far out": lambda rng, n: np.concatenate(([-1e9, 1e9], rng.normal(size=n - 2))),
}


def _is_right(z, order, tied):
    assert np.array_equal(order, np.argsort(z, kind="stable"))
    assert bool(tied) == (len(np.unique(z)) < len(z))


def _presorted(values):
    order, tied = np.empty(values.shape, np.int32), np.empty(len(values), dtype=bool)
    features = np.arange(len(values))
    return sort_with_short_keys(values, features, order, tied, Workspace()), order, tied


SIZES = [
    2,
    3,
    4,
    5,
    128,
    129,
    255,
    256,
    257,
    511,
    512,
    513,
    514,
    1000,
    1024,
    1025,
    1499,
    1500,
    2048,
    2049,
    4097,
]


@pytest.mark.slow
@pytest.mark.parametrize("n", SIZES)
def test_columns_of_every_kind_are_put_in_full_order(n, rng):
    kinds = [draw for draw in DRAWS.values() for _ in range(2)]
    values = np.stack([draw(rng, n) for draw in kinds])[rng.permutation(len(kinds))]
    ordered = sort_block(values)
    for z, order, doubled, tied in zip(
        values, ordered.order, ordered.doubled_ranks, ordered.tied, strict=True
    ):
        _is_right(z, order, tied)
        assert np.array_equal(doubled, 2 * rankdata(z))


@pytest.mark.parametrize("n", [100, 500, 600, 2000, 5000])
@pytest.mark.parametrize("kind", sorted(set(DRAWS) - {"constant", "tiny", "two scales"}))
def test_values_that_spread_or_whose_logarithms_do_are_not_left(kind, n, rng):
    values = np.stack([DRAWS[kind](rng, n) for _ in range(5)])
    assert _presorted(values)[0].size == 0


@pytest.mark.parametrize("n", [300, 1600])
@pytest.mark.parametrize("kind", ["constant", "two scales"])
def test_values_that_places_do_not_tell_apart_are_left_and_the_others_are_not(kind, n, rng):
    values = np.stack([rng.normal(size=n), DRAWS[kind](rng, n), np.exp(50 * rng.normal(size=n))])
    left, order, tied = _presorted(values)
    assert left.tolist() == [1]
    for f in (0, 2):
        _is_right(values[f], order[f], tied[f])


@pytest.mark.parametrize("levels", [2, 3, 5])
def test_rows_tied_in_more_than_a_row_of_keys_are_not_sorted(levels, rng):
    values = rng.integers(0, levels, (4, 4000)).astype(float)
    values[1] = np.where(values[1] == 1.0, rng.normal(5.0, 0.1, 4000), values[1])
    values[2, :700] = np.nextafter(values[2, :700], 1.0)
    left, order, tied = _presorted(values)
    assert 2 in left
    assert not {0, 1, 3} & set(left.tolist())
    for f in (0, 1, 3):
        _is_right(values[f], order[f], tied[f])


finite = st.floats(allow_nan=False, allow_infinity=False)
crowded = st.sampled_from([0.0, -0.0, 1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0), -1.0, 5e-324, 0.5])
blocks = arrays(
    np.float64, array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=60), elements=finite | crowded
)


@pytest.mark.slow
@pytest.mark.parametrize("undealt", [fast_sort.KEYS_PER_ROW, 1])
@given(values=blocks)
def test_whatever_is_not_left_is_right(undealt, values):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast_sort, "_MAX_SINGLE_ROW_LENGTH", undealt)
        left, order, tied = _presorted(values)
    for f in np.setdiff1d(np.arange(len(values)), left):
        _is_right(values[f], order[f], tied[f])


def test_row_numbers_that_leave_no_room_for_places_are_left(monkeypatch, rng):
    monkeypatch.setattr(fast_sort, "_MAX_ROW_BITS", 6)
    assert _presorted(rng.normal(size=(4, 65)))[0].tolist() == [0, 1, 2, 3]
    assert _presorted(rng.normal(size=(4, 64)))[0].size == 0
