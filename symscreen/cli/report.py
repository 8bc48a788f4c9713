"""The report of a screen: its option, and the verb that makes it of a stored result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from symscreen.cli.output import print_notices
from symscreen.errors import OptionError

if TYPE_CHECKING:
    from symscreen.results.screen_result import ScreenResult


report_option = click.option(
    "--report", metavar="FILE", help="Write a report: one .html that needs nothing else."
)


def check_report_path(report: str | None, *, force: bool) -> None:
    """Refuse, before any work is done, a report that could not be written after it."""
    from symscreen.report.html_page import check_report

    if report is None:
        return
    if report == "-":
        raise OptionError("--report needs a file's name: standard output is the ranking's")
    check_report(report, force=force)


def save_report(result: ScreenResult, report: str | None, data: str, *, force: bool, quiet: bool) -> None:
    """Write the report, if one was asked for."""
    from symscreen.report.html_page import write_report

    if report is None:
        return
    write_report(result, report, data=data, force=force)
    print_notices((f"written: {report}",), quiet=quiet)


@click.command()
@click.argument("result")
@click.option(
    "--data", metavar="DATA", help="The data that were screened; without them nothing is drawn of rows."
)
@click.option("--out", metavar="FILE", required=True, help="One .html that needs nothing else.")
@click.option("--force", is_flag=True, help="Overwrite existing output.")
@click.option("--quiet", is_flag=True, help="No notices.")
def report(result: str, data: str | None, out: str, *, force: bool, quiet: bool) -> None:
    """Write the report of a ranking that was stored before.

    It is the one that screen --report would have written. Nothing is scored again: what needs the rows (the
    response against each feature, what is most like what) is there with --data only.

    \b
    Examples:
      symscreen screen data.csv --layers ub --out ranking.csv
      symscreen report ranking.csv --data data.csv --out report.html
      symscreen report ranking.csv --out without-rows.html
    """
    from symscreen._atomic_io import check_not_input
    from symscreen.report.html_page import check_report
    from symscreen.results.ranking_reader import report_damaged_record
    from symscreen.screening.stored_screens import load_result

    if out == "-":
        raise OptionError("--out needs a file's name that ends in .html")
    check_not_input((out,), (result, data))
    check_report(out, force=force)
    stored = load_result(result, data)
    print_notices(stored.notices, quiet=quiet)
    with report_damaged_record(result):
        save_report(stored, out, data or "DATA", force=force, quiet=quiet)
