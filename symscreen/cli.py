"""The command line: parse, call the pipeline, print. Nothing heavy is imported before a verb runs."""

from __future__ import annotations

import io
import os
import re
import sys
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from symscreen.errors import InputError, OptionError, nearest, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["main"]

_ROWS_BESIDE_A_FILE = 20
_NAME = re.compile(r"\s*(?:`((?:[^`]|``)*)`|([^,`]*))\s*(?:,|$)")


def main() -> None:
    """Run the command line and exit.

    Exit status 0: done; 2: the user's input is at fault, told in one line; 130: interrupted; 1: a fault of
    symscreen's own.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a pipe may not know every letter
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: list[str]) -> int:  # noqa: PLR0911  # one return for each way to end
    try:
        command.main(args=arguments or ["--help"], prog_name="symscreen", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        return done.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _complain("interrupted", 130)
    except click.ClickException as error:
        return _complain(error.format_message(), 2)
    except InputError as error:
        return _complain(str(error), 2)
    except SystemExit:
        return 0  # how click ends when whoever read our output has gone
    except BrokenPipeError:
        # whoever read our output has gone; say nothing, and keep the interpreter from trying again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _complain(f"cannot write the output ({error.strerror})", 2)
    except Exception:  # noqa: BLE001  # the last line of defence, which tells whose fault it is
        traceback.print_exc()
        return _complain("this is a fault of symscreen's own; please report it with the lines above", 1)
    return 0


def _complain(message: str, status: int) -> int:
    click.echo(f"symscreen: {printable(' '.join(message.split()))}", err=True)
    return status


class _Verbs(click.Group):
    """A group that lists its verbs in their own order and knows what a misspelt one was meant to be."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            raise OptionError(f"there is no verb {args[0]!r}{nearest(args[0], self.commands)}")
        return super().resolve_command(ctx, args)


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="symscreen", prog_name="symscreen", message="%(prog)s %(version)s")
def command() -> None:
    """Grow a space of formulas from a table, score every one, keep the few worth modelling.

    \b
    Example:
      symscreen screen data.csv --layers ub
    """


def _names(ctx: click.Context, parameter: click.Parameter, text: str | None) -> tuple[str, ...] | None:
    """Split ``a,b`` into names; a name with a comma stands in backticks."""
    del ctx
    if text is None:
        return None
    names, place = [], 0
    while place < len(text):
        match = _NAME.match(text, place)
        if match is None:
            where = f"--{parameter.name}: cannot split {text!r} at character {place + 1}"
            raise OptionError(f"{where}; write a,b or `a,b`,c")
        quoted, bare = match.groups()
        names.append(bare.strip() if quoted is None else quoted.replace("``", "`"))
        place = match.end()
    return tuple(names)


def _top(ctx: click.Context, parameter: click.Parameter, text: str) -> int | str:
    del ctx, parameter
    if text == "all":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise OptionError(f"--top is {text!r}; give a whole number of at least 1, or all")
    return int(text)


# fmt: off
_SPACE_OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option("--target", metavar="COL", help="The response; else target, label, y or the last."),
    click.option("--inputs", metavar="A,B", callback=_names, help="Use these columns only."),
    click.option("--exclude", metavar="A,B", callback=_names, default="",
                 help="Leave these columns out."),
    click.option("--missing", type=click.Choice(["refuse", "drop"]), default="refuse", show_default=True,
                 help="What to do with rows that have missing values."),
    click.option("--layers", metavar="SPEC",
                 help="'ub', or 'u[sin,square] b[add,sub]'; else the grammar's own."),
    click.option("--operators", metavar="NAME|FILE", default="basic", show_default=True,
                 help="A grammar: a shipped one or a TOML file."),
    click.option("--unary", metavar="a,b", help="Unary operators instead of the grammar's."),
    click.option("--binary", metavar="a,b", help="Binary operators instead of the grammar's."),
    click.option("--pool", type=click.Choice(["cumulative", "strict"]), default="cumulative",
                 show_default=True, help="Add a layer's output to the pool, or replace it."),
    click.option("--max-complexity", metavar="C", type=int, help="The highest complexity of a feature."),
    click.option("--max-ram", metavar="SIZE", help="Memory that may be used, such as 2GB."),
    click.option("--quiet", is_flag=True, help="No progress and no notices."),
)
# fmt: on


def _space_options(function: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_SPACE_OPTIONS):
        function = option(function)
    return function


