"""The pictures of the ODE-Strogatz benchmark.

What a reader of the ODE-Strogatz benchmark must know.

Recovery of the fourteen ODE-Strogatz equations under one grammar, over noise, beside SRBench.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from symscreen import datasets
from symscreen.backends import Threads, count_available_cores
from symscreen.errors import OptionError
from symscreen.experiments.base import Experiment, ExperimentOutcome, ExperimentSettings
from symscreen.experiments.strogatz.fits import Recovery, add_target_noise, measure_recovery
from symscreen.experiments.strogatz.result_tables import (
    Fits,
    Screenings,
    build_recovery_table,
    build_screening_table,
    build_seconds_table,
    build_summary_table,
    build_terms_table,
    list_misses,
)
from symscreen.experiments.strogatz.screenings import screen_space
from symscreen.report.figures.precision_recall_curves import use_default_style

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from symscreen.experiments.strogatz.screenings import ScreenerPerformance


__all__ = ["EXPERIMENT", "draw_precision", "draw_recovery", "format_remarks", "run"]

_MARKERS = "osD^v<>"


def draw_recovery(summary: pd.DataFrame) -> Figure:
    """Draw how many equations are recovered against the noise, beside the aims and SRBench.

    Parameters
    ----------
    summary : pandas.DataFrame
        From `symscreen.experiments.strogatz.result_tables.build_summary_table`.

    Returns
    -------
    Figure
    """
    place, systems = np.arange(len(summary)), summary["systems"].to_numpy()
    with use_default_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.0, 4.2), layout="constrained")
        axes = figure.subplots()
        for column, label, style in (
            ("structure", "structure, median of draws", "s--C1"),
            ("exact", "exact (SRBench's rule), median of draws", "o-C0"),
            ("aim", "aim", "_k"),
        ):
            axes.plot(place, summary[column] / systems * 100, style, label=label, markersize=9)
        best = summary["published_percent"]
        axes.plot(place, best, "xC3", label="best of SRBench's methods, mean", markersize=8)
        axes.set_xticks(place, [f"{ratio:g}" for ratio in summary["noise_ratio"]])
        axes.set(xlabel="noise ratio", ylabel=f"recovered of {systems.max()} equations, %", ylim=(0, 104))
        figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    return figure


def draw_precision(screening: pd.DataFrame) -> Figure:
    """Draw each screener's average precision against the noise, a panel a space.

    Parameters
    ----------
    screening : pandas.DataFrame
        From `symscreen.experiments.strogatz.result_tables.build_screening_table`.

    Returns
    -------
    Figure
        The geometric mean over the tables whose space holds something that is correct.
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
    ratios = sorted(set(screening["noise_ratio"]))
    place = range(len(ratios))
    for marker, (name, own) in zip(_MARKERS, screening.groupby("screener", sort=False), strict=False):
        mean = [
            _compute_geometric_mean(own.loc[own["noise_ratio"] == ratio, "average_precision"])
            for ratio in ratios
        ]
        axes.plot(place, mean, f"{marker}-", label=str(name))
    share = [
        _compute_geometric_mean(screening.loc[screening["noise_ratio"] == ratio, "share"]) for ratio in ratios
    ]
    axes.plot(place, share, ":k", label="share of correct features")
    axes.set_xticks(place, [f"{ratio:g}" for ratio in ratios])
    axes.set(yscale="log", xlabel=f"noise ratio ({screening['system'].nunique()} tables)")


def _compute_geometric_mean(values: pd.Series) -> float:
    return float(np.exp(np.log(values).mean()))


_RULE_REMARK = (
    "Exact: the coefficients, as `fit --snap` gives them, are rounded to three decimals, those below 1e-4 "
    "become 0; then the formula minus the truth is a constant once its numbers are rounded to three "
    "decimals, or the formula over the truth is a constant other than 0. This is SRBench's rule (La Cava and "
    "others 2021, definition 4.1), which excuses a wrong intercept and, in a formula of one term, a wrong "
    "coefficient; identities are proved, not simplified. Structure: with other coefficients it is the truth."
)
_NOISE_REMARK = (
    "Noise ratio: standard deviation of normal noise over the root mean square of the response, added to all "
    "400 rows; without noise nothing is random, and one fit counts for every draw. Snapping takes the "
    "simplest numbers in the 95 % intervals if an F test allows all together, so that of true structures, "
    "too, some are not exact. R² is on 10,000 fresh rows without noise, uniform over the range of each input."
)
_PRIOR_KNOWLEDGE_REMARK = (
    "Ours knew: every function that these equations are made of and hardly any other (+, -, *, /, sin, cos, "
    "square, cube, inverse, 1 and 2; one grammar for all), that a formula is a sum of at most four terms of "
    "three layers, that its numbers are likely to be simple, and all 400 rows. SRBench's methods had 300 of "
    "the 400 rows, each its own set of functions, as a rule a wider one, forms bounded by length alone, and "
    "up to 8 hours. Their percentages are means over the same 14 tables in its groundtruth.csv (version "
    "2.0): the best of 25 methods. The two measure the same tables, and not the same task."
)


