"""The best statistic of a whole space under permutations of the response (Westfall and Young 1993, max-T).

T0 and Spearman's ρ are linear rank statistics, S = Σ_i w_i (2 R_i(θ) − (n + 1)) with w = y or the ranks of y.
So the ranks of a feature are found once, and one matrix product gives S under all permutations of w. Over
permutations S has mean 0 and a variance in proportion to V = Σ_i (2 R_i(θ) − (n + 1))², which is smaller with
ties: Z = S / √V is on one scale for all features.

The product is BLAS's, and still every sum is exact: w is rounded to a whole number of so many bits that no
sum of products over a stretch of rows leaves the whole numbers that a float64 holds. The feature's own Z is
computed from the same whole numbers, so the test is exact whatever their number of bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.group_shuffles import shuffled_rows
from symscreen.statistics.room import Room
from symscreen.statistics.runs import rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.statistics.order import Ordered

    Flags = NDArray[np.bool_]
    Rows = NDArray[np.int32]
    Values = NDArray[np.float64]

__all__ = ["Shuffles", "family_p_values", "shuffles_of", "standardised"]

_EXACT_BITS = 52  # a sum of so many bits, and one for its sign, is exact in a float64
_STRETCH = 4096  # rows whose products are summed by BLAS
_EQUAL = 1.0 - 1e-12  # what differs by less is as good


@dataclass(frozen=True, eq=False)
class Shuffles:
    """A response and its permutations.

    Parameters
    ----------
    weights : float64 array, shape (n,)
        w, whole numbers.
    shuffled : float64 array, shape (n, B)
        A permutation of w in each column.
    free : bool
        Whether falling with the response is as good as rising with it: |Z| instead of Z.
    """

    weights: NDArray[np.float64]
    shuffled: NDArray[np.float64]
    free: bool

    @property
    def none_yet(self) -> NDArray[np.float64]:
        """What the best of no features is, under each permutation; shape (B,)."""
        return np.full(self.shuffled.shape[1], -np.inf)

    def raise_best(self, ordered: Ordered, best: NDArray[np.float64], room: Room) -> None:
        """Raise the best under each permutation to what a block of features reaches.

        Parameters
        ----------
        ordered : Ordered
            m features over the n rows, none constant.
        best : float64 array, shape (B,)
            Changed in place.
        room : Room
            For the ranks and the sums.
        """
        sums, scale = _sums(ordered, self.shuffled, room)
        _raise(sums, scale, self.free, best)


def shuffles_of(
    weights: NDArray[np.float64],
    permutations: int,
    *,
    seed: int,
    free: bool,
    groups: NDArray[np.int64] | None = None,
) -> Shuffles:
    """Permute the response's part in a linear rank statistic.

    Parameters
    ----------
    weights : float64 array, shape (n,)
        w, of moderate size, not constant, 2 ≤ n < 2²⁸.
    permutations : int
        B, at least 1. The first of more are the same.
    seed : int
        Not negative.
    free : bool
        As in `Shuffles`.
    groups : int64 array, shape (n,), optional
        The number of each row's group: permutations then leave groups together, see
        `symscreen.statistics.group_shuffles.shuffled_rows`.

    Returns
    -------
    Shuffles

    Examples
    --------
    >>> shuffles_of(np.array([0.0, 0.5, 2.0]), 99, seed=0, free=True).shuffled.shape
    (3, 99)
    """
    n = len(weights)
    centred = weights - (weights.min() + weights.max()) / 2.0  # Σ (2R − (n+1)) = 0: no shift of w matters
    # |2R − (n+1)| < n, so |S| < n · |w| · rows
    bits = _EXACT_BITS - int(np.ceil(np.log2(n))) - int(np.ceil(np.log2(min(n, _STRETCH))))
    _, exponent = np.frexp(np.abs(centred).max())
    whole = np.rint(np.ldexp(centred, bits - int(exponent)))
    rng = np.random.default_rng([seed, n])
    shuffled = np.empty((n, permutations))
    for b in range(permutations):
        shuffled[:, b] = whole[rng.permutation(n) if groups is None else shuffled_rows(groups, rng)]
    return Shuffles(whole, shuffled, free)


def standardised(ordered: Ordered, shuffles: Shuffles) -> NDArray[np.float64]:
    """Compute each feature's own Z = S / √V, or |Z| where the sign is free.

    Parameters
    ----------
    ordered : Ordered
        m features over the n rows, none constant.
    shuffles : Shuffles
        The response.

    Returns
    -------
    float64 array, shape (m,)
    """
    sums, scale = _sums(ordered, shuffles.weights[:, None], Room())
    z = sums[:, 0] * scale
    return np.abs(z) if shuffles.free else z


def family_p_values(z: NDArray[np.float64], best: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute max-T p-values: the share of permutations in which some feature does as well.

    (1 + #{b : max over the space of Z under permutation b ≥ z}) / (B + 1): the chance that any feature of a
    space without signal is found at a level is at most this level (Westfall and Young 1993, single-step).

    Parameters
    ----------
    z : float64 array, shape (m,)
        Of features, from `standardised`.
    best : float64 array, shape (B,)
        The best of the space under each permutation.

    Returns
    -------
    float64 array, shape (m,)
        In [1/(B + 1), 1].

    Examples
    --------
    >>> family_p_values(np.array([3.0, 1.5]), np.array([1.0, 2.0, 1.5])).tolist()
    [0.25, 0.75]
    """
    ascending = np.sort(best)
    below = np.searchsorted(ascending, np.where(z > 0, z * _EQUAL, z / _EQUAL), side="left")
    return np.asarray((1 + len(best) - below) / (len(best) + 1))


def _sums(ordered: Ordered, columns: Values, room: Room) -> tuple[Values, Values]:
    """Return S for each feature and column, and 1/√V of each feature."""
    m, n = ordered.values.shape
    ranks = room.empty("centred ranks", (m, n), np.float64)
    scale = room.empty("scale", (m,), np.float64)
    _centre(ordered.order, ordered.values, ordered.tied, ranks, scale)
    sums = room.empty("sums", (m, columns.shape[1]), np.float64)
    np.matmul(ranks[:, :_STRETCH], columns[:_STRETCH], out=sums)
    for start in range(_STRETCH, n, _STRETCH):
        stop = start + _STRETCH
        sums += ranks[:, start:stop] @ columns[start:stop]
    return sums, scale


@kernel
def _centre(order: Rows, values: Values, tied: Flags, ranks: Values, scale: Values) -> None:
    m, n = order.shape
    doubled = np.empty(n, dtype=np.int32)
    untied = 1.0 / np.sqrt(float(n) * (float(n) * n - 1.0) / 3.0)
    for f in range(m):
        rows, own = order[f], ranks[f]
        if tied[f]:
            rank(rows, values[f], doubled)
            square = 0.0
            for i in range(n):
                own[i] = doubled[i] - (n + 1)
                square += own[i] * own[i]
            scale[f] = 1.0 / np.sqrt(square)
        else:
            for k in range(n):
                own[np.uint32(rows[k])] = 2 * k + 1 - n
            scale[f] = untied


@kernel
def _raise(sums: Values, scale: Values, free: bool, best: Values) -> None:
    m, permutations = sums.shape
    for f in range(m):
        own, by = sums[f], scale[f]
        if free:
            for b in range(permutations):
                best[b] = max(best[b], abs(own[b]) * by)
        else:
            for b in range(permutations):
                best[b] = max(best[b], own[b] * by)
