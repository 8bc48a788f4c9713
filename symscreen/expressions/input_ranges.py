"""Ranges of the inputs: those of the training rows, wider boxes, warnings outside of them, and clipping."""

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
_WIDENING = 0.1  # share of a range by which it is widened on each side
_SMALLEST = float(np.finfo(np.float64).tiny)  # smallest normal double: the end of a range that comes near 0


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


def widen_ranges(ranges: InputRanges) -> dict[str, list[float]]:
    """Widen the ranges of inputs by a tenth on both sides, which gives the box of the inputs.

    Parameters
    ----------
    ranges : mapping of str to sequence of two floats
        The lowest and the highest value by input.

    Returns
    -------
    dict of str to list of float
        ``[low, high]`` by name. No end crosses 0: an input that is positive stays positive, down to the
        smallest double, and one that is 0 or more does not become negative.

    Examples
    --------
    >>> widen_ranges({"x": [-1.0, 2.0], "mass": [2.0, 10.0], "price": [0.2, 10.0], "count": [0.0, 5.0]})
    {'x': [-1.3, 2.3], 'mass': [1.2, 10.8], 'price': [2.2250738585072014e-308, 10.98], 'count': [0.0, 5.5]}
    """
    return {name: _widen_range(float(low), float(high)) for name, (low, high) in ranges.items()}


def _widen_range(low: float, high: float) -> list[float]:
    """Widen one range."""
    margin = _WIDENING * high - _WIDENING * low
    wide_low, wide_high = low - margin, high + margin
    if low >= 0.0:
        wide_low = max(wide_low, min(low, _SMALLEST))
    if high <= 0.0:
        wide_high = min(wide_high, max(high, -_SMALLEST))
    return [wide_low, wide_high]


def build_box(columns: Mapping[str, Values], given: InputRanges) -> dict[str, list[float]]:
    """Build the box of the inputs: ranges that are given, else those of the rows, widened by `widen_ranges`.

    Parameters
    ----------
    columns : mapping of str to float64 array, shape (n,)
        The inputs.
    given : mapping of str to sequence of two floats
        Ranges of some inputs.

    Returns
    -------
    dict of str to list of float
    """
    box = widen_ranges(compute_input_ranges(columns))
    return {name: list(given[name]) if name in given else ends for name, ends in box.items()}


def clip_to_box(columns: Mapping[str, Values], box: InputRanges) -> dict[str, Values]:
    """Move values outside of a box to its nearest end; missing values and other columns stay as they are.

    Examples
    --------
    >>> clip_to_box({"x": np.array([0.0, 1.0, 3.0])}, {"x": [0.5, 2.0]})["x"].tolist()
    [0.5, 1.0, 2.0]
    """
    clipped = dict(columns)
    for name in columns.keys() & box.keys():
        low, high = box[name]
        clipped[name] = np.asarray(np.clip(columns[name], low, high))
    return clipped


def format_range_warning(
    columns: Mapping[str, Values], ranges: InputRanges, *, is_box: bool = False
) -> str | None:
    """Say how many rows are outside of ranges, and in which inputs; None if there are none.

    Parameters
    ----------
    columns : mapping of str to float64 array, shape (m,)
        New rows. Missing values are not outside.
    ranges : mapping of str to sequence of two floats
        The lowest and the highest value by input. Other columns are not checked.
    is_box : bool
        Whether the ranges are the box of features, not those of the training rows of a model.

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
        f"{escape_control_chars(name)}: {_format_end(ranges[name][0])} to {_format_end(ranges[name][1])}"
        for name in names[:_MAX_SHOWN_INPUTS]
    ]
    if n_more := len(names) - len(shown):
        shown.append(f"and {n_more} more")
    place, values = (
        ("box of the inputs", "features") if is_box else ("range of the training rows", "predictions")
    )
    n_outside, n_rows = np.count_nonzero(is_outside), is_outside.size
    count = (
        "the row is" if n_rows == 1 else f"{n_outside} of {n_rows} rows {'is' if n_outside == 1 else 'are'}"
    )
    return f"{count} outside the {place} ({', '.join(shown)}); {values} there are extrapolations"


def _format_end(value: float) -> str:
    """Format the end of a range; 0 for the double next to it."""
    return "0" if abs(value) <= _SMALLEST else f"{value:.6g}"


def warn_outside_ranges(
    columns: Mapping[str, Values], ranges: InputRanges, stacklevel: int, *, is_box: bool = False
) -> None:
    """Warn of rows outside of ranges; `stacklevel` is that of `warnings.warn`, relative to the caller."""
    if message := format_range_warning(columns, ranges, is_box=is_box):
        warnings.warn(message, ExtrapolationWarning, stacklevel=stacklevel + 1)


def keep_in_box(
    columns: Mapping[str, Values], box: InputRanges | None, *, clip: bool, stacklevel: int
) -> dict[str, Values]:
    """Clip new rows to a box, or warn of those outside; without a box they stay as they are.

    `stacklevel` is that of `warnings.warn`, relative to the caller.
    """
    if box is None:
        return dict(columns)
    if clip:
        return clip_to_box(columns, box)
    warn_outside_ranges(columns, box, stacklevel, is_box=True)
    return dict(columns)
