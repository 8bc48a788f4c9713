"""Figures 1 and 2 of Fotakis and others (2022): coefficients against the level of noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.report.curves import plain_style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_levels"]

_STYLES = (("o", "-"), ("s", "--"), ("^", "-."), ("D", ":"))


def draw_levels(sets: pd.DataFrame, figure: int, family: str) -> Figure:
    """Draw the mean coefficient of each learner.

    Parameters
    ----------
    sets : pandas.DataFrame
        The table of that name.
    figure : {1, 2}
        Against α and against β; or against α, one panel an operator.
    family : {"SFN", "LFN"}
        Whose sets.

    Returns
    -------
    matplotlib Figure
        Two panels, or three. The thin grey line is β.
    """
    own = sets[(sets["figure"] == figure) & (sets["family"] == family)]
    panels = [("alpha", "gaussian"), ("beta", "gaussian")]
    if figure == 2:
        panels = [("alpha", operator) for operator in ("mallows", "order-list mallows", "gaussian")]
    with plain_style():
        from matplotlib.figure import Figure

        drawn = Figure(figsize=(3.2 * len(panels), 3.4), dpi=150, layout="constrained")
        axes = drawn.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, (level, operator) in zip(axes, panels, strict=True):
            _draw(axis, own[own["operator"] == operator], level)
            axis.set_xlabel({"alpha": "α", "beta": "β"}[level])
            axis.set_title(operator)
        axes[0].set_ylabel("mean kτ")
        handles, labels = axes[0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
        drawn.suptitle(family)
    return drawn


def _draw(axis: Axes, sets: pd.DataFrame, level: str) -> None:
    for (name, own), (marker, dashes) in zip(sets.groupby("learner", sort=False), _STYLES, strict=True):
        sorted_ = own.sort_values(level)
        axis.plot(
            sorted_[level], sorted_["tau"], marker=marker, markersize=3, linestyle=dashes, label=str(name)
        )
    levels = sets.drop_duplicates(level).sort_values(level)
    axis.plot(levels[level], levels["beta"], color="0.6", linewidth=0.8)
