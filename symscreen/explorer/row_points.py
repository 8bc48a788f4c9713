"""Points of the page's picture: the target and a formula in some of the rows, with their inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.messages import escape_control_chars

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from symscreen._typing import Integers, Values


MAX_POINTS = 1500  # rows in a picture
MAX_INPUTS = 12  # inputs that are shown of a row
_DIGITS = 6  # significant digits


@dataclass(frozen=True, eq=False)
class RowTable:
    """The rows that the page can show.

    Parameters
    ----------
    target_name : str
        The name of the target.
    target : float64 array, shape (n,)
        The target.
    inputs : mapping of str to float64 array, each of shape (n,)
        The inputs by name.
    row_numbers : int64 array, shape (n,)
        The number of each row in the source, from 1.
    unit_note : str
        What a reader must know of the units; empty if they are those of the source.
    """

    target_name: str
    target: Values
    inputs: Mapping[str, Values]
    row_numbers: Integers
    unit_note: str = ""


def choose_rows(table: RowTable) -> Integers:
    """Choose the rows of a picture: all, or `MAX_POINTS` evenly spaced ones in the order of the target.

    Examples
    --------
    >>> y = np.array([3.0, 1.0, 2.0])
    >>> choose_rows(RowTable("y", y, {}, np.arange(1, 4))).tolist()
    [1, 2, 0]
    """
    order = np.argsort(table.target, kind="stable")
    if len(order) > MAX_POINTS:
        order = order[np.linspace(0, len(order) - 1, MAX_POINTS).round().astype(np.int64)]
    return order.astype(np.int64)


def build_points(
    table: RowTable,
    values: Values,
    curve: Values | None,
    used_inputs: Collection[str],
    *,
    axis_name: str,
    curve_name: str,
) -> dict[str, Any]:
    """Build what the page draws of a formula.

    Parameters
    ----------
    table : RowTable
        The rows.
    values : float64 array, shape (n,)
        What is on the horizontal axis first: the formula, or a prediction. Rows in which it, or the target,
        is not finite are left out.
    curve : float64 array, shape (n,), or None
        What is traced over the data; None for nothing.
    used_inputs : collection of str
        The inputs of the formula, which come first.
    axis_name, curve_name : str
        The names of `values` and `curve` for readers.

    Returns
    -------
    dict
        ``target`` and ``axis``, the names of the axes; ``curve_name``; ``rows``, the numbers of the rows in
        the source; ``y``, ``x`` and ``curve``, the numbers; ``inputs``, a list of name, numbers and whether
        the formula uses it; ``n_rows``, the number of all rows; ``remarks``, sentences for the caption.

    Examples
    --------
    >>> table = RowTable("y", np.array([2.0, 1.0]), {"a": np.array([5.0, 7.0])}, np.array([1, 2]))
    >>> points = build_points(table, np.array([0.1, np.nan]), None, ["a"], axis_name="f", curve_name="")
    >>> points["rows"], points["y"], points["x"], points["inputs"]
    ([1], [2.0], [0.1], [{'name': 'a', 'values': [5.0], 'used': True}])
    """
    chosen = choose_rows(table)
    finite = np.isfinite(values) & np.isfinite(table.target)
    kept = chosen[finite[chosen]]
    others = [name for name in table.inputs if name not in used_inputs]
    names = [*(name for name in table.inputs if name in used_inputs), *others][:MAX_INPUTS]
    remarks = []
    if len(chosen) < len(table.target):
        remarks.append(f"{len(chosen):,} of {len(table.target):,} rows are drawn, spread over the target.")
    if not finite.all():
        remarks.append(f"{int((~finite).sum()):,} rows without a value are left out.")
    if len(names) < len(table.inputs):
        remarks.append(f"{len(names)} of {len(table.inputs):,} inputs of each row are shown.")
    if table.unit_note:
        remarks.append(table.unit_note)
    return {
        "target": escape_control_chars(table.target_name),
        "axis": axis_name,
        "curve_name": curve_name,
        "rows": table.row_numbers[kept].tolist(),
        "y": _round(table.target[kept]),
        "x": _round(values[kept]),
        "curve": None if curve is None else _round(curve[kept]),
        "inputs": [
            {
                "name": escape_control_chars(name),
                "values": _round(table.inputs[name][kept], missing=None),
                "used": name in used_inputs,
            }
            for name in names
        ],
        "n_rows": len(table.target),
        "remarks": remarks,
    }


def _round(values: Values, missing: float | None = 0.0) -> list[float | None]:
    """Round numbers to six significant digits; JSON has no word for what is not finite."""
    return [float(f"{value:.{_DIGITS}g}") if np.isfinite(value) else missing for value in values.tolist()]
