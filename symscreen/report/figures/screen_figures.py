"""The pictures of a screen, drawn by matplotlib: on a notebook's axes, and on the page of a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symscreen.errors import OptionError
from symscreen.report.figures.diagnostics import (
    MAX_SCORES,
    draw_agreement,
    draw_funnel,
    draw_p_values,
    draw_redundancy,
    draw_scores,
)
from symscreen.report.figures.feature import draw_feature
from symscreen.report.figures.style import get_axes

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from symscreen.results.screen_result import ScreenResult


__all__ = ["Plots"]


@dataclass(frozen=True, eq=False, repr=False)
class Plots:
    """The pictures of one result: ``result.plot``.

    Each returns the axes it drew on: those given, or those of a new figure (the extra ``plot``).

    Parameters
    ----------
    result : ScreenResult
        What is drawn.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.strogatz("glider2")
    >>> result = symscreen.screen(data.frame, layers="ub", unary="cos", binary="sub,div", top=3)
    >>> result.plot
    <pictures of a screen: agreement, feature, funnel, p_values, redundancy, scores>
    >>> result.plot.feature(9)
    Traceback (most recent call last):
    ...
    symscreen.errors.OptionError: there is no feature of rank 9; give 1 to 3
    """

    result: ScreenResult

    def __repr__(self) -> str:
        names = sorted(name for name in vars(Plots) if not name.startswith("_"))
        return f"<pictures of a screen: {', '.join(names)}>"

    def scores(self, ax: Axes | None = None) -> Axes:
        """Draw the scores of the best 20 features, with intervals where there are any.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib.axes.Axes
        """
        size = (6.4, 1.0 + 0.26 * min(MAX_SCORES, len(self.result)))
        return _draw_on_axes(ax, size, lambda axes: draw_scores(axes, self.result))

    def funnel(self, ax: Axes | None = None) -> Axes:
        """Draw, for each layer, what was pruned for which reason and what was kept.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib.axes.Axes
        """
        size = (6.4, 1.6 + 0.5 * len(self.result.record["layers"]))
        return _draw_on_axes(ax, size, lambda axes: draw_funnel(axes, self.result.record))

    def feature(self, rank: int, ax: Axes | None = None) -> Axes:
        """Draw the response against a feature, with its rank curve.

        The curve is where all points would lie if the feature ordered the rows as the response does. At
        most 2000 rows are drawn; where a few lie far from all others they stand at the edge, and the title
        says so.

        Parameters
        ----------
        rank : int
            Which feature, from 1.
        ax : matplotlib.axes.Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        OptionError
            If there is no such rank, the response is a ranking or a chain of stages, or the result has lost
            its rows.
        """
        return _draw_on_axes(ax, (4.8, 3.6), lambda axes: draw_feature(axes, self.result, rank))

    def agreement(self, ax: Axes | None = None) -> Axes:
        """Draw how far each two screeners agree.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        OptionError
            If there was one screener only.
        """
        return _draw_on_axes(ax, (4.4, 4.0), lambda axes: draw_agreement(axes, self.result))

    def redundancy(self, ax: Axes | None = None) -> Axes:
        """Draw how alike the best 30 features are: |Spearman's rank correlation| of each two.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        OptionError
            If the result has lost its rows.
        """
        return _draw_on_axes(ax, (4.8, 4.8), lambda axes: draw_redundancy(axes, self.result))

    def p_values(self, ax: Axes | None = None) -> Axes:
        """Draw a histogram of p-values.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        OptionError
            If none were computed.
        """
        return _draw_on_axes(ax, (4.8, 3.0), lambda axes: draw_p_values(axes, self.result))


def _draw_on_axes(ax: Axes | None, size: tuple[float, float], draw: Callable[[Axes], None]) -> Axes:
    """Draw on the axes given or on new ones, of which nothing stays if there is nothing to draw."""
    axes = get_axes(ax, size)
    try:
        draw(axes)
    except OptionError:
        if ax is None:
            import matplotlib.pyplot as plt
            from matplotlib.figure import Figure

            if isinstance(figure := axes.get_figure(), Figure):
                plt.close(figure)
        raise
    return axes
