"""Read the row weights of a fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.data import read_frame_with_column, read_row_weights
from symscreen.data.python_columns import convert_python_column
from symscreen.errors import DataError
from symscreen.messages import name_option

if TYPE_CHECKING:
    from symscreen._typing import Values
    from symscreen.config.fit_options import FitOptions
    from symscreen.data import Dataset, SourceFrame


def read_fit_weights(frame: SourceFrame, options: FitOptions) -> Values | None:
    """Read the weight of each row of the source; None if there are none or all are equal.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    options : FitOptions
        The option `weights` is the name of a column or an array of shape (n,).

    Returns
    -------
    float64 array, shape (n,), or None
        Nonnegative numbers.

    Raises
    ------
    DataError
        If the column does not exist, the array has another shape, or a weight is negative, infinite or
        missing.
    """
    given = options.weights
    if given is None:
        return None
    if isinstance(given, str):
        weights = read_row_weights(read_frame_with_column(frame, given, "weights"), given)
    else:
        values = np.asarray(given)
        if values.shape != (frame.n,):
            raise DataError(
                f"{name_option('weights')} has shape {values.shape}: give a number for each of {frame.n} rows"
            )
        column = convert_python_column(given if hasattr(given, "dtype") else values)
        weights = read_row_weights(replace(frame, columns={"weights": column}), "weights")
    return None if (weights == weights[0]).all() else weights


def sort_tied_weights(weights: Values, dataset: Dataset) -> Values:
    """Sort the weights within rows that are equal otherwise, so that the order of the rows has no effect.

    Parameters
    ----------
    weights : float64 array, shape (m,)
        The weight of each row of the source.
    dataset : Dataset
        Its used rows in canonical order.

    Returns
    -------
    float64 array, shape (m,)
        The weights, exchanged among equal rows of the source.
    """
    rows = np.vstack([dataset.columns, np.atleast_2d(dataset.regression_target.values)])
    group = np.concatenate(([0], np.cumsum((np.diff(rows, axis=1) != 0.0).any(axis=0))))
    used = weights[dataset.source_rows]
    sorted_weights = weights.copy()
    sorted_weights[dataset.source_rows] = used[np.lexsort((used, group))]
    return sorted_weights
