"""The verb `ode`: find differential equations behind measured trajectories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import click

from symscreen.cli.options import GroupedCommand, add_options, force_option
from symscreen.cli.output import check_output_path, print_notices, write_output
from symscreen.config.ode_options import OdeOptions

if TYPE_CHECKING:
    from symscreen.config.keyword_types import OdeKeywords


@click.command(cls=GroupedCommand)
@click.argument("data")
@add_options("ode", OdeOptions)
@click.option("--out", metavar="FILE", help="Save the equations and how they were found, as .json.")
@force_option
def ode(data: str, out: str | None, *, force: bool, quiet: bool, **options: Any) -> None:
    """Find the differential equations behind measured trajectories.

    It prints one equation for each state, the constants with intervals, and systems that fit about as well.

    \b
    Examples:
      symscreen ode runs.csv --time t --states x,y --trajectory run
      symscreen ode pendulum.csv --time t --states angle --derivative-order 2
      symscreen ode tank.csv --states level --inputs valve --out tank.json
    """
    from symscreen.dynamics.discovery import prepare_discovery, run_discovery
    from symscreen.report.terminal.listings import print_table
    from symscreen.report.terminal.system_tables import show_system

    check_output_path(out, (data,), force=force)
    result = run_discovery(prepare_discovery(data, cast("OdeKeywords", options)))
    print_notices(result.notices, quiet=quiet)
    if write_output(out, result.to_json(), force=force, quiet=quiet):
        click.echo("\n".join(result.equations))
        print_table(show_system(result))
