"""The command line: parse, call the pipeline, print. Nothing heavy is imported before a verb runs."""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any

import click

from symscreen._limits import check_startup_memory
from symscreen.cli.classes import classes
from symscreen.cli.evaluate import evaluate, reproduce
from symscreen.cli.export import bundle_option, export
from symscreen.cli.options import GroupedCommand, add_options, reject_target_types
from symscreen.cli.output import list_input_files, print_notices, show_progress, write_json_log, write_stdout
from symscreen.cli.power import power
from symscreen.cli.report import check_report_path, report, report_option, save_report
from symscreen.cli.why import why
from symscreen.config.screen_options import FitOptions
from symscreen.errors import InputError, OptionError
from symscreen.messages import COMMAND_LINE, escape_control_chars, suggest, truncate_message

if TYPE_CHECKING:
    from collections.abc import Callable


_MAX_ROWS_WITH_FILE = 20


def main() -> None:
    """Run the command line and exit.

    Exit status 0: done; 2: the user's input is at fault, told in one line; 130: interrupted; 1: a fault of
    symscreen's own.
    """
    closed = _ensure_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a pipe may not know every letter
    if closed:
        sys.exit(_print_error(f"{closed} is closed: open it, for instance to /dev/null", 2))
    sys.exit(_run(sys.argv[1:]))


def _ensure_standard_streams() -> str:
    """Put the null device in the place of closed streams, and name one that is needed.

    Else the first file that is opened would be taken for the stream: what is written on standard error, say,
    would go into the result.
    """
    closed = []
    for handle, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(handle)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(handle, mode, encoding="utf-8", closefd=False))
            closed.append(name)
    return "standard output" if "stdout" in closed else ""


