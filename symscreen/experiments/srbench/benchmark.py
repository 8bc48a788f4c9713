"""SRBench's ground-truth track: fits of 130 problems over noise and seeds, judged by its rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from symscreen._atomic_io import check_writable
from symscreen.errors import OptionError
from symscreen.experiments.base import Experiment, ExperimentOutcome, ExperimentSettings
from symscreen.experiments.srbench.judge import UNRECOGNISED, Judge
from symscreen.experiments.srbench.misses import CAUSES, TIME_LIMIT_S
from symscreen.experiments.srbench.problems import SEEDS, Problem, find_problems, list_problems
from symscreen.experiments.srbench.rate_tables import (
    build_cause_table,
    build_miss_table,
    build_published_table,
    build_row_table,
    build_structure_table,
    build_summary_table,
    build_verdict_table,
    count_newly_solved,
)
from symscreen.experiments.srbench.records import append_row, find_commit, read_rows
from symscreen.experiments.srbench.trials import run_trial
from symscreen.results.fit_result import LAW_VERDICTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from symscreen._option_values import ExperimentSize
    from symscreen.experiments.srbench.records import TrialRow

_NAMES = tuple(problem.name for problem in list_problems())

_PROTOCOL_REMARK = (
    "Protocol: SRBench 2.0. 100,000 rows are drawn for each Feynman problem, a quarter of the rows is for "
    "the test, and of more than 10,000 training rows 10,000 are drawn with replacement. Normal noise is "
    "added to the training target alone; the noise ratio is its standard deviation over the root mean square "
    "of the target. The tables are drawn here from the published ranges, since the benchmark's own are not "
    "shipped. The fits have the defaults of `symscreen fit`."
)
_RULE_REMARK = (
    "Solved: R² on the test rows is above 0.5, and the formula differs from the truth by a constant or a "
    "factor, as sympy decides after numbers are rounded to three decimals. This rule does not recognise the "
    f"truth itself in {', '.join(UNRECOGNISED)}, so at most 127 of 130 problems can be solved. A "
    "percentage is the mean over problems of the share of solved seeds."
)
_PUBLISHED_REMARK = (
    "Published rates: SRBench's methods and RILS-ROLS from kartelj/rils-rols, others from their papers; "
    "those of PSE, uDSR and PySR are read from a figure, within 0.5. They are for all problems of their "
    "source and up to 8 hours per fit, and a method had its own set of operators. Compare only runs of all "
    "problems."
)


@dataclass(frozen=True, slots=True)
class _SRBenchSize:
    """Seeds of the Feynman problems and of ODE-Strogatz, noise ratios and problems."""

    repeats: int
    strogatz_repeats: int
    noise_ratios: tuple[float, ...] = (0.0, 0.001, 0.01, 0.1)
    problems: tuple[str, ...] = _NAMES


SIZES: Mapping[ExperimentSize, _SRBenchSize] = {
    "small": _SRBenchSize(1, 1, (0.0, 0.01), tuple(sorted(_NAMES)[::3])),
    "medium": _SRBenchSize(1, 3),
    "full": _SRBenchSize(10, 10),
}


class _Task(NamedTuple):
    """A fit."""

    problem: Problem
    noise_ratio: float
    seed: int


def list_tasks(settings: ExperimentSettings) -> list[_Task]:
    """List the fits of a run, problem by problem.

    Parameters
    ----------
    settings : ExperimentSettings
        Settings of the run.

    Returns
    -------
    list of _Task
        With units, problems without units are left out.

    Raises
    ------
    OptionError
        If a noise ratio, a problem or the number of seeds does not exist, or no problem is left.
    """
    plan = settings.choose_plan(SIZES)
    for ratio in plan.noise_ratios:
        if not (math.isfinite(ratio) and ratio >= 0.0):
            raise OptionError(f"the noise ratio {ratio!r} is invalid: give a finite number ≥ 0")
    if max(plan.repeats, plan.strogatz_repeats) > len(SEEDS):
        raise OptionError(f"SRBench has {len(SEEDS)} seeds, so {settings.repeats} are too many; give fewer")
    problems = [each for each in find_problems(plan.problems) if each.units or not settings.units]
    if not problems:
        raise OptionError("these problems have no units: leave units out, or choose Feynman problems")
    n_seeds = {"Feynman": plan.repeats, "Strogatz": plan.strogatz_repeats}
    return [
        _Task(problem, float(ratio), seed)
        for problem in problems
        for ratio in dict.fromkeys(plan.noise_ratios)
        for seed in SEEDS[: n_seeds[problem.group]]
    ]


def run(settings: ExperimentSettings) -> ExperimentOutcome:
    """Run the fits that the checkpoint does not contain, one after another, and build the tables.

    Parameters
    ----------
    settings : ExperimentSettings
        `repeats`: how many of SRBench's seeds. `seed`: that of the tables. `checkpoint`: a JSON-lines file of
        rows; a row of the same commit and options is not run again.

    Returns
    -------
    ExperimentOutcome
        ``summary``: rates by source and noise, with the best published ones and run times. ``published``: all
        published methods. ``structure``: rates by the structure of the truth. ``causes``: misses by cause.
        ``verdicts``: what the fits say of their formulas. ``misses``: each miss. ``rows``: each fit.

    Raises
    ------
    OptionError
        If a setting is invalid; see `list_tasks`.
    DataError
        If the checkpoint is not a file of rows.
    OutputError
        If the checkpoint cannot be written.
    """
    fits = build_row_table(run_tasks(settings))
    tables = {
        "summary": build_summary_table(fits),
        "published": build_published_table(fits),
        "structure": build_structure_table(fits),
        "causes": build_cause_table(fits),
        "verdicts": build_verdict_table(fits),
        "misses": build_miss_table(fits),
        "rows": fits,
    }
    return ExperimentOutcome(tables, remarks=format_remarks(tables))


def run_tasks(settings: ExperimentSettings) -> list[TrialRow]:
    """Run the fits that the checkpoint does not contain.

    Parameters
    ----------
    settings : ExperimentSettings
        Settings of the run.

    Returns
    -------
    list of TrialRow
        All rows of the run, in the order of `list_tasks`.
    """
    tasks, commit = list_tasks(settings), find_commit()
    known = {}
    if settings.checkpoint is not None:
        check_writable(settings.checkpoint, force=True)
        known = read_rows(settings.checkpoint)
    rows = []
    with Judge() as judge:
        for problem, ratio, seed in settings.track(tasks):
            row = known.get((problem.name, ratio, seed, settings.units, settings.seed, commit))
            if row is None:
                row = run_trial(
                    problem,
                    ratio,
                    seed,
                    judge,
                    units=settings.units,
                    table_seed=settings.seed,
                    commit=commit,
                    jobs=settings.jobs,
                )
                if settings.checkpoint is not None:
                    append_row(settings.checkpoint, row)
            rows.append(row)
    return rows


def format_remarks(tables: Mapping[str, pd.DataFrame]) -> tuple[str, ...]:
    """Format the remarks on the tables.

    Parameters
    ----------
    tables : mapping of str to pandas.DataFrame
        Tables from `run`.

    Returns
    -------
    tuple of str
        The remarks.
    """
    fits = tables["rows"]
    solved, tried = count_newly_solved(fits)
    remarks = [
        _format_structures(tables["structure"]),
        *(_format_misses(tables["misses"], ratio) for ratio in sorted(set(fits["noise_ratio"].tolist()))),
        _format_false_claims(tables["verdicts"]),
        _format_seconds(fits),
        f"Of {tried} problems tried that no published method of this list solved without noise, {solved} are "
        "solved here without noise."
        if tried
        else "",
        _PROTOCOL_REMARK,
        _RULE_REMARK,
        _PUBLISHED_REMARK,
    ]
    return tuple(remark for remark in remarks if remark)


def _format_structures(structures: pd.DataFrame) -> str:
    """Format the rates by structure and noise."""
    parts = []
    for ratio, cell in structures.groupby("noise_ratio"):
        sums = cell.groupby("structure", sort=False)[["solved", "fits"]].sum()
        counts = (
            f"{name} {row.solved} of {row.fits}"
            for name, row in zip(sums.index, sums.itertuples(), strict=True)
        )
        parts.append(f"at {ratio:g}: {', '.join(counts)}")
    return "Solved fits by the structure of the truth, " + "; ".join(parts) + "."


def _format_misses(misses: pd.DataFrame, ratio: float) -> str:
    """List the problems missed at a noise ratio, by cause."""
    at_ratio = misses[misses["noise_ratio"] == ratio]
    parts = [
        f"{CAUSES[cause]}: {', '.join(dict.fromkeys(problems))}"
        for cause in CAUSES
        if (problems := at_ratio.loc[at_ratio["cause"] == cause, "problem"].tolist())
    ]
    return f"Missed at {ratio:g}: {'; '.join(parts) or 'none'}."


def _format_false_claims(verdicts: pd.DataFrame) -> str:
    """Count the formulas that are called a law and do not have the form of one."""
    claims = verdicts[verdicts["verdict"].isin(LAW_VERDICTS)]
    n_claims, n_laws = int(claims["fits"].sum()), int(claims["law"].sum())
    return (
        f"Of {n_claims} formulas that the fit calls exact or a law within noise, {n_claims - n_laws} do not "
        "have the form of the law."
    )


def _format_seconds(fits: pd.DataFrame) -> str:
    """Format the run times of the fits."""
    seconds = fits["seconds"]
    return (
        f"A fit took {seconds.median():.1f} s in the median and at most {seconds.max():.1f} s; "
        f"{(seconds > TIME_LIMIT_S).sum()} of {len(seconds)} took more than {TIME_LIMIT_S:g} s."
    )


EXPERIMENT = Experiment(
    name="srbench",
    title="SRBench's 130 problems with known formulas: solution rates over noise, with the published ones",
    source="the protocol and the rule of SRBench 2.0 (La Cava and others 2021); no figure of Luo and Li 2024",
    run=run,
    sizes=SIZES,
    supported_settings=("repeats", "noise_ratios", "problems", "units", "checkpoint"),
)
