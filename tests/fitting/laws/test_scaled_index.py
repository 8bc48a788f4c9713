from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from symscreen.expressions.traversal import iterate_constants
from symscreen.fitting.laws.fitted_laws import fit_laws
from symscreen.fitting.laws.law import build_law_data
from symscreen.fitting.laws.log_scale import compute_log_scale
from symscreen.fitting.laws.refinement import refine_law
from symscreen.fitting.laws.scaled_index import (
    estimate_outer_exponents,
    find_scaled_index_laws,
    list_functions,
)
from symscreen.grammar import load_grammar

GRAMMAR = load_grammar("standard")

LAWS = {
    "h*w/(exp(0.16*h*w/(k*T)) - 1)": (
        lambda c: c["h"] * c["w"] / np.expm1(0.16 * c["h"] * c["w"] / (c["k"] * c["T"])),
        {"h": 1, "w": 1, "k": -1, "T": -1},
        0.16,
    ),
    "sin(6.3*e*t/h)**2": (
        lambda c: np.sin(6.3 * c["e"] * c["t"] / c["h"]) ** 2,
        {"e": 1, "t": 1, "h": -1},
        6.3,
    ),
    "a*(1 - exp(-0.7*t))": (lambda c: -c["a"] * np.expm1(-0.7 * c["t"]), {"t": 1}, -0.7),
    "a*log(1 + 2.5*b/t)": (lambda c: c["a"] * np.log1p(2.5 * c["b"] / c["t"]), {"b": 1, "t": -1}, 2.5),
}


def make_data(text, noise, rng, n=600):
    function, index, number = LAWS[text]
    names = sorted({*index, *(("a",) if "a*" in text else ())})
    columns = {name: rng.uniform(1, 3, n) for name in names}
    target = function(columns)
    target = target + noise * target.std() * rng.normal(size=n)
    data = build_law_data(columns, target, GRAMMAR, pool_limit=2000)
    scale = compute_log_scale(data.columns, data.target)
    return data, scale, [Fraction(index.get(name, 0)) for name in scale.names], number


@pytest.mark.slow
@pytest.mark.parametrize("text", [*list(LAWS)[2:], *(law for law in list(LAWS)[:2])])
def test_a_number_inside_a_function_is_found_exactly(text, rng):
    data, scale, index, number = make_data(text, 0.0, rng)
    laws = find_scaled_index_laws(index, 1.0, data, scale)
    refined = [law for law in (refine_law(law, data) for law in laws) if law is not None]
    exact = [each.law for each in fit_laws(refined, data.columns, data.target) if not each.unexplained_share]
    numbers = [abs(each.value) for law in exact for term in law.terms for each in iterate_constants(term)]
    assert any(abs(each / number) == pytest.approx(1.0) for each in numbers)


@pytest.mark.slow
@pytest.mark.parametrize("text", LAWS)
def test_with_noise_the_planted_law_is_among_the_candidates(text, rng):
    data, scale, index, number = make_data(text, 0.02, rng)
    laws = find_scaled_index_laws(index, 1.0, data, scale)
    fitted = fit_laws(laws, data.columns, data.target)
    near = [
        each.unexplained_share
        for each in fitted
        for term in each.law.terms
        for constant in iterate_constants(term)
        if constant.fitted and abs(constant.value) == pytest.approx(abs(number), rel=0.15)
    ]
    assert min(near) < 1.25 * 0.02**2  # the variance of 600 draws is within 25 % of its mean


def test_the_exponents_outside_are_estimated_without_knowing_the_function(rng):
    columns = {name: rng.uniform(1, 3, 2000) for name in "abcd"}
    theta = columns["a"] * columns["b"]
    target = columns["c"] ** 2 / np.sqrt(columns["d"]) * (2 + np.sin(theta))
    scale = compute_log_scale(columns, target)
    exponents = estimate_outer_exponents([Fraction(1), Fraction(1), Fraction(0), Fraction(0)], scale)
    assert exponents == [0, 0, 2, Fraction(-1, 2)]


def test_exponents_that_are_not_simple_give_no_law(rng):
    columns = {name: rng.uniform(1, 3, 2000) for name in "ab"}
    data = build_law_data(columns, columns["a"] ** 1.27 * np.exp(columns["b"]), GRAMMAR, pool_limit=2000)
    scale = compute_log_scale(data.columns, data.target)
    assert find_scaled_index_laws([Fraction(0), Fraction(1)], 1.0, data, scale) == []


def test_no_function_is_another_with_a_different_scale():
    functions = list_functions(GRAMMAR)
    texts = set(map(str, functions))
    assert {"tanh(θ)", "1 - exp(θ)", "1 + cos(θ)", "log(θ + 1)"} <= texts
    assert not texts & {"θ", "exp(θ)", "log(θ + θ)", "sin(θ + θ)", "sin(1/θ)", "sin(exp(θ))"}


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_catenary_is_found(noise, rng):
    a, x = rng.uniform(1, 5, (2, 500))
    target = a * np.cosh(x / a)
    target += noise * np.sqrt(np.mean(target**2)) * rng.normal(size=500)
    data = build_law_data({"a": a, "x": x}, target, GRAMMAR, pool_limit=2000)
    scale = compute_log_scale(data.columns, data.target)
    laws = find_scaled_index_laws([Fraction(-1), Fraction(1)], 1.0, data, scale)
    refined = [law for law in (refine_law(law, data) for law in laws) if law is not None]
    assert "a*(exp(x/a) + exp(-(x/a)))" in {str(law.terms[0]) for law in refined}
