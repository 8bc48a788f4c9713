"""Tables of the ODE-Strogatz benchmark, built from its fits and screenings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from symscreen import datasets
from symscreen.evaluation import compute_mean_and_error
from symscreen.experiments.strogatz.fits import (
    Recovery,
    add_target_noise,
    compute_truth_criterion,
    diagnose_miss,
)
from symscreen.experiments.strogatz.screenings import ScreenerPerformance, list_correct_features

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


Fits = dict[tuple[str, float], list[Recovery]]
"""Fits by table and noise ratio, one per draw."""
Screenings = dict[tuple[str, float, str], list[dict[str, ScreenerPerformance]]]
"""Performances of the screeners by table, noise ratio and space, one mapping per draw."""

_AIMED_COUNTS = {0.0: 14, 0.001: 13, 0.01: 9, 0.1: 4}
# best of 25 methods: mean percentage over these 14 tables in SRBench's groundtruth.csv, version 2.0
_PUBLISHED_PERCENT = {0.0: ("GP-GOMEA", 29.5), 0.01: ("DSR", 16.0)}
_MEASURES = ("average_precision", "recall_20", "recall_100")
_FORMULA_DIGITS = 5


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
        percentage. ``published_percent``, ``published_by``: the best of SRBench. ``data``, ``tie``,
        ``search``: number of misses by cause.
    """
    rows = []
    for ratio in sorted({ratio for _, ratio in fits}):
        cells = [cell_fits for (_, other), cell_fits in fits.items() if other == ratio]
        exact = np.array([[recovery.exact for recovery in cell_fits] for cell_fits in cells])
        structure = np.array([[recovery.structure for recovery in cell_fits] for cell_fits in cells])
        method, percent = _PUBLISHED_PERCENT.get(ratio, ("", np.nan))
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
    rows = []
    for (system, ratio, space), cell_draws in screenings.items():
        answers = list_correct_features(system, space)
        for name in cell_draws[0]:
            draws = [draw[name] for draw in cell_draws if name in draw]
            row: dict[str, Any] = {
                "system": system,
                "noise_ratio": ratio,
                "space": space,
                "screener": name,
                "draws": len(draws),
                "features": answers.n_features,
                "correct": len(answers.correct),
                "share": len(answers.correct) / answers.n_features,
            }
            for measure in _MEASURES:
                row[measure], row[f"{measure}_se"] = compute_mean_and_error(
                    [getattr(performance, measure) for performance in draws]
                )
            ranks = np.median([performance.ranks for performance in draws], axis=0).tolist()
            row["ranks"] = " / ".join("absent" if np.isnan(rank) else f"{rank:g}" for rank in ranks)
            rows.append(row)
    return pd.DataFrame(rows)


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
        ``stopped_by``: cause; see `symscreen.experiments.strogatz.fits.diagnose_miss`.
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
