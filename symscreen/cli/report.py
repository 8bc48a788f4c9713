"""The verb `report`: write the HTML page of a stored ranking."""

from __future__ import annotations

import click

from symscreen.cli.options import complete_files, force_option
from symscreen.cli.output import print_notices
from symscreen.errors import OptionError


@click.command()
@click.argument("result", shell_complete=complete_files)
@click.option(
    "--data", metavar="DATA", help="The data that were screened; without them nothing is drawn of rows."
)
@click.option("-o", "--out", metavar="FILE", required=True, help="One .html that needs nothing else.")
@force_option
@click.option("-q", "--quiet", is_flag=True, help="No notices.")
def report(result: str, data: str | None, out: str, *, force: bool, quiet: bool) -> None:
    """Write the HTML report of a stored ranking.

    It is the page that screen --report would have written. Nothing is scored again. What needs the rows (the
    target against each feature, and which features are alike) is drawn with --data only.

    \b
    Examples:
      symscreen screen data.csv --layers ub --out ranking.csv
      symscreen report ranking.csv --data data.csv --out report.html
      symscreen report ranking.csv --out without-rows.html
    """
    from symscreen._atomic_io import check_not_input
    from symscreen.report.html_page import write_report
    from symscreen.report.page_template import check_report
    from symscreen.results.ranking_reader import report_damaged_record
    from symscreen.screening.stored_screens import load_result

    if out == "-":
        raise OptionError("--out needs a file's name that ends in .html")
    check_not_input((out,), (result, data))
    check_report(out, force=force)
    stored = load_result(result, data)
    print_notices(stored.notices, quiet=quiet)
    with report_damaged_record(result):
        write_report(stored, out, data=data or "DATA", force=force)
    print_notices((f"written: {out}",), quiet=quiet)
