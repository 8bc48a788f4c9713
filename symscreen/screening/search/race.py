"""Race: drop features once pairs of rows show, at a stated risk, that they are not among the best.

T0 / (2Δ) is a probability p, and N drawn pairs of rows are N independent trials with mean p (see
`symscreen.screening.search.subsamples`). For a feature with p ≤ p₀, Hoeffding's first theorem (1963) gives::

    P(share of discordant pairs ≥ x) ≤ exp(−N · KL(x, p₀)),   KL(x, p) = x ln(x/p) + (1−x) ln((1−x)/(1−p))

for every x > p₀. The bound needs no assumption on the feature, the target or the number of rows. It accounts
for the small variance if p₀ is small. It also holds for independent trials with unequal probabilities, such
as the stratified pairs.

The race first runs a halving search as a pilot and scores its survivors exactly; the loss of the last wanted
class is the threshold. All features are then evaluated on the smallest number of pairs that can exclude a
feature unrelated to the target. The survivors are evaluated on twice as many pairs, and so on.

The threshold comes from exact scores of some features, so it can only be too large, never too small,
whichever pairs selected them. A class of the best is therefore lost with probability at most risk / (classes
· rounds) in each round, and any of them with probability at most the risk.
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

_FIRST_ROUND_PAIRS = 32  # minimum number of pairs in the first round
MAX_ROUNDS = 14
_MIN_PILOT_SIZE = 512  # features that are scored exactly to set the threshold
_PILOT_SIZE_PER_CLASS = 4  # this number per class that is wanted
_MAX_PILOT_SPACE = 1 << 14  # a space of up to this many features is scored entirely to set the threshold
# Limit of the first round, relative to the loss expected by chance. A lower limit excludes most features
# that are unrelated to the target.
_MAX_FIRST_LIMIT = 0.92
_ROWS_PER_PAIR = 2  # one more pair costs about as much as this many rows of an exact score
_LOSS_TOLERANCE = 1e-9  # largest difference of equal losses, because losses are rounded
_ENOUGH_SURVIVORS = 1024  # features whose exact scores cost little; the list is filled from them


def compute_log_confidence_budget(risk: float, *, n_classes: int, n_rounds: int) -> float:
    """Compute the confidence that each exclusion needs so that all together stay within a risk.

    Parameters
    ----------
    risk : float
        The allowed probability that any of the best classes is lost, in (0, 1).
    n_classes : int
        Number of best classes that are wanted. Features with the same ranks order every pair alike, so a
        class is lost or kept as a whole, and the union bound has n_classes · n_rounds terms.
    n_rounds : int
        Maximum number of rounds.

    Returns
    -------
    float
        L = ln(n_classes · n_rounds / risk).

    Examples
    --------
    >>> round(compute_log_confidence_budget(1e-6, n_classes=56, n_rounds=10), 2)
    20.14
    """
    return math.log(n_classes * n_rounds / risk)


def compute_rejection_threshold(n_pairs: int, max_share: float, log_confidence: float) -> int:
    """Find the smallest number of discordant pairs that excludes a feature.

    Parameters
    ----------
    n_pairs : int
        N.
    max_share : float
        p₀, the largest true share of discordant pairs of a feature that must not be lost, in [0, 1].
    log_confidence : float
        L: a feature with a true share of p₀ or less is excluded with probability at most e^−L.

    Returns
    -------
    int
        Twice the count, from 0 to 2N; 2N + 1 if no count is large enough.

    Examples
    --------
    >>> compute_rejection_threshold(64, 0.05, 20.0), compute_rejection_threshold(64, 0.45, 20.0)
    (38, 107)
    """
    low, high = math.ceil(2 * n_pairs * max_share), 2 * n_pairs + 1
    while low < high:  # bisection: the divergence increases with the count
        middle = (low + high) // 2
        excludes = n_pairs * _compute_kl_divergence(middle / (2 * n_pairs), max_share) >= log_confidence
        low, high = (low, middle) if excludes else (middle + 1, high)
    return low


def _compute_kl_divergence(x: float, p: float) -> float:
    """Return KL(x, p) for x ≥ p; 0 for x ≤ p."""
    if x <= p:
        return 0.0
    if p <= 0.0:
        return math.inf
    rest = (1.0 - x) * math.log((1.0 - x) / (1.0 - p)) if x < 1.0 else 0.0
    return x * math.log(x / p) + rest


def run_race(
    space: Space,
    target: NumericTarget,
    goal: SearchGoal,
    *,
    risk: float,
    rng: np.random.Generator,
    backend: Backend,
) -> Survivors:
    """Drop features that are not among the best, at a stated risk.

    Parameters
    ----------
    space : Space
        The space, with values.
    target : NumericTarget
        The target, n rows.
    goal : SearchGoal
        The best classes by T0.
    risk : float
        The allowed probability that any of the wanted classes is lost, in (0, 1).
    rng : numpy.random.Generator
        Draws pairs of rows and the pilot features.
    backend : Backend
        Computes the candidates.

    Returns
    -------
    Survivors
        The result is the same for every backend.
    """
    pilot = run_successive_halving(
        space,
        target,
        goal,
        min_survivors=max(_MIN_PILOT_SIZE, _PILOT_SIZE_PER_CLASS * goal.n_top_classes),
        rng=rng,
        backend=backend,
    )
    pilot_numbers = pilot.numbers
    if pilot_numbers is None:
        if space.size > _MAX_PILOT_SPACE:
            return Survivors(None, ())  # too few rows: a subsample costs as much as a score
        pilot_numbers = np.flatnonzero(space.statuses == CandidateStatus.KEPT)
    threshold = _compute_loss_threshold(space, pilot_numbers, target, goal)
    log_confidence = compute_log_confidence_budget(risk, n_classes=goal.n_top_classes, n_rounds=MAX_ROUNDS)
    return race_to_loss(
        space, target, goal, loss_threshold=threshold, log_confidence=log_confidence, rng=rng, backend=backend
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
    """Drop features that pairs of rows show to have more than a given loss.

    Parameters
    ----------
    space, target, goal, rng, backend
        See `run_race`.
    loss_threshold : float
        Loss in units of Δ. A feature with at most this loss should not be lost.
    log_confidence : float
        L: such a feature is dropped in a round with probability at most e^−L.

    Returns
    -------
    Survivors
        The survivors after at most `MAX_ROUNDS` rounds. No round is run if excluding a feature unrelated to
        the target needs more pairs than an exact score is worth.
    """
    sign_free, batch_pairs = goal.sign == "free", compute_max_subsample_rows(space) // 2
    max_pairs = target.n // _ROWS_PER_PAIR
    n_pairs = _find_first_round_pairs(loss_threshold, log_confidence)
    if n_pairs > max_pairs:
        return Survivors(None, ())
    subsample = make_pair_subsample(target, n_pairs, rng, sign_free=sign_free, max_pairs=n_pairs)
    limit = _compute_pairs_limit(n_pairs, loss_threshold, log_confidence)
    survivors, n_defined = filter_on_subsample(space, subsample, limit, backend)
    rounds = [HalvingRound("pairs", n_pairs, n_defined, len(survivors.numbers), limit)]
    n_enough = max(goal.n_top_classes, _ENOUGH_SURVIVORS)
    while len(survivors.numbers) > n_enough and 2 * n_pairs <= max_pairs and len(rounds) < MAX_ROUNDS:
        subsample = make_pair_subsample(
            target, n_pairs, rng, sign_free=sign_free, max_pairs=batch_pairs, n_previous_pairs=n_pairs
        )
        sums = survivors.sums + score_on_subsample(space, survivors.numbers, subsample, backend)
        n_pairs = subsample.size
        limit = _compute_pairs_limit(n_pairs, loss_threshold, log_confidence)
        n_defined = int((~np.isnan(sums)).sum())
        with np.errstate(invalid="ignore"):
            survivors = SubsampleScores(survivors.numbers, sums).take(subsample.finalize(sums) <= limit)
        rounds.append(HalvingRound("pairs", n_pairs, n_defined, len(survivors.numbers), limit))
    return Survivors(survivors.numbers, tuple(rounds))


def _find_first_round_pairs(loss_threshold: float, log_confidence: float) -> int:
    """Find the smallest number of pairs that excludes most features unrelated to the target."""
    n_pairs = _FIRST_ROUND_PAIRS
    while (
        n_pairs < 1 << 30 and _compute_pairs_limit(n_pairs, loss_threshold, log_confidence) > _MAX_FIRST_LIMIT
    ):
        n_pairs *= 2
    return n_pairs


def _compute_pairs_limit(n_pairs: int, loss_threshold: float, log_confidence: float) -> float:
    """Return the largest estimate of T0/Δ that does not exclude a feature (twice the share of pairs)."""
    threshold = compute_rejection_threshold(n_pairs, min(1.0, loss_threshold / 2.0), log_confidence)
    return (threshold - 1) / n_pairs


def _compute_loss_threshold(
    space: Space, pilot: NDArray[np.int64], target: NumericTarget, goal: SearchGoal
) -> float:
    """Compute the loss of the last wanted class in the pilot, an upper bound of its loss in the space."""
    losses, classes = [np.zeros(0)], [np.zeros(0, dtype=np.uint64)]
    for block in space.evaluate_features(space.n_materialized + pilot):
        if len(block.numbers):
            ordered = sort_block(block.values)
            statistics = goal.screener.statistic(ordered, target)
            losses.append(goal.screener.loss(statistics, target, goal.sign))
            mirrored = goal.screener.merges_mirrored(goal.sign)
            classes.append(compute_rank_signatures(ordered, mirrored=mirrored))
    _, first = np.unique(np.concatenate(classes), return_index=True)
    class_losses = np.sort(np.concatenate(losses)[first])
    if len(class_losses) < goal.n_top_classes:
        return np.inf
    return float(class_losses[goal.n_top_classes - 1] + _LOSS_TOLERANCE)
