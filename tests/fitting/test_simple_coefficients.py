from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import stats

from symscreen.fitting import estimate_coefficients, snap_coefficients
from symscreen.fitting.simple_coefficients import find_simplest_number

positive = st.floats(1e-300, 1e300)


def _fewest_digits(low, high):
    """Return the fewest significant digits of a decimal in [low, high], by exact arithmetic; 0 < low."""
    low, high = Decimal(low), Decimal(high)
    for digits in range(1, 18):
        step = Decimal(1).scaleb(low.adjusted() - digits + 1)
        if (low / step).to_integral_value(ROUND_CEILING) * step <= high:
            return digits
    return 18


def _length(number):
    """Return how many digits it takes to write a number, as a decimal or as a fraction."""
    decimals = len(Decimal(repr(number)).normalize().as_tuple().digits)
    fractions = [
        len(str(abs(one.numerator))) + len(str(one.denominator))
        for q in range(2, 13)
        if abs(number) < 1e6
        for one in [Fraction(round(number * q), q)]
        if float(one) == number
    ]
    return min([decimals, *fractions])


@given(positive, st.floats(0.0, 1.0), st.sampled_from([-1, 1]))
@example(0.3329, 0.0008 / 0.3329, 1)
@example(9.6, 0.1, -1)
@example(9.96, 0.01, 1)
@example(1.7e308, 0.05, 1)
@example(5e-324, 0.0, 1)
@example(1.0, 0.0, 1)
def test_no_shorter_number_lies_in_the_interval(low, width, sign):
    high = min(low * (1 + width), 1.79e308)
    found = sign * find_simplest_number(*sorted([sign * low, sign * high]))
    assert low <= found <= high
    if low > 1e-300:  # below, a decimal's neighbours are uneven
        assert _length(found) <= max(_fewest_digits(low, high), 1) or _fewest_digits(low, high) >= 17


@given(st.floats(-1e300, 0.0), st.floats(0.0, 1e300))
def test_zero_is_the_simplest_of_all(low, high):
    assert find_simplest_number(low, high) == 0.0


@given(
    st.fractions(max_denominator=12).filter(lambda one: one != 0 and abs(one) < 1000), st.floats(1e-12, 1e-9)
)
def test_a_short_fraction_is_found_in_a_narrow_interval(fraction, width):
    number = float(fraction)
    found = find_simplest_number(number - abs(number) * width, number + abs(number) * width)
    assert found == pytest.approx(number, rel=width)
    assert _length(found) <= len(str(abs(fraction.numerator))) + len(str(fraction.denominator))
    if fraction.denominator in {3, 6, 7, 9, 11, 12} and abs(fraction) < 10:
        assert found == number


@pytest.mark.parametrize("ends", [(np.nan, np.nan), (1.0, np.nan)])
def test_an_interval_that_is_none_gives_no_number(ends):
    assert np.isnan(find_simplest_number(*ends))


@settings(max_examples=300)
@given(st.integers(0, 2**32 - 1), st.floats(1e-14, 1.0), st.floats(0.05, 1.0))
def test_simple_numbers_are_never_worse_than_the_test_allows(seed, noise, apart):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(2, 20))
    values[1] = values[0] + apart * values[1]
    y = 2.17 - 1.53 * values[0] + 0.777 * values[1] + noise * rng.normal(size=20)
    found = estimate_coefficients(values, y)
    simple = snap_coefficients(found, values, y)
    assume(simple is not None)
    left, least = (y - own[0] - own[1:] @ values for own in (simple, found.coefficients))
    moved = int((simple != found.coefficients).sum())
    if np.abs(left).max() > 3e-12 * np.abs(y).max():
        statistic = ((left @ left) - (least @ least)) / moved / ((least @ least) / 17)
        assert statistic <= stats.f.ppf(0.95, moved, 17) * (1 + 1e-6)
    for number, low, high in zip(simple, found.low, found.high, strict=True):
        assert low - 1e-11 <= number <= high + 1e-11


