"""Figures 5 and 6 of Luo and Li (2024): the screeners on the additive model in two small spaces.

The model is y = 2·x1³ + 5·x3 + 10 + e (eq. 19) with x1, x2, x3 uniform on [0, 1]. The operators are id, cube,
+ and ×, with strict pools. Figure 5 compares precision-recall curves of all screeners. Figure 6 compares the
three features that each method selects, and the time this takes. BART has 50 trees, whose depth its prior
alone limits (`symscreen.experiments.base.write_bart_spec`).

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
from symscreen.experiments.base import (
    Experiment,
    ExperimentOutcome,
    ExperimentSettings,
    average_draws,
    write_bart_spec,
)
from symscreen.report.figures.precision_recall_curves import draw_curves, use_default_style
from symscreen.screeners import JointInput, JointScreener, parse_screeners
from symscreen.screening.screen import screen
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.targets import NumericTarget

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from symscreen._option_values import ExperimentSize
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
    "bart": write_bart_spec(is_short=False),
}


# short chains and few trees of a forest, for the small size
_SHORT_SPECS = SCREENER_SPECS | {
    "bart": write_bart_spec(is_short=True),
    "forest": "forest[rule=none,trees=20]",
}

_FIGURE5_N_ROWS = 100
_DRAWN_SCREENERS = ("t0", "xi", "bart", "lasso", "scad", "stepwise")  # more curves would overlap
_MEASURES = ("average_precision", "pr_auc", "roc_auc")
_CHOICE_MEASURES = ("aip", "paper_auc", "paper_pr_auc")  # measures of the choice of three features
_BOX_TITLES = {
    "pr_auc": "area under precision against recall, whole ranking",
    "paper_pr_auc_drawn": "the same of three chosen features with random scores, as in the paper",
}

_FIGURE6_SCREENERS = ("t0", "bart", "lasso", "scad", "stepwise")  # those of the paper
_FIGURE6_NOISE_VARIANCES = (0.0, 0.01, 0.1, 1.0)
_FIGURE6_ROW_COUNTS = (50, 100, 200)
_STYLES = (("o", "-"), ("s", "--"), ("^", "-."), ("D", ":"), ("v", (0, (5, 1, 1, 1))))


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
    order: str,
    data: BenchmarkDataset,
    screener_names: tuple[str, ...],
    *,
    seed: int,
    jobs: int | None,
    is_short: bool = False,
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
    is_short : bool
        Whether BART has short chains and the forest few trees.

    Returns
    -------
    AblationScreening
        Losses with positive sign: the T0 of the paper counts features that decrease with the target as wrong.
    """
    specs = _SHORT_SPECS if is_short else SCREENER_SPECS
    result = screen(
        data.frame,
        operators="ablation",
        layers=order,
        pool="strict",
        screener=[specs[name] for name in screener_names],
        sign="positive",
        top="all",
        p_values=False,
        seed=seed,
        jobs=jobs,
    )
    correct = find_correct_features(result.expressions, parse_truth(data.truth), "active")
    return AblationScreening(get_ranking_losses(result), correct)


@dataclass(frozen=True, slots=True)
class _Figure5Plan:
    """Tables of each order and noise variance; whether BART has short chains and the forest few trees."""

    repeats: int
    is_short: bool = False


FIGURE5_SIZES: Mapping[ExperimentSize, _Figure5Plan] = {
    "small": _Figure5Plan(3, is_short=True),
    "medium": _Figure5Plan(10),
    "full": _Figure5Plan(50),
}


