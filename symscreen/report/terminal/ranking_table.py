"""Terminal tables of a screen: the ranking, and the agreement of the screeners."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Group
from rich.text import Text

from symscreen.expansion import EXCLUSION_REASONS
from symscreen.messages import escape_control_chars, name_option
from symscreen.report.columns import (
    COLUMNS,
    GAMMA,
    SCORES,
    format_integer,
    format_number,
    format_score,
    get_screener_names,
    is_missing,
)
from symscreen.report.terminal.listings import add_row, make_notes, make_table
from symscreen.report.terminal.reading_notes import (
    explain_rounding_marks,
    explain_safety,
    explain_trust_columns,
    format_intervals,
    format_rounding_mark,
    format_safety_mark,
    suggest_diagnostics,
)
from symscreen.results.record import format_partial_summary
from symscreen.targets.registry import find_recorded_type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from rich.console import RenderableType

    from symscreen.results.screen_result import ScreenResult


_WIDTH = 80  # characters
_MAX_SCORE_COLUMNS = 2  # with more screeners, all but the first show ranks instead of scores


def show_result(result: ScreenResult, max_rows: int | None = None) -> RenderableType:
    """Build the table of a ranking, with a line on what was scored and notes on how to read it.

    Parameters
    ----------
    result : ScreenResult
        The result of `symscreen.screen`.
    max_rows : int, optional
        Maximum number of entries to show.

    Returns
    -------
    rich renderable
        Input for `print_table`.
    """
    if not len(result):
        lines = [f"{_describe_scored(result)}no feature is left.", "", *_describe_exclusions(result)]
        return Text("\n".join(lines))
    is_full = result.record["options"]["top"] == "all"
    unit = ("feature", "features") if is_full else ("class", "classes")
    n_shown = len(result) if max_rows is None else min(max_rows, len(result))
    selection = (
        "all of them:"
        if is_full and n_shown == result.n_scored
        else f"the best {_format_count(n_shown, *unit)}:"
    )
    head = f"{_describe_scored(result)}{_describe_discoveries(result, n_shown)}{selection}"
    table, dropped = _build_ranking_table(result, n_shown)
    parts: list[RenderableType] = [Text(head), Text(""), table, Text("")]
    if result.agreement is not None and len(result.agreement):
        parts += [_build_agreement_table(result.agreement, get_screener_names(result)), Text("")]
    return Group(*parts, make_notes(_explain_ranking(result, n_shown, dropped)))


def _describe_scored(result: ScreenResult) -> str:
    """Describe the features scored, the target and the screeners."""
    data, search = result.record["data"], result.record.get("search")
    features = _format_count(result.n_scored, "feature")
    if search is not None:
        mode = f"race at risk {search['risk']:g}" if search["mode"] == "race" else search["mode"]
        features = f"{mode}: {result.n_scored:,} of {_format_count(search['features'], 'feature')}"
    partial = format_partial_summary(result.record.get("partial"))
    return (
        f"{partial}{features} of {_format_count(len(data['inputs']), 'input')} scored against "
        f"{find_recorded_type(data).prefix}"
        f"{escape_control_chars(data['target'])} ({data['rows']:,} rows) by "
        f"{', '.join(get_screener_names(result))}; "
    )


def _describe_discoveries(result: ScreenResult, n_shown: int) -> str:
    """Describe how many features of the space pass the requested false discovery rate."""
    error_control = result.record.get("error_control", {})
    if error_control.get("fdr") is None:
        return ""
    rate = f"a false discovery rate of {error_control['fdr']:g}"
    if not error_control["passing"]:
        return f"none passes {rate}, the smallest q is {error_control['least_q']:.2g}; "
    passes = f"{error_control['passing']:,} {'passes' if error_control['passing'] == 1 else 'pass'} {rate}"
    all_pass = bool((result.table["q_value"].head(n_shown) <= error_control["fdr"]).all())
    return f"{passes}; " if all_pass else f"{passes}, none of them among these; "


def _describe_audit(result: ScreenResult) -> list[str]:
    """Describe how many good features a halving search may have lost."""
    audit = result.record.get("search", {}).get("audit")
    if audit is None or not audit["sampled"]:
        return []
    text = (
        f"audit: {audit['lost']:,} of {audit['sampled']:,} dropped features drawn at random are as good as "
        f"the last one shown; at most {audit['at_most']:,.0f} of all {audit['dropped']:,} dropped ones are, "
        "at 95 % confidence."
    )
    return [text]


@dataclass(frozen=True, slots=True)
class _TableColumn:
    """A column of the terminal table."""

    heading: str
    alignment: Literal["left", "right", "fold"]
    cells: list[str]

    @property
    def width(self) -> int:
        """Minimum width in characters; a formula can be folded."""
        return len(self.heading) if self.alignment == "fold" else max(map(len, (self.heading, *self.cells)))


def _build_ranking_table(result: ScreenResult, n_shown: int) -> tuple[RenderableType, list[str]]:
    """Build the ranking table; return it with the headings of the columns that do not fit."""
    names, rows = get_screener_names(result), result.table.head(n_shown).to_dict("records")
    intervals = format_intervals(rows, result.record)
    data = result.record["data"]
    has_directions = find_recorded_type(data).explain_directions(data) is not None
    columns: list[_TableColumn] = []
    for name, column in COLUMNS.items():
        if name == SCORES:
            columns += _build_score_columns(result, rows)
        elif name == GAMMA and intervals is not None:
            columns.append(_TableColumn(intervals[0], "right", intervals[1]))
        elif column.short and name in result.table and (name != "direction" or has_directions):
            cells = [column.write(row[name]) for row in rows]
            columns.append(_TableColumn(column.short, column.alignment, cells))
    gap = 1 if len(names) > _MAX_SCORE_COLUMNS or "round" in result.table else 2
    by_target = [column.heading for column in columns if column.heading.startswith(f"{names[0]}[")]
    droppable = [
        *([] if intervals is None else [intervals[0]]),
        "unit",
        "compl.",
        "dir.",
        *reversed(names[1:]),
    ]
    droppable += [COLUMNS[name].short for name in ("q_value", "p_family")]
    dropped = _select_columns_to_drop(columns, gap, [*droppable, *reversed(by_target)])
    shown = [column for column in columns if column.heading not in dropped]
    table = make_table(*((column.heading, column.alignment) for column in shown), gap=gap)
    for line in zip(*(column.cells for column in shown), strict=True):
        add_row(table, line)
    return table, [column.heading for column in columns if column.heading in dropped]


def _build_score_columns(result: ScreenResult, rows: Sequence[Mapping[Any, Any]]) -> list[_TableColumn]:
    """Build the columns of the screeners, then those of each target; the first has marks."""
    names = get_screener_names(result)
    is_crowded = len(names) > _MAX_SCORE_COLUMNS
    by_target = [name for name in map(str, result.table) if name.startswith(f"{names[0]}[")]
    columns = [
        _TableColumn(
            name,
            "right",
            [_format_cell(row, name, ranks=is_crowded and 0 < index < len(names)) for row in rows],
        )
        for index, name in enumerate((*names, *by_target))
    ]
    columns[0].cells[:] = [
        cell + format_rounding_mark(row, result.record) + format_safety_mark(row)
        for cell, row in zip(columns[0].cells, rows, strict=True)
    ]
    return columns


def _select_columns_to_drop(columns: list[_TableColumn], gap: int, droppable: list[str]) -> list[str]:
    """Select columns to drop, in the order of `droppable`, until a line holds the others."""
    free_width = _WIDTH - sum(column.width + gap for column in columns) + gap
    widths = {column.heading: column.width + gap for column in columns}
    dropped: list[str] = []
    for heading in filter(widths.__contains__, droppable):
        if free_width >= 0:
            break
        dropped.append(heading)
        free_width += widths[heading]
    return dropped


def _format_cell(row: Mapping[Any, Any], name: str, *, ranks: bool) -> str:
    """Format a score or a rank, with a star if a joint screener selects the feature."""
    star = "*" if row.get(f"{name}_selected") is True else ""
    if ranks:
        return f"{format_integer(row[f'{name}_rank'])}{star}"
    return "-" if is_missing(row[name]) else f"{format_score(row[name])}{star}"


def _build_agreement_table(pairs: pd.DataFrame, names: list[str]) -> RenderableType:
    """Build a square table: Kendall's tau above the diagonal, overlap below it."""
    cells = {(name, name): "" for name in names}
    for pair in pairs.to_dict("records"):
        cells[pair["first"], pair["second"]] = format_number(pair["kendall"], ".2f")
        cells[pair["second"], pair["first"]] = format_number(pair["overlap"], ".2f")
    columns = [_TableColumn(name, "right", [cells[other, name] for other in names]) for name in names]
    first, gap = _TableColumn("agreement", "left", names), 2
    if sum(column.width + gap for column in columns) + first.width > _WIDTH:
        # Too many names for the width: number the columns instead.
        first, gap = replace(first, cells=[f"{number} {name}" for number, name in enumerate(names, 1)]), 1
        columns = [replace(column, heading=str(number)) for number, column in enumerate(columns, 1)]
    table = make_table(*((column.heading, column.alignment) for column in (first, *columns)), gap=gap)
    for row in zip(first.cells, *(column.cells for column in columns), strict=True):
        add_row(table, row)
    return table


