"""The features kept while a space streams by, and the one order in which they stand.

Features are ordered by the loss of the first screener. Features that it cannot tell apart (the same ranks, or
affine copies) form a class; inside a class the order is |Pearson's correlation| with the response (of
rankings and stages: its mean over pairs, `symscreen.statistics.binary_correlation`), then complexity, then
rising before falling, then the canonical key. A class stands where its best member stands. The order is
total, so it does not depend on how the space was cut into chunks.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "MOST_TIES",
    "Kept",
    "best_classes",
    "every_feature",
    "joined",
    "merged_when_due",
    "none_kept",
    "rounded",
    "united",
]

MOST_TIES = 1 << 20  # classes that tie with the last one, at most


@dataclass(frozen=True, eq=False)
class Kept:
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
        object.__setattr__(self, "loss", rounded(self.loss))
        object.__setattr__(self, "pearson", rounded(self.pearson))

    def __len__(self) -> int:
        return len(self.number)

    def take(self, places: NDArray[np.int64]) -> Kept:
        """Return the features at some places."""
        return Kept(*(getattr(self, field.name)[places] for field in fields(self)))

    def first(self, limit: int) -> Kept:
        """Return at most the first so many."""
        return self.take(np.arange(min(limit, len(self))))

    def member_order(self) -> NDArray[np.int64]:
        """Return the places in the order that members of one class have among themselves, loss first."""
        return np.lexsort(
            (self.keys[:, 1], self.keys[:, 0], -self.direction, self.complexity, -self.pearson, self.loss)
        )


def rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round what orders features to 12 digits, so that a last bit never decides."""
    return np.round(values, 12)


def none_kept(screeners: int) -> Kept:
    """Return no features, with room for some screeners' scores."""
    return Kept(
        number=np.zeros(0, dtype=np.int64),
        loss=np.zeros(0),
        signature=np.zeros(0, dtype=np.uint64),
        pearson=np.zeros(0),
        complexity=np.zeros(0, dtype=np.int32),
        direction=np.zeros(0, dtype=np.int8),
        keys=np.zeros((0, 2), dtype=np.uint64),
        class_size=np.zeros(0, dtype=np.int64),
        scores=np.zeros((0, screeners)),
    )


def joined(parts: Sequence[Kept]) -> Kept:
    """Return the features of several parts, one behind the other; at least one part."""
    return Kept(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Kept)))


def best_classes(kept: Kept, limit: int) -> Kept:
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
    kept = kept.take(kept.member_order())
    signatures, first, which = np.unique(kept.signature, return_index=True, return_inverse=True)
    sizes = np.zeros(len(first), dtype=np.int64)
    np.add.at(sizes, which, kept.class_size)
    losses = kept.loss[first]
    by_class = np.lexsort((signatures, losses))
    if len(by_class) > limit:
        ties = int((losses <= losses[by_class[limit - 1]]).sum())
        by_class = by_class[: min(ties, max(limit, MOST_TIES))]
    stay = np.sort(first[by_class])
    return replace(kept.take(stay), class_size=sizes[which[stay]])


def united(lists: Sequence[Kept], limit: int) -> Kept:
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
    if len(lists) == 1:
        return lists[0].first(limit)
    placed = joined([replace(kept, loss=np.arange(len(kept), dtype=np.float64)) for kept in lists])
    placed = placed.take(placed.member_order())
    # rounding can make two screeners choose different members of one class of affine copies
    for own in ("number", "signature"):
        _, first = np.unique(getattr(placed, own), return_index=True)
        placed = placed.take(np.sort(first))
    return placed.first(limit)


def merged_when_due(parts: list[Kept], limit: int) -> list[Kept]:
    """Merge parts once they have outgrown what was merged before, so that each merge pays for itself."""
    if sum(map(len, parts[1:])) < 2 * len(parts[0]) + 4 * limit:
        return parts
    return [best_classes(joined(parts), limit)]


def every_feature(kept: Kept) -> Kept:
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
    kept = kept.take(kept.member_order())
    _, first, which, sizes = np.unique(
        kept.signature, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first[which], kind="stable")
    return replace(kept, class_size=sizes[which]).take(order)
