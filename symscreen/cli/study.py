"""The verbs of studies: `init` writes a study file for a table, and `run` runs one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symscreen.cli.options import GroupedCommand, add_study_options, complete_files, force_option
from symscreen.cli.output import (
    check_output_path,
    print_notices,
    show_fit_progress,
    show_progress,
    write_stdout,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


@click.command(cls=GroupedCommand)
@click.argument("data", shell_complete=complete_files)
@add_study_options
@click.option(
    "--out",
    metavar="FILE",
    default="study.toml",
    show_default=True,
    help="The study file to write; - is standard output.",
)
@force_option
@click.option("-q", "--quiet", is_flag=True, help="Write no notices.")
def init(data: str, out: str, given: Mapping[str, Any], *, force: bool, quiet: bool) -> None:
    """Look at a table and write a study file.

    The file names the target, the inputs and the options of a screen and a fit, with a comment for each.
    Change it as you like, then run it.

    \b
    Examples:
      symscreen init data.csv
      symscreen run study.toml
      symscreen init data.csv --target yield --operators physics --out yield.toml
    """
    from symscreen._atomic_io import write_atomically
    from symscreen.studies import format_study, propose_study

    check_output_path(out, (data,), force=force)
    folder = Path() if out == "-" else Path(out).parent
    study, notes, _ = propose_study(data, given, folder)
    print_notices(study.notices, quiet=quiet)
    text = format_study(study, notes)
    if out == "-":
        write_stdout(text)
        return
    write_atomically(Path(out), text.encode(errors="backslashreplace"), force=force)
    print_notices((f"written: {out}",), quiet=quiet)


@click.command(cls=GroupedCommand)
@click.argument("study", metavar="STUDY|DATA", shell_complete=complete_files)
@add_study_options
@click.option("--report", metavar="FILE", help="Write the report to this file, not to that of the study.")
@force_option
@click.option("-q", "--quiet", is_flag=True, help="Write no progress and no notices.")
def run(study: str, report: str | None, given: Mapping[str, Any], *, force: bool, quiet: bool) -> None:
    """Run a study file: screen, fit and report.

    A file of a table is run as the study that init would write of it. The options replace those of the file,
    in each step that has them; the defaults shown hold where neither gives a value. The word run may be left
    out.

    \b
    Examples:
      symscreen init data.csv
      symscreen run study.toml
      symscreen study.toml --top 50 --report best50.html
      symscreen data.csv
    """
    from symscreen.cli.fit import print_fit
    from symscreen.report.terminal.listings import print_table
    from symscreen.report.terminal.ranking_table import build_ranking_tables
    from symscreen.studies.study_run import (
        check_study_outputs,
        open_study,
        run_fit_step,
        run_screen_step,
        write_study_outputs,
    )

    opened, frame = open_study(study, given)
    if report is not None:
        opened = opened.redirect("report", report)
    check_study_outputs(opened, study, force=force)
    print_notices(opened.notices, quiet=quiet)
    with show_progress(quiet=quiet) as on_screen_progress:
        screened = run_screen_step(opened, frame, on_screen_progress)
    if screened is not None:
        print_notices(_drop_repeated(screened.notices, opened.notices), quiet=quiet)
        print_table(build_ranking_tables(screened))
    with show_fit_progress(quiet=quiet) as on_fit_progress:
        fitted = run_fit_step(opened, frame, on_fit_progress)
    if fitted is not None:
        printed = opened.notices if screened is None else (*opened.notices, *screened.notices)
        print_notices(_drop_repeated(fitted.notices, printed), quiet=quiet)
        click.echo()
        print_fit(fitted)
    written = write_study_outputs(opened, screened, fitted, force=force)
    print_notices(tuple(f"written: {path}" for path in written), quiet=quiet)


def _drop_repeated(notices: tuple[str, ...], printed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the notices that were not printed before."""
    return tuple(notice for notice in notices if notice not in printed)
