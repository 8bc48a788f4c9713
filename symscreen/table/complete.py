"""Which rows a table takes: those without a missing value, where the others may be dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import TableError
from symscreen.table.wording import count, first_rows, listed, quoted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.table.source import Frame

__all__ = ["FEWEST_ROWS", "complete_rows"]

FEWEST_ROWS = 5


def complete_rows(
    frame: Frame, used: dict[str, NDArray[np.float64]], missing: str
) -> tuple[NDArray[np.bool_], list[str]]:
    """Find the rows without missing values; refuse infinities, and gaps unless they may be dropped.

    Parameters
    ----------
    frame : Frame
        The source.
    used : dict of str to float64 array, each of shape (n,)
        The columns that a table needs of it.
    missing : {"refuse", "drop"}
        What to do with rows that have missing values.

    Returns
    -------
    kept : bool array, shape (n,)
        The rows to take.
    notices : list of str
        For people: how many were dropped, and where.

    Raises
    ------
    TableError
        If a value is infinite, one is missing and may not be, or fewer than five rows are left.
    """
    gaps = np.zeros(frame.n, dtype=bool)
    gappy = []
    for name, values in used.items():
        if np.isfinite(values).all():
            continue
        infinite = np.isinf(values)
        if infinite.any():
            raise TableError(
                f"{frame.where}: the column {quoted(name)} is infinite in {first_rows(infinite)}; "
                "correct these values, or leave the column out with --exclude"
            )
        gaps |= np.isnan(values)
        gappy.append(name)
    what = f"{count(int(gaps.sum()), 'row')} of {frame.n} with missing values"
    where = f"({first_rows(gaps)}; in {listed(gappy)})"
    if gappy and missing == "refuse":
        raise TableError(
            f"{frame.where} has {what} {where}: mend them, leave columns out with --exclude, "
            "or drop these rows with --missing drop"
        )
    left = frame.n - int(gaps.sum())
    if left < FEWEST_ROWS:
        after = f" after dropping {what} {where}" if gappy else ""
        raise TableError(f"{frame.where} has {count(left, 'row')}{after}: at least {FEWEST_ROWS} are needed")
    return ~gaps, [f"dropped: {what} {where}"] if gappy else []
