"""Figure 4 of Luo and Li (2024): five maps of one input under five statistics, over the noise variance.

The claims of the paper have two readings, and both are computed: each statistic between x and y = θ(x) + e,
as in the caption, and between θ(x) and y, as T0 is defined (eq. 18).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from symscreen.experiments.base import Experiment, ExperimentOutcome, ExperimentSettings
from symscreen.statistics.ranks.correlations import compute_kendall, compute_pearson, compute_spearman
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.ranks.t0 import compute_gini_mean_difference, compute_t0
from symscreen.statistics.ranks.xi import compute_xi
from symscreen.targets import NumericTarget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from symscreen._option_values import ExperimentSize
    from symscreen._typing import Values


# The text prints x for both cases of θ2: a sign is lost. The header of the third column is −θ1.
MAPS = {
    "theta1": "x",
    "theta2": "abs(x)",
    "theta3": "-x",
    "theta4": "x+1, -x, x, 1-x on quarters",
    "theta5": "-theta4",
}
STATISTICS = ("xi", "pearson", "spearman", "kendall", "t0", "t0_over_delta")
_FEATURES = ("x", "theta(x)")
# statistics that detect each map at small noise, according to example 8
_PUBLISHED_DETECTORS = dict.fromkeys(MAPS, "xi, t0") | {"theta1": "all"}
_ROW_COUNTS = (50, 500)
_NOISE_VARIANCES = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0)
_SMALL_NOISE_VARIANCE = 1e-2  # noise variance of the table of detections
_SIGNIFICANCE_LEVEL = 0.05
_TITLES = {
    "xi": "ξ({} → y)",
    "pearson": "|Pearson|({}, y)",
    "spearman": "|Spearman|({}, y)",
    "kendall": "|Kendall|({}, y)",
    "log_t0": "log T0({}, y)",
}
_STYLES = {  # colour-blind safe colours
    "theta1": ("#000000", "-", "o"),
    "theta2": ("#D55E00", "-", "s"),
    "theta3": ("#0072B2", "--", "^"),
    "theta4": ("#009E73", "-", "D"),
    "theta5": ("#CC79A7", "--", "v"),
}


@dataclass(frozen=True, slots=True)
class _Figure4Plan:
    """Draws of the noise, draws of pure noise for the critical values, and noise variances."""

    repeats: int
    null_draws: int
    noise_variances: tuple[float, ...] = _NOISE_VARIANCES


SIZES: Mapping[ExperimentSize, _Figure4Plan] = {
    "small": _Figure4Plan(10, 100, (0.0, 1e-2, 10.0)),
    "medium": _Figure4Plan(50, 1000),
    "full": _Figure4Plan(200, 1000),
}


def make_equally_spaced_points(n: int) -> Values:
    """Return n equally spaced points on [−1, 1], exactly symmetric about 0.

    Parameters
    ----------
    n : int
        Number of points, at least 2.

    Returns
    -------
    float64 array, shape (n,)
        Points in ascending order. Sums of steps would not be symmetric, so |x| would lack ties.

    Examples
    --------
    >>> make_equally_spaced_points(5).tolist()
    [-1.0, -0.5, 0.0, 0.5, 1.0]
    """
    return np.arange(1 - n, n, 2) / (n - 1)


def compute_maps(x: Values) -> Mapping[str, Values]:
    """Compute θ1 … θ5 (Luo and Li 2024, figure 4).

    Parameters
    ----------
    x : float64 array, shape (n,)
        Points in [−1, 1].

    Returns
    -------
    mapping of str to float64 array, shape (n,)
        Values by the names in `MAPS`.

    Examples
    --------
    >>> maps = compute_maps(np.array([-0.75, -0.25, 0.25, 0.75]))
    >>> maps["theta2"].tolist(), maps["theta4"].tolist()
    ([0.75, 0.25, 0.25, 0.75], [0.25, 0.25, 0.25, 0.25])
    """
    fourth = np.select([x < -0.5, x < 0.0, x < 0.5], [x + 1.0, -x, x], 1.0 - x)
    return {"theta1": x, "theta2": np.abs(x), "theta3": -x, "theta4": fourth, "theta5": -fourth}


def run(settings: ExperimentSettings) -> ExperimentOutcome:
    """Compute the statistics of every map at every noise variance.

    Parameters
    ----------
    settings : ExperimentSettings
        `repeats`: number of draws of the noise per variance. All maps and variances use the same draws,
        scaled.

    Returns
    -------
    ExperimentOutcome
        ``detected``: at noise variance 0.01, the fraction of draws in which a statistic is above the 95 %
        quantile of its values for pure noise (T0: below the 5 % quantile), and the detections that the paper
        claims. ``values``: means and standard errors at every variance; errors are missing for a single draw,
        as without noise. ``log_t0`` is the natural logarithm of the mean of T0, with its error by the delta
        method; both are missing if that mean is 0. One picture per reading.
    """
    plan = settings.choose_plan(SIZES)
    repeats, variances = plan.repeats, plan.noise_variances
    rows: list[dict[str, object]] = []
    for i, n in enumerate(_ROW_COUNTS):
        x = make_equally_spaced_points(n)
        maps = compute_maps(x)
        noise = np.random.default_rng([settings.seed, n, 0]).standard_normal((repeats, n))
        critical_values = _compute_critical_values(maps, plan.null_draws, settings.seed)
        for step, variance in enumerate(variances):
            # without noise all draws are the same
            scaled_noise = np.sqrt(variance) * noise[: 1 if variance == 0.0 else repeats]
            for name, theta in maps.items():
                statistics = np.array(
                    [_compute_statistics(np.stack([x, theta]), theta + e) for e in scaled_noise]
                )
                for k, feature in enumerate(_FEATURES):
                    limits = critical_values[0 if feature == "x" else list(maps).index(name)]
                    cell = {"n": n, "noise_variance": variance, "map": name, "formula": MAPS[name]}
                    rows.append(cell | {"feature": feature} | _summarize_draws(statistics[:, k], limits))
            settings.report_progress(i * len(variances) + step + 1, len(_ROW_COUNTS) * len(variances))
    values = pd.DataFrame(rows)
    tables = {"detected": _build_detection_table(values), "values": values}
    pictures = {
        "of-x": partial(_draw_picture, values, "x"),
        "of-theta": partial(_draw_picture, values, "theta(x)"),
    }
    return ExperimentOutcome(tables, pictures, _format_remarks(values))


def _compute_statistics(features: Values, y: Values) -> Values:
    """Compute the `STATISTICS` of m features (m, n) with y (n,), (m, 6); the magnitude of correlations."""
    rows = np.argsort(y, kind="stable")
    ordered = sort_block(np.ascontiguousarray(features[:, rows]))
    target = NumericTarget(y[rows])
    t0 = compute_t0(ordered, target)
    correlations = [
        np.abs(correlation(ordered, target))
        for correlation in (compute_pearson, compute_spearman, compute_kendall)
    ]
    ratio = t0 / compute_gini_mean_difference(target)
    return np.column_stack([compute_xi(ordered, target), *correlations, t0, ratio])


def _compute_critical_values(maps: Mapping[str, Values], draws: int, seed: int) -> Values:
    """Compute critical values from pure noise with each map as the feature, (5, 6): 5 % for T0, else 95 %."""
    features = np.stack(list(maps.values()))
    n = int(features.shape[1])
    rng = np.random.default_rng([seed, n, 1])
    null = np.array([_compute_statistics(features, rng.standard_normal(n)) for _ in range(draws)])
    below, above = (
        np.quantile(null, _SIGNIFICANCE_LEVEL, axis=0),
        np.quantile(null, 1.0 - _SIGNIFICANCE_LEVEL, axis=0),
    )
    return np.asarray(np.where([name.startswith("t0") for name in STATISTICS], below, above))


def _summarize_draws(statistics: Values, critical_values: Values) -> dict[str, object]:
    """Average the statistics (draws, 6) and count the detections beyond the critical values (6,)."""
    draws = len(statistics)
    mean = statistics.mean(axis=0)
    error = statistics.std(axis=0, ddof=1) / np.sqrt(draws) if draws > 1 else np.full(mean.size, np.nan)
    cell: dict[str, object] = {"draws": draws}
    for name, value, se in zip(STATISTICS, mean, error, strict=True):
        cell |= {name: float(value), f"{name}_se": float(se)}
    t0, t0_error = mean[STATISTICS.index("t0")], error[STATISTICS.index("t0")]
    cell["log_t0"] = float(np.log(t0)) if t0 > 0 else np.nan
    cell["log_t0_se"] = float(t0_error / t0) if t0 > 0 else np.nan
    for name, column, limit in zip(STATISTICS, statistics.T, critical_values, strict=True):
        if name == "t0":
            continue  # T0 has the unit of y, which differs for pure noise; only T0/Δ is comparable
        beyond = column < limit if name == "t0_over_delta" else column > limit
        cell[f"detected_by_{name.removesuffix('_over_delta')}"] = float(beyond.mean())
    return cell


def _build_detection_table(values: pd.DataFrame) -> pd.DataFrame:
    """Build the table of detections at small noise, published and ours."""
    columns = {f"detected_by_{name}": name for name in ("xi", "pearson", "spearman", "kendall", "t0")}
    chosen = values[values["noise_variance"] == _SMALL_NOISE_VARIANCE].rename(columns=columns)
    chosen = chosen.loc[:, ~chosen.columns.duplicated(keep="last")]
    chosen = chosen.sort_values(["n", "feature"], ascending=[True, False], kind="stable", ignore_index=True)
    chosen["published"] = chosen["map"].map(_PUBLISHED_DETECTORS)
    return chosen[["n", "feature", "map", "formula", "published", *columns.values()]]


def _format_remarks(values: pd.DataFrame) -> tuple[str, ...]:
    """Compare the results with the claims of the paper."""
    few, many = _ROW_COUNTS
    of_x, of_theta = (partial(_format_noise_free, values, feature) for feature in _FEATURES)
    reading = (
        "θ2 is |x|: the text prints x for both of its cases. θ3 is −x, as in the header of the third column "
        "of the figure. The published figure has no numbers, so its claims are compared, not its points."
    )
    first = (
        f"T0/Δ between x and y without noise is {of_x('t0_over_delta', few)} for θ1 to θ5 at n = {few}, and "
        f"{of_x('t0_over_delta', many)} at n = {many}; independence gives 1 on average. With x, T0 detects "
        "neither |x| nor θ4 and θ5. −x is its worst case, 2Δ, which becomes the best only with a free sign."
    )
    second = (
        f"T0 between θ(x) and y without noise is {of_theta('t0', many)} at n = {many}: in this reading the "
        "paper's claim that T0 detects |x| and the others holds. But in this reading the other statistics "
        f"detect them as well: between θ(x) and y, |Pearson| is {of_theta('pearson', many)} and |Kendall| "
        f"{of_theta('kendall', many)}."
    )
    others = (
        "ξ between x and y detects every map at small noise, as the paper says (without noise at "
        f"n = {few}: {of_x('xi', few)}). According to the paper, Pearson, Spearman and Kendall detect only "
        f"θ1, but they also detect θ3: without noise |Pearson| is {of_x('pearson', few)}."
    )
    overlap = (
        "The paper uses log T0 to measure how far a map overlaps θ1. Between x and y without noise it is "
        f"{of_x('log_t0', many)} at n = {many}, where T0 is 0 for θ1. But T0 has the unit of y: T0/Δ is the "
        "same for θ2, θ4 and θ5, which differ only in Δ."
    )
    return (reading, first, second, others, overlap, _format_steadiness(values))


def _format_noise_free(values: pd.DataFrame, feature: str, column: str, n: int) -> str:
    """Format the values of one statistic without noise, for θ1 … θ5."""
    chosen = (values["noise_variance"] == 0.0) & (values["feature"] == feature) & (values["n"] == n)
    cells = values.loc[chosen, column]
    # adding 0 changes −0.000 to 0.000
    return ", ".join("-" if np.isnan(cell) else f"{round(cell, 3) + 0.0:.3f}" for cell in cells)


def _format_steadiness(values: pd.DataFrame) -> str:
    """Compare the standard deviations of ξ and T0/Δ at the largest noise."""
    n, max_variance = _ROW_COUNTS[0], values["noise_variance"].max()
    chosen = (values["noise_variance"] == max_variance) & (values["map"] == "theta2") & (values["n"] == n)
    cell = values[chosen & (values["feature"] == "x")].iloc[0]
    xi, ratio = (cell[f"{name}_se"] * np.sqrt(cell["draws"]) for name in ("xi", "t0_over_delta"))
    verdict = "is borne out" if ratio < xi else "is not borne out"
    return (
        f"At n = {n} and noise variance {max_variance:g}, between x and |x| + e, the standard deviation is "
        f"{xi:.3f} for ξ and {ratio:.3f} for T0/Δ. The claim that T0 misleads less than ξ in small samples "
        f"{verdict}."
    )


def _draw_picture(values: pd.DataFrame, feature: str) -> Figure:
    """Draw the maps, and below them one row of panels per n and one column per statistic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 8.5), layout="constrained")
    panels = figure.subplots(1 + len(_ROW_COUNTS), len(_TITLES), height_ratios=(0.75, 1, 1))
    bottom = float(np.floor(np.nanmin(values["log_t0"]))) - 1.0  # position of T0 = 0
    x = make_equally_spaced_points(_ROW_COUNTS[-1])
    for axes, (name, theta) in zip(panels[0], compute_maps(x).items(), strict=True):
        axes.plot(x, theta, ".", markersize=2, color=_STYLES[name][0])
        axes.set_title(f"{name}: {MAPS[name]}", fontsize=10)
        axes.set_ylim(-1.1, 1.1)
    for row, n in zip(panels[1:], _ROW_COUNTS, strict=True):
        lines = values[(values["n"] == n) & (values["feature"] == feature)]
        for axes, (column, title) in zip(row, _TITLES.items(), strict=True):
            for name in MAPS:
                _draw_map_line(axes, lines[lines["map"] == name], column, name, bottom)
            axes.set_title(title.format(feature), fontsize=10)
            _set_axes_scale(axes, column, bottom)
        row[0].set_ylabel(f"n = {n}")
    for axes in panels[-1]:
        axes.set_xlabel("noise variance")
    handles, labels = panels[1][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(MAPS))
    return figure


