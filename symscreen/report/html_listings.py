"""The listings of the terminal as HTML, for notebooks."""

from __future__ import annotations

import io
from html import escape
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from symscreen.messages import escape_control_chars
from symscreen.report.terminal.listings import print_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType


def format_listing_text(content: RenderableType, notices: Iterable[str] = ()) -> str:
    """Write a listing as plain text of 80 columns, after the notices.

    Parameters
    ----------
    content : rich renderable
        What `print_table` prints.
    notices : iterable of str
        Notices about the data.

    Returns
    -------
    str
        Lines without a trailing newline.
    """
    output = io.StringIO()
    print_table(content, output)
    return "\n".join([*map(escape_control_chars, notices), output.getvalue().strip("\n")])


def format_listing_html(content: RenderableType, notices: Iterable[str] = ()) -> str:
    """Write a listing as HTML without scripts or styles.

    Parameters
    ----------
    content : rich renderable
        A text, a table, or a group of these.
    notices : iterable of str
        Notices about the data, which come first.

    Returns
    -------
    str
        Paragraphs and tables. All texts are escaped.

    Examples
    --------
    >>> format_listing_html(Group(Text("a < b"), Text("")), ["one row is left out"])
    '<p>one row is left out</p><p>a &lt; b</p>'
    """
    return "".join([*map(_format_paragraph, notices), _format(content)])


def _format(content: RenderableType) -> str:
    """Write a renderable."""
    if isinstance(content, Group):
        return "".join(map(_format, content.renderables))
    if isinstance(content, Table):
        return _format_table(content)
    return _format_paragraph(content.plain if isinstance(content, Text) else str(content))


def _format_paragraph(text: str) -> str:
    """Write the lines of a text; an empty one is the space between two listings."""
    if not text.strip():
        return ""
    return f"<p>{'<br>'.join(escape(escape_control_chars(line)) for line in text.splitlines())}</p>"


def _format_table(table: Table) -> str:
    """Write a table; columns of numbers stay aligned to the right."""
    head = "".join(f'<th scope="col">{_to_html(column.header)}</th>' for column in table.columns)
    aligned = [[_format_cell(cell, column.justify) for cell in column.cells] for column in table.columns]
    rows = "".join(f"<tr>{''.join(cells)}</tr>" for cells in zip(*aligned, strict=True))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _format_cell(cell: RenderableType, justify: str) -> str:
    """Write a cell."""
    side = "right" if justify == "right" else "left"
    return f'<td style="text-align:{side}">{_to_html(cell)}</td>'


def _to_html(cell: RenderableType) -> str:
    return escape(cell.plain if isinstance(cell, Text) else str(cell))
