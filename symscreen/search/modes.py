"""A search of a space: which features are left to be scored over all rows, and what the record tells."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from symscreen.search.audit import audit
from symscreen.search.race import race
from symscreen.search.sieve import Wanted, restricted, sieve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.response import Response

__all__ = ["EXACT", "Mode", "Search", "Searched", "audited", "fewest_left", "searched"]

Mode = Literal["exact", "race", "sieve"]

_FEWEST = 2048  # what a sieve leaves at least
_PER_WANTED = 32
_SEARCH, _AUDIT = 1, 2  # streams of random numbers
_EMPTY = "p- and q-values need every feature's score, and most features were dropped on some rows"


@dataclass(frozen=True, slots=True)
class Search:
    """How a space is searched.

    Parameters
    ----------
    mode : {"exact", "race", "sieve"}
        Score every feature over all rows; or drop features that some rows show, at a stated risk, not to be
        among the best; or keep a generous share of the best in each of a few rounds.
    risk : float
        Of a race: the probability allowed that any of the best is lost, in (0, 1).
    """

    mode: Mode = "exact"
    risk: float = 1e-6


EXACT = Search()


@dataclass(frozen=True, eq=False)
class Searched:
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


def searched(
    space: Space,
    response: Response,
    wanted: Sequence[Wanted],
    search: Search,
    *,
    seed: int,
    backend: Backend,
) -> Searched:
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
    rng = np.random.default_rng([seed, _SEARCH])
    survivors = np.zeros(0, dtype=np.int64)
    rounds = []
    everyone = False
    for one in wanted:
        if search.mode == "race":
            passed = race(space, response, one, risk=search.risk / len(wanted), rng=rng, backend=backend)
        else:
            passed = sieve(space, response, one, enough=fewest_left(one), rng=rng, backend=backend)
        everyone |= passed.numbers is None
        if passed.numbers is not None:
            survivors = np.union1d(survivors, passed.numbers)
        rounds += [{"screener": one.screener.name, **asdict(each)} for each in passed.rounds]
    left = space if everyone else restricted(space, survivors)
    record: dict[str, Any] = {"mode": search.mode}
    if search.mode == "race":
        record["risk"] = search.risk
    record |= {"features": space.size, "survivors": left.size, "rounds": rounds}
    if left.size < space.size:
        record["p_values"] = _EMPTY
    return Searched(left, record)


def fewest_left(wanted: Wanted) -> int:
    """Return how many features a sieve leaves at least."""
    return max(_FEWEST, _PER_WANTED * wanted.limit)


def audited(
    space: Space,
    found: Searched,
    response: Response,
    wanted: Wanted,
    *,
    loss: float,
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
    rng = np.random.default_rng([seed, _AUDIT])
    return asdict(audit(space, found.space, response, wanted, loss=loss, rng=rng, backend=backend))
