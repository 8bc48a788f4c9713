"""Write a fitted formula as one self-contained HTML page: the law, its pictures, its tables, and its use."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.traversal import collect_inputs
from symscreen.messages import COMMAND_LINE, escape_control_chars, render_message
from symscreen.report.columns import format_typeset_number
from symscreen.report.figures.fit_figures import FitPlots, draw_front
from symscreen.report.figures.style import draw_inline_svg
from symscreen.report.fit_section import build_fit_section
from symscreen.report.page_template import check_report, render_page, write_page
from symscreen.report.usage_section import build_usages
from symscreen.results.fit_result import LAW_VERDICTS, FitResult, GroupedFitResult, SharedFitResult, format_r2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes

    from symscreen.results.fit_result import AnyFitResult


_SIZE = (4.8, 3.6)  # inches
_MAX_TARGETS = 6  # targets with pictures
_MAX_INPUTS = 12  # inputs with a picture
_MAX_TERMS = 12  # terms with a picture
_MAX_MODELS = 40  # rows of a table of models
_COLUMN_TITLES = {
    "complexity": "complexity",
    "r2": "1\u00a0−\u00a0R²",
    "formula": "formula",
    "features": "features",
}


def write_fit_report(
    result: AnyFitResult, path: str | Path, *, data: str = "DATA", force: bool = False
) -> None:
    """Write the page of a fit to a file. The file is written completely or not at all.

    Parameters
    ----------
    result : FitResult, SharedFitResult or GroupedFitResult
        The result of `symscreen.fit`.
    path : str or Path
        A file name that ends in ``.html``.
    data : str
        The name of the data file, for the command that uses the formula.
    force : bool
        Whether to overwrite an existing file.

    Raises
    ------
    OutputError, OptionError
        See `symscreen.report.page_template.check_report`; also if the file cannot be written.
    """
    check_report(path, force=force)
    write_page(build_fit_html(result, data=data), path, force=force)


def build_fit_html(result: AnyFitResult, *, data: str = "DATA") -> str:
    """Render the page of a fit. Equal results give identical pages, which load no other files."""
    targets = [result.formula.target] if not isinstance(result, SharedFitResult) else list(result.targets)
    section = build_fit_section(result)
    content = {
        "title": escape_control_chars(", ".join(targets)),
        "verdict": escape_control_chars(render_message(result.verdict, COMMAND_LINE)),
        "is_good": result.record["verdict"]["kind"] in LAW_VERDICTS,
        "statements": [
            escape_control_chars(render_message(each, COMMAND_LINE)) for each in result.claims[1:]
        ],
        "notices": [escape_control_chars(render_message(each, COMMAND_LINE)) for each in result.notices],
        "equations": section["equations"],
        "facts": _list_facts(result),
        "sections": [each for each in _build_sections(result, targets) if each["figures"]],
        "front_markup": draw_inline_svg(
            lambda axes: draw_front(axes, result),
            _SIZE,
            "Error against complexity; see the table",
            is_traced=True,
        ),
        "front": _build_models(result.front),
        "others": _build_models(result.alternatives),
        "headings": section["headings"],
        "rows": section["rows"],
        "numbers": section["numbers"],
        "usages": build_usages(_choose_exported(result), {**result.operators}),
        "group": escape_control_chars(result.formula.groups[0])
        if isinstance(result, GroupedFitResult)
        else "",
        "data": escape_control_chars(data),
        "record": _format_record(result.record),
    }
    return render_page("fit.html.j2", content)


def _choose_exported(result: AnyFitResult) -> Any:
    """Return what is written in other languages: of groups, the formula of the first one."""
    return (
        result.formula.get_formula(result.formula.groups[0])
        if isinstance(result, GroupedFitResult)
        else result
    )


def _list_facts(result: AnyFitResult) -> list[tuple[str, str]]:
    """List numbers on the fit: its quality, its rows, and how much was searched."""
    record = result.record
    r2 = {"": result.r2} if isinstance(result.r2, float) else result.r2
    facts = [
        (f"R² of {escape_control_chars(n)}" if n else "R²", format_r2(value).replace("-", "−"))
        for n, value in r2.items()
    ]
    facts.append(("rows that chose the terms", f"{record['rows_choosing']:,}"))
    if record["split"]:
        facts.append(("other rows that gave the coefficients", f"{record['rows_estimating']:,}"))
    facts += [("features searched", f"{record['searched']:,}"), ("models tried", f"{record['models']:,}")]
    return facts


def _build_sections(result: AnyFitResult, targets: list[str]) -> list[dict[str, Any]]:
    """Draw predictions, residuals, partial dependence and terms; nothing for groups, or without data."""
    if isinstance(result, GroupedFitResult) or result.data is None:
        return []
    plots, shown = FitPlots(result), targets[:_MAX_TARGETS]
    return [
        {
            "title": "Predictions and residuals",
            "text": "All points would lie on the line if the formula were exact. A residual is observed "
            "minus predicted; a pattern from left to right shows what the formula misses.",
            "figures": [each for name in shown for each in _draw_predictions(plots, name)],
        },
        {
            "title": "Partial dependence",
            "text": "The prediction while one input takes each value of its range. The thick line is the "
            "mean over rows, and thin lines are single rows.",
            "figures": [each for name in shown for each in _draw_dependences(plots, result, name)],
        },
        {
            "title": "Terms",
            "text": "The line is a term with its coefficient. Each point adds the residual of a row.",
            "figures": [
                _draw(partial(plots.term, number, target=name), f"Term {number} of {name}, with residuals")
                for name in shown
                for number in range(1, min(len(result.formula.terms), _MAX_TERMS) + 1)
            ],
        },
    ]


def _draw_predictions(plots: FitPlots, target: str) -> list[str]:
    """Draw the observed values of a target, and the residuals, against the predictions."""
    return [
        _draw(partial(plots.predictions, target=target), f"Observed {target} against predicted {target}"),
        _draw(partial(plots.residuals, target=target), f"Residuals of {target} against predictions"),
    ]


def _draw_dependences(plots: FitPlots, result: FitResult | SharedFitResult, target: str) -> Iterator[str]:
    """Draw the partial dependence of a target on the first inputs of its formula."""
    formula = result.formula if isinstance(result.formula, Formula) else result.formula.get_formula(target)
    for name in sorted(collect_inputs(formula.terms))[:_MAX_INPUTS]:
        with suppress(OptionError):  # the formula is undefined for some value in every row
            yield _draw(partial(plots.dependence, name, target=target), f"Predicted {target} against {name}")


def _draw(draw: Callable[[Axes], Any], title: str) -> str:
    return draw_inline_svg(draw, _SIZE, escape_control_chars(title), is_traced=True)


def _build_models(table: pd.DataFrame) -> dict[str, Any]:
    """Return a table of models, simplest first; the chosen one has a mark."""
    names = [name for name in _COLUMN_TITLES if name in table]
    rows = []
    for row in table.head(_MAX_MODELS).to_dict("records"):
        mark = "✓ " if row.get("chosen") else ""
        cells = [_format_model_cell(name, row[name]) for name in names]
        rows.append([f"{mark}{cells[0]}", *cells[1:]])
    return {"headings": [_COLUMN_TITLES[name] for name in names], "rows": rows}


def _format_model_cell(name: str, value: Any) -> str:
    if name == "r2":
        unexplained = max(1.0 - value, 0.0)
        return f"{unexplained:.3f}" if unexplained >= 0.01 else format_typeset_number(unexplained, 3)
    return f"{value:,}" if isinstance(value, int | np.integer) else escape_control_chars(str(value))


def _format_record(record: Mapping[str, Any]) -> str:
    text = json.dumps(record, ensure_ascii=False, indent=1, default=str)
    return "\n".join(map(escape_control_chars, text.splitlines()))
