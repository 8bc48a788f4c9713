"""Candidates to values: the layer in numbered chunks, each evaluated in blocks that fit the cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion.fates import Fate
from symscreen.expansion.prune import constant, only_rounding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from symscreen.expansion.candidates import Candidates, Segment
    from symscreen.expansion.pool import Pool
    from symscreen.grammar import Operator

__all__ = ["Block", "blocks_at", "blocks_of", "rows_per_block"]

_BLOCK_BYTES = 1 << 20
_FEWEST, _FEWEST_THIN = 16, 4


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
    """

    numbers: NDArray[np.int64]
    values: NDArray[np.float64]
    lost: dict[Fate, int]


def rows_per_block(n: int, *, thin: bool = False) -> int:
    """Return how many features of n rows are computed at a time: about a megabyte of values.

    Long columns are computed by sixteen, or by four where what they are made of is computed beside them.
    """
    return max(_FEWEST_THIN if thin else _FEWEST, _BLOCK_BYTES // (8 * n))


def blocks_of(
    candidates: Candidates, pool: Pool, fates: NDArray[np.uint8], start: int, stop: int
) -> Iterator[Block]:
    """Evaluate the kept candidates of a range, block by block.

    Parameters
    ----------
    candidates : Candidates
        The layer.
    pool : Pool
        The pool it is applied to; not one that only counts.
    fates : uint8 array, shape (candidates.total,)
        What `judge` decided.
    start, stop : int
        The range of numbers.

    Yields
    ------
    Block
        In the order of the numbers. A feature's values do not depend on the block it is in.
    """
    for segment, first, last in candidates.parts(start, stop):
        yield from _blocks(segment, pool, first + np.flatnonzero(fates[first:last] == Fate.KEPT))


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
        yield from _blocks(segment, pool, numbers[first:last])


def _blocks(segment: Segment, pool: Pool, numbers: NDArray[np.int64]) -> Iterator[Block]:
    rows = rows_per_block(pool.rows, thin=pool.thin)
    operator = pool.structure.operators[segment.code]
    for place in range(0, len(numbers), rows):
        yield _evaluate(operator, segment, pool, numbers[place : place + rows])


def _evaluate(operator: Operator, segment: Segment, pool: Pool, numbers: NDArray[np.int64]) -> Block:
    left, right = segment.decode(numbers)
    held, first, second = pool.operands(left, right)
    with np.errstate(all="ignore"):
        if operator.arity == 1:
            values = operator.numeric(held[first])
        else:
            values = operator.numeric(held[first], held[second])
        low, high = values.min(axis=1), values.max(axis=1)
        finite = np.isfinite(low) & np.isfinite(high)
        still = finite & constant(low, high, np.maximum(np.abs(low), np.abs(high)))
        if operator.cancels:
            suspect = np.flatnonzero(
                finite & ~still & constant(low, high, np.maximum(pool.scale[left], pool.scale[right]))
            )
            a, b = held[first[suspect]], held[second[suspect]]
            still[suspect] = only_rounding(values[suspect], np.maximum(np.abs(a), np.abs(b)))
    good = finite & ~still
    lost = {Fate.UNDEFINED: int((~finite).sum()), Fate.CONSTANT: int(still.sum())}
    if not good.all():
        numbers, values = numbers[good], values[good]
    return Block(numbers, values, lost)