def format_remarks(tables: Mapping[str, pd.DataFrame]) -> tuple[str, ...]:
    """Put the outcome into words.

    Parameters
    ----------
    tables : mapping of str to pandas.DataFrame
        As `symscreen.experiments.strogatz.benchmark.run` makes them.

    Returns
    -------
    tuple of str
    """
    told = (
        _format_aims(tables["summary"]),
        _format_misses(tables["misses"], tables["summary"]),
        _format_precision(tables["screening"]),
        *(_format_term_ranks(tables["terms"], space) for space in dict.fromkeys(tables["terms"]["space"])),
        _format_absent_terms(tables["terms"]),
        _RULE_REMARK,
        _NOISE_REMARK,
        _PRIOR_KNOWLEDGE_REMARK,
    )
    return tuple(one for one in told if one)


def _format_aims(summary: pd.DataFrame) -> str:
    aimed = summary[summary["aim"].notna()]
    if not len(aimed):
        return "The aims are for all fourteen tables, and for the ratios 0, 0.001, 0.01 and 0.1."
    columns = (aimed[name].tolist() for name in ("noise_ratio", "exact", "aim"))
    said = [
        f"{exact:g} at {ratio:g} (aim {aim:g}{'' if exact >= aim else ', missed'})"
        for ratio, exact, aim in zip(*columns, strict=True)
    ]
    return "Exact of 14, median of the draws: " + ", ".join(said) + "."


def _format_misses(misses: pd.DataFrame, summary: pd.DataFrame) -> str:
    fits = int((summary["systems"] * summary["draws"]).sum())
    if not len(misses):
        return f"All {fits} fits have the truth's structure."
    data, tie, search = (int((misses["stopped_by"] == bound).sum()) for bound in ("data", "tie", "search"))
    systems = ", ".join(dict.fromkeys(misses["system"]))
    return (
        f"{len(misses)} of {fits} fits have another structure than the truth's ({systems}). In {data} the "
        "truth, its coefficients fitted to the same rows, has a criterion worse by more than 2 points than "
        "the formula chosen: these rows speak for another formula, and no search would help. In "
        f"{tie} the two are within 2 points, and the simpler was taken. In {search} the truth is better by "
        "more: the search did not meet it."
    )


def _format_precision(screening: pd.DataFrame) -> str:
    held = screening[screening["correct"] > 0]
    said = []
    for space in dict.fromkeys(held["space"]):
        own = held[held["space"] == space].groupby("screener", sort=False)["average_precision"].mean()
        means = (f"{name} {mean:.3f}" for name, mean in zip(own.index, own.tolist(), strict=True))
        said.append(f"{space}: " + ", ".join(means))
    return (
        "Average precision by the criterion terms, mean over tables and ratios: "
        + "; ".join(said)
        + ". Every feature counts, so that copies take places: up to 200 features of a space are correct, "
        "and those of a rank class tie."
    )


def _format_term_ranks(terms: pd.DataFrame, space: str) -> str:
    """Say how many of the terms stand far ahead in a space by some screener that scores every feature."""
    own = terms[(terms["space"] == space) & (terms["copies"] > 0) & (terms["screener"] != "lasso")]
    if not len(own):
        return ""
    cells = own.groupby(["system", "noise_ratio", "term"])
    thousand, twenty = int((cells["rank"].min() <= 1000).sum()), int((cells["class"].min() <= 20).sum())
    return (
        f"{space}: of {cells.ngroups} terms, each at each ratio, {thousand} stand among the first 1000 "
        f"features by some column screener, {twenty} among the first 20 classes. A term of a sum need not "
        "follow the response by itself, which is why `fit` tries sums."
    )


def _format_absent_terms(terms: pd.DataFrame) -> str:
    absent = terms[terms["copies"] == 0].drop_duplicates(["system", "space", "term"])
    columns = (absent[name].tolist() for name in ("system", "term", "space", "held_by"))
    said = [
        f"{system} {term} in {space} (held by: {held})"
        for system, term, space, held in zip(*columns, strict=True)
    ]
    return "Terms that a space does not hold: " + "; ".join(said) + "." if said else ""


