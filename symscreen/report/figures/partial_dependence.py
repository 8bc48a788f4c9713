"""Partial dependence: how the prediction of a formula depends on one input, on average over rows.

Source: J. H. Friedman, Greedy function approximation, Annals of Statistics 29 (2001), section 8.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError
from symscreen.expressions.traversal import collect_inputs, evaluate_expression
from symscreen.messages import suggest
from symscreen.report.figures.style import CURVE, MARK, PLAIN_TEXT, despine, shorten_label

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from symscreen._typing import Values
    from symscreen.expressions.linear_formula import Formula


_MAX_ROWS = 200  # rows over which the mean is taken
_MAX_LINES = 20  # single rows that are drawn
_GRID_POINTS = 60  # values of the input


def predict_over_grid(formula: Formula, columns: Mapping[str, Values], name: str) -> tuple[Values, Values]:
    """Predict rows while one input takes each value of a grid.

    Parameters
    ----------
    formula : Formula
        The formula.
    columns : mapping of str to float64 array, each of shape (n,)
        The inputs of the formula.
    name : str
        The input that varies, over its range in the rows.

    Returns
    -------
    grid : float64 array, shape (g,)
        The values of the input: all of them if they are few, else evenly spaced ones.
    predictions : float64 array, shape (m, g)
        The predictions for at most 200 rows, evenly spaced in their order. Rows in which the formula is
        undefined at a value of the grid are left out.

    Raises
    ------
    OptionError
        If the formula has no such input, or every row is undefined somewhere.
    """
    inputs = sorted(collect_inputs(formula.terms))
    if name not in inputs or name not in columns:
        raise OptionError(f"the formula has no input {name!r}{suggest(name, inputs)}")
    grid = np.unique(columns[name])
    if len(grid) > _GRID_POINTS:
        grid = np.linspace(float(grid[0]), float(grid[-1]), _GRID_POINTS)
    n = len(columns[name])
    rows = np.unique(np.linspace(0, n - 1, min(n, _MAX_ROWS)).round().astype(np.intp))
    given = {each: np.repeat(columns[each][rows], len(grid)) for each in inputs}
    given[name] = np.tile(grid, len(rows))
    with np.errstate(all="ignore"):
        terms = np.array([evaluate_expression(term, given) for term in formula.terms])
        predictions = formula.sum_terms(terms).reshape(len(rows), len(grid))
    predictions = predictions[np.isfinite(predictions).all(axis=1)]
    if not len(predictions):
        raise OptionError(f"the formula is undefined in every row for some value of {name!r}")
    return grid, predictions


def draw_dependence(
    axes: Axes, formula: Formula, columns: Mapping[str, Values], name: str, units: tuple[str, str] = ("", "")
) -> None:
    """Draw the mean prediction against one input, and thin lines for single rows.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        The axes to draw on.
    formula, columns, name
        See `predict_over_grid`.
    units : pair of str
        The units of the input and of the target; they may be empty.

    Raises
    ------
    OptionError
        See `predict_over_grid`.
    """
    grid, predictions = predict_over_grid(formula, columns, name)
    shown = np.unique(np.linspace(0, len(predictions) - 1, _MAX_LINES).round().astype(np.intp))
    axes.plot(grid, predictions[shown].T, color=MARK, linewidth=0.7, alpha=0.35)
    axes.plot(grid, predictions.mean(axis=0), color=CURVE, linewidth=2.0)
    despine(axes)
    axes.set_xlabel(shorten_label(name, unit=units[0]), **PLAIN_TEXT)
    axes.set_ylabel(f"predicted {shorten_label(formula.target, 30, unit=units[1])}", **PLAIN_TEXT)
