"""Terminal tables for plans, grammars, operators, screeners and plugins."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from symscreen.backends import BACKENDS
from symscreen.errors import OptionError
from symscreen.expansion import EXCLUSION_REASONS
from symscreen.grammar.grammar_files import write_constants
from symscreen.messages import COMMAND_LINE, escape_control_chars, render_message
from symscreen.plugins import find_plugins
from symscreen.results.budget_note import format_budget_note, format_duration
from symscreen.screeners import JointScreener, load_plugin_screeners
from symscreen.targets.registry import TARGET_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

    from rich.console import RenderableType

    from symscreen.grammar import Grammar, Operator
    from symscreen.messages import OptionStyle
    from symscreen.screeners import AnyScreener
    from symscreen.screening.plan import LargeTablePlan, ScreenPlan


_PIPE_WIDTH = 80  # characters
_VALUES_NOTE = "values (domains, equal columns) can only reduce them further."
_COUNT_NOTES = {
    "exact": f"Counts by structure are exact; {_VALUES_NOTE}",
    "extrapolated": "Counts by structure are exact, except those with ~, which are estimated from fewer "
    f"inputs; {_VALUES_NOTE}",
    "pruned": "Counts with ~ are estimates: what pruning keeps depends on the target, and may have fewer "
    "duplicates. Other counts by structure are exact.",
}


def print_table(content: RenderableType, file: TextIO | None = None) -> None:
    """Print to a terminal with its width and colours, or to another file as plain text of 80 columns."""
    file = sys.stdout if file is None else file
    if file.isatty():
        Console(file=file, highlight=False, emoji=False, markup=False).print(content)
        return
    # Ignore FORCE_COLOR: a pipe should receive no escape sequences.
    console = Console(
        file=io.StringIO(),
        width=_PIPE_WIDTH,
        force_terminal=False,
        color_system=None,
        highlight=False,
        emoji=False,
        markup=False,
    )
    with console.capture() as capture:
        console.print(content)
    file.writelines(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def make_notes(lines: Iterable[str], style: OptionStyle = COMMAND_LINE) -> Text:
    """Write lines of text; options are written as on the command line, or in another style."""
    return Text(render_message("\n".join(lines), style))


def make_table(*columns: tuple[str, str], gap: int = 2) -> Table:
    """Make a table from columns of a heading and an alignment: ``left``, ``right`` or ``fold``."""
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for heading, alignment in columns:
        if alignment == "fold":
            table.add_column(heading, overflow="fold", ratio=1, min_width=len(heading))
        else:
            table.add_column(heading, justify="right" if alignment == "right" else "left", no_wrap=True)
    return table


def add_row(table: Table, cells: Iterable[object]) -> None:
    """Add a row; control characters in cells are escaped, so that each cell stays on its line."""
    table.add_row(*(Text(escape_control_chars(str(cell))) for cell in cells))


def build_plan_table(plan: ScreenPlan) -> RenderableType:
    """Build a table of the features per layer of a plan, with its time and memory estimate."""
    table = make_table(
        ("layer", "right"),
        ("kind", "left"),
        ("generated", "right"),
        ("features", "right"),
        ("left out by structure", "fold"),
    )
    for index, layer in enumerate(plan.layers):
        is_exact = index < plan.n_exact_layers
        excluded = ", ".join(
            f"{_format_count(count, is_exact=is_exact)} {EXCLUSION_REASONS[status]}"
            for status, count in layer.n_excluded.items()
        )
        generated = _format_count(layer.n_generated, is_exact=index <= plan.n_exact_layers)
        features = _format_count(layer.n_features, is_exact=is_exact)
        add_row(table, (layer.layer, layer.kind, generated, features, excluded))
    all_exact = plan.n_exact_layers == len(plan.layers)
    about = "at most" if all_exact else "about"
    is_pruned = plan.has_pruning and not all_exact
    limit = ""
    if is_pruned and plan.max_features is not None:
        limit = f" (no more than {_format_count(plan.max_features, is_exact=True)})"
    pool = f"the pool takes {plan.pool_bytes / 1e6:,.1f} MB" if plan.pool_bytes else "the pool is not stored"
    features = _format_count(plan.n_features, is_exact=all_exact).removeprefix("~")
    note = (
        f"{about} {features} features to score{limit}; {pool}, the whole process {about} "
        f"{plan.peak_bytes / 1e9:,.2f} GB. About {_format_time_range(plan.seconds)} with {plan.jobs} "
        f"{'thread' if plan.jobs == 1 else 'threads'} of this machine, without joint screeners, pruning by "
        "them, and null tables of p-values. "
        f"{_COUNT_NOTES['exact' if all_exact else 'pruned' if is_pruned else 'extrapolated']}"
    )
    parts: list[RenderableType] = [table, Text(""), Text(note)]
    if plan.large_table is not None:
        parts.append(Text(_describe_passes(plan.large_table)))
    if plan.budget is not None:
        measured = f" On this machine exact scoring would take about {format_duration(plan.exact_seconds)}."
        parts[:0] = [make_notes([format_budget_note({"budget": plan.budget}).template + measured]), Text("")]
    return Group(*parts)


def _describe_passes(passes: LargeTablePlan) -> str:
    """Describe the passes over a table that is larger than the memory allows."""
    threads = "1 thread" if passes.n_threads == 1 else f"{passes.n_threads} threads"
    return (
        f"Two passes over {passes.n_rows:,} rows. The first puts the columns onto the disk, as "
        f"{passes.disk_bytes / 1e9:,.2f} GB of temporary files. It took "
        f"{format_duration(passes.read_seconds)} for this plan. Formulas are then screened on "
        f"{passes.n_sample_rows:,} rows. The second pass scores at most {passes.n_finalists:,} features on "
        f"all rows, in about {format_duration(passes.finalist_seconds)} with {threads}. The time above "
        "includes both passes."
    )


def _format_count(count: int, *, is_exact: bool) -> str:
    """Format a count, or an estimate to four digits."""
    if is_exact:
        return f"{count:,}"
    rounded = f"{count:.4g}"
    return f"~{int(float(rounded)):,}" if count < 10**15 else f"~{rounded}"


def _format_time_range(seconds: tuple[float, float]) -> str:
    """Format a range of times to one or two digits."""
    short, long = (format_duration(each) for each in seconds)
    return short if short == long else f"{short} to {long}, depending on how early features drop out,"


def build_operator_table(operators: Iterable[Operator]) -> RenderableType:
    """Build a table of operators."""
    table = make_table(
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


def build_grammar_table(grammar: Grammar) -> RenderableType:
    """Build the listing of a grammar: its settings, rules and operators."""
    lines = [f"{grammar.name}: {grammar.description}".rstrip(": "), f"default layers: {grammar.layers}"]
    if grammar.constants:
        lines.append("constants: " + ", ".join(map(str, write_constants(grammar.constants))))
    lines += [
        f"{name} takes only arguments with a range of at most {limit:g}"
        for name, limit in grammar.max_range.items()
    ]
    if grammar.time_operators:
        lines.append("of time: " + ", ".join(operator.name for operator in grammar.time_operators))
    if grammar.max_complexity is not None:
        lines.append(f"max_complexity: {grammar.max_complexity}")
    for word, rules in (("directly in", grammar.forbid), ("anywhere in", grammar.forbid_within)):
        lines += [f"never {word} {outer}: {', '.join(sorted(inner))}" for outer, inner in rules.items()]
    lines += [
        f"{name} applies only to: {', '.join(sorted(columns))}" for name, columns in grammar.columns.items()
    ]
    text = "\n".join(map(escape_control_chars, lines))
    return Group(Text(text), Text(""), build_operator_table(grammar.unary + grammar.binary))


def build_screener_table(screeners: Iterable[AnyScreener]) -> RenderableType:
    """Build the listing of screeners, one block per screener."""
    table = make_table(("name", "left"), ("what", "fold"))
    for screener in screeners:
        add_row(table, (screener.name, screener.summary))
        scope = "one feature at a time" if screener.scope == "column" else "many features together"
        add_row(table, ("", f"sees {scope}; {screener.cost}"))
        targets = " or ".join(TARGET_TYPES[target_type].description for target_type in screener.target_types)
        add_row(table, ("", f"takes {targets}"))
        add_row(table, ("", f"assumes {screener.assumes}"))
        add_row(table, ("", f"fails {screener.fails}"))
        if isinstance(screener, JointScreener):
            for option in screener.options:
                add_row(table, ("", f"{screener.name}[{option.name}={option.default}]: {option.help}"))
            if screener.requirement is not None:
                package, extra = screener.requirement
                add_row(table, ("", f"needs {package}: pip install 'symscreen[{extra}]'"))
        add_row(table, ("", screener.source))
    return table


def build_plugin_table() -> RenderableType:
    """Build the listing of the screeners and backends of other packages; empty if there are none.

    Returns
    -------
    rich renderable
        Screeners are imported to be described. One that cannot be imported gets a line with the reason.
    """
    parts: list[RenderableType] = []
    for label, screener in load_plugin_screeners().items():
        if isinstance(screener, OptionError):
            parts.append(Text(f"\nnot usable: {screener}"))
        else:
            parts += [Text(f"\n{label}"), build_screener_table([screener])]
    for plugin in find_plugins("backend", BACKENDS):
        backend = f"backend {plugin.name} ({plugin.origin})"
        parts.append(Text(f"\nnot usable: {plugin.conflict}" if plugin.conflict else f"\n{backend}"))
    return Group(*parts)
