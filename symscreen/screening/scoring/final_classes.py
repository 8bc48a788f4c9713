"""Finalize the lists of a stream: merge the classes of features that are equal up to rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion import rank_features
from symscreen.expansion.validity import compute_projection, find_projected_duplicates
from symscreen.screening.scoring.top_features import (
    build_merged_classes,
    find_representatives,
    merge_numeric_copies,
    select_best_classes,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.expansion import Space
    from symscreen.screening.scoring.block_scoring import TopKSpec
    from symscreen.screening.scoring.top_features import EquivalenceClasses, FeatureTable


MAX_COMPARED_VALUES = 1 << 22  # values of a list that are held at once while numeric copies are found


def add_margin(limit: int) -> int:
    """Return the number of classes to stream for `limit` final ones; numeric copies are merged afterwards."""
    return 2 * limit + 16


def finalize_features(features: FeatureTable, space: Space, limit: int) -> FeatureTable:
    """Finalize a streamed list: select the best classes and merge those that are equal up to rounding.

    Parameters
    ----------
    features : FeatureTable
        A list that was streamed with a margin, see `add_margin`.
    space : Space
        The space.
    limit : int
        Maximum number of classes to return.

    Returns
    -------
    FeatureTable
        Best first.
    """
    return _merge_numeric_duplicates(features, space, limit)[2]


def finalize_classes(
    features: FeatureTable, space: Space, limit: int, spec: TopKSpec
) -> tuple[FeatureTable, EquivalenceClasses]:
    """Finalize a streamed list, and return the signatures of its classes too.

    Parameters
    ----------
    features, space, limit
        See `finalize_features`.
    spec : TopKSpec
        How the list was streamed.

    Returns
    -------
    FeatureTable
        Best first.
    EquivalenceClasses
        All signatures that were merged into each entry.
    """
    classes, representatives, merged = _merge_numeric_duplicates(features, space, limit)
    return merged, build_merged_classes(
        classes, representatives, merged, spec.equivalence, mirrored=spec.mirrored
    )


def _merge_numeric_duplicates(
    features: FeatureTable, space: Space, limit: int
) -> tuple[FeatureTable, NDArray[np.int64], FeatureTable]:
    """Return the best classes with a margin, their representatives, and the best classes after merging."""
    features = select_best_classes(features, add_margin(limit)).take_first(add_margin(limit))
    if len(features) * space.n_rows <= MAX_COMPARED_VALUES:
        representatives = find_representatives(features, space.compute_values(features.number))
    else:
        representatives = find_streamed_representatives(features, space)
    return features, representatives, merge_numeric_copies(features, representatives).take_first(limit)


def find_streamed_representatives(features: FeatureTable, space: Space) -> NDArray[np.int64]:
    """Do what `find_representatives` does without holding the values of all features at once.

    Parameters
    ----------
    features : FeatureTable, length k
        The features.
    space : Space
        Their space.

    Returns
    -------
    int64 array, shape (k,)
        See `find_representatives`.
    """
    numbers = features.number
    step = max(1, MAX_COMPARED_VALUES // max(1, space.n_rows))
    projections = [
        compute_projection(space.compute_values(numbers[first : first + step]))
        for first in range(0, len(numbers), step)
    ]
    return find_projected_duplicates(
        np.concatenate([np.zeros(0), *projections]),
        lambda indices: space.compute_values(numbers[indices]),
        space.n_rows,
        rank_features(features.keys, features.complexity),
    )
