"""The figures of a fit on matplotlib axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError
from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import collect_inputs, evaluate_expression
from symscreen.messages import suggest
from symscreen.report.figures.partial_dependence import draw_dependence
from symscreen.report.figures.style import (
    CURVE,
    FAINT,
    INK,
    MARK,
    PLAIN_TEXT,
    despine,
    draw_notebook_picture,
    draw_on_axes,
    get_unit,
    shorten_label,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symscreen._typing import Values
    from symscreen.data import Dataset
    from symscreen.results.fit_result import AnyFitResult, FitResult, SharedFitResult


_MAX_POINTS = 2000  # points of a figure
_CURVE_POINTS = 400  # points of the curve of a term
_DIGITS = 4  # significant digits of numbers in titles
_LEAST_ERROR = 1e-16  # of the front: exact formulas are drawn here
_LOG_BELOW = 0.05  # the error below which the axis of the front is logarithmic


@dataclass(frozen=True, eq=False, repr=False)
class FitPlots:
    """The figures of a fit: ``result.plot``.

    Each method returns the axes that it drew on: the given ones, or those of a new figure. The methods
    require matplotlib (the extra ``plot``). With units, all values are in base units.

    Parameters
    ----------
    result : FitResult or SharedFitResult
        The result to draw.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.load_strogatz("lv1")
    >>> result = symscreen.fit(data.frame, operators="strogatz", layers="ub")
    >>> result.plot
    <pictures of a fit: dependence, front, predictions, residuals, term>
    >>> result.plot.term(9)
    Traceback (most recent call last):
    ...
    symscreen.errors.OptionError: there is no term 9; give 1 to 3
    """

    result: FitResult | SharedFitResult

    def __repr__(self) -> str:
        names = sorted(name for name in vars(FitPlots) if not name.startswith("_"))
        return f"<pictures of a fit: {', '.join(names)}>"

    def _repr_html_(self) -> str:
        """Show the predictions in a notebook; nothing without the rows."""
        if self.result.data is None:
            return ""
        return draw_notebook_picture(self.predictions, "Observed against predicted target")

    def predictions(self, ax: Axes | None = None, *, target: str | None = None) -> Axes:
        """Draw the observed target against the predictions, on the rows of the fit.

        All points would lie on the line if the formula were exact. At most 2000 rows are drawn.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on.
        target : str, optional
            One of several targets; by default the first one.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        OptionError
            If there is no such target, or the result has no data.
        """
        return draw_on_axes(ax, (4.8, 4.2), lambda axes: _draw_predictions(axes, self.result, target))

    def residuals(self, ax: Axes | None = None, *, target: str | None = None) -> Axes:
        """Draw the residuals, observed minus predicted, against the predictions.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on.
        target : str, optional
            One of several targets; by default the first one.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        OptionError
            If there is no such target, or the result has no data.
        """
        return draw_on_axes(ax, (4.8, 3.6), lambda axes: _draw_residuals(axes, self.result, target))

    def front(self, ax: Axes | None = None) -> Axes:
        """Draw the error of each model of the Pareto front against its complexity.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return draw_on_axes(ax, (4.8, 3.6), lambda axes: draw_front(axes, self.result))

    def dependence(self, name: str, ax: Axes | None = None, *, target: str | None = None) -> Axes:
        """Draw how the prediction depends on one input (partial dependence).

        The thick line is the mean over at most 200 rows, with the input at each value of its range. Thin
        lines are single rows. Rows in which the formula is undefined somewhere are left out.

        Parameters
        ----------
        name : str
            An input of the formula.
        ax : matplotlib.axes.Axes, optional
            The axes to draw on.
        target : str, optional
            One of several targets; by default the first one.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        OptionError
            If there is no such input or target, the result has no data, or every row is undefined somewhere.
        """
        return draw_on_axes(ax, (4.8, 3.6), lambda axes: _draw_dependence(axes, self.result, name, target))

    def term(self, number: int, ax: Axes | None = None, *, target: str | None = None) -> Axes:
        """Draw how the prediction depends on one term, with the other terms held fixed.

        The line is the term with its coefficient, and each point adds the residual of a row (a partial
        residual plot). The horizontal axis is the input of the term, or the value of the term if it has
        several inputs.

        Parameters
        ----------
        number : int
            The number of the term, from 1.
        ax : matplotlib.axes.Axes, optional
            The axes to draw on.
        target : str, optional
            One of several targets; by default the first one.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        OptionError
            If there is no such term or target, or the result has no data.
        """
        return draw_on_axes(ax, (4.8, 3.6), lambda axes: _draw_term(axes, self.result, number, target))


def _get_data(result: FitResult | SharedFitResult) -> Dataset:
    """Return the rows of the fit."""
    if result.data is None:
        raise OptionError(
            "this result has no data, because copies and pickles drop it: run the fit again, and draw from "
            "the result that symscreen.fit returns"
        )
    return result.data


def _get_formula(result: FitResult | SharedFitResult, target: str | None) -> Formula:
    """Return the formula of a target, with all terms; of several targets by default that of the first."""
    formula = result.formula
    models = (formula,) if isinstance(formula, Formula) else formula.complete_formulas
    names = [model.target for model in models]
    if target is not None and target not in names:
        raise OptionError(f"there is no target {target!r}{suggest(target, names)}")
    return models[0 if target is None else names.index(target)]


