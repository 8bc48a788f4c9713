"""The paper's additive model in its two small spaces: what figures 5 and 6 have in common.

y = 2·x1³ + 5·x3 + 10 + e (eq. 19), x1, x2, x3 uniform on [0, 1]; operators id, cube; +, ×; strict pools. The
text writes the orders of the layers both ways round: in §6.1, in its captions and in Table 2, the space with
binary operators first has 24 features and is the better one, which is `bu` here; Example 1 says the opposite.

Figure 5 of Luo and Li (2024): precision against recall on the additive model, for every screener.

Figure 6 of Luo and Li (2024): three features chosen on the additive model, and the time of choosing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from symscreen import datasets
from symscreen.evaluation import (
    PrecisionRecallCurve,
    aip,
    average_curves,
    compute_mean_and_error,
    compute_metrics,
    compute_paper_auc,
    compute_precision_recall_curve,
    get_ranking_losses,
    parse_truth,
    select_top_features,
)
from symscreen.evaluation.truth import find_correct_features
from symscreen.experiments.base import Experiment, ExperimentOutcome, ExperimentSettings
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


__all__ = [
    "FIGURE5_EXPERIMENT",
    "FIGURE6_EXPERIMENT",
    "LAYER_ORDERS",
    "NOISE_VARIANCES",
    "SCREENER_SPECS",
    "AblationScreening",
    "run_figure5",
    "run_figure6",
    "screen_additive_model",
]

LAYER_ORDERS = ("bu", "ub")
NOISE_VARIANCES = (0.0, 0.01, 0.1)
# every screener that ships; trees by their inclusion or importance alone, for no rule is asked for
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
    """All features of one table by several screeners.

    Parameters
    ----------
    losses : dict of str to float64 array, shape (q,)
        By screener; ascending is better.
    correct : bool array, shape (q,)
        Which features hold x1 and x3 only (§6.1, Table 2): 12 of 24, or 20 of 42.
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
        The layers.
    data : Dataset
        As `symscreen.datasets.make_additive` draws it.
    names : tuple of str
        Keys of `SCREENERS`.
    seed : int
        Of what screeners draw.
    jobs : int, optional
        Threads.

    Returns
    -------
    Screening
        Positive sign: the paper's T0 counts what falls with the response as wrong.
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
    good = find_correct_features(result.expressions, parse_truth(data.truth), "active")
    return AblationScreening(get_ranking_losses(result), good)


_FIGURE5_REPEATS, _QUICK_FIGURE5_REPEATS = 50, 3
_FIGURE5_N_ROWS = 100
_SLOW_SCREENERS = ("forest", "bart")
_DRAWN_SCREENERS = ("t0", "xi", "bart", "lasso", "scad", "stepwise")  # more curves would hide each other
_MEASURES = ("average_precision", "pr_auc", "roc_auc")


def run_figure5(settings: ExperimentSettings) -> ExperimentOutcome:
    """Screen the additive model's tables and measure every screener by the criterion ``active``.

    Parameters
    ----------
    settings : Settings
        `repeats` tables for each order and noise variance, 50 by default. The quick size has three and leaves
        out the forest and BART.

    Returns
    -------
    Outcome
        ``average-precision``: one row a screener, one column an order and variance. ``areas``: the means
        over the tables, with standard errors, of the average precision, the trapezoid, the area under the ROC
        curve, the share of correct features among the best three (AIP), and the paper's own scoring of these
        three, which is that share on another scale. ``curves``: the mean precision at every recall. A picture
        for each order and variance.
    """
    repeats = settings.repeats or (_QUICK_FIGURE5_REPEATS if settings.quick else _FIGURE5_REPEATS)
    names = tuple(name for name in SCREENER_SPECS if not (settings.quick and name in _SLOW_SCREENERS))
    cells = [(order, variance) for order in LAYER_ORDERS for variance in NOISE_VARIANCES]
    areas, curves = [], []
    for place, (order, variance) in enumerate(cells):
        screenings = []
        for number in range(repeats):
            seed = settings.seed + number
            data = datasets.make_additive(n=_FIGURE5_N_ROWS, noise_variance=variance, seed=seed)
            screenings.append(screen_additive_model(order, data, names, seed=seed, jobs=settings.jobs))
            settings.report_progress(place * repeats + number + 1, len(cells) * repeats)
        for name in names:
            areas.append(
                {"order": order, "noise_variance": variance, "screener": name}
                | _average_areas(screenings, name)
            )
            own = _average_curve(screenings, name)
            curves.append(own.assign(order=order, noise_variance=variance, screener=name))
    frame = pd.DataFrame(areas)
    tables = {
        "average-precision": _build_precision_table(frame),
        "areas": frame,
        "curves": pd.concat(curves, ignore_index=True),
    }
    pictures = {
        f"{order}-{variance:g}": partial(_draw_figure5, tables, order, variance) for order, variance in cells
    }
    return ExperimentOutcome(tables, pictures, _format_figure5_remarks(tables["areas"]))


