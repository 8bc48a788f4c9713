"""The tables of the ODE-Strogatz benchmark, from its fits and screenings."""

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


__all__ = [
    "Fits",
    "Screenings",
    "build_recovery_table",
    "build_screening_table",
    "build_seconds_table",
    "build_summary_table",
    "build_terms_table",
    "list_misses",
]

Fits = dict[tuple[str, float], list[Recovery]]
"""By table and noise ratio, one a draw."""
Screenings = dict[tuple[str, float, str], list[dict[str, ScreenerPerformance]]]
"""By table, noise ratio and space, one a draw: each by screener."""

_AIMED_COUNTS = {0.0: 14, 0.001: 13, 0.01: 9, 0.1: 4}
# in percent: the best of 25 methods, averaged over these 14 tables of SRBench's groundtruth.csv, version 2.0
_PUBLISHED_PERCENT = {0.0: ("GP-GOMEA", 29.5), 0.01: ("DSR", 16.0)}
_MEASURES = ("average_precision", "recall_20", "recall_100")
_FORMULA_DIGITS = 5


def build_summary_table(fits: Fits, misses: pd.DataFrame) -> pd.DataFrame:
    """Count the equations recovered, by noise ratio.

    Parameters
    ----------
    fits : Fits
        All.
    misses : pandas.DataFrame
        From `missed`.

    Returns
    -------
    pandas.DataFrame
        ``exact``, ``structure``: the median over the draws of how many of the ``systems`` equations were
        found; ``aim``, where all fourteen are tried; ``exact_percent``: the mean; ``published_percent``,
        ``published_by``: the best of SRBench; ``data``, ``tie``, ``search``: how many fits each of them
        stopped.
    """
    rows = []
    for ratio in sorted({ratio for _, ratio in fits}):
        cells = [own for (_, other), own in fits.items() if other == ratio]
        exact = np.array([[one.exact for one in own] for own in cells])
        structure = np.array([[one.structure for one in own] for own in cells])
        method, percent = _PUBLISHED_PERCENT.get(ratio, ("", np.nan))
        stopped = misses.loc[misses["noise_ratio"] == ratio, "stopped_by"]
        whole = len(cells) == len(datasets.list_strogatz_names())
        rows.append(
            {
                "noise_ratio": ratio,
                "systems": len(cells),
                "draws": exact.shape[1],
                "exact": float(np.median(exact.sum(axis=0))),
                "aim": _AIMED_COUNTS.get(ratio, np.nan) if whole else np.nan,
                "structure": float(np.median(structure.sum(axis=0))),
                "exact_percent": 100.0 * float(exact.mean()),
                "published_percent": percent,
                "published_by": method,
                **{bound: int((stopped == bound).sum()) for bound in ("data", "tie", "search")},
            }
        )
    return pd.DataFrame(rows)


def build_recovery_table(fits: Fits) -> pd.DataFrame:
    """Tell of each table and noise ratio how often the formula is the truth, and how it predicts.

    Parameters
    ----------
    fits : Fits
        All.

    Returns
    -------
    pandas.DataFrame
        ``exact``, ``structure``: shares of the draws; ``r2``, ``r2_least``: median and least R² on fresh
        rows; ``searched``: the most features tried; ``formula``: of the first draw.
    """
    rows = []
    for (system, ratio), own in fits.items():
        r2 = [one.r2 for one in own]
        rows.append(
            {
                "system": system,
                "noise_ratio": ratio,
                "draws": len(own),
                "exact": float(np.mean([one.exact for one in own])),
                "structure": float(np.mean([one.structure for one in own])),
                "r2": float(np.median(r2)),
                "r2_least": min(r2),
                "searched": max(one.n_searched for one in own),
                "truth": datasets.load_strogatz(system).truth,
                "formula": own[0].formula.round_numbers(_FORMULA_DIGITS).text,
            }
        )
    return pd.DataFrame(rows)


