"""Successive halving: evaluate all candidates on few rows, the best of them on more, down to a few thousand.

The schedule is fixed and gives no guarantee: a feature that looks bad at first is dropped. An audit
(`symscreen.screening.search.modes.audit_dropped_features`) measures the loss. It is small, because each round
keeps far more features than are wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion import CandidateStatus
from symscreen.screening.search.subsamples import (
    SubsampleScores,
    compute_max_subsample_rows,
    filter_on_subsample,
    make_pair_subsample,
    make_row_subsample,
    score_on_subsample,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.screeners import Screener, Sign
    from symscreen.screening.search.subsamples import Subsample
    from symscreen.targets import NumericTarget


_FIRST_ROUND_SIZE = 256  # pairs or rows in the first round
_EARLY_SIZE = 16_384  # pairs or rows up to which a round is early
_WORTHWHILE_FACTOR = 2.0  # smallest factor by which a round must reduce the number of features
_COSTLY_FACTOR = 1.25  # smallest such factor if exact scores cost much
_SIZE_GROWTH = 4  # size of each round relative to the previous one
_SURVIVING_SHARE = 1.0 / 8.0  # share of the features that a round keeps
MAX_PAIRS_PER_ROW = 5  # up to this ratio, evaluating pairs costs less than a score on all rows
_TRIAL_SIZE = 1 << 15  # candidates that determine the loss limit of the first round


@dataclass(frozen=True, slots=True)
class SearchGoal:
    """The features that a search is for: the best classes of one screener.

    Parameters
    ----------
    screener : Screener
        The screener that ranks features.
    sign : {"free", "positive"}
        Whether decreasing relations count as well as increasing ones.
    n_top_classes : int
        Number of best classes that are wanted.
    """

    screener: Screener
    sign: Sign
    n_top_classes: int


@dataclass(frozen=True, slots=True)
class HalvingRound:
    """One round of a search, for the record.

    Parameters
    ----------
    kind : {"pairs", "rows"}
        Whether features were evaluated on pairs of rows or on rows.
    looked_at : int
        Number of pairs or rows. Pairs of earlier rounds are included.
    features : int
        Number of evaluated features that were defined on these rows.
    survivors : int
        Number of features that the round kept.
    limit : float
        The largest estimated loss that it kept.
    """

    kind: str
    looked_at: int
    features: int
    survivors: int
    limit: float


@dataclass(frozen=True, eq=False)
class Survivors:
    """The candidates that a search keeps.

    Parameters
    ----------
    numbers : int64 array, shape (k,), or None
        Numbers of the kept candidates of the last layer, ascending; None if no round was run and all are
        kept.
    rounds : tuple of HalvingRound
        The rounds that were run.
    """

    numbers: NDArray[np.int64] | None
    rounds: tuple[HalvingRound, ...]


def restrict_space(space: Space, numbers: NDArray[np.int64]) -> Space:
    """Restrict a space to some of the candidates of the last layer.

    Parameters
    ----------
    space : Space
        The space.
    numbers : int64 array, shape (k,)
        Numbers of the candidates to keep.

    Returns
    -------
    Space
        The restricted space. Features keep their numbers.
    """
    was_kept = space.statuses == CandidateStatus.KEPT
    statuses = np.where(was_kept, np.uint8(CandidateStatus.PRUNED), space.statuses)
    statuses[numbers] = CandidateStatus.KEPT
    return replace(space, statuses=statuses)


def run_successive_halving(
    space: Space,
    target: NumericTarget,
    goal: SearchGoal,
    *,
    min_survivors: int,
    early_survivors: int = 0,
    rng: np.random.Generator,
    backend: Backend,
) -> Survivors:
    """Drop features that look bad on subsamples of increasing size.

    Parameters
    ----------
    space : Space
        The space, with values.
    target : NumericTarget
        The target, n rows.
    goal : SearchGoal
        The best classes of a screener.
    min_survivors : int
        Minimum number of candidates to keep.
    early_survivors : int
        Minimum number in the rounds that look at so few pairs or rows that losses are only roughly known.
    rng : numpy.random.Generator
        Draws pairs, rows and trial candidates.
    backend : Backend
        Computes the candidates.

    Returns
    -------
    Survivors
        The result is the same for every backend.
    """
    is_pairwise = goal.screener.is_pairwise
    survivors: SubsampleScores | None = None
    rounds: list[HalvingRound] = []
    size, previous_size = _FIRST_ROUND_SIZE, 0
    max_size = MAX_PAIRS_PER_ROW * target.n if is_pairwise else target.n - 1
    factor = _COSTLY_FACTOR if min_survivors < early_survivors else _WORTHWHILE_FACTOR
    while size <= max_size:
        n_remaining = space.size - space.n_materialized if survivors is None else len(survivors.numbers)
        if n_remaining <= factor * min_survivors:
            break
        subsample = _make_subsample(space, target, goal, size, n_previous=previous_size, rng=rng)
        if subsample is not None:
            n_kept = max(min_survivors, early_survivors if size <= _EARLY_SIZE else 0)
            share = max(_SURVIVING_SHARE, n_kept / n_remaining)
            if survivors is None:
                limit = _compute_loss_quantile(_estimate_trial_losses(space, subsample, rng, backend), share)
                survivors, n_defined = filter_on_subsample(space, subsample, limit, backend)
            else:
                sums = score_on_subsample(space, survivors.numbers, subsample, backend)
                if is_pairwise:  # counts of pairs add up; losses on samples of rows do not
                    sums += survivors.sums
                survivors, n_defined, limit = _select_best(
                    SubsampleScores(survivors.numbers, sums), subsample, share
                )
            kind = "pairs" if is_pairwise else "rows"
            rounds.append(HalvingRound(kind, size, n_defined, len(survivors.numbers), limit))
            previous_size = size
        size *= _SIZE_GROWTH
    return Survivors(None if survivors is None else survivors.numbers, tuple(rounds))


def make_first_subsample(
    space: Space, target: NumericTarget, goal: SearchGoal, rng: np.random.Generator
) -> Subsample | None:
    """Make the subsample of the first round; None if the table has too few rows for it."""
    if not goal.screener.is_pairwise and target.n <= _FIRST_ROUND_SIZE:
        return None
    return _make_subsample(space, target, goal, _FIRST_ROUND_SIZE, n_previous=0, rng=rng)


def _make_subsample(
    space: Space,
    target: NumericTarget,
    goal: SearchGoal,
    size: int,
    *,
    n_previous: int,
    rng: np.random.Generator,
) -> Subsample | None:
    """Make the subsample of one round; None if the target hardly varies on it."""
    if not goal.screener.is_pairwise:
        return make_row_subsample(target, size, rng, goal.screener, goal.sign)
    max_pairs = compute_max_subsample_rows(space) // 2 if n_previous else size
    return make_pair_subsample(
        target,
        size - n_previous,
        rng,
        sign_free=goal.sign == "free",
        max_pairs=max_pairs,
        n_previous_pairs=n_previous,
    )


def _estimate_trial_losses(
    space: Space, subsample: Subsample, rng: np.random.Generator, backend: Backend
) -> NDArray[np.float64]:
    """Estimate the losses of randomly drawn candidates, shape (k,); undefined ones are omitted."""
    drawn = np.unique(rng.integers(0, space.candidates.total, 2 * _TRIAL_SIZE))
    drawn = drawn[space.statuses[drawn] == CandidateStatus.KEPT]
    losses = subsample.finalize(score_on_subsample(space, drawn, subsample, backend))
    return losses[~np.isnan(losses)]


def _compute_loss_quantile(losses: NDArray[np.float64], share: float) -> float:
    """Return the loss that the given share of `losses`, shape (m,), does not exceed."""
    if not len(losses):
        return np.inf
    return float(np.quantile(losses, min(1.0, share), method="higher"))


def _select_best(
    scores: SubsampleScores, subsample: Subsample, share: float
) -> tuple[SubsampleScores, int, float]:
    """Keep the given share of the features; return the scores kept, the number defined and the loss limit."""
    losses = subsample.finalize(scores.sums)
    limit = _compute_loss_quantile(losses[~np.isnan(losses)], share)
    n_defined = int((~np.isnan(losses)).sum())
    with np.errstate(invalid="ignore"):
        return scores.take(losses <= limit), n_defined, limit
