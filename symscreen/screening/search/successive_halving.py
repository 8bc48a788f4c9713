"""The sieve: look at all candidates briefly, at the best of them longer, and so on, to a few thousand.

A fixed schedule, no promise: what looks bad at first is dropped. How much that loses is measured by an audit
(`symscreen.search.audit_dropped_features`), and it is little, because each round keeps far more than is
wanted.
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


__all__ = [
    "HalvingRound",
    "SearchGoal",
    "Survivors",
    "make_first_subsample",
    "restrict_space",
    "run_successive_halving",
]

_FIRST_ROUND_SIZE = 256  # pairs or rows of the first round; four times as many in each that follows
_SIZE_GROWTH = 4
_SURVIVING_SHARE = 1.0 / 8.0  # of what a round looks at, how much it keeps
_MAX_PAIRS_PER_ROW = (
    5  # up to so many times the rows of the table pairs cost less than a score over all of them
)
_TRIAL_SIZE = 1 << 15  # candidates that tell where a round's limit lies


@dataclass(frozen=True, slots=True)
class SearchGoal:
    """What a search is for.

    Parameters
    ----------
    screener : Screener
        Whose best features are wanted.
    sign : {"free", "positive"}
        How it orders them.
    limit : int
        How many classes.
    """

    screener: Screener
    sign: Sign
    n_top_classes: int


@dataclass(frozen=True, slots=True)
class HalvingRound:
    """What a round did, for the record.

    Parameters
    ----------
    kind : {"pairs", "rows"}
        What it looked at.
    looked_at : int
        How many of these, those of earlier rounds included where they count on.
    features : int
        How many features it looked at that were defined there.
    survivors : int
        How many it kept.
    limit : float
        The largest estimate of the loss that it kept.
    """

    kind: str
    looked_at: int
    features: int
    survivors: int
    limit: float


@dataclass(frozen=True, eq=False)
class Survivors:
    """What came through.

    Parameters
    ----------
    numbers : int64 array, shape (k,), or None
        Candidates of the last layer, ascending; None where no round was run, and all are left.
    rounds : tuple of Round
    """

    numbers: NDArray[np.int64] | None
    rounds: tuple[HalvingRound, ...]


def restrict_space(space: Space, numbers: NDArray[np.int64]) -> Space:
    """Return a space of which only some of the last layer's candidates are left.

    Parameters
    ----------
    space : Space
        A space.
    numbers : int64 array, shape (k,)
        Candidates that are kept in it.

    Returns
    -------
    Space
        With the same numbers for the same features.
    """
    fates = np.where(space.statuses == CandidateStatus.KEPT, np.uint8(CandidateStatus.PRUNED), space.statuses)
    fates[numbers] = CandidateStatus.KEPT
    return replace(space, statuses=fates)


def run_successive_halving(
    space: Space,
    target: NumericTarget,
    goal: SearchGoal,
    *,
    min_survivors: int,
    rng: np.random.Generator,
    backend: Backend,
) -> Survivors:
    """Drop what does not look promising.

    Parameters
    ----------
    space : Space
        With values.
    response : Response
        What features are scored against.
    wanted : Wanted
        The best of whom.
    enough : int
        How many candidates are kept at least.
    rng : numpy.random.Generator
        What draws pairs, rows, and candidates for trial.
    backend : Backend
        Where candidates are computed.

    Returns
    -------
    Passed
        The same for every backend.
    """
    passed: SubsampleScores | None = None
    rounds: list[HalvingRound] = []
    size, before = _FIRST_ROUND_SIZE, 0
    most = _MAX_PAIRS_PER_ROW * target.n if goal.screener.is_pairwise else target.n - 1
    while size <= most:
        left = space.size - space.n_materialized if passed is None else len(passed.numbers)
        if left <= 2 * min_survivors:
            break
        look = _make_subsample(space, target, goal, size, n_previous=before, rng=rng)
        if look is not None:
            share = max(_SURVIVING_SHARE, min_survivors / left)
            if passed is None:
                limit = _compute_loss_quantile(_estimate_trial_losses(space, look, rng, backend), share)
                passed, seen = filter_on_subsample(space, look, limit, backend)
            else:
                told = score_on_subsample(space, passed.numbers, look, backend)
                told = (
                    told + passed.sums if goal.screener.is_pairwise else told
                )  # pairs add up, samples do not
                passed, seen, limit = _select_best(SubsampleScores(passed.numbers, told), look, share)
            rounds.append(
                HalvingRound(
                    "pairs" if goal.screener.is_pairwise else "rows", size, seen, len(passed.numbers), limit
                )
            )
            before = size
        size *= _SIZE_GROWTH
    return Survivors(None if passed is None else passed.numbers, tuple(rounds))


def make_first_subsample(
    space: Space, target: NumericTarget, goal: SearchGoal, rng: np.random.Generator
) -> Subsample | None:
    """Return what a sieve looks at first, where the table has so many rows."""
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
    if not goal.screener.is_pairwise:
        return make_row_subsample(target, size, rng, goal.screener, goal.sign)
    most = compute_max_subsample_rows(space) // 2 if n_previous else size
    mirrored = goal.sign == "free"
    return make_pair_subsample(
        target, size - n_previous, rng, sign_free=mirrored, max_pairs=most, n_previous_pairs=n_previous
    )


def _estimate_trial_losses(
    space: Space, subsample: Subsample, rng: np.random.Generator, backend: Backend
) -> NDArray[np.float64]:
    """Estimate the losses of some candidates drawn at random; the undefined left out."""
    drawn = np.unique(rng.integers(0, space.candidates.total, 2 * _TRIAL_SIZE))
    drawn = drawn[space.statuses[drawn] == CandidateStatus.KEPT]
    losses = subsample.finalize(score_on_subsample(space, drawn, subsample, backend))
    return losses[~np.isnan(losses)]


def _compute_loss_quantile(losses: NDArray[np.float64], share: float) -> float:
    """Return the loss that a share of them does not exceed."""
    if not len(losses):
        return np.inf
    return float(np.quantile(losses, min(1.0, share), method="higher"))


def _select_best(
    scores: SubsampleScores, subsample: Subsample, share: float
) -> tuple[SubsampleScores, int, float]:
    losses = subsample.finalize(scores.sums)
    limit = _compute_loss_quantile(losses[~np.isnan(losses)], share)
    seen = int((~np.isnan(losses)).sum())
    with np.errstate(invalid="ignore"):
        return scores.take(losses <= limit), seen, limit
