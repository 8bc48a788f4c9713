from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import sympy

from symscreen.grammar import CORE_OPERATORS, EXTRA_OPERATORS, OPERATORS, Domain, Monotonicity, is_in_domain
from symscreen.grammar import fingerprint as fp

# exact in binary, so that sympy sees the very same numbers
POINTS = np.array([-3.0, -2.5, -1.0, -0.75, -0.5, -(2.0**-20), 0.0, 2.0**-20, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0])
DENSE = np.arange(-24, 25) / 8
DRAW = np.random.default_rng(20240611)
RESIDUES = DRAW.integers(0, fp.PRIME, (200, 2), dtype=np.uint64)

every_operator = pytest.mark.parametrize("operator", OPERATORS.values(), ids=list(OPERATORS))
every_unary = pytest.mark.parametrize(
    "operator", [operator for operator in OPERATORS.values() if operator.arity == 1], ids=lambda op: op.name
)
every_binary = pytest.mark.parametrize(
    "operator", [operator for operator in OPERATORS.values() if operator.arity == 2], ids=lambda op: op.name
)


def numeric(operator, *arguments):
    with np.errstate(all="ignore"):
        return operator.numeric(*arguments)


def grid(operator):
    return np.array(list(itertools.product(POINTS, repeat=operator.arity))).T


def inside(operator, arguments):
    """Say of each column of arguments whether it lies in the operator's domain."""
    places = zip(arguments, operator.domain, strict=True)
    return np.all([is_in_domain(values[:, None], domain) for values, domain in places], axis=0)


def exact(operator, arguments):
    """The value by sympy as a float; NaN where it is not one real number."""
    value = operator.symbolic(*(sympy.Rational(float(argument)) for argument in arguments)).evalf(30)
    return float(value) if value.is_real and value.is_finite else np.nan


def test_the_names_that_stay():
    stay = "id neg abs square cube sqrt cbrt inv exp log sin cos tan tanh add sub mul div pow absdiff"
    assert " ".join(CORE_OPERATORS) == stay
    assert not CORE_OPERATORS.keys() & EXTRA_OPERATORS.keys()
    assert OPERATORS.keys() == CORE_OPERATORS.keys() | EXTRA_OPERATORS.keys()


@every_operator
def test_the_record_is_whole(operator):
    assert OPERATORS[operator.name] is operator
    assert operator.name.isidentifier()
    assert operator.arity == len(operator.domain)
    assert operator.summary
    assert operator.n_primitives == 1
    assert operator.cost == (0 if operator.name == "id" else 1)
    assert operator.arity == 2 or not operator.commutative
    assert operator.arity == 1 or operator.monotone is Monotonicity.NONE


@every_operator
def test_the_numeric_form_is_sympys_where_that_is_real_and_not_finite_elsewhere(operator):
    arguments = grid(operator)
    values = numeric(operator, *arguments)
    expected = np.array([exact(operator, point) for point in arguments.T])
    assert values.dtype == np.float64
    assert (np.isfinite(values) == np.isfinite(expected)).all()
    finite = np.isfinite(expected)
    np.testing.assert_allclose(values[finite], expected[finite], rtol=2e-15, atol=0)


@every_operator
def test_the_domain_is_where_the_numeric_form_is_finite(operator):
    arguments = grid(operator)
    finite = np.isfinite(numeric(operator, *arguments))
    if operator.name == "pow":  # its domain is no product of two: negative bases have whole exponents
        assert not finite.all()
    else:
        assert (finite == inside(operator, arguments)).all()


@every_operator
def test_what_is_undefined_inside_stays_undefined(operator):
    for place in range(operator.arity):
        arguments = [POINTS] * operator.arity
        arguments[place] = np.full(len(POINTS), np.nan)
        assert np.isnan(numeric(operator, *arguments)).all()


@every_operator
def test_values_do_not_depend_on_the_shape(operator):
    arguments = grid(operator)
    size = arguments.shape[1] // 2
    block = numeric(operator, *(values[: 2 * size].reshape(2, size) for values in arguments))
    flat = numeric(operator, *(values[: 2 * size] for values in arguments))
    np.testing.assert_array_equal(block.ravel(), flat)
    assert numeric(operator, *(values[:0] for values in arguments)).shape == (0,)


@every_binary
def test_commutativity_is_what_values_and_fingerprints_show(operator):
    left, right = grid(operator)
    there, back = numeric(operator, left, right), numeric(operator, right, left)
    a, b = RESIDUES[:100], RESIDUES[100:]
    assert operator.commutative == np.array_equal(there, back, equal_nan=True)
    assert (
        operator.commutative
        == (operator.compute_fingerprint(a, b) == operator.compute_fingerprint(b, a)).all()
    )


def order_of(points, values):
    """Find on which side of zero the order of the points is kept or turned."""
    steps, left, right = np.diff(values), points[1:] <= 0, points[:-1] >= 0
    if (steps > 0).all():
        return Monotonicity.INCREASING
    if (steps < 0).all():
        return Monotonicity.DECREASING
    if (steps[right] > 0).all() and (steps[left] < 0).all():
        return Monotonicity.INCREASING_FROM_ZERO
    if (steps[right] < 0).all() and (steps[left] < 0).all() and 0 not in points:
        return Monotonicity.DECREASING_EACH_SIDE
    return Monotonicity.NONE


