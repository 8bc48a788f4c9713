"""The verb `power`: find out which formulas the data could show."""

from __future__ import annotations

from typing import Any

import click

from symscreen.cli.options import (
    GroupedCommand,
    add_options,
    complete_files,
    force_option,
    parse_ratios,
    reject_target_types,
)
from symscreen.cli.output import (
    check_output_path,
    list_input_files,
    open_progress_bar,
    print_notices,
    write_output,
)


@click.command(cls=GroupedCommand)
@click.argument("data", shell_complete=complete_files)
@click.option("--truth", metavar="EXPR", required=True, help="The formula that makes the target.")
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
        "top": "A feature counts as found if it is among the best K distinct ones.",
        "also": "A formula of yours in the space; may be repeated.",
        "seed": "The seed of the noise.",
    },
    rare={"missing"},
)
@click.option("-o", "--out", metavar="FILE", help="Write the table as .csv; - is standard output.")
@force_option
@reject_target_types
def power(data: str, out: str | None, *, force: bool, quiet: bool, **options: Any) -> None:
    """Say how often a screen would find a formula under noise.

    A target is made from the formula on your columns, noise is added, and the space is screened.

    \b
    Examples:
      symscreen power data.csv --truth "x1*x2" --layers ub
      symscreen power data.csv --truth "x1*x2" --noise-ratio 0,0.1,1
      symscreen power data.csv --truth "2*x1**3 + 5*x3" --feature "x1**3"
    """
    from symscreen.report.terminal.listings import print_table
    from symscreen.report.terminal.result_tables import build_power_table
    from symscreen.results.ranking_files import format_csv
    from symscreen.screening.power import power as compute_power

    check_output_path(out, list_input_files(data, options), force=force)
    with open_progress_bar(quiet=quiet) as progress:
        result = compute_power(data, progress=progress, **options)
    print_notices(result.notices, quiet=quiet)
    if write_output(out, format_csv(result.table), force=force, quiet=quiet):
        print_table(build_power_table(result))
