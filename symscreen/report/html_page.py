"""Write a result as one self-contained HTML page: no network, no fonts, no other files.

`build_page_content` collects the texts, numbers, formulas and figures of the page, and `build_report_html`
renders the template ``page.html.j2``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.config.option_record import format_command, format_study_command
from symscreen.expressions.printing import to_mathml
from symscreen.messages import COMMAND_LINE, escape_control_chars, name_option, render_message
from symscreen.report.columns import (
    ColumnHeading,
    TableCell,
    build_cells,
    build_headings,
    count_represented,
    format_typeset_number,
)
from symscreen.report.data_profile import draw_target, list_profile_facts, summarize_columns
from symscreen.report.figures.diagnostics import (
    MAX_REDUNDANCY_FEATURES,
    MAX_SCORES,
    build_agreement_matrix,
    compute_p_value_histogram,
    compute_rank_correlations,
    count_kept,
    draw_agreement,
    draw_funnel,
    draw_p_values,
    draw_redundancy,
    draw_scores,
    get_funnel_size,
    get_scores_size,
    list_reasons,
)
from symscreen.report.figures.feature import draw_feature, evaluate_feature, fit_line, has_scatters
from symscreen.report.figures.fit_figures import FitPlots
from symscreen.report.figures.style import FIGURE_WIDTH, draw_inline_svg
from symscreen.report.fit_section import build_fit_section
from symscreen.report.page_template import check_report, render_page, write_page
from symscreen.report.terminal.reading_notes import format_safety_mark
from symscreen.results.fit_result import LAW_VERDICTS, FitResult
from symscreen.results.screen_result import ScreenResult
from symscreen.targets.registry import find_recorded_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from symscreen.results.fit_result import AnyFitResult


MAX_FEATURES = 500  # features on a page
_MAX_PICTURES = 200  # features with a picture
_BEST_SIZE = (5.4, 3.8)  # inches
_FIT_SIZE = (4.4, 3.2)  # inches
_THUMBNAIL_SIZE = (1.9, 1.2)  # inches
_MAP_SIZE = (FIGURE_WIDTH, 3.8)  # inches


@dataclass(frozen=True, slots=True)
class ReportEntry:
    """One feature of the ranking.

    Parameters
    ----------
    rank : int
        Rank, from 1.
    mathml, picture : str
        Markup of the formula and of the scatter plot; no picture if the target cannot be drawn.
    text : str
        The formula as text.
    value_range : str
        The range of its values.
    unsafe : str
        Why it may be undefined or unbounded on new rows; empty if it is proved safe, or not known.
    most_similar : str
        The feature with the highest rank correlation.
    n_alike : int
        The number of other formulas that it stands for.
    alike : list of str
        Some of them, as text.
    cells : list of TableCell
        Cells of the other columns.
    details : list of pair of str
        Names and values of the columns that are folded, without those that are empty.
    """

    rank: int
    mathml: str
    picture: str
    text: str
    value_range: str
    unsafe: str
    most_similar: str
    n_alike: int
    alike: list[str]
    cells: list[TableCell]
    details: list[tuple[str, str]]


def build_page_content(
    result: ScreenResult, data: str = "DATA", fit: AnyFitResult | None = None
) -> dict[str, Any]:
    """Collect the content of a page.

    Parameters
    ----------
    result : ScreenResult
        The result of `symscreen.screen`. Without its data there are no scatter plots and no redundancy map.
    data : str
        The name of the data file, for the command.
    fit : FitResult, SharedFitResult, GroupedFitResult or None
        A formula that was fitted to the same data, if the page shows one.

    Returns
    -------
    dict
        The variables of the template. All texts are on one line and free of control characters. The names of
        variables that contain markup end in ``markup``.

    Raises
    ------
    OptionError
        If matplotlib is not installed.
    """
    record = result.record
    reasons, entries = list_reasons(record), _build_entries(result)
    columns = summarize_columns(result)
    return {
        "target": escape_control_chars(record["data"]["target"]),
        "verdict_kind": record.get("verdict", {}).get("kind", ""),
        "verdict": escape_control_chars(render_message(result.verdict, COMMAND_LINE)),
        "summary": [render_message(line, COMMAND_LINE) for line in _build_summary(result)],
        "facts": list_profile_facts(result),
        "columns": columns,
        "has_units": any(each.unit for each in columns),
        "has_filled": any(each.filled != "0" for each in columns),
        "target_markup": _draw_target(result),
        "best": _build_best(result, entries),
        "notices": [escape_control_chars(render_message(each, COMMAND_LINE)) for each in result.notices],
        "reasons": reasons,
        "layers": [_build_layer(layer, reasons) for layer in record["layers"]],
        "funnel_markup": draw_inline_svg(
            lambda axes: draw_funnel(axes, record),
            get_funnel_size(record),
            "Funnel: for each layer the shares kept and pruned; the table below has the numbers",
        ),
        "headings": [each for each in _order_headings(result) if not each.is_detail],
        "explained": _list_explained(result, entries),
        "entries": entries,
        "scatters": has_scatters(result),
        "first": record["options"]["screener"][0],
        "scores_shown": min(MAX_SCORES, len(result)),
        "scores_markup": _draw_score_picture(result),
        "map_markup": _draw_redundancy_map(result),
        "map_features": min(MAX_REDUNDANCY_FEATURES, len(result)),
        "agreement": _build_agreement(result),
        "p_values": _build_p_values(result),
        "fit": None if fit is None else _build_fit(fit, result),
        "command": format_command(record, data),
        "study_command": format_study_command(record, data),
        "data": _list_data_facts(record),
        "record": _format_record(record),
    }


def _build_summary(result: ScreenResult) -> list[str]:
    """Return the lines that summarise a result."""
    record = result.record
    data, search = record["data"], record.get("search")
    scored = f"{result.n_scored:,}"
    if search is not None:
        scored += f" of {search['features']:,} ({search['mode']})"
    names = ", ".join(record["options"]["screener"])
    rows, inputs = f"{data['rows']:,} rows", f"{len(data['inputs']):,} inputs"
    target = f"{find_recorded_type(data).prefix}{escape_control_chars(data['target'])} in {rows}"
    kept = f"{len(result):,} distinct ones" if "redundancy" in record else f"{len(result):,}"
    lines = [f"{scored} features of {inputs} scored against {target} by {names}; {kept} are kept."]
    if result.budget_note:
        lines.insert(0, render_message(result.budget_note, COMMAND_LINE))
    if len(result) > MAX_FEATURES:
        lines.append(f"The best {MAX_FEATURES} are shown here; a file of the ranking holds all of them.")
    if result.data is None:
        lines.append(
            "The data were not available: scatter plots and the redundancy map are left out. "
            f"symscreen report RESULT {name_option('data')} DATA draws them."
        )
    elif not has_scatters(result):
        lines.append("The target is not one column of numbers: there are no scatter plots against it.")
    return lines


def _build_layer(layer: dict[str, Any], reasons: list[str]) -> dict[str, Any]:
    """Return the counts of one layer for the funnel table."""
    kind = {"u": "unary", "b": "binary"}.get(layer["kind"], layer["kind"])
    return {
        "name": kind if layer["kind"] == "inputs" else f"{layer['layer']}, {kind}",
        "generated": layer["generated"],
        "pruned": [layer["pruned"].get(reason, 0) for reason in reasons],
        "kept": count_kept(layer),
        "features": layer["features"],
    }


def _order_headings(result: ScreenResult) -> list[ColumnHeading]:
    """Return the headings with the scores first: the complexity matters less."""
    return sorted(build_headings(result), key=lambda heading: heading.name == "complexity")


def _list_explained(result: ScreenResult, entries: Sequence[ReportEntry]) -> list[ColumnHeading]:
    """Return the headings with a meaning that the table or the details of an entry show."""
    detail_names = {name for entry in entries for name, _ in entry.details}
    return [
        each
        for each in build_headings(result)
        if each.meaning and (not each.is_detail or each.text in detail_names)
    ]


def _build_entries(result: ScreenResult) -> list[ReportEntry]:
    """Return the entries of the best features."""
    headings = _order_headings(result)
    correlations, n_shown = None, min(MAX_FEATURES, len(result))
    if result.data is not None and len(result) > 1:
        correlations = compute_rank_correlations(result, MAX_FEATURES)
    texts = list(map(escape_control_chars, result.table["expression"]))
    represented, alike = count_represented(result), _list_alike(result)
    entries = []
    for index in range(n_shown):
        cells = list(zip(headings, build_cells(result, headings, index), strict=True))
        details = [
            (heading.text, cell.text)
            for heading, cell in cells
            if heading.is_detail and heading.name != "unsafe"
        ]
        entries.append(
            ReportEntry(
                rank=index + 1,
                mathml=to_mathml(result.expressions[index]),
                picture=_draw_thumbnail(result, index) if _has_picture(result, index) else "",
                text=texts[index],
                value_range=_format_value_range(result, index),
                unsafe=_get_unsafe_reason(result, index),
                most_similar="" if correlations is None else _describe_most_similar(correlations, index),
                n_alike=represented[index] - 1,
                alike=alike.get(index + 1, []),
                cells=[cell for heading, cell in cells if not heading.is_detail],
                details=[(name, text) for name, text in details if text not in {"", "–", "no"}],
            )
        )
    return entries


def _get_unsafe_reason(result: ScreenResult, index: int) -> str:
    """Return why a formula is unsafe on new rows; empty if it is safe, or not known to be unsafe."""
    row = result.table.iloc[index].to_dict()
    return escape_control_chars(str(row["unsafe"])) if format_safety_mark(row) else ""


def _has_picture(result: ScreenResult, index: int) -> bool:
    return index < _MAX_PICTURES and has_scatters(result)


def _list_alike(result: ScreenResult) -> dict[int, list[str]]:
    """List for each rank the formulas that the record knows to be equivalent, or near-duplicates."""
    alike: dict[int, list[str]] = {}
    for each in result.record.get("classes", {}).get("shown", []):
        members = [member for member in each["members"] if member["relation"] != "shown"]
        alike.setdefault(each["rank"], []).extend(member["expression"] for member in members)
    for each in result.record.get("redundancy", {}).get("shown", []):
        alike.setdefault(each["rank"], []).extend(feature["expression"] for feature in each["features"])
    return {rank: list(map(escape_control_chars, texts)) for rank, texts in alike.items()}


def _build_best(result: ScreenResult, entries: list[ReportEntry]) -> dict[str, Any] | None:
    """Return the first formula with its picture, its numbers and its straight line; None without features."""
    if not entries:
        return None
    headings = [each for each in _order_headings(result) if not each.is_detail]
    numbers = [
        (heading.text, cell.main or cell.text, cell.notes)
        for heading, cell in zip(headings, entries[0].cells, strict=True)
    ]
    markup, line = "", ""
    if has_scatters(result):
        title = "Target against the first formula, with its rank curve and a straight line"
        markup = draw_inline_svg(
            lambda axes: draw_feature(axes, result, 1, has_line=True), _BEST_SIZE, title, is_traced=True
        )
        line = _describe_line(result)
    return {
        "mathml": entries[0].mathml, "text": entries[0].text, "numbers": numbers, "markup": markup,
        "line": line,
    }  # fmt: skip


def _describe_line(result: ScreenResult) -> str:
    """Write the straight line of the target on the first formula; empty if it cannot be computed."""
    if result.data is None:
        return ""
    intercept, slope, r2 = fit_line(evaluate_feature(result, 0), result.data.numeric_target.values)
    if np.isnan(r2):
        return ""
    sign = "+" if slope >= 0 else "−"
    target = escape_control_chars(result.record["data"]["target"])
    equation = f"{target} ≈ {intercept:.4g} {sign} {abs(slope):.4g} × formula".replace("-", "−")
    return f"{equation}, R² = {r2:.3f}"


def _draw_thumbnail(result: ScreenResult, index: int) -> str:
    direction = {"+": "increasing", "-": "decreasing"}.get(
        result.table["direction"].iloc[index], "no direction"
    )
    title = f"Target against the feature of rank {index + 1}, {direction}"
    return draw_inline_svg(
        lambda axes: draw_feature(axes, result, index + 1, is_thumbnail=True),
        _THUMBNAIL_SIZE,
        title,
        is_labeled=False,
    )


def _format_value_range(result: ScreenResult, index: int) -> str:
    if result.data is None:
        return ""
    values = evaluate_feature(result, index)
    return f"{format_typeset_number(values.min(), 4)} to {format_typeset_number(values.max(), 4)}"


def _describe_most_similar(correlations: Any, index: int) -> str:
    others = np.array(correlations[index])
    others[index] = np.nan
    if np.isnan(others).all():
        return ""
    nearest = int(np.nanargmax(others))
    return f"most similar to rank {nearest + 1} (|\u2060ρ\u2060|\u00a0=\u00a0{others[nearest]:.3f})"


def _draw_target(result: ScreenResult) -> str:
    if not has_scatters(result):
        return ""
    return _draw_svg(draw_target, result, (3.9, 2.1), "Histogram of the target; the table has its range")


def _draw_score_picture(result: ScreenResult) -> str:
    if not len(result):
        return ""
    shown = min(MAX_SCORES, len(result))
    return draw_inline_svg(
        lambda axes: draw_scores(axes, result),
        get_scores_size(shown),
        f"Scores of the best {shown} features; the ranking below has the numbers",
    )


def _draw_redundancy_map(result: ScreenResult) -> str:
    if result.data is None or len(result) < 2:
        return ""
    title = "Redundancy map; the ranking names the most similar feature of each feature"
    return draw_inline_svg(lambda axes: draw_redundancy(axes, result), _MAP_SIZE, title)


def _build_agreement(result: ScreenResult) -> dict[str, Any] | None:
    if result.agreement is None or not len(result.agreement):
        return None
    names, _ = build_agreement_matrix(result)
    pairs = result.agreement.to_dict("records")
    size = 1.6 + 0.7 * len(names)
    return {
        "markup": _draw_svg(
            draw_agreement, result, (size + 0.9, size), "Agreement of screeners; see the table"
        ),
        "top": int(result.agreement["top"].max()),
        "pairs": [
            {**pair, **{key: _format_share(pair[key]) for key in ("kendall", "overlap")}} for pair in pairs
        ],
    }


def _format_share(number: float) -> str:
    return "–" if np.isnan(number) else f"{number:.3f}".replace("-", "−")


def _build_p_values(result: ScreenResult) -> dict[str, Any] | None:
    if "p_value" not in result.table and "histogram" not in result.record.get("error_control", {}):
        return None
    counts, is_whole_space = compute_p_value_histogram(result)
    edges = np.linspace(0.0, 1.0, len(counts) + 1)
    bins = [f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges)]
    return {
        "markup": _draw_svg(draw_p_values, result, (5.4, 3.0), "Histogram of p-values; see the table"),
        "is_whole_space": is_whole_space,
        "bins": [(name, int(count)) for name, count in zip(bins, counts, strict=True) if count],
    }


def _draw_svg(
    draw: Callable[[Any, ScreenResult], None], result: ScreenResult, size: tuple[float, float], title: str
) -> str:
    return draw_inline_svg(lambda axes: draw(axes, result), size, title)


def _format_record(record: dict[str, Any]) -> str:
    """Format the record as JSON without the members of classes, which may be much longer than the rest."""
    content = {name: value for name, value in record.items() if name != "classes"}
    return "\n".join(
        map(escape_control_chars, json.dumps(content, ensure_ascii=False, indent=1).splitlines())
    )


def _list_data_facts(record: dict[str, Any]) -> list[tuple[str, str]]:
    data = record["data"]
    return [
        ("symscreen", str(record["symscreen"])),
        ("numpy", str(record["numpy"])),
        ("seed", str(record["options"]["seed"])),
        (
            "rows",
            f"{data['rows']:,}" + (f" ({data['rows_dropped']:,} dropped)" if data["rows_dropped"] else ""),
        ),
        ("inputs", ", ".join(map(escape_control_chars, data["inputs"]))),
        ("digest of the data", str(data["digest"])),
    ]


def write_report(
    result: ScreenResult | AnyFitResult,
    path: str | Path,
    *,
    data: str = "DATA",
    fit: AnyFitResult | None = None,
    force: bool = False,
) -> None:
    """Write a report to a file. The file is written completely or not at all.

    Parameters
    ----------
    result : ScreenResult, FitResult, SharedFitResult or GroupedFitResult
        The result of `symscreen.screen`, or that of `symscreen.fit`.
    path : str or Path
        A file name that ends in ``.html``.
    data : str
        The name of the data file, for the command that repeats the run.
    fit : FitResult, SharedFitResult, GroupedFitResult or None
        A formula that was fitted to the same data, if the page of a screen shows one.
    force : bool
        Whether to overwrite an existing file.

    Raises
    ------
    OutputError, OptionError
        See `check_report`; also if the file cannot be written.
    """
    check_report(path, force=force)
    if not isinstance(result, ScreenResult):
        from symscreen.report.fit_page import write_fit_report

        write_fit_report(result, path, data=data, force=force)
        return
    write_page(build_report_html(result, data=data, fit=fit), path, force=force)


def build_report_html(result: ScreenResult, *, data: str = "DATA", fit: AnyFitResult | None = None) -> str:
    """Render a report as HTML.

    Parameters
    ----------
    result : ScreenResult
        The result of `symscreen.screen`.
    data : str
        The name of the data file, for the command that repeats the run.
    fit : FitResult, SharedFitResult, GroupedFitResult or None
        A formula that was fitted to the same data, if the page shows one.

    Returns
    -------
    str
        The page. Equal results give identical pages. Its content security policy allows only its own script
        (by digest), and it loads no other files.

    Raises
    ------
    OptionError
        If jinja2 or matplotlib is not installed.
    """
    return render_page("page.html.j2", build_page_content(result, data, fit))


def _build_fit(fit: AnyFitResult, result: ScreenResult) -> dict[str, Any]:
    """Return the content of the section of a fit, with a picture for a formula of one target."""
    markup = ""
    if isinstance(fit, FitResult) and fit.data is not None:
        title = escape_control_chars(f"Observed {fit.formula.target} against predicted")
        markup = draw_inline_svg(FitPlots(fit).predictions, _FIT_SIZE, title, is_traced=True)
    return build_fit_section(fit) | {
        "is_good": fit.record["verdict"]["kind"] in LAW_VERDICTS,
        "markup": markup,
        "notices": _list_fit_notices(fit, result),
    }


def _list_fit_notices(fit: AnyFitResult, result: ScreenResult) -> list[str]:
    """List the notices of a fit that those of the screen do not have."""
    return [
        escape_control_chars(render_message(each, COMMAND_LINE))
        for each in fit.notices
        if each not in result.notices
    ]
