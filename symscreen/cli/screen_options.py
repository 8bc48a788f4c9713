"""The options of `screen`, which `plan` takes, too."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from symscreen.cli.export import bundle_option
from symscreen.cli.options import (
    error_options,
    ranking_option,
    read_top,
    running_options,
    screener_options,
    search_options,
    space_options,
    stages_options,
    trust_options,
    unit_options,
)
from symscreen.cli.report import report_option
from symscreen.cli.targets import target_options, weights_option

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["screen_options"]


def screen_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a verb all that `screen` takes, so that `plan` can stand in its place in a command.

    Parameters
    ----------
    function : callable
        The verb.

    Returns
    -------
    callable
        The verb with its options.
    """

    @ranking_option
    @stages_options
    @target_options
    @weights_option
    @space_options
    @unit_options
    @screener_options
    @click.option(
        "--sign",
        type=click.Choice(["free", "positive"]),
        default="free",
        show_default=True,
        help="Whether falling with the response is as good as rising.",
    )
    @click.option(
        "--top",
        metavar="K",
        default="20",
        show_default=True,
        callback=read_top,
        help="How many classes to show; all shows every feature, unmerged.",
    )
    @search_options
    @error_options
    @trust_options
    @click.option(
        "--also", metavar="EXPR", multiple=True, help="A formula of your own to score too; may be repeated."
    )
    @click.option(
        "--out",
        metavar="FILE",
        help="Write the ranking to .csv, .parquet or .json; - writes CSV to standard output.",
    )
    @bundle_option
    @report_option
    @click.option("--force", is_flag=True, help="Overwrite existing output.")
    @running_options
    @wraps(function)
    def verb(*given: Any, **named: Any) -> None:
        function(*given, **named)

    return verb
