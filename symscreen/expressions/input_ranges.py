"""The ranges of the inputs in the training rows of a formula, and the warning outside of them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import ExtrapolationWarning
from symscreen.messages import escape_control_chars

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen._typing import Values

    InputRanges = Mapping[str, Sequence[float]]  # by input: the lowest and the highest value


_MAX_SHOWN_INPUTS = 5


def compute_input_ranges(columns: Mapping[str, Values]) -> dict[str, list[float]]:
    """Compute the lowest and the highest value of each column.

    Parameters
    ----------
    columns : mapping of str to float64 array, shape (n,)
        Columns of finite numbers; n ≥ 1.

    Returns
    -------
    dict of str to list of float
        ``[low, high]`` by name, in the order of the names.

    Examples
    --------
    >>> compute_input_ranges({"x": np.array([2.0, -1.0, 0.5])})
    {'x': [-1.0, 2.0]}
    """
    return {name: [float(columns[name].min()), float(columns[name].max())] for name in sorted(columns)}


def format_range_warning(columns: Mapping[str, Values], ranges: InputRanges) -> str | None:
    """Say how many rows are outside of ranges, and in which inputs; None if there are none.

    Parameters
    ----------
    columns : mapping of str to float64 array, shape (m,)
        New rows. Missing values are not outside.
    ranges : mapping of str to sequence of two floats
        The lowest and the highest value by input. Other columns are not checked.

    Returns
    -------
    str or None
        One line.

    Examples
    --------
    >>> print(format_range_warning({"x": np.array([0.0, 1.0, 3.0])}, {"x": [0.5, 2.0]}))
    2 of 3 rows are outside the range of the training rows (x: 0.5 to 2); predictions there are extrapolations
    """
    outside = {
        name: (columns[name] < low) | (columns[name] > high)
        for name, (low, high) in ranges.items()
        if name in columns
    }
    names = [name for name, rows in outside.items() if rows.any()]
    if not names:
        return None
    is_outside = np.logical_or.reduce([outside[name] for name in names])
    shown = [
        f"{escape_control_chars(name)}: {ranges[name][0]:.6g} to {ranges[name][1]:.6g}"
        for name in names[:_MAX_SHOWN_INPUTS]
    ]
    if n_more := len(names) - len(shown):
        shown.append(f"and {n_more} more")
    return (
        f"{np.count_nonzero(is_outside)} of {is_outside.size} rows are outside the range of the training "
        f"rows ({', '.join(shown)}); predictions there are extrapolations"
    )


def warn_outside_ranges(columns: Mapping[str, Values], ranges: InputRanges, stacklevel: int) -> None:
    """Warn of rows outside of ranges; `stacklevel` is that of `warnings.warn`, relative to the caller."""
    if message := format_range_warning(columns, ranges):
        warnings.warn(message, ExtrapolationWarning, stacklevel=stacklevel + 1)
