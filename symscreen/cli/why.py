"""The verb `why`: where a formula stands in a screen, or why it is not there."""

from __future__ import annotations

import sys
from typing import Any

import click

from symscreen.cli.options import (
    error_options,
    ranking_option,
    read_top,
    screener_options,
    search_options,
    space_options,
    stages_options,
    trust_options,
    unit_options,
)
from symscreen.cli.output import notify
from symscreen.cli.targets import target_options, weights_option

__all__ = ["why"]


@click.command()
@click.argument("data")
@click.argument("expression", metavar="EXPR")
@ranking_option
@stages_options
@target_options
@weights_option
@space_options
@unit_options
@screener_options
@click.option(
    "--sign", type=click.Choice(["free", "positive"]), default="free", show_default=True, help="As of screen."
)
@click.option(
    "--top",
    metavar="K",
    default="20",
    show_default=True,
    callback=read_top,
    help="As of screen: a rank counts classes, or with all every feature.",
)
@search_options
@error_options
@trust_options
@click.option("--also", metavar="EXPR", multiple=True, help="As of screen.")
@click.option("--jobs", metavar="N", type=int, help="Threads; the answer does not depend on it.")
@click.option(
    "--chunk-size", metavar="N", type=int, help="Candidates a task; the answer does not depend on it."
)
def why(data: str, expression: str, *, quiet: bool, **options: Any) -> None:
    """Say where a formula stands in a screen with the same options, or why it is not there.

    Options that only add figures to a ranking, or leave entries out of what it shows, change no rank: it is
    told whether --distinct or --fdr leave the formula out.

    \b
    Examples:
      symscreen why data.csv "x1*(x2 + x3)" --layers ub
      symscreen why data.csv "log(x1 - x2)" --layers bub --keep 50
      symscreen why data.csv --layers ub -- "-x1"
      symscreen why data.csv "x1/x2" --stages viewed,liked,followed
    """
    from rich.text import Text

    from symscreen.errors import printable
    from symscreen.report.terminal import print_table
    from symscreen.whereabouts import why as answer

    found = answer(data, expression, **options)
    notify(found.notices, quiet=quiet)
    print_table(Text("\n".join(map(printable, found.text.splitlines()))), sys.stdout)
