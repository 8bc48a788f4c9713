"""The response against a feature, with the rank curve: where the points would lie if T0 were at its best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.expressions.tree import evaluate_expression
from symscreen.report.figures.style import CURVE, INK, MARK, PLAIN_TEXT, despine, shorten_label
from symscreen.targets import NumericTarget

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symscreen._typing import Values
    from symscreen.data import Dataset
    from symscreen.results.screen_result import ScreenResult


__all__ = [
    "ScatterData",
    "build_scatter",
    "compute_rank_curve",
    "draw_feature",
    "evaluate_feature",
    "get_dataset",
    "has_scatters",
]

_MAX_THUMBNAIL_POINTS, _MAX_POINTS = (
    120,
    2000,
)  # points of a picture in a row of a table, and of one that stands alone


@dataclass(frozen=True, eq=False)
class ScatterData:
    """What is drawn of a feature.

    Parameters
    ----------
    x, y : float64 array, shape (m,)
        The feature and the response, in ascending order of the feature.
    curve : float64 array, shape (m,), or None
        The rank curve at `x`; None where the feature has no direction.
    span : pair of float
        The least and the largest response of all rows.
    rows : int
        Of how many rows these were taken.
    """

    x: Values
    y: Values
    curve: Values | None
    target_range: tuple[float, float]
    n_rows: int


def get_dataset(result: ScreenResult) -> Dataset:
    """Return the rows that were screened.

    Raises
    ------
    OptionError
        If the result came without them.
    """
    if result.data is None:
        raise OptionError(
            "this result has lost its rows, which copies and pickles leave behind: screen again, and draw "
            "from what symscreen.screen returns"
        )
    return result.data


def has_scatters(result: ScreenResult) -> bool:
    """Tell whether a response can be drawn against a feature: rankings and stages cannot."""
    return result.data is not None and isinstance(result.data.target, NumericTarget)


def evaluate_feature(result: ScreenResult, index: int) -> Values:
    """Compute the feature at a place of the ranking, in the rows of the table."""
    table = get_dataset(result)
    columns = dict(zip(table.names, table.columns, strict=True))
    return evaluate_expression(result.expressions[index], columns)


def compute_rank_curve(x: Values, y: Values, direction: int) -> Values:
    """Compute what the response would be at each row if the feature ordered the rows as the response does.

    Parameters
    ----------
    x, y : float64 array, shape (n,)
        The feature and the response.
    direction : {1, -1}
        Whether the feature rises or falls with the response.

    Returns
    -------
    float64 array, shape (n,)
        The response of the row whose rank by `y` is the row's rank by `x`; where rows tie in `x`, the mean of
        those that their ranks take. T0 is 0 (falling: 2Δ) where all points lie on this curve.

    Examples
    --------
    >>> compute_rank_curve(np.array([3.0, 1.0, 2.0]), np.array([10.0, 20.0, 30.0]), 1).tolist()
    [30.0, 10.0, 20.0]
    """
    _, group, counts = np.unique(direction * x, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    sums = np.concatenate(([0.0], np.cumsum(np.sort(y))))
    means: Values = (sums[ends] - sums[ends - counts]) / counts
    return means[group]


def build_scatter(result: ScreenResult, index: int, max_points: int) -> ScatterData:
    """Take what is drawn of a feature: of many rows every so-many-th in the feature's order."""
    response = get_dataset(result).target
    if not isinstance(response, NumericTarget):
        raise OptionError(
            f"{shorten_label(response.name)!r} is no column of numbers: there is nothing to draw a feature "
            "against"
        )
    x = evaluate_feature(result, index)
    direction = {"+": 1, "-": -1}.get(result.table["direction"].iloc[index])
    curve = None if direction is None else compute_rank_curve(x, response.values, direction)
    order = np.argsort(x, kind="stable")
    if len(order) > max_points:
        order = order[np.linspace(0, len(order) - 1, max_points).round().astype(np.int64)]
    span = float(response.values[0]), float(response.values[-1])
    return ScatterData(
        x[order], response.values[order], None if curve is None else curve[order], span, len(x)
    )