@pytest.mark.parametrize("noise", [0.0, 1e-6])
@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_true_simple_numbers_are_found(rng, scale, noise):
    values = rng.uniform(0.5, 2.0, (3, 60)) * scale
    truth = [2, -0.075, 1 / 3 if scale == 1 else 0.3]  # 3.333e99 is not simple
    y = 10 + truth @ (values / scale) + noise * rng.normal(size=60)
    simple = snap_coefficients(estimate_coefficients(values, y), values, y)
    np.testing.assert_allclose(simple[1:] * scale, truth, rtol=1e-15)
    assert simple[0] == 10


def test_a_term_is_never_dropped_and_an_intercept_may_be(rng):
    values = rng.normal(size=(2, 40))
    y = 3 * values[0] + rng.normal(size=40)
    found = estimate_coefficients(values, y)
    assert found.low[2] < 0 < found.high[2]
    simple = snap_coefficients(found, values, y)
    assert simple[0] == 0.0
    assert simple[1] == 3.0
    assert simple[2] == found.coefficients[2]


def test_numbers_that_are_simple_one_by_one_are_refused_together(rng):
    # each coefficient alone is vague, their sum is not
    x = rng.normal(size=200)
    values = np.vstack([x, x + 1e-3 * rng.normal(size=200)])
    y = 1.37 * x + 0.01 * rng.normal(size=200)
    found = estimate_coefficients(values, y)
    one_by_one = [find_simplest_number(low, high) for low, high in zip(found.low, found.high, strict=True)]
    assert abs(sum(one_by_one[1:]) - 1.37) > 0.1
    assert snap_coefficients(found, values, y) is None


def test_simple_numbers_are_found_together_where_one_by_one_they_would_not_fit(rng):
    # a slope, a curvature and an intercept, none of them well known by itself
    found = one_by_one = 0
    for _ in range(200):
        x = rng.uniform(2, 3, 60)
        values = np.vstack([x, x**2])
        y = 3 * x - 0.5 * x**2 + 0.05 * rng.normal(size=60)
        estimates = estimate_coefficients(values, y)
        simple = snap_coefficients(estimates, values, y)
        found += simple is not None and np.allclose(simple, [0, 3, -0.5])
        each = [
            find_simplest_number(low, high) for low, high in zip(estimates.low, estimates.high, strict=True)
        ]
        one_by_one += np.allclose(each, [0, 3, -0.5])
    assert found >= 200 * 0.95 - 4 * np.sqrt(200 * 0.95 * 0.05)
    assert one_by_one <= 120


@pytest.mark.slow
def test_simple_numbers_hold_their_level(rng):
    # the truth is simple; all of its coefficients together are refused at most about one time in twenty
    refused = 0
    for _ in range(400):
        values = rng.normal(size=(2, 30))
        y = 1 + values[0] - 2 * values[1] + 0.1 * rng.normal(size=30)
        refused += snap_coefficients(estimate_coefficients(values, y), values, y) is None
    assert refused <= 400 * 0.05 + 4 * np.sqrt(400 * 0.05 * 0.95)


def test_only_coefficients_near_simple_numbers_are_replaced_in_a_law(rng):
    values = rng.uniform(1, 3, (3, 2000))
    target = np.array([0.5, 1 / (4 * np.pi), 1.2345]) @ values + 0.01 * rng.normal(size=2000)
    estimates = estimate_coefficients(values, target, has_intercept=False)
    snapped = snap_coefficients(estimates, values, target, only_simple=True)
    assert snapped[[0, 1]].tolist() == [0.0, 0.5]
    assert snapped[3] != 1.2345
    assert snapped[3] == pytest.approx(1.2345, abs=0.005)


def test_a_simple_number_is_not_taken_where_others_are_as_near(rng):
    values = rng.uniform(1, 3, (1, 20))
    target = 7.31 * values[0] + 5.0 * rng.normal(size=20)
    estimates = estimate_coefficients(values, target, has_intercept=False)
    assert snap_coefficients(estimates, values, target, only_simple=True) is None
