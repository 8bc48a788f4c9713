"""Candidates at a few rows: computed without the rest, and read through a look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion import Fate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.search.looks import Look

    Numbers = NDArray[np.int64]
    Values = NDArray[np.float64]

__all__ = ["Glanced", "glance", "glance_at", "most_columns"]

_TASK = 1 << 15  # candidates a task, of all
_FEW = 1 << 12  # of those that are left, at many more rows
_POOL_BYTES = 1 << 26  # up to which the whole pool is held at the rows of a look
_PART_BYTES = 1 << 24  # of the members of a pool that are computed as they are needed


@dataclass(frozen=True, eq=False)
class Glanced:
    """What a look tells of some candidates.

    Parameters
    ----------
    numbers : int64 array, shape (k,)
        Their numbers in the layer, ascending.
    told : float64 array, shape (k,)
        What the look told of each, summed over its batches.
    """

    numbers: NDArray[np.int64]
    told: NDArray[np.float64]

    def take(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> Glanced:
        """Return some of them."""
        return Glanced(self.numbers[chosen], self.told[chosen])


def most_columns(space: Space) -> int:
    """Return at how many rows the whole pool can be held at a time."""
    return max(64, _POOL_BYTES // (8 * max(1, len(space.pool))))


def glance_at(space: Space, numbers: Numbers, look: Look, backend: Backend) -> Values:
    """Look at some candidates.

    Parameters
    ----------
    space : Space
        With values.
    numbers : int64 array, shape (k,)
        Candidates of its last layer, ascending.
    look : Look
        What to look at.
    backend : Backend
        Where candidates are computed.

    Returns
    -------
    float64 array, shape (k,)
        What the look tells, summed over its batches; NaN where a value is not finite. The same for every
        backend.
    """
    told = np.zeros(len(numbers))
    slices = [(start, min(start + _FEW, len(numbers))) for start in range(0, len(numbers), _FEW)]
    for rows in look.rows:
        seer = _seer(space, rows, look)

        def of_slice(part: tuple[int, int], seer: _Seer = seer) -> Values:
            return seer.told(numbers[part[0] : part[1]])

        for (start, stop), found in zip(slices, backend.map(of_slice, slices), strict=True):
            told[start:stop] += found
    return told


def glance(space: Space, look: Look, limit: float, backend: Backend) -> tuple[Glanced, int]:
    """Look at all candidates of a space, and keep those that look good enough.

    Parameters
    ----------
    space : Space
        With values.
    look : Look
        Of one batch.
    limit : float
        The largest loss that stays.
    backend : Backend
        Where candidates are computed.

    Returns
    -------
    Glanced
        Those that stay.
    int
        How many candidates were looked at and defined.
    """
    (rows,) = look.rows
    seer = _seer(space, rows, look)
    total = space.candidates.total

    def of_range(part: tuple[int, int]) -> tuple[Glanced, int]:
        numbers = part[0] + np.flatnonzero(space.fates[part[0] : part[1]] == Fate.KEPT)
        told = seer.told(numbers)
        with np.errstate(invalid="ignore"):
            stay = np.flatnonzero(look.settle(told) <= limit)
        return Glanced(numbers[stay], told[stay]), int((~np.isnan(told)).sum())

    ranges = [(start, min(start + _TASK, total)) for start in range(0, total, _TASK)]
    found = list(backend.map(of_range, ranges))
    numbers = [part.numbers for part, _ in found]
    told = [part.told for part, _ in found]
    none = np.zeros(0)
    kept = Glanced(np.concatenate([none.astype(np.int64), *numbers]), np.concatenate([none, *told]))
    return kept, sum(seen for _, seen in found)


@dataclass(frozen=True, eq=False)
class _Seer:
    """Computes candidates at some rows.

    Parameters
    ----------
    space : Space
        Where they come from.
    rows : int64 array, shape (m,)
        The rows.
    pool : float64 array, shape (q, m), or None
        The whole pool at these rows; None where that would be large, and is computed as it is needed.
    look : Look
        What reads them.
    """

    space: Space
    rows: Numbers
    pool: Values | None
    look: Look

    def told(self, numbers: Numbers) -> Values:
        """Return what the look tells of candidates, in their order."""
        parts = [np.zeros(0)]
        step = _TASK if self.pool is not None else max(16, _PART_BYTES // (16 * len(self.rows)))
        operators = self.space.pool.structure.operators
        for segment in self.space.candidates.segments:
            first, last = np.searchsorted(numbers, (segment.start, segment.start + segment.count)).tolist()
            for start in range(first, last, step):
                left, right = segment.decode(numbers[start : min(start + step, last)])
                pool = self.pool
                if pool is None:
                    places, which = np.unique(np.concatenate((left, right)), return_inverse=True)
                    pool = self.space.pool.at(self.rows, places)
                    left, right = which[: len(left)], which[len(left) :]
                parts.append(self.look.tell(operators[segment.code], pool, left, right))
        return np.concatenate(parts)


def _seer(space: Space, rows: Numbers, look: Look) -> _Seer:
    large = len(space.pool) * len(rows) * 8 > _POOL_BYTES
    return _Seer(space, rows, None if large else space.pool.at(rows), look)