def _average_areas(screenings: Sequence[AblationScreening], screener: str) -> dict[str, float]:
    """Average one screener's figures over the tables."""
    found: dict[str, list[float]] = {figure: [] for figure in (*_MEASURES, "aip", "paper_auc")}
    for each in screenings:
        loss, good = each.losses[screener], each.correct
        figures = compute_metrics(loss, good, recall=())
        chosen = select_top_features(loss)
        figures |= {"aip": aip(chosen, good), "paper_auc": compute_paper_auc(chosen, good)}
        for figure, values in found.items():
            values.append(figures[figure])
    good = screenings[0].correct
    row: dict[str, float] = {"features": good.size, "correct": int(good.sum())}
    for figure, values in found.items():
        row[figure], row[f"{figure}_se"] = compute_mean_and_error(values)
    return row


def _build_precision_table(areas: pd.DataFrame) -> pd.DataFrame:
    """Set the average precisions of the orders and variances beside each other."""
    columns = {"screener": areas["screener"].unique()}
    for (order, variance), cell in areas.groupby(["order", "noise_variance"]):
        columns[f"{order} {variance:g}"] = cell["average_precision"].to_numpy()
    return pd.DataFrame(columns)


def _average_curve(screenings: Sequence[AblationScreening], screener: str) -> pd.DataFrame:
    recall, precision, error = average_curves(
        [compute_precision_recall_curve(each.losses[screener], each.correct) for each in screenings]
    )
    return pd.DataFrame({"recall": recall, "precision": precision, "precision_se": error})


def _format_figure5_remarks(areas: pd.DataFrame) -> tuple[str, ...]:
    """Set the paper's two statements on figure 5 beside what was found."""
    means = {
        name: own.pivot_table(index="order", columns="noise_variance", values="average_precision")
        for name, own in areas.groupby("screener", sort=False)
    }
    falls = [str(name) for name, mean in means.items() if _is_decreasing(mean)]
    higher = [str(name) for name, mean in means.items() if (mean.loc["bu"] > mean.loc["ub"]).all()]
    unpublished = (
        "The paper prints its curves and boxes as pictures: of its text, two statements can be tested."
    )
    return (
        unpublished,
        f"'The area falls as the noise grows', in both orders: true of {_format_names(falls)}.",
        f"'Binary operators first give the higher area' at every noise: true of {_format_names(higher)}.",
    )


def _is_decreasing(precision_means: pd.DataFrame) -> bool:
    return bool((np.diff(precision_means.to_numpy(), axis=1) < 0).all())


def _format_names(names: Sequence[str]) -> str:
    return ", ".join(names) or "no screener"


def _draw_figure5(tables: dict[str, pd.DataFrame], order: str, variance: float) -> Figure:
    """Draw the mean curves of one order and noise variance."""
    here = {
        name: frame[(frame["order"] == order) & (frame["noise_variance"] == variance)].set_index("screener")
        for name, frame in tables.items()
        if "order" in frame
    }
    names = [name for name in _DRAWN_SCREENERS if name in here["areas"].index]
    curves = {}
    for name in names:
        own = here["curves"].loc[name]
        recall, precision = own["recall"].to_numpy(), own["precision"].to_numpy()
        curves[name] = PrecisionRecallCurve(recall, precision, np.full(recall.size, np.nan))
    areas = here["areas"]
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


_FIGURE6_SCREENERS = ("t0", "bart", "lasso", "scad", "stepwise")  # the paper's
_FIGURE6_NOISE_VARIANCES = (0.0, 0.01, 0.1, 1.0)
_FIGURE6_ROW_COUNTS = (50, 100, 200)
_QUICK_NOISE_VARIANCES, _QUICK_ROW_COUNTS = (0.0, 0.1), (100,)
_FIGURE6_REPEATS, _QUICK_FIGURE6_REPEATS = 50, 1
_TIMING_REPEATS = 5  # screenings of the middle time
_STYLES = (("o", "-"), ("s", "--"), ("^", "-."), ("D", ":"), ("v", (0, (5, 1, 1, 1))))


