"""The screeners there are, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.errors import OptionError, nearest
from symscreen.screeners.correlation import KENDALL, PEARSON, SPEARMAN
from symscreen.screeners.dependence import XI
from symscreen.screeners.divergence import T0

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.screeners.base import Screener

__all__ = ["SCREENERS", "screeners_named"]

SCREENERS: dict[str, Screener] = {
    "t0": T0,
    "xi": XI,
    "kendall": KENDALL,
    "spearman": SPEARMAN,
    "pearson": PEARSON,
}


def screeners_named(names: Sequence[str]) -> tuple[Screener, ...]:
    """Look up screeners; the first one ranks.

    Parameters
    ----------
    names : sequence of str
        At least one, each once.

    Returns
    -------
    tuple of Screener

    Raises
    ------
    OptionError
        If there is none, one is unknown (with near matches) or named twice.

    Examples
    --------
    >>> [screener.name for screener in screeners_named(["xi", "t0"])]
    ['xi', 't0']
    """
    if not names:
        raise OptionError("no screener is named; give for instance --screener t0")
    for place, name in enumerate(names):
        if name not in SCREENERS:
            raise OptionError(f"there is no screener {name!r}{nearest(name, SCREENERS)}")
        if name in names[:place]:
            raise OptionError(f"the screener {name!r} is named twice")
    return tuple(SCREENERS[name] for name in names)
