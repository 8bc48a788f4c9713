"""The screeners there are, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.errors import OptionError, nearest
from symscreen.plugins import plugin_named, plugins, usable
from symscreen.screeners.bart import BART
from symscreen.screeners.base import Screener
from symscreen.screeners.correlation import KENDALL, PEARSON, SPEARMAN
from symscreen.screeners.crit import CRIT
from symscreen.screeners.dependence import XI
from symscreen.screeners.divergence import T0
from symscreen.screeners.forest import FOREST
from symscreen.screeners.joint import JointScreener
from symscreen.screeners.lasso import LASSO
from symscreen.screeners.nonconvex import MCP, SCAD
from symscreen.screeners.stepwise import STEPWISE

if TYPE_CHECKING:
    from symscreen.plugins import Plugin

__all__ = ["SCREENERS", "further_screeners", "screener_named"]

_ALL: tuple[Screener | JointScreener, ...] = (
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

SCREENERS: dict[str, Screener | JointScreener] = {one.name: one for one in _ALL}


def screener_named(name: str) -> Screener | JointScreener:
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
    >>> screener_named("t0").sees
    'column'
    """
    if name in SCREENERS:
        return SCREENERS[name]
    plugin = plugin_named(name, "screener", SCREENERS)
    if plugin is None:
        raise OptionError(f"there is no screener {name!r}{nearest(name, usable('screener', SCREENERS))}")
    return _loaded(plugin)


def further_screeners() -> dict[str, Screener | JointScreener | OptionError]:
    """Load the screeners of other packages.

    Returns
    -------
    dict of str to Screener, JointScreener or OptionError
        By origin and name, ``"normal_scores (symscreen-example 0.1)"``; the error says why it is not usable.
    """
    found: dict[str, Screener | JointScreener | OptionError] = {}
    for plugin in plugins("screener", SCREENERS):
        try:
            found[f"{plugin.name} ({plugin.origin})"] = _loaded(plugin)
        except OptionError as error:
            found[f"{plugin.name} ({plugin.origin})"] = error
    return found


def _loaded(plugin: Plugin) -> Screener | JointScreener:
    screener = plugin.load()
    if not isinstance(screener, Screener | JointScreener):
        raise plugin.broken(f"is of type {type(screener).__name__}, not a Screener or JointScreener")
    if screener.name != plugin.name:
        raise plugin.broken(f"calls itself {screener.name!r}: entry point and record need one name")
    return screener
