"""The features that models are built from: the simplest feature of each class of affine copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.expansion import sort_features
from symscreen.screening.scoring.best_features import find_simplest_features, find_top_features
from symscreen.statistics.ranks.sorted_block import compute_affine_signatures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.expressions.tree import Expression
    from symscreen.targets.registry import RegressionTarget


@dataclass(frozen=True, eq=False)
class TermDictionary:
    """Features for models, as parallel arrays.

    Parameters
    ----------
    expressions : tuple of Expression, length q
        The formulas.
    values : float64 array, shape (q, n)
        Values of the features.
    complexity : int64 array, shape (q,)
        Complexity of the features.
    search_sizes : float64 array, shape (q,)
        Number of features that each was chosen from. Its logarithm is the cost of the choice, in nats.
    keys : uint64 array, shape (q, 2)
        Canonical keys.
    n_constants : int64 array, shape (q,)
        Number of constants inside each feature that were fitted to the target.
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
        """Signatures that are equal for affine copies, shape (q,)."""
        return compute_affine_signatures(self.values, mirrored=True)  # a coefficient has either sign

    def merge(self, other: TermDictionary) -> tuple[TermDictionary, NDArray[np.int64]]:
        """Add the new features of another dictionary over the same rows; affine copies count as one feature.

        Parameters
        ----------
        other : TermDictionary
            The features to add.

        Returns
        -------
        TermDictionary
            The old features at their old indices, followed by new ones. A simpler copy replaces the older
            one.
        int64 array, shape (len(other),)
            Index of each feature of `other`, or of the copy that represents it.
        """
        index_by_signature = {signature: index for index, signature in enumerate(self.signatures.tolist())}
        indices = np.empty(len(other), dtype=np.int64)
        simplest = [(int(size), row) for row, size in enumerate(self.complexity)]
        for row, signature in enumerate(other.signatures.tolist()):
            entry = (int(other.complexity[row]), len(self) + row)
            indices[row] = index = index_by_signature.setdefault(signature, len(simplest))
            if index == len(simplest):
                simplest.append(entry)
            else:
                simplest[index] = min(simplest[index], entry)
        both = self.concatenate(other).take(np.array([row for _, row in simplest], dtype=np.int64))
        # the cost of a choice depends on the search in which the feature was first found
        both.search_sizes[: len(self)] = self.search_sizes
        return both, indices

    def take(self, indices: NDArray[np.int64]) -> TermDictionary:
        """Return the features at the given indices."""
        return TermDictionary(
            tuple(self.expressions[index] for index in indices.tolist()),
            self.values[indices],
            self.complexity[indices],
            self.search_sizes[indices],
            self.keys[indices],
            self.n_constants[indices],
        )

    def concatenate(self, other: TermDictionary) -> TermDictionary:
        """Append the features of another dictionary, including affine copies."""
        return TermDictionary(
            self.expressions + other.expressions,
            np.concatenate((self.values, other.values)),
            np.concatenate((self.complexity, other.complexity)),
            np.concatenate((self.search_sizes, other.search_sizes)),
            np.concatenate((self.keys, other.keys)),
            np.concatenate((self.n_constants, other.n_constants)),
        )


def make_empty_dictionary(n_rows: int) -> TermDictionary:
    """Return a dictionary without features for the given number of rows."""
    empty = np.empty(0, dtype=np.int64)
    return TermDictionary(
        (), np.empty((0, n_rows)), empty, np.empty(0), np.empty((0, 2), dtype=np.uint64), empty
    )


def build_dictionary(space: Space, numbers: NDArray[np.int64], search_size: float) -> TermDictionary:
    """Build a dictionary from features of a space.

    Parameters
    ----------
    space : Space
        A space with values.
    numbers : int64 array, shape (q,)
        Feature numbers.
    search_size : float
        Number of features that they were chosen from.

    Returns
    -------
    TermDictionary
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
    """Select the features of a space that models may be built from.

    Parameters
    ----------
    space : Space
        A space with values.
    target : NumericTarget or MultiOutputTarget
        The target.
    limit : int
        Maximum number of features. If the space has more, the simplest are selected. Otherwise all are
        selected, and affine copies are merged.
    backend : Backend
        Where chunks are scored.

    Returns
    -------
    TermDictionary
        Simplest features first.
    """
    exceeds_limit = space.size > limit
    numbers = (
        find_simplest_features(space, limit)
        if exceeds_limit
        else find_top_features(space, target, limit, backend)
    )
    features = space.get_metadata(numbers)
    order = sort_features(features.keys, features.complexity)
    return build_dictionary(space, numbers[order], float(space.size))
