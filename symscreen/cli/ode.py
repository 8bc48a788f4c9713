"""The verb `ode`: find differential equations behind measured trajectories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import click

from symscreen.cli.options import GroupedCommand, add_options, complete_files, force_option
from symscreen.cli.output import check_output_path, list_input_files, print_notices, write_output
from symscreen.config.ode_options import OdeOptions
from symscreen.errors import OptionError

if TYPE_CHECKING:
    from symscreen.config.keyword_types import OdeKeywords


@click.command(cls=GroupedCommand)
@click.argument("data", shell_complete=complete_files)
@add_options("ode", OdeOptions)
@click.option("-o", "--out", metavar="FILE", help="Save the equations and how they were found, as .json.")
@click.option("--bundle", metavar="FILE", help="Save the equations as a bundle (.json) for symscreen apply.")
@click.option("--report", metavar="FILE", help="Write a report as one .html file.")
@force_option
def ode(
    data: str,
    out: str | None,
    bundle: str | None,
    report: str | None,
    *,
    force: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Find the differential equations behind measured trajectories.

    It prints one equation for each state, the constants with intervals, and systems that fit about as well.

    \b
    Examples:
      symscreen ode runs.csv --time t --states x,y --trajectory run
      symscreen ode pendulum.csv --time t --states angle --derivative-order 2
      symscreen ode tank.csv --states level --inputs valve --out tank.json
      symscreen ode runs.csv --states x,y --bundle law.json --report law.html
      symscreen apply law.json new.csv
    """
    from symscreen.dynamics.discovery import prepare_discovery, run_discovery
    from symscreen.report.page_template import check_report
    from symscreen.report.system_page import write_system_report
    from symscreen.report.terminal.listings import print_table
    from symscreen.report.terminal.system_tables import build_system_tables

    outputs = [path for path in (out, bundle, report) if path is not None]
    for path in outputs:
        check_output_path(path, list_input_files(data, options), force=force)
    if len(set(outputs)) < len(outputs):
        raise OptionError("two of --out, --bundle and --report are the same; give them different names")
    if report is not None:
        check_report(report, force=force)
    result = run_discovery(prepare_discovery(data, cast("OdeKeywords", options)))
    print_notices(result.notices, quiet=quiet)
    if report is not None:
        write_system_report(result, report, force=force)
        print_notices((f"written: {report}",), quiet=quiet)
    if bundle is not None:
        result.save_bundle(bundle, force=force)
        if bundle == "-":
            write_output(out, result.to_json(), force=force, quiet=quiet)
            return
        print_notices((f"written: {bundle}",), quiet=quiet)
    if write_output(out, result.to_json(), force=force, quiet=quiet):
        click.echo("\n".join(result.equations))
        print_table(build_system_tables(result))