def _explain_ranking(result: ScreenResult, n_shown: int, dropped: list[str]) -> list[str]:
    """Return the notes below the ranking."""
    names, options = get_screener_names(result), result.record["options"]
    data = result.record["data"]
    legend = {
        "compl.": "compl.: complexity.",
        "dir.": find_recorded_type(data).explain_directions(data) or "",
        "class": "class: how many features are equivalent to it on these data: the same or mirrored ranks, "
        "for linear screeners affine copies.",
    }
    lines = [" ".join(line for heading, line in legend.items() if line and heading not in dropped)]
    if dropped:
        lines.append(
            f"columns that do not fit: {', '.join(dropped)}; a file ({name_option('out')}) has every column."
        )
    others = [name for name in names[1:] if name not in dropped]
    if len(names) > _MAX_SCORE_COLUMNS and others:
        lines.append(f"{names[0]}: the score. {', '.join(others)}: the rank{_describe_compared(result)}.")
    if any(f"{name}_selected" in result.table for name in names if name not in dropped):
        lines.append("*: selected. -: not shown to that screener.")
    rows = result.table.head(n_shown).to_dict("records")
    lines += explain_rounding_marks(rows, result.record) + explain_safety(rows, result.record)
    if result.agreement is not None and len(result.agreement):
        lines.append(
            f"agreement{_describe_compared(result)}: above the diagonal Kendall's tau of two rankings, below "
            f"it the overlap of their best {result.agreement['top'].max():,} (intersection over union; "
            "features that tie across the limit are in neither)."
        )
    if "round" in result.table:
        lines.append(
            "round: the round that found it; later rounds score against residuals of the best model so far."
        )
    if "place_alone" in result.table:
        lines[-1] += " alone: its place in the first round, among all features."
    lines += _explain_error_control(result, dropped)
    lines += explain_trust_columns(result.record) + _describe_audit(result)
    lines += find_recorded_type(data).explain_scores(data, options, result.scale)
    lines += [
        f"{name} was shown {_format_count(joint['shown'], 'feature')}, {_describe_shortlist(result, joint)}."
        for name, joint in result.record.get("joint", {}).items()
    ]
    return lines + _describe_exclusions(result) + suggest_diagnostics(result.record)


