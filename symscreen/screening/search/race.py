"""How many discordant pairs show, at a stated risk, that a feature is not among the best.

T0 / (2Δ) is a probability p, and N pairs of rows are N independent throws
(`symscreen.screening.search.subsamples`), each in
[0, 1], with mean p over all. For a feature with p ≤ p₀, Hoeffding's first theorem (1963) says::

    P(share of discordant pairs ≥ x) ≤ exp(−N · KL(x, p₀)),   KL(x, p) = x ln(x/p) + (1−x) ln((1−x)/(1−p))

for every x > p₀: no assumption on the feature, the response or the number of rows, and the smaller p₀, the
smaller the variance that the bound allows for. Independent throws of unequal chance, as stratified ones are,
only make it safer.

The race: features drop out when pairs of rows show, at a stated risk, that they are not among the best.

First a sieve finds good features, and these are scored exactly: their losses say what must be beaten. Then
all features are looked at, at as few pairs of rows as can exclude a feature that knows nothing of the
response; at twice as many those that are left; and so on (`symscreen.screening.search.race` has the bound).

A loss to beat that is taken from exact scores can only be too large, never too small, whatever pairs chose
the features. So a class that belongs to the best is lost with a probability of at most risk / (classes ·
rounds) in each round, and any of them at most with the risk.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion import CandidateStatus
from symscreen.screening.search.subsamples import (
    SubsampleScores,
    compute_max_subsample_rows,
    filter_on_subsample,
    make_pair_subsample,
    score_on_subsample,
)
from symscreen.screening.search.successive_halving import HalvingRound, Survivors, run_successive_halving
from symscreen.statistics.ranks.sorted_block import compute_rank_signatures, sort_block

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.screening.search.successive_halving import SearchGoal
    from symscreen.targets import NumericTarget


__all__ = [
    "MAX_ROUNDS",
    "compute_log_confidence_budget",
    "compute_rejection_threshold",
    "race_to_loss",
    "run_race",
]


def compute_log_confidence_budget(risk: float, *, n_classes: int, n_rounds: int) -> float:
    """Return how much each exclusion must be worth, so that all together keep to a risk.

    Parameters
    ----------
    risk : float
        The probability allowed that any of the best classes is lost, in (0, 1).
    classes : int
        How many of the best classes are wanted: features with the same ranks order every pair alike, so a
        class is lost or kept whole, and there are no more ways to lose than wanted classes times rounds.
    rounds : int
        How many rounds there are at most.

    Returns
    -------
    float
        L = ln(classes · rounds / risk).

    Examples
    --------
    >>> round(compute_log_confidence_budget(1e-6, classes=56, rounds=10), 2)
    20.14
    """
    return math.log(n_classes * n_rounds / risk)


def compute_rejection_threshold(n_pairs: int, max_share: float, log_confidence: float) -> int:
    """Find from how many discordant pairs on a feature with at most a given true share may be excluded.

    Parameters
    ----------
    pairs : int
        N.
    share : float
        p₀, the largest true share of a feature that must not be lost, in [0, 1].
    log_odds : float
        L: a feature with a share of p₀ or less is excluded with a probability of at most e^−L.

    Returns
    -------
    int
        Twice the count, from 0 to 2N; 2N + 1 where no count is enough.

    Examples
    --------
    >>> compute_rejection_threshold(64, 0.05, 20.0), compute_rejection_threshold(64, 0.45, 20.0)
    (38, 107)
    """
    low, high = math.ceil(2 * n_pairs * max_share), 2 * n_pairs + 1
    while low < high:  # the divergence grows with the count
        middle = (low + high) // 2
        enough = n_pairs * _compute_kl_divergence(middle / (2 * n_pairs), max_share) >= log_confidence
        low, high = (low, middle) if enough else (middle + 1, high)
    return low


def _compute_kl_divergence(x: float, p: float) -> float:
    """Return KL(x, p) for x ≥ p; 0 for x ≤ p."""
    if x <= p:
        return 0.0
    if p <= 0.0:
        return math.inf
    rest = (1.0 - x) * math.log((1.0 - x) / (1.0 - p)) if x < 1.0 else 0.0
    return x * math.log(x / p) + rest


_FIRST_ROUND_PAIRS = 32  # pairs
MAX_ROUNDS = 14
_MIN_PILOT_SIZE = 512
_PILOT_SIZE_PER_CLASS = 4
_MAX_PILOT_SPACE = 1 << 14  # features that are all scored to say what must be beaten
_MAX_FIRST_LIMIT = (
    0.92  # of the loss expected by chance: a limit below it excludes most of what knows nothing
)
_ROWS_PER_PAIR = 2  # a pair more costs about as much as so many rows of an exact score
_LOSS_TOLERANCE = 1e-9  # losses are rounded


def run_race(
    space: Space,
    target: NumericTarget,
    goal: SearchGoal,
    *,
    risk: float,
    rng: np.random.Generator,
    backend: Backend,
) -> Survivors:
    """Drop what is not among the best, but for a stated risk.

    Parameters
    ----------
    space : Space
        With values.
    response : Response
        What features are scored against.
    wanted : Wanted
        The best by T0.
    risk : float
        The probability allowed that any of the wanted classes is lost, in (0, 1).
    rng : numpy.random.Generator
        What draws pairs and scouts.
    backend : Backend
        Where candidates are computed.

    Returns
    -------
    Passed
        The same for every backend.
    """
    scouts = run_successive_halving(
        space,
        target,
        goal,
        min_survivors=max(_MIN_PILOT_SIZE, _PILOT_SIZE_PER_CLASS * goal.n_top_classes),
        rng=rng,
        backend=backend,
    )
    numbers = scouts.numbers
    if numbers is None:
        if space.size > _MAX_PILOT_SPACE:
            return Survivors(None, ())  # the table has too few rows for a look to cost less than a score
        numbers = np.flatnonzero(space.statuses == CandidateStatus.KEPT)
    beat = _compute_loss_threshold(space, numbers, target, goal)
    log_odds = compute_log_confidence_budget(risk, n_classes=goal.n_top_classes, n_rounds=MAX_ROUNDS)
    return race_to_loss(
        space, target, goal, loss_threshold=beat, log_confidence=log_odds, rng=rng, backend=backend
    )


def race_to_loss(
    space: Space,
    target: NumericTarget,
    goal: SearchGoal,
    *,
    loss_threshold: float,
    log_confidence: float,
    rng: np.random.Generator,
    backend: Backend,
) -> Survivors:
    """Drop what pairs of rows show to have more than a given loss.

    Parameters
    ----------
    space, response, wanted, rng, backend
        As in `race`.
    beat : float
        A feature with this loss, in units of Δ, or less shall not be lost.
    log_odds : float
        L: such a feature is dropped in a round with a probability of at most e^−L.

    Returns
    -------
    Passed
        After at most `MAX_ROUNDS` rounds; none where no affordable number of pairs excludes a feature that
        knows nothing of the response.
    """
    mirrored, most = goal.sign == "free", compute_max_subsample_rows(space) // 2
    affordable = target.n // _ROWS_PER_PAIR
    pairs = _find_first_round_pairs(loss_threshold, log_confidence)
    if pairs > affordable:
        return Survivors(None, ())
    look = make_pair_subsample(target, pairs, rng, sign_free=mirrored, max_pairs=pairs)
    limit = _compute_pairs_limit(pairs, loss_threshold, log_confidence)
    passed, seen = filter_on_subsample(space, look, limit, backend)
    rounds = [HalvingRound("pairs", pairs, seen, len(passed.numbers), limit)]
    while len(passed.numbers) > goal.n_top_classes and 2 * pairs <= affordable and len(rounds) < MAX_ROUNDS:
        look = make_pair_subsample(
            target, pairs, rng, sign_free=mirrored, max_pairs=most, n_previous_pairs=pairs
        )
        told = passed.sums + score_on_subsample(space, passed.numbers, look, backend)
        pairs = look.size
        limit = _compute_pairs_limit(pairs, loss_threshold, log_confidence)
        seen = int((~np.isnan(told)).sum())
        with np.errstate(invalid="ignore"):
            passed = SubsampleScores(passed.numbers, told).take(look.finalize(told) <= limit)
        rounds.append(HalvingRound("pairs", pairs, seen, len(passed.numbers), limit))
    return Survivors(passed.numbers, tuple(rounds))


def _find_first_round_pairs(loss_threshold: float, log_confidence: float) -> int:
    """Return the fewest pairs that exclude most features that know nothing of the response."""
    pairs = _FIRST_ROUND_PAIRS
    while pairs < 1 << 30 and _compute_pairs_limit(pairs, loss_threshold, log_confidence) > _MAX_FIRST_LIMIT:
        pairs *= 2
    return pairs


def _compute_pairs_limit(n_pairs: int, loss_threshold: float, log_confidence: float) -> float:
    """Return the largest estimate of T0/Δ that does not exclude a feature; the chance of one is T0/(2Δ)."""
    return (
        compute_rejection_threshold(n_pairs, min(1.0, loss_threshold / 2.0), log_confidence) - 1
    ) / n_pairs


def _compute_loss_threshold(
    space: Space, pilot: NDArray[np.int64], target: NumericTarget, goal: SearchGoal
) -> float:
    """Return the loss of the last wanted class among the scouts, which is at least its loss in the space."""
    losses, classes = [np.zeros(0)], [np.zeros(0, dtype=np.uint64)]
    for block in space.evaluate_features(space.n_materialized + pilot):
        if len(block.numbers):
            ordered = sort_block(block.values)
            statistics = goal.screener.statistic(ordered, target)
            losses.append(goal.screener.loss(statistics, target, goal.sign))
            classes.append(compute_rank_signatures(ordered, mirrored=goal.sign == "free"))
    _, first = np.unique(np.concatenate(classes), return_index=True)
    found = np.sort(np.concatenate(losses)[first])
    return (
        float(found[goal.n_top_classes - 1] + _LOSS_TOLERANCE) if len(found) >= goal.n_top_classes else np.inf
    )
