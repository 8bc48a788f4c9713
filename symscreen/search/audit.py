"""The audit of a sieve: how many of the features that it dropped belonged to the best.

A sample of the dropped is drawn at random and its members that are as good as the last feature shown are
counted. Most of the sample is cleared by pairs of rows at a tiny risk, where the screener allows that; the
rest is scored exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion import Fate
from symscreen.search.race import race_against
from symscreen.search.sieve import restricted
from symscreen.statistics.order import order_features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.response import Response
    from symscreen.search.sieve import Wanted

__all__ = ["Audit", "audit"]

_SAMPLE = 1 << 9  # of features that are all scored exactly
_SAMPLE_BY_PAIRS = 1 << 15  # where few pairs clear most of them
_LOG_ODDS = 30.0  # that a pair of rows clears a feature wrongly, as a logarithm
_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Audit:
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


def audit(
    space: Space,
    searched: Space,
    response: Response,
    wanted: Wanted,
    *,
    loss: float,
    rng: np.random.Generator,
    backend: Backend,
) -> Audit:
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
    dropped = space.size - searched.size
    if dropped == 0:
        return Audit(0, 0, 0, 0.0, 0.0)
    most = _SAMPLE_BY_PAIRS if wanted.screener.by_pairs else _SAMPLE
    numbers = _drawn(space, searched, min(dropped, most), dropped, rng)
    suspects = numbers
    if wanted.screener.by_pairs:
        left = race_against(
            restricted(space, numbers),
            response,
            wanted,
            beat=loss,
            log_odds=_LOG_ODDS,
            rng=rng,
            backend=backend,
        )
        if left.numbers is None and len(numbers) > _SAMPLE:  # too weak a signal for pairs to clear anything
            numbers = np.sort(rng.choice(numbers, _SAMPLE, replace=False))
        suspects = numbers if left.numbers is None else left.numbers
    lost = 0
    for block in space.blocks_at(space.at_hand + suspects):
        if len(block.numbers):
            statistics = wanted.screener.statistic(order_features(block.values), response)
            lost += int((np.round(wanted.screener.loss(statistics, response, wanted.sign), 12) <= loss).sum())
    share = lost / len(numbers)
    at_most = float(lost) if len(numbers) == dropped else _upper(lost, len(numbers)) * dropped
    return Audit(dropped, len(numbers), lost, share * dropped, at_most)


def _drawn(
    space: Space, searched: Space, count: int, dropped: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw dropped candidates, each set of so many with the same chance."""
    if 4 * count >= dropped:
        everyone = np.flatnonzero((space.fates == Fate.KEPT) & (searched.fates != Fate.KEPT))
        return np.sort(rng.choice(everyone, count, replace=False))
    found = np.zeros(0, dtype=np.int64)
    while len(found) < count:
        more = rng.integers(0, space.candidates.total, count)
        more = more[(space.fates[more] == Fate.KEPT) & (searched.fates[more] != Fate.KEPT)]
        found = np.concatenate((found, more))
        found = found[
            np.sort(np.unique(found, return_index=True)[1])
        ]  # in the order in which they were drawn
    return np.sort(found[:count])


def _upper(lost: int, sampled: int) -> float:
    """Return the largest share under which so few would be found with a probability of 5 %."""
    from scipy.special import betaincinv  # scipy.stats would take longer to import than the audit takes

    return 1.0 if lost == sampled else float(betaincinv(lost + 1, sampled - lost, _CONFIDENCE))