def _explain_error_control(result: ScreenResult, dropped: list[str]) -> list[str]:
    """Explain the columns of q-values, max-T p-values and intervals."""
    error_control = result.record.get("error_control", {})
    lines = []
    if "q_value" in result.table and "q" not in dropped:
        name = {"bh": "Benjamini-Hochberg", "by": "Benjamini-Yekutieli"}[error_control["method"]]
        lines.append(
            f"q: the false discovery rate at which it passes among all {error_control['tests']:,} ({name})."
        )
    if "p_family" in result.table and "p all" not in dropped:
        lines.append(
            f"p all: how often noise is as good anywhere in the {_describe_scope(result)}, by "
            f"{_format_count(error_control['permutations'], 'permutation')} of the "
            f"target{_describe_permutation_groups(result)}."
        )
    intervals = format_intervals([], result.record)
    if intervals is not None and intervals[0] not in dropped:
        lines.append(intervals[2])
    return lines


def _describe_scope(result: ScreenResult) -> str:
    return "part of the space that was scored" if "partial" in result.record else "space"


def _describe_permutation_groups(result: ScreenResult) -> str:
    """Describe the groups that permutations of the target keep together, if there are any."""
    error_control = result.record["error_control"]
    if "groups" not in error_control:
        return ""
    groups = _format_count(error_control["groups"]["units"], "group")
    column = escape_control_chars(result.record["options"]["groups"])
    return f", the rows of each of {groups} by {column} together"


def _describe_shortlist(result: ScreenResult, metadata: dict[str, Any]) -> str:
    """Describe how the features shown to a joint screener were chosen."""
    if not metadata["shown"]:
        return "because none is left"
    merged = f"{metadata['merged']} merged"
    if result.record["options"]["prescreen"] > metadata["shown"]:
        return merged
    return f"the best by {' and '.join(metadata['chosen_by'])}, {merged}"


def _describe_compared(result: ScreenResult) -> str:
    """Describe the number of features among which screeners are compared, if there are several screeners."""
    if result.agreement is None or not len(result.agreement):
        return ""
    return f" among the {_format_count(int(result.agreement['features'].max()), 'feature')} compared"


def _describe_exclusions(result: ScreenResult) -> list[str]:
    """Describe how many candidates were left out, by reason."""
    counts: dict[str, int] = {}
    for layer in result.record["layers"]:
        for reason, count in layer["pruned"].items():
            counts[reason] = counts.get(reason, 0) + count
    reasons = [reason for reason in EXCLUSION_REASONS.values() if reason in counts]
    text = ", ".join(f"{counts[reason]:,} {reason}" for reason in reasons)
    return [f"left out: {text}."] if counts else []


def _format_count(number: int, singular: str, plural: str = "") -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
