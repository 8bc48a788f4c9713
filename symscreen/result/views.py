"""How a result is looked at: given to it from above, because what draws stands above what is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from symscreen.result.screen_result import ScreenResult

__all__ = ["Pictures", "Views"]


class Pictures(Protocol):
    """The pictures of one result, as matplotlib axes; see `symscreen.report.pictures.Plots`."""

    def scores(self, ax: Axes | None = None) -> Axes:
        """Draw the scores of the first screener, best first."""
        ...

    def funnel(self, ax: Axes | None = None) -> Axes:
        """Draw what each layer generated, pruned and kept."""
        ...

    def feature(self, rank: int, ax: Axes | None = None) -> Axes:
        """Draw the response against a feature, with its rank curve."""
        ...

    def agreement(self, ax: Axes | None = None) -> Axes:
        """Draw how far the screeners agree."""
        ...

    def redundancy(self, ax: Axes | None = None) -> Axes:
        """Draw how alike the features shown are."""
        ...

    def p_values(self, ax: Axes | None = None) -> Axes:
        """Draw a histogram of p-values."""
        ...


@dataclass(frozen=True)
class Views:
    """What a result needs to be looked at in a notebook.

    Parameters
    ----------
    plot : callable
        From a result to its pictures.
    html, latex : callable
        From a result to what a notebook shows of it.
    """

    plot: Callable[[ScreenResult], Pictures]
    html: Callable[[ScreenResult], str]
    latex: Callable[[ScreenResult], str]
