"""A space: the features of the last pool, numbered, with the last layer left to be streamed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion.chunks import Block, blocks_at, blocks_of, rows_per_block
from symscreen.expansion.fates import Fate
from symscreen.expansion.nodes import Features, expression_of
from symscreen.expression import apply
from symscreen.once import once

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from symscreen.expansion.candidates import Candidates
    from symscreen.expansion.given import Given
    from symscreen.expansion.pool import Pool
    from symscreen.expression import Expression
    from symscreen.statistics.follow import Following
    from symscreen.statistics.room import Room

__all__ = ["LayerCount", "Space"]


_SPARSE = 16


@dataclass(frozen=True, slots=True)
class LayerCount:
    """What a layer made.

    Parameters
    ----------
    layer : int
        0 for the inputs, then 1, 2, …
    kind : str
        ``inputs``, ``u`` or ``b``.
    generated : int
        Candidates.
    pruned : dict of Fate to int
        How many were left out, by reason.
    features : int
        Features in the pool, or for the last layer in the space, after this layer.
    """

    layer: int
    kind: str
    generated: int
    pruned: dict[Fate, int]
    features: int


@dataclass(frozen=True, eq=False)
class Space:
    """All features of the last pool: those at hand, and the last layer's candidates.

    Features are numbered: first those of the older pool that belong to the space, then the formulas that the
    user gave, then the candidates.

    Parameters
    ----------
    pool : Pool
        What the last layer is applied to.
    base : int64 array, shape (b,)
        The places in the pool of the older features that belong to the space: all features of a cumulative
        pool, none of a strict one.
    given : Given
        The user's own formulas.
    candidates : Candidates
        The last layer.
    fates : uint8 array, shape (candidates.total,)
        What is known of each candidate before values are computed.
    counts : tuple of LayerCount
        One for the inputs and one for each layer. The last counts what structure and domains tell.
    ended_in : int or None
        The layer in which the time was over. It and those behind it are not in the space, which has no
        candidates then.
    """

    pool: Pool
    base: NDArray[np.int64]
    given: Given
    candidates: Candidates
    fates: NDArray[np.uint8]
    counts: tuple[LayerCount, ...]
    ended_in: int | None = None

    @property
    def rows(self) -> int:
        """How many rows each feature has; 0 while only counting."""
        return self.pool.rows

    @property
    def at_hand(self) -> int:
        """How many features come before the candidates."""
        return len(self.base) + len(self.given.expressions)

    @property
    def total(self) -> int:
        """How many numbers there are."""
        return self.at_hand + self.candidates.total

    @once
    def size(self) -> int:
        """How many features there are, undefined and constant ones of the last layer included."""
        return self.total - int(np.count_nonzero(self.fates))  # of the fates only `KEPT` is 0

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The numbers that are features, as far as structure and domains tell; shape (size,)."""
        new = self.at_hand + np.flatnonzero(self.fates == Fate.KEPT)
        return np.concatenate((np.arange(self.at_hand), new))

    def chunks(self, size: int) -> list[tuple[int, int]]:
        """Cut the numbers into ranges of so many, or where few are features, of so many features.

        The plan is the same for every backend.
        """
        if _SPARSE * self.size >= self.total:
            return [(start, min(start + size, self.total)) for start in range(0, self.total, size)]
        starts = [0, *self.numbers[size::size].tolist()]
        return list(zip(starts, [*starts[1:], self.total], strict=True))

    def blocks(self, start: int, stop: int, room: Room | None = None) -> Iterator[Block]:
        """Compute the features of a range of numbers, block by block, in order.

        In a room, the values of a block are overwritten by the next.
        """
        yield from self._blocks_at_hand(np.arange(start, min(stop, self.at_hand)))
        shift = self.at_hand
        first, last = max(start - shift, 0), max(stop - shift, 0)
        for block in blocks_of(self.candidates, self.pool, self.fates, first, last, room=room):
            yield replace(block, numbers=block.numbers + shift)

    def blocks_at(self, numbers: NDArray[np.int64]) -> Iterator[Block]:
        """Compute some features, block by block; their numbers must ascend."""
        shift = self.at_hand
        old = int(np.searchsorted(numbers, shift))
        yield from self._blocks_at_hand(numbers[:old])
        for block in blocks_at(self.candidates, self.pool, numbers[old:] - shift):
            yield replace(block, numbers=block.numbers + shift)

    def _blocks_at_hand(self, numbers: NDArray[np.int64]) -> Iterator[Block]:
        step = rows_per_block(max(1, self.rows))
        for first in range(0, len(numbers), step):
            some = numbers[first : first + step]
            yield Block(some, self._values_at_hand(some), {}, self._following_at_hand(some))

    def _following_at_hand(self, numbers: NDArray[np.int64]) -> Following | None:
        places = np.full(len(numbers), -1)
        old = numbers < len(self.base)
        places[old] = self.base[numbers[old]]
        return self.pool.following(places)

    def _values_at_hand(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        old = numbers[numbers < len(self.base)]
        given = numbers[numbers >= len(self.base)] - len(self.base)
        return np.concatenate((self.pool.computed(self.base[old]), self.given.values[given]))

    def expression(self, number: int) -> Expression:
        """Build the expression of a feature."""
        structure, nodes, members = self.pool.structure, self.pool.all_nodes, self.pool.members
        if number < len(self.base):
            return expression_of(structure, nodes, int(members[self.base[number]]))
        if number < self.at_hand:
            return self.given.expressions[number - len(self.base)]
        codes, left, right = self.candidates.locate(np.array([number - self.at_hand]))
        operator = structure.operators[codes[0]]
        places = left if operator.arity == 1 else (left[0], right[0])
        return apply(operator, *(expression_of(structure, nodes, int(members[place])) for place in places))

    def features(self, numbers: NDArray[np.int64]) -> Features:
        """Return the metadata of features, in the order of the numbers."""
        old, new = np.flatnonzero(numbers < self.at_hand), np.flatnonzero(numbers >= self.at_hand)
        located = self.candidates.locate(numbers[new] - self.at_hand)
        made = self.pool.applied(*located, layer=len(self.counts) - 1).features
        if not len(old):
            return made
        return self._at_hand.take(numbers[old]).joined(made).take(np.argsort(np.concatenate((old, new))))

    @once
    def _at_hand(self) -> Features:
        return self.pool.nodes.take(self.base).features.joined(self.given.features)

    def values(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Compute features' values again, shape (m, n); for the few that are kept, all of them of use."""
        out = np.empty((len(numbers), self.rows))
        order, done = np.argsort(numbers, kind="stable"), 0
        for block in self.blocks_at(numbers[order]):
            assert not any(block.lost.values())  # noqa: S101  # what was scored can be computed again
            out[order[done : done + len(block.numbers)]] = block.values
            done += len(block.numbers)
        return out
