"""Figure 4 of Luo and Li (2024): five maps of one input, seen by five statistics, over the noise.

The paper's claims can be read in two ways, which are both computed: each statistic between x and
y = θ(x) + e, as the caption has it, and between θ(x) and y, as T0 is defined (eq. 18).
"""

from __future__ import annotations

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

    from symscreen._typing import Values


__all__ = ["EXPERIMENT", "MAPS", "compute_maps", "make_equally_spaced_points", "run"]

# the text prints x for both cases of θ2, where a sign is lost, and −θ1 above the third column
MAPS = {
    "theta1": "x",
    "theta2": "abs(x)",
    "theta3": "-x",
    "theta4": "x+1, -x, x, 1-x on quarters",
    "theta5": "-theta4",
}
STATISTICS = ("xi", "pearson", "spearman", "kendall", "t0", "t0_over_delta")
_FEATURES = ("x", "theta(x)")
_PUBLISHED_DETECTORS = dict.fromkeys(MAPS, "xi, t0") | {
    "theta1": "all"
}  # Example 8, where the noise is small
_ROW_COUNTS = (50, 500)
_NOISE_VARIANCES = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0)
_QUICK_NOISE_VARIANCES = (0.0, 1e-2, 10.0)
_SMALL_NOISE_VARIANCE = (
    1e-2  # the variance of the first table: the noise is a tenth of the spread of θ1 or less
)
_REPEATS, _QUICK_REPEATS = 200, 10
_NULL_DRAWS, _QUICK_NULL_DRAWS = 1000, 100
_SIGNIFICANCE_LEVEL = 0.05
_TITLES = {
    "xi": "ξ({} → y)",
    "pearson": "|Pearson|({}, y)",
    "spearman": "|Spearman|({}, y)",
    "kendall": "|Kendall|({}, y)",
    "log_t0": "log T0({}, y)",
}
_STYLES = {  # colours that the colour-blind tell apart
    "theta1": ("#000000", "-", "o"),
    "theta2": ("#D55E00", "-", "s"),
    "theta3": ("#0072B2", "--", "^"),
    "theta4": ("#009E73", "-", "D"),
    "theta5": ("#CC79A7", "--", "v"),
}


def make_equally_spaced_points(n: int) -> Values:
    """Space points equally on [−1, 1], to the last bit symmetric about 0.

    Parameters
    ----------
    n : int
        At least 2.

    Returns
    -------
    float64 array, shape (n,)
        Ascending. Of a sum of steps |x| would have ties on one side that the other has not.

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
        In [−1, 1].

    Returns
    -------
    mapping of str to float64 array, shape (n,)
        By the names of `MAPS`.

    Examples
    --------
    >>> [values.tolist() for values in compute_maps(np.array([-0.75, -0.25, 0.25, 0.75])).values()][1:4:2]
    [[0.75, 0.25, 0.25, 0.75], [0.25, 0.25, 0.25, 0.25]]
    """
    fourth = np.select([x < -0.5, x < 0.0, x < 0.5], [x + 1.0, -x, x], 1.0 - x)
    return {"theta1": x, "theta2": np.abs(x), "theta3": -x, "theta4": fourth, "theta5": -fourth}


def run(settings: ExperimentSettings) -> ExperimentOutcome:
    """Compute the statistics of every map at every noise variance.

    Parameters
    ----------
    settings : Settings
        `repeats` draws of the noise for each variance: 200 by default. Every map and variance sees the same
        draws, scaled.

    Returns
    -------
    Outcome
        ``detected``: at noise variance 0.01, the share of draws in which a statistic lies beyond 95 % of
        what it is for pure noise (above; T0 below), beside what the paper says detects. ``values``: means
        and standard errors at every variance, standard errors missing for a single draw, as without noise;
        ``log_t0`` is the natural logarithm of the mean of T0, its error by the delta method, both missing
        where that mean is 0. A picture for each reading.
    """
    repeats = settings.repeats or (_QUICK_REPEATS if settings.quick else _REPEATS)
    variances = _QUICK_NOISE_VARIANCES if settings.quick else _NOISE_VARIANCES
    rows: list[dict[str, object]] = []
    for place, n in enumerate(_ROW_COUNTS):
        x = make_equally_spaced_points(n)
        maps = compute_maps(x)
        noise = np.random.default_rng([settings.seed, n, 0]).standard_normal((repeats, n))
        edges = _compute_critical_values(maps, settings)
        for step, variance in enumerate(variances):
            # without noise all draws are the same
            drawn = np.sqrt(variance) * noise[: 1 if variance == 0.0 else repeats]
            for name, theta in maps.items():
                found = np.array([_compute_statistics(np.stack([x, theta]), theta + e) for e in drawn])
                for which, feature in enumerate(_FEATURES):
                    edge = edges[0 if feature == "x" else list(maps).index(name)]
                    cell = {"n": n, "noise_variance": variance, "map": name, "formula": MAPS[name]}
                    rows.append(cell | {"feature": feature} | _summarise_draws(found[:, which], edge))
            settings.report_progress(place * len(variances) + step + 1, len(_ROW_COUNTS) * len(variances))
    values = pd.DataFrame(rows)
    tables = {"detected": _build_detection_table(values), "values": values}
    pictures = {
        "of-x": partial(_draw_picture, values, "x"),
        "of-theta": partial(_draw_picture, values, "theta(x)"),
    }
    return ExperimentOutcome(tables, pictures, _format_remarks(values))


