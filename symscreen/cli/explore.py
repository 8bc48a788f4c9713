"""The verb `explore`: show a stored result on a local page in the browser."""

from __future__ import annotations

import click

from symscreen.cli.options import complete_files
from symscreen.cli.output import print_notices
from symscreen.errors import OptionError


@click.command()
@click.argument("result", shell_complete=complete_files)
@click.option(
    "--data",
    metavar="DATA",
    help="The data that were screened, or rows of a fitted model; without them no rows are shown.",
)
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65_535),
    default=0,
    help="The port on this machine; else a free one.",
)
@click.option("--no-browser", is_flag=True, help="Print the address only.")
@click.option("-q", "--quiet", is_flag=True, help="No notices.")
def explore(result: str, *, data: str | None, port: int, no_browser: bool, quiet: bool) -> None:
    """Show a ranking or a fitted model in the browser.

    The page lists the formulas, draws the rows of each, says where a typed formula stands, and exports.
    It changes nothing. Only this machine can open it, with the address that is printed. Ctrl-C ends it.

    \b
    Examples:
      symscreen screen data.csv --layers ub --out ranking.json
      symscreen explore ranking.json --data data.csv
      symscreen explore model.json --data data.csv --no-browser
    """
    from symscreen.explorer.exploration import open_exploration

    try:
        from symscreen.explorer.server import serve
    except ImportError:
        raise OptionError(
            "explore needs the packages starlette and uvicorn: pip install 'symscreen[explore]'"
        ) from None

    exploration = open_exploration(result, data)

    def announce(address: str) -> None:
        click.echo(address)
        print_notices(("the page is open until you press Ctrl-C",), quiet=quiet)

    serve(exploration, port=port, opens_browser=not no_browser, announce=announce)
