"""Tables for the terminal: a plan, and what is available."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from symscreen.errors import printable
from symscreen.expansion import REASONS
from symscreen.response import KINDS
from symscreen.screeners import JointScreener

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

    from rich.console import RenderableType

    from symscreen.grammar import Grammar, Operator
    from symscreen.result import Plan
    from symscreen.screeners import AnyScreener

__all__ = [
    "add_row",
    "print_table",
    "show_grammar",
    "show_operators",
    "show_plan",
    "show_screeners",
    "table_of",
]

_WIDTH_IN_A_PIPE = 80


_VALUES = "values (domains, equal columns) can only leave out more."
_COUNTS = {
    "whole": f"Counts are exact for structure; {_VALUES}",
    "long": f"Counts are exact for structure but for those with ~, estimated from fewer inputs; {_VALUES}",
    "cut": "Counts with ~ are estimates: what a cut keeps depends on the response, and may have fewer "
    "duplicates; the others are exact for structure.",
}


def print_table(content: RenderableType, file: TextIO) -> None:
    """Print to a terminal in its width and colours, to anything else in plain 80 columns."""
    if file.isatty():
        Console(file=file, highlight=False, emoji=False, markup=False).print(content)
        return
    # whatever FORCE_COLOR says: who reads a pipe wants no escapes
    console = Console(
        file=io.StringIO(),
        width=_WIDTH_IN_A_PIPE,
        force_terminal=False,
        color_system=None,
        highlight=False,
        emoji=False,
        markup=False,
    )
    with console.capture() as capture:
        console.print(content)
    file.writelines(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def table_of(*columns: tuple[str, str], gap: int = 2) -> Table:
    """Make a table; a column is a heading and ``left``, ``right`` or ``fold``."""
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for heading, kind in columns:
        if kind == "fold":
            table.add_column(heading, overflow="fold", ratio=1, min_width=len(heading))
        else:
            table.add_column(heading, justify="right" if kind == "right" else "left", no_wrap=True)
    return table


def add_row(table: Table, cells: Iterable[object]) -> None:
    """Add a row; whatever a cell holds stays on its line."""
    table.add_row(*(Text(printable(str(cell))) for cell in cells))


def show_plan(plan: Plan) -> RenderableType:
    """Lay out the features per layer of a plan."""
    table = table_of(
        ("layer", "right"),
        ("kind", "left"),
        ("generated", "right"),
        ("features", "right"),
        ("left out by structure", "fold"),
    )
    for place, layer in enumerate(plan.layers):
        counted = place < plan.exact
        pruned = ", ".join(
            f"{_number(count, counted=counted)} {REASONS[fate]}" for fate, count in layer.pruned.items()
        )
        generated = _number(layer.generated, counted=place <= plan.exact)
        features = _number(layer.features, counted=counted)
        add_row(table, (layer.layer, layer.kind, generated, features, pruned))
    whole = plan.exact == len(plan.layers)
    about = "at most" if whole else "about"
    cut = plan.cut and not whole
    limit = f" (no more than {_number(plan.most, counted=True)})" if cut and plan.most is not None else ""
    pool = f"the pool takes {plan.memory / 1e6:,.1f} MB" if plan.memory else "the pool is not held"
    features = _number(plan.features, counted=whole).removeprefix("~")
    foot = (
        f"{about} {features} features to score{limit}; {pool}, the whole process {about} "
        f"{plan.peak / 1e9:,.2f} GB. About {_time(plan.seconds)} with {plan.jobs} "
        f"{'thread' if plan.jobs == 1 else 'threads'} of this machine; what joint screeners, a cut by them "
        "and null tables of p-values take is not in it. "
        f"{_COUNTS['whole' if whole else 'cut' if cut else 'long']}"
    )
    return Group(table, Text(""), Text(foot))


def _number(count: int, *, counted: bool) -> str:
    """Write a count, or an estimate to four digits."""
    if counted:
        return f"{count:,}"
    rounded = f"{count:.4g}"
    return f"~{int(float(rounded)):,}" if count < 10**15 else f"~{rounded}"


def _time(seconds: tuple[float, float]) -> str:
    """Write a time, or from when to when, to one or two digits."""
    short, long = (_round_time(each) for each in seconds)
    return short if short == long else f"{short} to {long}, by how soon features drop out,"


def _round_time(seconds: float) -> str:
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:,.0f} h" if seconds < 172_800 else f"{seconds / 86_400:,.0f} days"


def show_operators(operators: Iterable[Operator]) -> RenderableType:
    """Lay out operators."""
    table = table_of(
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
        add_row(table, (operator.name, operator.arity, operator.cost, domain, monotone, operator.summary))
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


def show_screeners(screeners: Iterable[AnyScreener]) -> RenderableType:
    """Lay out the screeners, a block for each."""
    table = table_of(("name", "left"), ("what", "fold"))
    for screener in screeners:
        add_row(table, (screener.name, screener.summary))
        sees = "one feature at a time" if screener.sees == "column" else "many features together"
        add_row(table, ("", f"sees {sees}; {screener.cost}"))
        add_row(table, ("", f"takes {' or '.join(KINDS[kind] for kind in screener.accepts)}"))
        add_row(table, ("", f"assumes {screener.assumes}"))
        add_row(table, ("", f"fails {screener.fails}"))
        if isinstance(screener, JointScreener):
            for option in screener.options:
                add_row(table, ("", f"{screener.name}[{option.name}={option.default}]: {option.meaning}"))
            if screener.needs is not None:
                add_row(
                    table, ("", f"needs {screener.needs[0]}: pip install 'symscreen[{screener.needs[1]}]'")
                )
        add_row(table, ("", screener.source))
    return table
