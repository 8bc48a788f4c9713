"""The verb `why`: where a formula stands in a screen, or why it is missing."""

from __future__ import annotations

from typing import Any

import click

from symscreen.cli.options import GroupedCommand, add_options
from symscreen.cli.output import print_notices


@click.command(cls=GroupedCommand)
@click.argument("data")
@click.argument("expression", metavar="EXPR")
@add_options("why", help_texts={"top": "As for screen: a rank counts classes, or with all every feature."})
def why(data: str, expression: str, *, quiet: bool, **options: Any) -> None:
    """Say where a formula stands in a screen, or why it is missing.

    It takes the options of `screen`. Options that only add figures to a ranking, or leave entries out of it,
    change no rank. The answer says whether --max-correlation or --fdr leave the formula out.

    \b
    Examples:
      symscreen why data.csv "x1*(x2 + x3)" --layers ub
      symscreen why data.csv "log(x1 - x2)" --layers bub --pool-size 50
      symscreen why data.csv --layers ub -- "-x1"
      symscreen why data.csv "x1/x2" --stages viewed,liked,followed
    """
    from rich.text import Text

    from symscreen.explain import why as explain
    from symscreen.messages import COMMAND_LINE, escape_control_chars, render_message
    from symscreen.report.terminal.listings import print_table

    explanation = explain(data, expression, **options)
    print_notices(explanation.notices, quiet=quiet)
    text = render_message(explanation.text, COMMAND_LINE)
    print_table(Text("\n".join(map(escape_control_chars, text.splitlines()))))
