"""The scores of the best features, with their intervals where a screener gave any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.report.pictures.style import CURVE, FAINT, MARK, PLAIN, bare, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from symscreen.result import ScreenResult

    Values = NDArray[np.float64]

__all__ = ["MOST_SCORES", "draw_scores", "interval_columns"]

MOST_SCORES = 20


def interval_columns(result: ScreenResult, name: str) -> tuple[str, str] | None:
    """Name the two columns of a screener's intervals, where the table has them."""
    low, high = f"{name}_low", f"{name}_high"
    return (low, high) if {low, high} <= set(result.table.columns) else None


def draw_scores(axes: Axes, result: ScreenResult) -> None:
    """Draw a point for each of the best features, best at the top.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw.
    result : ScreenResult
        A result; its first 20 features are drawn.
    """
    name = result.record["options"]["screener"][0]
    best = result.table.head(MOST_SCORES)
    scores = best[name].to_numpy(dtype=float)
    places = np.arange(len(best))
    # T0 of a falling feature is near 2Δ: it is turned round, so that the best stand together
    turned = (scores > result.scale) & (name == "t0") & (result.record["options"]["sign"] == "free")
    low, high = _bounds(result, name, turned)
    axes.hlines(places, low, high, color=MARK, linewidth=1.2)
    scores = np.where(turned, 2.0 * result.scale - scores, scores)
    for marked, face in ((~turned, MARK), (turned, "none")):
        axes.plot(
            scores[marked],
            places[marked],
            linestyle="",
            marker="o",
            markersize=5,
            color=MARK,
            markerfacecolor=face,
        )
    _mark_no_relation(axes, result, name)
    texts = [f"{rank}. {label(text)}" for rank, text in zip(best["rank"], best["expression"], strict=True)]
    axes.set_yticks(places, texts, **PLAIN)
    axes.set_ylim(len(best) - 0.4, -0.6)
    axes.set_xlabel(
        f"{name}; hollow: of falling features 2Δ − {name}" if turned.any() else label(name), **PLAIN
    )
    bare(axes)
    axes.yaxis.grid(visible=True, color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)


def _bounds(result: ScreenResult, name: str, turned: NDArray[np.bool_]) -> tuple[Values, Values]:
    """Return where intervals begin and end; NaN where there are none.

    Of features that are turned round they are gamma's, as Δ(1 − |γ|): T0 itself, near 2Δ, is as unsure as Δ.
    """
    best, columns = result.table.head(MOST_SCORES), interval_columns(result, name)
    gammas = interval_columns(result, "gamma")
    low, high = np.full((2, len(best)), np.nan)
    if columns is not None:
        low, high = (np.where(turned, np.nan, best[column].to_numpy(dtype=float)) for column in columns)
    if gammas is not None:
        own = (result.scale * (1.0 - np.abs(best[column].to_numpy(dtype=float))) for column in gammas)
        low, high = (np.where(turned, theirs, bound) for theirs, bound in zip(own, (low, high), strict=True))
    return low, high


def _mark_no_relation(axes: Axes, result: ScreenResult, name: str) -> None:
    """Mark where features stand that tell nothing of the response: for T0 that is Δ."""
    if name != "t0":
        return
    axes.axvline(result.scale, color=CURVE, linewidth=1.0, linestyle=(0, (4, 3)))
    axes.text(
        result.scale, 1.0, "no relation", transform=axes.get_xaxis_transform(), color=CURVE,
        fontsize="small", ha="center", va="bottom",
    )  # fmt: skip
