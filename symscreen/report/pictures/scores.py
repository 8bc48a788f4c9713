"""The scores of the best features, with their intervals where a screener gave any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.report.pictures.style import CURVE, FAINT, MARK, PLAIN, bare, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symscreen.result import ScreenResult

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
    bounds = interval_columns(result, name)
    if bounds is not None:
        low, high = (best[bound].to_numpy(dtype=float) for bound in bounds)
        axes.hlines(places, low, high, color=MARK, linewidth=1.2)
    axes.plot(scores, places, linestyle="", marker="o", markersize=5, color=MARK)
    _mark_no_relation(axes, result, name)
    texts = [f"{rank}. {label(text)}" for rank, text in zip(best["rank"], best["expression"], strict=True)]
    axes.set_yticks(places, texts, **PLAIN)
    axes.set_ylim(len(best) - 0.4, -0.6)
    axes.set_xlabel(label(name), **PLAIN)
    bare(axes)
    axes.yaxis.grid(visible=True, color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)


def _mark_no_relation(axes: Axes, result: ScreenResult, name: str) -> None:
    """Mark where features stand that tell nothing of the response: for T0 that is Δ."""
    if name != "t0":
        return
    axes.axvline(result.scale, color=CURVE, linewidth=1.0, linestyle=(0, (4, 3)))
    axes.text(
        result.scale, 1.0, "no relation", transform=axes.get_xaxis_transform(), color=CURVE,
        fontsize="small", ha="center", va="bottom",
    )  # fmt: skip
