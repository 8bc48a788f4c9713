"""Scatter plots of the target against a feature, with the rank curve (where all points lie if T0 = 0)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.expressions.traversal import evaluate_expression
from symscreen.report.figures.style import CURVE, INK, MARK, PLAIN_TEXT, despine, get_unit, shorten_label
from symscreen.targets import NumericTarget

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symscreen._typing import Values
    from symscreen.data import Dataset
    from symscreen.results.screen_result import ScreenResult


_MAX_THUMBNAIL_POINTS = 120  # points of a thumbnail in a table row
_MAX_POINTS = 2000  # points of a full figure


@dataclass(frozen=True, eq=False)
class ScatterData:
    """The points of a scatter plot.

    Parameters
    ----------
    x, y : float64 array, shape (m,)
        The feature and the target, in ascending order of the feature.
    curve : float64 array, shape (m,), or None
        The rank curve at `x`; None if the feature has no direction.
    target_range : pair of float
        Minimum and maximum of the target over all rows.
    n_rows : int
        Number of rows from which the points were taken.
    """

    x: Values
    y: Values
    curve: Values | None
    target_range: tuple[float, float]
    n_rows: int


def get_dataset(result: ScreenResult) -> Dataset:
    """Return the data of a result.

    Raises
    ------
    OptionError
        If the result has no data.
    """
    if result.data is None:
        raise OptionError(
            "this result has no data, because copies and pickles drop it: run the screen again, and draw "
            "from the result that symscreen.screen returns"
        )
    return result.data


def has_scatters(result: ScreenResult) -> bool:
    """Whether the target can be drawn against features: the data are there and the target is numeric."""
    return result.data is not None and isinstance(result.data.target, NumericTarget)


def evaluate_feature(result: ScreenResult, index: int) -> Values:
    """Compute the feature at an index of the ranking, shape (n,)."""
    dataset = get_dataset(result)
    columns = dict(zip(dataset.names, dataset.columns, strict=True))
    return evaluate_expression(result.expressions[index], columns)


def compute_rank_curve(x: Values, y: Values, direction: int) -> Values:
    """Compute the target at each row if the feature ordered the rows as the target does.

    Parameters
    ----------
    x, y : float64 array, shape (n,)
        The feature and the target.
    direction : {1, -1}
        Whether the feature increases or decreases with the target.

    Returns
    -------
    float64 array, shape (n,)
        For each row, the target of the row whose rank by `y` equals this row's rank by `x`. Rows that tie in
        `x` get the mean over their ranks. T0 is 0 (decreasing: 2Δ) if all points lie on this curve.

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


def fit_line(x: Values, y: Values) -> tuple[float, float, float]:
    """Fit y = a + b*x by least squares; return a, b and R².

    Parameters
    ----------
    x, y : float64 array, shape (n,)
        The feature and the target; neither is constant.

    Returns
    -------
    tuple of float
        Intercept, slope and the share of the variance explained. They are NaN where squares overflow.

    Examples
    --------
    >>> fit_line(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]))
    (1.0, 2.0, 1.0)
    """
    with np.errstate(all="ignore"):
        scale = float(np.abs(x).max())
        dx, dy = (x - x.mean()) / scale, y - y.mean()
        xx, xy, yy = ((dx * dx).sum(), (dx * dy).sum(), (dy * dy).sum())
        slope = xy / xx / scale
        found = float(y.mean() - slope * x.mean()), float(slope), float(xy * xy / (xx * yy))
    return found if np.isfinite(found).all() else (np.nan, np.nan, np.nan)


def build_scatter(result: ScreenResult, index: int, max_points: int) -> ScatterData:
    """Compute the points of a scatter plot; a large table is thinned evenly in the order of the feature."""
    target = get_dataset(result).target
    if not isinstance(target, NumericTarget):
        name = shorten_label(target.name)
        raise OptionError(f"{name!r} is not a column of numbers: features cannot be drawn against it")
    x = evaluate_feature(result, index)
    direction = {"+": 1, "-": -1}.get(result.table["direction"].iloc[index])
    curve = None if direction is None else compute_rank_curve(x, target.values, direction)
    order = np.argsort(x, kind="stable")
    if len(order) > max_points:
        order = order[np.linspace(0, len(order) - 1, max_points).round().astype(np.int64)]
    target_range = float(target.values[0]), float(target.values[-1])
    curve = None if curve is None else curve[order]
    return ScatterData(x[order], target.values[order], curve, target_range, len(x))


