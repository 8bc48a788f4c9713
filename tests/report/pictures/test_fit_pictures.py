"""What the pictures of a fit draw is what the fit holds."""

from __future__ import annotations

import pickle

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import symscreen
from symscreen.errors import OptionError
from symscreen.expressions.traversal import evaluate_expression


@pytest.fixture(autouse=True)
def without_a_window():
    mpl.use("Agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    x, z = rng.uniform(0.5, 2.0, (2, 80))
    return {"x": x, "z": z, "y": 2.0 * x**2 - 3.0 * x * z + rng.normal(0.0, 0.1, 80)}


@pytest.fixture(scope="module")
def result(table):
    return symscreen.fit(
        table, layers="ub", unary="square", binary="mul", max_terms=2, effort="quick", jobs=1
    )


def _get_points(axes, place=0):
    return sorted(zip(*axes.get_lines()[place].get_data(), strict=True))


def test_predictions_stand_against_the_target(table, result):
    axes = result.plot.predictions()
    drawn = _get_points(axes)
    np.testing.assert_allclose(drawn, sorted(zip(result.predict(table), table["y"], strict=True)), rtol=1e-9)
    assert axes.get_xlabel() == "predicted y"
    assert axes.get_ylabel() == "observed y"
    assert axes.get_title() == f"R² = {result.r2:.4g}"


def test_residuals_are_what_predictions_leave(table, result):
    predicted = result.predict(table)
    drawn = _get_points(result.plot.residuals())
    expected = sorted(zip(predicted, table["y"] - predicted, strict=True))
    np.testing.assert_allclose(drawn, expected, rtol=1e-6, atol=1e-9)


def test_the_front_marks_the_model_chosen(result):
    axes = result.plot.front()
    _, models, chosen = axes.get_lines()
    assert models.get_xdata().tolist() == result.front["complexity"].tolist()
    np.testing.assert_allclose(models.get_ydata(), 1.0 - result.front["r2"])
    row = result.front[result.front["chosen"]].iloc[0]
    np.testing.assert_allclose(chosen.get_data(), [[row["complexity"]], [1.0 - row["r2"]]])


def test_a_term_is_drawn_with_its_coefficient_and_partial_residuals(table, result):
    formula = result.formula
    residuals = table["y"] - result.predict(table)
    assert {str(term) for term in formula.terms} == {"x**2", "x*z"}
    for number, (coefficient, term) in enumerate(
        zip(formula.coefficients, formula.terms, strict=True), start=1
    ):
        axes = result.plot.term(number)
        values = evaluate_expression(term, table)
        x = table["x"] if str(term) == "x**2" else values
        assert axes.get_xlabel() == ("x" if str(term) == "x**2" else "x*z")
        points = sorted(zip(x, coefficient * values + residuals, strict=True))
        np.testing.assert_allclose(_get_points(axes), points, rtol=1e-6, atol=1e-9)
        line = np.array(_get_points(axes, 1))
        curve = line[:, 0] ** 2 if str(term) == "x**2" else line[:, 0]
        np.testing.assert_allclose(line[:, 1], coefficient * curve)


def test_given_axes_are_drawn_on(result):
    _, axes = plt.subplots()
    assert result.plot.front(axes) is axes
    assert repr(result.plot) == "<pictures of a fit: dependence, front, predictions, residuals, term>"


def test_several_targets_have_pictures_each(table):
    several = symscreen.fit(
        {**table, "w": table["x"] + table["z"]},
        target="y,w",
        layers="u",
        unary="square",
        effort="quick",
        jobs=1,
    )
    for target in ("w", "y"):
        assert several.plot.predictions(target=target).get_ylabel() == f"observed {target}"
    with pytest.raises(OptionError, match="there is no target 'q'"):
        several.plot.residuals(target="q")


def test_what_cannot_be_drawn_is_told_and_leaves_no_figure(result):
    plt.close("all")
    with pytest.raises(OptionError, match=r"^there is no term 3; give 1 to 2$"):
        result.plot.term(3)
    copied = pickle.loads(pickle.dumps(result))  # noqa: S301  # our own
    assert copied.plot.front()
    plt.close("all")
    with pytest.raises(OptionError, match=r"^this result has no data, because copies and pickles drop it"):
        copied.plot.residuals()
    assert not plt.get_fignums()