def draw_feature(axes: Axes, result: ScreenResult, rank: int, *, is_thumbnail: bool = False) -> None:
    """Draw the response against a feature.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw.
    result : ScreenResult
        A result.
    rank : int
        Which feature, from 1.
    small : bool
        Without words, for the row of a table.

    Raises
    ------
    OptionError
        If there is no feature of that rank, or nothing to draw it against.
    """
    if isinstance(rank, bool) or not isinstance(rank, int | np.integer) or not 1 <= rank <= len(result):
        raise OptionError(f"there is no feature of rank {rank!r}; give 1 to {len(result)}")
    place = int(rank) - 1
    drawn = build_scatter(result, place, _MAX_THUMBNAIL_POINTS if is_thumbnail else _MAX_POINTS)
    window = _choose_window(drawn.x)
    at = np.clip(drawn.x, *window)
    if is_thumbnail:
        _draw_dots(axes, at, drawn.y)
    else:
        axes.plot(at, drawn.y, linestyle="", marker="o", markersize=3.5, color=MARK, alpha=0.6)
    if drawn.curve is not None:
        inside = (drawn.x >= window[0]) & (drawn.x <= window[1])
        axes.plot(drawn.x[inside], drawn.curve[inside], color=CURVE, linewidth=1.1, label="rank curve")
    axes.set_xlim(_widen(window))
    axes.set_ylim(_widen(drawn.target_range))
    despine(axes)
    if is_thumbnail:
        axes.set_xticks([])
        axes.set_yticks([])
        return
    _label_axes(axes, result, place, drawn, window)


def _label_axes(
    axes: Axes, result: ScreenResult, index: int, scatter: ScatterData, window: tuple[float, float]
) -> None:
    outside = int(((scatter.x < window[0]) | (scatter.x > window[1])).sum())
    axes.set_xlabel(shorten_label(result.table["expression"].iloc[index], 60), **PLAIN_TEXT)
    axes.set_ylabel(shorten_label(result.record["data"]["target"]), **PLAIN_TEXT)
    remarks = (
        [f"{len(scatter.x):,} of {scatter.n_rows:,} rows drawn"] if len(scatter.x) < scatter.n_rows else []
    )
    remarks += [f"{outside:,} far outside, at the edge"] if outside else []
    if remarks:
        axes.set_title("; ".join(remarks), fontsize="small", color=INK, loc="left")
    if scatter.curve is not None:
        axes.legend(frameon=False, fontsize="small", labelcolor=INK)


def _choose_window(x: Values) -> tuple[float, float]:
    """Choose what of the axis to show: all of it, unless few rows lie far away from all others."""
    low, high = float(x[0]), float(x[-1])
    inner_low, inner_high = (float(bound) for bound in np.quantile(x, [0.02, 0.98]))
    room = inner_high - inner_low
    if room <= 0 or high - low <= 4.0 * room:
        return low, high
    return max(low, inner_low - 0.1 * room), min(high, inner_high + 0.1 * room)


def _widen(span: tuple[float, float]) -> tuple[float, float]:
    low, high = span
    room = 0.04 * (high - low) or 0.5 * abs(low) or 0.5
    return low - room, high + room


def _draw_dots(axes: Axes, x: Values, y: Values) -> None:
    """Draw points as one path of strokes without length, an eighth of the bytes that markers take."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    points = np.repeat(np.column_stack([x, y]), 2, axis=0)
    codes: Any = np.tile(np.array([Path.MOVETO, Path.LINETO], dtype=Path.code_type), len(x))
    path = Path(points, codes)
    path.should_simplify = False
    dots = PathPatch(path, fill=False, edgecolor=MARK, linewidth=2.2, capstyle="round", clip_on=False)
    dots.set_transform(axes.transData)
    axes.add_artist(dots)  # add_patch would look at each point for limits that are set anyway
