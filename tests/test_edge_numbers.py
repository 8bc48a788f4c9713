"""T0 and ξ at the edges of double precision, against exact arithmetic: 1e-12·Δ and 1e-12, or a refusal."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from helpers.exact_values import exact_ranks, exact_values
from helpers.statistic_oracles import gini_by_definition, t0_by_definition, xi_by_permutations
from scipy.stats import rankdata

import symscreen
from symscreen.errors import InputError
from symscreen.expressions.traversal import collect_columns, evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.screeners import SCREENERS
from symscreen.screening.inference.numerical_error import estimate_numerical_error
from symscreen.targets import NumericTarget

TINY = np.nextafter(0.0, 1.0)
EDGES = {
    "denormals": [TINY, 3 * TINY, 2 * TINY, 7 * TINY, 5 * TINY, 0.0],
    "both zeros": [0.0, -0.0, 1.0, -0.0, 0.0, -1.0],
    "near overflow": [1.7e308, -1.7e308, 1e308, 0.0, 1.6e308, -1e308],
    "scales 1e15 apart": [1e-8, 1e7, 1.0, 1e7 + 1, 3e-8, -1e7],
    "all magnitudes": [1e-300, 1e300, 1.0, -1e300, 1e-15, 1e15],
    "heavy ties": [1.0, 1.0, 1.0, 1.0, 1.0, 2.0],
    "one ulp apart": [1.0, 1.0 + 2**-52, 1.0 - 2**-53, 1.0, 1.0 + 2**-51, 1.0],
    "offset 1e15": [1e15 + v for v in (0.0, 0.125, 0.5, 0.25, 1.0, 0.375)],
    "duplicated rows": [0.1, 0.2, 0.1, 0.2, 0.3, 0.3],
    "n = 5": [3.0, 1.0, 4.0, 1.5, 9.0],
    "n = 2": [1.0, 2.0],
}
PLAIN = [0.3, 0.1, 0.5, 0.2, 0.9, 0.4]


def cases():
    for name, values in EDGES.items():
        plain = PLAIN[: len(values)]
        yield pytest.param(values, plain, id=f"feature: {name}")
        yield pytest.param(plain, values, id=f"response: {name}")
        yield pytest.param(values, values[::-1], id=f"both: {name}")


@pytest.mark.parametrize(("theta", "y"), list(cases()))
def test_small_tables_agree_with_exact_arithmetic(theta, y):
    try:
        found = symscreen.t0(theta, y)
    except InputError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017  # uncertain, and said so
        return
    scale = gini_by_definition(y)
    assert abs(Fraction(found) - t0_by_definition(theta, y)) <= Fraction(1, 10**12) * scale + Fraction(TINY)
    assert abs(symscreen.xi(theta, y) - xi_by_permutations(theta, y)) <= 1e-12


def test_only_spans_beyond_double_precision_are_refused():
    refused = set()
    for name, values in EDGES.items():
        try:
            symscreen.t0(PLAIN[: len(values)], values)
        except InputError:
            refused.add(name)
    assert refused <= {"denormals", "near overflow", "all magnitudes"}


FORMULAS = ("a + b", "a - b", "a*b", "a/b", "b/(a + 2)", "sin(a)", "sin(a*b)", "cos(a/b)", "(a + b) - a",
            "a**2", "sqrt(abs(a))", "tanh(a)", "exp(b - a)", "abs(a - b)**3")  # fmt: skip


@pytest.mark.slow
def test_features_computed_of_edges_agree_with_exact_arithmetic_or_are_unsafe():
    y, outcomes = np.sort(PLAIN), {}
    long = np.sqrt(PLAIN)  # numbers of few digits may tie as they are written, and not as doubles
    for name, edge in EDGES.items():
        columns = {"a": np.array(edge), "b": long[: len(edge)]}
        for formula in map(parse_expression, FORMULAS):
            values = evaluate_expression(formula, columns)
            if len(edge) < 6 or np.isnan(values).any():
                continue
            own = {column: columns[column] for column in collect_columns(formula)}
            safety = estimate_numerical_error(
                formula, values, own, NumericTarget(y), (SCREENERS["t0"], SCREENERS["xi"])
            )
            outcomes[name, str(formula)] = safety.n_uncertain_rows
            if not safety.n_uncertain_rows:
                ranks = exact_ranks(exact_values(formula, columns))
                assert abs(symscreen.t0(values, y) - symscreen.t0(ranks, y)) <= 1e-12
                assert abs(symscreen.xi(values, y) - symscreen.xi(ranks, y)) <= 1e-12
    assert sum(rows == 0 for rows in outcomes.values()) > len(outcomes) / 2
    assert outcomes["all magnitudes", "sin(a*b)"] > 1
    assert outcomes["offset 1e15", "a + b - a"] > 1
    assert outcomes["denormals", "a*b"] > 1
    assert outcomes["near overflow", "sin(a)"] == 0


@pytest.mark.parametrize(
    "column",
    [
        [3, 1, 2, 5, 4, 6],
        [True, False, True, True, False, False],
        [Decimal(text) for text in ("0.1", "0.3", "0.2", "1e-20", "5", "4")],
        np.array([0.1, 0.3, 0.2, 7, 5, 4], dtype=np.float32),
        np.array([3, 1, 2, 5, 4, 6], dtype=np.uint8),
    ],
    ids=["integers", "booleans", "decimals", "float32", "bytes"],
)
def test_columns_of_other_kinds_score_as_the_numbers_that_they_are(column):
    y = [5.0, 1.0, 4.0, 2.0, 3.0, 7.0]
    result = symscreen.screen({"a": column, "y": y}, layers="u", unary="id", screener="t0", top="all")
    expected = t0_by_definition([float(value) for value in column], y)
    (found,) = result.table.loc[result.table["expression"] == "a", "t0"]
    assert abs(Fraction(found) - expected) <= Fraction(1, 10**11) * gini_by_definition(y)


LARGE = [2**60 + step for step in (5, 3, 1, 4, 2, 0, 200_000)]


@pytest.mark.parametrize(
    "column",
    [
        np.array(LARGE),
        np.array(LARGE, dtype=np.uint64),
        [Decimal(value) for value in LARGE],
        [Decimal("0.1") + Decimal(value - 2**60) * Decimal("1e-22") for value in LARGE],
    ],
)
def test_numbers_that_double_precision_cannot_tell_apart_are_not_taken_for_ties(column):
    y = [6.0, 4.0, 2.0, 5.0, 3.0, 1.0, 7.0]
    with pytest.raises(InputError, match="equal in double precision: subtract an offset"):
        symscreen.t0(column, y)
    with pytest.raises(InputError, match="equal in double precision: subtract an offset"):
        symscreen.xi(y, column)
    frame = pd.DataFrame({"a": column, "b": y, "y": y})
    for missing in (False, True):
        if missing:
            frame["a"] = frame["a"].astype(object).where(np.arange(7) != 6, None)
        result = symscreen.screen(frame, layers="u", unary="id")
        assert result.table["expression"].tolist() == ["b"]
        assert "left out: 'a'" in result.notices[0]


def test_large_whole_numbers_that_stay_apart_are_taken():
    whole = np.array(LARGE) // 1024 * 1024 + 1024 * np.arange(7)
    y = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    assert symscreen.t0(whole, y) == 0.0


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.array([1 + 9j, 2 - 5j, 3 + 1j]), "not all of its values are real numbers"),
        (np.ma.array([1.0, 99.0, 3.0], mask=[0, 1, 0]), "masked values"),
        (["1", "2", "x"], "not all of its values are real numbers"),
    ],
)
def test_what_is_no_number_is_not_read_as_one(values, words):
    with pytest.raises(InputError, match=words):
        symscreen.t0(values, [1.0, 2.0, 3.0])


def test_a_feature_that_is_constant_after_rounding_is_left_out():
    a = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) * 1e-17
    result = symscreen.screen(
        {"a": a, "y": [3.0, 1.0, 4.0, 1.5, 9.0, 2.0]}, layers="u", unary="cos,sin", top="all"
    )
    assert set(result.table["expression"]) == {"a", "sin(a)"}  # cos(a) is 1, to the last bit


@pytest.mark.slow
def test_a_million_rows_agree_with_whole_numbers(rng):
    n = 10**6
    theta, y = rng.integers(0, 50_000, n), rng.integers(0, 10**6, n)
    twice = [(2 * rankdata(values)).astype(np.int64) for values in (theta, y)]
    exact = Fraction(2 * int((y * (twice[1] - twice[0])).sum()), n * (n - 1))
    delta = Fraction(2 * int((y * (twice[1] - (n + 1))).sum()), n * (n - 1))
    assert abs(Fraction(symscreen.t0(theta, y)) - exact) <= Fraction(1, 10**12) * delta
