"""Why a fit missed its law."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import least_squares

from symscreen.experiments.srbench.misses import (
    TIME_LIMIT_S,
    diagnose_miss,
    list_candidates,
    measure_number_change,
)
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.results.fit_result import FitResult

LAW = "x*exp(-0.7*y) + 2.25"
POOR = parse_expression("0.3*x - 0.2*y")


@pytest.fixture
def rows(rng):
    return {name: rng.uniform(1.0, 3.0, 400) for name in "xy"}


@pytest.fixture
def truth(rows):
    return evaluate_expression(parse_expression(LAW), rows)


@pytest.mark.parametrize(
    ("text", "change"),
    [
        (LAW, 0.0),
        ("x*exp(-0.7001*y) + 2.2498", 0.0002),
        ("x*exp(-0.6*y) + 2.2", 0.1),
        ("0.9*x*exp(-0.71*y) + 2.26", 0.1),
        ("2.25 + x/exp(0.7*y)", 0.0),
    ],
)
def test_the_form_of_the_law_is_recognised_with_other_numbers(text, change, rows, truth):
    assert measure_number_change(parse_expression(text), rows, truth) == pytest.approx(change, abs=1e-6)


def test_a_change_in_the_last_digits_is_measured(rows, truth):
    near = parse_expression("x*exp(-0.7*y) + 2.2500000000001")
    assert measure_number_change(near, rows, truth) == pytest.approx(1e-13, rel=0.05, abs=0.0)


def test_numbers_that_do_not_converge_are_given_up_after_200_evaluations(monkeypatch):
    evaluations = []

    def fit(*arguments, **options):
        found = least_squares(*arguments, **options)
        evaluations.append(found.nfev)
        return found

    monkeypatch.setattr("scipy.optimize.least_squares", fit)
    x = np.linspace(1.0, 3.0, 50)
    slow = parse_expression("0.1*exp(0.2*x) + 0.3*exp(0.4*x)")
    assert measure_number_change(slow, {"x": x}, np.exp(x) * np.sin(3.0 * x)) is None
    assert evaluations == [200]


@pytest.mark.parametrize(
    "text",
    [
        "0.3*x - 0.2*y",
        "7",
        "2.25 + 0.5*x - 0.2*x*y + 0.02*x*y**2",
        "0.5*log(x - 1.5) + y",  # undefined in some rows
        "2.25 + x*exp(-y)",  # an integer is no fitted number
    ],
)
def test_another_formula_is_not(text, rows, truth):
    assert measure_number_change(parse_expression(text), rows, truth) is None


@pytest.mark.parametrize(
    ("text", "candidates", "seconds", "cause"),
    [
        ("2.25 + x/exp(0.7*y)", (), 1.0, "not recognised"),
        ("x*exp(-0.6*y) + 2.2", (), 1.0, "wrong numbers"),
        ("0.3*x - 0.2*y", ("x", LAW), 1.0, "approximation chosen"),
        ("0.3*x - 0.2*y", ("x", LAW), 2 * TIME_LIMIT_S, "approximation chosen"),
        ("0.3*x - 0.2*y", ("x", "y"), 2 * TIME_LIMIT_S, "over the time limit"),
        ("0.3*x - 0.2*y", ("x", "y"), TIME_LIMIT_S, "not found"),
    ],
)
def test_the_cause_of_a_miss(text, candidates, seconds, cause, rows, truth):
    others = [parse_expression(each) for each in candidates]
    assert diagnose_miss(parse_expression(text), others, rows, truth, seconds) == cause


def test_the_closest_approximation_of_a_run_is_not_the_law(rng):
    rows = {name: rng.uniform(0.0, 1.0, 2000) for name in ("alpha", "n")}
    truth = evaluate_expression(parse_expression("1 + n*alpha/(1 - (n*alpha/3))"), rows)
    close = parse_expression(
        "1.1740348151525353 + 0.1608442158519738*(alpha*n + (alpha*n)**2) - 0.1740348158914347*(exp(alpha*n) "
        "+ sin(alpha*n)) + 1.4467022887900398*(alpha*n)**2/sin(alpha*n) "
        "- 0.25947579213955235*alpha*n/exp(alpha*n)"
    )
    residual = evaluate_expression(close, rows) - truth
    assert (residual**2).sum() < 1e-14 * ((truth - truth.mean()) ** 2).sum()
    assert measure_number_change(close, rows, truth) is None


def test_the_candidates_are_those_of_the_front_and_the_alternatives_with_the_best_first():
    front = pd.DataFrame({"r2": [0.1, 0.9], "formula": ["x", "2*x + y"]})
    alternatives = pd.DataFrame({"r2": [0.95, 0.9, 0.5], "formula": ["exp(x)", "2*x + y", "not a formula"]})
    result = FitResult(
        formula=None, terms=None, front=front, alternatives=alternatives, r2=0.9, notices=(), record={}
    )
    assert list(map(str, list_candidates(result, ["x", "y"]))) == ["exp(x)", "2*x + y", "x"]


def test_a_constant_law_has_no_form(rows):
    assert measure_number_change(POOR, rows, np.full(400, 2.0)) is None
