"""The command `symscreen`: it imports a verb when it runs, and turns errors into exit statuses."""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
import traceback
from importlib import import_module
from pathlib import Path

import click

from symscreen._limits import check_startup_memory
from symscreen.errors import InputError, OptionError
from symscreen.messages import COMMAND_LINE, escape_control_chars, suggest, truncate_message

_COLLECTED_OBJECTS = 20_000  # Python's own threshold makes a start look through all that it imports
VERBS = {  # by verb, in the order of the help: the module in this package with the function of this name
    "init": "study",
    "run": "study",
    "inputs": "inputs",
    "screen": "screen",
    "plan": "screen",
    "why": "screen",
    "fit": "fit",
    "ode": "ode",
    "apply": "fit",
    "classes": "classes",
    "power": "power",
    "evaluate": "evaluate",
    "report": "report",
    "explore": "explore",
    "export": "export",
    "reproduce": "reproduce",
    "operators": "registries",
    "screeners": "registries",
}


def main() -> None:
    """Run the command line and exit.

    Exit status 0: done; 2: the user's input is at fault, in one line; 130: interrupted; 1: a fault of
    symscreen's own.
    """
    gc.set_threshold(_COLLECTED_OBJECTS)
    closed = _ensure_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a pipe may lack characters
    if closed:
        sys.exit(_print_error(f"{closed} is closed: open it, for instance to /dev/null", 2))
    sys.exit(run_command(sys.argv[1:]))


def _ensure_standard_streams() -> str:
    """Replace closed streams by the null device; return the name of one that is needed.

    Otherwise the first file that is opened takes the place of the stream: text for standard error, say, would
    go into the result.
    """
    closed = []
    for handle, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(handle)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free handle
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(handle, mode, encoding="utf-8", closefd=False))
            closed.append(name)
    return "standard output" if "stdout" in closed else ""


def run_command(arguments: list[str]) -> int:  # noqa: PLR0911  # one return for each way to end
    """Run a command line; return its exit status."""
    try:
        if not {"-h", "--help", "--help-all", "--version"}.intersection(arguments):
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
        return 0  # how click ends when the reader of our output has gone
    except BrokenPipeError:
        # the reader of our output has gone: say nothing, and keep the interpreter from trying again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001  # the last line of defence
        if _is_out_of_memory(error):
            return _print_error("memory ran out; lower --max-ram or --jobs, or let the process have more", 2)
        if isinstance(error, OSError):
            return _print_error(f"cannot write the output ({error.strerror or error})", 2)
        traceback.print_exc()
        return _print_error("this is a fault of symscreen's own; please report it with the lines above", 1)
    return 0


def _is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether an error, or one that caused it, is a lack of memory for data, code or a thread."""
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


class _VerbGroup(click.Group):
    """The verbs in the order of `VERBS`, imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in VERBS:
            return None
        command: click.Command = getattr(import_module(f"symscreen.cli.{VERBS[cmd_name]}"), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in VERBS:
            if _is_file_name(args[0]):
                return super().resolve_command(ctx, ["run", *args])
            raise OptionError(f"there is no verb {args[0]!r}{suggest(args[0], VERBS)}")
        return super().resolve_command(ctx, args)


def _is_file_name(word: str) -> bool:
    """Return whether a word in the place of a verb names a file: it exists, or is written as no verb is."""
    return any(mark in word for mark in ".*/\\:") or Path(word).exists()


@click.group(
    cls=_VerbGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="symscreen", prog_name="symscreen", message="%(prog)s %(version)s")
def command() -> None:
    """Grow a space of formulas from a table, score every one, keep the few worth modelling.

    With a table alone, show the best formulas and search for the law.

    \b
    Examples:
      symscreen data.csv
      symscreen screen data.csv --layers ub
    """