# fmt: off
_SCREENER_OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option("--screener", metavar="t0[,xi,…]", default="t0", show_default=True,
                 help="One or more screeners, such as t0,lasso[folds=5]; the first one ranks."),
    click.option("--prescreen", metavar="M", type=int,
                 help="Show joint screeners the best M features; else 1000."),
    click.option("--rule", metavar="RULE", help="Short for that setting: bart[rule=gse]."),
    click.option("--engine", metavar="NAME", help="Short for that setting: lasso[engine=glmnet]."),
    click.option("--keep", metavar="K|u:K,b:K",
                 help="Cut the pool to its best K after each layer but the last."),
    click.option("--cut", metavar="t0,xi", help="Who cuts; else t0 and xi, united."),
    click.option("--rounds", metavar="R", type=int, default=1, show_default=True,
                 help="Screen R times, each but the first what the best model leaves."),
    click.option("--seed", metavar="S", type=int, default=0, show_default=True,
                 help="For folds, trees and permutations."),
)
# fmt: on


def _screener_options(function: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_SCREENER_OPTIONS):
        function = option(function)
    return function


@command.command()
@click.argument("data")
@_space_options
@_screener_options
@click.option(
    "--sign",
    type=click.Choice(["free", "positive"]),
    default="free",
    show_default=True,
    help="Whether falling with the response is as good as rising.",
)
@click.option(
    "--top",
    metavar="K",
    default="20",
    show_default=True,
    callback=_top,
    help="How many classes to show; all shows every feature, unmerged.",
)
@click.option(
    "--also", metavar="EXPR", multiple=True, help="A formula of your own to score too; may be repeated."
)
@click.option(
    "--out",
    metavar="FILE",
    help="Write the ranking to .csv, .parquet or .json; - writes CSV to standard output.",
)
@click.option("--force", is_flag=True, help="Overwrite existing output.")
@click.option("--jobs", metavar="N", type=int, help="Threads; the answer does not depend on it.")
@click.option(
    "--chunk-size", metavar="N", type=int, help="Candidates a task; the answer does not depend on it."
)
def screen(data: str, out: str | None, *, force: bool, quiet: bool, **options: Any) -> None:  # fmt: skip
    """Expand, score, rank and print.

    \b
    Examples:
      symscreen screen data.csv --layers ub
      symscreen screen data.csv --target yield --operators physics --screener t0,xi --out ranking.csv
      cat data.csv | symscreen screen - --top 5
    """
    from symscreen import pipeline
    from symscreen.report.files import check_output, ranking_as_csv, write_ranking
    from symscreen.report.ranking import show_result
    from symscreen.report.terminal import print_table

    if out is not None:
        check_output(out, force=force)
    with _progress(quiet=quiet) as progress:
        result = pipeline.screen(data, progress=progress, **options)
    _notify(result.notices, quiet=quiet)
    if out == "-":
        click.echo(ranking_as_csv(result), nl=False)
        return
    if out is not None:
        written = " and ".join(map(str, write_ranking(result, out, force=force)))
        _notify((f"written: {written}",), quiet=quiet)
    print_table(show_result(result, rows=None if out is None else _ROWS_BESIDE_A_FILE), sys.stdout)


@command.command()
@click.argument("data")
@_space_options
def plan(data: str, *, quiet: bool, **options: Any) -> None:
    """Count what `screen` would do, layer by layer; runs nothing.

    \b
    Example:
      symscreen plan data.csv --layers ubb --operators physics
    """
    from symscreen import pipeline
    from symscreen.report.terminal import print_table, show_plan

    planned = pipeline.plan(data, **options)
    _notify(planned.notices, quiet=quiet)
    print_table(show_plan(planned), sys.stdout)


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
    from symscreen.grammar import OPERATORS, grammar_names, load_grammar
    from symscreen.report.terminal import print_table, show_grammar, show_operators

    if grammar is not None:
        print_table(show_grammar(load_grammar(grammar)), sys.stdout)
        return
    print_table(show_operators(OPERATORS.values()), sys.stdout)
    click.echo(f"\ngrammars: {', '.join(grammar_names())} (symscreen operators NAME shows one)")


@command.command()
def screeners() -> None:
    """List the screeners: what each assumes, when it fails, its cost and source.

    \b
    Example:
      symscreen screeners
    """
    from symscreen.report.terminal import print_table, show_screeners
    from symscreen.screeners import SCREENERS

    print_table(show_screeners(SCREENERS.values()), sys.stdout)


def _notify(notices: tuple[str, ...], *, quiet: bool) -> None:
    if not quiet:
        for notice in notices:
            click.echo(f"symscreen: {notice}", err=True)


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Show features done, rate and time left on a terminal; nothing in a pipe."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn("scoring"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("scoring", total=None, rate="")

        def update(done: int, total: int) -> None:
            speed = bar.tasks[0].speed
            bar.update(task, completed=done, total=total, rate=f"{speed:,.0f}/s" if speed else "")

        yield update
