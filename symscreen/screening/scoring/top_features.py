"""Tables of features and their equivalence classes, in the order that all rankings have.

Features are ordered by the loss of the first screener. Equivalent features (features with the same
ranks, or affine copies) form a class, which is recognized by a signature. Within a class the order is
|Pearson's correlation| with the target (for rankings and stages its mean over pairs, see
`symscreen.statistics.ranks.correlations`), then complexity, rising before falling, and the canonical key. A
class has the position of its best member. The order is total, so it does not depend on the chunks.

Classes whose best members are equal up to rounding are merged, and the simplest member represents them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from symscreen.expansion import find_numeric_duplicates, rank_features, sort_features
from symscreen.statistics.ranks.sorted_block import compute_affine_signatures, compute_rank_signatures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.statistics.ranks.sorted_block import SortedBlock


_LOSS_ROUNDING = 1e-11  # losses of one class differ by less; they are rounded to 12 decimals
MAX_TIED_CLASSES = 1 << 20  # maximum number of classes to keep because they tie with the last one

EquivalenceKind = Literal["ranks", "affine"]


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """A table of k features. `loss` and `pearson` are rounded to 12 decimals.

    Parameters
    ----------
    number : int64 array, shape (k,)
        Numbers of the features in their space.
    loss : float64 array, shape (k,)
        Loss of the screener that orders the features; smaller is better.
    signature : uint64 array, shape (k,)
        Signature of the class of each feature.
    pearson : float64 array, shape (k,)
        |Pearson's correlation| with the target.
    complexity : int32 array, shape (k,)
        Complexity of the formulas.
    direction : int8 array, shape (k,)
        +1 if the feature rises with the target, −1 if it falls, 0 if neither.
    keys : uint64 array, shape (k, 2)
        Canonical keys.
    class_size : int64 array, shape (k,)
        Number of features of the space in the class.
    scores : float64 array, shape (k, n_screeners)
        Reported scores, one column per screener.
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
        """Return the features at the given indices."""
        return FeatureTable(*(getattr(self, field.name)[indices] for field in fields(self)))

    def take_first(self, limit: int) -> FeatureTable:
        """Return at most the first `limit` features."""
        return self.take(np.arange(min(limit, len(self))))

    def compute_member_order(self) -> NDArray[np.int64]:
        """Return the indices that sort the features by loss, then by the order within a class."""
        return sort_features(self.keys, self.loss, -self.pearson, self.complexity, -self.direction)


