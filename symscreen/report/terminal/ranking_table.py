"""A screen's result as tables for the terminal: the ranking, and how far the screeners agree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Group
from rich.text import Text

from symscreen.errors import escape_control_chars
from symscreen.expansion import EXCLUSION_REASONS
from symscreen.report.terminal.listings import add_row, make_table
from symscreen.report.terminal.reading_notes import (
    describe_target,
    explain_trust_columns,
    explain_unsafe_marks,
    format_direction_legend,
    format_intervals,
    format_target_prefix,
    format_unsafe_mark,
    suggest_diagnostics,
)
from symscreen.results.record import format_partial_summary
from symscreen.targets.ranking_notation import quote_label
from symscreen.targets.survival import HARRELL_C

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from rich.console import RenderableType

    from symscreen.results.screen_result import ScreenResult


__all__ = ["show_result"]

_WIDTH = 80
_P_VALUE_COLUMNS = {"q": "q_value", "p all": "p_family"}  # p-values themselves stand in files
_MAX_SCORE_COLUMNS = 2  # more do not fit beside the expression in 80 columns: the others show their ranks


def show_result(result: ScreenResult, max_rows: int | None = None) -> RenderableType:
    """Lay out a ranking with a line on what was scored and lines on how to read it.

    Parameters
    ----------
    result : ScreenResult
        What `symscreen.screen` returned.
    rows : int, optional
        How many entries to show at most.

    Returns
    -------
    rich renderable
        For `print_table`.
    """
    if not len(result):
        return Text(
            "\n".join([f"{_describe_scored(result)}no feature is left.", "", *_describe_exclusions(result)])
        )
    every = result.record["options"]["top"] == "all"
    thing = ("feature", "features") if every else ("class", "classes")
    shown = len(result) if max_rows is None else min(max_rows, len(result))
    ending = (
        "all of them:" if every and shown == result.n_scored else f"the best {_format_count(shown, *thing)}:"
    )
    ending = _describe_discoveries(result, shown) + ending
    table, dropped = _build_ranking_table(result, shown)
    parts: list[RenderableType] = [Text(_describe_scored(result) + ending), Text(""), table, Text("")]
    if result.agreement is not None and len(result.agreement):
        parts += [_build_agreement_table(result.agreement, _get_screener_names(result)), Text("")]
    return Group(*parts, Text("\n".join(_explain_ranking(result, shown, dropped))))


def _get_screener_names(result: ScreenResult) -> list[str]:
    names: list[str] = result.record["options"]["screener"]
    return names


def _describe_scored(result: ScreenResult) -> str:
    data, search = result.record["data"], result.record.get("search")
    several = _format_count(result.n_scored, "feature")
    if search is not None:
        how = f"race at risk {search['risk']:g}" if search["mode"] == "race" else search["mode"]
        several = f"{how}: {result.n_scored:,} of {_format_count(search['features'], 'feature')}"
    part = format_partial_summary(result.record.get("partial"))
    return (
        f"{part}{several} of {_format_count(len(data['inputs']), 'input')} scored against "
        f"{format_target_prefix(data)}"
        f"{escape_control_chars(data['target'])} ({data['rows']:,} rows) by "
        f"{', '.join(_get_screener_names(result))}; "
    )


def _describe_discoveries(result: ScreenResult, n_shown: int) -> str:
    """Say how many features of the space pass the false discovery rate that was asked for."""
    told = result.record.get("error_control", {})
    if told.get("fdr") is None:
        return ""
    rate = f"a false discovery rate of {told['fdr']:g}"
    if not told["passing"]:
        return f"none passes {rate}, the smallest q is {told['least_q']:.2g}; "
    passes = f"{told['passing']:,} {'passes' if told['passing'] == 1 else 'pass'} {rate}"
    good = bool((result.table["q_value"].head(n_shown) <= told["fdr"]).all())
    return f"{passes}; " if good else f"{passes}, none of them among these; "


def _describe_audit(result: ScreenResult) -> list[str]:
    """Say what a sieve may have lost."""
    audit = result.record.get("search", {}).get("audit")
    if audit is None or not audit["sampled"]:
        return []
    found = (
        f"audit: {audit['lost']:,} of {audit['sampled']:,} dropped features drawn at random are as good as "
        f"the last one shown; so are at most {audit['at_most']:,.0f} of all {audit['dropped']:,} dropped, at "
        "95 % confidence."
    )
    return [found]


@dataclass(frozen=True, slots=True)
class _TableColumn:
    """A column of the terminal table."""

    heading: str
    alignment: Literal["left", "right", "fold"]
    cells: list[str]

    @property
    def width(self) -> int:
        """The letters it needs; a formula may be folded."""
        return len(self.heading) if self.alignment == "fold" else max(map(len, (self.heading, *self.cells)))


def _build_ranking_table(result: ScreenResult, n_shown: int) -> tuple[RenderableType, list[str]]:
    """Lay out the ranking; return it with the headings of what there is no room for."""
    names, rounds = _get_screener_names(result), "round" in result.table
    crowded = len(names) > _MAX_SCORE_COLUMNS
    rows = result.table.head(n_shown).to_dict("records")
    columns = [
        _TableColumn("rank", "right", [str(row["rank"]) for row in rows]),
        _TableColumn("expression", "fold", [row["expression"] for row in rows]),
        _TableColumn("compl.", "right", [str(row["complexity"]) for row in rows]),
    ]
    if format_direction_legend(result.record["data"]) is not None:
        columns.append(_TableColumn("dir.", "left", [row["direction"] for row in rows]))
    if rounds:
        columns.append(_TableColumn("round", "right", [str(row["round"]) for row in rows]))
    if "place_alone" in result.table:
        columns.append(_TableColumn("alone", "right", [_format_integer(row["place_alone"]) for row in rows]))
    columns += [
        _TableColumn(name, "right", [_format_cell(row, name, ranks=crowded and place > 0) for row in rows])
        for place, name in enumerate(names)
    ]
    marks = [format_unsafe_mark(row, result.record) for row in rows]
    scores = columns[-len(names)]
    scores.cells[:] = [cell + mark for cell, mark in zip(scores.cells, marks, strict=True)]
    by_target = [name for name in map(str, result.table) if name.startswith(f"{names[0]}[")]
    columns += [
        _TableColumn(name, "right", [_format_cell(row, name, ranks=False) for row in rows])
        for name in by_target
    ]
    if HARRELL_C in result.table:
        columns.append(
            _TableColumn(HARRELL_C, "right", [_format_cell(row, HARRELL_C, ranks=False) for row in rows])
        )
    columns.append(_TableColumn("class", "right", [f"{row['class_size']:,}" for row in rows]))
    columns += [
        _TableColumn(heading, "right", [_format_two_digits(row[name]) for row in rows])
        for heading, name in _P_VALUE_COLUMNS.items()
        if name in result.table
    ]
    intervals = format_intervals(rows, result.record)
    if intervals is not None:
        columns.append(_TableColumn(intervals[0], "right", intervals[1]))
    if "stands_for" in result.table:
        columns.append(_TableColumn("for", "right", [f"{row['stands_for']:,}" for row in rows]))
    if "stability" in result.table:
        columns.append(_TableColumn("stab.", "right", [f"{row['stability']:.2f}" for row in rows]))
    if "unit" in result.table:
        columns.append(_TableColumn("unit", "left", [row["unit"] for row in rows]))
    gap = 1 if crowded or rounds else 2
    spared = [*([] if intervals is None else [intervals[0]]), "unit", "compl.", "dir."]
    spare = _select_columns_to_drop(
        columns, gap, [*spared, *reversed(names[1:]), *_P_VALUE_COLUMNS, *reversed(by_target)]
    )
    dropped = [column.heading for column in columns if column.heading in spare]
    columns = [column for column in columns if column.heading not in spare]
    table = make_table(*((column.heading, column.alignment) for column in columns), gap=gap)
    for cells in zip(*(column.cells for column in columns), strict=True):
        add_row(table, cells)
    return table, dropped


def _select_columns_to_drop(columns: list[_TableColumn], gap: int, droppable: list[str]) -> list[str]:
    """Choose which of the spare columns to leave out, the first sooner, so that a line holds the others."""
    room = _WIDTH - sum(column.width + gap for column in columns) + gap
    width = {column.heading: column.width + gap for column in columns}
    dropped: list[str] = []
    for heading in (each for each in droppable if each in width):
        if room >= 0:
            break
        dropped.append(heading)
        room += width[heading]
    return dropped


def _format_cell(row: Mapping[Any, Any], name: str, *, ranks: bool) -> str:
    """Write a score or a rank, with a star where a joint screener selects the feature."""
    selected = row.get(f"{name}_selected")
    star = "*" if selected is True else ""
    if ranks:
        return f"{_format_integer(row[f'{name}_rank'])}{star}"
    return "-" if _is_missing(row[name]) else f"{row[name]:.5g}{star}"


def _format_two_digits(number: float) -> str:
    return "-" if _is_missing(number) else f"{number:.2g}"


def _format_integer(number: Any) -> str:
    return "-" if _is_missing(number) else f"{int(number):,}"


def _is_missing(number: Any) -> bool:
    import pandas as pd

    return bool(pd.isna(number))


def _build_agreement_table(pairs: pd.DataFrame, names: list[str]) -> RenderableType:
    cells = {(name, name): "" for name in names}
    for pair in pairs.to_dict("records"):
        cells[pair["first"], pair["second"]] = _format_share(pair["kendall"])
        cells[pair["second"], pair["first"]] = _format_share(pair["overlap"])
    columns = [_TableColumn(name, "right", [cells[other, name] for other in names]) for name in names]
    first, gap = _TableColumn("agreement", "left", names), 2
    if sum(column.width + gap for column in columns) + first.width > _WIDTH:
        # numbers head the columns where the names are too many
        first, gap = replace(first, cells=[f"{place} {name}" for place, name in enumerate(names, 1)]), 1
        columns = [replace(column, heading=str(place)) for place, column in enumerate(columns, 1)]
    table = make_table(*((column.heading, column.alignment) for column in (first, *columns)), gap=gap)
    for row in zip(first.cells, *(column.cells for column in columns), strict=True):
        add_row(table, row)
    return table


def _format_share(number: float) -> str:
    return "-" if _is_missing(number) else f"{number:.2f}"


def _explain_ranking(result: ScreenResult, n_shown: int, dropped: list[str]) -> list[str]:
    names, options = _get_screener_names(result), result.record["options"]
    ranked, staged = (result.record["data"].get(kind) for kind in ("ranking", "stages"))
    further = describe_target(result.record["data"], options, result.scale)
    legend = {
        "compl.": "compl.: complexity.",
        "dir.": "",
        "class": "class: how many features the first screener cannot tell from this one on these data.",
    }
    legend |= {"dir.": format_direction_legend(result.record["data"]) or ""}
    lines = [" ".join(line for heading, line in legend.items() if line and heading not in dropped)]
    if dropped:
        lines.append(f"no room for {', '.join(dropped)}: a file (--out) holds every column.")
    others = [name for name in names[1:] if name not in dropped]
    if len(names) > _MAX_SCORE_COLUMNS and others:
        lines.append(f"{names[0]}: the score. {', '.join(others)}: the rank{_describe_compared(result)}.")
    if any(f"{name}_selected" in result.table for name in names if name not in dropped):
        lines.append("*: selected. -: not shown to that screener.")
    lines += explain_unsafe_marks(result.table.head(n_shown).to_dict("records"), result.record)
    if result.agreement is not None and len(result.agreement):
        lines.append(
            f"agreement{_describe_compared(result)}: above the diagonal Kendall's tau of two rankings, "
            "below it the "
            f"overlap of their best {result.agreement['top'].max():,} (in both over in either; what ties "
            "across that place is in neither)."
        )
    if "round" in result.table:
        lines.append(
            "round: which round found it; later ones score against what the best model of those before "
            "leaves."
        )
    if "place_alone" in result.table:
        lines[-1] += " alone: its place in the first round, among all features."
    lines += (
        _explain_error_control(result, dropped)
        + explain_trust_columns(result.record)
        + _describe_audit(result)
    )
    if ranked is not None:
        lines += _describe_rankings(ranked, result.scale if "t0" in names else None)
    elif staged is not None:
        lines += _describe_stages(staged, result.scale)
    elif further:
        lines += further
    elif "t0" in names:
        delta = result.scale
        free = "; either end is good" if options["sign"] == "free" else ""
        scale = f"0 has the order of the response, {2 * delta:.5g} the reverse, {delta:.5g} none"
        lines.append(f"t0: {scale}{free}.")
    lines += [
        f"{name} was shown {_format_count(told['shown'], 'feature')}, {_describe_shortlist(result, told)}."
        for name, told in result.record.get("joint", {}).items()
    ]
    return lines + _describe_exclusions(result) + suggest_diagnostics(result.record)


def _explain_error_control(result: ScreenResult, dropped: list[str]) -> list[str]:
    """Say how to read what tells how far to trust a feature."""
    told = result.record.get("error_control", {})
    lines = []
    if "q_value" in result.table and "q" not in dropped:
        name = {"bh": "Benjamini-Hochberg", "by": "Benjamini-Yekutieli"}[told["method"]]
        lines.append(
            f"q: the false discovery rate at which it is found among all {told['tests']:,} ({name})."
        )
    if "p_family" in result.table and "p all" not in dropped:
        lines.append(
            f"p all: how often noise does as well anywhere in the {_describe_scope(result)}, by "
            f"{_format_count(told['permutations'], 'permutation')} of the "
            f"response{_describe_permutation_groups(result)}."
        )
    intervals = format_intervals([], result.record)
    if intervals is not None and intervals[0] not in dropped:
        lines.append(intervals[2])
    return lines


def _describe_scope(result: ScreenResult) -> str:
    return "part of the space that was looked at" if "partial" in result.record else "space"


def _describe_permutation_groups(result: ScreenResult) -> str:
    """Say what permutations of the response leave together."""
    told = result.record["error_control"]
    if "groups" not in told:
        return ""
    groups = _format_count(told["groups"]["units"], "group")
    return f", the rows of each of {groups} by {escape_control_chars(result.record['options']['groups'])} together"


def _describe_rankings(metadata: Mapping[str, Any], delta: float | None) -> list[str]:
    """Tell of a response that is a ranking."""
    labels, few = [escape_control_chars(quote_label(label)) for label in metadata["labels"]], 8
    shown = ", ".join(labels[:few]) + (f" and {len(labels) - few} more" if len(labels) > few else "")
    rows = ", ".join(f"{metadata[kind]:,} {kind}" for kind in ("complete", "incomplete", "tied"))
    fewest, most = metadata["rows_a_pair"]
    span = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    count, pairs = _format_count(len(labels), "label"), _format_count(metadata["pairs"], "pair")
    rankings = f"rankings of {count} ({shown}); {pairs} compared, each in {span} rows; rows: {rows}."
    if delta is None:
        return [rankings]
    scale = f"0 orders the rows as every pair of labels does, {delta:.5g} as none"
    return [rankings, f"t0: the mean over pairs, whichever of two labels comes first; {scale}."]


def _describe_stages(metadata: Mapping[str, Any], delta: float) -> list[str]:
    """Tell of a response that is a chain of stages; T0 alone takes one."""
    pairs, few = metadata["pairs"], 6
    shown = "; ".join(
        f"{escape_control_chars(pair['present'])} to {escape_control_chars(pair['later'])} "
        f"{pair['reached']:,} of {pair['rows']:,}"
        for pair in pairs[:few]
    )
    more = f"; and {len(pairs) - few} more" if len(pairs) > few else ""
    scale = f"0 tells in every pair who goes on, {delta:.5g} in none"
    return [
        f"{_format_count(len(pairs), 'pair')} of stages, and how many rows at the first go on: "
        f"{shown}{more}.",
        f"t0: the mean over pairs of stages, weighed by their rows, each in its better direction; {scale}.",
    ]


def _describe_shortlist(result: ScreenResult, metadata: dict[str, Any]) -> str:
    if not metadata["shown"]:
        return "for none is left"
    merged = f"{metadata['merged']} merged"
    if result.record["options"]["prescreen"] > metadata["shown"]:
        return merged
    return f"the best by {' and '.join(metadata['chosen_by'])}, {merged}"


def _describe_compared(result: ScreenResult) -> str:
    if result.agreement is None or not len(result.agreement):
        return ""
    return f" among the {_format_count(int(result.agreement['features'].max()), 'feature')} compared"


def _describe_exclusions(result: ScreenResult) -> list[str]:
    pruned: dict[str, int] = {}
    for layer in result.record["layers"]:
        for reason, count in layer["pruned"].items():
            pruned[reason] = pruned.get(reason, 0) + count
    order = [reason for reason in EXCLUSION_REASONS.values() if reason in pruned]
    reasons = ", ".join(f"{pruned[reason]:,} {reason}" for reason in order)
    return [f"left out: {reasons}."] if pruned else []


def _format_count(number: int, singular: str, plural: str = "") -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
