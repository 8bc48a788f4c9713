"""Structures of laws, and how many of SRBench's have which."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from symscreen.experiments.srbench.problems import draw_table, list_problems
from symscreen.experiments.srbench.structure import (
    _differentiate,
    compute_gradient_rank,
    count_monomials,
    find_structure,
)
from symscreen.expressions.tree import parse_expression


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        ("-3*x**2/sqrt(y)*z", 0),
        ("x*exp(-y/z)", 1),
        ("x/sqrt(1 - y**2/(20*z**2))", 1),
        ("x*y*sin(x)", 1),
        ("x*sin(y)*exp(z)", 2),
        ("x + y*sin(z)", 2),
        ("sin(x)*exp(y)*tanh(z)", 3),
    ],
)
def test_the_rank_of_the_gradients_counts_the_monomials_inside(text, rank, rng):
    rows = {name: rng.uniform(1.0, 3.0, 300) for name in "xyz"}
    assert compute_gradient_rank(parse_expression(text), rows) == rank


def test_derivatives_are_those_of_log_y_in_the_logarithm_of_an_input(rng):
    logs = {name: rng.uniform(0.0, 1.0, 20) for name in "xy"}
    expression = parse_expression("-3*x**2.5*exp(x*y)")
    product = np.exp(logs["x"] + logs["y"])
    assert _differentiate(expression, logs, "x") == pytest.approx(2.5 + product, rel=1e-9)
    assert _differentiate(expression, logs, "y") == pytest.approx(product, rel=1e-9)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("2*x/y**3", 1),
        ("-x*y/(3*pi)", 1),
        ("x*(y + 2*z)", 2),
        ("1/sqrt(x**2 + y**2 + z**2)", 3),
        ("sqrt(x/y - z)", 2),
        ("x + y + z + x*y", None),
        ("x*exp(y)", None),
        ("sqrt(x) + 1/(y + z)", None),
    ],
)
def test_monomials_of_the_four_responses_are_counted(text, count):
    assert count_monomials(parse_expression(text)) == count


@pytest.mark.slow
def test_the_counts_are_those_known_of_the_benchmark():
    feynman = [problem for problem in list_problems() if problem.group == "Feynman"]
    structures = Counter(map(find_structure, feynman))
    assert (structures["monomial"], structures["sum of monomials"]) == (38, 33)
    ranks = Counter()
    for problem in feynman:
        table = draw_table(problem, 0).drop(columns=problem.target).iloc[:300]
        rows = {name: np.asarray(table[name]) for name in table}
        ranks[compute_gradient_rank(problem.expression, rows)] += 1
    assert (ranks[0], ranks[1], ranks[2]) == (38, 48, 22)
