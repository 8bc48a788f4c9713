"""The sieve: look at all candidates briefly, at the best of them longer, and so on, to a few thousand.

A fixed schedule, no promise: what looks bad at first is dropped. How much that loses is measured by an audit
(`symscreen.search.audit`), and it is little, because each round keeps far more than is wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion import Fate
from symscreen.search.glance import Glanced, glance, glance_at, most_columns
from symscreen.search.looks import look_at_pairs, look_at_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.response import Response
    from symscreen.screeners import Screener, Sign
    from symscreen.search.looks import Look

__all__ = ["Passed", "Round", "Wanted", "first_look", "restricted", "sieve"]

_FIRST = 256  # pairs or rows of the first round; four times as many in each that follows
_GROWTH = 4
_SHARE = 1.0 / 8.0  # of what a round looks at, how much it keeps
_PAIRS_A_ROW = 5  # up to so many times the rows of the table pairs cost less than a score over all of them
_TRIAL = 1 << 15  # candidates that tell where a round's limit lies


@dataclass(frozen=True, slots=True)
class Wanted:
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
    limit: int


@dataclass(frozen=True, slots=True)
class Round:
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
class Passed:
    """What came through.

    Parameters
    ----------
    numbers : int64 array, shape (k,), or None
        Candidates of the last layer, ascending; None where no round was run, and all are left.
    rounds : tuple of Round
    """

    numbers: NDArray[np.int64] | None
    rounds: tuple[Round, ...]


def restricted(space: Space, numbers: NDArray[np.int64]) -> Space:
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
    fates = np.where(space.fates == Fate.KEPT, np.uint8(Fate.CUT), space.fates)
    fates[numbers] = Fate.KEPT
    return replace(space, fates=fates)


def sieve(
    space: Space,
    response: Response,
    wanted: Wanted,
    *,
    enough: int,
    rng: np.random.Generator,
    backend: Backend,
) -> Passed:
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
    passed: Glanced | None = None
    rounds: list[Round] = []
    size, before = _FIRST, 0
    most = _PAIRS_A_ROW * response.n if wanted.screener.by_pairs else response.n - 1
    while size <= most:
        left = space.size - space.at_hand if passed is None else len(passed.numbers)
        if left <= 2 * enough:
            break
        look = _look(space, response, wanted, size, before=before, rng=rng)
        if look is not None:
            share = max(_SHARE, enough / left)
            if passed is None:
                limit = _limit(_trial(space, look, rng, backend), share)
                passed, seen = glance(space, look, limit, backend)
            else:
                told = glance_at(space, passed.numbers, look, backend)
                told = (
                    told + passed.told if wanted.screener.by_pairs else told
                )  # pairs add up, samples do not
                passed, seen, limit = _best(Glanced(passed.numbers, told), look, share)
            rounds.append(
                Round("pairs" if wanted.screener.by_pairs else "rows", size, seen, len(passed.numbers), limit)
            )
            before = size
        size *= _GROWTH
    return Passed(None if passed is None else passed.numbers, tuple(rounds))


def first_look(space: Space, response: Response, wanted: Wanted, rng: np.random.Generator) -> Look | None:
    """Return what a sieve looks at first, where the table has so many rows."""
    if not wanted.screener.by_pairs and response.n <= _FIRST:
        return None
    return _look(space, response, wanted, _FIRST, before=0, rng=rng)


def _look(
    space: Space, response: Response, wanted: Wanted, size: int, *, before: int, rng: np.random.Generator
) -> Look | None:
    if not wanted.screener.by_pairs:
        return look_at_rows(response, size, rng, wanted.screener, wanted.sign)
    most = most_columns(space) // 2 if before else size
    mirrored = wanted.sign == "free"
    return look_at_pairs(response, size - before, rng, mirrored=mirrored, most=most, before=before)


def _trial(space: Space, look: Look, rng: np.random.Generator, backend: Backend) -> NDArray[np.float64]:
    """Estimate the losses of some candidates drawn at random; the undefined left out."""
    drawn = np.unique(rng.integers(0, space.candidates.total, 2 * _TRIAL))
    drawn = drawn[space.fates[drawn] == Fate.KEPT]
    losses = look.settle(glance_at(space, drawn, look, backend))
    return losses[~np.isnan(losses)]


def _limit(losses: NDArray[np.float64], share: float) -> float:
    """Return the loss that a share of them does not exceed."""
    if not len(losses):
        return np.inf
    return float(np.quantile(losses, min(1.0, share), method="higher"))


def _best(glanced: Glanced, look: Look, share: float) -> tuple[Glanced, int, float]:
    losses = look.settle(glanced.told)
    limit = _limit(losses[~np.isnan(losses)], share)
    seen = int((~np.isnan(losses)).sum())
    with np.errstate(invalid="ignore"):
        return glanced.take(losses <= limit), seen, limit
