"""Guesses of the user."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.errors import FormulaError, OptionError
from symscreen.expressions.traversal import compute_key
from symscreen.expressions.tree import parse_expression
from symscreen.fitting.guesses import split_sum

SMALL = {"operators": "ablation", "layers": "ub"}


def _draw(rng, n=120):
    return rng.uniform(1.0, 3.0, (n, 3))


def _is_same(formula, text):
    return compute_key(formula.round_numbers(6).expression) == compute_key(parse_expression(text))


@pytest.mark.parametrize("layers", [None, "u"])
def test_a_guess_outside_the_grammar_is_found_as_it_is(rng, layers):
    x = _draw(rng)
    y = 1.5 + 2.0 * np.tanh(x[:, 0] / x[:, 1]) * np.arctan(x[:, 2])
    guess = "tanh(x1/x2)*atan(x3)"
    result = symscreen.fit(x, y, also=guess, operators="ablation", layers=layers)
    assert _is_same(result.formula, f"1.5 + 2*{guess}")
    assert result.record["also"] == [guess]
    assert result.record["verdict"]["kind"] == "exact"


@pytest.mark.slow
def test_the_numbers_of_a_guess_are_the_start_of_a_fit(rng):
    x = _draw(rng)
    y = 2.5 * np.tanh(1.7 * x[:, 0] / x[:, 1]) + x[:, 2]
    result = symscreen.fit(x, y, also="7*tanh(1.5*x1/x2) + 9*x3 - 4", **SMALL)
    assert _is_same(result.formula, "2.5*tanh(1.7*x1/x2) + x3")
    noisy = symscreen.fit(x, y + rng.normal(0, 0.01, 120), also="tanh(1.5*x1/x2) + x3", **SMALL)
    assert noisy.r2 > 0.999
    assert "tanh" in noisy.formula.text


def test_a_guess_is_a_term_of_other_models(rng):
    x = _draw(rng)
    guess = "exp(sin(x1)*x2)"
    y = 3.0 * np.exp(np.sin(x[:, 0]) * x[:, 1]) - 2.0 * x[:, 1] * x[:, 2] + x[:, 0] ** 3 + 1.0
    result = symscreen.fit(x, y, also=["x1/x3", guess], **SMALL)
    assert _is_same(result.formula, f"1 + 3*{guess} - 2*x2*x3 + x1**3")


def test_a_guess_serves_several_targets(rng):
    x = _draw(rng)
    values = np.exp(np.sin(x[:, 0]) * x[:, 1])
    both = np.column_stack([values + x[:, 2] ** 3, 2.0 * values - x[:, 2] ** 3])
    result = symscreen.fit(x, both, also="exp(sin(x1)*x2)", **SMALL)
    assert sorted(map(str, result.formula.terms)) == ["exp(sin(x1)*x2)", "x3**3"]


def test_a_bad_guess_is_not_chosen(rng):
    x = _draw(rng)
    y = 2.0 * x[:, 0] ** 3 - x[:, 1] + rng.normal(0, 0.1, 120)
    free, guessed = (symscreen.fit(x, y, also=also, **SMALL) for also in ((), "sin(9*x3)*exp(x2)"))
    assert guessed.formula == free.formula


def test_a_result_of_a_screen_gives_its_features(rng):
    x = _draw(rng)
    y = 4.0 * np.sqrt(x[:, 0] * x[:, 1]) / x[:, 2] + 1.0
    shortlist = symscreen.screen(x, y, layers="bub", operators="basic", top=3)
    result = symscreen.fit(x, y, also=shortlist, layers="u", operators="ablation")
    assert result.record["also"] == [str(feature) for feature in shortlist.expressions]
    assert result.record["verdict"]["kind"] == "exact"
    mixed = symscreen.fit(x, y, also=[shortlist, "x1*x2"], layers="u", operators="ablation")
    assert mixed.record["also"] == [*result.record["also"], "x1*x2"]


def test_guesses_have_to_keep_to_required_inputs(rng):
    x = _draw(rng)
    y = 2.0 * np.tanh(x[:, 0] / x[:, 1])
    result = symscreen.fit(x, y, also="tanh(x1/x2)", must_use="x3", **SMALL)
    assert "x3" in result.formula.text


@pytest.mark.parametrize(
    ("also", "error", "says"),
    [
        ("x1 + x9", FormulaError, "no column 'x9'; known: x1, x2, x3"),
        ("x1 +", FormulaError, "x1"),
        ("nope(x1)", FormulaError, "nope"),
        ("log(x1 - 2)", FormulaError, r"undefined in \d+ of 120 rows"),
        ("x1 - x1", FormulaError, "constant"),
        (["x1", 3], OptionError, "give a text, a result of a screen, or a list of these"),
        ("__import__('os')", FormulaError, "import"),
    ],
)
def test_what_is_no_guess_is_refused(rng, also, error, says):
    x = _draw(rng)
    with pytest.raises(error, match=says):
        symscreen.fit(x, x[:, 0], also=also, **SMALL)


def test_a_screen_of_other_columns_is_refused(rng):
    x = _draw(rng)
    other = symscreen.screen(pd.DataFrame(x, columns=["length", "b", "c"]), x[:, 0], layers="u", top=1)
    with pytest.raises(FormulaError, match="there is no input 'length'"):
        symscreen.fit(x, x[:, 0], also=other, **SMALL)


def test_with_units_a_guess_has_to_have_one(rng):
    x = _draw(rng)
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(y=x[:, 0] * x[:, 1])
    units = {"a": "m", "b": "s", "c": "m", "y": "m*s"}
    with pytest.raises(FormulaError, match="has no unit"):
        symscreen.fit(frame, also="exp(a)", units=units, operators="basic", layers="b")
    result = symscreen.fit(frame, also="a*b + b*c", units=units, operators="basic", layers="u")
    assert result.formula.text == "a*b"


def test_guesses_are_reported_for_rows_in_any_order_with_the_same_bytes(rng):
    x = _draw(rng)
    y = 2.5 * np.tanh(1.7 * x[:, 0] / x[:, 1]) + x[:, 2] + rng.normal(0, 0.05, 120)
    order = rng.permutation(120)
    one, other = (
        symscreen.fit(x[rows], y[rows], also="tanh(1.5*x1/x2)", **SMALL) for rows in (slice(None), order)
    )
    assert one.formula == other.formula
    assert one.record == other.record
    pd.testing.assert_frame_equal(one.front, other.front, check_exact=True)


def test_the_estimator_takes_guesses(rng):
    x = _draw(rng)
    y = 2.0 * np.tanh(x[:, 0] / x[:, 1])
    model = symscreen.SymbolicRegressor(also="tanh(x1/x2)", **SMALL).fit(x, y)
    assert model.formula_.text == "2*tanh(x1/x2)"


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("2*x - (3 + sin(y)*4)", ["x", "sin(y)"]),
        ("-(x*y)/3 + 7", ["x*y"]),
        ("exp(2*x)", ["exp(2*x)"]),
        ("x", ["x"]),
    ],
)
def test_a_sum_is_split_into_its_terms_without_numeric_factors(text, terms):
    assert list(map(str, split_sum(parse_expression(text)))) == terms
