"""Terminal tables of a screen: the ranking, and the agreement of the screeners."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Group
from rich.text import Text

from symscreen.expansion import EXCLUSION_REASONS
from symscreen.messages import escape_control_chars
from symscreen.report.columns import (
    ALIKE,
    COLUMNS,
    SCORES,
    ScoreColumn,
    count_represented,
    format_gini,
    format_gini_estimate,
    format_integer,
    format_number,
    format_score,
    format_score_heading,
    get_screener_names,
    is_missing,
    list_target_scores,
)
from symscreen.report.terminal.formula_lines import FormulaCell, measure_longest_name
from symscreen.report.terminal.legend import build_legend
from symscreen.report.terminal.listings import add_row, make_notes, make_table
from symscreen.report.terminal.reading_notes import (
    explain_rounding_marks,
    explain_safety,
    explain_trust_columns,
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
_MIN_FORMULA_WIDTH = 24  # characters of a formula in a line, if it has as many, ...
_MAX_NAME_WIDTH = 40  # ... or of its longest name, up to this one


def build_ranking_tables(result: ScreenResult, max_rows: int | None = None) -> RenderableType:
    """Build the verdict on a ranking, its table, and notes on how to read it.

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
    verdict = [each.template for each in (result.budget_note, result.verdict) if each]
    if verdict:
        verdict.append("")
    if not len(result):
        lines = [
            *verdict,
            f"{_describe_scored(result)}no feature is left.",
            "",
            *_describe_exclusions(result),
        ]
        return make_notes(lines)
    n_shown = len(result) if max_rows is None else min(max_rows, len(result))
    if n_shown == result.n_scored and result.record["options"]["top"] == "all":
        selection = "all of them:"
    else:
        adjective = "distinct " if "redundancy" in result.record else ""
        selection = f"the best {_format_count(n_shown, f'{adjective}feature')}:"
    head = f"{_describe_scored(result)}{selection}"
    parts: list[RenderableType] = [make_notes([*verdict, head]), Text("")]
    columns = _build_columns(result, n_shown)
    gap = 1 if len(get_screener_names(result)) > _MAX_SCORE_COLUMNS or "round" in result.table else 2
    for block in _split_into_blocks(columns, gap):
        parts += [_build_table(block, gap), Text("")]
    if result.agreement is not None and len(result.agreement):
        parts += [_build_agreement_table(result.agreement, get_screener_names(result)), Text("")]
    legend = build_legend(result, [column.heading for column in columns], n_shown)
    return Group(*parts, *([make_notes(legend)] if legend else []), make_notes(_list_notes(result, n_shown)))


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


def _build_columns(result: ScreenResult, n_shown: int) -> list[_TableColumn]:
    """Build the columns of the ranking in their order."""
    rows = result.table.head(n_shown).to_dict("records")
    data = result.record["data"]
    target_type = find_recorded_type(data)
    has_directions = target_type.explain_directions(data) is not None
    shows_direction = has_directions and not ("gini" in result.table and target_type.has_signed_gini)
    columns: list[_TableColumn] = []
    for name, column in COLUMNS.items():
        if name == SCORES:
            columns += _build_score_columns(result, rows)
        elif name == ALIKE:
            cells = [format_integer(count) for count in count_represented(result)[:n_shown]]
            columns.append(_TableColumn(column.short, column.alignment, cells))
        elif column.short and name in result.table and (name != "direction" or shows_direction):
            cells = [column.write(row[name]) for row in rows]
            columns.append(_TableColumn(column.short, column.alignment, cells))
    return columns


def _build_score_columns(result: ScreenResult, rows: Sequence[Mapping[Any, Any]]) -> list[_TableColumn]:
    """Build the columns of the screeners, then those of each target; the first has marks."""
    names = get_screener_names(result)
    is_crowded = len(names) > _MAX_SCORE_COLUMNS
    scores = [*map(ScoreColumn, names), *list_target_scores(result, names[0])]
    columns = [
        _TableColumn(
            format_score_heading(score, result),
            "right",
            [_format_cell(row, score, result, ranks=is_crowded and 0 < index < len(names)) for row in rows],
        )
        for index, score in enumerate(scores)
    ]
    columns[0].cells[:] = [
        cell + format_rounding_mark(row, result.record) + format_safety_mark(row)
        for cell, row in zip(columns[0].cells, rows, strict=True)
    ]
    return columns


def _split_into_blocks(columns: list[_TableColumn], gap: int) -> list[list[_TableColumn]]:
    """Split columns into tables that fit: rank and formula with the first columns, then rank and others."""
    formulas = next(column for column in columns if column.alignment == "fold")
    longest = max(map(len, formulas.cells), default=0)
    longest_name = max(map(measure_longest_name, formulas.cells), default=0)
    wanted_width = min(max(_MIN_FORMULA_WIDTH, longest_name), _MAX_NAME_WIDTH)
    min_width = max(len(formulas.heading), min(longest, wanted_width))
    rank, blocks = columns[0], [[columns[0]]]
    free_width = _WIDTH - rank.width
    for column in columns[1:]:
        width = gap + (min_width if column is formulas else column.width)
        if width > free_width and len(blocks[-1]) > 1:
            blocks.append([rank])
            free_width = _WIDTH - rank.width
        blocks[-1].append(column)
        free_width -= width
    return blocks


