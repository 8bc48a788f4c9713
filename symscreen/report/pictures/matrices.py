"""Squares of shades: how far screeners agree, and how alike features are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError
from symscreen.report.pictures.feature import table_behind, values_of
from symscreen.report.pictures.style import INK, MARK, PLAIN, bare, label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from symscreen.result import ScreenResult

    Values = NDArray[np.float64]

__all__ = ["MOST_ALIKE", "agreement_square", "draw_agreement", "draw_redundancy", "likeness"]

MOST_ALIKE = 30  # features of a map
_MOST_ROWS = 5000
_DIGITS = 3
_SHADES, _FULLEST = 16, 0.75  # letters stay readable on the fullest
_CORNERS = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5)])


def likeness(result: ScreenResult, most: int) -> Values:
    """Compute how alike the first features are.

    Parameters
    ----------
    result : ScreenResult
        A result with its rows.
    most : int
        How many features at most.

    Returns
    -------
    float64 array, shape (k, k)
        |Spearman's rank correlation|, to three digits; of many rows over 5000, spread over the response.
    """
    from scipy.stats import rankdata

    n, shown = table_behind(result).response.n, min(most, len(result))
    rows = np.linspace(0, n - 1, min(n, _MOST_ROWS)).round().astype(np.int64)
    ranks = np.empty((shown, len(rows)))
    for place in range(shown):
        ranks[place] = rankdata(values_of(result, place)[rows])
    ranks -= ranks.mean(axis=1, keepdims=True)
    norms = np.sqrt((ranks**2).sum(axis=1))
    with np.errstate(invalid="ignore"):
        alike: Values = np.abs(np.einsum("in,jn->ij", ranks, ranks) / (norms[:, None] * norms[None, :]))
    return alike.round(_DIGITS)


def agreement_square(result: ScreenResult) -> tuple[list[str], Values]:
    """Lay out how far screeners agree.

    Parameters
    ----------
    result : ScreenResult
        A result of several screeners.

    Returns
    -------
    names : list of str
        The screeners.
    square : float64 array, shape (s, s)
        Above the diagonal Kendall's τ of two rankings, below it the overlap of their heads; NaN on it.

    Raises
    ------
    OptionError
        If there was one screener only.
    """
    pairs = result.agreement
    if pairs is None or not len(pairs):
        raise OptionError(
            "one screener has nothing to agree with: ask for several, --screener t0,xi,spearman"
        )
    names: list[str] = list(result.record["options"]["screener"])
    square = np.full((len(names), len(names)), np.nan)
    for pair in pairs.to_dict("records"):
        i, j = names.index(pair["first"]), names.index(pair["second"])
        square[i, j], square[j, i] = pair["kendall"], pair["overlap"]
    return names, square


def draw_agreement(axes: Axes, result: ScreenResult) -> None:
    """Draw the square of `agreement_square` with its numbers."""
    names, square = agreement_square(result)
    _shades(axes, np.nan_to_num(np.abs(square)), [label(name, 20) for name in names])
    for i, j in np.ndindex(square.shape):
        if i != j:
            text = "–" if np.isnan(square[i, j]) else f"{square[i, j]:.2f}"
            axes.text(j, i, text, ha="center", va="center", color=INK, fontsize="small")
    axes.set_title("above: Kendall's τ; below: overlap of the best", fontsize="small", color=INK)


def draw_redundancy(axes: Axes, result: ScreenResult) -> None:
    """Draw how alike the first features are, by their ranks."""
    alike = likeness(result, MOST_ALIKE)
    ranks = [str(rank) for rank in range(1, len(alike) + 1)]
    _shades(axes, np.nan_to_num(alike), ranks)
    axes.tick_params(labelsize="x-small")
    axes.set_xlabel("rank", color=INK)
    axes.set_ylabel("rank", color=INK)


def _shades(axes: Axes, values: Values, names: Sequence[str]) -> None:
    """Draw a square, the fuller the nearer to 1."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    steps = np.round(values * _SHADES).astype(int)
    for step in range(1, _SHADES + 1):
        corners = [_CORNERS + np.array((j, i)) for i, j in np.argwhere(steps == step)]
        if corners:
            squares = Path.make_compound_path(*(Path(each, closed=True) for each in corners))
            axes.add_patch(PathPatch(squares, facecolor=MARK, alpha=_FULLEST * step / _SHADES, linewidth=0))
    places = range(len(names))
    axes.set_xticks(places, names, **PLAIN)
    axes.set_yticks(places, names, **PLAIN)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_aspect("equal")
    bare(axes)
