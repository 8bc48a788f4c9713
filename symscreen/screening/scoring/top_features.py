"""The features kept while a space streams by, and the one order in which they stand.

Features are ordered by the loss of the first screener. Features that it cannot tell apart (the same ranks, or
affine copies) form a class; inside a class the order is |Pearson's correlation| with the response (of
rankings and stages: its mean over pairs, `symscreen.statistics.ranks.correlations`), then complexity, then
rising before falling, then the canonical key. A class stands where its best member stands. The order is
total, so it does not depend on how the space was cut into chunks.

The classes of a ranking: features that its first screener cannot tell apart, recognised by signatures.

Of the features kept, those equal up to rounding are one; the simplest stands for them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from symscreen.expansion import find_numeric_duplicates
from symscreen.statistics.ranks.sorted_block import compute_affine_signatures, compute_rank_signatures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.statistics.ranks.sorted_block import SortedBlock


__all__ = [
    "MAX_TIED_CLASSES",
    "EquivalenceClasses",
    "EquivalenceKind",
    "FeatureTable",
    "build_all_classes",
    "build_merged_classes",
    "compute_signatures",
    "concatenate_features",
    "find_representatives",
    "make_empty_features",
    "merge_classes_if_due",
    "merge_numeric_copies",
    "merge_rankings",
    "rank_all_features",
    "round_sort_keys",
    "select_best_classes",
]

MAX_TIED_CLASSES = 1 << 20  # classes that tie with the last one, at most


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Features, one an entry of every array.

    Parameters
    ----------
    number : int64 array, shape (k,)
        The features' numbers in their space.
    loss : float64 array, shape (k,)
        What they are ordered by, ascending.
    signature : uint64 array, shape (k,)
        The class of each.
    pearson : float64 array, shape (k,)
        |Pearson's correlation| with the response.
    complexity : int32 array, shape (k,)
    direction : int8 array, shape (k,)
        +1, −1 or 0.
    keys : uint64 array, shape (k, 2)
        Canonical keys.
    class_size : int64 array, shape (k,)
        How many features of the space are in the class.
    scores : float64 array, shape (k, screeners)
        The raw scores, a column for each screener.
    """

    number: NDArray[np.int64]
    loss: NDArray[np.float64]
    signature: NDArray[np.uint64]
    pearson: NDArray[np.float64]
    complexity: NDArray[np.int32]
    direction: NDArray[np.int8]
    keys: NDArray[np.uint64]
    class_size: NDArray[np.int64]
    scores: NDArray[np.float64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", round_sort_keys(self.loss))
        object.__setattr__(self, "pearson", round_sort_keys(self.pearson))

    def __len__(self) -> int:
        return len(self.number)

    def take(self, indices: NDArray[np.int64]) -> FeatureTable:
        """Return the features at some places."""
        return FeatureTable(*(getattr(self, field.name)[indices] for field in fields(self)))

    def take_first(self, limit: int) -> FeatureTable:
        """Return at most the first so many."""
        return self.take(np.arange(min(limit, len(self))))

    def compute_member_order(self) -> NDArray[np.int64]:
        """Return the places in the order that members of one class have among themselves, loss first."""
        return np.lexsort(
            (self.keys[:, 1], self.keys[:, 0], -self.direction, self.complexity, -self.pearson, self.loss)
        )


def round_sort_keys(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round what orders features to 12 digits, so that a last bit never decides."""
    return np.round(values, 12)


def make_empty_features(n_screeners: int) -> FeatureTable:
    """Return no features, with room for some screeners' scores."""
    return FeatureTable(
        number=np.zeros(0, dtype=np.int64),
        loss=np.zeros(0),
        signature=np.zeros(0, dtype=np.uint64),
        pearson=np.zeros(0),
        complexity=np.zeros(0, dtype=np.int32),
        direction=np.zeros(0, dtype=np.int8),
        keys=np.zeros((0, 2), dtype=np.uint64),
        class_size=np.zeros(0, dtype=np.int64),
        scores=np.zeros((0, n_screeners)),
    )


def concatenate_features(parts: Sequence[FeatureTable]) -> FeatureTable:
    """Return the features of several parts, one behind the other; at least one part."""
    return FeatureTable(
        *(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(FeatureTable))
    )


def select_best_classes(features: FeatureTable, limit: int) -> FeatureTable:
    """Merge classes into their best members and keep the best classes.

    Parameters
    ----------
    kept : Kept
        Features, or classes merged before.
    limit : int
        How many classes to keep; all that tie with the last one stay too, up to about a million.

    Returns
    -------
    Kept
        One entry a class, best first, with the classes' sizes added up.

    Notes
    -----
    What decides who stays, the loss and then the signature, is the same for all members of a class. So a
    class that stays in the end has stayed in every part that held one of its members, and merging part by
    part gives the same classes and sizes as merging all at once. Their order among equals, which depends on
    their best members, is settled only among those that stay.
    """
    features = features.take(features.compute_member_order())
    signatures, first, which = np.unique(features.signature, return_index=True, return_inverse=True)
    sizes = np.zeros(len(first), dtype=np.int64)
    np.add.at(sizes, which, features.class_size)
    losses = features.loss[first]
    by_class = np.lexsort((signatures, losses))
    if len(by_class) > limit:
        ties = int((losses <= losses[by_class[limit - 1]]).sum())
        by_class = by_class[: min(ties, max(limit, MAX_TIED_CLASSES))]
    stay = np.sort(first[by_class])
    return replace(features.take(stay), class_size=sizes[which[stay]])


def merge_rankings(rankings: Sequence[FeatureTable], limit: int) -> FeatureTable:
    """Unite several lists: a feature, or a class, stands where it stands in the list that puts it first.

    Parameters
    ----------
    lists : sequence of Kept
        Features or classes, best first; at least one list.
    limit : int
        How many to return at most.

    Returns
    -------
    Kept
        Best first. The only list as it is; of several, the loss is the place.
    """
    if len(rankings) == 1:
        return rankings[0].take_first(limit)
    placed = concatenate_features(
        [replace(kept, loss=np.arange(len(kept), dtype=np.float64)) for kept in rankings]
    )
    placed = placed.take(placed.compute_member_order())
    # rounding can make two screeners choose different members of one class of affine copies
    for own in ("number", "signature"):
        _, first = np.unique(getattr(placed, own), return_index=True)
        placed = placed.take(np.sort(first))
    return placed.take_first(limit)


def merge_classes_if_due(parts: list[FeatureTable], limit: int) -> list[FeatureTable]:
    """Merge parts once they have outgrown what was merged before, so that each merge pays for itself."""
    if sum(map(len, parts[1:])) < 2 * len(parts[0]) + 4 * limit:
        return parts
    return [select_best_classes(concatenate_features(parts), limit)]


def rank_all_features(features: FeatureTable) -> FeatureTable:
    """Order all features, unmerged: by class, and inside each class by its own order.

    Parameters
    ----------
    kept : Kept
        All features of a space.

    Returns
    -------
    Kept
        The same features with the sizes of their classes.
    """
    features = features.take(features.compute_member_order())
    _, first, which, sizes = np.unique(
        features.signature, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first[which], kind="stable")
    return replace(features, class_size=sizes[which]).take(order)


EquivalenceKind = Literal["ranks", "affine"]


@dataclass(frozen=True, eq=False)
class EquivalenceClasses:
    """By which signatures the classes of a ranking are recognised.

    Parameters
    ----------
    merged : {"ranks", "affine"}
        What makes a class.
    mirrored : bool
        Whether a feature and its negative are in one class.
    signatures : uint64 array, shape (s,), ascending
        One a class, and those of classes that were merged with it for being equal up to rounding.
    places : int64 array, shape (s,)
        For each signature the place in the ranking of the class's entry.
    """

    equivalence: EquivalenceKind
    mirrored: bool
    signatures: NDArray[np.uint64]
    positions: NDArray[np.int64]

    @property
    def has_merged_entries(self) -> bool:
        """Whether an entry has several signatures, for classes equal up to rounding were merged."""
        return len(np.unique(self.positions)) < len(self.positions)

    def find_positions(self, block: SortedBlock) -> NDArray[np.int64]:
        """Find in which classes some features are.

        Parameters
        ----------
        ordered : Ordered
            m features.

        Returns
        -------
        int64 array, shape (m,)
            Places in the ranking, −1 where a feature's class is not in it.
        """
        wanted = compute_signatures(block, self.equivalence, mirrored=self.mirrored)
        if not len(self.signatures):
            return np.full(len(wanted), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self.signatures, wanted), len(self.signatures) - 1)
        return np.where(self.signatures[at] == wanted, self.positions[at], -1)

    def reorder(self, order: NDArray[np.int64]) -> EquivalenceClasses:
        """Return the classes of a ranking whose entries stand in another order, some of them left out."""
        new = np.full(max(self.positions.max(initial=-1), order.max(initial=-1)) + 1, -1)
        new[order] = np.arange(len(order))
        places = new[self.positions]
        return EquivalenceClasses(
            self.equivalence, self.mirrored, self.signatures[places >= 0], places[places >= 0]
        )


def build_merged_classes(
    features: FeatureTable,
    representatives: NDArray[np.int64],
    merged_features: FeatureTable,
    equivalence: EquivalenceKind,
    *,
    mirrored: bool,
) -> EquivalenceClasses:
    """Say which classes are behind the entries left of a list once its numeric copies are merged.

    Parameters
    ----------
    kept : Kept
        Classes, before those equal up to rounding were merged.
    stands_for : int64 array, shape (k,)
        What `find_representatives` found for their best members.
    left : Kept
        The entries left.
    merged, mirrored
        As of `Classes`.

    Returns
    -------
    Classes
    """
    place_of = {number: place for place, number in enumerate(merged_features.number.tolist())}
    places = np.array(
        [place_of.get(number, -1) for number in features.number[representatives].tolist()], dtype=np.int64
    )
    order = np.argsort(features.signature)
    order = order[places[order] >= 0]
    return EquivalenceClasses(equivalence, mirrored, features.signature[order], places[order])


def build_all_classes(
    features: FeatureTable, equivalence: EquivalenceKind, *, mirrored: bool
) -> EquivalenceClasses:
    """Say which classes a ranking of all features has: the first member of each stands for it.

    Parameters
    ----------
    kept : Kept
        What `rank_all_features` returned.
    merged, mirrored
        As of `Classes`.

    Returns
    -------
    Classes
    """
    signatures, first = np.unique(features.signature, return_index=True)
    return EquivalenceClasses(equivalence, mirrored, signatures, first.astype(np.int64))


def compute_signatures(
    block: SortedBlock, equivalence: EquivalenceKind, *, mirrored: bool
) -> NDArray[np.uint64]:
    """Sign features so that those of one class have one signature.

    Parameters
    ----------
    ordered : Ordered
        m features.
    merged : {"ranks", "affine"}
        What makes a class.
    mirrored : bool
        Whether a feature and its negative are in one class.

    Returns
    -------
    uint64 array, shape (m,)
    """
    if equivalence == "affine":
        return compute_affine_signatures(block.values, mirrored=mirrored)
    return compute_rank_signatures(block, mirrored=mirrored)


def find_representatives(features: FeatureTable, values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Find for each feature the simplest one that equals it up to rounding.

    Parameters
    ----------
    kept : Kept
        Features.
    values : float64 array, shape (k, n)
        Their values.

    Returns
    -------
    int64 array, shape (k,)
        Places; a feature's own where it stands for itself.
    """
    preference = np.empty(len(features), dtype=np.int64)
    preference[np.lexsort((features.keys[:, 1], features.keys[:, 0], features.complexity))] = np.arange(
        len(features)
    )
    return find_numeric_duplicates(values, preference)


def merge_numeric_copies(features: FeatureTable, representatives: NDArray[np.int64]) -> FeatureTable:
    """Merge classes whose shown members are the same feature up to rounding.

    Rounding may split or tie neighbouring values, so that one feature computed in two ways can fall into
    two rank classes.

    Parameters
    ----------
    kept : Kept
        Classes, best first.
    stands_for : int64 array, shape (k,)
        What `find_representatives` found for their shown members.

    Returns
    -------
    Kept
        Best first, the sizes of merged classes added up.
    """
    sizes = np.zeros(len(features), dtype=np.int64)
    np.add.at(sizes, representatives, features.class_size)
    chosen = np.unique(representatives)
    merged = replace(features, class_size=sizes).take(chosen)
    return merged.take(merged.compute_member_order())