def _build_table(columns: list[_TableColumn], gap: int) -> RenderableType:
    """Build a table of columns."""
    table = make_table(*((column.heading, column.alignment) for column in columns), gap=gap)
    cells = [
        [FormulaCell(escape_control_chars(cell)) for cell in column.cells]
        if column.alignment == "fold"
        else [Text(escape_control_chars(cell)) for cell in column.cells]
        for column in columns
    ]
    for row in zip(*cells, strict=True):
        table.add_row(*row)
    return table


def _format_cell(row: Mapping[Any, Any], score: ScoreColumn, result: ScreenResult, *, ranks: bool) -> str:
    """Format a score or a rank, with a star if a joint screener selects the feature."""
    name = score.name
    star = "*" if row.get(f"{name}_selected") is True else ""
    if ranks:
        return f"{format_integer(row[f'{name}_rank'])}{star}"
    if score.is_gini and score.target is None:
        return format_gini_estimate(row, result).line
    if score.is_gini:
        return format_gini(1.0 - row[name])
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


def _list_notes(result: ScreenResult, n_shown: int) -> list[str]:
    """Return the facts about this run that stand below the legend."""
    names, record = get_screener_names(result), result.record
    lines = []
    if len(names) > _MAX_SCORE_COLUMNS:
        others = ", ".join(format_score_heading(ScoreColumn(name), result) for name in names[1:])
        lines.append(f"{others}: the rank{_describe_compared(result)}.")
    rows = result.table.head(n_shown).to_dict("records")
    lines += explain_rounding_marks(rows, record) + explain_safety(rows, record)
    if result.agreement is not None and len(result.agreement):
        lines.append(
            f"agreement{_describe_compared(result)}: above the diagonal Kendall's tau of two rankings, below "
            f"it the overlap of their best {result.agreement['top'].max():,} (intersection over union; "
            "features that tie across the limit are in neither)."
        )
    lines += _explain_error_control(result)
    lines += explain_trust_columns(record) + _describe_audit(result)
    lines += find_recorded_type(record["data"]).describe_target(record["data"], record["options"])
    lines += [
        f"{name} was shown {_format_count(joint['shown'], 'feature')}, {_describe_shortlist(result, joint)}."
        for name, joint in record.get("joint", {}).items()
    ]
    return lines + _describe_exclusions(result) + suggest_diagnostics(record)


def _explain_error_control(result: ScreenResult) -> list[str]:
    """Describe how q-values by another method and max-T p-values were computed."""
    error_control = result.record.get("error_control", {})
    lines = []
    if "q_value" in result.table and error_control["method"] == "by":
        lines.append(f"q-values: Benjamini-Yekutieli over all {error_control['tests']:,} features.")
    if "q_value" in result.table and error_control["source"] == "permutations":
        lines.append(
            "q-values: the number of features that do as well under a permutation of the target, as a share "
            "of those that do in the data."
        )
    if "p_is_bound" in result.table:
        n_bounds = int(result.table["p_is_bound"].sum())
        subject = (
            "that of 1 formula is an upper bound, because its"
            if n_bounds == 1
            else (f"those of {n_bounds:,} formulas are upper bounds, because their")
        )
        lines.append(f"q-values: {subject} values repeat.")
    if "p_family" in result.table:
        kind = "circular shift" if "runs" in error_control else "permutation"
        lines.append(
            f"p all: how often noise is as good anywhere in the {_describe_scope(result)}, by "
            f"{_format_count(error_control['permutations'], kind)} of the "
            f"target{_describe_permutation_groups(result)}."
        )
    return lines


def _describe_scope(result: ScreenResult) -> str:
    return "part of the space that was scored" if "partial" in result.record else "space"


def _describe_permutation_groups(result: ScreenResult) -> str:
    """Describe the groups or runs that permutations of the target keep together, if there are any."""
    error_control = result.record["error_control"]
    if "runs" in error_control:
        return f", which keep the order of time within {_format_count(error_control['runs'], 'run')}"
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
    """Describe how many candidates were not scored, by reason."""
    counts: dict[str, int] = {}
    for layer in result.record["layers"]:
        for reason, count in layer["pruned"].items():
            counts[reason] = counts.get(reason, 0) + count
    reasons = [reason for reason in EXCLUSION_REASONS.values() if reason in counts]
    text = ", ".join(f"{reason} ({counts[reason]:,})" for reason in reasons)
    return [f"built but not scored: {text}."] if counts else []


def _format_count(number: int, singular: str, plural: str = "") -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
