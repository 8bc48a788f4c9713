"""Representation of results at a prompt, with at most a screenful of text."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from symscreen.messages import escape_control_chars

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd


_MAX_ROWS = 10
_MAX_NOTICES = 6
_LINE_WIDTH_CHARS = 110
_MAX_CELL_CHARS = 60
_MAX_NOTICE_CHARS = 200
_HTML_DIGITS = 6  # significant digits


def format_repr(heading: str, notices: Iterable[str], tables: dict[str, pd.DataFrame]) -> str:
    """Format the first rows of the tables of a result.

    Parameters
    ----------
    heading : str
        The first line.
    notices : iterable of str
        The first six are shown, truncated.
    tables : dict of str to pandas.DataFrame
        Tables by the name of the attribute that holds them. The first ten rows are shown.

    Returns
    -------
    str
        Lines without a trailing newline.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"number": range(12)})
    >>> print(format_repr("<Twelve>", [], {"table": table}))  # doctest: +ELLIPSIS
    <Twelve>
    ...
         8
         9
    … 2 more in .table
    """
    texts = list(notices)
    lines = [
        truncate_text(heading, _MAX_NOTICE_CHARS),
        *(truncate_text(notice, _MAX_NOTICE_CHARS) for notice in texts[:_MAX_NOTICES]),
    ]
    if len(texts) > _MAX_NOTICES:
        lines.append(f"… {len(texts) - _MAX_NOTICES} more in .notices")
    for name, table in tables.items():
        lines.append(
            table.head(_MAX_ROWS).to_string(
                index=False, line_width=_LINE_WIDTH_CHARS, max_colwidth=_MAX_CELL_CHARS
            )
        )
        if len(table) > _MAX_ROWS:
            lines.append(f"… {len(table) - _MAX_ROWS:,} more in .{name}")
    # Column names may contain control characters, which would steer the terminal.
    return "\n".join(escape_control_chars(line) for text in lines for line in text.split("\n"))


def format_summary(heading: str, statements: Iterable[str], tables: dict[str, pd.DataFrame]) -> str:
    """Format all rows of the tables of a result, each under its name.

    Parameters
    ----------
    heading : str
        The first lines.
    statements : iterable of str
        Lines about the whole result.
    tables : dict of str to pandas.DataFrame
        Tables by name. Empty ones are left out.

    Returns
    -------
    str
        Lines without a trailing newline.

    Examples
    --------
    >>> import pandas as pd
    >>> print(format_summary("Two numbers", [], {"numbers": pd.DataFrame({"number": [1, 2]})}))
    Two numbers
    <BLANKLINE>
    numbers
     number
          1
          2
    """
    parts = ["\n".join([heading, *statements])]
    for name, table in tables.items():
        if len(table):
            text = table.to_string(
                index=False,
                line_width=_LINE_WIDTH_CHARS,
                max_colwidth=_MAX_CELL_CHARS,
                float_format="{:.6g}".format,
            )
            parts.append(f"{name}\n{text}")
    return "\n".join(escape_control_chars(line) for line in "\n\n".join(parts).split("\n"))


def truncate_text(text: str, max_length: int) -> str:
    """Truncate a text to `max_length` characters, with an ellipsis at the end.

    Examples
    --------
    >>> truncate_text("a long story", 7)
    'a long…'
    """
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"


def format_result_html(
    equations: Iterable[str], notices: Iterable[str], table: pd.DataFrame, text_column: str = "term"
) -> str:
    """Format equations, notices and a table with a column of texts as HTML, with escaped names."""
    import pandas as pd

    lines = "<br>".join(escape(escape_control_chars(equation)) for equation in equations)
    paragraphs = "".join(f"<p>{escape(escape_control_chars(notice))}</p>" for notice in notices)
    texts = {text_column: list(map(escape_control_chars, table[text_column]))}
    safe = table.assign(**texts).rename(columns=escape_control_chars)
    with pd.option_context("display.max_colwidth", None):  # formulas are not truncated
        markup = safe.to_html(index=False, float_format=f"{{:.{_HTML_DIGITS}g}}".format)
    return f"<p><code>{lines}</code></p>{paragraphs}{markup}"