def _compute_statistics(features: Values, y: Values) -> Values:
    """Return the `STATISTICS` of each row of `features`, shape (m, 6); of correlations the magnitude."""
    rows = np.argsort(y, kind="stable")
    ordered = sort_block(np.ascontiguousarray(features[:, rows]))
    response = NumericTarget(y[rows])
    t0 = compute_t0(ordered, response)
    correlations = [
        np.abs(of(ordered, response)) for of in (compute_pearson, compute_spearman, compute_kendall)
    ]
    ratio = t0 / compute_gini_mean_difference(response)
    return np.column_stack([compute_xi(ordered, response), *correlations, t0, ratio])


def _compute_critical_values(maps: Mapping[str, Values], settings: ExperimentSettings) -> Values:
    """Return, for each map as the feature, what 95 % of pure noise stays below, or for T0 above; (5, 6)."""
    features = np.stack(list(maps.values()))
    n = int(features.shape[1])
    rng = np.random.default_rng([settings.seed, n, 1])
    draws = _QUICK_NULL_DRAWS if settings.quick else _NULL_DRAWS
    null = np.array([_compute_statistics(features, rng.standard_normal(n)) for _ in range(draws)])
    below, above = (
        np.quantile(null, _SIGNIFICANCE_LEVEL, axis=0),
        np.quantile(null, 1.0 - _SIGNIFICANCE_LEVEL, axis=0),
    )
    return np.asarray(np.where([name.startswith("t0") for name in STATISTICS], below, above))


def _summarise_draws(statistics: Values, critical_values: Values) -> dict[str, object]:
    draws = len(statistics)
    mean = statistics.mean(axis=0)
    error = statistics.std(axis=0, ddof=1) / np.sqrt(draws) if draws > 1 else np.full(mean.size, np.nan)
    cell: dict[str, object] = {"draws": draws}
    for name, m, e in zip(STATISTICS, mean, error, strict=True):
        cell |= {name: float(m), f"{name}_se": float(e)}
    t0, t0_error = mean[STATISTICS.index("t0")], error[STATISTICS.index("t0")]
    cell["log_t0"] = float(np.log(t0)) if t0 > 0 else np.nan
    cell["log_t0_se"] = float(t0_error / t0) if t0 > 0 else np.nan
    for name, column, limit in zip(STATISTICS, statistics.T, critical_values, strict=True):
        if name == "t0":
            continue  # pure noise has another unit; only T0/Δ can be compared with it
        beyond = column < limit if name == "t0_over_delta" else column > limit
        cell[f"detected_by_{name.removesuffix('_over_delta')}"] = float(beyond.mean())
    return cell


def _build_detection_table(values: pd.DataFrame) -> pd.DataFrame:
    """Set the shares of detection at little noise beside what the paper says detects."""
    columns = {f"detected_by_{name}": name for name in ("xi", "pearson", "spearman", "kendall", "t0")}
    chosen = values[values["noise_variance"] == _SMALL_NOISE_VARIANCE].rename(columns=columns)
    chosen = chosen.loc[:, ~chosen.columns.duplicated(keep="last")]
    chosen = chosen.sort_values(["n", "feature"], ascending=[True, False], kind="stable", ignore_index=True)
    chosen["published"] = chosen["map"].map(_PUBLISHED_DETECTORS)
    return chosen[["n", "feature", "map", "formula", "published", *columns.values()]]


