"""The figures of a screen on matplotlib axes, for notebooks and for the HTML report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symscreen.report.figures.diagnostics import (
    draw_agreement,
    draw_funnel,
    draw_p_values,
    draw_redundancy,
    draw_scores,
    get_funnel_size,
    get_scores_size,
)
from symscreen.report.figures.feature import draw_feature
from symscreen.report.figures.style import draw_on_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symscreen.results.screen_result import ScreenResult


@dataclass(frozen=True, eq=False, repr=False)
class Plots:
    """The figures of one result: ``result.plot``.

    Each method returns the axes that it drew on: the given ones, or those of a new figure. The methods
    require matplotlib (the extra ``plot``).

    Parameters
    ----------
    result : ScreenResult
        The result to draw.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.load_strogatz("glider2")
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
        """Draw the scores of the best 20 features, with intervals if there are any.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on.

        Returns
        -------
        matplotlib.axes.Axes
        """
        size = get_scores_size(len(self.result))
        return draw_on_axes(ax, size, lambda axes: draw_scores(axes, self.result))

    def funnel(self, ax: Axes | None = None) -> Axes:
        """Draw how many candidates each layer kept, and how many were pruned for which reason.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on.

        Returns
        -------
        matplotlib.axes.Axes
        """
        size = get_funnel_size(self.result.record)
        return draw_on_axes(ax, size, lambda axes: draw_funnel(axes, self.result.record))

    def feature(self, rank: int, ax: Axes | None = None) -> Axes:
        """Draw the target against a feature, with its rank curve.

        All points would lie on the rank curve if the feature ordered the rows as the target does. At most
        2000 rows are drawn. If a few rows lie far from all others, they are drawn at the edge, and the title
        says so.

        Parameters
        ----------
        rank : int
            The rank of the feature, from 1.
        ax : matplotlib.axes.Axes, optional
            The axes to draw on.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        OptionError
            If the rank is too large, the target is a ranking or a chain of stages, or the result has no data.
        """
        return draw_on_axes(ax, (4.8, 3.6), lambda axes: draw_feature(axes, self.result, rank))

    def agreement(self, ax: Axes | None = None) -> Axes:
        """Draw how well each two screeners agree.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        OptionError
            If there is only one screener.
        """
        return draw_on_axes(ax, (4.4, 4.0), lambda axes: draw_agreement(axes, self.result))

    def redundancy(self, ax: Axes | None = None) -> Axes:
        """Draw the absolute Spearman correlation of each two of the best 30 features.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        OptionError
            If the result has no data.
        """
        return draw_on_axes(ax, (4.8, 4.8), lambda axes: draw_redundancy(axes, self.result))

    def p_values(self, ax: Axes | None = None) -> Axes:
        """Draw a histogram of p-values.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        OptionError
            If no p-values were computed.
        """
        return draw_on_axes(ax, (4.8, 3.0), lambda axes: draw_p_values(axes, self.result))
