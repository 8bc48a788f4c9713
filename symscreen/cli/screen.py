"""The verbs that take the options of a screen: `screen`, `plan` and `why`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symscreen.cli.options import GroupedCommand, add_options, add_output_options, complete_files
from symscreen.cli.output import list_input_files, print_notices, show_progress, write_json_log, write_stdout
from symscreen.errors import OptionError

if TYPE_CHECKING:
    from symscreen.results.screen_result import ScreenResult


_MAX_ROWS_WITH_FILE = 20


@click.command(cls=GroupedCommand)
@click.argument("data", shell_complete=complete_files)
@add_options("screen")
@add_output_options()
def screen(
    data: str,
    out: str | None,
    bundle: str | None,
    report: str | None,
    log_json: str | None,
    *,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Score the formulas of a table, and print the best.

    \b
    Examples:
      symscreen screen data.csv --layers ub --out ranking.csv
      symscreen screen data.csv --target rate --operators physics --screener t0,xi
      symscreen screen data.csv --layers ubb --search race --risk 1e-6
      symscreen screen data.csv --layers ub --top 200 --report report.html
      symscreen screen data.csv --fdr 0.05 --permutations 200 --intervals
      symscreen screen data.csv --layers ubb --checkpoint kept --time-limit 1h
      symscreen screen data.csv --ranking preference --screener t0,crit
      symscreen screen data.csv --stages viewed,liked,followed
      symscreen screen data.csv --units strict --target-units J
      symscreen screen data.csv --target time --event died
      cat data.csv | symscreen screen - --top 5
    """
    from symscreen._atomic_io import check_not_input, check_outputs_differ, check_writable
    from symscreen.report.terminal.listings import print_table
    from symscreen.report.terminal.ranking_table import build_ranking_tables
    from symscreen.results.ranking_files import (
        check_output,
        format_ranking_csv,
        is_partial_write,
        write_ranking,
    )
    from symscreen.screening.screen import screen as run_screen

    outputs = {"out": out, "bundle": bundle, "report": report, "log_json": log_json}
    check_not_input(outputs.values(), list_input_files(data, options))
    check_outputs_differ(outputs | {"checkpoint": options["checkpoint"]})
    if out is not None:
        force = force or (options["checkpoint"] is not None and is_partial_write(out))
        check_output(out, force=force)
    for option in ("bundle", "report"):
        if outputs[option] == "-":
            raise OptionError(f"--{option} needs a file's name: standard output is the ranking's")
    if bundle is not None:
        check_writable(Path(bundle), force=force)
    if report is not None:
        from symscreen.report.html_page import write_report
        from symscreen.report.page_template import check_report

        check_report(report, force=force)
    with write_json_log(log_json), show_progress(quiet=quiet) as on_progress:
        result = run_screen(data, on_progress=on_progress, **options)
    print_notices(result.notices, quiet=quiet)
    if bundle is not None:
        _save_bundle(result, bundle, force=force)
        print_notices((f"written: {bundle}",), quiet=quiet)
    if report is not None:
        write_report(result, report, data=data, force=force)
        print_notices((f"written: {report}",), quiet=quiet)
    if out == "-":
        write_stdout(format_ranking_csv(result))
        return
    if out is not None:
        written = " and ".join(map(str, write_ranking(result, out, force=force)))
        print_notices((f"written: {written}",), quiet=quiet)
    print_table(build_ranking_tables(result, max_rows=None if out is None else _MAX_ROWS_WITH_FILE))


def _save_bundle(result: ScreenResult, path: str, *, force: bool) -> None:
    """Save the features of a ranking, in the units of the user's table, with the record."""
    from symscreen.export import build_operators_from_record, save_bundle
    from symscreen.units import convert_to_original_units

    operators = build_operators_from_record(result.record)
    formulas = convert_to_original_units(result.expressions, result.record.get("units"))
    save_bundle(formulas, path, operators=operators, record=result.record, force=force)


@click.command(cls=GroupedCommand)
@click.argument("data", shell_complete=complete_files)
@add_options("plan")
@add_output_options(everyday=False, expose_value=False)
def plan(data: str, *, quiet: bool, **options: Any) -> None:
    """Count the features of each layer, and predict memory and time.

    It takes the options of `screen`, and writes nothing.

    \b
    Examples:
      symscreen plan data.csv --layers ubb --operators physics
      symscreen plan data.csv --layers ubb --search sieve --max-ram 2GB
    """
    from symscreen.report.terminal.listings import build_plan_table, print_table
    from symscreen.screening.plan import plan as plan_screen

    planned = plan_screen(data, **options)
    print_notices(planned.notices, quiet=quiet)
    print_table(build_plan_table(planned))


@click.command(cls=GroupedCommand)
@click.argument("data", shell_complete=complete_files)
@click.argument("expression", metavar="EXPR")
@add_options("why", help_texts={"top": "As for screen: a rank counts classes, or with all every feature."})
def why(data: str, expression: str, *, quiet: bool, **options: Any) -> None:
    """Say where a formula stands in a screen, or why it is missing.

    It takes the options of `screen`. Options that only add figures to a ranking, or leave entries out of it,
    change no rank. The answer says whether --max-correlation or --fdr leave the formula out.

    \b
    Examples:
      symscreen why data.csv "x1*(x2 + x3)" --layers ub
      symscreen why data.csv "log(x1 - x2)" --layers bub --pool-size 50
      symscreen why data.csv --layers ub -- "-x1"
      symscreen why data.csv "x1/x2" --stages viewed,liked,followed
    """
    from rich.text import Text

    from symscreen.explain import why as explain
    from symscreen.messages import COMMAND_LINE, escape_control_chars, render_message
    from symscreen.report.terminal.listings import print_table

    explanation = explain(data, expression, **options)
    print_notices(explanation.notices, quiet=quiet)
    text = render_message(explanation.text, COMMAND_LINE)
    print_table(Text("\n".join(map(escape_control_chars, text.splitlines()))))
