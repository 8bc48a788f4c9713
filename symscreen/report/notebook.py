"""A ranking as a notebook shows it: its formulas typeset, and as LaTeX."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from symscreen.errors import printable
from symscreen.export.latex import to_latex
from symscreen.export.mathml import to_mathml
from symscreen.report.page.columns import cells_of, headings_of
from symscreen.report.pictures import Plots
from symscreen.result import Views

if TYPE_CHECKING:
    from symscreen.result import ScreenResult

__all__ = ["VIEWS", "html_of", "latex_of"]

_MOST = 100  # of a ranking of all features


def html_of(result: ScreenResult) -> str:
    """Write a ranking as a table whose formulas the browser typesets.

    Parameters
    ----------
    result : ScreenResult
        What `symscreen.screen` returned; of more than 100 features the best 100 are written.

    Returns
    -------
    str
        HTML without script or style; names are escaped.
    """
    headings, shown = headings_of(result), min(_MOST, len(result))
    titles = [escape(heading.text) for heading in headings]
    head = "".join(f'<th scope="col">{title}</th>' for title in ("rank", "formula", *titles))
    rows = []
    for place in range(shown):
        text = escape(printable(str(result.table["expression"].iloc[place])))
        cells = "".join(f"<td>{escape(cell.text)}</td>" for cell in cells_of(result, headings, place))
        formula = f'<td style="text-align:left" title="{text}">{to_mathml(result.expressions[place])}</td>'
        rows.append(f"<tr><th>{place + 1}</th>{formula}{cells}</tr>")
    told = f"{len(result):,} shown of {result.scored:,} features scored"
    told += f"; the best {shown} here" if shown < len(result) else ""
    notices = "".join(f"<p>{escape(printable(notice))}</p>" for notice in result.notices)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f"<p>{told}</p>{notices}{table}"


def latex_of(result: ScreenResult) -> str:
    """Write the formulas of a ranking as LaTeX, one line each.

    Parameters
    ----------
    result : ScreenResult
        What `symscreen.screen` returned; of more than 100 features the best 100 are written.

    Returns
    -------
    str
        A display of its own, for LaTeX with amsmath, MathJax and KaTeX.
    """
    lines = [
        rf"{place} & {to_latex(expression)}"
        for place, expression in enumerate(result.expressions[:_MOST], start=1)
    ]
    joined = " \\\\\n".join(lines)
    return f"$$\\begin{{array}}{{rl}}\n{joined}\n\\end{{array}}$$"


VIEWS = Views(plot=Plots, html=html_of, latex=latex_of)
