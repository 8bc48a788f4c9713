"""Fit the constants of a model of groups by least squares.

The coefficients are optimal for given constants inside the terms, and the coefficients of each group follow
from its own rows, so only the inner constants are searched (variable projection). The cost of a step does not
depend on the number of groups, only on that of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.fitting.grouped.grouped_model import ModelFunction, build_design, project_design
from symscreen.fitting.laws.gauss_newton import improve_fit

if TYPE_CHECKING:
    from symscreen._typing import Flags, Values
    from symscreen.fitting.grouped.grouped_model import GroupedModel, Projection
    from symscreen.fitting.grouped.grouped_rows import GroupedRows


_MAX_ROUNDS = 50  # largest number of steps of a fit with inner constants that vary
_MAX_HALVINGS = 12
_TOLERANCE = 1e-13  # relative decrease of the squared error at which such a fit ends


@dataclass(frozen=True, eq=False)
class ConstantEstimates:
    """The least-squares estimates of a model, and the derivatives of its predictions.

    Parameters
    ----------
    model : GroupedModel
        The model; its inner constants are those of the first group where they vary.
    coefficients : float64 array, shape (m, G)
        The coefficients of each group, that of the intercept first.
    inner : float64 array, shape (p, G)
        The constants inside the terms.
    varying : float64 array, shape (v, n)
        Derivatives of the predictions by the constants that vary: coefficients first. These, those below and
        the residuals are multiplied by the roots of the row weights.
    shared : float64 array, shape (s, n)
        Derivatives by the shared constants: coefficients first.
    residuals : float64 array, shape (n,)
        The residuals.
    """

    model: GroupedModel
    coefficients: Values
    inner: Values
    varying: Values
    shared: Values
    residuals: Values

    @property
    def square(self) -> float:
        """Sum of squared residuals."""
        return float((self.residuals * self.residuals).sum())


def fit_model(model: GroupedModel, rows: GroupedRows) -> GroupedModel | None:
    """Fit the inner constants, shared by all groups, and compute the squared error.

    Returns
    -------
    GroupedModel or None
        The model with its constants and error. None if a term is undefined in some row, or the rows do not
        determine the coefficients.

    Examples
    --------
    >>> from symscreen.expressions.tree import Constant, parse_expression
    >>> from symscreen.expressions.traversal import rebuild_expression
    >>> from symscreen.fitting.grouped.grouped_model import GroupedModel
    >>> from symscreen.fitting.grouped.grouped_rows import GroupedRows
    >>> x = np.tile(np.linspace(0, 2, 10), 2)
    >>> rows = GroupedRows({"x": x}, np.repeat([2.0, -5.0], 10) * np.exp(-1.5 * x), np.array([0, 10]))
    >>> term = rebuild_expression(parse_expression("exp(-1*x)"), number=lambda number: Constant(
    ...     -1.0, fitted=True))
    >>> fitted = fit_model(GroupedModel((term,), (1.0,), False, (True,), (False,)), rows)
    >>> fitted.constants.round(6).tolist()
    [-1.5]
    """
    function, constants = ModelFunction(model.terms, rows), model.constants
    design = _CachedDesign(model, function, rows)

    def predict(trial: Values) -> Values:
        projection = design.project(trial)
        # a step to constants for which the model is undefined is rejected, since it increases the square
        if projection is None:
            return np.full(rows.n, np.inf)
        return rows.scaled_target - projection.remove(rows.scaled_target)

    def differentiate(trial: Values) -> Values:
        projection = design.project(trial)
        if projection is None:
            return np.full((len(trial), rows.n), np.nan)
        coefficients = _merge_coefficients(model, *projection.solve(rows.scaled_target, design.shared))
        outer = rows.spread(coefficients[model.has_intercept :])[function.owners]
        slopes = rows.scale(function.differentiate(trial[:, None]) * outer)
        return projection.remove(slopes) if np.isfinite(slopes).all() else slopes

    with np.errstate(all="ignore"):
        start = design.project(constants)
        if start is None:
            return None
        if not len(constants):
            residuals = start.remove(rows.scaled_target)
            return replace(model, square=float((residuals * residuals).sum()))
        solution, square = improve_fit(predict, differentiate, constants, rows.scaled_target)
    return replace(model.put_constants(solution), square=square)


class _CachedDesign:
    """The design of a model; it is projected once for each trial of the inner constants."""

    def __init__(self, model: GroupedModel, function: ModelFunction, rows: GroupedRows) -> None:
        self.model, self.function, self.rows = model, function, rows
        self.shared = np.empty((0, rows.n))
        self._key: bytes | None = None
        self._projection: Projection | None = None

    def project(self, constants: Values) -> Projection | None:
        """Project the design at inner constants, shape (p,); None if it is undefined or not determined."""
        if constants.tobytes() != self._key:
            self._key, self._projection = constants.tobytes(), None
            values = self.function.evaluate(constants[:, None])
            if np.isfinite(values).all():
                varying, self.shared = build_design(self.model, values, self.rows)
                projection = project_design(self.rows, varying, self.shared)
                self._projection = projection if projection.is_determined else None
        return self._projection


def _merge_coefficients(model: GroupedModel, varying: Values, shared: Values) -> Values:
    """Return all coefficients of each group, shape (m, G), in the order of the design."""
    varies = np.array(model.varies, dtype=bool)
    coefficients = np.empty((len(varies), varying.shape[1]))
    coefficients[varies], coefficients[~varies] = varying, shared[:, None]
    return coefficients


def estimate_constants(model: GroupedModel, rows: GroupedRows) -> ConstantEstimates | None:
    """Estimate all constants of a model whose shared inner constants were fitted, and its derivatives.

    Inner constants that vary start from their shared values. All constants then change together, by
    Gauss-Newton steps that are halved until the squared error decreases.

    Returns
    -------
    ConstantEstimates or None
        None if the model is undefined in some row, or the rows do not determine it.
    """
    function = ModelFunction(model.terms, rows)
    inner = np.repeat(model.constants[:, None], rows.n_groups, axis=1)
    with np.errstate(all="ignore"):
        values = function.evaluate(rows.spread(inner))
        if not np.isfinite(values).all():
            return None
        varying, shared = build_design(model, values, rows)
        projection = project_design(rows, varying, shared)
        if not projection.is_determined:
            return None
        coefficients = _merge_coefficients(model, *projection.solve(rows.scaled_target, shared))
        estimates = _linearize(model, function, rows, coefficients, inner)
        if any(model.inner_varies):
            estimates = _fit_together(estimates, function, rows)
    return estimates if np.isfinite(estimates.shared).all() and np.isfinite(estimates.varying).all() else None


def _linearize(
    model: GroupedModel, function: ModelFunction, rows: GroupedRows, coefficients: Values, inner: Values
) -> ConstantEstimates:
    """Compute the residuals and the derivatives at given constants."""
    values = function.evaluate(rows.spread(inner))
    design = np.vstack([np.ones((int(model.has_intercept), rows.n)), values])
    row_coefficients = rows.spread(coefficients)
    slopes = (
        function.differentiate(rows.spread(inner)) * row_coefficients[model.has_intercept :][function.owners]
    )
    derivatives = rows.scale(np.vstack([design, slopes]))
    varies = _list_varying(model)
    residuals = rows.scale(rows.target - (row_coefficients * design).sum(axis=0))
    return ConstantEstimates(model, coefficients, inner, derivatives[varies], derivatives[~varies], residuals)


def _list_varying(model: GroupedModel) -> Flags:
    """Return which constants vary, coefficients first, shape (m + p,)."""
    return np.array([*model.varies, *model.inner_varies], dtype=bool)


def _take_step(
    estimates: ConstantEstimates, function: ModelFunction, rows: GroupedRows, step: Values
) -> ConstantEstimates:
    """Change all constants by a step, shape (m + p, G), coefficients first."""
    n_coefficients = len(estimates.coefficients)
    return _linearize(
        estimates.model,
        function,
        rows,
        estimates.coefficients + step[:n_coefficients],
        estimates.inner + step[n_coefficients:],
    )


def _fit_together(
    estimates: ConstantEstimates, function: ModelFunction, rows: GroupedRows
) -> ConstantEstimates:
    """Minimise the squared error over all constants, starting from estimates."""
    varies = _list_varying(estimates.model)
    for _ in range(_MAX_ROUNDS):
        if not (np.isfinite(estimates.varying).all() and np.isfinite(estimates.shared).all()):
            break
        projection = project_design(rows, estimates.varying, estimates.shared)
        step = np.empty((len(varies), rows.n_groups))
        own, common = projection.solve(estimates.residuals, estimates.shared)
        step[varies], step[~varies] = own, common[:, None]
        previous, squares = estimates.square, rows.sum_by_group(np.square(estimates.residuals))
        for _ in range(_MAX_HALVINGS):
            trial = _take_step(estimates, function, rows, step)
            trial_squares = rows.sum_by_group(np.square(trial.residuals))
            # without shared constants, each group has a step length of its own
            is_better = np.full(rows.n_groups, trial.square < previous)
            if varies.all():
                is_better = (trial_squares < squares) & step.any(axis=0)
            if is_better.any():
                estimates = _take_step(estimates, function, rows, step * is_better)
                squares = np.where(is_better, trial_squares, squares)
            step = np.where(is_better, 0.0, step / 2.0)
            if not step.any():
                break
        if not estimates.square < previous * (1.0 - _TOLERANCE):
            break
    return estimates
