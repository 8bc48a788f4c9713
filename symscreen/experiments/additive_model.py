"""Figures 5 and 6 of Luo and Li (2024): the screeners on the additive model in two small spaces.

The model is y = 2·x1³ + 5·x3 + 10 + e (eq. 19) with x1, x2, x3 uniform on [0, 1]. The operators are id, cube,
+ and ×, with strict pools. Figure 5 compares precision-recall curves of all screeners. Figure 6 compares the
three features that each method selects, and the time this takes.

The text is inconsistent about the order of the layers. In §6.1, its captions and Table 2, the space with
binary operators first (``bu`` here) has 24 features and gives better results; Example 1 says the opposite.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from symscreen import datasets
from symscreen.evaluation import (
    PrecisionRecallCurve,
    aip,
    average_curves,
    compute_metrics,
    compute_paper_auc,
    compute_precision_recall_curve,
    get_ranking_losses,
    parse_truth,
    select_top_features,
)
from symscreen.evaluation.truth import find_correct_features
from symscreen.experiments.base import Experiment, ExperimentOutcome, ExperimentSettings, average_draws
from symscreen.report.figures.precision_recall_curves import draw_curves, use_default_style
from symscreen.screeners import JointInput, JointScreener, parse_screeners
from symscreen.screening.screen import screen
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.targets import NumericTarget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from symscreen.datasets import BenchmarkDataset
    from symscreen.screeners import AnyScreener


LAYER_ORDERS = ("bu", "ub")
NOISE_VARIANCES = (0.0, 0.01, 0.1)
# all built-in screeners; trees without a selection rule, ranked by inclusion or importance
SCREENER_SPECS = {
    "t0": "t0",
    "xi": "xi",
    "kendall": "kendall",
    "spearman": "spearman",
    "pearson": "pearson",
    "lasso": "lasso",
    "scad": "scad",
    "mcp": "mcp",
    "stepwise": "stepwise",
    "forest": "forest[rule=none]",
    "bart": "bart[rule=none,replicates=5]",
}


@dataclass(frozen=True, eq=False)
class AblationScreening:
    """All features of one table, ranked by several screeners.

    Parameters
    ----------
    losses : dict of str to float64 array, shape (q,)
        Losses of the q features by screener; smaller is better.
    correct : bool array, shape (q,)
        Whether a feature uses only x1 and x3 (§6.1, Table 2): 12 of 24, or 20 of 42.
    """

    losses: dict[str, NDArray[np.float64]]
    correct: NDArray[np.bool_]


def screen_additive_model(
    order: str, data: BenchmarkDataset, screener_names: tuple[str, ...], *, seed: int, jobs: int | None
) -> AblationScreening:
    """Screen a table drawn from the additive model.

    Parameters
    ----------
    order : {"bu", "ub"}
        Order of the layers.
    data : BenchmarkDataset
        Table from `symscreen.datasets.make_additive`.
    screener_names : tuple of str
        Keys of `SCREENER_SPECS`.
    seed : int
        Seed of the screeners.
    jobs : int, optional
        Number of threads.

    Returns
    -------
    AblationScreening
        Losses with positive sign: the T0 of the paper counts features that decrease with the target as wrong.
    """
    result = screen(
        data.frame,
        operators="ablation",
        layers=order,
        pool="strict",
        screener=[SCREENER_SPECS[name] for name in screener_names],
        sign="positive",
        top="all",
        seed=seed,
        jobs=jobs,
    )
    correct = find_correct_features(result.expressions, parse_truth(data.truth), "active")
    return AblationScreening(get_ranking_losses(result), correct)


_FIGURE5_REPEATS, _QUICK_FIGURE5_REPEATS = 50, 3
_FIGURE5_N_ROWS = 100
_SLOW_SCREENERS = ("forest", "bart")
_DRAWN_SCREENERS = ("t0", "xi", "bart", "lasso", "scad", "stepwise")  # more curves would overlap
_MEASURES = ("average_precision", "pr_auc", "roc_auc")


def run_figure5(settings: ExperimentSettings) -> ExperimentOutcome:
    """Screen tables of the additive model and evaluate every screener by the criterion ``active``.

    Parameters
    ----------
    settings : ExperimentSettings
        `repeats`: number of tables per order and noise variance, 50 by default. The quick size has three and
        omits the forest and BART.

    Returns
    -------
    ExperimentOutcome
        ``average-precision``: one row per screener, one column per order and variance. ``areas``: means with
        standard errors over the tables of the average precision, the trapezoidal area, the area under the ROC
        curve, the fraction of correct features among the best three (AIP), and the scoring of these three in
        the paper, which is that fraction on another scale. ``curves``: the mean precision at every recall.
        One picture per order and variance.
    """
    repeats = settings.count_repeats(_FIGURE5_REPEATS, _QUICK_FIGURE5_REPEATS)
    names = tuple(name for name in SCREENER_SPECS if not (settings.quick and name in _SLOW_SCREENERS))
    cells = list(product(LAYER_ORDERS, NOISE_VARIANCES))
    screenings: dict[tuple[str, float], list[AblationScreening]] = {cell: [] for cell in cells}
    for (order, variance), repeat in settings.track(product(cells, range(repeats))):
        seed = settings.seed + repeat
        data = datasets.make_additive(n=_FIGURE5_N_ROWS, noise_variance=variance, seed=seed)
        screening = screen_additive_model(order, data, names, seed=seed, jobs=settings.jobs)
        screenings[order, variance].append(screening)
    draws, curves = [], []
    for (order, variance), name in product(cells, names):
        cell: dict[str, Any] = {"order": order, "noise_variance": variance, "screener": name}
        draws += [cell | _measure_screening(screening, name) for screening in screenings[order, variance]]
        curves.append(_average_curve(screenings[order, variance], name).assign(**cell))
    keys = ["order", "noise_variance", "screener", "features", "correct"]
    frame = average_draws(pd.DataFrame(draws), keys, [*_MEASURES, "aip", "paper_auc"])
    tables = {
        "average-precision": _build_precision_table(frame),
        "areas": frame,
        "curves": pd.concat(curves, ignore_index=True),
    }
    pictures = {
        f"{order}-{variance:g}": partial(_draw_figure5, tables, order, variance) for order, variance in cells
    }
    return ExperimentOutcome(tables, pictures, _format_figure5_remarks(tables["areas"]))


def _measure_screening(screening: AblationScreening, screener: str) -> dict[str, float]:
    """Compute the measures of one screener on one table."""
    loss, correct = screening.losses[screener], screening.correct
    results = compute_metrics(loss, correct, recall=())
    selected = select_top_features(loss)
    return {
        "features": correct.size,
        "correct": int(correct.sum()),
        **{name: results[name] for name in _MEASURES},
        "aip": aip(selected, correct),
        "paper_auc": compute_paper_auc(selected, correct),
    }


def _build_precision_table(areas: pd.DataFrame) -> pd.DataFrame:
    """Build the table of average precisions: one row per screener, one column per order and variance."""
    columns = {"screener": areas["screener"].unique()}
    for (order, variance), cell in areas.groupby(["order", "noise_variance"]):
        columns[f"{order} {variance:g}"] = cell["average_precision"].to_numpy()
    return pd.DataFrame(columns)


def _average_curve(screenings: Sequence[AblationScreening], screener: str) -> pd.DataFrame:
    """Average the precision-recall curves of one screener over the tables."""
    recall, precision, error = average_curves(
        [
            compute_precision_recall_curve(screening.losses[screener], screening.correct)
            for screening in screenings
        ]
    )
    return pd.DataFrame({"recall": recall, "precision": precision, "precision_se": error})


def _format_figure5_remarks(areas: pd.DataFrame) -> tuple[str, ...]:
    """Compare the results with the two statements of the paper on figure 5."""
    means = {
        name: screener_areas.pivot_table(index="order", columns="noise_variance", values="average_precision")
        for name, screener_areas in areas.groupby("screener", sort=False)
    }
    decreasing = [str(name) for name, mean in means.items() if (np.diff(mean.to_numpy()) < 0).all()]
    higher = [str(name) for name, mean in means.items() if (mean.loc["bu"] > mean.loc["ub"]).all()]
    return (
        "The paper has its curves and boxes only as pictures. Two statements of its text can be tested.",
        f"'The area falls as the noise grows', in both orders: true for {_format_names(decreasing)}.",
        f"'Binary operators first give the higher area' at every noise: true for {_format_names(higher)}.",
    )


def _format_names(names: Sequence[str]) -> str:
    """List names for a sentence."""
    return ", ".join(names) or "no screener"


def _draw_figure5(tables: dict[str, pd.DataFrame], order: str, variance: float) -> Figure:
    """Draw the mean curves of one order and noise variance."""
    cell_tables = {
        name: frame[(frame["order"] == order) & (frame["noise_variance"] == variance)].set_index("screener")
        for name, frame in tables.items()
        if "order" in frame
    }
    names = [name for name in _DRAWN_SCREENERS if name in cell_tables["areas"].index]
    curves = {}
    for name in names:
        curve = cell_tables["curves"].loc[name]
        recall, precision = curve["recall"].to_numpy(), curve["precision"].to_numpy()
        curves[name] = PrecisionRecallCurve(recall, precision, np.full(recall.size, np.nan))
    areas = cell_tables["areas"]
    share = float((areas["correct"] / areas["features"]).iloc[0])
    errors = dict(zip(areas.index, areas["average_precision_se"], strict=True))
    title = f"layers {order}, noise variance {variance:g}, n = {_FIGURE5_N_ROWS}"
    return draw_curves(curves, share, errors=errors, title=title)


FIGURE5_EXPERIMENT = Experiment(
    name="figure5",
    title="Precision and recall on the additive model, in two orders of layers, for every screener",
    source="Luo and Li 2024, figure 5 and §6.1",
    run=run_figure5,
    extras=("bart",),
    supported_settings=("repeats",),
)


_FIGURE6_SCREENERS = ("t0", "bart", "lasso", "scad", "stepwise")  # those of the paper
_FIGURE6_NOISE_VARIANCES = (0.0, 0.01, 0.1, 1.0)
_FIGURE6_ROW_COUNTS = (50, 100, 200)
_QUICK_NOISE_VARIANCES, _QUICK_ROW_COUNTS = (0.0, 0.1), (100,)
_FIGURE6_REPEATS, _QUICK_FIGURE6_REPEATS = 50, 1
_TIMING_REPEATS = 5  # measurements per median time
_STYLES = (("o", "-"), ("s", "--"), ("^", "-."), ("D", ":"), ("v", (0, (5, 1, 1, 1))))


def run_figure6(settings: ExperimentSettings) -> ExperimentOutcome:
    """Let each method select three features and count the correct ones; time each method on the same matrix.

    Parameters
    ----------
    settings : ExperimentSettings
        `repeats`: number of tables per order, noise variance and number of rows, 50 by default.

    Returns
    -------
    ExperimentOutcome
        ``beside``: one row per order, number of rows and noise variance, one column per screener. ``aip``:
        the average inclusion probability (§6.2) with its standard error, per order, rows, noise variance and
        screener. ``seconds``: the median time to score the 24 or 42 features; it varies between runs. One
        picture per order.
    """
    variances = _QUICK_NOISE_VARIANCES if settings.quick else _FIGURE6_NOISE_VARIANCES
    sizes = _QUICK_ROW_COUNTS if settings.quick else _FIGURE6_ROW_COUNTS
    cells = list(product(LAYER_ORDERS, sizes, variances))
    repeats = settings.count_repeats(_FIGURE6_REPEATS, _QUICK_FIGURE6_REPEATS)
    draws = []
    for (order, n, variance), repeat in settings.track(product(cells, range(repeats))):
        seed = settings.seed + repeat
        data = datasets.make_additive(n=n, noise_variance=variance, seed=seed)
        screening = screen_additive_model(order, data, _FIGURE6_SCREENERS, seed=seed, jobs=settings.jobs)
        for name in _FIGURE6_SCREENERS:
            share = aip(select_top_features(screening.losses[name]), screening.correct)
            cell = {"order": order, "rows": n, "noise_variance": variance, "screener": name}
            draws.append(cell | {"aip": share})
    frame = average_draws(pd.DataFrame(draws), ["order", "rows", "noise_variance", "screener"], ["aip"])
    tables = {"beside": _build_inclusion_table(frame), "aip": frame, "seconds": _time_screeners(settings)}
    pictures = {order: partial(_draw_figure6, tables["aip"], order) for order in LAYER_ORDERS}
    return ExperimentOutcome(tables, pictures, _format_figure6_remarks(tables))


def _build_inclusion_table(aip: pd.DataFrame) -> pd.DataFrame:
    """Build the table of mean inclusion probabilities, one column per screener."""
    rows = []
    for (order, n, variance), cell in aip.groupby(["order", "rows", "noise_variance"]):
        means = dict(zip(cell["screener"], cell["aip"], strict=True))
        rows.append({"order": order, "rows": n, "noise_variance": variance, **means})
    return pd.DataFrame(rows)


def _time_screeners(settings: ExperimentSettings) -> pd.DataFrame:
    """Time each method on one matrix of features, on one thread."""
    rows = []
    for order in LAYER_ORDERS:
        data = datasets.make_additive(n=100, noise_variance=0.01, seed=settings.seed)
        result = screen(data.frame, operators="ablation", layers=order, pool="strict", top="all")
        by_target = np.argsort(data.frame["target"].to_numpy(), kind="stable")
        values = np.ascontiguousarray(result.transform(data.frame).to_numpy()[by_target].T)
        target = NumericTarget(data.frame["target"].to_numpy()[by_target])
        for screener in parse_screeners([SCREENER_SPECS[name] for name in _FIGURE6_SCREENERS]):
            times = []
            for _ in range(1 if settings.quick else _TIMING_REPEATS):
                start = time.perf_counter()
                _score_features(screener, values, target, settings.seed)
                times.append(time.perf_counter() - start)
            rows.append(
                {
                    "order": order,
                    "features": len(values),
                    "screener": screener.name,
                    "seconds": float(np.median(times)),
                }
            )
    return pd.DataFrame(rows)


def _score_features(screener: AnyScreener, values: np.ndarray, target: NumericTarget, seed: int) -> None:
    """Score features (q, n) by one screener."""
    if isinstance(screener, JointScreener):
        screener.score_features(JointInput(values, target, seed=seed))
    else:
        screener.statistic(sort_block(values), target)


def _format_figure6_remarks(tables: dict[str, pd.DataFrame]) -> tuple[str, ...]:
    """Format the remarks on the tables."""
    mean = tables["aip"].groupby("screener")["aip"].mean().sort_values(ascending=False)
    seconds = tables["seconds"].groupby("screener")["seconds"].mean().sort_values()
    rule = (
        "Each method selects the three features with the smallest loss; ties at the boundary count in "
        "shares. T0: smallest T0, positive sign. BART: largest inclusion. LASSO, SCAD: largest standardised "
        "coefficient at the cross-validated λ, then the order on the path. Stepwise: largest standardised "
        "coefficient of the forward selection (size by BIC), then the order of entry; the paper's regsubsets "
        "searches all subsets by default."
    )
    return (
        rule,
        "Mean over all cells: " + ", ".join(f"{name} {value:.3f}" for name, value in mean.items()) + ".",
        "Seconds for 24 and 42 features of 100 rows: "
        + ", ".join(f"{name} {value:.2g}" for name, value in seconds.items())
        + ". In the paper T0 is the fastest, then LASSO; BART is among the slowest. "
        f"Here {seconds.index[0]} is the fastest, {seconds.index[-1]} the slowest.",
    )


def _draw_figure6(table: pd.DataFrame, order: str) -> Figure:
    """Draw the average inclusion probability against the noise, one panel per number of rows."""
    order_rows = table[table["order"] == order]
    sizes, variances = order_rows["rows"].unique(), order_rows["noise_variance"].unique()
    with use_default_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(max(5.6, 2.8 * len(sizes) + 0.4), 3.6), dpi=150, layout="constrained")
        panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
        for panel, n in zip(panels, sizes, strict=True):
            for name, (marker, dashes) in zip(_FIGURE6_SCREENERS, _STYLES, strict=True):
                line = order_rows[(order_rows["rows"] == n) & (order_rows["screener"] == name)]
                panel.errorbar(
                    range(len(variances)),
                    line["aip"],
                    yerr=line["aip_se"],
                    marker=marker,
                    linestyle=dashes,
                    label=name,
                    capsize=2,
                    clip_on=False,
                )
            panel.set_xticks(range(len(variances)), [f"{variance:g}" for variance in variances])
            panel.set_ylim(0.0, 1.03)
            panel.set_title(f"n = {n}")
            panel.set_xlabel("noise variance")
        panels[0].set_ylabel("average inclusion probability")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside lower center", ncols=len(_FIGURE6_SCREENERS), frameon=False
        )
        figure.suptitle(f"layers {order}")
    return figure


FIGURE6_EXPERIMENT = Experiment(
    name="figure6",
    title="Three features chosen on the additive model by five methods, and the time of choosing",
    source="Luo and Li 2024, figure 6 and §6.2",
    run=run_figure6,
    extras=("bart",),
    supported_settings=("repeats",),
)
