"""The verb that asks what the data could find."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from symscreen.cli.options import GroupedCommand, add_options, parse_ratios, reject_target_types
from symscreen.cli.output import list_input_files, open_progress_bar, print_notices, write_stdout


@click.command(cls=GroupedCommand)
@click.argument("data")
@click.option("--truth", metavar="EXPR", required=True, help="The formula that makes the response.")
@click.option(
    "--noise-ratio",
    metavar="R,…",
    default="0,0.01,0.1,1",
    show_default=True,
    callback=parse_ratios,
    help="The noise's standard deviation over the root mean square of the truth.",
)
@click.option(
    "--repeats", metavar="R", type=int, default=100, show_default=True, help="How often noise is drawn."
)
@click.option("--feature", metavar="EXPR", help="What is to be found, where it is not the whole truth.")
@add_options(
    "power",
    help_texts={
        "screener": "The column screener that ranks.",
        "top": "A feature counts as found among the best K classes.",
        "also": "A formula of yours in the space; may be repeated.",
        "seed": "The seed of the noise.",
    },
)
@click.option("--out", metavar="FILE", help="Write the table as .csv; - is standard output.")
@click.option("--force", is_flag=True, help="Overwrite existing output.")
@reject_target_types
def power(data: str, out: str | None, *, force: bool, quiet: bool, **options: Any) -> None:
    """Plant a formula on your columns, and say how often a screen finds it under noise.

    \b
    Examples:
      symscreen power data.csv --truth "x1*x2" --layers ub
      symscreen power data.csv --truth "2*x1**3 + 5*x3" --feature "x1**3" --noise-ratio 0,0.1,1
    """
    from symscreen._atomic_io import check_not_input, check_writable, write_atomically
    from symscreen.report.terminal.listings import print_table
    from symscreen.report.terminal.result_tables import show_power
    from symscreen.results.ranking_files import format_csv
    from symscreen.screening import power as pipeline_power

    check_not_input((out,), list_input_files(data, options))
    if out is not None and out != "-":
        check_writable(Path(out), force=force)
    with open_progress_bar(quiet=quiet) as progress:
        found = pipeline_power.power(data, progress=progress, **options)
    print_notices(found.notices, quiet=quiet)
    if out == "-":
        write_stdout(format_csv(found.table))
        return
    if out is not None:
        write_atomically(Path(out), format_csv(found.table).encode(), force=force)
        print_notices((f"written: {out}",), quiet=quiet)
    print_table(show_power(found), sys.stdout)
