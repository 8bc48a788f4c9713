"""What a prompt shows of a result: a screenful at most, whatever its size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

__all__ = ["in_brief", "shortened"]

_ROWS = 10
_NOTICES = 3
_WIDTH = 110  # characters a line
_LONGEST = 60  # characters a cell
_NOTICE = 200


def in_brief(head: str, notices: Iterable[str], tables: dict[str, pd.DataFrame]) -> str:
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
    >>> print(in_brief("<Twelve>", [], {"table": pd.DataFrame({"number": range(12)})}))  # doctest: +ELLIPSIS
    <Twelve>
    ...
         8
         9
    … 2 more in .table
    """
    told = list(notices)
    lines = [shortened(head, _NOTICE), *(shortened(notice, _NOTICE) for notice in told[:_NOTICES])]
    if len(told) > _NOTICES:
        lines.append(f"… {len(told) - _NOTICES} more in .notices")
    for name, table in tables.items():
        lines.append(table.head(_ROWS).to_string(index=False, line_width=_WIDTH, max_colwidth=_LONGEST))
        if len(table) > _ROWS:
            lines.append(f"… {len(table) - _ROWS:,} more in .{name}")
    # names of columns may hold anything, and a prompt is a terminal
    return "\n".join(printable(line) for text in lines for line in text.split("\n"))


def shortened(text: str, most: int) -> str:
    """Cut a text to so many characters, and mark it.

    Examples
    --------
    >>> shortened("a long story", 7)
    'a long…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"
