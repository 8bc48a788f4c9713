"""Of the features kept, those equal up to rounding are one; the simplest stands for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion import numeric_copies

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.result.kept import Kept

__all__ = ["merge_numeric_copies", "stand_ins"]


def stand_ins(kept: Kept, values: NDArray[np.float64]) -> NDArray[np.int64]:
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
    preference = np.empty(len(kept), dtype=np.int64)
    preference[np.lexsort((kept.keys[:, 1], kept.keys[:, 0], kept.complexity))] = np.arange(len(kept))
    return numeric_copies(values, preference)


def merge_numeric_copies(kept: Kept, stands_for: NDArray[np.int64]) -> Kept:
    """Merge classes whose shown members are the same feature up to rounding.

    Rounding may split or tie neighbouring values, so that one feature computed in two ways can fall into
    two rank classes.

    Parameters
    ----------
    kept : Kept
        Classes, best first.
    stands_for : int64 array, shape (k,)
        What `stand_ins` found for their shown members.

    Returns
    -------
    Kept
        Best first, the sizes of merged classes added up.
    """
    sizes = np.zeros(len(kept), dtype=np.int64)
    np.add.at(sizes, stands_for, kept.class_size)
    chosen = np.unique(stands_for)
    merged = replace(kept, class_size=sizes).take(chosen)
    return merged.take(merged.member_order())
