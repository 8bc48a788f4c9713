"""The search modes of a screen, the audit of a halving search, and the estimate of its cost.

A search decides which features of a space are scored on all rows (`run_feature_search`). The audit estimates
how many of the dropped features belong to the best: it draws dropped features at random and counts those that
are as good as the last feature shown. If the screener allows it, pairs of rows exclude most of the sample at
a tiny risk (see `symscreen.screening.search.race`), and only the rest is scored exactly.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from symscreen.backends import Threads, count_available_cores
from symscreen.expansion import CandidateStatus
from symscreen.screening.search.race import race_to_loss, run_race
from symscreen.screening.search.subsamples import score_on_subsample
from symscreen.screening.search.successive_halving import (
    SearchGoal,
    make_first_subsample,
    restrict_space,
    run_successive_halving,
)
from symscreen.statistics.ranks.sorted_block import sort_block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.screening.task import ScreeningTask
    from symscreen.targets import NumericTarget


_EXACT_SAMPLE_SIZE = 1 << 9  # features of an audit that are all scored exactly
_FEATURES_PER_TASK = 8  # features of an audit that a thread scores together
_PAIRS_SAMPLE_SIZE = 1 << 15  # features of an audit in which pairs of rows exclude most of them
_LOG_CONFIDENCE = 30.0  # −ln of the probability that pairs of rows exclude a feature wrongly
_CONFIDENCE = 0.95  # level of the one-sided interval for the share of lost features

SearchMode = Literal["exact", "race", "sieve"]

_MIN_SURVIVORS = 2048  # minimum number of features that a halving search leaves
_SURVIVORS_PER_CLASS = 32  # minimum number of features left per requested class
# Where survivors of a search by pairs would have more values than this, it leaves fewer of them, ...
MAX_SURVIVOR_VALUES = 25 * 10**7
_FEWEST_PER_CLASS = 16  # ... but at least as many per requested class
_SEARCH_STREAM, _AUDIT_STREAM = 1, 2  # random streams of a seed
_NO_P_VALUES_REASON = (
    "p- and q-values need the scores of all features, but most features were dropped on a subsample of rows"
)

_CALIBRATION_S = 0.2  # seconds
# Time of all rounds relative to the first; each later round has 1/8 of the features at 4 times the cost each.
_ALL_ROUNDS_TO_FIRST_RATIO = 2.5
_MAX_SURVIVORS_FACTOR = 2  # the last round may leave up to twice the minimum number of survivors


@dataclass(frozen=True, slots=True)
class SearchAudit:
    """Result of an audit: an estimate of how many good features a search dropped.

    Parameters
    ----------
    dropped : int
        Number of features that the search dropped.
    sampled : int
        Number of dropped features that the audit examined.
    lost : int
        Number of examined features that are as good as the last feature shown.
    estimate : float
        Estimated number of all dropped features that are as good.
    at_most : float
        Upper end of an exact one-sided 95 % interval for that number (Clopper and Pearson 1934).
    """

    dropped: int
    sampled: int
    lost: int
    estimate: float
    at_most: float


def audit_dropped_features(
    space: Space,
    restricted_space: Space,
    target: NumericTarget,
    goal: SearchGoal,
    *,
    loss_threshold: float,
    rng: np.random.Generator,
    backend: Backend,
) -> SearchAudit:
    """Draw dropped features at random, score them and count those below a loss.

    Parameters
    ----------
    space, restricted_space : Space
        The space before and after the search.
    target : NumericTarget
        The target, n rows.
    goal : SearchGoal
        The screener and sign that the search was for.
    loss_threshold : float
        The loss of the last feature shown.
    rng : numpy.random.Generator
        Draws the sample, and pairs of rows.
    backend : Backend
        Computes the features.

    Returns
    -------
    SearchAudit
        Features that are undefined in some row count as rightly dropped, because no score can show them.
    """
    dropped = space.size - restricted_space.size
    if dropped == 0:
        return SearchAudit(0, 0, 0, 0.0, 0.0)
    sample_size = _PAIRS_SAMPLE_SIZE if goal.screener.is_pairwise else _EXACT_SAMPLE_SIZE
    numbers = _draw_dropped(space, restricted_space, min(dropped, sample_size), dropped, rng)
    candidates = numbers  # those that must be scored exactly
    if goal.screener.is_pairwise:
        race_survivors = race_to_loss(
            restrict_space(space, numbers),
            target,
            goal,
            loss_threshold=loss_threshold,
            log_confidence=_LOG_CONFIDENCE,
            rng=rng,
            backend=backend,
        )
        if race_survivors.numbers is None and len(numbers) > _EXACT_SAMPLE_SIZE:
            # The signal is too weak for pairs to exclude any feature: score a smaller sample exactly.
            numbers = np.sort(rng.choice(numbers, _EXACT_SAMPLE_SIZE, replace=False))
        candidates = numbers if race_survivors.numbers is None else race_survivors.numbers

    def count_lost(numbers: NDArray[np.int64]) -> int:
        """Count the features whose loss is at most the threshold."""
        lost = 0
        for block in space.evaluate_features(space.n_materialized + numbers):
            if len(block.numbers):
                statistics = goal.screener.statistic(sort_block(block.values), target)
                losses = np.round(goal.screener.loss(statistics, target, goal.sign), 12)
                lost += int((losses <= loss_threshold).sum())
        return lost

    threads = Threads(min(backend.jobs, count_available_cores()))
    parts = np.array_split(candidates, max(1, len(candidates) // _FEATURES_PER_TASK))
    lost = sum(threads.map(count_lost, parts))
    share = lost / len(numbers)
    at_most = float(lost) if len(numbers) == dropped else _compute_upper_share(lost, len(numbers)) * dropped
    return SearchAudit(dropped, len(numbers), lost, share * dropped, at_most)


def _draw_dropped(
    space: Space, restricted_space: Space, n_drawn: int, n_dropped: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw dropped candidates without replacement; return their numbers, ascending, shape (n_drawn,)."""
    if 4 * n_drawn >= n_dropped:
        dropped = np.flatnonzero(
            (space.statuses == CandidateStatus.KEPT) & (restricted_space.statuses != CandidateStatus.KEPT)
        )
        return np.sort(rng.choice(dropped, n_drawn, replace=False))
    drawn = np.zeros(0, dtype=np.int64)
    while len(drawn) < n_drawn:
        more = rng.integers(0, space.candidates.total, n_drawn)
        more = more[
            (space.statuses[more] == CandidateStatus.KEPT)
            & (restricted_space.statuses[more] != CandidateStatus.KEPT)
        ]
        drawn = np.concatenate((drawn, more))
        # Remove duplicates, in the order of drawing, so that every subset has the same probability.
        drawn = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
    return np.sort(drawn[:n_drawn])


