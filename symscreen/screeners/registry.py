"""Registry of screeners by name: the built-in ones and those of plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.errors import OptionError
from symscreen.messages import suggest
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

SCREENERS: dict[str, Screener | JointScreener] = {screener.name: screener for screener in _BUILTIN_SCREENERS}


def get_screener(name: str) -> Screener | JointScreener:
    """Return a screener by name: a built-in one, or one of a plugin.

    Parameters
    ----------
    name : str
        The name of the screener.

    Returns
    -------
    Screener or JointScreener

    Raises
    ------
    OptionError
        If the name is unknown (with similar names), or a plugin's screener cannot be used (with its origin).

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
    """Load the screeners of plugins.

    Returns
    -------
    dict of str to Screener, JointScreener or OptionError
        By name and origin, ``"normal_scores (symscreen-example 0.1)"``. An error explains why the screener is
        not usable.
    """
    screeners: dict[str, Screener | JointScreener | OptionError] = {}
    for plugin in find_plugins("screener", SCREENERS):
        try:
            screeners[f"{plugin.name} ({plugin.origin})"] = _load_screener(plugin)
        except OptionError as error:
            screeners[f"{plugin.name} ({plugin.origin})"] = error
    return screeners


def _load_screener(plugin: Plugin) -> Screener | JointScreener:
    """Load a plugin's screener and check its type and name."""
    screener = plugin.load()
    if not isinstance(screener, Screener | JointScreener):
        raise plugin.build_error(f"is of type {type(screener).__name__}, not a Screener or JointScreener")
    if screener.name != plugin.name:
        raise plugin.build_error(f"has the name {screener.name!r}, which differs from its entry point")
    return screener
