"""The verb `screeners`: what can score features."""

from __future__ import annotations

import click


@click.command()
def screeners() -> None:
    """List the screeners: assumptions, failures, costs and sources.

    \b
    Example:
      symscreen screeners
    """
    from symscreen.report.terminal.listings import print_table, show_plugins, show_screeners
    from symscreen.screeners import SCREENERS

    print_table(show_screeners(SCREENERS.values()))
    print_table(show_plugins())
