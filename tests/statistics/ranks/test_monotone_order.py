from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from symscreen.grammar import OPERATORS
from symscreen.statistics.ranks.sorted_block import MonotoneParents, derive_orders, sort_block

UNARY = [operator for operator in OPERATORS.values() if operator.arity == 1]
SPREADS = (1e-310, 1e-9, 1.0, 30.0, 1e5, 1e150)


def check(operator, x):
    """Order functions by following and by sorting; say which are finite, and which of these were sorted."""
    with np.errstate(all="ignore"):
        values = np.ascontiguousarray(operator.numeric(x))
    good = np.isfinite(values).all(axis=1)
    places, values = np.flatnonzero(good), values[good]
    arguments = sort_block(x)
    following = MonotoneParents(x, arguments.order, arguments.tied, places)
    ordered, expected = sort_block(values, parents=following), sort_block(values)
    for name in ("values", "order", "doubled_ranks", "tied"):
        assert getattr(ordered, name).tobytes() == getattr(expected, name).tobytes()
        assert getattr(ordered, name).dtype == getattr(expected, name).dtype
    order, tied, known = (
        np.empty_like(ordered.order),
        np.empty_like(ordered.tied),
        np.empty_like(ordered.tied),
    )
    derive_orders(values, following, order, tied, known)
    return good, np.flatnonzero(~known)


@pytest.mark.parametrize("operator", UNARY, ids=lambda operator: operator.name)
@pytest.mark.parametrize("n", [2, 40, 700])
def test_the_order_is_that_of_sorting(operator, n, rng):
    draws = [spread * rng.normal(size=(6, n)) for spread in SPREADS]
    ties = [np.round(2 * rng.normal(size=(6, n))) * spread for spread in SPREADS]
    zeros = rng.choice([0.0, -0.0, 1.0, -1.0, 0.5], (6, n))
    sided = [np.abs(block) for block in (*draws, *ties)]
    good, _ = check(operator, np.concatenate([*draws, *ties, zeros, *sided, *(-block for block in sided)]))
    assert good.any()


finite = st.floats(-50, 50)
crowded = st.sampled_from([0.0, -0.0, 1.0, np.nextafter(1.0, 2.0), -1.0, 5e-324, 30.0, 40.0])
blocks = arrays(
    np.float64, array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=30), elements=finite | crowded
)


@given(blocks, st.sampled_from(UNARY))
def test_no_argument_misleads(x, operator):
    check(operator, x)


@pytest.mark.parametrize("name", ["exp", "neg", "cbrt", "acos"])
@pytest.mark.parametrize("digits", [1, 16])
def test_what_is_monotone_is_not_sorted(name, digits, rng):
    good, sorted_anew = check(OPERATORS[name], np.round(rng.uniform(-1, 1, (20, 100)), digits))
    assert good.all()
    assert not len(sorted_anew)


def test_what_rounding_makes_equal_is_sorted(rng):
    x = np.concatenate((rng.uniform(-30, 30, (5, 100)), rng.uniform(-1, 1, (5, 100))))
    assert check(OPERATORS["tanh"], x)[1].tolist() == [0, 1, 2, 3, 4]
    assert check(OPERATORS["square"], x)[1].tolist() == list(range(10))


def test_who_has_no_argument_is_sorted(rng):
    x = rng.normal(size=(3, 50))
    arguments = sort_block(x)
    values = np.exp(x)
    values[1] = rng.normal(size=50)
    following = MonotoneParents(x, arguments.order, arguments.tied, np.array([0, -1, 2]))
    ordered = sort_block(values, parents=following)
    assert ordered.order.tobytes() == sort_block(values).order.tobytes()
