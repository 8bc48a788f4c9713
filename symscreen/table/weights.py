"""What rows weigh: a column of numbers, read beside inputs and response."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import TableError
from symscreen.response.weighted import LARGEST_RATIO
from symscreen.table.complete import FEWEST_ROWS, complete_rows
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
        If a row has no weight, or one that is negative or infinite, or all are 0, or one is more than 10¹⁸
        times another that is not 0.

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
    least, most = column.numbers[column.numbers > 0.0].min(), column.numbers.max()
    if least * LARGEST_RATIO < most:
        raise TableError(
            f"{frame.where}: the column {quoted(name)} of --weights goes from {least:g} to {most:g}, and the "
            f"largest may be {LARGEST_RATIO:g} times the smallest: give rows of no account the weight 0"
        )
    return column.numbers


def rows_that_weigh(
    frame: Frame, used: dict[str, NDArray[np.float64]], weights: NDArray[np.float64], missing: str
) -> tuple[NDArray[np.bool_], list[str]]:
    """Find the rows that weigh anything and miss no value: those of weight 0 say nothing, whatever they hold.

    Parameters
    ----------
    frame, used, missing
        As of `complete_rows`.
    weights : float64 array, shape (n,)
        As of `row_weights`.

    Returns
    -------
    kept : bool array, shape (n,)
        The rows to take.
    notices : list of str
        For people: how many were left out, and why.

    Raises
    ------
    TableError
        As of `complete_rows`, which does not look at rows of weight 0.
    """
    weighs = weights > 0.0
    complete, notices = complete_rows(
        frame, {name: np.where(weighs, values, 0.0) for name, values in used.items()}, missing
    )
    left, idle = complete & weighs, int((~weighs).sum())
    what = f"{count(idle, 'row')} of {frame.n} of weight 0"
    if left.sum() < FEWEST_ROWS:
        rows = count(int(left.sum()), "row")
        raise TableError(
            f"{frame.where} has {rows} after leaving out {what}: at least {FEWEST_ROWS} are needed"
        )
    return left, [*notices, *([f"left out: {what}"] if idle else [])]