def _draw_map_line(axes: Axes, lines: pd.DataFrame, column: str, name: str, bottom: float) -> None:
    """Draw the line of one map with a band of one standard error; T0 = 0 is a hollow marker at the bottom."""
    color, style, marker = _STYLES[name]
    variance = lines["noise_variance"].to_numpy()
    # no noise has no logarithm: draw it at the tick of 0, a decade to the left of the smallest variance
    positions = np.log10(np.where(variance > 0, variance, _NOISE_VARIANCES[1] / 10))
    middle, error = lines[column].to_numpy(), lines[f"{column}_se"].fillna(0.0).to_numpy()
    draw = partial(axes.plot, color=color, marker=marker, markersize=4)
    draw(positions, middle, linestyle=style, label=f"{name}: {MAPS[name]}")
    axes.fill_between(positions, middle - error, middle + error, color=color, alpha=0.25, linewidth=0)
    is_zero = np.isnan(middle)
    draw(positions[is_zero], np.full(is_zero.sum(), bottom), linestyle="", markerfacecolor="white")


def _set_axes_scale(axes: Axes, column: str, bottom: float) -> None:
    """Set the ticks and limits of one panel."""
    exponents = np.arange(-4, 2, 1)
    axes.set_xticks([-5, *exponents], ["0", *[f"$10^{{{e}}}$" for e in exponents]], fontsize=8)
    axes.grid(alpha=0.3)
    if column == "log_t0":
        ticks = [tick for tick in range(-16, 3, 2) if tick > bottom]
        axes.set_yticks([bottom, *ticks], ["T0 = 0", *map(str, ticks)], fontsize=8)
        axes.set_ylim(bottom - 0.7, 2.5)
    else:
        axes.set_ylim(-0.12, 1.05)


EXPERIMENT = Experiment(
    name="figure4",
    title="Five maps of one input under five statistics, over the variance of the noise",
    source="Luo and Li 2024, figure 4 and example 8",
    run=run,
    sizes=SIZES,
    supported_settings=("repeats",),
)
