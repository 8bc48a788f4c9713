"""Screeners: what one is, those there are, and a registry."""

from symscreen.screeners.asked import AnyScreener, leaders_of, require_accepting, screeners_asked
from symscreen.screeners.base import Screener, Sign, by_magnitude, by_sign
from symscreen.screeners.checks import check_screener
from symscreen.screeners.correlation import PEARSON
from symscreen.screeners.dependence import XI
from symscreen.screeners.divergence import T0
from symscreen.screeners.joint import JointScreener, Option, Path, Shown, Verdict
from symscreen.screeners.registry import SCREENERS, further_screeners, screener_named
from symscreen.screeners.several import Across, across_targets

__all__ = [
    "PEARSON",
    "SCREENERS",
    "T0",
    "XI",
    "Across",
    "AnyScreener",
    "JointScreener",
    "Option",
    "Path",
    "Screener",
    "Shown",
    "Sign",
    "Verdict",
    "across_targets",
    "by_magnitude",
    "by_sign",
    "check_screener",
    "further_screeners",
    "leaders_of",
    "require_accepting",
    "screener_named",
    "screeners_asked",
]
