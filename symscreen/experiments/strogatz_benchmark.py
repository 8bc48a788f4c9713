"""Recovery of the fourteen ODE-Strogatz equations under one grammar, over noise, compared with SRBench."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from symscreen import datasets
from symscreen.errors import OptionError
from symscreen.experiments.base import (
    Experiment,
    ExperimentOutcome,
    ExperimentSettings,
    average_draws,
    run_tasks,
)
from symscreen.experiments.srbench.published_rates import find_best_published
from symscreen.experiments.strogatz_recovery import (
    Recovery,
    ScreenerPerformance,
    add_target_noise,
    compute_truth_criterion,
    diagnose_miss,
    list_correct_features,
    measure_recovery,
    screen_space,
)
from symscreen.report.figures.precision_recall_curves import use_default_style

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from symscreen._option_values import ExperimentSize

_MARKERS = "osD^v<>"

_RULE_REMARK = (
    "Exact: the coefficients of a fit with snap are rounded to three decimals, and those below 1e-4 are set "
    "to 0. Then the formula minus the truth is constant after its numbers are rounded to three decimals, or "
    "the formula divided by the truth is a non-zero constant. This is SRBench's rule (La Cava and others "
    "2021, definition 4.1). It accepts a wrong intercept and, in a formula of one term, a wrong coefficient. "
    "Here identities are proved, not simplified. Structure: the formula equals the truth with other "
    "coefficients."
)
_NOISE_REMARK = (
    "Noise ratio: standard deviation of the normal noise over the root mean square of the target. Noise is "
    "added to all 400 rows. Without noise, all draws are the same, so one fit counts for all. Snapping takes "
    "the simplest numbers in the 95 % intervals if an F test accepts them jointly, so some correct "
    "structures are not exact. R² is computed on 10,000 fresh rows without noise, uniform over the range of "
    "each input."
)
_PRIOR_KNOWLEDGE_REMARK = (
    "Prior knowledge of ours: the functions of these equations and few others (+, -, *, /, sin, cos, square, "
    "cube, inverse, 1 and 2; one grammar for all tables), sums of at most four terms of three layers, a "
    "preference for simple numbers, and all 400 rows. SRBench's methods had 300 of the 400 rows, their own "
    "and usually larger sets of functions, formulas limited only in length, and up to 8 hours. The published "
    "percentages are means over the same 14 tables and ten seeds, of the best of SRBench's fourteen methods "
    "and RILS-ROLS. Both use the same tables, but the tasks differ."
)

_NOISE_RATIOS = (0.0, 0.001, 0.01, 0.1)
_SMALL_SPACE, _LARGE_SPACE = "bub", "ubb"

Fits = dict[tuple[str, float], list[Recovery]]
"""Fits by table and noise ratio, one per draw."""
Screenings = dict[tuple[str, float, str], list[dict[str, ScreenerPerformance]]]
"""Performances of the screeners by table, noise ratio and space, one mapping per draw."""

_AIMED_COUNTS = {0.0: 14, 0.001: 13, 0.01: 9, 0.1: 4}
_MEASURES = ("average_precision", "recall_20", "recall_100")
_FORMULA_DIGITS = 5


def draw_recovery(summary: pd.DataFrame) -> Figure:
    """Draw the percentage of recovered equations against the noise, with the goals and SRBench's results.

    Parameters
    ----------
    summary : pandas.DataFrame
        Table from `symscreen.experiments.strogatz_benchmark.build_summary_table`.

    Returns
    -------
    Figure
        One panel.
    """
    positions, systems = np.arange(len(summary)), summary["systems"].to_numpy()
    with use_default_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.0, 4.2), layout="constrained")
        axes = figure.subplots()
        for column, label, style in (
            ("structure", "structure, median of draws", "s--C1"),
            ("exact", "exact (SRBench's rule), median of draws", "o-C0"),
            ("aim", "aim", "_k"),
        ):
            axes.plot(positions, summary[column] / systems * 100, style, label=label, markersize=9)
        published = summary["published_percent"]
        axes.plot(positions, published, "xC3", label="best published method, mean", markersize=8)
        axes.set_xticks(positions, [f"{ratio:g}" for ratio in summary["noise_ratio"]])
        axes.set(xlabel="noise ratio", ylabel=f"recovered of {systems.max()} equations, %", ylim=(0, 104))
        figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    return figure


def draw_precision(screening: pd.DataFrame) -> Figure:
    """Draw the average precision of each screener against the noise, one panel per space.

    Parameters
    ----------
    screening : pandas.DataFrame
        Table from `symscreen.experiments.strogatz_benchmark.build_screening_table`.

    Returns
    -------
    Figure
        Geometric means over the tables whose space contains correct features.
    """
    spaces = list(dict.fromkeys(screening["space"]))
    with use_default_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(1.6 + 3.0 * len(spaces), 3.8), layout="constrained")
        panels = figure.subplots(1, len(spaces), squeeze=False, sharey=True)[0]
        for axes, space in zip(panels, spaces, strict=True):
            _draw_space(axes, screening[(screening["space"] == space) & (screening["correct"] > 0)])
            axes.set_title(space)
        panels[0].set_ylabel("average precision, geometric mean")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize="small")
    return figure


def _draw_space(axes: Axes, screening: pd.DataFrame) -> None:
    """Draw one line per screener, and the share of correct features."""
    ratios = sorted(set(screening["noise_ratio"]))
    positions = range(len(ratios))
    for marker, (name, screener_rows) in zip(
        _MARKERS, screening.groupby("screener", sort=False), strict=False
    ):
        mean = [
            _compute_geometric_mean(
                screener_rows.loc[screener_rows["noise_ratio"] == ratio, "average_precision"]
            )
            for ratio in ratios
        ]
        axes.plot(positions, mean, f"{marker}-", label=str(name))
    share = [
        _compute_geometric_mean(screening.loc[screening["noise_ratio"] == ratio, "share"]) for ratio in ratios
    ]
    axes.plot(positions, share, ":k", label="share of correct features")
    axes.set_xticks(positions, [f"{ratio:g}" for ratio in ratios])
    axes.set(yscale="log", xlabel=f"noise ratio ({screening['system'].nunique()} tables)")


def _compute_geometric_mean(values: pd.Series) -> float:
    """Compute the geometric mean."""
    return float(np.exp(np.log(values).mean()))


def format_remarks(tables: Mapping[str, pd.DataFrame]) -> tuple[str, ...]:
    """Format the remarks on the tables.

    Parameters
    ----------
    tables : mapping of str to pandas.DataFrame
        Tables from `symscreen.experiments.strogatz_benchmark.run`.

    Returns
    -------
    tuple of str
        The remarks.
    """
    remarks = (
        _format_aims(tables["summary"]),
        _format_misses(tables["misses"], tables["summary"]),
        _format_precision(tables["screening"]),
        *(_format_term_ranks(tables["terms"], space) for space in dict.fromkeys(tables["terms"]["space"])),
        _format_absent_terms(tables["terms"]),
        _RULE_REMARK,
        _NOISE_REMARK,
        _PRIOR_KNOWLEDGE_REMARK,
    )
    return tuple(remark for remark in remarks if remark)


def _format_aims(summary: pd.DataFrame) -> str:
    """Compare the number of exact formulas with the goals."""
    with_aim = summary[summary["aim"].notna()]
    if not len(with_aim):
        return "The aims apply to all fourteen tables, at the ratios 0, 0.001, 0.01 and 0.1."
    columns = (with_aim[name].tolist() for name in ("noise_ratio", "exact", "aim"))
    counts = [
        f"{exact:g} at {ratio:g} (aim {aim:g}{'' if exact >= aim else ', missed'})"
        for ratio, exact, aim in zip(*columns, strict=True)
    ]
    return "Exact of 14, median of the draws: " + ", ".join(counts) + "."


def _format_misses(misses: pd.DataFrame, summary: pd.DataFrame) -> str:
    """Count the fits with a wrong structure by their causes."""
    n_fits = int((summary["systems"] * summary["draws"]).sum())
    if not len(misses):
        return f"All {n_fits} fits have the structure of the truth."
    n_data, n_tie, n_search = (
        int((misses["stopped_by"] == bound).sum()) for bound in ("data", "tie", "search")
    )
    systems = ", ".join(dict.fromkeys(misses["system"]))
    return (
        f"{len(misses)} of {n_fits} fits have a structure other than that of the truth ({systems}). In "
        f"{n_data} of them the criterion of the truth, fitted to the same rows, is worse than that of the "
        "chosen formula by more than 2 points: these rows favour another formula, and no search would help. "
        f"In {n_tie} both are within 2 points, and the simpler formula was chosen. In {n_search} the truth "
        "is better by more than 2 points: the search did not find it."
    )


def _format_precision(screening: pd.DataFrame) -> str:
    """Format the mean average precision of each screener."""
    with_correct = screening[screening["correct"] > 0]
    lines = []
    for space in dict.fromkeys(with_correct["space"]):
        space_means = (
            with_correct[with_correct["space"] == space]
            .groupby("screener", sort=False)["average_precision"]
            .mean()
        )
        means = (
            f"{name} {mean:.3f}" for name, mean in zip(space_means.index, space_means.tolist(), strict=True)
        )
        lines.append(f"{space}: " + ", ".join(means))
    return (
        "Average precision by the criterion terms, mean over tables and ratios: "
        + "; ".join(lines)
        + ". All features count, so copies occupy ranks: up to 200 features of a space are correct, and "
        "features of a rank class tie."
    )


def _format_term_ranks(terms: pd.DataFrame, space: str) -> str:
    """Count the terms of the truth that a column screener ranks high in a space."""
    present = terms[(terms["space"] == space) & (terms["copies"] > 0) & (terms["screener"] != "lasso")]
    if not len(present):
        return ""
    cells = present.groupby(["system", "noise_ratio", "term"])
    in_top_1000 = int((cells["rank"].min() <= 1000).sum())
    in_top_20_classes = int((cells["class"].min() <= 20).sum())
    return (
        f"{space}: of {cells.ngroups} cases (term and ratio), {in_top_1000} terms are among the first 1000 "
        f"features of a column screener, {in_top_20_classes} among the first 20 classes. A term of a sum "
        "need not be associated with the target by itself, which is why `fit` tries sums."
    )


def _format_absent_terms(terms: pd.DataFrame) -> str:
    """List the terms of the truth that a space does not contain."""
    absent = terms[terms["copies"] == 0].drop_duplicates(["system", "space", "term"])
    columns = (absent[name].tolist() for name in ("system", "term", "space", "held_by"))
    cases = [
        f"{system} {term} in {space} (held by: {spaces})"
        for system, term, space, spaces in zip(*columns, strict=True)
    ]
    return "Terms that a space does not contain: " + "; ".join(cases) + "." if cases else ""


@dataclass(frozen=True, slots=True)
class _StrogatzSize:
    """Draws of the noise, those for which the large space is screened, ratios, tables, layers of a fit."""

    repeats: int
    large_space_draws: int  # the large space has seven times as many features
    noise_ratios: tuple[float, ...] = _NOISE_RATIOS
    systems: tuple[str, ...] = datasets.list_strogatz_names()
    fit_layers: str | None = None  # None: the default of `symscreen.fit`


SIZES: Mapping[ExperimentSize, _StrogatzSize] = {
    "small": _StrogatzSize(1, 0, (0.0, 0.01), ("glider2", "vdp2"), _SMALL_SPACE),
    "medium": _StrogatzSize(1, 0),
    "full": _StrogatzSize(10, 3),
}


@dataclass(frozen=True, slots=True)
class _BenchmarkTask:
    """A fit, or a screening of `space` if that is not None."""

    system: str
    noise_ratio: float
    repeat: int
    space: str | None


@dataclass(frozen=True, eq=False)
class _BenchmarkPlan:
    """Plan of the benchmark.

    Parameters
    ----------
    systems : tuple of str
        Names of the tables.
    noise_ratios : tuple of float
        Distinct ratios in ascending order.
    repeats : int
        Draws of the noise per ratio. Ratio 0 has one, because nothing is random.
    spaces : dict of str to int
        Spaces to screen, and the number of draws for each.
    layers : str or None
        Layers that a fit searches. None: the default of `symscreen.fit`.
    seed : int
        Seed of the first draw.
    """

    systems: tuple[str, ...]
    noise_ratios: tuple[float, ...]
    repeats: int
    spaces: dict[str, int]
    layers: str | None
    seed: int

    def list_tasks(self) -> list[_BenchmarkTask]:
        """List all fits and screenings."""
        return [
            _BenchmarkTask(system, ratio, repeat, space)
            for system in self.systems
            for ratio in self.noise_ratios
            for repeat in range(self.repeats if ratio else 1)
            for space in (None, *(name for name, n_draws in self.spaces.items() if repeat < n_draws))
        ]

    def run_task(self, task: _BenchmarkTask) -> Recovery | tuple[dict[str, ScreenerPerformance], float]:
        """Run one task."""
        seed = self.seed + task.repeat
        frame = add_target_noise(task.system, task.noise_ratio, seed)
        if task.space is None:
            return measure_recovery(task.system, frame, self.layers)
        joint = task.repeat == 0 and task.space == _SMALL_SPACE
        return screen_space(task.system, frame, task.space, joint=joint, seed=seed)


def run(settings: ExperimentSettings) -> ExperimentOutcome:
    """Fit and screen every table, over noise ratios and draws of the noise.

    Parameters
    ----------
    settings : ExperimentSettings
        `repeats`: draws of the noise for each of `noise_ratios` except 0, where nothing is random. Only the
        full size screens the space ``ubb``.

    Returns
    -------
    ExperimentOutcome
        ``summary``: by noise ratio, the median number of recovered equations over the draws, with the aims
        and SRBench's results. ``recovery``: by table and ratio, the fraction of draws in which the formula is
        the truth, and R² on fresh rows. ``screening``: by table, ratio, space and screener, the average
        precision, the recall and the ranks of the terms of the truth. ``terms``: these ranks, one per row.
        ``misses``: every fit with another structure, and its cause. ``seconds``: run times.

    Raises
    ------
    OptionError
        If a noise ratio is negative or not finite.
    """
    from threadpoolctl import threadpool_limits

    plan = _build_plan(settings)
    tasks = plan.list_tasks()
    fits: Fits = {}
    screenings: Screenings = {}
    seconds: dict[tuple[str, float, str], list[float]] = {}
    results = run_tasks(plan.run_task, tasks, settings.jobs, settings.report_progress)
    for task, result in zip(tasks, results, strict=True):
        key, space = (task.system, task.noise_ratio), task.space or "fit"
        if isinstance(result, Recovery):
            fits.setdefault(key, []).append(result)
            elapsed = result.seconds
        else:
            screenings.setdefault((*key, space), []).append(result[0])
            elapsed = result[1]
        seconds.setdefault((*key, space), []).append(elapsed)
    with threadpool_limits(1):
        misses = list_misses(fits, plan.seed, plan.layers)
    tables = {
        "summary": build_summary_table(fits, misses),
        "recovery": build_recovery_table(fits),
        "screening": build_screening_table(screenings),
        "terms": build_terms_table(screenings, tuple(plan.spaces)),
        "misses": misses,
        "seconds": build_seconds_table(seconds),
    }
    pictures = {
        "recovered": partial(draw_recovery, tables["summary"]),
        "average-precision": partial(draw_precision, tables["screening"]),
    }
    return ExperimentOutcome(tables, pictures, format_remarks(tables))


def _build_plan(settings: ExperimentSettings) -> _BenchmarkPlan:
    """Build the plan from the settings."""
    size = settings.choose_plan(SIZES)
    for ratio in size.noise_ratios:
        if not (math.isfinite(ratio) and ratio >= 0.0):
            raise OptionError(f"the noise ratio {ratio!r} is invalid: give a finite number ≥ 0")
    large_space = {_LARGE_SPACE: size.large_space_draws} if size.large_space_draws else {}
    return _BenchmarkPlan(
        systems=size.systems,
        noise_ratios=tuple(sorted({float(ratio) for ratio in size.noise_ratios})),
        repeats=size.repeats,
        spaces={_SMALL_SPACE: size.repeats} | large_space,
        layers=size.fit_layers,
        seed=settings.seed,
    )


EXPERIMENT = Experiment(
    name="strogatz",
    title="The fourteen ODE-Strogatz equations under one grammar: screened and recovered, over noise",
    source="the data and the rule of SRBench (La Cava and others 2021); no figure of Luo and Li 2024",
    run=run,
    sizes=SIZES,
    supported_settings=("repeats", "noise_ratios"),
)


def build_summary_table(fits: Fits, misses: pd.DataFrame) -> pd.DataFrame:
    """Count the recovered equations by noise ratio.

    Parameters
    ----------
    fits : Fits
        All fits.
    misses : pandas.DataFrame
        Table from `list_misses`.

    Returns
    -------
    pandas.DataFrame
        ``exact``, ``structure``: median over the draws of the number of recovered equations among
        ``systems``. ``aim``: the goal, if all fourteen equations are tried. ``exact_percent``: mean
        percentage. ``published_percent``, ``published_by``: the best published method. ``data``, ``tie``,
        ``search``: number of misses by cause.
    """
    rows = []
    for ratio in sorted({ratio for _, ratio in fits}):
        cells = [cell_fits for (_, other), cell_fits in fits.items() if other == ratio]
        exact = np.array([[recovery.exact for recovery in cell_fits] for cell_fits in cells])
        structure = np.array([[recovery.structure for recovery in cell_fits] for cell_fits in cells])
        percent, method = find_best_published("Strogatz", ratio)
        causes = misses.loc[misses["noise_ratio"] == ratio, "stopped_by"]
        is_complete = len(cells) == len(datasets.list_strogatz_names())
        rows.append(
            {
                "noise_ratio": ratio,
                "systems": len(cells),
                "draws": exact.shape[1],
                "exact": float(np.median(exact.sum(axis=0))),
                "aim": _AIMED_COUNTS.get(ratio, np.nan) if is_complete else np.nan,
                "structure": float(np.median(structure.sum(axis=0))),
                "exact_percent": 100.0 * float(exact.mean()),
                "published_percent": percent,
                "published_by": method,
                **{cause: int((causes == cause).sum()) for cause in ("data", "tie", "search")},
            }
        )
    return pd.DataFrame(rows)


def build_recovery_table(fits: Fits) -> pd.DataFrame:
    """Summarise recovery and prediction by table and noise ratio.

    Parameters
    ----------
    fits : Fits
        All fits.

    Returns
    -------
    pandas.DataFrame
        ``exact``, ``structure``: fractions of the draws. ``r2``, ``r2_least``: median and minimum R² on fresh
        rows. ``searched``: maximum number of features tried. ``formula``: that of the first draw.
    """
    rows = []
    for (system, ratio), cell_fits in fits.items():
        r2 = [recovery.r2 for recovery in cell_fits]
        rows.append(
            {
                "system": system,
                "noise_ratio": ratio,
                "draws": len(cell_fits),
                "exact": float(np.mean([recovery.exact for recovery in cell_fits])),
                "structure": float(np.mean([recovery.structure for recovery in cell_fits])),
                "r2": float(np.median(r2)),
                "r2_least": min(r2),
                "searched": max(recovery.n_searched for recovery in cell_fits),
                "truth": datasets.load_strogatz(system).truth,
                "formula": cell_fits[0].formula.round_numbers(_FORMULA_DIGITS).text,
            }
        )
    return pd.DataFrame(rows)


def build_screening_table(screenings: Screenings) -> pd.DataFrame:
    """Average the measures of each screener over the draws, with standard errors.

    Parameters
    ----------
    screenings : Screenings
        All screenings.

    Returns
    -------
    pandas.DataFrame
        ``features``: number of features of the space. ``correct``, ``share``: number and share of those that
        are correct by the criterion ``terms``. The measures are NaN if none is correct. ``ranks``: the median
        rank of each term of the truth, or ``absent``.
    """
    draws, ranks = [], []
    for (system, ratio, space), cell_draws in screenings.items():
        answers = list_correct_features(system, space)
        cell: dict[str, Any] = {"system": system, "noise_ratio": ratio, "space": space}
        cell |= {"features": answers.n_features, "correct": len(answers.correct)}
        cell["share"] = len(answers.correct) / answers.n_features
        for name in cell_draws[0]:
            cell["screener"] = name
            performances = [draw[name] for draw in cell_draws if name in draw]
            draws += [
                cell | {measure: getattr(one, measure) for measure in _MEASURES} for one in performances
            ]
            medians = np.median([performance.ranks for performance in performances], axis=0).tolist()
            ranks.append(" / ".join("absent" if np.isnan(rank) else f"{rank:g}" for rank in medians))
    keys = ["system", "noise_ratio", "space", "screener", "features", "correct", "share"]
    return average_draws(pd.DataFrame(draws), keys, _MEASURES, "draws").assign(ranks=ranks)


def build_terms_table(screenings: Screenings, spaces: Sequence[str]) -> pd.DataFrame:
    """List the ranks of the terms of the truth.

    Parameters
    ----------
    screenings : Screenings
        All screenings.
    spaces : sequence of str
        The screened spaces.

    Returns
    -------
    pandas.DataFrame
        ``copies``: number of features that are affine copies of the term. ``rank``, ``rank_least``,
        ``rank_most``: median, minimum and maximum rank of the best copy over the draws; NaN if there is none.
        ``class``: median rank with tied features counted as one. ``held_by``: the spaces that contain the
        term.
    """
    rows = []
    for (system, ratio, space), cell_draws in screenings.items():
        answers = list_correct_features(system, space)
        for i, term in enumerate(answers.truth.terms):
            holders = [name for name in spaces if len(list_correct_features(system, name).term_copies[i])]
            for name in cell_draws[0]:
                draws = [draw[name] for draw in cell_draws if name in draw]
                ranks = [performance.ranks[i] for performance in draws]
                rows.append(
                    {
                        "system": system,
                        "noise_ratio": ratio,
                        "space": space,
                        "screener": name,
                        "term": str(term),
                        "coefficient": answers.truth.coefficients[i],
                        "copies": len(answers.term_copies[i]),
                        "rank": float(np.median(ranks)),
                        "rank_least": min(ranks),
                        "rank_most": max(ranks),
                        "class": float(np.median([performance.class_ranks[i] for performance in draws])),
                        "held_by": " ".join(holders) or "none",
                    }
                )
    return pd.DataFrame(rows)


def list_misses(fits: Fits, seed: int, layers: str | None) -> pd.DataFrame:
    """List the fits whose structure is not that of the truth, with their causes.

    Parameters
    ----------
    fits : Fits
        All fits.
    seed : int
        Seed of the first draw.
    layers : str or None
        Layers that the fits searched.

    Returns
    -------
    pandas.DataFrame
        ``criterion``, ``truth_criterion``: EBIC (lower is better) of the chosen model and of the truth.
        ``stopped_by``: cause; see `symscreen.experiments.strogatz_recovery.diagnose_miss`.
    """
    columns = ("system", "noise_ratio", "seed", "criterion", "truth_criterion", "stopped_by", "r2", "formula")
    rows = []
    for (system, ratio), cell_fits in fits.items():
        for draw, recovery in enumerate(cell_fits):
            if recovery.structure:
                continue
            truth_criterion = compute_truth_criterion(
                system, add_target_noise(system, ratio, seed + draw), layers
            )
            formula = recovery.formula.round_numbers(_FORMULA_DIGITS).text
            cause = diagnose_miss(recovery.criterion, truth_criterion)
            rows.append(
                (system, ratio, seed + draw, recovery.criterion, truth_criterion, cause, recovery.r2, formula)
            )
    return pd.DataFrame(rows, columns=list(columns))


def build_seconds_table(seconds: Mapping[tuple[str, float, str], Sequence[float]]) -> pd.DataFrame:
    """Compute median run times.

    Parameters
    ----------
    seconds : mapping of (str, float, str) to sequence of float
        Run times by table, noise ratio and work: ``fit``, or the space whose features were scored by all
        column screeners. As many tasks as threads ran at once.

    Returns
    -------
    pandas.DataFrame
        One row per key.
    """
    rows = [(*key, float(np.median(times))) for key, times in seconds.items()]
    return pd.DataFrame(rows, columns=["system", "noise_ratio", "work", "seconds"])
