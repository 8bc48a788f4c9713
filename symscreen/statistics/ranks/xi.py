"""Chatterjee's ξ(θ → y) with averaged ties (Chatterjee 2021), for numeric and multiclass targets.

With the rows in θ-order, r_i the number of rows j with y_j ≤ y_i and l_i that with y_j ≥ y_i::

    ξ = 1 − n Σ_i |r_{i+1} − r_i| / (2 Σ_i l_i (n − l_i))

The order of rows tied in θ is undefined. The paper breaks ties at random. Here the sum is its exact
expectation over all ways to break them, so the result is the same on every run and for every order of the
rows. Two other parts rest on this mean:

- Mirrored ranks have exactly the same ξ, because reversing every order reverses the steps only. Features with
  mirrored ranks are therefore one equivalence class (`symscreen.screeners.Screener.statistic`).
- The null distribution for features with ties is that of the mean over tie orders
  (`symscreen.statistics.nulls.tied_xi_null`).

For a multiclass target ξ is the mean over classes of ξ_c against 1[y = c]. With n_c rows of class c, and e_c
the number of adjacent pairs in θ-order with exactly one row of class c::

    ξ_c = 1 − n e_c / (2 n_c (n − n_c))

With ties, e_c is its expectation likewise. With two classes both ξ_c are equal.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics.ranks._kernels import fill_multiclass_xi, fill_xi

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Integers
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.statistics.ranks.sorted_values import SortedValues


def compute_xi(ordered: SortedBlock, target: SortedValues) -> NDArray[np.float64]:
    """Compute ξ(θ → y) of each feature of a block.

    Parameters
    ----------
    ordered : SortedBlock
        m features over the target's n rows.
    target : SortedValues
        The target.

    Returns
    -------
    float64 array, shape (m,)
        At most 1; near 0 under independence, near 1 if y is a function of θ.
    """
    out = np.empty(len(ordered.order))
    fill_xi(
        ordered.order,
        ordered.values,
        ordered.tied,
        target.counts_at_most,
        target.is_untied,
        compute_xi_scale(target),
        out,
    )
    return out


@lru_cache(maxsize=4)  # the same for every block of features
def compute_xi_scale(target: SortedValues) -> float:
    """Compute the denominator 2 Σ_i l_i (n − l_i), for ξ and its null distribution."""
    # integers would overflow with more than 3 million rows
    at_least = target.counts_at_least.astype(np.float64)
    return 2.0 * float(np.sum(at_least * (target.n - at_least)))


def compute_multiclass_xi(
    ordered: SortedBlock, codes: Integers, class_counts: Integers
) -> NDArray[np.float64]:
    """Compute the mean of ξ_c over classes of each feature of a block.

    Parameters
    ----------
    ordered : SortedBlock
        m features over n rows.
    codes : int64 array, shape (n,)
        The class of each row, from 0 to C − 1.
    class_counts : int64 array, shape (C,)
        Number of rows of each class, at least 1.

    Returns
    -------
    float64 array, shape (m,)
        At most 1; near 0 under independence. Equal for mirrored ranks.
    """
    order = np.argsort(class_counts, kind="stable")  # classes of equal size are adjacent, for any class names
    positions, sizes = np.argsort(order), class_counts[order]
    scale = 2.0 * sizes * (codes.size - sizes) / codes.size
    out = np.empty(len(ordered.order))
    fill_multiclass_xi(ordered.order, ordered.values, ordered.tied, positions[codes], scale, out)
    return out
