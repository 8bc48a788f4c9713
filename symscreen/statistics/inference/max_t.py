"""Random permutations of rows that leave groups together: groups change places, rows change theirs inside.

The best statistic of a whole space under permutations of the response (Westfall and Young 1993, max-T).

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

from symscreen._numba import compile_kernel
from symscreen.statistics.ranks.fast_sort import write_doubled_ranks
from symscreen.statistics.workspace import Workspace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Flags, Rows, Values
    from symscreen.statistics.ranks.sorted_block import SortedBlock

    GroupRows = NDArray[np.int64]

__all__ = [
    "PermutedTarget",
    "compute_max_t_p_values",
    "compute_z_scores",
    "count_exchangeable_groups",
    "draw_group_permutation",
    "permute_target",
]


def draw_group_permutation(groups: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a permutation of rows: groups of one size trade places, and the rows of each are shuffled.

    Parameters
    ----------
    groups : int64 array, shape (n,)
        The number of each row's group, from 0 up without gaps.
    rng : Generator
        Where it is drawn from.

    Returns
    -------
    int64 array, shape (n,)
        For each row the one whose response it gets, uniform over all that keep rows of one group in one
        group. These permutations are a group in the algebraic sense, so the test is exact wherever rows
        within a group are exchangeable, and groups of one size are; a group with a size of its own stays
        where it is.

    Examples
    --------
    >>> groups = np.array([0, 1, 0, 1, 2])
    >>> drawn = draw_group_permutation(groups, np.random.default_rng(1))
    >>> groups[drawn].tolist(), int(drawn[4])
    ([1, 0, 1, 0, 2], 4)
    """
    sizes = np.bincount(groups)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    places = np.argsort(groups, kind="stable")
    mixed = rng.permutation(len(groups))
    rows = mixed[np.argsort(groups[mixed], kind="stable")]  # group by group, in a random order in each
    drawn = np.empty_like(places)
    for size in np.unique(sizes):
        alike = np.flatnonzero(sizes == size)
        within = np.arange(size)
        to = (starts[alike][:, None] + within).ravel()
        since = (starts[rng.permutation(alike)][:, None] + within).ravel()
        drawn[places[to]] = rows[since]
    return drawn


def count_exchangeable_groups(groups: NDArray[np.int64]) -> int:
    """Count the groups that share their size with another, and so can trade places.

    Examples
    --------
    >>> count_exchangeable_groups(np.array([0, 1, 0, 1, 2]))
    2
    """
    sizes = np.bincount(groups)
    return int((np.bincount(sizes)[sizes] > 1).sum())


_EXACT_BITS = 52  # a sum of so many bits, and one for its sign, is exact in a float64
_MATMUL_ROWS = 4096  # rows whose products are summed by BLAS
_EQUALITY_FACTOR = 1.0 - 1e-12  # what differs by less is as good


@dataclass(frozen=True, eq=False)
class PermutedTarget:
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
    permuted_weights: NDArray[np.float64]
    sign_free: bool

    @property
    def initial_max(self) -> NDArray[np.float64]:
        """What the best of no features is, under each permutation; shape (B,)."""
        return np.full(self.permuted_weights.shape[1], -np.inf)

    def update_max(
        self, ordered: SortedBlock, max_statistics: NDArray[np.float64], workspace: Workspace
    ) -> None:
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
        sums, scale = _compute_rank_sums(ordered, self.permuted_weights, workspace)
        _fill_max(sums, scale, self.sign_free, max_statistics)