def _format_remarks(values: pd.DataFrame) -> tuple[str, ...]:
    few, many = _ROW_COUNTS
    of_x, of_theta = (partial(_format_noise_free, values, feature) for feature in _FEATURES)
    read = (
        "θ2 is |x|: the text prints x for both of its cases. θ3 is −x, as the header of the figure's third "
        "column has it. The published figure prints no numbers: its claims are compared, not its points."
    )
    first = (
        f"T0/Δ between x and y without noise is {of_x('t0_over_delta', few)} for θ1 to θ5 at n = {few}, and "
        f"{of_x('t0_over_delta', many)} at n = {many}; independence gives 1 on average. With x, T0 detects "
        "neither |x| nor θ4 and θ5; −x is its worst case, 2Δ, which only a free sign turns into the best."
    )
    second = (
        f"T0 between θ(x) and y without noise is {of_theta('t0', many)} at n = {many}: in this reading the "
        "paper's claim that T0 detects |x| and the others holds. But so read, the others do as well: between "
        f"θ(x) and y, |Pearson| is {of_theta('pearson', many)} and |Kendall| {of_theta('kendall', many)}."
    )
    others = (
        "ξ between x and y detects every map where the noise is small, as the paper says (without noise at "
        f"n = {few}: {of_x('xi', few)}). Of the maps that the paper says Pearson, Spearman and Kendall "
        f"cannot detect, they detect θ3: without noise |Pearson| is {of_x('pearson', few)}."
    )
    overlap = (
        "The paper reads from log T0 how far a map overlaps θ1. Between x and y without noise it is "
        f"{of_x('log_t0', many)} at n = {many}, where T0 is 0 for θ1; but T0 is in the unit of y, and "
        "between θ2, θ4 and θ5 only Δ differs: T0/Δ is the same for all three."
    )
    return (read, first, second, others, overlap, _format_steadiness(values))


def _format_noise_free(values: pd.DataFrame, feature: str, column: str, n: int) -> str:
    chosen = (values["noise_variance"] == 0.0) & (values["feature"] == feature) & (values["n"] == n)
    cells = values.loc[chosen, column]
    # adding 0 turns −0.000 into 0.000
    return ", ".join("-" if np.isnan(cell) else f"{round(cell, 3) + 0.0:.3f}" for cell in cells)


def _format_steadiness(values: pd.DataFrame) -> str:
    """Compare how far ξ and T0/Δ stray where the noise hides everything."""
    n, loudest = _ROW_COUNTS[0], values["noise_variance"].max()
    chosen = (values["noise_variance"] == loudest) & (values["map"] == "theta2") & (values["n"] == n)
    cell = values[chosen & (values["feature"] == "x")].iloc[0]
    xi, ratio = (cell[f"{name}_se"] * np.sqrt(cell["draws"]) for name in ("xi", "t0_over_delta"))
    verdict = "is borne out" if ratio < xi else "is not borne out"
    return (
        f"At n = {n} and noise variance {loudest:g}, the standard deviation between x and |x| + e is "
        f"{xi:.3f} for ξ and {ratio:.3f} for T0/Δ: that T0 misleads less than ξ in small samples {verdict}."
    )


def _draw_picture(values: pd.DataFrame, feature: str) -> Figure:
    """Draw the maps, and below them a row for each n and a column for each statistic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 8.5), layout="constrained")
    panels = figure.subplots(1 + len(_ROW_COUNTS), len(_TITLES), height_ratios=(0.75, 1, 1))
    foot = float(np.floor(np.nanmin(values["log_t0"]))) - 1.0  # where T0 = 0 stands
    x = make_equally_spaced_points(_ROW_COUNTS[-1])
    for axes, (name, theta) in zip(panels[0], compute_maps(x).items(), strict=True):
        axes.plot(x, theta, ".", markersize=2, color=_STYLES[name][0])
        axes.set_title(f"{name}: {MAPS[name]}", fontsize=10)
        axes.set_ylim(-1.1, 1.1)
    for row, n in zip(panels[1:], _ROW_COUNTS, strict=True):
        here = values[(values["n"] == n) & (values["feature"] == feature)]
        for axes, (column, title) in zip(row, _TITLES.items(), strict=True):
            for name in MAPS:
                _draw_map_line(axes, here[here["map"] == name], column, name, foot)
            axes.set_title(title.format(feature), fontsize=10)
            _set_axes_scale(axes, column, foot)
        row[0].set_ylabel(f"n = {n}")
    for axes in panels[-1]:
        axes.set_xlabel("noise variance")
    handles, labels = panels[1][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(MAPS))
    return figure


def _draw_map_line(axes: Axes, lines: pd.DataFrame, column: str, name: str, bottom: float) -> None:
    """Draw one map's line, with a band of one standard error; T0 = 0 as a hollow mark at the foot."""
    colour, style, marker = _STYLES[name]
    variance = lines["noise_variance"].to_numpy()
    # noise 0 has no logarithm: it stands a decade to the left
    places = np.log10(np.where(variance > 0, variance, variance[variance > 0].min() / 10))
    middle, error = lines[column].to_numpy(), lines[f"{column}_se"].fillna(0.0).to_numpy()
    draw = partial(axes.plot, color=colour, marker=marker, markersize=4)
    draw(places, middle, linestyle=style, label=f"{name}: {MAPS[name]}")
    axes.fill_between(places, middle - error, middle + error, color=colour, alpha=0.25, linewidth=0)
    nought = np.isnan(middle)
    draw(places[nought], np.full(nought.sum(), bottom), linestyle="", markerfacecolor="white")


def _set_axes_scale(axes: Axes, column: str, bottom: float) -> None:
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
    supported_settings=("repeats",),
)
