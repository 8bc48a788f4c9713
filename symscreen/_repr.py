"""What a prompt shows of a result: a screenful at most, whatever its size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.errors import escape_control_chars

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd


__all__ = ["format_repr", "truncate_text"]

_MAX_ROWS = 10
_MAX_NOTICES = 3
_LINE_WIDTH_CHARS = 110  # characters a line
_MAX_CELL_CHARS = 60  # characters a cell
_MAX_NOTICE_CHARS = 200


def format_repr(heading: str, notices: Iterable[str], tables: dict[str, pd.DataFrame]) -> str:
    """Write the beginnings of what a result holds.

    Parameters
    ----------
    head : str
        What it is.
    notices : iterable of str
        For people; the first three, shortened.
    tables : dict of str to pandas.DataFrame
        By the attribute that holds the whole of each; the first ten rows.

    Returns
    -------
    str
        Lines; no newline at the end.

    Examples
    --------
    >>> import pandas as pd
    # doctest: +ELLIPSIS
    >>> print(format_repr("<Twelve>", [], {"table": pd.DataFrame({"number": range(12)})}))
    <Twelve>
    ...
         8
         9
    … 2 more in .table
    """
    told = list(notices)
    lines = [
        truncate_text(heading, _MAX_NOTICE_CHARS),
        *(truncate_text(notice, _MAX_NOTICE_CHARS) for notice in told[:_MAX_NOTICES]),
    ]
    if len(told) > _MAX_NOTICES:
        lines.append(f"… {len(told) - _MAX_NOTICES} more in .notices")
    for name, table in tables.items():
        lines.append(
            table.head(_MAX_ROWS).to_string(
                index=False, line_width=_LINE_WIDTH_CHARS, max_colwidth=_MAX_CELL_CHARS
            )
        )
        if len(table) > _MAX_ROWS:
            lines.append(f"… {len(table) - _MAX_ROWS:,} more in .{name}")
    # names of columns may hold anything, and a prompt is a terminal
    return "\n".join(escape_control_chars(line) for text in lines for line in text.split("\n"))


def truncate_text(text: str, max_length: int) -> str:
    """Cut a text to so many characters, and mark it.

    Examples
    --------
    >>> shortened("a long story", 7)
    'a long…'
    """
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"
