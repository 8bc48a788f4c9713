"""The audit of a sieve: how many of the features that it dropped belonged to the best.

A sample of the dropped is drawn at random and its members that are as good as the last feature shown are
counted. Most of the sample is cleared by pairs of rows at a tiny risk, where the screener allows that; the
rest is scored exactly.

A search of a space: which features are left to be scored over all rows, and what the record tells.

How long a search would look, and how many features it would leave to be scored over all rows.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

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
    from symscreen.targets import NumericTarget


__all__ = [
    "EXACT_SEARCH",
    "SearchAudit",
    "SearchConfig",
    "SearchMode",
    "SearchResult",
    "audit_dropped_features",
    "audit_search",
    "compute_min_survivors",
    "estimate_search_cost",
    "run_search",
]

_EXACT_SAMPLE_SIZE = 1 << 9  # of features that are all scored exactly
_PAIRS_SAMPLE_SIZE = 1 << 15  # where few pairs clear most of them
_LOG_CONFIDENCE = 30.0  # that a pair of rows clears a feature wrongly, as a logarithm
_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class SearchAudit:
    """What the audit found.

    Parameters
    ----------
    dropped : int
        How many features the sieve dropped.
    sampled : int
        How many of them were looked at.
    lost : int
        How many of these are as good as the last feature shown.
    estimate : float
        Of all dropped features, how many are.
    at_most : float
        The upper end of an exact one-sided 95 % interval for that (Clopper and Pearson 1934).
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
    """Draw dropped features at random and score them.

    Parameters
    ----------
    space, searched : Space
        Before and after the sieve.
    response : Response
        What features are scored against.
    wanted : Wanted
        Who scores them.
    loss : float
        That of the last feature shown.
    rng : numpy.random.Generator
        What draws.
    backend : Backend
        Where features are computed.

    Returns
    -------
    Audit
        Features undefined in some row, which no score could have shown, count as rightly dropped.
    """
    dropped = space.size - restricted_space.size
    if dropped == 0:
        return SearchAudit(0, 0, 0, 0.0, 0.0)
    most = _PAIRS_SAMPLE_SIZE if goal.screener.is_pairwise else _EXACT_SAMPLE_SIZE
    numbers = _draw_dropped(space, restricted_space, min(dropped, most), dropped, rng)
    suspects = numbers
    if goal.screener.is_pairwise:
        left = race_to_loss(
            restrict_space(space, numbers),
            target,
            goal,
            loss_threshold=loss_threshold,
            log_confidence=_LOG_CONFIDENCE,
            rng=rng,
            backend=backend,
        )
        if (
            left.numbers is None and len(numbers) > _EXACT_SAMPLE_SIZE
        ):  # too weak a signal for pairs to clear anything
            numbers = np.sort(rng.choice(numbers, _EXACT_SAMPLE_SIZE, replace=False))
        suspects = numbers if left.numbers is None else left.numbers
    lost = 0
    for block in space.evaluate_features(space.n_materialized + suspects):
        if len(block.numbers):
            statistics = goal.screener.statistic(sort_block(block.values), target)
            lost += int(
                (np.round(goal.screener.loss(statistics, target, goal.sign), 12) <= loss_threshold).sum()
            )
    share = lost / len(numbers)
    at_most = float(lost) if len(numbers) == dropped else _compute_upper_share(lost, len(numbers)) * dropped
    return SearchAudit(dropped, len(numbers), lost, share * dropped, at_most)


