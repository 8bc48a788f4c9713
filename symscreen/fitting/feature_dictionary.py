"""The features that models are made of: distinct up to an affine map, the simplest of each kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.screening.scoring.streaming import find_simplest_features, find_top_features
from symscreen.statistics.ranks.sorted_block import compute_affine_signatures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.expressions.tree import Expression
    from symscreen.targets.registry import RegressionTarget


__all__ = ["TermDictionary", "build_dictionary", "make_empty_dictionary", "select_terms"]


@dataclass(frozen=True, eq=False)
class TermDictionary:
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
    search_sizes: NDArray[np.float64]
    keys: NDArray[np.uint64]
    n_constants: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.expressions)

    @lockfree_cached_property
    def signatures(self) -> NDArray[np.uint64]:
        """What affine copies have in common, shape (q,)."""
        return compute_affine_signatures(self.values, mirrored=True)

    def merge(self, other: TermDictionary) -> tuple[TermDictionary, NDArray[np.int64]]:
        """Add what is new of another dictionary over the same rows: to a model affine copies are one feature.

        Returns
        -------
        Dictionary
            What was there first, at its old places; a copy that is simpler takes the place of the older one.
        int64 array, shape (len(more),)
            The place of each of the others, or of the one that stands for it.
        """
        place_of = {kind: place for place, kind in enumerate(self.signatures.tolist())}
        places = np.empty(len(other), dtype=np.int64)
        stands = [(int(size), number) for number, size in enumerate(self.complexity)]
        for number, kind in enumerate(other.signatures.tolist()):
            one = (int(other.complexity[number]), len(self) + number)
            places[number] = place = place_of.setdefault(kind, len(stands))
            if place == len(stands):
                stands.append(one)
            else:
                stands[place] = min(stands[place], one)
        both = self.concatenate(other).take(np.array([number for _, number in stands], dtype=np.int64))
        # what was to choose from when a feature first came is what its choice costs
        both.search_sizes[: len(self)] = self.search_sizes
        return both, places

    def take(self, places: NDArray[np.int64]) -> TermDictionary:
        """Return the features at some places."""
        return TermDictionary(
            tuple(self.expressions[place] for place in places.tolist()),
            self.values[places],
            self.complexity[places],
            self.search_sizes[places],
            self.keys[places],
            self.n_constants[places],
        )

    def concatenate(self, other: TermDictionary) -> TermDictionary:
        """Put the features of another dictionary behind these, whatever they are."""
        return TermDictionary(
            self.expressions + other.expressions,
            np.concatenate((self.values, other.values)),
            np.concatenate((self.complexity, other.complexity)),
            np.concatenate((self.search_sizes, other.search_sizes)),
            np.concatenate((self.keys, other.keys)),
            np.concatenate((self.n_constants, other.n_constants)),
        )


def make_empty_dictionary(n_rows: int) -> TermDictionary:
    """Return a dictionary without features over so many rows."""
    none = np.empty(0, dtype=np.int64)
    return TermDictionary(
        (), np.empty((0, n_rows)), none, np.empty(0), np.empty((0, 2), dtype=np.uint64), none
    )


def build_dictionary(space: Space, numbers: NDArray[np.int64], search_size: float) -> TermDictionary:
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
    features = space.get_metadata(numbers)
    return TermDictionary(
        tuple(space.build_expression(number) for number in numbers.tolist()),
        space.compute_values(numbers),
        features.complexity.astype(np.int64),
        np.full(len(numbers), search_size),
        features.keys,
        np.zeros(len(numbers), dtype=np.int64),
    )


def select_terms(space: Space, target: RegressionTarget, limit: int, backend: Backend) -> TermDictionary:
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
    numbers = (
        find_simplest_features(space, limit) if large else find_top_features(space, target, limit, backend)
    )
    features = space.get_metadata(numbers)
    simple = np.lexsort((features.keys[:, 1], features.keys[:, 0], features.complexity))
    return build_dictionary(space, numbers[simple], float(space.size))