def run_figure5(settings: ExperimentSettings) -> ExperimentOutcome:
    """Screen tables of the additive model and evaluate every screener by the criterion ``active``.

    Parameters
    ----------
    settings : ExperimentSettings
        `repeats`: number of tables per order and noise variance.

    Returns
    -------
    ExperimentOutcome
        ``average-precision``: one row per screener, one column per order and variance. ``areas``: means with
        standard errors over the tables of the average precision, the trapezoidal area ``pr_auc``, the area
        under the ROC curve, the fraction of correct features among the best three (AIP), and the paper's
        scoring of these three: ``paper_auc`` (ROC, one true feature) and ``paper_pr_auc`` (precision against
        recall, all correct features true), both as expectations over the random scores. ``tables``: the same
        for each table, and ``paper_pr_auc_drawn`` for one draw of the random scores. ``curves``: the mean
        precision at every recall. One picture per order and variance, and box plots over the tables of
        ``pr_auc`` and of ``paper_pr_auc_drawn``.
    """
    plan, names = settings.choose_plan(FIGURE5_SIZES), tuple(SCREENER_SPECS)
    cells = list(product(LAYER_ORDERS, NOISE_VARIANCES))
    screenings: dict[tuple[str, float], list[AblationScreening]] = {cell: [] for cell in cells}
    for (order, variance), repeat in settings.track(product(cells, range(plan.repeats))):
        seed = settings.seed + repeat
        data = datasets.make_additive(n=_FIGURE5_N_ROWS, noise_variance=variance, seed=seed)
        screening = screen_additive_model(
            order, data, names, seed=seed, jobs=settings.jobs, is_short=plan.is_short
        )
        screenings[order, variance].append(screening)
    draws, curves = [], []
    for (order, variance), name in product(cells, names):
        cell: dict[str, Any] = {"order": order, "noise_variance": variance, "screener": name}
        draws += [
            cell | {"seed": seed} | _measure_screening(screening, name, seed)
            for seed, screening in enumerate(screenings[order, variance], start=settings.seed)
        ]
        curves.append(_average_curve(screenings[order, variance], name).assign(**cell))
    keys = ["order", "noise_variance", "screener", "features", "correct"]
    by_table = pd.DataFrame(draws)
    frame = average_draws(by_table, keys, [*_MEASURES, *_CHOICE_MEASURES])
    tables = {
        "average-precision": _build_precision_table(frame),
        "areas": frame,
        "tables": by_table,
        "curves": pd.concat(curves, ignore_index=True),
    }
    pictures = {
        f"{order}-{variance:g}": partial(_draw_figure5, tables, order, variance) for order, variance in cells
    } | {f"boxes-{name.replace('_', '-')}": partial(_draw_boxes, by_table, name) for name in _BOX_TITLES}
    return ExperimentOutcome(tables, pictures, _format_figure5_remarks(tables["areas"]))


