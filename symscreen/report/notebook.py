"""A ranking as a notebook shows it: its formulas typeset, and as LaTeX."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from symscreen.errors import escape_control_chars
from symscreen.expressions.latex import to_latex
from symscreen.expressions.mathml import to_mathml
from symscreen.report.figures.screen_figures import Plots
from symscreen.report.html_page import build_cells, build_headings
from symscreen.results.screen_result import Renderers

if TYPE_CHECKING:
    from symscreen.results.screen_result import ScreenResult


__all__ = ["VIEWS", "format_ranking_html", "format_ranking_latex"]

_MAX_ROWS = 100  # of a ranking of all features


def format_ranking_html(result: ScreenResult) -> str:
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
    headings, shown = build_headings(result), min(_MAX_ROWS, len(result))
    titles = [escape(heading.text) for heading in headings]
    head = "".join(f'<th scope="col">{title}</th>' for title in ("rank", "formula", *titles))
    rows = []
    for place in range(shown):
        text = escape(escape_control_chars(str(result.table["expression"].iloc[place])))
        cells = "".join(f"<td>{escape(cell.text)}</td>" for cell in build_cells(result, headings, place))
        formula = f'<td style="text-align:left" title="{text}">{to_mathml(result.expressions[place])}</td>'
        rows.append(f"<tr><th>{place + 1}</th>{formula}{cells}</tr>")
    told = f"{len(result):,} shown of {result.n_scored:,} features scored"
    told += f"; the best {shown} here" if shown < len(result) else ""
    notices = "".join(f"<p>{escape(escape_control_chars(notice))}</p>" for notice in result.notices)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f"<p>{told}</p>{notices}{table}"


def format_ranking_latex(result: ScreenResult) -> str:
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
        for place, expression in enumerate(result.expressions[:_MAX_ROWS], start=1)
    ]
    joined = " \\\\\n".join(lines)
    return f"$$\\begin{{array}}{{rl}}\n{joined}\n\\end{{array}}$$"


VIEWS = Renderers(plot=Plots, html=format_ranking_html, latex=format_ranking_latex)
