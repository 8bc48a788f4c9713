"""Apply a saved model or saved features to new data."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.export.bundle import load_bundle
from symscreen.expressions.linear_formula import Formula, SharedFormula, evaluate_formulas, predict_formula
from symscreen.expressions.printing import to_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from symscreen.expressions.tree import Expression


def apply_bundle(
    bundle: str | os.PathLike[str] | Formula | SharedFormula | Sequence[Expression], rows: Any
) -> pd.DataFrame:
    """Compute the predictions of a saved model, or the values of saved features, for new rows.

    Parameters
    ----------
    bundle : path, Formula, SharedFormula or sequence of Expression
        The bundle file, or the object that `load_bundle` returned.
    rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
        New data with the inputs of the formulas. The columns of an array are named x1 … xd.

    Returns
    -------
    pandas.DataFrame, shape (m, k)
        One column per target (models) or per feature, named after the target or the feature's text. The
        index is that of `rows` if `rows` is a frame. Values are NaN where a formula is undefined or an
        input is missing.

    Raises
    ------
    FormulaError
        If the file is not a bundle.
    TableError
        If the rows cannot be read, or an input is missing or not numeric.

    Warns
    -----
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

    formulas = load_bundle(bundle) if isinstance(bundle, (str, os.PathLike)) else bundle
    index = rows.index if isinstance(rows, pd.DataFrame) else None
    if isinstance(formulas, Formula):
        return pd.DataFrame({formulas.target: predict_formula(formulas, rows, stacklevel=3)}, index=index)
    if isinstance(formulas, SharedFormula):
        predictions = predict_formula(formulas, rows, stacklevel=3)
        return pd.DataFrame(predictions, columns=list(formulas.targets), index=index)
    values, names = evaluate_formulas(formulas, rows), [to_text(feature) for feature in formulas]
    nan_counts = np.isnan(values).sum(axis=1)
    if nan_counts.any():
        worst_index = int(nan_counts.argmax())
        warnings.warn(
            f"{np.count_nonzero(nan_counts)} of {len(names)} features are undefined in some of the "
            f"{values.shape[1]} rows and NaN there; {names[worst_index]!r} in {nan_counts[worst_index]}",
            stacklevel=2,
        )
    return pd.DataFrame(values.T, columns=names, index=index)
