"""Candidates to values: the layer in numbered chunks, each evaluated in blocks that fit the cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion.fates import Fate
from symscreen.expansion.prune import only_rounding, sift_by_ends
from symscreen.statistics.arithmetic import FOUR, combine
from symscreen.statistics.bounds import bounds
from symscreen.statistics.room import Room

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from symscreen.expansion.candidates import Candidates, Segment
    from symscreen.expansion.pool import Pool
    from symscreen.grammar import Operator
    from symscreen.statistics.follow import Following

__all__ = ["Block", "block_bytes", "blocks_at", "blocks_of", "rows_per_block"]

_BLOCK_BYTES = 1 << 21  # fewer make threads wait for the interpreter; more do not fit the cache of a core
_FEWEST = 4  # features in a block of very many rows
_BYTES_A_VALUE = 80  # of a block: its arguments, its values, their order, ranks and keys


@dataclass(frozen=True, eq=False)
class Block:
    """Some candidates with their values.

    Parameters
    ----------
    numbers : int64 array, shape (m,)
        The candidates.
    values : float64 array, shape (m, n)
        Finite and not constant.
    lost : dict of Fate to int
        How many candidates beside these turned out undefined or constant.
    following : Following or None
        The members of the pool whose order they may follow, where that is known.
    """

    numbers: NDArray[np.int64]
    values: NDArray[np.float64]
    lost: dict[Fate, int]
    following: Following | None = None


def rows_per_block(n: int) -> int:
    """Return how many features of n rows are computed at a time: about two megabytes of values."""
    return max(_FEWEST, _BLOCK_BYTES // (8 * n))


def block_bytes(n: int) -> int:
    """Predict the memory that one thread takes to compute and to order a block, in bytes."""
    return 0 if n == 0 else _BYTES_A_VALUE * n * rows_per_block(n)


def blocks_of(
    candidates: Candidates,
    pool: Pool,
    fates: NDArray[np.uint8],
    start: int,
    stop: int,
    *,
    room: Room | None = None,
) -> Iterator[Block]:
    """Evaluate the kept candidates of a range, block by block.

    Parameters
    ----------
    candidates : Candidates
        The layer.
    pool : Pool
        The pool it is applied to, with values.
    fates : uint8 array, shape (candidates.total,)
        What `judge` decided.
    start, stop : int
        The range of numbers.
    room : Room, optional
        Where values are put; those of a block are overwritten by the next.

    Yields
    ------
    Block
        In the order of the numbers. A feature's values do not depend on the block it is in.
    """
    for segment, first, last in candidates.parts(start, stop):
        yield from _blocks(segment, pool, first + np.flatnonzero(fates[first:last] == Fate.KEPT), room)


def blocks_at(candidates: Candidates, pool: Pool, numbers: NDArray[np.int64]) -> Iterator[Block]:
    """Evaluate some candidates, block by block.

    Parameters
    ----------
    candidates, pool
        As of `blocks_of`.
    numbers : int64 array, ascending
        The candidates.

    Yields
    ------
    Block
        In the order of the numbers.
    """
    for segment in candidates.segments:
        first, last = np.searchsorted(numbers, (segment.start, segment.start + segment.count))
        yield from _blocks(segment, pool, numbers[first:last], None)


def _blocks(segment: Segment, pool: Pool, numbers: NDArray[np.int64], room: Room | None) -> Iterator[Block]:
    rows = rows_per_block(pool.rows)
    operator = pool.structure.operators[segment.code]
    for place in range(0, len(numbers), rows):
        some = numbers[place : place + rows]
        yield _evaluate(operator, segment, pool, some, Room() if room is None else room)


def _evaluate(
    operator: Operator, segment: Segment, pool: Pool, numbers: NDArray[np.int64], room: Room
) -> Block:
    left, right = segment.decode(numbers)
    held, first, second = pool.operands(left, right)
    values, low, high = _values(operator, held, first, second, room)
    good, suspect = room.empty("good", low.shape, np.bool_), room.empty("suspect", low.shape, np.bool_)
    size = np.maximum(pool.scale[left], pool.scale[right]) if operator.cancels else low
    undefined, still, suspects = sift_by_ends(low, high, size, operator.cancels, good, suspect)
    if suspects:
        places = np.flatnonzero(suspect)
        a, b = held[first[places]], held[second[places]]
        noise = only_rounding(values[places], np.maximum(np.abs(a), np.abs(b)))
        good[places[noise]] = False
        still += int(noise.sum())
    lost = {Fate.UNDEFINED: undefined, Fate.CONSTANT: still}
    if undefined or still:
        numbers, left, values = numbers[good], left[good], values[good]
    return Block(numbers, values, lost, pool.following(left, operator))


def _values(
    operator: Operator,
    held: NDArray[np.float64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    room: Room,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Apply an operator to rows of values; return the new ones, the least and the largest of each."""
    low, high = room.empty("least", left.shape, np.float64), room.empty("largest", left.shape, np.float64)
    columns = [
        room.empty(f"argument {place}", (len(left), held.shape[1]), np.float64)
        for place in range(operator.arity)
    ]
    numeric = operator.numeric
    if isinstance(numeric, np.ufunc) and numeric in FOUR:
        combine(numeric, held, (left, right), columns[0], (low, high))
        return columns[0], low, high
    for column, places in zip(columns, (left, right), strict=False):
        np.take(held, places, axis=0, out=column, mode="clip")  # the default would copy once more
    with np.errstate(all="ignore"):
        if isinstance(numeric, np.ufunc):
            values = numeric(*columns, out=columns[0])
        else:
            values = np.ascontiguousarray(numeric(*columns), dtype=np.float64)
    bounds(values, low, high)
    return values, low, high
