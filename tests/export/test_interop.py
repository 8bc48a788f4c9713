from __future__ import annotations

import keyword
import re

import numpy as np
import pytest
from helpers.requirements import require

from symscreen.errors import DataError, OutputError
from symscreen.export import compute_feature_frame, to_gplearn, to_pysr
from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.grammar import OPERATORS

FORMULAS = [
    parse_expression(text) for text in ("x1 - cos(`flow rate`)/x1", "abs(x1 - `e`)**0.5", "-x1*min(`e`, 2)")
]
ROWS = {
    "x1": np.array([1.0, 2.0, -3.0]),
    "flow rate": np.array([0.5, 1.0, 2.0]),
    "e": np.array([1.0, 4.0, 9.0]),
}


def test_a_guess_reads_back_as_the_formula_and_its_operators_are_listed():
    made = to_pysr(FORMULAS)
    assert made.unary == ("abs", "cos", "neg")
    assert made.binary == ("*", "-", "/", "^", "min")
    frame = made.make_frame(ROWS)
    assert sorted(frame.columns) == sorted(made.variables.values())
    for text, formula in zip(made.texts, FORMULAS, strict=True):
        # but for the power's sign, PySR's notation is ours
        back = parse_expression(text.replace("^", "**"), column_names=set(frame.columns))
        columns = {name: frame[name].to_numpy() for name in frame}
        np.testing.assert_allclose(
            evaluate_expression(back, columns), evaluate_expression(formula, ROWS), rtol=1e-12
        )


def test_variables_mean_nothing_else_there():
    made = to_pysr(parse_expression("`e` + `lambda` + `sin` + `x-y` + `=cmd`"))
    for name in made.variables.values():
        assert re.fullmatch(r"[A-Za-z]\w*", name)
        assert not keyword.iskeyword(name)
        assert name not in {*OPERATORS, "e"}


def test_no_variable_is_a_name_that_pysr_or_julia_refuses():
    import sympy

    names = [
        "S",
        "N",
        "E",
        "I",
        "O",
        "Q",
        "beta",
        "gamma",
        "zeta",
        "test",
        "rate",
        "end",
        "begin",
        "function",
        "true",
        "relu",
        "mult",
        "cond",
        "im",
        "using",
        "x1",
        "λ",
    ]
    names.append("flow rate")
    made = to_pysr(parse_expression(" + ".join(f"`{name}`" for name in names)))
    given = made.variables
    assert len({own.lower() for own in given.values()}) == len(names)
    for own in given.values():
        # what PySR asks of names, and that no name of sympy's is one
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", own)
        assert own not in vars(sympy)
        assert own not in {"end", "begin", "function", "true", "using", "relu", "mult", "cond"}
    assert (given["rate"], given["x1"], given["flow rate"]) == ("rate", "x1", "flow_rate")


def test_the_size_is_that_of_the_longest_guess():
    assert to_pysr([parse_expression("x1"), parse_expression("x1 - cos(x2)/2")]).max_size == 6
    assert to_gplearn([parse_expression("x1*x2")]).max_size == 3


def test_a_result_with_units_is_handed_on_for_the_columns_as_they_came(rng):
    import symscreen

    require("pint")
    data = {"a (mm)": rng.uniform(1, 2, 30), "b [m]": rng.uniform(1, 2, 30)}
    y = data["a (mm)"] / 1000 + data["b [m]"]
    result = symscreen.screen(data, y, units="strict", layers="b", binary="add", top=1)
    values = result.transform(data).to_numpy()[:, 0]
    made = to_pysr(result)
    frame = made.make_frame(data)
    back = parse_expression(made.texts[0], column_names=set(frame.columns))
    found = evaluate_expression(back, {name: frame[name].to_numpy() for name in frame})
    np.testing.assert_allclose(found, values, rtol=1e-15)
    columns, meaning = compute_feature_frame(result, data)
    np.testing.assert_allclose(columns["f1"], values, rtol=1e-15)
    assert meaning == {"f1": "`a (mm)`/1000 + `b [m]`"}


def test_a_program_reads_back_as_the_formula():
    formulas = [
        parse_expression("x1 - cos(`e`)/x1"),
        parse_expression("abs(x1 - `e`)*x1**3"),
        parse_expression("max(-x1, 1/`e`)"),
    ]
    made = to_gplearn(formulas)
    columns = {own: ROWS[name] for name, own in made.variables.items()}
    for text, formula in zip(made.texts, formulas, strict=True):
        # every function of gplearn that is used has the name of one of ours
        np.testing.assert_allclose(
            evaluate_expression(parse_expression(text), columns),
            evaluate_expression(formula, ROWS),
            rtol=1e-12,
        )
    assert made.unary == ("abs", "cos", "inv", "neg")
    assert made.binary == ("div", "max", "mul", "sub")


def test_what_gplearn_has_not_goes_as_a_column():
    with pytest.raises(
        OutputError, match=r"'exp\(x1\)' cannot be written for gplearn, .* no function exp; pass the feature"
    ):
        to_gplearn(parse_expression("1 + exp(x1)"))
    frame, meaning = compute_feature_frame(
        [parse_expression("exp(x1)"), parse_expression("log(x1)"), parse_expression("x1/`e`")], ROWS
    )
    assert meaning == {"f1": "exp(x1)", "f3": "x1/e"}
    np.testing.assert_array_equal(frame["f3"], ROWS["x1"] / ROWS["e"])
    with pytest.raises(OutputError, match="no feature is defined in all rows"):
        compute_feature_frame(parse_expression("log(x1)"), ROWS)
    with pytest.raises(DataError, match="no column 'x1'"):
        compute_feature_frame(parse_expression("log(x1)"), {"e": [1.0]})


def test_a_model_is_one_guess():
    made = to_pysr(Formula("y", 1.0, (2.5,), (parse_expression("x1**2"),)))
    assert made.texts == ("(1.0 + (2.5 * square(x1)))",)
    assert "square" in made.unary
