"""Notebook views of a ranking: an HTML table with typeset formulas, and LaTeX."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from symscreen.expressions.printing import to_latex, to_mathml
from symscreen.messages import escape_control_chars
from symscreen.report.columns import build_cells, build_headings
from symscreen.results.screen_result import Renderers

if TYPE_CHECKING:
    from symscreen.report.figures.screen_figures import Plots
    from symscreen.results.screen_result import ScreenResult


_MAX_ROWS = 100  # features
_EXPLAINED_COLUMNS = ("t0", "class_size", "q_value")  # below the table


def format_ranking_html(result: ScreenResult) -> str:
    """Format a ranking as an HTML table; the browser typesets the formulas (MathML).

    Parameters
    ----------
    result : ScreenResult
        The result of `symscreen.screen`. At most the best 100 features are written.

    Returns
    -------
    str
        HTML without scripts or styles. Names are escaped.
    """
    headings, n_shown = build_headings(result), min(_MAX_ROWS, len(result))
    titles = [escape(heading.text) for heading in headings]
    head = "".join(f'<th scope="col">{title}</th>' for title in ("rank", "formula", *titles))
    rows = []
    for index in range(n_shown):
        text = escape(escape_control_chars(str(result.table["expression"].iloc[index])))
        cells = "".join(f"<td>{escape(cell.text)}</td>" for cell in build_cells(result, headings, index))
        formula = f'<td style="text-align:left" title="{text}">{to_mathml(result.expressions[index])}</td>'
        rows.append(f"<tr><th>{index + 1}</th>{formula}{cells}</tr>")
    verdict = (
        f"<p><strong>{escape(escape_control_chars(result.verdict))}</strong></p>" if result.verdict else ""
    )
    summary = f"{len(result):,} shown of {result.n_scored:,} features scored"
    summary += f"; the best {n_shown} here" if n_shown < len(result) else ""
    notices = "".join(f"<p>{escape(escape_control_chars(notice))}</p>" for notice in result.notices)
    meanings = (heading for heading in headings if heading.name in _EXPLAINED_COLUMNS and heading.meaning)
    legend = "".join(f"<p>{escape(each.text)}: {escape(each.meaning)}</p>" for each in meanings)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    budget = f"<p>{escape(escape_control_chars(result.budget_note))}</p>" if result.budget_note else ""
    return f"{budget}{verdict}{_draw_first_feature(result)}<p>{summary}</p>{notices}{table}{legend}"


def _draw_first_feature(result: ScreenResult) -> str:
    """Draw the target against the first feature; empty without features, data or matplotlib."""
    # a screen without a notebook does not need them
    from symscreen.report.figures.feature import draw_feature, has_scatters
    from symscreen.report.figures.style import draw_notebook_picture

    if not len(result) or not has_scatters(result):
        return ""
    return draw_notebook_picture(
        lambda axes: draw_feature(axes, result, 1), "Target against the feature of rank 1"
    )


def format_ranking_latex(result: ScreenResult) -> str:
    """Format the formulas of a ranking as LaTeX, one per line.

    Parameters
    ----------
    result : ScreenResult
        The result of `symscreen.screen`. At most the best 100 features are written.

    Returns
    -------
    str
        A display-math block for LaTeX with amsmath, MathJax and KaTeX.
    """
    lines = [
        rf"{rank} & {to_latex(expression)}"
        for rank, expression in enumerate(result.expressions[:_MAX_ROWS], start=1)
    ]
    joined = " \\\\\n".join(lines)
    return f"$$\\begin{{array}}{{rl}}\n{joined}\n\\end{{array}}$$"


def make_plots(result: ScreenResult) -> Plots:
    """Return the figures of a result; the code that draws them is imported now, not before."""
    from symscreen.report.figures.screen_figures import Plots

    return Plots(result)


VIEWS = Renderers(plot=make_plots, html=format_ranking_html, latex=format_ranking_latex)
