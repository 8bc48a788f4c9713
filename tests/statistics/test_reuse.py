from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from symscreen.grammar import OPERATORS
from symscreen.statistics.order import order_features
from symscreen.statistics.reuse import order_by_operand

UNARY = [operator for operator in OPERATORS.values() if operator.arity == 1]
SPREADS = (1e-310, 1e-9, 1.0, 30.0, 1e5, 1e150)


def _check(operator, x):
    with np.errstate(all="ignore"):
        values = np.ascontiguousarray(operator.numeric(x))
    good = np.isfinite(values).all(axis=1)
    x, values = x[good], values[good]
    ordered, anew = order_by_operand(values, order_features(x))
    expected = order_features(values)
    for name in ("values", "order", "doubled_ranks", "tied"):
        assert getattr(ordered, name).tobytes() == getattr(expected, name).tobytes()
        assert getattr(ordered, name).dtype == getattr(expected, name).dtype
    return good, anew


@pytest.mark.parametrize("operator", UNARY, ids=lambda operator: operator.name)
@pytest.mark.parametrize("n", [2, 40, 700])
def test_the_order_is_that_of_sorting_anew(operator, n, rng):
    draws = [spread * rng.normal(size=(6, n)) for spread in SPREADS]
    ties = [np.round(2 * rng.normal(size=(6, n))) * spread for spread in SPREADS]
    zeros = rng.choice([0.0, -0.0, 1.0, -1.0, 0.5], (6, n))
    sided = [np.abs(block) for block in (*draws, *ties)]
    good, _ = _check(operator, np.concatenate([*draws, *ties, zeros, *sided, *(-block for block in sided)]))
    assert good.any()


finite = st.floats(-50, 50)
crowded = st.sampled_from([0.0, -0.0, 1.0, np.nextafter(1.0, 2.0), -1.0, 5e-324, 30.0, 40.0])
blocks = arrays(
    np.float64, array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=30), elements=finite | crowded
)


@given(blocks, st.sampled_from(UNARY))
def test_no_operand_misleads(x, operator):
    _check(operator, x)


@pytest.mark.parametrize("name", ["exp", "neg", "cbrt", "acos"])
@pytest.mark.parametrize("digits", [1, 16])
def test_what_is_monotone_is_not_sorted_anew(name, digits, rng):
    good, anew = _check(OPERATORS[name], np.round(rng.uniform(-1, 1, (20, 100)), digits))
    assert good.all()
    assert not len(anew)


def test_what_rounding_makes_equal_is_sorted_anew(rng):
    x = np.concatenate((rng.uniform(-30, 30, (5, 100)), rng.uniform(-1, 1, (5, 100))))
    assert _check(OPERATORS["tanh"], x)[1].tolist() == [0, 1, 2, 3, 4]
    assert _check(OPERATORS["square"], x)[1].tolist() == list(range(10))
