"""The section of a page that shows how to use a formula elsewhere: in Python, SQL and Excel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symscreen.errors import SymscreenError
from symscreen.export import export_formulas
from symscreen.export.excel import list_default_cells
from symscreen.export.formats import extract_formulas
from symscreen.export.source import build_export_job
from symscreen.grammar import OPERATORS
from symscreen.messages import COMMAND_LINE, escape_control_chars, render_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.grammar import Operator


#: The formats that a page shows, with their headings and a sentence on how to use them.
USAGE_FORMATS = {
    "numpy": ("Python", "The code needs numpy only. Give it the columns by name."),
    "sql": ("SQL", "Write it into a SELECT. Names in double quotes are columns."),
    "excel": ("Excel", "Fill the formula down."),
}


def build_usages(source: Any, operators: Mapping[str, Operator] = OPERATORS) -> list[dict[str, str]]:
    """Write formulas in the formats of a page.

    Parameters
    ----------
    source : FitResult, SharedFitResult, Formula or sequence of Expression
        The formulas, see `symscreen.export.export_formulas`.
    operators : mapping of str to Operator
        The operators of the grammar; the result of a fit has its own.

    Returns
    -------
    list of dict
        The ``title`` of each format, a ``text`` on it, and the ``code``, which is empty if the format cannot
        express the formula; the text then says why.
    """
    usages = []
    for name, (title, sentence) in USAGE_FORMATS.items():
        text = sentence
        try:
            code = export_formulas(source, name, operators=operators)
            text = f"{text} {_describe_cells(source, operators)}" if name == "excel" else text
        except SymscreenError as error:
            usages.append(
                {"title": title, "text": _escape(render_message(str(error), COMMAND_LINE)), "code": ""}
            )
            continue
        usages.append({"title": title, "text": text, "code": _escape(code.strip("\n"))})
    return usages


def _describe_cells(source: Any, operators: Mapping[str, Operator]) -> str:
    """Say which cell each input has in the formula of a spreadsheet."""
    formulas, operators, indicators = extract_formulas(source, operators)
    job = build_export_job(formulas, operators=operators, indicators=indicators)
    cells = list_default_cells(job.columns).items()
    named = ", ".join(f"{escape_control_chars(name)} in {cell}" for name, cell in cells)
    return f"The first row of data has {named}." if named else "It needs no input."


def _escape(text: str) -> str:
    """Replace invisible characters, line by line."""
    return "\n".join(map(escape_control_chars, text.splitlines()))
