"""A screen's result as tables for the terminal: the ranking, and how far the screeners agree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Group
from rich.text import Text

from symscreen.errors import printable
from symscreen.expansion import REASONS
from symscreen.label_ranking import quote_label
from symscreen.report.response import against, direction_legend, read_response
from symscreen.report.terminal import add_row, table_of
from symscreen.report.trust import intervals_shown, offers, read_trust
from symscreen.report.unsafe import read_unsafe, unsafe_mark
from symscreen.result import HARRELL_C, partial_in_brief

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from rich.console import RenderableType

    from symscreen.result import ScreenResult

__all__ = ["show_result"]

_WIDTH = 80
_FIGURES = {"q": "q_value", "p all": "p_family"}  # p-values themselves stand in files
_MOST_SCORES = 2  # more do not fit beside the expression in 80 columns: the others show their ranks


def show_result(result: ScreenResult, rows: int | None = None) -> RenderableType:
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
        return Text("\n".join([f"{_scored(result)}no feature is left.", "", *_left_out(result)]))
    every = result.record["options"]["top"] == "all"
    thing = ("feature", "features") if every else ("class", "classes")
    shown = len(result) if rows is None else min(rows, len(result))
    ending = "all of them:" if every and shown == result.scored else f"the best {_count(shown, *thing)}:"
    ending = _passing(result, shown) + ending
    table, dropped = _ranking(result, shown)
    parts: list[RenderableType] = [Text(_scored(result) + ending), Text(""), table, Text("")]
    if result.agreement is not None and len(result.agreement):
        parts += [_agreement(result.agreement, _names(result)), Text("")]
    return Group(*parts, Text("\n".join(_reading(result, shown, dropped))))


def _names(result: ScreenResult) -> list[str]:
    names: list[str] = result.record["options"]["screener"]
    return names


def _scored(result: ScreenResult) -> str:
    data, search = result.record["data"], result.record.get("search")
    several = _count(result.scored, "feature")
    if search is not None:
        how = f"race at risk {search['risk']:g}" if search["mode"] == "race" else search["mode"]
        several = f"{how}: {result.scored:,} of {_count(search['features'], 'feature')}"
    part = partial_in_brief(result.record.get("partial"))
    return (
        f"{part}{several} of {_count(len(data['inputs']), 'input')} scored against {against(data)}"
        f"{printable(data['target'])} ({data['rows']:,} rows) by {', '.join(_names(result))}; "
    )


def _passing(result: ScreenResult, shown: int) -> str:
    """Say how many features of the space pass the false discovery rate that was asked for."""
    told = result.record.get("error_control", {})
    if told.get("fdr") is None:
        return ""
    rate = f"a false discovery rate of {told['fdr']:g}"
    if not told["passing"]:
        return f"none passes {rate}, the smallest q is {told['least_q']:.2g}; "
    passes = f"{told['passing']:,} {'passes' if told['passing'] == 1 else 'pass'} {rate}"
    good = bool((result.table["q_value"].head(shown) <= told["fdr"]).all())
    return f"{passes}; " if good else f"{passes}, none of them among these; "


def _audited(result: ScreenResult) -> list[str]:
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
class _Column:
    """A column of the terminal table."""

    heading: str
    kind: Literal["left", "right", "fold"]
    cells: list[str]

    @property
    def width(self) -> int:
        """The letters it needs; a formula may be folded."""
        return len(self.heading) if self.kind == "fold" else max(map(len, (self.heading, *self.cells)))


def _ranking(result: ScreenResult, shown: int) -> tuple[RenderableType, list[str]]:
    """Lay out the ranking; return it with the headings of what there is no room for."""
    names, rounds = _names(result), "round" in result.table
    crowded = len(names) > _MOST_SCORES
    rows = result.table.head(shown).to_dict("records")
    columns = [
        _Column("rank", "right", [str(row["rank"]) for row in rows]),
        _Column("expression", "fold", [row["expression"] for row in rows]),
        _Column("compl.", "right", [str(row["complexity"]) for row in rows]),
    ]
    if direction_legend(result.record["data"]) is not None:
        columns.append(_Column("dir.", "left", [row["direction"] for row in rows]))
    if rounds:
        columns.append(_Column("round", "right", [str(row["round"]) for row in rows]))
    if "place_alone" in result.table:
        columns.append(_Column("alone", "right", [_whole(row["place_alone"]) for row in rows]))
    columns += [
        _Column(name, "right", [_cell(row, name, ranks=crowded and place > 0) for row in rows])
        for place, name in enumerate(names)
    ]
    marks = [unsafe_mark(row, result.record) for row in rows]
    scores = columns[-len(names)]
    scores.cells[:] = [cell + mark for cell, mark in zip(scores.cells, marks, strict=True)]
    by_target = [name for name in map(str, result.table) if name.startswith(f"{names[0]}[")]
    columns += [_Column(name, "right", [_cell(row, name, ranks=False) for row in rows]) for name in by_target]
    if HARRELL_C in result.table:
        columns.append(_Column(HARRELL_C, "right", [_cell(row, HARRELL_C, ranks=False) for row in rows]))
    columns.append(_Column("class", "right", [f"{row['class_size']:,}" for row in rows]))
    columns += [
        _Column(heading, "right", [_two_digits(row[name]) for row in rows])
        for heading, name in _FIGURES.items()
        if name in result.table
    ]
    intervals = intervals_shown(rows, result.record)
    if intervals is not None:
        columns.append(_Column(intervals[0], "right", intervals[1]))
    if "stands_for" in result.table:
        columns.append(_Column("for", "right", [f"{row['stands_for']:,}" for row in rows]))
    if "stability" in result.table:
        columns.append(_Column("stab.", "right", [f"{row['stability']:.2f}" for row in rows]))
    if "unit" in result.table:
        columns.append(_Column("unit", "left", [row["unit"] for row in rows]))
    gap = 1 if crowded or rounds else 2
    spared = [*([] if intervals is None else [intervals[0]]), "unit", "compl.", "dir."]
    spare = _too_many(columns, gap, [*spared, *reversed(names[1:]), *_FIGURES, *reversed(by_target)])
    dropped = [column.heading for column in columns if column.heading in spare]
    columns = [column for column in columns if column.heading not in spare]
    table = table_of(*((column.heading, column.kind) for column in columns), gap=gap)
    for cells in zip(*(column.cells for column in columns), strict=True):
        add_row(table, cells)
    return table, dropped


def _too_many(columns: list[_Column], gap: int, spare: list[str]) -> list[str]:
    """Choose which of the spare columns to leave out, the first sooner, so that a line holds the others."""
    room = _WIDTH - sum(column.width + gap for column in columns) + gap
    width = {column.heading: column.width + gap for column in columns}
    dropped: list[str] = []
    for heading in (each for each in spare if each in width):
        if room >= 0:
            break
        dropped.append(heading)
        room += width[heading]
    return dropped


def _cell(row: Mapping[Any, Any], name: str, *, ranks: bool) -> str:
    """Write a score or a rank, with a star where a joint screener selects the feature."""
    selected = row.get(f"{name}_selected")
    star = "*" if selected is True else ""
    if ranks:
        return f"{_whole(row[f'{name}_rank'])}{star}"
    return "-" if _missing(row[name]) else f"{row[name]:.5g}{star}"


def _two_digits(number: float) -> str:
    return "-" if _missing(number) else f"{number:.2g}"


def _whole(number: Any) -> str:
    return "-" if _missing(number) else f"{int(number):,}"


def _missing(number: Any) -> bool:
    import pandas as pd

    return bool(pd.isna(number))


def _agreement(pairs: pd.DataFrame, names: list[str]) -> RenderableType:
    cells = {(name, name): "" for name in names}
    for pair in pairs.to_dict("records"):
        cells[pair["first"], pair["second"]] = _share(pair["kendall"])
        cells[pair["second"], pair["first"]] = _share(pair["overlap"])
    columns = [_Column(name, "right", [cells[other, name] for other in names]) for name in names]
    first, gap = _Column("agreement", "left", names), 2
    if sum(column.width + gap for column in columns) + first.width > _WIDTH:
        # numbers head the columns where the names are too many
        first, gap = replace(first, cells=[f"{place} {name}" for place, name in enumerate(names, 1)]), 1
        columns = [replace(column, heading=str(place)) for place, column in enumerate(columns, 1)]
    table = table_of(*((column.heading, column.kind) for column in (first, *columns)), gap=gap)
    for row in zip(first.cells, *(column.cells for column in columns), strict=True):
        add_row(table, row)
    return table


def _share(number: float) -> str:
    return "-" if _missing(number) else f"{number:.2f}"


def _reading(result: ScreenResult, shown: int, dropped: list[str]) -> list[str]:
    names, options = _names(result), result.record["options"]
    ranked, staged = (result.record["data"].get(kind) for kind in ("ranking", "stages"))
    further = read_response(result.record["data"], options, result.scale)
    legend = {
        "compl.": "compl.: complexity.",
        "dir.": "",
        "class": "class: how many features the first screener cannot tell from this one on these data.",
    }
    legend |= {"dir.": direction_legend(result.record["data"]) or ""}
    lines = [" ".join(line for heading, line in legend.items() if line and heading not in dropped)]
    if dropped:
        lines.append(f"no room for {', '.join(dropped)}: a file (--out) holds every column.")
    others = [name for name in names[1:] if name not in dropped]
    if len(names) > _MOST_SCORES and others:
        lines.append(f"{names[0]}: the score. {', '.join(others)}: the rank{_among(result)}.")
    if any(f"{name}_selected" in result.table for name in names if name not in dropped):
        lines.append("*: selected. -: not shown to that screener.")
    lines += read_unsafe(result.table.head(shown).to_dict("records"), result.record)
    if result.agreement is not None and len(result.agreement):
        lines.append(
            f"agreement{_among(result)}: above the diagonal Kendall's tau of two rankings, below it the "
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
    lines += _trust(result, dropped) + read_trust(result.record) + _audited(result)
    if ranked is not None:
        lines += _ranked(ranked, result.scale if "t0" in names else None)
    elif staged is not None:
        lines += _staged(staged, result.scale)
    elif further:
        lines += further
    elif "t0" in names:
        delta = result.scale
        free = "; either end is good" if options["sign"] == "free" else ""
        scale = f"0 has the order of the response, {2 * delta:.5g} the reverse, {delta:.5g} none"
        lines.append(f"t0: {scale}{free}.")
    lines += [
        f"{name} was shown {_count(told['shown'], 'feature')}, {_chosen(result, told)}."
        for name, told in result.record.get("joint", {}).items()
    ]
    return lines + _left_out(result) + offers(result.record)


def _trust(result: ScreenResult, dropped: list[str]) -> list[str]:
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
            f"p all: how often noise does as well anywhere in the {_whole_of(result)}, by "
            f"{_count(told['permutations'], 'permutation')} of the response{_kept_together(result)}."
        )
    intervals = intervals_shown([], result.record)
    if intervals is not None and intervals[0] not in dropped:
        lines.append(intervals[2])
    return lines


def _whole_of(result: ScreenResult) -> str:
    return "part of the space that was looked at" if "partial" in result.record else "space"


def _kept_together(result: ScreenResult) -> str:
    """Say what permutations of the response leave together."""
    told = result.record["error_control"]
    if "groups" not in told:
        return ""
    groups = _count(told["groups"]["units"], "group")
    return f", the rows of each of {groups} by {printable(result.record['options']['groups'])} together"


def _ranked(told: Mapping[str, Any], delta: float | None) -> list[str]:
    """Tell of a response that is a ranking."""
    labels, few = [printable(quote_label(label)) for label in told["labels"]], 8
    shown = ", ".join(labels[:few]) + (f" and {len(labels) - few} more" if len(labels) > few else "")
    rows = ", ".join(f"{told[kind]:,} {kind}" for kind in ("complete", "incomplete", "tied"))
    fewest, most = told["rows_a_pair"]
    span = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    count, pairs = _count(len(labels), "label"), _count(told["pairs"], "pair")
    rankings = f"rankings of {count} ({shown}); {pairs} compared, each in {span} rows; rows: {rows}."
    if delta is None:
        return [rankings]
    scale = f"0 orders the rows as every pair of labels does, {delta:.5g} as none"
    return [rankings, f"t0: the mean over pairs, whichever of two labels comes first; {scale}."]


def _staged(told: Mapping[str, Any], delta: float) -> list[str]:
    """Tell of a response that is a chain of stages; T0 alone takes one."""
    pairs, few = told["pairs"], 6
    shown = "; ".join(
        f"{printable(pair['present'])} to {printable(pair['later'])} {pair['reached']:,} of {pair['rows']:,}"
        for pair in pairs[:few]
    )
    more = f"; and {len(pairs) - few} more" if len(pairs) > few else ""
    scale = f"0 tells in every pair who goes on, {delta:.5g} in none"
    return [
        f"{_count(len(pairs), 'pair')} of stages, and how many rows at the first go on: {shown}{more}.",
        f"t0: the mean over pairs of stages, weighed by their rows, each in its better direction; {scale}.",
    ]


def _chosen(result: ScreenResult, told: dict[str, Any]) -> str:
    if not told["shown"]:
        return "for none is left"
    merged = f"{told['merged']} merged"
    if result.record["options"]["prescreen"] > told["shown"]:
        return merged
    return f"the best by {' and '.join(told['chosen_by'])}, {merged}"


def _among(result: ScreenResult) -> str:
    if result.agreement is None or not len(result.agreement):
        return ""
    return f" among the {_count(int(result.agreement['features'].max()), 'feature')} compared"


def _left_out(result: ScreenResult) -> list[str]:
    pruned: dict[str, int] = {}
    for layer in result.record["layers"]:
        for reason, count in layer["pruned"].items():
            pruned[reason] = pruned.get(reason, 0) + count
    order = [reason for reason in REASONS.values() if reason in pruned]
    reasons = ", ".join(f"{pruned[reason]:,} {reason}" for reason in order)
    return [f"left out: {reasons}."] if pruned else []


def _count(number: int, thing: str, things: str = "") -> str:
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"
