"""What rows weigh: a column of numbers, read beside inputs and response."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import TableError
from symscreen.table.complete import FEWEST_ROWS
from symscreen.table.wording import count, first_rows, quoted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.table.source import Frame

__all__ = ["row_weights", "rows_that_weigh"]


def row_weights(frame: Frame, name: str) -> NDArray[np.float64]:
    """Read what rows weigh.

    Parameters
    ----------
    frame : Frame
        The source.
    name : str
        A column of it, of numbers of at least 0.

    Returns
    -------
    float64 array, shape (n,)

    Raises
    ------
    TableError
        If a row has no weight, or one that is negative or infinite, or all are 0.

    Examples
    --------
    >>> from symscreen.table.source import read_frame
    >>> row_weights(read_frame({"times": [1, 0, 2]}), "times").tolist()
    [1.0, 0.0, 2.0]
    """
    column = frame.columns[name]
    if column.numbers is None or not column.numeric:
        raise TableError(
            f"{frame.where}: the column {quoted(name)} of --weights holds {column.holds}: give numbers of at "
            "least 0"
        )
    with np.errstate(invalid="ignore"):
        strange = ~((column.numbers >= 0.0) & np.isfinite(column.numbers))
    if strange.any():
        raise TableError(
            f"{frame.where}: the column {quoted(name)} of --weights is negative, infinite or missing in "
            f"{first_rows(strange)}: give numbers of at least 0"
        )
    if not column.numbers.any():
        raise TableError(f"{frame.where}: all weights in {quoted(name)} are zero: no row is left")
    return column.numbers


def rows_that_weigh(
    frame: Frame, weights: NDArray[np.float64], kept: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], list[str]]:
    """Leave out rows of weight 0: they say nothing.

    Parameters
    ----------
    frame : Frame
        The source.
    weights : float64 array, shape (n,)
        As of `row_weights`.
    kept : bool array, shape (n,)
        The rows that are used else.

    Returns
    -------
    kept : bool array, shape (n,)
    notices : list of str
        For people: how many were left out.

    Raises
    ------
    TableError
        If fewer than five rows are left.
    """
    left = kept & (weights > 0.0)
    idle = int((kept & (weights == 0.0)).sum())
    what = f"{count(idle, 'row')} of {frame.n} of weight 0"
    if left.sum() < FEWEST_ROWS:
        rows = count(int(left.sum()), "row")
        raise TableError(
            f"{frame.where} has {rows} after leaving out {what}: at least {FEWEST_ROWS} are needed"
        )
    return left, [f"left out: {what}"] if idle else []