def _draw_dropped(
    space: Space, restricted_space: Space, n_drawn: int, n_dropped: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw dropped candidates, each set of so many with the same chance."""
    if 4 * n_drawn >= n_dropped:
        everyone = np.flatnonzero(
            (space.statuses == CandidateStatus.KEPT) & (restricted_space.statuses != CandidateStatus.KEPT)
        )
        return np.sort(rng.choice(everyone, n_drawn, replace=False))
    found = np.zeros(0, dtype=np.int64)
    while len(found) < n_drawn:
        more = rng.integers(0, space.candidates.total, n_drawn)
        more = more[
            (space.statuses[more] == CandidateStatus.KEPT)
            & (restricted_space.statuses[more] != CandidateStatus.KEPT)
        ]
        found = np.concatenate((found, more))
        found = found[
            np.sort(np.unique(found, return_index=True)[1])
        ]  # in the order in which they were drawn
    return np.sort(found[:n_drawn])


def _compute_upper_share(n_lost: int, n_sampled: int) -> float:
    """Return the largest share under which so few would be found with a probability of 5 %."""
    from scipy.special import betaincinv  # scipy.stats would take longer to import than the audit takes

    return 1.0 if n_lost == n_sampled else float(betaincinv(n_lost + 1, n_sampled - n_lost, _CONFIDENCE))


SearchMode = Literal["exact", "race", "sieve"]

_MIN_SURVIVORS = 2048  # what a sieve leaves at least
_SURVIVORS_PER_CLASS = 32
_SEARCH_STREAM, _AUDIT_STREAM = 1, 2  # streams of random numbers
_NO_P_VALUES_REASON = (
    "p- and q-values need every feature's score, and most features were dropped on some rows"
)


@dataclass(frozen=True, slots=True)
class SearchConfig:
    """How a space is searched.

    Parameters
    ----------
    mode : {"exact", "race", "sieve"}
        Score every feature over all rows; or drop features that some rows show, at a stated risk, not to be
        among the best; or keep a generous share of the best in each of a few rounds.
    risk : float
        Of a race: the probability allowed that any of the best is lost, in (0, 1).
    """

    mode: SearchMode = "exact"
    risk: float = 1e-6


EXACT_SEARCH = SearchConfig()


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What a search leaves.

    Parameters
    ----------
    space : Space
        With only the survivors among the last layer's candidates.
    record : dict
        Mode, risk, rounds, survivors.
    """

    space: Space
    record: dict[str, Any]


def run_search(
    space: Space,
    target: NumericTarget,
    goals: Sequence[SearchGoal],
    config: SearchConfig,
    *,
    seed: int,
    backend: Backend,
) -> SearchResult:
    """Search a space for the best features.

    Parameters
    ----------
    space : Space
        With values.
    response : Response
        What features are scored against.
    wanted : sequence of Wanted
        What is wanted, at least one; what any of them keeps is kept.
    search : Search
        How; not ``exact``.
    seed : int
        Draws rows and pairs of rows.
    backend : Backend
        Where features are computed.

    Returns
    -------
    Searched
        The same for every backend. Features at hand, of the pool and of the user's own, always stay.
    """
    rng = np.random.default_rng([seed, _SEARCH_STREAM])
    survivors = np.zeros(0, dtype=np.int64)
    rounds = []
    everyone = False
    for one in goals:
        if config.mode == "race":
            passed = run_race(space, target, one, risk=config.risk / len(goals), rng=rng, backend=backend)
        else:
            passed = run_successive_halving(
                space, target, one, min_survivors=compute_min_survivors(one), rng=rng, backend=backend
            )
        everyone |= passed.numbers is None
        if passed.numbers is not None:
            survivors = np.union1d(survivors, passed.numbers)
        rounds += [{"screener": one.screener.name, **asdict(each)} for each in passed.rounds]
    left = space if everyone else restrict_space(space, survivors)
    record: dict[str, Any] = {"mode": config.mode}
    if config.mode == "race":
        record["risk"] = config.risk
    record |= {"features": space.size, "survivors": left.size, "rounds": rounds}
    if left.size < space.size:
        record["p_values"] = _NO_P_VALUES_REASON
    return SearchResult(left, record)


def compute_min_survivors(goal: SearchGoal) -> int:
    """Return how many features a sieve leaves at least."""
    return max(_MIN_SURVIVORS, _SURVIVORS_PER_CLASS * goal.n_top_classes)


def audit_search(
    space: Space,
    search_result: SearchResult,
    target: NumericTarget,
    goal: SearchGoal,
    *,
    loss_threshold: float,
    seed: int,
    backend: Backend,
) -> dict[str, Any]:
    """Estimate, for the record, how many features as good as those shown a sieve has dropped.

    Parameters
    ----------
    space : Space
        Before the search.
    found : Searched
        After it.
    response, wanted, seed, backend
        As in `searched`.
    loss : float
        That of the last feature shown.

    Returns
    -------
    dict
    """
    rng = np.random.default_rng([seed, _AUDIT_STREAM])
    return asdict(
        audit_dropped_features(
            space, search_result.space, target, goal, loss_threshold=loss_threshold, rng=rng, backend=backend
        )
    )


_CALIBRATION_S = 0.2  # seconds on the calibration
_ALL_ROUNDS_TO_FIRST_RATIO = (
    2.5  # the time of all looks in that of the first: each later one sees an eighth, four times as long
)
_MAX_SURVIVORS_FACTOR = 2  # a last round may leave up to twice what is enough


def estimate_search_cost(
    space: Space, target: NumericTarget, goals: Sequence[SearchGoal], n_features: int, backend: Backend
) -> tuple[float, int]:
    """Forecast a sieve of a space from a small one of the same table.

    Parameters
    ----------
    space : Space
        The small one, with values.
    response : Response
        The response.
    wanted : sequence of Wanted
        What would be wanted.
    features : int
        How many features the large space has.
    backend : Backend
        Where features would be computed.

    Returns
    -------
    seconds : float
        Of all looks together.
    survivors : int
        How many features would be scored over all rows.
    """
    rng = np.random.default_rng(0)
    numbers = np.flatnonzero(space.statuses == CandidateStatus.KEPT)
    seconds, survivors = 0.0, 0
    for one in goals:
        survivors += _MAX_SURVIVORS_FACTOR * compute_min_survivors(one)
        look = make_first_subsample(space, target, one, rng)
        if look is None or not len(numbers):
            continue
        numbers = np.resize(numbers, max(len(numbers), 1 << 15))
        numbers.sort()
        score_on_subsample(space, numbers[:1], look, backend)  # compiles, or loads what was compiled before
        done, start = 0, perf_counter()
        while (spent := perf_counter() - start) < _CALIBRATION_S:
            score_on_subsample(space, numbers, look, backend)
            done += len(numbers)
        seconds += _ALL_ROUNDS_TO_FIRST_RATIO * spent / max(done, 1) * n_features
    return seconds, survivors
