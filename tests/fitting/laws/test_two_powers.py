"""Sums of two power products, such as the potential of Lennard-Jones."""

from itertools import combinations

import numpy as np
import pytest

from symscreen.fitting.laws.law import LawData
from symscreen.fitting.laws.two_powers import _compute_shares, find_sums_of_two_powers
from symscreen.grammar import load_grammar


def find_terms(columns, target):
    """Return the terms of the laws as text, best first."""
    data = LawData(columns, target, load_grammar("standard"), pool_limit=1000)
    return [tuple(map(str, law.terms)) for law in find_sums_of_two_powers(data)]


def test_the_share_of_each_pair_is_that_of_least_squares(rng):
    powers, outer, target = rng.normal(size=(5, 40)), rng.normal(size=(3, 40)), rng.normal(size=40)
    pairs = list(combinations(range(5), 2))
    shares = _compute_shares(powers, outer, target, pairs)
    for row, pair in zip(shares, pairs, strict=True):
        for share, factor in zip(row, outer, strict=True):
            design = (powers[list(pair)] * factor).T
            residuals = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
            assert share == pytest.approx(residuals @ residuals / (target @ target), abs=1e-12)


def test_equal_products_are_no_pair(rng):
    power = rng.uniform(1.0, 2.0, 30)
    shares = _compute_shares(np.array([power, 2.0 * power]), np.ones((1, 30)), power, [(0, 1)])
    assert np.isinf(shares).all()


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.1])
def test_the_potential_of_lennard_jones_is_found(rng, noise):
    e, r, s = rng.uniform([[0.5], [1.0], [0.8]], [[2.0], [3.0], [1.2]], (3, 400))
    target = 4.0 * e * ((s / r) ** 12 - (s / r) ** 6)
    target += noise * np.sqrt(np.mean(target**2)) * rng.normal(size=400)
    assert find_terms({"e": e, "r": r, "s": s}, target)[0] == ("e*s**12/r**12", "e*s**6/r**6")


def test_inputs_of_both_signs_have_whole_exponents(rng):
    a, x = rng.uniform(1.0, 3.0, 200), rng.uniform(-2.0, 3.0, 200)
    assert find_terms({"a": a, "x": x}, a * (x**5 - 7.3 * x**2))[0] == ("a*x**2", "a*x**5")


def test_huge_inputs_do_not_overflow(rng):
    x = rng.uniform(1e99, 1e100, 100)
    assert find_terms({"x": x}, x + 2e-100 * x**2)[0] == ("x", "x**2")


def test_an_input_with_a_zero_takes_no_part(rng):
    x = rng.uniform(1.0, 2.0, 100)
    x[0] = 0.0
    assert find_terms({"x": x}, x + x**2) == []
