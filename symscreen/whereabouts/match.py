"""Which feature of a space a formula is: by its canonical key, else by its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion import Fate
from symscreen.expansion.prune import equal_to_rounding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.expansion.candidates import Segment

    Numbers = NDArray[np.int64]

__all__ = ["ByKey", "by_key", "by_values", "simplest_in"]

_TOGETHER = 1 << 17  # candidates whose keys are worked out together
_COPY = 1e-9  # of the range: two affine copies agree to about 1e-15


@dataclass(frozen=True, eq=False)
class ByKey:
    """The candidates and features of a space that are equal to a formula by algebra.

    Parameters
    ----------
    kept : int64 array, shape (k,)
        Those that are features, as far as structure and domains tell: one at most, or a feature at hand and
        none; their numbers.
    pruned : int64 array, shape (p,)
        Candidates left out; their numbers in the space.
    """

    kept: Numbers
    pruned: Numbers


@dataclass(frozen=True, eq=False)
class _Keys:
    """Finds a key among the candidates of a range of one operator."""

    space: Space
    own: NDArray[np.uint64]

    def __call__(self, task: tuple[Segment, int, int]) -> Numbers:
        """Return candidates' numbers in the space."""
        segment, first, stop = task
        numbers = np.arange(first, stop)
        pool, operator = self.space.pool, self.space.pool.structure.operators[segment.code]
        places = segment.decode(numbers)[: operator.arity]
        keys = operator.key(*(pool.nodes.keys.take(place, axis=0) for place in places))
        found: Numbers = self.space.at_hand + numbers[(keys == self.own).all(axis=1)]
        return found


def by_key(space: Space, own: tuple[int, int], backend: Backend) -> ByKey:
    """Look a canonical key up in a space, candidates that were left out included.

    Parameters
    ----------
    space : Space
        The space.
    own : pair of int
        What `symscreen.expression.key` says of the formula.
    backend : Backend
        Where keys are worked out.

    Returns
    -------
    ByKey
    """
    key = np.array(own, dtype=np.uint64)
    at_hand = np.arange(space.at_hand)
    found = [at_hand[(space.features(at_hand).keys == key).all(axis=1)]]
    tasks = [
        (segment, first, min(first + _TOGETHER, segment.start + segment.count))
        for segment in space.candidates.segments
        for first in range(segment.start, segment.start + segment.count, _TOGETHER)
    ]
    found += backend.map(_Keys(space, key), tasks)
    numbers = np.concatenate(found)
    new = np.maximum(numbers - space.at_hand, 0)
    kept = numbers < space.at_hand
    if len(space.fates):
        kept |= space.fates[new] == Fate.KEPT
    return ByKey(numbers[kept], numbers[~kept])


@dataclass(frozen=True, eq=False)
class _Twins:
    """Finds, in a range, features with some values, and affine copies of them."""

    space: Space
    values: NDArray[np.float64]

    def __call__(self, chunk: tuple[int, int]) -> tuple[Numbers, Numbers]:
        """Return the numbers of both."""
        low, high, middle = _three_rows(self.values)
        wanted = (self.values[middle] - self.values[low]) / (self.values[high] - self.values[low])
        none = np.zeros(0, dtype=np.int64)
        equal, copies = [none], [none]
        for block in self.space.blocks(*chunk):
            first, last, between = (block.values[:, row] for row in (low, high, middle))
            with np.errstate(all="ignore"):
                near = np.abs((between - first) / (last - first) - wanted) <= 1e-6
            near |= np.abs(last - self.values[high]) <= _COPY * np.abs(self.values[high])
            places = np.flatnonzero(near)
            some = block.values[places]
            same = equal_to_rounding(some, np.broadcast_to(self.values, some.shape))
            equal.append(block.numbers[places[same]])
            copies.append(block.numbers[places[~same & _affine(some, self.values, low, high)]])
        return np.concatenate(equal), np.concatenate(copies)


def _three_rows(values: NDArray[np.float64]) -> tuple[int, int, int]:
    """Choose a row with the least value, one with the largest, and one that is far from both."""
    low, high = int(values.argmin()), int(values.argmax())
    far = np.minimum(values - values[low], values[high] - values)
    return low, high, int(far.argmax())


def _affine(some: NDArray[np.float64], values: NDArray[np.float64], low: int, high: int) -> NDArray[np.bool_]:
    """Say which features are a·z + b of some values z, a not 0."""
    span = values[high] - values[low]
    with np.errstate(all="ignore"):
        slope = span / (some[:, high] - some[:, low])
        fitted = slope[:, None] * (some - some[:, low : low + 1]) + values[low]
        gap = np.abs(fitted - values).max(axis=1)
    return np.asarray(gap <= _COPY * span)


def by_values(
    space: Space, values: NDArray[np.float64], backend: Backend, chunk_size: int
) -> tuple[Numbers, Numbers]:
    """Look values up in a space.

    Parameters
    ----------
    space : Space
        The space, with values.
    values : float64 array, shape (n,)
        Finite and not constant.
    backend : Backend
        Where features are computed.
    chunk_size : int
        Candidates a task.

    Returns
    -------
    equal, copies : int64 arrays
        The numbers of the features that are equal to them up to rounding, and of those that differ by a
        factor and an offset.
    """
    none = np.zeros(0, dtype=np.int64)
    found = [(none, none), *backend.map(_Twins(space, values), space.chunks(chunk_size))]
    equal, copies = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return equal, copies


def simplest_in(space: Space, numbers: Numbers) -> int:
    """Choose the simplest of some features, of equally simple ones the first by canonical key."""
    features = space.features(numbers)
    return int(numbers[np.lexsort((features.keys[:, 1], features.keys[:, 0], features.complexity))[0]])
