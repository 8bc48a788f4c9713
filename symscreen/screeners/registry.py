"""The screeners there are, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.errors import OptionError, suggest
from symscreen.plugins import find_plugins, get_plugin, list_available_names
from symscreen.screeners.base import JointScreener, Screener
from symscreen.screeners.column.correlation import KENDALL, PEARSON, SPEARMAN
from symscreen.screeners.column.t0 import T0
from symscreen.screeners.column.xi import XI
from symscreen.screeners.joint.bart import BART
from symscreen.screeners.joint.crit import CRIT
from symscreen.screeners.joint.forest import FOREST
from symscreen.screeners.joint.lasso import LASSO
from symscreen.screeners.joint.nonconvex import MCP, SCAD
from symscreen.screeners.joint.stepwise import STEPWISE

if TYPE_CHECKING:
    from symscreen.plugins import Plugin


__all__ = ["SCREENERS", "get_screener", "load_plugin_screeners"]

_BUILTIN_SCREENERS: tuple[Screener | JointScreener, ...] = (
    T0,
    XI,
    KENDALL,
    SPEARMAN,
    PEARSON,
    LASSO,
    SCAD,
    MCP,
    STEPWISE,
    BART,
    CRIT,
    FOREST,
)

SCREENERS: dict[str, Screener | JointScreener] = {one.name: one for one in _BUILTIN_SCREENERS}


def get_screener(name: str) -> Screener | JointScreener:
    """Find a screener: one that ships, or one of another package.

    Parameters
    ----------
    name : str
        As users type it.

    Returns
    -------
    Screener or JointScreener

    Raises
    ------
    OptionError
        If there is none of that name, with near matches; or that of another package cannot be used, with
        its origin.

    Examples
    --------
    >>> get_screener("t0").scope
    'column'
    """
    if name in SCREENERS:
        return SCREENERS[name]
    plugin = get_plugin(name, "screener", SCREENERS)
    if plugin is None:
        raise OptionError(
            f"there is no screener {name!r}{suggest(name, list_available_names('screener', SCREENERS))}"
        )
    return _load_screener(plugin)


def load_plugin_screeners() -> dict[str, Screener | JointScreener | OptionError]:
    """Load the screeners of other packages.

    Returns
    -------
    dict of str to Screener, JointScreener or OptionError
        By origin and name, ``"normal_scores (symscreen-example 0.1)"``; the error says why it is not usable.
    """
    found: dict[str, Screener | JointScreener | OptionError] = {}
    for plugin in find_plugins("screener", SCREENERS):
        try:
            found[f"{plugin.name} ({plugin.origin})"] = _load_screener(plugin)
        except OptionError as error:
            found[f"{plugin.name} ({plugin.origin})"] = error
    return found


def _load_screener(plugin: Plugin) -> Screener | JointScreener:
    screener = plugin.load()
    if not isinstance(screener, Screener | JointScreener):
        raise plugin.build_error(f"is of type {type(screener).__name__}, not a Screener or JointScreener")
    if screener.name != plugin.name:
        raise plugin.build_error(f"calls itself {screener.name!r}: entry point and record need one name")
    return screener
