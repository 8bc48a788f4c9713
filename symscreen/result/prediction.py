"""The memory that a screen takes at its peak, predicted from its size alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symscreen.expansion import (
    block_bytes,
    bytes_of_orders,
    bytes_of_so_many,
    judging_bytes,
    resident,
    rows_per_block,
)
from symscreen.result.screened import kinds_shown
from symscreen.result.stream import with_margin

if TYPE_CHECKING:
    from symscreen.expansion import Outlook, Space
    from symscreen.result.screened import Request

__all__ = ["Prediction", "foretold", "orders_worth", "predicted", "scoring_bytes"]

_LIBRARIES = (
    240_000_000  # imported once features are scored, and compiled code: twice as much while it compiles
)
_JOINT_LIBRARIES = 120_000_000  # of joint screeners, beside these
_ENTRY, _SCORE = 100, 16  # a kept feature, and each of its scores
_COPIES = 4  # of a list while it is merged
_SHOWN = 1000  # a row of the result, with its formula
_VALUE = 8
_MERGED = 1.25  # a list's values while those equal to rounding are found
_COMPARED, _JUDGED = 2, 4  # copies of the values that are compared, or that joint screeners are shown
_ORDERED = 40  # bytes for each value that is computed again and ordered
_PLACED = _ORDERED << 22  # kept features computed and ordered again, some at a time
_TALLIED = 40_000_000  # the p-values of a space, counted
_SEARCHED = 160_000_000  # the pool at some rows, and what threads compute of it
_SEARCHED_CANDIDATE = 6


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a screen takes, in bytes; later parts take what earlier ones have given back.

    Parameters
    ----------
    held : int
        What the process holds now: the interpreter, its libraries, the table, the space so far.
    pool : int
        Values and metadata of the pool that the last layer is applied to.
    candidates : int
        A byte for each candidate of the last layer.
    judging : int
        While it is decided which candidates are worth computing.
    scoring : int
        While features are scored, settled and written down.
    orders : int
        The orders of the pool's rows, which are done without where they do not fit.
    """

    held: int
    pool: int
    candidates: int
    judging: int
    scoring: int
    orders: int = 0

    def peak(self, max_bytes: int | None = None) -> int:
        """Return the most that the process will have held, where it is allowed so much."""
        most = self.held + self.pool + self.candidates + max(self.judging, self.scoring)
        fuller = max(most, self.held + self.pool + self.candidates + self.orders + self.scoring)
        return fuller if max_bytes is None or fuller <= max_bytes else most


def predicted(space: Space, rows: int, request: Request, *, thin: bool = False) -> Prediction:
    """Predict the peak of a process that screens a space, the table read and nothing grown.

    Parameters
    ----------
    space : Space
        The space, counted by structure; with values, only what they take beside what is held is left to come.
    rows : int
        The rows of the table.
    request : Request
        What will be asked of it.
    thin : bool
        Whether the pool's values will be computed again rather than held.

    Returns
    -------
    Prediction
    """
    members, total = len(space.pool), space.candidates.total
    counted = space.rows == 0
    return Prediction(
        held=resident(),
        pool=members * (_VALUE * rows if counted and not thin else 0) + space.pool.bytes_with(0),
        candidates=total if counted else 0,
        judging=judging_bytes(total) - total + block_bytes(rows) if counted else 0,
        scoring=scoring_bytes(rows, request, features=space.size, candidates=total),
        orders=0 if thin else orders_worth(space, rows, request),
    )


def foretold(outlook: Outlook, rows: int, request: Request, *, thin: bool = False) -> Prediction:
    """Predict the same of a space of which only the size is known, exactly or roughly.

    Parameters
    ----------
    outlook : Outlook
        How large the space will be.
    rows, request, thin
        As of `predicted`.

    Returns
    -------
    Prediction
    """
    members, total = outlook.members, outlook.candidates
    worth = not thin and _orders_pay(request)
    return Prediction(
        held=resident(),
        pool=members * (0 if thin else _VALUE * rows) + outlook.pool_bytes,
        candidates=total,
        judging=judging_bytes(total) - total + block_bytes(rows),
        scoring=scoring_bytes(rows, request, features=outlook.features, candidates=total),
        orders=bytes_of_so_many(members, outlook.follow, rows) if worth else 0,
    )


def orders_worth(space: Space, rows: int, request: Request) -> int:
    """Say what the orders of the pool's rows take where they save time, in bytes; 0 where they do not.

    Parameters
    ----------
    space : Space
        With values or without.
    rows : int
        The rows of the table.
    request : Request
        What is asked of it; a search puts few features in order.

    Returns
    -------
    int
    """
    return bytes_of_orders(space, rows) if _orders_pay(request) else 0


def _orders_pay(request: Request) -> bool:
    ranks = any(one.blind_to == "ranks" for one in request.leaders)
    return ranks and request.search.mode == "exact"


def scoring_bytes(rows: int, request: Request, *, features: int | None = None, candidates: int = 0) -> int:
    """Predict what it takes to score a space, beside pool and candidates.

    Parameters
    ----------
    rows : int
        The rows of the table.
    request : Request
        What is asked.
    features : int, optional
        How many features the space has; by default more than any list keeps.
    candidates : int
        How many candidates its last layer has.

    Returns
    -------
    int
        Bytes.
    """
    entry = _ENTRY + _SCORE * len(request.screeners)
    lists = [request.limit, *(request.prescreen for _ in kinds_shown(request) for _ in request.leaders)]
    kept = sum(_kept(limit, features) for limit in lists)
    chunks = (2 * request.jobs + 1) * request.chunk_size * (1 if request.limit is None else 0)
    streaming = request.jobs * block_bytes(rows) + entry * (_COPIES * kept + chunks)
    if request.search.mode != "exact":
        streaming = max(streaming, _SEARCHED + _SEARCHED_CANDIDATE * candidates) + candidates
    shown = _kept(request.limit, features)
    streaming += _watching(rows, request)
    settling = entry * _COPIES * kept + shown * _SHOWN
    if request.limit is not None:
        settling += int(_MERGED * _VALUE * rows * shown)
    if kinds_shown(request):
        judged = _kept(request.prescreen, features)
        copies = (_JUDGED if request.joint else _COMPARED) * len(kinds_shown(request))
        settling += copies * _VALUE * rows * judged + min(_PLACED, _ORDERED * rows * max(judged, shown))
    libraries = _LIBRARIES + (_JOINT_LIBRARIES if request.joint else 0)
    return libraries + max(streaming, settling)


def _watching(rows: int, request: Request) -> int:
    """Predict what it takes to see every feature's p-value, and the best under permutations."""
    if request.control is None:
        return 0
    permutations = request.control.permutations
    block = rows_per_block(rows) * (rows + permutations) if permutations and rows else 0
    return _TALLIED + _VALUE * (rows * permutations + request.jobs * block)


def _kept(limit: int | None, features: int | None) -> int:
    """Return how many features a list keeps at most."""
    if limit is None:
        return features or 0
    return with_margin(limit) if features is None else min(features, with_margin(limit))
