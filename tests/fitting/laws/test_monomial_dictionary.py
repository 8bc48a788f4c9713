from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from symscreen.expressions.traversal import collect_columns, evaluate_expression
from symscreen.fitting.laws.monomial_dictionary import (
    build_monomials,
    build_polynomial,
    build_squared_differences,
    build_waves,
    list_monomial_exponents,
)

OPERATORS = frozenset({"add", "sub", "mul", "div", "sqrt", "log", "sin", "cos"})


def test_values_are_those_of_the_expressions(rng):
    columns = {name: rng.uniform(0.5, 2, 20) for name in ("a", "b", "c")}
    names = tuple(columns)
    for dictionary in (
        build_monomials(names, OPERATORS, logs=True),
        build_squared_differences(names, OPERATORS, logs=True),
        *build_waves(names, OPERATORS),
    ):
        values = dictionary.evaluate(columns)
        for index in range(len(dictionary)):
            expected = evaluate_expression(dictionary.build_term(index), columns)
            np.testing.assert_allclose(values[index], expected, rtol=1e-12)


@pytest.mark.parametrize("n_inputs", [1, 2, 5, 9])
def test_exponents_are_symmetric_in_the_inputs_and_limited(n_inputs):
    exponents = list_monomial_exponents(n_inputs, 240, has_roots=True)
    assert len(set(exponents)) == len(exponents) <= 240
    assert exponents[0] == (Fraction(0),) * n_inputs
    assert {tuple(reversed(each)) for each in exponents} == set(exponents)


def test_waves_are_multiplied_by_the_other_inputs_only():
    for dictionary in build_waves(("a", "b", "c"), OPERATORS):
        factors = [factor for _, factor in dictionary.terms if factor is not None]
        assert factors
        assert not collect_columns(*factors) & set(dictionary.inputs)


@pytest.mark.parametrize(("n_inputs", "degree"), [(1, 6), (3, 6), (4, 4), (6, 3), (12, 1), (200, 0)])
def test_a_polynomial_has_all_products_of_inputs_up_to_a_degree(n_inputs, degree):
    terms = build_polynomial([f"x{place}" for place in range(n_inputs)]).terms
    assert len(set(terms)) == len(terms) == comb(n_inputs + degree, degree) <= 90
    assert max(sum(exponents) for exponents, _ in terms) == degree
    assert all(factor is None and min(exponents) >= 0 for exponents, factor in terms)


def test_without_waves_or_differences_there_are_no_such_dictionaries():
    assert build_waves(("a", "b"), frozenset({"mul"})) == []
    assert build_squared_differences(("a", "b", "c"), frozenset({"mul"}), logs=False) is None
