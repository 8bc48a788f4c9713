"""The features that models are made of: distinct up to an affine map, the simplest of each kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.once import once
from symscreen.result import best_of, simplest_of
from symscreen.statistics.signature import affine_signatures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.expression import Expression
    from symscreen.response.kinds import NumericResponse

__all__ = ["Dictionary", "dictionary_of", "empty_dictionary", "named"]


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Features for models, one an entry of each.

    Parameters
    ----------
    expressions : tuple of Expression, length q
    values : float64 array, shape (q, n)
    complexity : int64 array, shape (q,)
    rivals : float64 array, shape (q,)
        How many features there were to choose each from: what its choice costs, in nats, is the logarithm.
    keys : uint64 array, shape (q, 2)
        Canonical keys.
    constants : int64 array, shape (q,)
        How many numbers inside each were fitted to the response.
    """

    expressions: tuple[Expression, ...]
    values: NDArray[np.float64]
    complexity: NDArray[np.int64]
    rivals: NDArray[np.float64]
    keys: NDArray[np.uint64]
    constants: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.expressions)

    @once
    def kinds(self) -> NDArray[np.uint64]:
        """What affine copies have in common, shape (q,)."""
        return affine_signatures(self.values, mirrored=True)

    def with_new(self, more: Dictionary) -> tuple[Dictionary, NDArray[np.int64]]:
        """Add what is new of another dictionary over the same rows: to a model affine copies are one feature.

        Returns
        -------
        Dictionary
            What was there first, at its old places; a copy that is simpler takes the place of the older one.
        int64 array, shape (len(more),)
            The place of each of the others, or of the one that stands for it.
        """
        place_of = {kind: place for place, kind in enumerate(self.kinds.tolist())}
        places = np.empty(len(more), dtype=np.int64)
        stands = [(int(size), number) for number, size in enumerate(self.complexity)]
        for number, kind in enumerate(more.kinds.tolist()):
            one = (int(more.complexity[number]), len(self) + number)
            places[number] = place = place_of.setdefault(kind, len(stands))
            if place == len(stands):
                stands.append(one)
            else:
                stands[place] = min(stands[place], one)
        both = self.joined(more).take(np.array([number for _, number in stands], dtype=np.int64))
        # what was to choose from when a feature first came is what its choice costs
        both.rivals[: len(self)] = self.rivals
        return both, places

    def take(self, places: NDArray[np.int64]) -> Dictionary:
        """Return the features at some places."""
        return Dictionary(
            tuple(self.expressions[place] for place in places.tolist()),
            self.values[places],
            self.complexity[places],
            self.rivals[places],
            self.keys[places],
            self.constants[places],
        )

    def joined(self, more: Dictionary) -> Dictionary:
        """Put the features of another dictionary behind these, whatever they are."""
        return Dictionary(
            self.expressions + more.expressions,
            np.concatenate((self.values, more.values)),
            np.concatenate((self.complexity, more.complexity)),
            np.concatenate((self.rivals, more.rivals)),
            np.concatenate((self.keys, more.keys)),
            np.concatenate((self.constants, more.constants)),
        )


def empty_dictionary(rows: int) -> Dictionary:
    """Return a dictionary without features over so many rows."""
    none = np.empty(0, dtype=np.int64)
    return Dictionary((), np.empty((0, rows)), none, np.empty(0), np.empty((0, 2), dtype=np.uint64), none)


def named(space: Space, numbers: NDArray[np.int64], rivals: float) -> Dictionary:
    """Make a dictionary of some features of a space.

    Parameters
    ----------
    space : Space
        With values.
    numbers : int64 array, shape (q,)
        The features.
    rivals : float
        How many features they were chosen from.

    Returns
    -------
    Dictionary
    """
    features = space.features(numbers)
    return Dictionary(
        tuple(space.expression(number) for number in numbers.tolist()),
        space.values(numbers),
        features.complexity.astype(np.int64),
        np.full(len(numbers), rivals),
        features.keys,
        np.zeros(len(numbers), dtype=np.int64),
    )


def dictionary_of(space: Space, response: NumericResponse, limit: int, backend: Backend) -> Dictionary:
    """Choose the features of a space that models may be made of.

    Parameters
    ----------
    space : Space
        With values.
    response : Response or SeveralResponse
        The response.
    limit : int
        How many features at most: where there are more, the simplest; else all. Affine copies are merged.
    backend : Backend
        Where chunks are scored.

    Returns
    -------
    Dictionary
        The simplest first.
    """
    large = space.size > limit
    numbers = simplest_of(space, limit) if large else best_of(space, response, limit, backend)
    features = space.features(numbers)
    simple = np.lexsort((features.keys[:, 1], features.keys[:, 0], features.complexity))
    return named(space, numbers[simple], float(space.size))
