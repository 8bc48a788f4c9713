"""A result, a plan, and what is available, as tables for the terminal."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from symscreen.errors import printable
from symscreen.expansion import REASONS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

    from rich.console import RenderableType

    from symscreen.grammar import Grammar, Operator
    from symscreen.result import Plan, ScreenResult
    from symscreen.screeners import Screener

__all__ = ["print_table", "show_grammar", "show_operators", "show_plan", "show_result", "show_screeners"]

_WIDTH_IN_A_PIPE = 80


def print_table(content: RenderableType, file: TextIO) -> None:
    """Print to a terminal in its width and colours, to anything else in plain 80 columns."""
    if file.isatty():
        Console(file=file, highlight=False, emoji=False, markup=False).print(content)
        return
    console = Console(file=io.StringIO(), width=_WIDTH_IN_A_PIPE, highlight=False, emoji=False, markup=False)
    with console.capture() as capture:
        console.print(content)
    file.writelines(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def _table(*columns: tuple[str, str], gap: int = 2) -> Table:
    """Make a table; a column is a heading and ``left``, ``right`` or ``fold``."""
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for heading, kind in columns:
        if kind == "fold":
            table.add_column(heading, overflow="fold", ratio=1, min_width=len(heading))
        else:
            table.add_column(heading, justify="right" if kind == "right" else "left", no_wrap=True)
    return table


def _row(table: Table, cells: Iterable[object]) -> None:
    table.add_row(*(Text(printable(str(cell))) for cell in cells))


def show_result(result: ScreenResult, rows: int | None = None) -> RenderableType:
    """Lay out a ranking with a line on what was scored and one on how to read it.

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
    record, frame = result.record, result.table
    screeners = record["options"]["screener"]
    table = _table(
        ("rank", "right"),
        ("expression", "fold"),
        ("compl.", "right"),
        ("dir.", "left"),
        *((name, "right") for name in screeners),
        ("class", "right"),
        gap=2 if len(screeners) < 3 else 1,
    )
    digits = 5 if len(screeners) < 3 else 3
    for row in frame.head(rows if rows is not None else len(frame)).to_dict("records"):
        scores = (f"{row[name]:.{digits}g}" for name in screeners)
        first = (row["rank"], row["expression"], row["complexity"], row["direction"])
        _row(table, (*first, *scores, f"{row['class_size']:,}"))
    data = record["data"]
    head = (
        f"{_count(result.scored, 'feature')} of {_count(len(data['inputs']), 'input')} scored against "
        f"{printable(data['target'])} ({data['rows']:,} rows) by {', '.join(screeners)}; "
    )
    if not len(result):
        return Text("\n".join([f"{head}no feature is left.", "", *_left_out(result)]))
    every = record["options"]["top"] == "all"
    thing = ("feature", "features") if every else ("class", "classes")
    shown = len(result) if rows is None else min(rows, len(result))
    head += "all of them:" if every and shown == len(result) else f"the best {_count(shown, *thing)}:"
    return Group(Text(head), Text(""), table, Text(""), Text("\n".join(_reading(result))))


def _reading(result: ScreenResult) -> list[str]:
    legend = (
        "compl.: complexity. dir.: + rises with the response, - falls. "
        "class: how many features the first screener cannot tell from this one on these data."
    )
    lines = [legend]
    if "t0" in result.record["options"]["screener"]:
        delta = result.scale
        free = "; either end is good" if result.record["options"]["sign"] == "free" else ""
        scale = f"0 has the order of the response, {2 * delta:.5g} the reverse, {delta:.5g} none"
        lines.append(f"t0: {scale}{free}.")
    return lines + _left_out(result)


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


def show_plan(plan: Plan) -> RenderableType:
    """Lay out the features per layer of a plan."""
    table = _table(
        ("layer", "right"),
        ("kind", "left"),
        ("generated", "right"),
        ("features", "right"),
        ("left out by structure", "fold"),
    )
    for layer in plan.layers:
        pruned = ", ".join(f"{count:,} {REASONS[fate]}" for fate, count in layer.pruned.items())
        _row(table, (layer.layer, layer.kind, f"{layer.generated:,}", f"{layer.features:,}", pruned))
    foot = (
        f"at most {plan.features:,} features to score; the pool takes at most {plan.memory / 1e6:,.1f} MB. "
        "Counts are exact for structure; values (domains, equal columns) can only leave out more."
    )
    return Group(table, Text(""), Text(foot))


def show_operators(operators: Iterable[Operator]) -> RenderableType:
    """Lay out operators."""
    table = _table(
        ("name", "left"),
        ("arity", "right"),
        ("cost", "right"),
        ("domain", "left"),
        ("monotone", "left"),
        ("what", "fold"),
    )
    for operator in operators:
        domain = ", ".join(dict.fromkeys(operator.domain))
        monotone = operator.monotone if operator.arity == 1 else ""
        _row(table, (operator.name, operator.arity, operator.cost, domain, monotone, operator.summary))
    return table


def show_grammar(grammar: Grammar) -> RenderableType:
    """Lay out a grammar's operators and rules."""
    lines = [f"{grammar.name}: {grammar.description}".rstrip(": "), f"default layers: {grammar.layers}"]
    if grammar.constants:
        lines.append("constants: " + ", ".join(map(str, grammar.constants)))
    if grammar.max_complexity is not None:
        lines.append(f"max_complexity: {grammar.max_complexity}")
    for word, rules in (("directly in", grammar.forbid), ("anywhere in", grammar.forbid_within)):
        lines += [f"never {word} {outer}: {', '.join(sorted(inner))}" for outer, inner in rules.items()]
    lines += [
        f"{name} touches only: {', '.join(sorted(columns))}" for name, columns in grammar.columns.items()
    ]
    return Group(Text(_visible_lines(lines)), Text(""), show_operators(grammar.unary + grammar.binary))


def _visible_lines(lines: list[str]) -> str:
    return "\n".join(map(printable, lines))


def show_screeners(screeners: Iterable[Screener]) -> RenderableType:
    """Lay out the screeners, a block for each."""
    table = _table(("name", "left"), ("what", "fold"))
    for screener in screeners:
        _row(table, (screener.name, screener.summary))
        sees = "one feature at a time" if screener.sees == "column" else "many features together"
        _row(table, ("", f"sees {sees}; {screener.cost}"))
        _row(table, ("", f"assumes {screener.assumes}"))
        _row(table, ("", f"fails {screener.fails}"))
        _row(table, ("", screener.source))
    return table
