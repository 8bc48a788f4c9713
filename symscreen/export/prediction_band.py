"""A prediction band as a record in JSON: a fit writes it, and a saved model computes it on new rows.

The models of a CV+ band are stored as bundles, each with the definitions of its operators and columns.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct

from symscreen.data.documents import (
    FiniteNumber,
    NotNegativeNumber,
    PositiveNumber,
    convert_document,
    format_place,
)
from symscreen.errors import FormulaError
from symscreen.export.bundle_documents import format_bundle, parse_bundle
from symscreen.expressions.input_ranges import clip_to_box, warn_outside_ranges
from symscreen.expressions.linear_formula import Formula, evaluate_on_columns, read_inputs
from symscreen.expressions.traversal import collect_inputs
from symscreen.messages import escape_control_chars
from symscreen.statistics.inference.error_scale import ErrorScale
from symscreen.statistics.inference.prediction_bands import (
    compute_cv_plus_band,
    compute_cv_plus_guarantee,
    compute_half_width,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen._typing import Values
    from symscreen.expressions.input_ranges import InputRanges
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Operator


BandMethod = Literal["split", "cv+"]

_Share = Annotated[float, Meta(gt=0.0, lt=1.0, description="a number between 0 and 1")]
_Residual = Annotated[FiniteNumber | None, Meta(description="a finite number or null")]


class _StoredScale(Struct, forbid_unknown_fields=True):
    """The standard deviation of errors, constant + proportional·|prediction|."""

    constant: PositiveNumber
    proportional: PositiveNumber


class _StoredFold(Struct, forbid_unknown_fields=True):
    """The model without the rows of a fold, as a bundle, and the absolute residuals of these rows.

    With a scale, each residual is divided by its standard deviation.
    """

    model: dict[str, Any]
    residuals: list[_Residual]
    scale: _StoredScale | None = None


class _StoredBand(Struct, forbid_unknown_fields=True, kw_only=True):
    """The record of a band; null stands for infinity."""

    method: BandMethod
    level: _Share
    guarantee: float
    rows: int
    half_width: _Residual
    growth: NotNegativeNumber = 0.0
    folds: list[_StoredFold] = []


@dataclass(frozen=True, eq=False, kw_only=True)
class PredictionBand:
    """A prediction band of a formula, in the original units of the target.

    Parameters
    ----------
    method : {"split", "cv+"}
        Split conformal (Lei et al. 2018), or CV+ (Barber et al. 2021).
    level : float
        The wanted coverage, in (0, 1).
    guarantee : float
        The probability with which the band holds a new row, at least, on average over tables and rows, if
        the rows of the table and the new row are exchangeable. For split conformal it is `level`.
    n_rows : int
        The number of rows whose residuals give the band.
    half_width : float
        Half of the width of a split conformal band, where the prediction is 0. For CV+ it is the width that a
        band around one model would have with the residuals of all folds.
    growth : float
        What half of the width of a split conformal band gains for each unit of the size of the prediction.
        It is 0 for CV+, and where errors do not grow with the target.
    models : tuple of Formula
        For CV+, the models without each fold.
    residuals : tuple of float64 arrays
        The absolute residuals of the rows of each fold, divided by their standard deviation if it has one.
    scales : tuple of ErrorScale or None
        The standard deviation of the errors of the model without each fold; None if errors do not grow.
    """

    method: BandMethod
    level: float
    guarantee: float
    n_rows: int
    half_width: float
    growth: float = 0.0
    models: tuple[Formula, ...] = ()
    residuals: tuple[Values, ...] = ()
    scales: tuple[ErrorScale | None, ...] = ()

    def __str__(self) -> str:
        """Say in one sentence what the band promises."""
        if math.isinf(self.half_width):
            return f"band: infinite, because the formula is undefined in too many of {self.n_rows:,} rows"
        row, width = "band: a new row of the same kind lies within", f"±{_round_up(self.half_width)}"
        if self.growth:
            width = f"±({_round_up(self.half_width)} + {_round_up(self.growth)}*|prediction|)"
        if self.method == "split":
            return (
                f"{row} {width} of the formula with a probability of at least {_format_percent(self.level)}, "
                "on average over tables and rows"
            )
        if any(scale is not None for scale in self.scales):
            width = f"{width} on average and more for large predictions"
        return (
            f"{row} its limits, about {width} around the formula, with a probability of at least "
            f"{_format_percent(self.guarantee)}, and usually about {_format_percent(self.level)}, on average "
            "over tables and rows"
        )

    @property
    def terms(self) -> tuple[Expression, ...]:
        """The terms of the models of CV+, one model after another."""
        return tuple(term for model in self.models for term in model.terms)

    def compute_limits(
        self,
        formula: Formula,
        predictions: Values,
        rows: Any,
        *,
        stacklevel: int,
        input_ranges: InputRanges | None = None,
        clip_box: InputRanges | None = None,
    ) -> Values:
        """Compute the limits of the band on new rows.

        Parameters
        ----------
        formula : Formula
            The formula, in original units.
        predictions : float64 array, shape (m,)
            Its predictions.
        rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
            The rows, from which the models of CV+ are computed.
        stacklevel : int
            As in `warnings.warn`, relative to this function.
        input_ranges : mapping of str to sequence of two floats, optional
            The ranges of the training rows, for a warning of rows outside in inputs that the formula lacks.
        clip_box : mapping of str to sequence of two floats, optional
            Inputs are moved into this box.

        Returns
        -------
        float64 array, shape (m, 2)
            The lower and the upper limit. A limit is infinite where too many models of CV+ are undefined, and
            NaN where an input is missing. The band of split conformal is NaN where the formula is undefined.
        """
        if self.method == "split":
            half = self.half_width + self.growth * np.abs(predictions)
            return np.column_stack((predictions - half, predictions + half))
        terms = self.terms
        columns = read_inputs(terms, rows)
        if clip_box is not None:
            columns = clip_to_box(columns, clip_box)
        elif input_ranges is not None:
            known = collect_inputs(formula.terms)  # a prediction has warned of these
            others = {name: ends for name, ends in input_ranges.items() if name not in known}
            warn_outside_ranges(columns, others, stacklevel)
        values = np.split(
            evaluate_on_columns(terms, columns), np.cumsum([len(model.terms) for model in self.models])
        )
        fold_predictions = np.stack(
            [model.sum_terms(own) for model, own in zip(self.models, values[:-1], strict=True)]
        )
        deviations = np.stack(
            [
                np.ones_like(each) if scale is None else scale.compute_deviations(each)
                for scale, each in zip(self.scales, fold_predictions, strict=True)
            ]
        )
        limits = np.column_stack(
            compute_cv_plus_band(fold_predictions, self.residuals, self.level, deviations)
        )
        limits[np.isnan(np.stack([*columns.values()])).any(axis=0)] = np.nan
        return limits


@dataclass(frozen=True, eq=False)
class ErrorDeviations:
    """The errors of the model without a fold.

    Parameters
    ----------
    scale : ErrorScale
        Their standard deviation, with a positive constant, in original units.
    deviations : float64 array, shape (m,)
        Its values in the rows of the fold.
    """

    scale: ErrorScale
    deviations: Values


def _round_up(width: float) -> str:
    """Write a number of at least 0 with two significant digits, rounded up, so that the promise stays true.

    Examples
    --------
    >>> _round_up(0.1301), _round_up(25.0), _round_up(0.0), _round_up(9.91)
    ('0.14', '25', '0', '10')
    """
    exact = Decimal(width)
    last = Decimal(1).scaleb(exact.adjusted() - 1)
    return f"{float((exact / last).to_integral_value(ROUND_CEILING) * last):g}" if width else "0"


def _format_percent(share: float) -> str:
    """Write a share in percent with one digit, rounded down.

    Examples
    --------
    >>> _format_percent(0.9), _format_percent(0.71899)
    ('90 %', '71.8 %')
    """
    return f"{math.floor(round(share * 1000, 6)) / 10:g} %"


def build_split_record(residuals: Values, level: float, scale: ErrorScale | None = None) -> dict[str, Any]:
    """Build the record of a split conformal band.

    Parameters
    ----------
    residuals : float64 array, shape (m,)
        The absolute residuals of the rows that calibrate, in original units; infinity where the formula is
        undefined. With a scale, each is divided by its standard deviation.
    level : float
        The wanted coverage, in (0, 1).
    scale : ErrorScale, optional
        The standard deviation of the errors, with a positive constant.

    Returns
    -------
    dict
        Ready for JSON.

    Examples
    --------
    >>> build_split_record(np.arange(1.0, 20.0), 0.9)
    {'method': 'split', 'level': 0.9, 'guarantee': 0.9, 'rows': 19, 'half_width': 18.0}
    """
    half_width = compute_half_width(residuals, level)
    record = {
        "method": "split",
        "level": float(level),
        "guarantee": float(level),
        "rows": len(residuals),
        "half_width": _replace_infinity(half_width if scale is None else half_width * scale.constant),
    }
    if scale is not None and math.isfinite(half_width):
        record["growth"] = half_width * scale.proportional
    return record


def build_cv_plus_record(
    models: Sequence[Formula],
    residuals: Sequence[Values],
    level: float,
    operators: Mapping[str, Operator],
    errors: Sequence[ErrorDeviations | None],
) -> dict[str, Any]:
    """Build the record of a CV+ band.

    Parameters
    ----------
    models : sequence of K Formula
        The model without each fold, in original units.
    residuals : sequence of K float64 arrays
        The absolute residuals of the rows of each fold, in original units; infinity where the formula is
        undefined.
    level : float
        The wanted coverage, in (0, 1).
    operators : mapping of str to Operator
        The operators of the grammar.
    errors : sequence of K ErrorDeviations or None
        The standard deviations of the errors of each fold; None if they do not grow with the target.

    Returns
    -------
    dict
        Ready for JSON.
    """
    pooled = np.concatenate(residuals)
    folds = [
        {
            "model": json.loads(format_bundle(model, operators=operators)),
            "residuals": [
                _replace_infinity(value)
                for value in np.sort(own if error is None else own / error.deviations).tolist()
            ],
            **({} if error is None else {"scale": error.scale.record}),
        }
        for model, own, error in zip(models, residuals, errors, strict=True)
    ]
    return {
        "method": "cv+",
        "level": float(level),
        "guarantee": compute_cv_plus_guarantee(len(pooled), len(folds), level),
        "rows": len(pooled),
        "half_width": _replace_infinity(compute_half_width(pooled, level)),
        "folds": folds,
    }


def _replace_infinity(value: float) -> float | None:
    """Replace an infinite number, which JSON does not have, by None."""
    return value if math.isfinite(value) else None


def read_prediction_band(record: Mapping[str, Any], source_name: str) -> PredictionBand | None:
    """Read the band in the record of a fit.

    Parameters
    ----------
    record : mapping
        The record of a fit or of a bundle.
    source_name : str
        The name of the source in messages.

    Returns
    -------
    PredictionBand or None
        None if the record has no band.

    Raises
    ------
    FormulaError
        If the part ``bands`` of the record was changed after it was saved.

    Examples
    --------
    >>> print(read_prediction_band({"bands": build_split_record(np.arange(1.0, 20.0), 0.9)}, "m.json"))
    band: a new row of the same kind lies within ±18 of the formula with a probability of at least 90 %, on
    average over tables and rows
    """
    stored = record.get("bands")
    if stored is None:
        return None
    source_name = escape_control_chars(source_name)
    place = format_place(source_name, "record.bands")
    band = convert_document(stored, _StoredBand, place, FormulaError)
    if (band.method == "cv+") != bool(band.folds):
        raise FormulaError(f"{place}: a band has folds if, and only if, its method is 'cv+'; save it again")
    models = [_read_model(each, place, index) for index, each in enumerate(band.folds)]
    residuals = [np.array(list(map(_restore_infinity, each.residuals))) for each in band.folds]
    return PredictionBand(
        method=band.method,
        level=band.level,
        guarantee=band.guarantee,
        n_rows=band.rows,
        half_width=_restore_infinity(band.half_width),
        growth=band.growth,
        models=tuple(models),
        residuals=tuple(residuals),
        scales=tuple(
            None if each.scale is None else ErrorScale(each.scale.constant, each.scale.proportional)
            for each in band.folds
        ),
    )


def _restore_infinity(value: float | None) -> float:
    """Return the number that `_replace_infinity` replaced."""
    return math.inf if value is None else value


def _read_model(fold: _StoredFold, place: str, index: int) -> Formula:
    """Read the model of a fold, which must be a formula of one target."""
    fold_place = f"{place}.folds[{index}].model"
    formula = parse_bundle(json.dumps(fold.model), fold_place).formulas
    if not isinstance(formula, Formula):
        raise FormulaError(f"{fold_place}: expected a model of one target; save it again")
    return formula