def permute_target(
    weights: NDArray[np.float64],
    permutations: int,
    *,
    seed: int,
    sign_free: bool,
    groups: NDArray[np.int64] | None = None,
) -> PermutedTarget:
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
        As in `PermutedTarget`.
    groups : int64 array, shape (n,), optional
        The number of each row's group: permutations then leave groups together, see
        `symscreen.statistics.inference.max_t.draw_group_permutation`.

    Returns
    -------
    Shuffles

    Examples
    --------
    >>> permute_target(np.array([0.0, 0.5, 2.0]), 99, seed=0, free=True).permuted_weights.shape
    (3, 99)
    """
    n = len(weights)
    centred = weights - (weights.min() + weights.max()) / 2.0  # Σ (2R − (n+1)) = 0: no shift of w matters
    # |2R − (n+1)| < n, so |S| < n · |w| · rows
    bits = _EXACT_BITS - int(np.ceil(np.log2(n))) - int(np.ceil(np.log2(min(n, _MATMUL_ROWS))))
    _, exponent = np.frexp(np.abs(centred).max())
    whole = np.rint(np.ldexp(centred, bits - int(exponent)))
    rng = np.random.default_rng([seed, n])
    shuffled = np.empty((n, permutations))
    for b in range(permutations):
        shuffled[:, b] = whole[rng.permutation(n) if groups is None else draw_group_permutation(groups, rng)]
    return PermutedTarget(whole, shuffled, sign_free)


def compute_z_scores(ordered: SortedBlock, permuted_target: PermutedTarget) -> NDArray[np.float64]:
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
    sums, scale = _compute_rank_sums(ordered, permuted_target.weights[:, None], Workspace())
    z = sums[:, 0] * scale
    return np.abs(z) if permuted_target.sign_free else z


def compute_max_t_p_values(
    z: NDArray[np.float64], max_statistics: NDArray[np.float64]
) -> NDArray[np.float64]:
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
    >>> compute_max_t_p_values(np.array([3.0, 1.5]), np.array([1.0, 2.0, 1.5])).tolist()
    [0.25, 0.75]
    """
    ascending = np.sort(max_statistics)
    below = np.searchsorted(
        ascending, np.where(z > 0, z * _EQUALITY_FACTOR, z / _EQUALITY_FACTOR), side="left"
    )
    return np.asarray((1 + len(max_statistics) - below) / (len(max_statistics) + 1))


def _compute_rank_sums(ordered: SortedBlock, columns: Values, workspace: Workspace) -> tuple[Values, Values]:
    """Return S for each feature and column, and 1/√V of each feature."""
    m, n = ordered.values.shape
    ranks = workspace.get_array("centred ranks", (m, n), np.float64)
    scale = workspace.get_array("scale", (m,), np.float64)
    _fill_centered_ranks(ordered.order, ordered.values, ordered.tied, ranks, scale)
    sums = workspace.get_array("sums", (m, columns.shape[1]), np.float64)
    np.matmul(ranks[:, :_MATMUL_ROWS], columns[:_MATMUL_ROWS], out=sums)
    for start in range(_MATMUL_ROWS, n, _MATMUL_ROWS):
        stop = start + _MATMUL_ROWS
        sums += ranks[:, start:stop] @ columns[start:stop]
    return sums, scale


@compile_kernel
def _fill_centered_ranks(order: Rows, values: Values, tied: Flags, ranks: Values, scale: Values) -> None:
    m, n = order.shape
    doubled = np.empty(n, dtype=np.int32)
    untied = 1.0 / np.sqrt(float(n) * (float(n) * n - 1.0) / 3.0)
    for f in range(m):
        rows, own = order[f], ranks[f]
        if tied[f]:
            write_doubled_ranks(rows, values[f], doubled)
            square = 0.0
            for i in range(n):
                own[i] = doubled[i] - (n + 1)
                square += own[i] * own[i]
            scale[f] = 1.0 / np.sqrt(square)
        else:
            for k in range(n):
                own[np.uint32(rows[k])] = 2 * k + 1 - n
            scale[f] = untied


@compile_kernel
def _fill_max(sums: Values, scale: Values, sign_free: bool, max_statistics: Values) -> None:
    m, permutations = sums.shape
    for f in range(m):
        own, by = sums[f], scale[f]
        if sign_free:
            for b in range(permutations):
                max_statistics[b] = max(max_statistics[b], abs(own[b]) * by)
        else:
            for b in range(permutations):
                max_statistics[b] = max(max_statistics[b], own[b] * by)
