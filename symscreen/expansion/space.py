"""A space: the features of the last pool, numbered, with the last layer left to be streamed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion.chunks import Block, blocks_of, rows_per_block
from symscreen.expansion.fates import Fate
from symscreen.expansion.nodes import Features, expression_of
from symscreen.expression import apply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from symscreen.expansion.candidates import Candidates
    from symscreen.expansion.given import Given
    from symscreen.expansion.pool import Pool
    from symscreen.expression import Expression
    from symscreen.statistics.room import Room

__all__ = ["LayerCount", "Space"]


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
    """

    pool: Pool
    base: NDArray[np.int64]
    given: Given
    candidates: Candidates
    fates: NDArray[np.uint8]
    counts: tuple[LayerCount, ...]

    @property
    def rows(self) -> int:
        """How many rows each feature has; 0 while only counting."""
        return 0 if self.pool.values is None else int(self.pool.values.shape[1])

    @property
    def at_hand(self) -> int:
        """How many features come before the candidates."""
        return len(self.base) + len(self.given.expressions)

    @property
    def total(self) -> int:
        """How many numbers there are."""
        return self.at_hand + self.candidates.total

    @cached_property
    def size(self) -> int:
        """How many features there are, undefined and constant ones of the last layer included."""
        return self.at_hand + int((self.fates == Fate.KEPT).sum())

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The numbers that are features, as far as structure and domains tell; shape (size,)."""
        new = self.at_hand + np.flatnonzero(self.fates == Fate.KEPT)
        return np.concatenate((np.arange(self.at_hand), new))

    def chunks(self, size: int) -> list[tuple[int, int]]:
        """Cut the numbers into ranges of a size; the plan is the same for every backend."""
        return [(start, min(start + size, self.total)) for start in range(0, self.total, size)]

    def blocks(self, start: int, stop: int, room: Room | None = None) -> Iterator[Block]:
        """Compute the features of a range of numbers, block by block, in order.

        In a room, the values of a block are overwritten by the next.
        """
        assert self.pool.values is not None  # noqa: S101  # a space to be scored has values
        rows = rows_per_block(self.pool.values.shape[1])
        for first in range(start, min(stop, self.at_hand), rows):
            numbers = np.arange(first, min(first + rows, stop, self.at_hand))
            yield Block(numbers, self._values_at_hand(numbers), {})
        shift = self.at_hand
        first, last = max(start - shift, 0), max(stop - shift, 0)
        for block in blocks_of(self.candidates, self.pool, self.fates, first, last, room=room):
            yield Block(block.numbers + shift, block.values, block.lost)

    def _values_at_hand(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        assert self.pool.values is not None  # noqa: S101  # as above
        old = numbers[numbers < len(self.base)]
        given = numbers[numbers >= len(self.base)] - len(self.base)
        return np.concatenate((self.pool.values[self.base[old]], self.given.values[given]))

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

    @cached_property
    def _at_hand(self) -> Features:
        return self.pool.nodes.take(self.base).features.joined(self.given.features)

    def values(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Compute features' values again, shape (m, n); for the few that are kept."""
        assert self.pool.values is not None  # noqa: S101  # as above
        out = np.empty((len(numbers), self.pool.values.shape[1]))
        for place, number in enumerate(numbers.tolist()):
            out[place] = next(self.blocks(number, number + 1)).values[0]
        return out
