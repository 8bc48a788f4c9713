"""Write equations of motion as one self-contained HTML page: the equations, the pictures and the tables."""

from __future__ import annotations

import math
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from symscreen.errors import OptionError
from symscreen.expressions.printing import format_mathml_body
from symscreen.expressions.traversal import collect_inputs
from symscreen.expressions.tree import Column
from symscreen.grammar import OPERATORS
from symscreen.messages import COMMAND_LINE, escape_control_chars, render_message
from symscreen.report.figures.partial_dependence import draw_dependence
from symscreen.report.figures.style import draw_inline_svg
from symscreen.report.figures.system_figures import (
    collect_state_columns,
    draw_parity,
    draw_phase,
    draw_residuals,
    draw_systems,
    draw_trajectories,
)
from symscreen.report.page_template import check_report, render_page, write_page
from symscreen.report.usage_section import build_usages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes

    from symscreen.dynamics.result import OdeResult
    from symscreen.expressions.linear_formula import Formula


_DIGITS = 6  # significant digits of numbers
_WIDE, _LOW, _SQUARE = (4.8, 2.8), (4.8, 2.2), (4.8, 3.6)  # inches
_MAX_COLUMNS = 8  # columns of a right-hand side with a picture


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
        "equations": [
            _build_equation(result, formula.round_numbers(_DIGITS), equation.state)
            for formula, equation in zip(result.formulas, result.system.equations, strict=True)
        ],
        "verdict": result.verdict,
        "is_good": result.system_verdict.kind in {"exact", "noise"},
        "statements": [escape_control_chars(render_message(each, COMMAND_LINE)) for each in result.details],
        "sections": _build_sections(result),
        "usages": _build_usages(result),
        "left_sides": escape_control_chars(", ".join(formula.target for formula in result.formulas)),
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


def _build_equation(result: OdeResult, formula: Formula, state: str) -> dict[str, str]:
    """Return the equation of a state as text and as markup."""
    sides = _format_derivative(result, state), format_mathml_body(formula.expression, _DIGITS)
    return {
        "text": escape_control_chars(f"{formula.target} = {formula.text}"),
        "markup": f"<math>{'<mo>=</mo>'.join(sides)}</math>",
    }


def _format_derivative(result: OdeResult, state: str) -> str:
    """Write the left side of an equation as a fraction."""
    data = result.trajectories
    time, power = format_mathml_body(Column(data.time)), "<mi>d</mi>"
    if data.order > 1:
        state = data.measured_states[data.velocities.index(state)]
        power, time = "<msup><mi>d</mi><mn>2</mn></msup>", f"<msup><mrow>{time}</mrow><mn>2</mn></msup>"
    above = f"<mrow>{power}<mspace width='0.15em'></mspace>{format_mathml_body(Column(state))}</mrow>"
    return f"<mfrac>{above}<mrow><mi>d</mi>{time}</mrow></mfrac>"


def _build_sections(result: OdeResult) -> list[dict[str, Any]]:
    """Draw trajectories, computed values, residuals, phase portrait, right-hand sides and other systems."""
    states = result.trajectories.measured_states
    places = list(enumerate(states))
    sections = [
        {
            "title": "Trajectories",
            "text": "Points are samples, and lines are the solution of the equations.",
            "figures": [
                _draw(
                    partial(draw_trajectories, result=result, place=place), _WIDE, f"Trajectories of {name}"
                )
                for place, name in places
            ],
        },
        {
            "title": "Measured against computed",
            "text": "All points would lie on the line if the equations and the samples were exact.",
            "figures": [
                _draw(
                    partial(draw_parity, result=result, place=place), _SQUARE, f"Measured and computed {name}"
                )
                for place, name in places
            ],
        },
        {
            "title": "Residuals",
            "text": "Measured minus computed. Slow swings show that the equations miss something.",
            "figures": [
                _draw(partial(draw_residuals, result=result, place=place), _LOW, f"Residuals of {name}")
                for place, name in places
            ],
        },
    ]
    pair = result.trajectories.system_states[:2]
    if len(pair) == 2:
        figure = _draw(
            partial(draw_phase, result=result, first=0, second=1), _SQUARE, f"{pair[1]} against {pair[0]}"
        )
        text = "One state against another. First derivatives have no samples."
        sections.append({"title": "Phase portrait", "text": text, "figures": [figure]})
    dependences = list(_draw_dependences(result))
    if dependences:
        text = (
            "A right-hand side while one column takes each value of its range. The thick line is the mean "
            "over samples, and thin lines are single samples."
        )
        sections.append({"title": "Partial dependence", "text": text, "figures": dependences})
    figure = _draw(partial(draw_systems, result=result), _SQUARE, "Other systems; the table has the numbers")
    text = "Each point is a system that was tried to the end. The table below has their equations."
    sections.append({"title": "Error against complexity", "text": text, "figures": [figure]})
    return sections


def _draw_dependences(result: OdeResult) -> Iterator[str]:
    """Draw the partial dependence of each right-hand side on its columns."""
    columns = collect_state_columns(result)
    for formula in result.formulas:
        for name in sorted(collect_inputs(formula.terms))[:_MAX_COLUMNS]:
            draw = partial(draw_dependence, formula=formula, columns=columns, name=name)
            with suppress(OptionError):  # the right-hand side is undefined for some value in every sample
                yield _draw(draw, _SQUARE, f"{formula.target} against {name}")


def _draw(draw: Callable[[Axes], None], size: tuple[float, float], title: str) -> str:
    return draw_inline_svg(draw, size, escape_control_chars(title), is_traced=True)


def _build_usages(result: OdeResult) -> list[dict[str, str]]:
    """Write the right-hand sides in other languages."""
    expressions = [formula.expression for formula in result.formulas]
    return build_usages(expressions, {**OPERATORS, **result.operators})


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
