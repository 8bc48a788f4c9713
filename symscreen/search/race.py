"""The race: features drop out when pairs of rows show, at a stated risk, that they are not among the best.

First a sieve finds good features, and these are scored exactly: their losses say what must be beaten. Then
all features are looked at, at as few pairs of rows as can exclude a feature that knows nothing of the
response; at twice as many those that are left; and so on (`symscreen.search.bound` has the bound).

A loss to beat that is taken from exact scores can only be too large, never too small, whatever pairs chose
the features. So a class that belongs to the best is lost with a probability of at most risk / (classes ·
rounds) in each round, and any of them at most with the risk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion import Fate
from symscreen.search.bound import fewest_discordant, log_odds_of_loss
from symscreen.search.glance import Glanced, glance, glance_at, most_columns
from symscreen.search.looks import look_at_pairs
from symscreen.search.sieve import Passed, Round, sieve
from symscreen.statistics.order import order_features
from symscreen.statistics.signature import rank_signatures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.response import Response
    from symscreen.search.sieve import Wanted

__all__ = ["MOST_ROUNDS", "race", "race_against"]

_FIRST = 32  # pairs
MOST_ROUNDS = 14
_SCOUTS = 512
_PER_WANTED = 4
_FEW = 1 << 14  # features that are all scored to say what must be beaten
_PAYS = 0.92  # of the loss expected by chance: a limit below it excludes most of what knows nothing
_ROWS_A_PAIR = 2  # a pair more costs about as much as so many rows of an exact score
_SLACK = 1e-9  # losses are rounded


def race(
    space: Space,
    response: Response,
    wanted: Wanted,
    *,
    risk: float,
    rng: np.random.Generator,
    backend: Backend,
) -> Passed:
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
    scouts = sieve(
        space, response, wanted, enough=max(_SCOUTS, _PER_WANTED * wanted.limit), rng=rng, backend=backend
    )
    numbers = scouts.numbers
    if numbers is None:
        if space.size > _FEW:
            return Passed(None, ())  # the table has too few rows for a look to cost less than a score
        numbers = np.flatnonzero(space.fates == Fate.KEPT)
    beat = _loss_to_beat(space, numbers, response, wanted)
    log_odds = log_odds_of_loss(risk, classes=wanted.limit, rounds=MOST_ROUNDS)
    return race_against(space, response, wanted, beat=beat, log_odds=log_odds, rng=rng, backend=backend)


def race_against(
    space: Space,
    response: Response,
    wanted: Wanted,
    *,
    beat: float,
    log_odds: float,
    rng: np.random.Generator,
    backend: Backend,
) -> Passed:
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
        After at most `MOST_ROUNDS` rounds; none where no affordable number of pairs excludes a feature that
        knows nothing of the response.
    """
    mirrored, most = wanted.sign == "free", most_columns(space) // 2
    affordable = response.n // _ROWS_A_PAIR
    pairs = _first_round(beat, log_odds)
    if pairs > min(2 * most, affordable):
        return Passed(None, ())
    look = look_at_pairs(response, pairs, rng, mirrored=mirrored, most=pairs)
    limit = _limit(pairs, beat, log_odds)
    passed, seen = glance(space, look, limit, backend)
    rounds = [Round("pairs", pairs, seen, len(passed.numbers), limit)]
    while len(passed.numbers) > wanted.limit and 2 * pairs <= affordable and len(rounds) < MOST_ROUNDS:
        look = look_at_pairs(response, pairs, rng, mirrored=mirrored, most=most, before=pairs)
        told = passed.told + glance_at(space, passed.numbers, look, backend)
        pairs = look.size
        limit = _limit(pairs, beat, log_odds)
        seen = int((~np.isnan(told)).sum())
        with np.errstate(invalid="ignore"):
            passed = Glanced(passed.numbers, told).take(look.settle(told) <= limit)
        rounds.append(Round("pairs", pairs, seen, len(passed.numbers), limit))
    return Passed(passed.numbers, tuple(rounds))


def _first_round(beat: float, log_odds: float) -> int:
    """Return the fewest pairs that exclude most features that know nothing of the response."""
    pairs = _FIRST
    while pairs < 1 << 30 and _limit(pairs, beat, log_odds) > _PAYS:
        pairs *= 2
    return pairs


def _limit(pairs: int, beat: float, log_odds: float) -> float:
    """Return the largest estimate of T0/Δ that does not exclude a feature; the chance of one is T0/(2Δ)."""
    return (fewest_discordant(pairs, min(1.0, beat / 2.0), log_odds) - 1) / pairs


def _loss_to_beat(space: Space, scouts: NDArray[np.int64], response: Response, wanted: Wanted) -> float:
    """Return the loss of the last wanted class among the scouts, which is at least its loss in the space."""
    losses, classes = [np.zeros(0)], [np.zeros(0, dtype=np.uint64)]
    for block in space.blocks_at(space.at_hand + scouts):
        if len(block.numbers):
            ordered = order_features(block.values)
            statistics = wanted.screener.statistic(ordered, response)
            losses.append(wanted.screener.loss(statistics, response, wanted.sign))
            classes.append(rank_signatures(ordered, mirrored=wanted.sign == "free"))
    _, first = np.unique(np.concatenate(classes), return_index=True)
    found = np.sort(np.concatenate(losses)[first])
    return float(found[wanted.limit - 1] + _SLACK) if len(found) >= wanted.limit else np.inf