def _run(arguments: list[str]) -> int:  # noqa: PLR0911  # one return for each way to end
    try:
        if not {"-h", "--help", "--version"}.intersection(arguments):
            check_startup_memory()
        command.main(args=arguments or ["--help"], prog_name="symscreen", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        return done.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _print_error("interrupted", 130)
    except click.ClickException as error:
        return _print_error(error.format_message(), 2)
    except InputError as error:
        return _print_error(error.render(COMMAND_LINE), 2)
    except SystemExit:
        return 0  # how click ends when whoever read our output has gone
    except BrokenPipeError:
        # whoever read our output has gone; say nothing, and keep the interpreter from trying again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001  # the last line of defence, which tells whose fault it is
        if _is_out_of_memory(error):
            return _print_error("memory ran out; lower --max-ram or --jobs, or let the process have more", 2)
        if isinstance(error, OSError):
            return _print_error(f"cannot write the output ({error.strerror or error})", 2)
        traceback.print_exc()
        return _print_error("this is a fault of symscreen's own; please report it with the lines above", 1)
    return 0


def _is_out_of_memory(error: BaseException | None) -> bool:
    """Say whether memory for data, code or a thread was lacking, here or in what this error came of."""
    while error is not None:
        words = str(error)
        if (
            isinstance(error, MemoryError)
            or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
            or (isinstance(error, ImportError | OSError) and "failed to map segment" in words)
            or (isinstance(error, RuntimeError) and "can't start new thread" in words)
        ):
            return True
        error = error.__cause__ or error.__context__
    return False


def _print_error(message: str, status: int) -> int:
    click.echo(f"symscreen: {truncate_message(escape_control_chars(' '.join(message.split())))}", err=True)
    return status


class _OrderedGroup(click.Group):
    """A group that lists its verbs in their own order and knows what a misspelt one was meant to be."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            raise OptionError(f"there is no verb {args[0]!r}{suggest(args[0], self.commands)}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=_OrderedGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="symscreen", prog_name="symscreen", message="%(prog)s %(version)s")
def command() -> None:
    """Grow a space of formulas from a table, score every one, keep the few worth modelling.

    \b
    Example:
      symscreen screen data.csv --layers ub
    """


def _add_output_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give `screen` the options of its outputs; `plan` takes them, too, so that one can replace the other."""
    function = click.option(
        "--log-json", metavar="FILE", help="Append a JSON line for each stage; - is standard error."
    )(function)
    function = click.option("--force", is_flag=True, help="Overwrite existing output.")(function)
    function = bundle_option(report_option(function))
    return click.option(
        "--out",
        metavar="FILE",
        help="Write the ranking to .csv, .parquet or .json; - writes CSV to standard output.",
    )(function)


@command.command(cls=GroupedCommand)
@click.argument("data")
@add_options("screen")
@_add_output_options
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
    """Expand, score, rank and print.

    \b
    Examples:
      symscreen screen data.csv --layers ub
      symscreen screen data.csv --target yield --operators physics --screener t0,xi --out ranking.csv
      symscreen screen data.csv --layers ubb --search race --risk 1e-6
      symscreen screen data.csv --layers ub --top 200 --report report.html
      symscreen screen data.csv --layers ubb --fdr 0.05 --permutations 200 --intervals
      symscreen screen data.csv --layers ubb --checkpoint kept --time-limit 1h --out ranking.csv
      symscreen screen data.csv --ranking preference --screener t0,crit
      symscreen screen data.csv --stages viewed,liked,followed
      symscreen screen data.csv --units strict --target-units J
      symscreen screen data.csv --target time --event died
      cat data.csv | symscreen screen - --top 5
    """
    from symscreen._atomic_io import check_not_input, check_outputs_differ
    from symscreen.cli.export import check_bundle_path, write_bundle
    from symscreen.report.terminal.listings import print_table
    from symscreen.report.terminal.ranking_table import show_result
    from symscreen.results.ranking_files import (
        check_output,
        format_ranking_csv,
        is_partial_write,
        write_ranking,
    )
    from symscreen.screening import screen as screening

    outputs = {"out": out, "bundle": bundle, "report": report, "log_json": log_json}
    check_not_input(outputs.values(), list_input_files(data, options))
    check_outputs_differ(outputs | {"checkpoint": options["checkpoint"]})
    if out is not None:
        force = force or (options["checkpoint"] is not None and is_partial_write(out))
        check_output(out, force=force)
    check_bundle_path(bundle, force=force)
    check_report_path(report, force=force)
    with write_json_log(log_json), show_progress(quiet=quiet) as tell:
        result = screening.screen(data, on_progress=tell, **options)
    print_notices(result.notices, quiet=quiet)
    write_bundle(result, bundle, force=force, quiet=quiet)
    save_report(result, report, data, force=force, quiet=quiet)
    if out == "-":
        write_stdout(format_ranking_csv(result))
        return
    if out is not None:
        written = " and ".join(map(str, write_ranking(result, out, force=force)))
        print_notices((f"written: {written}",), quiet=quiet)
    print_table(show_result(result, max_rows=None if out is None else _MAX_ROWS_WITH_FILE), sys.stdout)


@command.command(cls=GroupedCommand)
@click.argument("data")
@add_options("plan")
@_add_output_options
def plan(
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
    """Count what `screen` would do, layer by layer, and predict memory and time.

    It takes the options of `screen`, and writes nothing.

    \b
    Examples:
      symscreen plan data.csv --layers ubb --operators physics
      symscreen plan data.csv --layers ubb --search sieve --max-ram 2GB
    """
    from symscreen.report.terminal.listings import print_table, show_plan
    from symscreen.screening import plan as pipeline_plan

    del out, bundle, report, log_json, force
    planned = pipeline_plan.plan(data, **options)
    print_notices(planned.notices, quiet=quiet)
    print_table(show_plan(planned), sys.stdout)


@command.command(cls=GroupedCommand)
@click.argument("data")
@add_options("fit", FitOptions)
@click.option("--out", metavar="FILE", help="Save the formula as a bundle (.json) for symscreen apply.")
@click.option("--force", is_flag=True, help="Overwrite existing output.")
@reject_target_types
def fit(data: str, out: str | None, *, force: bool, quiet: bool, **options: Any) -> None:
    """Find a formula: a weighted sum of few features, with intervals, and its rivals.

    \b
    Examples:
      symscreen fit data.csv
      symscreen fit data.csv --layers bub --split 0.5 --out model.json
      symscreen fit data.csv --target a,b --layers ub
      symscreen fit data.csv --categorical site --layers ub
      symscreen apply model.json new.csv
    """
    from pathlib import Path

    from symscreen._atomic_io import check_not_input, check_writable
    from symscreen.fitting import fit as pipeline_fit
    from symscreen.report.terminal.listings import print_table
    from symscreen.report.terminal.result_tables import (
        format_equation,
        format_equations,
        show_fit,
        show_shared_fit,
    )
    from symscreen.results.fit_result import SharedFitResult

    check_not_input((out,), list_input_files(data, options))
    if out is not None and out != "-":
        check_writable(Path(out), force=force)
    result = pipeline_fit.fit(data, **options)
    print_notices(result.notices, quiet=quiet)
    if out is not None:
        result.save(out, force=force)
        if out == "-":
            return
        print_notices((f"written: {out}",), quiet=quiet)
    # each whole, however long: they are read by programs, too
    if isinstance(result, SharedFitResult):
        click.echo("\n".join(format_equations(result)))
        print_table(show_shared_fit(result), sys.stdout)
        return
    click.echo(format_equation(result))
    print_table(show_fit(result), sys.stdout)


@command.command()
@click.argument("bundle")
@click.argument("data")
@click.option("--out", metavar="FILE", default="-", show_default=True, help="A .csv; - is standard output.")
@click.option("--force", is_flag=True, help="Overwrite existing output.")
def apply(bundle: str, data: str, out: str, *, force: bool) -> None:
    """Compute a saved formula, or saved features, on new data.

    \b
    Example:
      symscreen apply model.json new.csv --out predicted.csv
    """
    from pathlib import Path

    from symscreen._atomic_io import check_not_input, check_writable, write_atomically
    from symscreen.export import apply_bundle
    from symscreen.results.ranking_files import format_csv

    check_not_input((out,), (bundle, data))
    if out != "-":
        check_writable(Path(out), force=force)
    text = format_csv(apply_bundle(bundle, data))
    if out == "-":
        write_stdout(text)
        return
    write_atomically(Path(out), text.encode(errors="backslashreplace"), force=force)


command.add_command(classes)
command.add_command(export)
command.add_command(evaluate)
command.add_command(power)
command.add_command(report)
command.add_command(reproduce)
command.add_command(why)


@command.command()
@click.argument("grammar", metavar="[NAME|FILE]", required=False)
def operators(grammar: str | None) -> None:
    """List all operators, or check and show a grammar.

    \b
    Examples:
      symscreen operators
      symscreen operators physics
      symscreen operators my-grammar.toml
    """
    from symscreen.grammar import OPERATORS, list_grammar_names, load_grammar
    from symscreen.plugins import find_plugins
    from symscreen.report.terminal.listings import print_table, show_grammar, show_operators

    if grammar is not None:
        print_table(show_grammar(load_grammar(grammar)), sys.stdout)
        return
    print_table(show_operators(OPERATORS.values()), sys.stdout)
    click.echo(f"\ngrammars: {', '.join(list_grammar_names())} (symscreen operators NAME shows one)")
    for further in find_plugins("grammar", list_grammar_names()):
        click.echo(
            f"grammar {further.name} of {further.origin}" if not further.conflict else further.conflict
        )


@command.command()
def screeners() -> None:
    """List the screeners: what each assumes, when it fails, its cost and source.

    \b
    Example:
      symscreen screeners
    """
    from symscreen.report.terminal.listings import print_table, show_plugins, show_screeners
    from symscreen.screeners import SCREENERS

    print_table(show_screeners(SCREENERS.values()), sys.stdout)
    print_table(show_plugins(), sys.stdout)