def _compute_rows(result: FitResult | SharedFitResult, formula: Formula) -> tuple[Values, Values, Values]:
    """Return observed and predicted values, each of shape (n,), and the values of the terms, shape (k, n)."""
    data = _get_data(result)
    target = data.regression_target
    observed = dict(zip(target.names, np.atleast_2d(target.values), strict=True))[formula.target]
    columns = data.columns_by_name
    terms = np.array([evaluate_expression(term, columns) for term in formula.terms])
    terms = terms.reshape(len(formula.terms), len(observed))
    return observed, formula.sum_terms(terms), terms


def _thin(x: Values) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return the indices of the rows to draw: all, or evenly spaced ones in the order of x."""
    order = np.argsort(x, kind="stable")
    if len(order) <= _MAX_POINTS:
        return order
    return order[np.linspace(0, len(order) - 1, _MAX_POINTS).round().astype(np.intp)]


def _draw_points(axes: Axes, x: Values, y: Values) -> None:
    """Draw rows as points."""
    rows = _thin(x)
    axes.plot(x[rows], y[rows], "o", color=MARK, markersize=3.2, alpha=0.55, markeredgewidth=0)
    despine(axes)


def _draw_predictions(axes: Axes, result: FitResult | SharedFitResult, target: str | None) -> None:
    """Draw observed against predicted values."""
    formula = _get_formula(result, target)
    observed, predicted, _ = _compute_rows(result, formula)
    _draw_points(axes, predicted, observed)
    axes.axline((float(observed.mean()), float(observed.mean())), slope=1.0, color=CURVE, linewidth=1.3)
    r2 = result.r2 if isinstance(result.r2, float) else result.r2[formula.target]
    axes.set_title(f"R² = {r2:.4g}", color=INK, fontsize="medium")
    unit = get_unit(result.record, formula.target)
    axes.set_xlabel(f"predicted {shorten_label(formula.target, unit=unit)}", **PLAIN_TEXT)
    axes.set_ylabel(f"observed {shorten_label(formula.target, unit=unit)}", **PLAIN_TEXT)


def _draw_residuals(axes: Axes, result: FitResult | SharedFitResult, target: str | None) -> None:
    """Draw residuals against predicted values."""
    formula = _get_formula(result, target)
    observed, predicted, _ = _compute_rows(result, formula)
    _draw_points(axes, predicted, observed - predicted)
    axes.axhline(0.0, color=CURVE, linewidth=1.3)
    unit = get_unit(result.record, formula.target)
    axes.set_xlabel(f"predicted {shorten_label(formula.target, unit=unit)}", **PLAIN_TEXT)
    axes.set_ylabel(shorten_label("residual", unit=unit), color=INK)


def draw_front(axes: Axes, result: AnyFitResult) -> None:
    """Draw the Pareto front, with the selected model marked."""
    from matplotlib.ticker import MaxNLocator

    front = result.front
    complexity = front["complexity"].to_numpy(dtype=np.float64)
    error = np.maximum(1.0 - front["r2"].to_numpy(dtype=np.float64), _LEAST_ERROR)
    chosen = front["chosen"].to_numpy(dtype=np.bool_)
    axes.step(complexity, error, where="post", color=FAINT, linewidth=1.3, zorder=1)
    axes.plot(complexity, error, "o", color=MARK, markersize=4.5, zorder=2)
    axes.plot(
        complexity[chosen],
        error[chosen],
        "o",
        color="none",
        markeredgecolor=CURVE,
        markeredgewidth=1.8,
        markersize=10,
        zorder=3,
        label="selected",
    )
    if error.min() < _LOG_BELOW:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0.0)
    despine(axes)
    axes.legend(frameon=False, labelcolor=INK)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("complexity", color=INK)
    axes.set_ylabel("unexplained share, 1 − R²", color=INK)


def _draw_dependence(axes: Axes, result: FitResult | SharedFitResult, name: str, target: str | None) -> None:
    """Draw the partial dependence on an input."""
    formula, columns = _get_formula(result, target), _get_data(result).columns_by_name
    units = get_unit(result.record, name), get_unit(result.record, formula.target)
    draw_dependence(axes, formula, columns, name, units)


def _draw_term(axes: Axes, result: FitResult | SharedFitResult, number: int, target: str | None) -> None:
    """Draw the contribution of a term with partial residuals."""
    formula = _get_formula(result, target)
    if not 1 <= number <= len(formula.terms):
        there_are = f"give 1 to {len(formula.terms)}" if formula.terms else "the formula has none"
        raise OptionError(f"there is no term {number}; {there_are}")
    observed, predicted, terms = _compute_rows(result, formula)
    term, coefficient = formula.terms[number - 1], formula.coefficients[number - 1]
    values = terms[number - 1]
    inputs = sorted(collect_inputs([term]))
    columns = _get_data(result).columns_by_name
    is_single = len(inputs) == 1 and inputs[0] in columns
    x = columns[inputs[0]] if is_single else values
    _draw_points(axes, x, coefficient * values + observed - predicted)
    grid = np.linspace(float(x.min()), float(x.max()), _CURVE_POINTS)
    curve = coefficient * (evaluate_expression(term, {inputs[0]: grid}) if is_single else grid)
    axes.plot(grid, curve, color=CURVE, linewidth=1.5)
    unit = get_unit(result.record, inputs[0]) if is_single else ""
    axes.set_xlabel(shorten_label(inputs[0] if is_single else to_text(term), unit=unit), **PLAIN_TEXT)
    unit = get_unit(result.record, formula.target)
    axes.set_ylabel(shorten_label("contribution + residual", unit=unit), color=INK)
    contribution = Formula(formula.target, 0.0, (coefficient,), (term,)).round_numbers(_DIGITS)
    axes.set_title(shorten_label(contribution.text), fontsize="medium", **PLAIN_TEXT)