def round_sort_keys(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round sort keys to 12 decimals so that rounding noise cannot change the order."""
    return np.round(values, 12)


def make_empty_features(n_screeners: int) -> FeatureTable:
    """Return an empty table with `n_screeners` score columns."""
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
    """Concatenate at least one table."""
    filled = [part for part in parts if len(part)]
    if len(filled) <= 1:
        return filled[0] if filled else parts[0]
    return FeatureTable(
        *(np.concatenate([getattr(part, field.name) for part in filled]) for field in fields(FeatureTable))
    )


def select_best_classes(features: FeatureTable, limit: int) -> FeatureTable:
    """Merge each class into its best member and keep the best classes.

    Parameters
    ----------
    features : FeatureTable
        Features, or classes that were merged before.
    limit : int
        Number of classes to keep. Classes that tie with the last one are kept too, up to `MAX_TIED_CLASSES`
        in all.

    Returns
    -------
    FeatureTable
        One entry per class, best first, with the total size of the class.

    Notes
    -----
    The loss and then the signature decide which classes are kept. The premise is that both are the same for
    all members of a class. A class that is kept in the end was then kept in every part that contained one of
    its members, and merging part by part gives the same classes and sizes as merging all parts at once. Where
    a screener of affine copies orders classes of ranks, losses differ within a class and sizes depend on the
    parts: `symscreen.screening.scoring.joint_screening.update_class_sizes` then counts them again. The order
    of tied classes depends on their best members and is final only after the last merge.
    """
    features = features.take(features.compute_member_order())
    signatures, first, class_of = np.unique(features.signature, return_index=True, return_inverse=True)
    sizes = np.zeros(len(first), dtype=np.int64)
    np.add.at(sizes, class_of, features.class_size)
    losses = features.loss[first]
    class_order = np.lexsort((signatures, losses))
    if len(class_order) > limit:
        n_not_worse = int((losses <= losses[class_order[limit - 1]]).sum())
        class_order = class_order[: min(n_not_worse, max(limit, MAX_TIED_CLASSES))]
    selected = np.sort(first[class_order])
    return replace(features.take(selected), class_size=sizes[class_of[selected]])


def merge_rankings(rankings: Sequence[FeatureTable], limit: int) -> FeatureTable:
    """Unite rankings: each feature or class has its best rank in any of them.

    Parameters
    ----------
    rankings : sequence of FeatureTable
        At least one ranking of features or classes, best first.
    limit : int
        Maximum number of entries to return.

    Returns
    -------
    FeatureTable
        Best first. A single ranking is returned unchanged; for several rankings, the loss is the rank.
    """
    if len(rankings) == 1:
        return rankings[0].take_first(limit)
    united = concatenate_features(
        [replace(ranking, loss=np.arange(len(ranking), dtype=np.float64)) for ranking in rankings]
    )
    united = united.take(united.compute_member_order())
    # rounding can make two screeners choose different members of one class of affine copies
    for column in ("number", "signature"):
        _, first = np.unique(getattr(united, column), return_index=True)
        united = united.take(np.sort(first))
    return united.take_first(limit)


def merge_distinct_losses(
    best: NDArray[np.float64], losses: NDArray[np.float64], limit: int
) -> NDArray[np.float64]:
    """Merge losses into the best ones, and keep at most `limit` that differ by more than their rounding.

    Where the features of a class have the same loss, at least as many classes as losses are at least as good
    as the last one.

    Parameters
    ----------
    best : float64 array, shape (k,), ascending
        Earlier result.
    losses : float64 array, shape (m,)
        Rounded losses of further features.
    limit : int
        The largest length of the result.

    Returns
    -------
    float64 array, ascending

    Examples
    --------
    >>> merge_distinct_losses(np.array([0.25]), np.array([0.5, 0.25 + 1e-12, 0.125]), 2).tolist()
    [0.125, 0.25]
    """
    merged = np.unique(np.concatenate((best, losses)))
    is_distinct = np.ones(len(merged), dtype=np.bool_)
    is_distinct[1:] = np.diff(merged) > _LOSS_ROUNDING * np.maximum(1.0, np.abs(merged[1:]))
    return merged[is_distinct][:limit]


def merge_classes_if_due(parts: list[FeatureTable], limit: int) -> list[FeatureTable]:
    """Merge parts when the new ones outgrow the first, merged one, so that the amortized cost is constant."""
    if sum(map(len, parts[1:])) < 2 * len(parts[0]) + 4 * limit:
        return parts
    return [select_best_classes(concatenate_features(parts), limit)]


def rank_all_features(features: FeatureTable) -> FeatureTable:
    """Order all features without merging: by class, and within each class by the order of its members.

    Parameters
    ----------
    features : FeatureTable
        All features of a space.

    Returns
    -------
    FeatureTable
        The same features with the sizes of their classes.
    """
    features = features.take(features.compute_member_order())
    _, first, class_of, sizes = np.unique(
        features.signature, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first[class_of], kind="stable")
    return replace(features, class_size=sizes[class_of]).take(order)


@dataclass(frozen=True, eq=False)
class EquivalenceClasses:
    """Signatures by which the classes of a ranking are recognized.

    Parameters
    ----------
    equivalence : {"ranks", "affine"}
        Which features form a class.
    mirrored : bool
        Whether a feature and its negative are in one class.
    signatures : uint64 array, shape (s,), ascending
        Signatures of the classes, including those that were merged as equal up to rounding.
    positions : int64 array, shape (s,)
        Index in the ranking of the entry of each signature.
    """

    equivalence: EquivalenceKind
    mirrored: bool
    signatures: NDArray[np.uint64]
    positions: NDArray[np.int64]

    @property
    def has_merged_entries(self) -> bool:
        """Whether an entry has several signatures, because classes equal up to rounding were merged."""
        return len(np.unique(self.positions)) < len(self.positions)

    def find_positions(self, block: SortedBlock) -> NDArray[np.int64]:
        """Find the classes of features.

        Parameters
        ----------
        block : SortedBlock
            m features.

        Returns
        -------
        int64 array, shape (m,)
            Index in the ranking, or −1 if the feature's class is not in the ranking.
        """
        signatures = compute_signatures(block, self.equivalence, mirrored=self.mirrored)
        if not len(self.signatures):
            return np.full(len(signatures), -1, dtype=np.int64)
        nearest = np.minimum(np.searchsorted(self.signatures, signatures), len(self.signatures) - 1)
        return np.where(self.signatures[nearest] == signatures, self.positions[nearest], -1)

    def reorder(self, order: NDArray[np.int64]) -> EquivalenceClasses:
        """Return the classes of the ranking whose entries are `order`, a subset of the indices."""
        new_positions = np.full(max(self.positions.max(initial=-1), order.max(initial=-1)) + 1, -1)
        new_positions[order] = np.arange(len(order))
        positions = new_positions[self.positions]
        included = positions >= 0
        return EquivalenceClasses(
            self.equivalence, self.mirrored, self.signatures[included], positions[included]
        )


def build_merged_classes(
    features: FeatureTable,
    representatives: NDArray[np.int64],
    merged_features: FeatureTable,
    equivalence: EquivalenceKind,
    *,
    mirrored: bool,
) -> EquivalenceClasses:
    """Build the classes of a ranking whose numeric copies were merged.

    Parameters
    ----------
    features : FeatureTable, length k
        Classes before the merge.
    representatives : int64 array, shape (k,)
        Output of `find_representatives` for their best members.
    merged_features : FeatureTable
        The entries after the merge.
    equivalence, mirrored
        See `EquivalenceClasses`.

    Returns
    -------
    EquivalenceClasses
        Classes whose representative is not in `merged_features` are omitted.
    """
    position_of = {number: position for position, number in enumerate(merged_features.number.tolist())}
    positions = np.array(
        [position_of.get(number, -1) for number in features.number[representatives].tolist()], dtype=np.int64
    )
    order = np.argsort(features.signature)
    order = order[positions[order] >= 0]
    return EquivalenceClasses(equivalence, mirrored, features.signature[order], positions[order])


def build_all_classes(
    features: FeatureTable, equivalence: EquivalenceKind, *, mirrored: bool
) -> EquivalenceClasses:
    """Build the classes of a ranking of all features. The first member of each represents it.

    Parameters
    ----------
    features : FeatureTable
        Output of `rank_all_features`.
    equivalence, mirrored
        See `EquivalenceClasses`.

    Returns
    -------
    EquivalenceClasses
    """
    signatures, first = np.unique(features.signature, return_index=True)
    return EquivalenceClasses(equivalence, mirrored, signatures, first.astype(np.int64))


def compute_signatures(
    block: SortedBlock, equivalence: EquivalenceKind, *, mirrored: bool
) -> NDArray[np.uint64]:
    """Compute signatures that are equal for the features of one class.

    Parameters
    ----------
    block : SortedBlock
        m features.
    equivalence : {"ranks", "affine"}
        Which features form a class.
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
    """Find for each feature the simplest one that is equal to it up to rounding.

    Parameters
    ----------
    features : FeatureTable, length k
        The features.
    values : float64 array, shape (k, n)
        Their values.

    Returns
    -------
    int64 array, shape (k,)
        Index of the representative; a feature's own index if it represents itself.
    """
    return find_numeric_duplicates(values, rank_features(features.keys, features.complexity))


def merge_numeric_copies(features: FeatureTable, representatives: NDArray[np.int64]) -> FeatureTable:
    """Merge classes whose best members are equal up to rounding.

    Rounding may split or tie neighboring values. The same feature, computed in two ways, can therefore be in
    two rank classes.

    Parameters
    ----------
    features : FeatureTable, length k
        Classes, best first.
    representatives : int64 array, shape (k,)
        Output of `find_representatives` for their best members.

    Returns
    -------
    FeatureTable
        Best first, with the total sizes of merged classes.
    """
    sizes = np.zeros(len(features), dtype=np.int64)
    np.add.at(sizes, representatives, features.class_size)
    merged = replace(features, class_size=sizes).take(np.unique(representatives))
    return merged.take(merged.compute_member_order())
