"""Apply a bundle to new rows: the predictions of its model, or the values of its features."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Meta

from symscreen.data.documents import FiniteNumber, convert_document, format_place
from symscreen.errors import FormulaError, OptionError
from symscreen.export.bundle import read_bundle
from symscreen.export.bundle_documents import Bundle
from symscreen.export.prediction_band import read_prediction_band
from symscreen.expressions.grouped_formula import GroupedFormula, predict_model
from symscreen.expressions.linear_formula import Formula, SharedFormula, evaluate_formulas
from symscreen.expressions.printing import to_text
from symscreen.expressions.system_formula import SystemFormula
from symscreen.messages import escape_control_chars, name_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from symscreen.export.bundle_documents import SavedFormulas
    from symscreen.export.prediction_band import PredictionBand
    from symscreen.expressions.input_ranges import InputRanges


_Range = Annotated[
    list[FiniteNumber], Meta(min_length=2, max_length=2, description="a list of two finite numbers")
]


def apply_bundle(
    bundle: str | os.PathLike[str] | Bundle | SavedFormulas,
    rows: Any,
    *,
    clip: bool = False,
) -> pd.DataFrame:
    """Compute the predictions of a saved model, or the values of saved features, for new rows.

    Parameters
    ----------
    bundle : path, Bundle, Formula, SharedFormula, GroupedFormula or sequence of Expression
        The bundle file, or the object that `read_bundle` or `load_bundle` returned.
    rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
        New data with the inputs of the formulas. The columns of an array are named x1 … xd.
    clip : bool
        Whether to move inputs outside of the box to its nearest end, instead of a warning. Only the file of
        what a screen or a fit saved has the box.

    Returns
    -------
    pandas.DataFrame, shape (m, k)
        One column per target (models) or per feature, named after the target or the feature's text. A model
        of y with a prediction band has the columns ``y_low`` and ``y_high``, too. The index is that of `rows`
        if `rows` is a frame. Values are NaN where a formula is undefined or an input is missing.

    Raises
    ------
    FormulaError
        If the file is not a bundle.
    DataError
        If the rows cannot be read, or an input is missing or not numeric.
    OptionError
        If `clip` is given and the bundle has no box, or if it holds differential equations.

    Warns
    -----
    ExtrapolationWarning
        If inputs of a model that a fit saved are outside the range of its training rows, or inputs of
        features that a screen saved are outside of their box. Only the file has the ranges, the object that
        `load_bundle` returned does not.
    UserWarning
        If the result contains NaN; the message gives the counts.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> apply_bundle(Formula("y", 1.0, (2.0,), (parse_expression("x**2"),)), {"x": [1.0, 2.0]})
         y
    0  3.0
    1  9.0
    """
    import pandas as pd

    ranges: InputRanges | None = None
    box: InputRanges | None = None
    band: PredictionBand | None = None
    if isinstance(bundle, (str, os.PathLike, Bundle)):
        source_name = "the bundle" if isinstance(bundle, Bundle) else str(bundle)
        loaded = bundle if isinstance(bundle, Bundle) else read_bundle(bundle)
        formulas: SavedFormulas = loaded.formulas
        ranges = _read_input_ranges(loaded.record, "input_ranges", source_name)
        box = _read_input_ranges(loaded.record, "box", source_name)
        band = read_prediction_band(loaded.record, source_name)
    else:
        formulas = bundle
    if clip and box is None:
        raise OptionError(
            f"{name_option('clip')} needs the box of the inputs, and the bundle has none: save it again"
        )
    if isinstance(formulas, SystemFormula):
        raise OptionError(
            "the bundle holds differential equations, which are integrated: use "
            "symscreen.dynamics.integrate_runs, or symscreen apply"
        )
    index = rows.index if isinstance(rows, pd.DataFrame) else None
    if isinstance(formulas, Formula | SharedFormula | GroupedFormula):
        predictions = predict_model(
            formulas, rows, stacklevel=3, input_ranges=ranges, clip_box=box if clip else None
        )
        if isinstance(formulas, SharedFormula):
            return pd.DataFrame(predictions, columns=list(formulas.targets), index=index)
        columns = {formulas.target: predictions}
        if band is not None and isinstance(formulas, Formula):
            limits = band.compute_limits(
                formulas,
                predictions,
                rows,
                stacklevel=3,
                input_ranges=ranges,
                clip_box=box if clip else None,
            )
            columns |= {
                f"{formulas.target}_{end}": limits[:, place] for place, end in enumerate(("low", "high"))
            }
        return pd.DataFrame(columns, index=index)
    values = evaluate_formulas(formulas, rows, box=box, clip=clip, stacklevel=3)
    names = [to_text(feature) for feature in formulas]
    nan_counts = np.isnan(values).sum(axis=1)
    if nan_counts.any():
        worst_index = int(nan_counts.argmax())
        warnings.warn(
            f"{np.count_nonzero(nan_counts)} of {len(names)} features are undefined in some of the "
            f"{values.shape[1]} rows and NaN there; {names[worst_index]!r} in {nan_counts[worst_index]}",
            stacklevel=2,
        )
    return pd.DataFrame(values.T, columns=names, index=index)


def _read_input_ranges(record: Mapping[str, Any], key: str, source_name: str) -> InputRanges | None:
    """Return ranges of the inputs in the record of a screen or a fit; None if the record has none."""
    ranges = record.get(key)
    if ranges is None:
        return None
    place = format_place(escape_control_chars(source_name), f"record.{key}")
    return convert_document(ranges, dict[str, _Range], place, FormulaError)
