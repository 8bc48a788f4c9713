"""The verbs `operators` and `screeners`: list what formulas consist of, and what scores them."""

from __future__ import annotations

import click

from symscreen.cli.options import complete_files


@click.command()
@click.argument("grammar", metavar="[NAME|FILE]", required=False, shell_complete=complete_files)
def operators(grammar: str | None) -> None:
    """List all operators, or check and show a grammar.

    \b
    Examples:
      symscreen operators
      symscreen operators physics
      symscreen operators my-grammar.toml
    """
    from symscreen.data.time_operators import MAX_WINDOW
    from symscreen.grammar import OPERATORS, list_grammar_names, load_grammar
    from symscreen.plugins import find_plugins
    from symscreen.report.terminal.listings import build_grammar_table, build_operator_table, print_table

    if grammar is not None:
        print_table(build_grammar_table(load_grammar(grammar)))
        return
    print_table(build_operator_table(OPERATORS.values()))
    click.echo(
        f"\noperators of time, with --time: lag1 … lag{MAX_WINDOW} (the value that many rows before),\n"
        f"diff (the difference to the row before), mean2 … mean{MAX_WINDOW} (the mean of the last rows)"
    )
    click.echo(f"\ngrammars: {', '.join(list_grammar_names())} (symscreen operators NAME shows one)")
    for further in find_plugins("grammar", list_grammar_names()):
        click.echo(
            f"grammar {further.name} of {further.origin}" if not further.conflict else further.conflict
        )


@click.command()
def screeners() -> None:
    """List the screeners: assumptions, failures, costs and sources.

    \b
    Example:
      symscreen screeners
    """
    from symscreen.report.terminal.listings import build_plugin_table, build_screener_table, print_table
    from symscreen.screeners import SCREENERS

    print_table(build_screener_table(SCREENERS.values()))
    print_table(build_plugin_table())