def build_screening_table(screenings: Screenings) -> pd.DataFrame:
    """Average the figures of each screener over the draws, with standard errors.

    Parameters
    ----------
    screenings : Screenings
        All.

    Returns
    -------
    pandas.DataFrame
        ``features`` of the space, ``correct`` of them by the criterion ``terms``, ``share``; the figures, NaN
        where none is correct; ``ranks``: the median rank of each of the truth's terms, or ``absent``.
    """
    rows = []
    for (system, ratio, space), own in screenings.items():
        answers = list_correct_features(system, space)
        for name in own[0]:
            draws = [each[name] for each in own if name in each]
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
            for figure in _MEASURES:
                row[figure], row[f"{figure}_se"] = compute_mean_and_error(
                    [getattr(one, figure) for one in draws]
                )
            ranks = np.median([one.ranks for one in draws], axis=0).tolist()
            row["ranks"] = " / ".join("absent" if np.isnan(rank) else f"{rank:g}" for rank in ranks)
            rows.append(row)
    return pd.DataFrame(rows)


def build_terms_table(screenings: Screenings, spaces: Sequence[str]) -> pd.DataFrame:
    """Tell where each of the truth's terms stands.

    Parameters
    ----------
    screenings : Screenings
        All.
    spaces : sequence of str
        Those screened.

    Returns
    -------
    pandas.DataFrame
        ``copies``: how many features are affine copies of the term; ``rank``, ``rank_least``, ``rank_most``:
        of the best of them, median, least and most over the draws, NaN where the space does not hold it;
        ``class``: the median rank with tied features counted as one; ``held_by``: the spaces that hold it.
    """
    rows = []
    for (system, ratio, space), own in screenings.items():
        answers = list_correct_features(system, space)
        for place, term in enumerate(answers.truth.terms):
            holders = [name for name in spaces if len(list_correct_features(system, name).term_copies[place])]
            for name in own[0]:
                draws = [each[name] for each in own if name in each]
                ranks = [each.ranks[place] for each in draws]
                rows.append(
                    {
                        "system": system,
                        "noise_ratio": ratio,
                        "space": space,
                        "screener": name,
                        "term": str(term),
                        "coefficient": answers.truth.coefficients[place],
                        "copies": len(answers.term_copies[place]),
                        "rank": float(np.median(ranks)),
                        "rank_least": min(ranks),
                        "rank_most": max(ranks),
                        "class": float(np.median([each.class_ranks[place] for each in draws])),
                        "held_by": " ".join(holders) or "none",
                    }
                )
    return pd.DataFrame(rows)


def list_misses(fits: Fits, seed: int, layers: str | None) -> pd.DataFrame:
    """List the fits whose structure is not the truth's, and say what stopped them.

    Parameters
    ----------
    fits : Fits
        All.
    seed : int
        Of the first draw.
    layers : str or None
        What was searched.

    Returns
    -------
    pandas.DataFrame
        ``criterion`` (EBIC, lower is better) of the model chosen and of the truth's; ``stopped_by``: see
        `symscreen.experiments.strogatz.fits.diagnose_miss`.
    """
    columns = ("system", "noise_ratio", "seed", "criterion", "truth_criterion", "stopped_by", "r2", "formula")
    rows = []
    for (system, ratio), own in fits.items():
        for draw, one in enumerate(own):
            if one.structure:
                continue
            known = compute_truth_criterion(system, add_target_noise(system, ratio, seed + draw), layers)
            shown = one.formula.round_numbers(_FORMULA_DIGITS).text
            stopped = diagnose_miss(one.criterion, known)
            rows.append((system, ratio, seed + draw, one.criterion, known, stopped, one.r2, shown))
    return pd.DataFrame(rows, columns=list(columns))


def build_seconds_table(seconds: Mapping[tuple[str, float, str], Sequence[float]]) -> pd.DataFrame:
    """Take the median of the times; as many tasks as threads ran at once.

    Parameters
    ----------
    seconds : mapping of (str, float, str) to sequence of float
        By table, noise ratio and work: ``fit``, or the space whose features were scored by all column
        screeners.

    Returns
    -------
    pandas.DataFrame
    """
    rows = [(*key, float(np.median(own))) for key, own in seconds.items()]
    return pd.DataFrame(rows, columns=["system", "noise_ratio", "work", "seconds"])
