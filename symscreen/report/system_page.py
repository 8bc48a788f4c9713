"""Write equations of motion as one self-contained HTML page: the equations, the pictures and the tables."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from symscreen.expressions.printing import format_mathml_body
from symscreen.expressions.tree import Column
from symscreen.messages import COMMAND_LINE, escape_control_chars, render_message
from symscreen.report.figures.style import draw_inline_svg
from symscreen.report.figures.system_figures import draw_phase, draw_residuals, draw_trajectories
from symscreen.report.page_template import check_report, render_page, write_page

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from symscreen.dynamics.result import OdeResult
    from symscreen.expressions.linear_formula import Formula


_DIGITS = 6  # significant digits of numbers
_WIDE, _LOW, _SQUARE = (6.4, 2.8), (6.4, 2.2), (4.6, 4.2)  # inches


def write_system_report(result: OdeResult, path: str | Path, *, force: bool = False) -> None:
    """Write the page of a system to a file. The file is written completely or not at all.

    Parameters
    ----------
    result : OdeResult
        The result of `symscreen.discover_ode`.
    path : str or Path
        A file name that ends in ``.html``.
    force : bool
        Whether to overwrite an existing file.

    Raises
    ------
    OutputError, OptionError
        See `symscreen.report.page_template.check_report`; also if the file cannot be written.
    """
    check_report(path, force=force)
    write_page(build_system_html(result), path, force=force)


def build_system_html(result: OdeResult) -> str:
    """Render the page of a system as HTML. Equal results give identical pages, which load no other files."""
    content = {
        "equations": [_build_equation(each.round_numbers(_DIGITS)) for each in result.formulas],
        "statements": [
            escape_control_chars(render_message(each, COMMAND_LINE)) for each in result.statements
        ],
        "sections": _build_sections(result),
        "tables": [
            _build_table(
                "Constants",
                "The intervals hold for the chosen form, whose search they do not know. The stability "
                "of a term is the share of half-samples that choose it.",
                result.constants,
            ),
            _build_table(
                "Other systems",
                "A difference of 10 points of the score is clear; systems that are closer fit about as well.",
                result.alternative_systems[["equations", "difference", "complexity"]],
            ),
        ],
        "record": "\n".join(map(escape_control_chars, result.to_json().splitlines())),
    }
    return render_page("system.html.j2", content)


def _build_equation(formula: Formula) -> dict[str, str]:
    """Return an equation as text and as markup."""
    sides = format_mathml_body(Column(formula.target)), format_mathml_body(formula.expression, _DIGITS)
    return {
        "text": escape_control_chars(f"{formula.target} = {formula.text}"),
        "markup": f"<math>{'<mo>=</mo>'.join(sides)}</math>",
    }


def _build_sections(result: OdeResult) -> list[dict[str, Any]]:
    """Draw trajectories, phase portrait and residuals."""
    states = result.trajectories.measured_states
    figures = [
        draw_inline_svg(
            partial(draw_trajectories, result=result, place=place),
            _WIDE,
            f"Trajectories of {state}: samples and solution",
        )
        for place, state in enumerate(states)
    ]
    text = "Points are samples, and lines are the solution of the equations."
    sections = [{"title": "Trajectories", "text": text, "figures": figures}]
    pair = result.trajectories.system_states[:2]
    if len(pair) == 2:
        draw = partial(draw_phase, result=result, first=0, second=1)
        svg = draw_inline_svg(draw, _SQUARE, f"Phase portrait: {pair[1]} against {pair[0]}")
        text = "One state against another. First derivatives have no samples."
        sections.append({"title": "Phase portrait", "text": text, "figures": [svg]})
    figures = [
        draw_inline_svg(partial(draw_residuals, result=result, place=place), _LOW, f"Residuals of {state}")
        for place, state in enumerate(states)
    ]
    text = "Measured minus computed. Residuals that swing slowly show that the equations miss something."
    sections.append({"title": "Residuals", "text": text, "figures": figures})
    return sections


def _build_table(title: str, caption: str, table: pd.DataFrame) -> dict[str, Any]:
    """Return a table of the page."""
    rows = [[_format_cell(value) for value in row] for row in table.itertuples(index=False)]
    return {"title": title, "caption": caption, "headings": list(table.columns), "rows": rows}


def _format_cell(value: Any) -> str:
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        return f"{value:.{_DIGITS}g}".replace("-", "−")
    return escape_control_chars(str(value))
