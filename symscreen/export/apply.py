"""A saved model or saved features on new data."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.export.bundle import load_bundle
from symscreen.expressions.linear_formula import (
    Formula,
    SharedFormula,
    evaluate_formulas,
    predict_formula,
    predict_shared_formula,
)
from symscreen.expressions.tree import to_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from symscreen.expressions.tree import Expression


__all__ = ["apply_bundle"]


def apply_bundle(
    bundle: str | os.PathLike[str] | Formula | SharedFormula | Sequence[Expression], rows: Any
) -> pd.DataFrame:
    """Compute a saved model's predictions, or saved features, on new rows.

    Parameters
    ----------
    bundle : path, Formula, SharedFormula or sequence of Expression
        The file, or what `load_bundle` read from it.
    rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
        New data with the inputs that the formulas need; an array has columns x1 … xd.

    Returns
    -------
    pandas.DataFrame, shape (m, 1) or (m, k)
        The predictions under the target's name, or the targets' names, or a column for each feature under its
        text; with the index of `rows` if that is a frame; NaN where a formula is undefined or an input is
        missing.

    Raises
    ------
    FormulaError
        If the file is not a bundle.
    TableError
        If the rows cannot be read, or an input is missing or not numeric.

    Warns
    -----
    UserWarning
        If there are NaN, with the counts.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> apply_bundle(Formula("y", 1.0, (2.0,), (parse_expression("x**2"),)), {"x": [1.0, 2.0]})
         y
    0  3.0
    1  9.0
    """
    import pandas as pd

    thing = load_bundle(bundle) if isinstance(bundle, (str, os.PathLike)) else bundle
    index = rows.index if isinstance(rows, pd.DataFrame) else None
    if isinstance(thing, Formula):
        return pd.DataFrame({thing.target: predict_formula(thing, rows, stacklevel=3)}, index=index)
    if isinstance(thing, SharedFormula):
        predictions = predict_shared_formula(thing, rows, stacklevel=3)
        return pd.DataFrame(predictions, columns=list(thing.targets), index=index)
    values, names = evaluate_formulas(thing, rows), [to_text(feature) for feature in thing]
    gaps = np.isnan(values).sum(axis=1)
    if gaps.any():
        worst = int(gaps.argmax())
        warnings.warn(
            f"{np.count_nonzero(gaps)} of {len(names)} features are undefined in some of the "
            f"{values.shape[1]} rows and NaN there; {names[worst]!r} in {gaps[worst]}",
            stacklevel=2,
        )
    return pd.DataFrame(values.T, columns=names, index=index)
