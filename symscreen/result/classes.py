"""The classes of a ranking: features that its first screener cannot tell apart, recognised by signatures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from symscreen.statistics.signature import affine_signatures, rank_signatures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.result.kept import Kept
    from symscreen.statistics.order import Ordered

__all__ = ["ClassKind", "Classes", "classes_behind", "classes_of_every", "signatures_of"]

ClassKind = Literal["ranks", "affine"]


@dataclass(frozen=True, eq=False)
class Classes:
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

    merged: ClassKind
    mirrored: bool
    signatures: NDArray[np.uint64]
    places: NDArray[np.int64]

    @property
    def merges(self) -> bool:
        """Whether an entry has several signatures, for classes equal up to rounding were merged."""
        return len(np.unique(self.places)) < len(self.places)

    def places_of(self, ordered: Ordered) -> NDArray[np.int64]:
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
        wanted = signatures_of(ordered, self.merged, mirrored=self.mirrored)
        if not len(self.signatures):
            return np.full(len(wanted), -1, dtype=np.int64)
        at = np.minimum(np.searchsorted(self.signatures, wanted), len(self.signatures) - 1)
        return np.where(self.signatures[at] == wanted, self.places[at], -1)

    def reordered(self, order: NDArray[np.int64]) -> Classes:
        """Return the classes of a ranking whose entries stand in another order, some of them left out."""
        new = np.full(max(self.places.max(initial=-1), order.max(initial=-1)) + 1, -1)
        new[order] = np.arange(len(order))
        places = new[self.places]
        return Classes(self.merged, self.mirrored, self.signatures[places >= 0], places[places >= 0])


def classes_behind(
    kept: Kept, stands_for: NDArray[np.int64], left: Kept, merged: ClassKind, *, mirrored: bool
) -> Classes:
    """Say which classes are behind the entries left of a list once its numeric copies are merged.

    Parameters
    ----------
    kept : Kept
        Classes, before those equal up to rounding were merged.
    stands_for : int64 array, shape (k,)
        What `stand_ins` found for their best members.
    left : Kept
        The entries left.
    merged, mirrored
        As of `Classes`.

    Returns
    -------
    Classes
    """
    place_of = {number: place for place, number in enumerate(left.number.tolist())}
    places = np.array(
        [place_of.get(number, -1) for number in kept.number[stands_for].tolist()], dtype=np.int64
    )
    order = np.argsort(kept.signature)
    order = order[places[order] >= 0]
    return Classes(merged, mirrored, kept.signature[order], places[order])


def classes_of_every(kept: Kept, merged: ClassKind, *, mirrored: bool) -> Classes:
    """Say which classes a ranking of all features has: the first member of each stands for it.

    Parameters
    ----------
    kept : Kept
        What `every_feature` returned.
    merged, mirrored
        As of `Classes`.

    Returns
    -------
    Classes
    """
    signatures, first = np.unique(kept.signature, return_index=True)
    return Classes(merged, mirrored, signatures, first.astype(np.int64))


def signatures_of(ordered: Ordered, merged: ClassKind, *, mirrored: bool) -> NDArray[np.uint64]:
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
    if merged == "affine":
        return affine_signatures(ordered.values, mirrored=mirrored)
    return rank_signatures(ordered, mirrored=mirrored)
