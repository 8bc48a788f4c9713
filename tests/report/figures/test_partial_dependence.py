"""Partial dependence against its definition, one value and one row at a time."""

from __future__ import annotations

import numpy as np
import pytest

from symscreen.errors import OptionError
from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.tree import parse_expression
from symscreen.report.figures.partial_dependence import predict_over_grid


def _make_formula(*terms):
    return Formula("y", 0.5, tuple(range(2, 2 + len(terms))), tuple(map(parse_expression, terms)))


def test_each_prediction_is_that_of_a_row_with_one_value_replaced(rng):
    formula = _make_formula("x*z", "sqrt(x)")
    columns = {"x": rng.uniform(1, 2, 500), "z": rng.uniform(1, 2, 500), "other": rng.uniform(1, 2, 500)}
    grid, predictions = predict_over_grid(formula, columns, "x")
    assert (grid[0], grid[-1]) == (columns["x"].min(), columns["x"].max())
    assert predictions.shape == (200, 60)
    rows = np.linspace(0, 499, 200).round().astype(int)
    for i, j in ((0, 0), (17, 40), (199, 59)):
        expected = 0.5 + 2 * grid[j] * columns["z"][rows[i]] + 3 * np.sqrt(grid[j])
        assert predictions[i, j] == pytest.approx(expected)


def test_an_input_of_few_values_takes_each_of_them():
    columns = {"x": np.array([0.0, 1.0, 1.0, 5.0])}
    grid, predictions = predict_over_grid(_make_formula("x"), columns, "x")
    assert grid.tolist() == [0.0, 1.0, 5.0]
    assert predictions.tolist() == [[0.5, 2.5, 10.5]] * 4


def test_rows_that_are_undefined_somewhere_are_left_out():
    columns = {"x": np.array([1.0, 2.0, 3.0]), "z": np.array([0.0, 1.5, 4.0])}
    _, predictions = predict_over_grid(_make_formula("log(x - z)"), columns, "x")
    assert len(predictions) == 1  # only with z = 0 every value of x has a logarithm
    with pytest.raises(OptionError, match="undefined in every row for some value of 'z'"):
        predict_over_grid(_make_formula("log(x - z)"), columns, "z")


def test_an_input_that_the_formula_lacks_is_refused():
    with pytest.raises(OptionError, match="the formula has no input 'w'"):
        predict_over_grid(_make_formula("x"), {"x": np.ones(2), "w": np.ones(2)}, "w")