def draw_feature(
    axes: Axes, result: ScreenResult, rank: int, *, is_thumbnail: bool = False, has_line: bool = False
) -> None:
    """Draw the target against a feature.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        The axes to draw on.
    result : ScreenResult
        The result.
    rank : int
        The rank of the feature, from 1.
    is_thumbnail : bool
        Whether to draw a small picture without labels, for a table row.
    has_line : bool
        Whether to draw the straight line of `fit_line`, too.

    Raises
    ------
    OptionError
        If there is no feature of that rank, or the target cannot be drawn.
    """
    if isinstance(rank, bool) or not isinstance(rank, int | np.integer) or not 1 <= rank <= len(result):
        raise OptionError(f"there is no feature of rank {rank!r}; give 1 to {len(result)}")
    index = int(rank) - 1
    scatter = build_scatter(result, index, _MAX_THUMBNAIL_POINTS if is_thumbnail else _MAX_POINTS)
    window = _choose_window(scatter.x)
    x = np.clip(scatter.x, *window)
    if is_thumbnail:
        _draw_dots(axes, x, scatter.y)
    else:
        axes.plot(x, scatter.y, linestyle="", marker="o", markersize=3.5, color=MARK, alpha=0.6)
    if scatter.curve is not None:
        is_inside = (scatter.x >= window[0]) & (scatter.x <= window[1])
        axes.plot(
            scatter.x[is_inside], scatter.curve[is_inside], color=CURVE, linewidth=1.1, label="rank curve"
        )
    if has_line:
        _draw_line(axes, result, index, window, _widen(scatter.target_range))
    axes.set_xlim(_widen(window))
    axes.set_ylim(_widen(scatter.target_range))
    despine(axes)
    if is_thumbnail:
        axes.set_xticks([])
        axes.set_yticks([])
        return
    _label_axes(axes, result, index, scatter, window)


def _draw_line(
    axes: Axes,
    result: ScreenResult,
    index: int,
    window: tuple[float, float],
    heights_range: tuple[float, float],
) -> None:
    """Draw the part of the straight line of least squares that is inside the picture."""
    target = get_dataset(result).numeric_target
    intercept, slope, _ = fit_line(evaluate_feature(result, index), target.values)
    ends = np.array(window)
    if slope != 0.0:
        crossings = np.sort((np.array(heights_range) - intercept) / slope)
        ends = np.clip(ends, *crossings)
    heights = intercept + slope * ends
    if np.isfinite(heights).all():
        axes.plot(ends, heights, color=INK, linewidth=1.2, linestyle=(0, (4, 3)), label="straight line")


def _label_axes(
    axes: Axes, result: ScreenResult, index: int, scatter: ScatterData, window: tuple[float, float]
) -> None:
    """Label the axes, and say in the title how many rows are missing or drawn at the edge."""
    outside = int(((scatter.x < window[0]) | (scatter.x > window[1])).sum())
    row, name = result.table.iloc[index], result.record["data"]["target"]
    unit = str(row["unit"]) if "unit" in row.index else ""
    axes.set_xlabel(shorten_label(row["expression"], 60, unit=unit), **PLAIN_TEXT)
    axes.set_ylabel(shorten_label(name, unit=get_unit(result.record, name)), **PLAIN_TEXT)
    remarks = []
    if len(scatter.x) < scatter.n_rows:
        remarks.append(f"{len(scatter.x):,} of {scatter.n_rows:,} rows drawn")
    if outside:
        remarks.append(f"{outside:,} far outside, at the edge")
    if remarks:
        axes.set_title("; ".join(remarks), fontsize="small", color=INK, loc="left")
    if scatter.curve is not None:
        axes.legend(frameon=False, fontsize="small", labelcolor=INK)


def _choose_window(x: Values) -> tuple[float, float]:
    """Choose the range of the axis: all of `x`, unless a few rows lie far away from all others."""
    low, high = float(x[0]), float(x[-1])
    inner_low, inner_high = (float(bound) for bound in np.quantile(x, [0.02, 0.98]))
    width = inner_high - inner_low
    if width <= 0 or high - low <= 4.0 * width:
        return low, high
    return max(low, inner_low - 0.1 * width), min(high, inner_high + 0.1 * width)


def _widen(bounds: tuple[float, float]) -> tuple[float, float]:
    """Add a margin to a range."""
    low, high = bounds
    margin = 0.04 * (high - low) or 0.5 * abs(low) or 0.5
    return low - margin, high + margin


def _draw_dots(axes: Axes, x: Values, y: Values) -> None:
    """Draw points as one path of zero-length strokes, which takes an eighth of the bytes of markers."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    points = np.repeat(np.column_stack([x, y]), 2, axis=0)
    codes: Any = np.tile(np.array([Path.MOVETO, Path.LINETO], dtype=Path.code_type), len(x))
    path = Path(points, codes)
    path.should_simplify = False
    dots = PathPatch(path, fill=False, edgecolor=MARK, linewidth=2.2, capstyle="round", clip_on=False)
    dots.set_transform(axes.transData)
    axes.add_artist(dots)  # add_patch would compute data limits, which are set explicitly