@every_unary
def test_the_monotone_fact_is_what_values_show(operator):
    points = DENSE[is_in_domain(DENSE[:, None], operator.domain[0])]
    assert operator.monotone is order_of(points, numeric(operator, points))


@every_unary
def test_fingerprints_are_odd_and_even_where_values_are(operator):
    both = inside(operator, DENSE[None]) & inside(operator, -DENSE[None])
    two_sided = both.sum() > 1  # √x and log x have no mirror image
    there, back = numeric(operator, DENSE[both]), numeric(operator, -DENSE[both])
    key, mirrored = operator.compute_fingerprint(RESIDUES), operator.compute_fingerprint(fp.negate(RESIDUES))
    assert (mirrored == key).all() == (two_sided and np.array_equal(back, there))
    assert (mirrored == fp.negate(key)).all() == (two_sided and np.array_equal(back, -there))


def test_the_inverse_sine_and_cosine_have_keys_that_add_up_to_half_of_pi():
    asin, acos = (OPERATORS[name].compute_fingerprint(RESIDUES) for name in ("asin", "acos"))
    half_pi = fp.divide(fp.encode_number(math.pi), fp.encode_number(2))
    assert (fp.add(asin, acos) == half_pi).all()
    mirrored = OPERATORS["acos"].compute_fingerprint(fp.negate(RESIDUES))
    assert (mirrored == fp.subtract(fp.encode_number(math.pi), acos)).all()
    assert not (mirrored == acos).any()


@every_unary
def test_a_fingerprint_of_zero_at_zero_means_a_value_of_zero(operator):
    key = operator.compute_fingerprint(np.zeros((1, 2), dtype=np.uint64))
    if (key == 0).all() and inside(operator, np.zeros((1, 1))).all():
        assert numeric(operator, np.zeros(1))[0] == 0


def layer(keys, values):
    """Apply every operator to all features and pairs of features."""
    left, right = (places.ravel() for places in np.indices((len(keys), len(keys))))
    for operator in OPERATORS.values():
        picks = [np.arange(len(keys))] if operator.arity == 1 else [left, right]
        found = numeric(operator, *(values[pick] for pick in picks))
        yield (
            operator.compute_fingerprint(*(keys[pick] for pick in picks)),
            np.where(np.isfinite(found), found, np.nan),
        )


def without_copies(keys, values):
    _, first = np.unique(keys, axis=0, return_index=True)
    return keys[np.sort(first)], values[np.sort(first)]


@pytest.mark.slow
def test_formulas_of_equal_fingerprints_have_equal_values_where_both_are_defined():
    # all formulas of two layers over two columns and three numbers, about 350,000
    columns = np.array([[-2.3, -1.1, -0.6, 0.4, 0.9, 1.7, 2.2], [1.3, -0.7, 2.1, -1.9, 0.8, 0.35, -0.2]])
    values = np.concatenate([columns, np.array([[1.0], [2.0], [-0.5]]) * np.ones((1, 7))])
    keys = np.array([fp.encode_column("x"), fp.encode_column("y"), *map(fp.encode_number, (1, 2, -0.5))])
    keys, values = without_copies(
        *map(np.concatenate, zip((keys, values), *layer(keys, values), strict=True))
    )
    keys, values = map(np.concatenate, zip(*layer(keys, values), strict=True))
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    keys, values = keys[order], values[order]
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    group = group.ravel()  # numpy 2.0.0 gives it another dimension
    assert len(keys) > 300_000
    assert len(first) < 0.8 * len(keys)
    # each against the first of its group that is defined in that row
    standard = np.full((len(first), 7), np.nan)
    for row in range(7):
        defined = np.flatnonzero(~np.isnan(values[:, row]))
        groups, places = np.unique(group[defined], return_index=True)
        standard[groups, row] = values[defined[places], row]
    np.testing.assert_allclose(
        np.where(np.isnan(values), standard[group], values), standard[group], rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize(
    ("domain", "row", "expected"),
    [
        (Domain.REAL, [-1.0, 0.0], True),
        (Domain.NONZERO, [-1.0, 1.0], True),
        (Domain.NONZERO, [-1.0, 0.0], False),
        (Domain.NONNEGATIVE, [0.0, -0.0], True),
        (Domain.NONNEGATIVE, [1.0, -5e-324], False),
        (Domain.POSITIVE, [1.0, 5e-324], True),
        (Domain.POSITIVE, [1.0, 0.0], False),
        (Domain.UNIT, [-1.0, 1.0], True),
        (Domain.UNIT, [0.0, np.nextafter(1.0, 2.0)], False),
    ],
)
def test_a_row_is_in_a_domain_with_all_its_values(domain, row, expected):
    assert is_in_domain(np.array([[1.0] * len(row), row]), domain).tolist() == [True, expected]
