"""Fit the constants of a saved form to a few rows of a new group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Meta, Struct

from symscreen.data import read_columns, read_frame_with_column, read_levels
from symscreen.data.documents import FiniteNumber, NotNegativeNumber, PositiveNumber, convert_document
from symscreen.errors import DataError, FormulaError
from symscreen.export import read_bundle
from symscreen.expressions.grouped_formula import GroupedFormula, replace_constants
from symscreen.expressions.traversal import collect_indicators, evaluate_expression
from symscreen.fitting.grouped.group_estimates import GroupPrior, compute_posterior
from symscreen.messages import quote
from symscreen.results.fit_result import GroupedFitResult
from symscreen.statistics.inference.error_scale import ErrorScale

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from symscreen._typing import Values


_MAX_ROUNDS = 50
_TOLERANCE = 1e-10  # change of the constants, relative to their size, at which the fit ends
_RELATIVE_STEP = float(np.cbrt(np.finfo(np.float64).eps))  # relative step of central differences

_Numbers = Annotated[list[FiniteNumber], Meta(description="a list of finite numbers")]


class _Shrinkage(Struct, forbid_unknown_fields=True):
    """What the groups of a fit say of a further one."""

    means: _Numbers
    variances: _Numbers
    mean_variances: _Numbers


class _StoredErrorScale(Struct, forbid_unknown_fields=True):
    """The standard deviation of errors, constant + proportional·|prediction|."""

    constant: NotNegativeNumber
    proportional: PositiveNumber


@dataclass(frozen=True, eq=False)
class _Group:
    """The rows of one group."""

    columns: Mapping[str, Values]
    target: Values


def adapt(model: GroupedFitResult | str | os.PathLike[str], rows: Any) -> GroupedFormula:
    """Fit the constants of a formula that vary to the rows of new groups; all else stays.

    The constants of a group are drawn to the mean of the groups of the fit, by the rule of the fit, so that
    even one row is enough. They are fitted by least squares where the fit had fewer than four groups; a group
    then needs as many rows as there are constants.

    Parameters
    ----------
    model : GroupedFitResult, str or Path
        The result of a fit with `per`, or the bundle that it was saved to.
    rows : path, pandas.DataFrame or dict of columns
        Rows with the column of the groups, the inputs of the formula and the target.

    Returns
    -------
    GroupedFormula
        The formula with the new groups. The constants of a group that it had before are replaced.

    Raises
    ------
    FormulaError
        If the bundle holds no model with constants by group.
    DataError
        If a column is missing, a value is missing or undefined, or the rows of a group are too few.

    Examples
    --------
    >>> import pandas as pd
    >>> import symscreen
    >>> x = np.tile(np.arange(1.0, 9.0), 4)
    >>> data = pd.DataFrame({"x": x, "ore": np.repeat([*"pqrs"], 8), "y": np.repeat([1, 2, 4, 8], 8) * x})
    >>> result = symscreen.fit(data, target="y", per="ore", layers="u")
    >>> formula = symscreen.adapt(result, {"x": [1.0, 2.0], "ore": ["t", "t"], "y": [3.0, 6.0]})
    >>> print(formula.get_formula("t").equation)
    y = 3*x
    """
    if isinstance(model, GroupedFitResult):
        formula, record = model.formula, model.record
    else:
        bundle = read_bundle(model)
        if not isinstance(bundle.formulas, GroupedFormula):
            raise FormulaError(f"{model}: no constant differs by group; save the result of a fit with per")
        formula, record = bundle.formulas, bundle.record
    if not formula.constants:
        return formula
    prior = _read_prior(record, len(formula.constants), str(model))
    scale = _read_error_scale(record, str(model))
    frame: Any = read_frame_with_column(rows, formula.column, "per")
    levels, codes = read_levels(frame, formula.column)
    names = [*formula.inputs, formula.target]
    columns = read_columns(frame, names, collect_indicators(formula.terms))
    for code, name in enumerate(levels):
        own = codes == code
        group = _Group({each: columns[each][own] for each in formula.inputs}, columns[formula.target][own])
        formula = replace_constants(formula, name, _fit_group(formula, group, prior, scale, name).tolist())
    return formula


def _read_prior(record: Mapping[str, Any], n_constants: int, source: str) -> GroupPrior | None:
    """Read what a fit says of a new group from its record; None for least squares."""
    groups = record.get("groups")
    if not isinstance(groups, dict) or groups.get("shrinkage") is None:
        return None
    place = f"{source}, record.groups"
    shrinkage = convert_document(groups["shrinkage"], _Shrinkage, place, FormulaError)
    std = convert_document(groups.get("residual_std"), float, place, FormulaError)
    parts = [np.array(each) for each in (shrinkage.means, shrinkage.variances, shrinkage.mean_variances)]
    if any(len(each) != n_constants for each in parts) or not (parts[1] > 0.0).all() or not std > 0.0:
        raise FormulaError(f"{place}: the numbers do not belong to the formula; save it again")
    # the mean of the groups is an estimate, too
    return GroupPrior(parts[0], parts[1] + parts[2], parts[2], std**2)


def _read_error_scale(record: Mapping[str, Any], source: str) -> ErrorScale | None:
    """Read how the errors of a fit grow from its record; None if they do not."""
    if record.get("error_scale") is None:
        return None
    place = f"{source}, record.error_scale"
    stored = convert_document(record["error_scale"], _StoredErrorScale, place, FormulaError)
    return ErrorScale(stored.constant, stored.proportional)


def _fit_group(
    formula: GroupedFormula, group: _Group, prior: GroupPrior | None, scale: ErrorScale | None, name: str
) -> Values:
    """Fit the constants of one group by Gauss-Newton steps; one is enough for coefficients.

    Rows have the weights of the errors that the fit found, at the predictions of each step.
    """
    starts = np.array([float(np.mean(each.values)) for each in formula.constants])
    constants = starts if prior is None else prior.means.copy()
    if prior is None and len(group.target) < len(constants):
        raise DataError(
            f"the group {quote(name)} has {len(group.target)} rows for {len(constants)} constants: give more"
        )
    for _ in range(_MAX_ROUNDS):
        predicted, slopes = _linearize(formula, group, constants)
        if not (
            np.isfinite(predicted).all() and np.isfinite(slopes).all() and np.isfinite(group.target).all()
        ):
            raise DataError(
                f"the group {quote(name)} has rows with missing or undefined values: leave them out"
            )
        adjusted = group.target - predicted + constants @ slopes
        if prior is None and np.linalg.matrix_rank(slopes) < len(constants):
            raise DataError(f"the rows of the group {quote(name)} do not determine its constants: add some")
        variance = 1.0 if prior is None else prior.residual_variance
        roots = 1.0 if scale is None else np.sqrt(scale.compute_weights(predicted))
        fitted, _ = compute_posterior((roots * slopes).T, roots * adjusted, prior, variance)
        change = np.abs(fitted - constants).max()
        constants = fitted
        if change <= _TOLERANCE * np.abs(constants).max():
            break
    return constants


def _linearize(formula: GroupedFormula, group: _Group, constants: Values) -> tuple[Values, Values]:
    """Predict the rows of a group, shape (m,), and differentiate by the constants, shape (v, m)."""

    def predict(trial: Values) -> Values:
        values = {
            each.name: np.full(len(group.target), value)
            for each, value in zip(formula.constants, trial.tolist(), strict=True)
        }
        columns = {**group.columns, **values}
        terms = [evaluate_expression(term, columns) for term in formula.terms]
        return formula.form.sum_terms(np.array(terms).reshape(-1, len(group.target)))

    slopes = np.empty((len(constants), len(group.target)))
    for place, value in enumerate(constants.tolist()):
        step = np.zeros(len(constants))
        step[place] = _RELATIVE_STEP * max(abs(value), 1e-3)
        slopes[place] = (predict(constants + step) - predict(constants - step)) / (2.0 * step[place])
    return predict(constants), slopes