def _compute_upper_share(n_lost: int, n_sampled: int) -> float:
    """Compute the upper end of the one-sided Clopper-Pearson interval for the share of lost features."""
    from scipy.special import betaincinv  # importing scipy.stats takes longer than the audit

    return 1.0 if n_lost == n_sampled else float(betaincinv(n_lost + 1, n_sampled - n_lost, _CONFIDENCE))


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The survivors of a search.

    Parameters
    ----------
    space : Space
        The space, with only the survivors among the candidates of the last layer.
    record : dict
        Mode, risk, rounds and number of survivors.
    """

    space: Space
    record: dict[str, Any]


def run_feature_search(space: Space, goals: Sequence[SearchGoal], task: ScreeningTask) -> SearchResult:
    """Search a space for the best features by the task's search mode.

    A race splits its risk evenly among the goals.
    """
    target, backend, mode = task.dataset.numeric_target, task.backend, task.search
    rng = np.random.default_rng([task.options.seed, _SEARCH_STREAM])
    survivors = np.zeros(0, dtype=np.int64)
    rounds = []
    keeps_all = False
    for goal in goals:
        if mode == "race":
            goal_survivors = run_race(
                space, target, goal, risk=task.risk / len(goals), rng=rng, backend=backend
            )
        else:
            goal_survivors = run_successive_halving(
                space,
                target,
                goal,
                min_survivors=compute_min_survivors(goal, target.n),
                early_survivors=_MIN_SURVIVORS,
                rng=rng,
                backend=backend,
            )
        keeps_all |= goal_survivors.numbers is None
        if goal_survivors.numbers is not None:
            survivors = np.union1d(survivors, goal_survivors.numbers)
        rounds += [
            {"screener": goal.screener.name, **asdict(halving_round)}
            for halving_round in goal_survivors.rounds
        ]
    remaining = space if keeps_all else restrict_space(space, survivors)
    record: dict[str, Any] = {"mode": mode}
    if mode == "race":
        record["risk"] = task.risk
    record |= {"features": space.size, "survivors": remaining.size, "rounds": rounds}
    if remaining.size < space.size:
        record["p_values"] = _NO_P_VALUES_REASON
    return SearchResult(remaining, record)


def compute_min_survivors(goal: SearchGoal, n_rows: int) -> int:
    """Return the minimum number of features that a halving search of a table with `n_rows` rows leaves.

    Examples
    --------
    >>> from symscreen.screeners import SCREENERS
    >>> goal = SearchGoal(SCREENERS["t0"], "free", n_top_classes=56)
    >>> compute_min_survivors(goal, 10_000), compute_min_survivors(goal, 200_000)
    (2048, 1250)
    """
    usual = max(_MIN_SURVIVORS, _SURVIVORS_PER_CLASS * goal.n_top_classes)
    if not goal.screener.is_pairwise:  # a round on many rows would cost as much as it saves
        return usual
    return min(usual, max(MAX_SURVIVOR_VALUES // n_rows, _FEWEST_PER_CLASS * goal.n_top_classes))


def audit_search(
    space: Space,
    search_result: SearchResult,
    goal: SearchGoal,
    task: ScreeningTask,
    *,
    loss_threshold: float,
) -> dict[str, Any]:
    """Estimate, for the record, how many features as good as those shown a search dropped."""
    audit = audit_dropped_features(
        space,
        search_result.space,
        task.dataset.numeric_target,
        goal,
        loss_threshold=loss_threshold,
        rng=np.random.default_rng([task.options.seed, _AUDIT_STREAM]),
        backend=task.backend,
    )
    return asdict(audit)


def estimate_search_cost(
    space: Space, target: NumericTarget, goals: Sequence[SearchGoal], n_features: int, backend: Backend
) -> tuple[float, int]:
    """Estimate the cost of a halving search of a large space from a small space of the same table.

    Parameters
    ----------
    space : Space
        The small space, with values.
    target : NumericTarget
        The target, n rows.
    goals : sequence of SearchGoal
        The goals of the search.
    n_features : int
        Number of features of the large space.
    backend : Backend
        The backend that would compute the features.

    Returns
    -------
    seconds : float
        Estimated time of all rounds.
    survivors : int
        Number of features that would be scored on all rows.
    """
    rng = np.random.default_rng(0)
    numbers = np.flatnonzero(space.statuses == CandidateStatus.KEPT)
    seconds, survivors = 0.0, 0
    for goal in goals:
        survivors += _MAX_SURVIVORS_FACTOR * compute_min_survivors(goal, target.n)
        subsample = make_first_subsample(space, target, goal, rng)
        if subsample is None or not len(numbers):
            continue
        numbers = np.resize(numbers, max(len(numbers), 1 << 15))
        numbers.sort()
        # the first call compiles the kernels or loads them from the cache
        score_on_subsample(space, numbers[:1], subsample, backend)
        n_scored, start = 0, perf_counter()
        while (elapsed := perf_counter() - start) < _CALIBRATION_S:
            score_on_subsample(space, numbers, subsample, backend)
            n_scored += len(numbers)
        seconds += _ALL_ROUNDS_TO_FIRST_RATIO * elapsed / max(n_scored, 1) * n_features
    return seconds, survivors
