from __future__ import annotations

import math

import numpy as np
import pytest

from symscreen.expressions.traversal import evaluate_expression
from symscreen.fitting.laws.simple_numbers import find_simple_numbers, write_number


@pytest.mark.parametrize(
    "number",
    [1, 2, 17, 0.5, 2 / 3, 7 / 12, math.pi, 4 * math.pi, 3 / (8 * math.pi), math.sqrt(2), math.pi**2 / 6],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_simple_number_is_found_from_its_neighbourhood(number, sign):
    assert find_simple_numbers(sign * number * (1 + 1e-8), 1e-7 * number)[0] == pytest.approx(
        sign * number, rel=1e-15
    )


def test_every_result_lies_within_the_radius():
    for value, radius in ((1.9, 0.2), (0.333, 0.01), (-6.28, 0.01)):
        numbers = find_simple_numbers(value, radius, keep=10)
        assert numbers
        assert all(abs(number - value) <= radius for number in numbers)


def test_an_interval_with_many_numbers_or_with_zero_gives_none():
    assert find_simple_numbers(0.9, 0.85) == []
    assert find_simple_numbers(0.1, 0.2) == []
    assert find_simple_numbers(math.nan, 0.2) == []


def test_a_random_number_is_not_simple(rng):
    values = rng.uniform(0.1, 10, 1000)
    assert sum(bool(find_simple_numbers(value, 1e-7 * value)) for value in values.tolist()) <= 2


@pytest.mark.parametrize("number", [1.0, 0.5, 2.0, 1 / 3])
def test_with_its_error_a_simple_number_is_found_more_often_than_by_its_interval(rng, number):
    error = 0.001 * number
    estimates = (number + error * rng.normal(size=1000)).tolist()
    by_interval, by_both = (
        sum(find_simple_numbers(value, 1.96 * error, 1, error=own) == [number] for value in estimates)
        for own in (0.0, error)
    )
    assert 920 < by_interval < 975
    assert by_both > 985


def test_with_its_error_hardly_more_random_numbers_become_simple(rng):
    values = rng.uniform(0.5, 2.0, 2000).tolist()
    by_interval, by_both = (
        sum(bool(find_simple_numbers(value, 0.00196 * value, 1, error=own * value)) for value in values)
        for own in (0.0, 0.001)
    )
    assert by_interval <= by_both < by_interval + 120


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.0, "2"),
        (-0.125, "-0.125"),
        (1 / 3, "1/3"),
        (-5 / 12, "-5/12"),
        (math.pi, "pi"),
        (4 * math.pi, "4*pi"),
        (3 / (8 * math.pi), "3/(8*pi)"),
        (1 / math.pi**2, "1/pi**2"),
        (1.2345678, "1.2345678"),
    ],
)
def test_simple_numbers_are_written_as_quotients_with_pi(value, text):
    written = write_number(value)
    assert str(written) == text
    assert evaluate_expression(written, {"x": np.ones(1)}) == pytest.approx(value, rel=1e-15)


def test_a_short_decimal_is_simpler_than_a_root_near_it():
    assert find_simple_numbers(0.7028, 0.008, keep=1) == [0.7]
    assert find_simple_numbers(math.sqrt(2), 1e-6, keep=1) == [math.sqrt(2)]


def test_a_decimal_with_an_error_of_rounding_is_written_as_the_decimal():
    assert [str(write_number(value)) for value in (3.4 + 4e-13, 4.0 - 4e-15, 0.7 - 1e-13)] == [
        "3.4",
        "4",
        "0.7",
    ]


@pytest.mark.parametrize(("value", "radius"), [(9.82, 0.03), (0.4343, 0.006), (2.66, 0.05)])
def test_numbers_that_are_not_simple_do_not_become_multiples_of_roots_or_fractions_by_chance(value, radius):
    assert find_simple_numbers(value, radius) == []


def test_roots_are_used_where_the_interval_is_narrow():
    assert find_simple_numbers(1.41422, 1e-4) == [pytest.approx(math.sqrt(2))]
    assert find_simple_numbers(4 * math.sqrt(6) + 1e-6, 1e-5) == [pytest.approx(4 * math.sqrt(6))]
