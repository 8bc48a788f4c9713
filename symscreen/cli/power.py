"""The verb that asks what the data could find."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from symscreen.cli.options import cut_options, read_ratios, refuse_response, space_options, unit_options
from symscreen.cli.output import emit, files_of, notify, progress_bar
from symscreen.cli.targets import category_options

__all__ = ["power"]


@click.command()
@click.argument("data")
@click.option("--truth", metavar="EXPR", required=True, help="The formula that makes the response.")
@click.option(
    "--noise-ratio",
    metavar="R,…",
    default="0,0.01,0.1,1",
    show_default=True,
    callback=read_ratios,
    help="The noise's standard deviation over the root mean square of the truth.",
)
@click.option(
    "--repeats", metavar="R", type=int, default=100, show_default=True, help="How often noise is drawn."
)
@click.option("--feature", metavar="EXPR", help="What is to be found, where it is not the whole truth.")
@category_options
@space_options
@unit_options
@click.option(
    "--screener", metavar="NAME", default="t0", show_default=True, help="The column screener that ranks."
)
@click.option(
    "--sign", type=click.Choice(["free", "positive"]), default="free", show_default=True, help="As of screen."
)
@click.option("--top", metavar="K", type=int, default=20, show_default=True, help="Found: among the best K.")
@click.option("--also", metavar="EXPR", multiple=True, help="A formula of your own in the space.")
@cut_options
@click.option("--seed", metavar="S", type=int, default=0, show_default=True, help="For the noise.")
@click.option("--jobs", metavar="N", type=int, help="Threads; the answer does not depend on it.")
@click.option("--out", metavar="FILE", help="Write the table as .csv; - is standard output.")
@click.option("--force", is_flag=True, help="Overwrite existing output.")
@click.option("--ranking", hidden=True, expose_value=False, callback=refuse_response)
@click.option("--stages", hidden=True, expose_value=False, callback=refuse_response)
@click.option("--event", hidden=True, expose_value=False, callback=refuse_response)
def power(data: str, out: str | None, *, force: bool, quiet: bool, **options: Any) -> None:
    """Plant a formula on your columns, and say how often a screen finds it under noise.

    \b
    Examples:
      symscreen power data.csv --truth "x1*x2" --layers ub
      symscreen power data.csv --truth "2*x1**3 + 5*x3" --feature "x1**3" --noise-ratio 0,0.1,1
    """
    from symscreen.export import check_apart, check_free, write_whole
    from symscreen.pipeline import power as pipeline_power
    from symscreen.report.files import frame_as_csv
    from symscreen.report.power import show_power
    from symscreen.report.terminal import print_table

    check_apart((out,), files_of(data, options))
    if out is not None and out != "-":
        check_free(Path(out), force=force)
    with progress_bar(quiet=quiet) as progress:
        found = pipeline_power.power(data, progress=progress, **options)
    notify(found.notices, quiet=quiet)
    if out == "-":
        emit(frame_as_csv(found.table))
        return
    if out is not None:
        write_whole(Path(out), frame_as_csv(found.table).encode(), force=force)
        notify((f"written: {out}",), quiet=quiet)
    print_table(show_power(found), sys.stdout)