def _measure_screening(screening: AblationScreening, screener: str, seed: int) -> dict[str, float]:
    """Compute the measures of one screener on one table; `seed` draws the random scores of the paper."""
    loss, correct = screening.losses[screener], screening.correct
    results = compute_metrics(loss, correct, recall=())
    selected = select_top_features(loss)
    return {
        "features": correct.size,
        "correct": int(correct.sum()),
        **{name: results[name] for name in _MEASURES},
        "aip": aip(selected, correct),
        "paper_auc": compute_paper_auc(selected, correct),
        "paper_pr_auc": compute_paper_auc(selected, correct, truth="all", area="pr"),
        "paper_pr_auc_drawn": compute_paper_auc(
            selected, correct, truth="all", area="pr", draws=1, seed=seed
        ),
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


def _draw_boxes(by_table: pd.DataFrame, measure: str) -> Figure:
    """Draw box plots over the tables: one row of panels per order, one column per noise variance."""
    orders, variances = by_table["order"].unique(), by_table["noise_variance"].unique()
    names = list(by_table["screener"].unique())
    with use_default_style():
        from matplotlib.figure import Figure

        figsize = (3.2 * len(variances) + 0.6, 3.0 * len(orders) + 0.4)
        figure = Figure(figsize=figsize, dpi=150, layout="constrained")
        panels = figure.subplots(len(orders), len(variances), sharex=True, sharey=True, squeeze=False)
        for (row, order), (column, variance) in product(enumerate(orders), enumerate(variances)):
            cell = by_table[(by_table["order"] == order) & (by_table["noise_variance"] == variance)]
            values = [cell.loc[cell["screener"] == name, measure].to_numpy() for name in names]
            panel = panels[row, column]
            panel.boxplot(values)
            panel.set_xticks(range(1, len(names) + 1), names, rotation=90, fontsize=8)
            share = float((cell["correct"] / cell["features"]).iloc[0])
            panel.axhline(share, color="0.35", linestyle=(0, (1, 2)), linewidth=1.2)
            panel.set_title(f"layers {order}, noise variance {variance:g}", fontsize=9)
        figure.suptitle(f"{_BOX_TITLES[measure]}; dotted: share of correct features", fontsize=9)
    return figure


FIGURE5_EXPERIMENT = Experiment(
    name="figure5",
    title="Precision and recall on the additive model, in two orders of layers, for every screener",
    source="Luo and Li 2024, figure 5 and §6.1",
    run=run_figure5,
    sizes=FIGURE5_SIZES,
    extras=("bart",),
    supported_settings=("repeats",),
)


@dataclass(frozen=True, slots=True)
class _Figure6Plan:
    """Tables of each cell, measurements of each time, noise variances and numbers of rows."""

    repeats: int
    n_timings: int
    noise_variances: tuple[float, ...] = _FIGURE6_NOISE_VARIANCES
    row_counts: tuple[int, ...] = _FIGURE6_ROW_COUNTS
    is_short: bool = False


FIGURE6_SIZES: Mapping[ExperimentSize, _Figure6Plan] = {
    "small": _Figure6Plan(1, 1, (0.0, 0.1), (100,), is_short=True),
    "medium": _Figure6Plan(3, 5),
    "full": _Figure6Plan(50, 5),
}


def run_figure6(settings: ExperimentSettings) -> ExperimentOutcome:
    """Let each method select three features and count the correct ones; time each method on the same matrix.

    Parameters
    ----------
    settings : ExperimentSettings
        `repeats`: number of tables per order, noise variance and number of rows.

    Returns
    -------
    ExperimentOutcome
        ``beside``: one row per order, number of rows and noise variance, one column per screener. ``aip``:
        the average inclusion probability (§6.2) with its standard error, per order, rows, noise variance and
        screener. ``seconds``: the median time to score the 24 or 42 features; it varies between runs. One
        picture per order.
    """
    plan = settings.choose_plan(FIGURE6_SIZES)
    cells = list(product(LAYER_ORDERS, plan.row_counts, plan.noise_variances))
    draws = []
    for (order, n, variance), repeat in settings.track(product(cells, range(plan.repeats))):
        seed = settings.seed + repeat
        data = datasets.make_additive(n=n, noise_variance=variance, seed=seed)
        screening = screen_additive_model(
            order, data, _FIGURE6_SCREENERS, seed=seed, jobs=settings.jobs, is_short=plan.is_short
        )
        for name in _FIGURE6_SCREENERS:
            share = aip(select_top_features(screening.losses[name]), screening.correct)
            cell = {"order": order, "rows": n, "noise_variance": variance, "screener": name}
            draws.append(cell | {"aip": share})
    frame = average_draws(pd.DataFrame(draws), ["order", "rows", "noise_variance", "screener"], ["aip"])
    tables = {
        "beside": _build_inclusion_table(frame),
        "aip": frame,
        "seconds": _time_screeners(settings.seed, plan),
    }
    pictures = {order: partial(_draw_figure6, tables["aip"], order) for order in LAYER_ORDERS}
    return ExperimentOutcome(tables, pictures, _format_figure6_remarks(tables))


def _build_inclusion_table(aip: pd.DataFrame) -> pd.DataFrame:
    """Build the table of mean inclusion probabilities, one column per screener."""
    rows = []
    for (order, n, variance), cell in aip.groupby(["order", "rows", "noise_variance"]):
        means = dict(zip(cell["screener"], cell["aip"], strict=True))
        rows.append({"order": order, "rows": n, "noise_variance": variance, **means})
    return pd.DataFrame(rows)


def _time_screeners(seed: int, plan: _Figure6Plan) -> pd.DataFrame:
    """Time each method on one matrix of features, on one thread."""
    rows = []
    specs = _SHORT_SPECS if plan.is_short else SCREENER_SPECS
    for order in LAYER_ORDERS:
        data = datasets.make_additive(n=100, noise_variance=0.01, seed=seed)
        result = screen(
            data.frame, operators="ablation", layers=order, pool="strict", top="all", p_values=False
        )
        by_target = np.argsort(data.frame["target"].to_numpy(), kind="stable")
        values = np.ascontiguousarray(result.transform(data.frame).to_numpy()[by_target].T)
        target = NumericTarget(data.frame["target"].to_numpy()[by_target])
        for screener in parse_screeners([specs[name] for name in _FIGURE6_SCREENERS]):
            times = []
            for _ in range(plan.n_timings):
                start = time.perf_counter()
                _score_features(screener, values, target, seed)
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
    sizes=FIGURE6_SIZES,
    extras=("bart",),
    supported_settings=("repeats",),
)
