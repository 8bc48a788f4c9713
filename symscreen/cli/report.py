"""The report of a screen: its option, and what refuses it before any work is done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from symscreen.cli.output import notify
from symscreen.errors import OptionError

if TYPE_CHECKING:
    from symscreen.result import ScreenResult

__all__ = ["check_report_free", "report_option", "save_report"]

report_option = click.option(
    "--report", metavar="FILE", help="Write a report: one .html that needs nothing else."
)


def check_report_free(report: str | None, *others: str | None, force: bool) -> None:
    """Refuse, before any work is done, a report that could not be written after it."""
    from symscreen.report.page import check_report

    if report is None:
        return
    if report == "-":
        raise OptionError("--report needs a file's name: standard output is the ranking's")
    if Path(report).absolute() in {Path(other).absolute() for other in others if other is not None}:
        raise OptionError(f"--report {report} is a file that another option writes too; give it another name")
    check_report(report, force=force)


def save_report(result: ScreenResult, report: str | None, data: str, *, force: bool, quiet: bool) -> None:
    """Write the report, if one was asked for."""
    from symscreen.report.page import write_report

    if report is None:
        return
    write_report(result, report, data=data, force=force)
    notify((f"written: {report}",), quiet=quiet)
