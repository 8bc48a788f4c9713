"""Formulas on new rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.export.parts import inputs_of
from symscreen.expression import evaluate
from symscreen.table import frame_columns
from symscreen.table.source import read_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.expression import Expression

__all__ = ["computed"]


def computed(expressions: Sequence[Expression], rows: Any) -> NDArray[np.float64]:
    """Compute formulas on new rows.

    Parameters
    ----------
    expressions : sequence of Expression, length k
        The formulas.
    rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
        New data, as for `symscreen.screen`; an array has columns x1 … xd.

    Returns
    -------
    float64 array, shape (k, m)
        NaN where a formula is undefined or one of its inputs is missing.

    Raises
    ------
    TableError
        If the rows cannot be read, or an input is missing or not numeric.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> computed([parse("2*x1"), parse("1/x2")], np.array([[1.0, 0.0], [2.0, 4.0]])).tolist()
    [[2.0, 4.0], [nan, 0.25]]
    """
    names = inputs_of(expressions)
    # a constant needs no column, but still has to know how many rows there are
    columns = frame_columns(rows, names) if names else {"": np.zeros(read_frame(rows).n)}
    values = np.empty((len(expressions), len(next(iter(columns.values())))))
    for place, expression in enumerate(expressions):
        values[place] = evaluate(expression, columns)
    return values