def run_figure6(settings: ExperimentSettings) -> ExperimentOutcome:
    """Let each method choose three features, and count how many are correct; time each on the same matrix.

    Parameters
    ----------
    settings : Settings
        `repeats` tables for each order, noise variance and number of rows, 50 by default.

    Returns
    -------
    Outcome
        ``beside``: one row an order, number of rows and noise variance, one column a screener.
        ``aip``: for each order, rows, noise variance and screener the average inclusion probability (§6.2)
        with its standard error; ``seconds``: the median time to score the 24 or 42 features, which differs
        from run to run. A picture for each order.
    """
    variances = _QUICK_NOISE_VARIANCES if settings.quick else _FIGURE6_NOISE_VARIANCES
    sizes = _QUICK_ROW_COUNTS if settings.quick else _FIGURE6_ROW_COUNTS
    cells = [(order, n, variance) for order in LAYER_ORDERS for n in sizes for variance in variances]
    repeats = settings.repeats or (_QUICK_FIGURE6_REPEATS if settings.quick else _FIGURE6_REPEATS)
    rows = []
    for place, (order, n, variance) in enumerate(cells):
        found: dict[str, list[float]] = {name: [] for name in _FIGURE6_SCREENERS}
        for number in range(repeats):
            seed = settings.seed + number
            data = datasets.make_additive(n=n, noise_variance=variance, seed=seed)
            each = screen_additive_model(order, data, _FIGURE6_SCREENERS, seed=seed, jobs=settings.jobs)
            for name in _FIGURE6_SCREENERS:
                found[name].append(aip(select_top_features(each.losses[name]), each.correct))
            settings.report_progress(place * repeats + number + 1, len(cells) * repeats)
        for name, shares in found.items():
            mean, error = compute_mean_and_error(shares)
            cell = {"order": order, "rows": n, "noise_variance": variance, "screener": name}
            rows.append(cell | {"repeats": len(shares), "aip": mean, "aip_se": error})
    frame = pd.DataFrame(rows)
    tables = {"beside": _build_inclusion_table(frame), "aip": frame, "seconds": _time_screeners(settings)}
    pictures = {order: partial(_draw_figure6, tables["aip"], order) for order in LAYER_ORDERS}
    return ExperimentOutcome(tables, pictures, _format_figure6_remarks(tables))


def _build_inclusion_table(aip: pd.DataFrame) -> pd.DataFrame:
    """Set the methods beside each other."""
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
        by_response = np.argsort(data.frame["target"].to_numpy(), kind="stable")
        values = np.ascontiguousarray(result.transform(data.frame).to_numpy()[by_response].T)
        response = NumericTarget(data.frame["target"].to_numpy()[by_response])
        for one in parse_screeners([SCREENER_SPECS[name] for name in _FIGURE6_SCREENERS]):
            times = []
            for _ in range(1 if settings.quick else _TIMING_REPEATS):
                start = time.perf_counter()
                _score_features(one, values, response, settings.seed)
                times.append(time.perf_counter() - start)
            rows.append(
                {
                    "order": order,
                    "features": len(values),
                    "screener": one.name,
                    "seconds": float(np.median(times)),
                }
            )
    return pd.DataFrame(rows)


def _score_features(screener: AnyScreener, values: np.ndarray, target: NumericTarget, seed: int) -> None:
    if isinstance(screener, JointScreener):
        screener.score_features(JointInput(values, target, seed=seed))
    else:
        screener.statistic(sort_block(values), target)


def _format_figure6_remarks(tables: dict[str, pd.DataFrame]) -> tuple[str, ...]:
    mean = tables["aip"].groupby("screener")["aip"].mean().sort_values(ascending=False)
    seconds = tables["seconds"].groupby("screener")["seconds"].mean().sort_values()
    rule = (
        "Three features each, those of least loss; what ties at the edge counts in shares. T0: least T0, "
        "positive sign. BART: largest inclusion. LASSO, SCAD: largest standardised coefficient at the "
        "cross-validated λ, then the first on the path. Stepwise: largest standardised coefficient of those "
        "selected forward, then the order of entry."
    )
    return (
        rule,
        "Mean over all cells: " + ", ".join(f"{name} {value:.3f}" for name, value in mean.items()) + ".",
        "Seconds for 24 and 42 features of 100 rows: "
        + ", ".join(f"{name} {value:.2g}" for name, value in seconds.items())
        + ". The paper: T0 is the fastest, then LASSO; BART is among the slowest. "
        f"Here {seconds.index[0]} is the fastest, {seconds.index[-1]} the slowest.",
    )


def _draw_figure6(table: pd.DataFrame, order: str) -> Figure:
    """Draw the average inclusion probability against the noise, one panel a number of rows."""
    own = table[table["order"] == order]
    sizes, variances = own["rows"].unique(), own["noise_variance"].unique()
    with use_default_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(max(5.6, 2.8 * len(sizes) + 0.4), 3.6), dpi=150, layout="constrained")
        panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
        for panel, n in zip(panels, sizes, strict=True):
            for name, (marker, dashes) in zip(_FIGURE6_SCREENERS, _STYLES, strict=True):
                here = own[(own["rows"] == n) & (own["screener"] == name)]
                panel.errorbar(
                    range(len(variances)),
                    here["aip"],
                    yerr=here["aip_se"],
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
