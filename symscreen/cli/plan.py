"""The verb `plan`: what `screen` would do."""

from __future__ import annotations

from typing import Any

import click

from symscreen.cli.options import GroupedCommand, add_options, add_output_options
from symscreen.cli.output import print_notices


@click.command(cls=GroupedCommand)
@click.argument("data")
@add_options("plan")
@add_output_options(expose_value=False)
def plan(data: str, *, quiet: bool, **options: Any) -> None:
    """Count the features of each layer, and predict memory and time.

    It takes the options of `screen`, and writes nothing.

    \b
    Examples:
      symscreen plan data.csv --layers ubb --operators physics
      symscreen plan data.csv --layers ubb --search sieve --max-ram 2GB
    """
    from symscreen.report.terminal.listings import print_table, show_plan
    from symscreen.screening.plan import plan as plan_screen

    planned = plan_screen(data, **options)
    print_notices(planned.notices, quiet=quiet)
    print_table(show_plan(planned))
