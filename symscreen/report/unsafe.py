"""How a ranking tells of features whose scores rounding decides: a mark, and lines on how to read it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from symscreen.result.safety import marked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["read_unsafe", "unsafe_mark"]


def unsafe_mark(row: Mapping[Any, Any], record: Mapping[str, Any]) -> str:
    """Return ``~`` for a feature whose score rounding decides by more than a little, else nothing.

    Parameters
    ----------
    row : mapping
        Of the ranking.
    record : mapping
        Of the result.

    Returns
    -------
    str

    Examples
    --------
    >>> record = {"data": {"rows": 50, "gini_mean_difference": 2.0}, "options": {"screener": ["t0"]}}
    >>> unsafe_mark({"unsafe_rows": 50, "unsafe_by": 1.9}, record), unsafe_mark({}, record)
    ('~', '')
    """
    rows, by = _figures(row)
    data, first = record["data"], record["options"]["screener"][0]
    scale = data["gini_mean_difference"] if first == "t0" else 1.0
    return "~" if marked(rows, by, n=data["rows"], scale=scale) else ""


def read_unsafe(rows: Sequence[Mapping[Any, Any]], record: Mapping[str, Any]) -> list[str]:
    """Explain the mark of unsafe features, and tell of those that are too slightly so for one.

    Parameters
    ----------
    rows : sequence of mapping
        Of the ranking, those that are shown.
    record : mapping
        Of the result.

    Returns
    -------
    list of str
        At most two lines; none where rounding decides nothing of what is shown.
    """
    first, lines = record["options"]["screener"][0], []
    unsafe = [(*_figures(row), unsafe_mark(row, record)) for row in rows]
    if most := max((count for count, _, mark in unsafe if mark), default=0.0):
        lines.append(
            f"~: unsafe: rounding decides up to {_rows(most)} of it; a file (--out) has unsafe_rows and "
            "unsafe_by."
        )
    slight = [(count, by) for count, by, mark in unsafe if count > 0 and not mark]
    if slight:
        most, bounds = max(count for count, _ in slight), [by for _, by in slight]
        others = f"{len(slight):,} {'other ' if lines else ''}feature{'' if len(slight) == 1 else 's'}"
        moves = "" if any(map(math.isnan, bounds)) else f", which moves {first} by at most {max(bounds):.2g}"
        lines.append(f"rounding decides up to {_rows(most)} of {others}{moves}.")
    return lines


def _rows(count: float) -> str:
    return f"{count:,.0f} {'row' if count == 1 else 'rows'}"


def _figures(row: Mapping[Any, Any]) -> tuple[float, float]:
    """Return the two figures of a row, NaN where they are missing."""
    import pandas as pd

    rows: Any = row.get("unsafe_rows")
    by: Any = row.get("unsafe_by")
    return math.nan if bool(pd.isna(rows)) else float(rows), math.nan if bool(pd.isna(by)) else float(by)