_NOISE_RATIOS, _QUICK_RATIOS = (0.0, 0.001, 0.01, 0.1), (0.0, 0.01)
_REPEATS = 10
_QUICK_SYSTEMS = ("glider2", "vdp2")
_SMALL_SPACE, _LARGE_SPACE = "bub", "ubb"
_LARGE_SPACE_REPEATS = 3  # of a space seven times as large


@dataclass(frozen=True, slots=True)
class _BenchmarkTask:
    """A fit, or, where a space is named, a screening of it."""

    system: str
    noise_ratio: float
    repeat: int
    space: str | None


@dataclass(frozen=True, eq=False)
class _BenchmarkPlan:
    """What is to be done.

    Parameters
    ----------
    systems : tuple of str
        Whose tables.
    noise_ratios : tuple of float
        Ascending, distinct.
    repeats : int
        Draws of the noise for each ratio but 0, where nothing is random.
    spaces : dict of str to int
        The spaces that are screened, and for how many draws.
    layers : str or None
        What a fit searches; None for what `symscreen.fit` searches by itself.
    seed : int
        Of the first draw.
    """

    systems: tuple[str, ...]
    noise_ratios: tuple[float, ...]
    repeats: int
    spaces: dict[str, int]
    layers: str | None
    seed: int

    def list_tasks(self) -> list[_BenchmarkTask]:
        """List the work."""
        return [
            _BenchmarkTask(system, ratio, repeat, space)
            for system in self.systems
            for ratio in self.noise_ratios
            for repeat in range(self.repeats if ratio else 1)
            for space in (None, *(name for name, most in self.spaces.items() if repeat < most))
        ]

    def run_task(self, task: _BenchmarkTask) -> Recovery | tuple[dict[str, ScreenerPerformance], float]:
        """Do a piece of it."""
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
    settings : Settings
        `repeats` draws of the noise, 10 by default, for each of `noise_ratios` but 0, where nothing is
        random. The quick size has two tables, two ratios, one draw, and no space beyond `bub`.

    Returns
    -------
    Outcome
        ``summary``: by noise ratio how many equations are recovered, the median over the draws, beside the
        aims and SRBench; ``recovery``: by table and ratio the share of draws in which the formula is the
        truth, and R² on fresh rows; ``screening``: by table, ratio, space and screener the average precision,
        the recall and the ranks of the truth's terms; ``terms``: these ranks one by one; ``misses``: every
        fit of another structure than the truth's, and what stopped it; ``seconds``, which differ from run to
        run.

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
    backend = Threads(settings.jobs or count_available_cores())
    # each task has one thread; limits that several of them set and lift by turns would not hold
    with threadpool_limits(1):
        for number, (task, found) in enumerate(zip(tasks, backend.map(plan.run_task, tasks), strict=True)):
            key, space = (task.system, task.noise_ratio), task.space or "fit"
            if isinstance(found, Recovery):
                fits.setdefault(key, []).append(found)
                took = found.seconds
            else:
                screenings.setdefault((*key, space), []).append(found[0])
                took = found[1]
            seconds.setdefault((*key, space), []).append(took)
            settings.report_progress(number + 1, len(tasks))
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
    ratios = settings.noise_ratios or (_QUICK_RATIOS if settings.quick else _NOISE_RATIOS)
    for ratio in ratios:
        if not (math.isfinite(ratio) and ratio >= 0.0):
            raise OptionError(f"the noise ratio {ratio!r} is no share of the response: give 0 or more")
    repeats = settings.repeats or (1 if settings.quick else _REPEATS)
    return _BenchmarkPlan(
        systems=_QUICK_SYSTEMS if settings.quick else datasets.list_strogatz_names(),
        noise_ratios=tuple(sorted({float(ratio) for ratio in ratios})),
        repeats=repeats,
        spaces={_SMALL_SPACE: repeats}
        if settings.quick
        else {_SMALL_SPACE: repeats, _LARGE_SPACE: _LARGE_SPACE_REPEATS},
        layers=_SMALL_SPACE if settings.quick else None,
        seed=settings.seed,
    )


EXPERIMENT = Experiment(
    name="strogatz",
    title="The fourteen ODE-Strogatz equations under one grammar: screened and recovered, over noise",
    source="the data and the rule of SRBench (La Cava and others 2021); no figure of Luo and Li 2024",
    run=run,
    supported_settings=("repeats", "noise_ratios"),
)
