"""Single-step max-T permutation p-values of a whole space (Westfall and Young 1993).

T0 and Spearman's ρ are linear rank statistics, S = Σ_i w_i (2 R_i(θ) − (n + 1)), with w = y or the ranks of
y. The ranks of a feature are computed once, and one matrix product gives S for all permutations of w. Over
permutations S has mean 0 and a variance proportional to V = Σ_i (2 R_i(θ) − (n + 1))², which is smaller with
ties. Z = S / √V therefore has the same scale for all features.

The sums are exact although BLAS computes the product: w is rounded to integers with few enough bits that
every partial sum over a block of rows is an integer that a float64 represents. The feature's own Z uses the
same integers, so the test is exact for any number of bits.

Permutations may keep groups of rows together: groups of equal size are exchanged, and the rows inside each
group are shuffled. They may also be circular shifts of rows that are in the order of time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics.inference._kernels import fill_centered_ranks, fill_max
from symscreen.statistics.inference.statistic_counts import LevelScale, lower_by_rounding
from symscreen.statistics.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.statistics.ranks.sorted_block import SortedBlock

    GroupRows = NDArray[np.int64]


_EXACT_SUM_BITS = 52  # sums of this size plus the sign bit are exact in a float64
_MATMUL_ROWS = 4096  # rows that BLAS sums in one product
_BOUND_TOLERANCE = 1e-9  # relative rounding error of a bound on statistics


def draw_group_permutation(groups: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a permutation of rows: groups of equal size are exchanged, and rows inside groups are shuffled.

    Parameters
    ----------
    groups : int64 array, shape (n,)
        The group index of each row, 0 … G − 1 without gaps.
    rng : numpy.random.Generator
        The source of randomness.

    Returns
    -------
    int64 array, shape (n,)
        For each row the index of the row whose target it receives, drawn uniformly from all permutations that
        map groups to groups. These permutations form a group in the algebraic sense. The test is therefore
        exact if rows within a group are exchangeable and groups of equal size are exchangeable. A group whose
        size is unique stays in place.

    Examples
    --------
    >>> groups = np.array([0, 1, 0, 1, 2])
    >>> drawn = draw_group_permutation(groups, np.random.default_rng(1))
    >>> groups[drawn].tolist(), int(drawn[4])
    ([1, 0, 1, 0, 2], 4)
    """
    sizes = np.bincount(groups)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    grouped_rows = np.argsort(groups, kind="stable")
    shuffled = rng.permutation(len(groups))
    # Rows sorted by group, in random order within each group.
    shuffled_grouped = shuffled[np.argsort(groups[shuffled], kind="stable")]
    drawn = np.empty_like(grouped_rows)
    for size in np.unique(sizes):
        same_size = np.flatnonzero(sizes == size)
        within = np.arange(size)
        targets = (starts[same_size][:, None] + within).ravel()
        sources = (starts[rng.permutation(same_size)][:, None] + within).ravel()
        drawn[grouped_rows[targets]] = shuffled_grouped[sources]
    return drawn


def draw_circular_shifts(runs: Sequence[NDArray[np.int64]], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a permutation of rows that shifts each run in a circle, by a number of places of its own.

    Parameters
    ----------
    runs : sequence of int64 array
        The rows of each run in the order of time; together 0 … n − 1.
    rng : numpy.random.Generator
        The source of randomness.

    Returns
    -------
    int64 array, shape (n,)
        For each row the index of the row whose target it receives, drawn uniformly from all such shifts. They
        form a group, so the test is exact for a target that is stationary within a run, up to the place where
        the end of a run meets its start.

    Examples
    --------
    >>> draw_circular_shifts([np.array([0, 1, 2]), np.array([3])], np.random.default_rng(0)).tolist()
    [2, 0, 1, 3]
    """
    drawn = np.empty(sum(map(len, runs)), dtype=np.int64)
    for rows in runs:
        drawn[rows] = np.roll(rows, -int(rng.integers(len(rows))))
    return drawn


def draw_permutations(
    n: int,
    permutations: int,
    *,
    seed: int,
    groups: NDArray[np.int64] | None = None,
    runs: Sequence[NDArray[np.int64]] | None = None,
) -> Iterator[NDArray[np.int64]]:
    """Draw permutations of n rows.

    Parameters
    ----------
    n : int
        Number of rows.
    permutations : int
        How many to draw, at least 1. The first ones do not depend on this number.
    seed : int
        The seed, not negative.
    groups : int64 array, shape (n,), optional
        The group index of each row: permutations then keep groups together, see `draw_group_permutation`.
    runs : sequence of int64 array, optional
        The rows of each run in the order of time: permutations are then shifts, see `draw_circular_shifts`.

    Yields
    ------
    int64 array, shape (n,)
    """
    rng = np.random.default_rng([seed, n])
    for _ in range(permutations):
        if runs is not None:
            yield draw_circular_shifts(runs, rng)
        else:
            yield rng.permutation(n) if groups is None else draw_group_permutation(groups, rng)


def count_exchangeable_groups(groups: NDArray[np.int64]) -> int:
    """Count the groups that share their size with another group, so that they can be exchanged.

    Examples
    --------
    >>> count_exchangeable_groups(np.array([0, 1, 0, 1, 2]))
    2
    """
    sizes = np.bincount(groups)
    return int((np.bincount(sizes)[sizes] > 1).sum())


@dataclass(frozen=True, eq=False)
class PermutedTarget:
    """A target and its permutations.

    Parameters
    ----------
    weights : float64 array, shape (n,)
        w, with integer values.
    permuted_weights : float64 array, shape (n, B)
        One permutation of w per column.
    sign_free : bool
        Whether falling and rising features count alike: |Z| instead of Z.
    """

    weights: NDArray[np.float64]
    permuted_weights: NDArray[np.float64]
    sign_free: bool

    @property
    def initial_max(self) -> NDArray[np.float64]:
        """The maximum statistic of an empty space under each permutation: −inf, shape (B,)."""
        return np.full(self.permuted_weights.shape[1], -np.inf)

    def update_max(
        self, ordered: SortedBlock, max_statistics: NDArray[np.float64], workspace: Workspace
    ) -> None:
        """Update the maximum statistic under each permutation with a block of features.

        Parameters
        ----------
        ordered : SortedBlock
            m features over the n rows; none is constant.
        max_statistics : float64 array, shape (B,)
            Changed in place.
        workspace : Workspace
            Scratch arrays for the ranks and the sums.
        """
        ranks, scale = _compute_centered_ranks(ordered, workspace)
        sums = _multiply_ranks(ranks, self.permuted_weights, workspace)
        fill_max(sums, scale, self.sign_free, max_statistics)

    def compute_permuted_statistics(
        self, ordered: SortedBlock, workspace: Workspace
    ) -> tuple[Values, Values]:
        """Compute Z of each feature under the target, shape (m,), and under each permutation, shape (m, B).

        The second array is a view of the workspace.
        """
        ranks, scale = _compute_centered_ranks(ordered, workspace)
        own = _multiply_ranks(ranks, self.weights[:, None], workspace)[:, 0] * scale
        permuted = _multiply_ranks(ranks, self.permuted_weights, workspace)
        permuted *= scale[:, None]
        if not self.sign_free:
            return own, permuted
        return np.abs(own), np.abs(permuted, out=permuted)

    @property
    def level_scale(self) -> LevelScale:
        """The range of Z, for counting."""
        bound = self._upper_bound
        return LevelScale(0.0 if self.sign_free else -bound, bound)

    def compute_statistics(self, ordered: SortedBlock) -> NDArray[np.float64]:
        """Compute Z = S / √V of each feature under the unpermuted target, or |Z| if the sign is free.

        Parameters
        ----------
        ordered : SortedBlock
            m features over the n rows; none is constant.

        Returns
        -------
        float64 array, shape (m,)
        """
        workspace = Workspace()
        ranks, scale = _compute_centered_ranks(ordered, workspace)
        z = _multiply_ranks(ranks, self.weights[:, None], workspace)[:, 0] * scale
        return np.abs(z) if self.sign_free else z

    def are_possible(self, max_statistics: NDArray[np.float64], *, has_features: bool) -> bool:
        """Return whether saved maxima of a checkpoint can be those of a space."""
        if (
            max_statistics.shape != self.initial_max.shape
            or np.isnan(max_statistics).any()
            or (max_statistics > self._upper_bound).any()
        ):
            return False
        is_too_low = np.isinf(max_statistics).any() or (self.sign_free and (max_statistics < 0).any())
        return not (has_features and is_too_low)

    @property
    def _upper_bound(self) -> float:
        """The largest Z that is possible: |Σ w r| / √Σ r² ≤ √Σ w² by the Cauchy–Schwarz inequality."""
        centered = self.weights - self.weights.mean()
        return float(np.sqrt(np.square(centered).sum())) * (1.0 + _BOUND_TOLERANCE)


def permute_target(
    weights: NDArray[np.float64],
    permutations: int,
    *,
    seed: int,
    sign_free: bool,
    groups: NDArray[np.int64] | None = None,
    runs: Sequence[NDArray[np.int64]] | None = None,
) -> PermutedTarget:
    """Permute the weights of a linear rank statistic.

    Parameters
    ----------
    weights : float64 array, shape (n,)
        w: not constant, far from overflow, 2 ≤ n < 2²⁸.
    permutations : int
        B, at least 1. The first permutations do not depend on B.
    seed : int
        The seed, not negative.
    sign_free : bool
        Whether falling and rising features count alike.
    groups : int64 array, shape (n,), optional
        The group index of each row: permutations then keep groups together, see `draw_group_permutation`.
    runs : sequence of int64 array, optional
        The rows of each run in the order of time: permutations are then shifts, see `draw_circular_shifts`.

    Returns
    -------
    PermutedTarget

    Examples
    --------
    >>> permute_target(np.array([0.0, 0.5, 2.0]), 99, seed=0, sign_free=True).permuted_weights.shape
    (3, 99)
    """
    n = len(weights)
    # shifts of w do not matter, because Σ (2R − (n + 1)) = 0
    centered = weights - (weights.min() + weights.max()) / 2.0
    # |2R − (n+1)| < n, so |S| < n · |w| · rows
    bits = _EXACT_SUM_BITS - int(np.ceil(np.log2(n))) - int(np.ceil(np.log2(min(n, _MATMUL_ROWS))))
    _, exponent = np.frexp(np.abs(centered).max())
    integers = np.rint(np.ldexp(centered, bits - int(exponent)))
    permuted = np.empty((n, permutations))
    for b, drawn in enumerate(draw_permutations(n, permutations, seed=seed, groups=groups, runs=runs)):
        permuted[:, b] = integers[drawn]
    return PermutedTarget(integers, permuted, sign_free)


def compute_max_t_p_values(
    z: NDArray[np.float64], max_statistics: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute max-T p-values: the share of permutations in which the best feature is at least as good.

    p = (1 + #{b : max over the space of Z under permutation b ≥ z}) / (B + 1). In a space without signal, the
    probability that any feature has p ≤ α is at most α (Westfall and Young 1993, single-step).

    Parameters
    ----------
    z : float64 array, shape (m,)
        Statistics of features from `compute_statistics`.
    max_statistics : float64 array, shape (B,)
        The maximum over the space under each permutation.

    Returns
    -------
    float64 array, shape (m,)
        p-values in [1/(B + 1), 1].

    Examples
    --------
    >>> compute_max_t_p_values(np.array([3.0, 1.5]), np.array([1.0, 2.0, 1.5])).tolist()
    [0.25, 0.75]
    """
    ascending = np.sort(max_statistics)
    below = np.searchsorted(ascending, lower_by_rounding(z), side="left")
    return np.asarray((1 + len(max_statistics) - below) / (len(max_statistics) + 1))


def _compute_centered_ranks(ordered: SortedBlock, workspace: Workspace) -> tuple[Values, Values]:
    """Compute 2 R − (n + 1) of each feature, shape (m, n), and 1/√V, shape (m,)."""
    m, n = ordered.values.shape
    ranks = workspace.get_array("centred ranks", (m, n), np.float64)
    scale = workspace.get_array("scale", (m,), np.float64)
    fill_centered_ranks(ordered.order, ordered.values, ordered.tied, ranks, scale)
    return ranks, scale


def _multiply_ranks(ranks: Values, columns: Values, workspace: Workspace) -> Values:
    """Compute S of each feature, shape (m, n), and column, shape (n, c): a view of the workspace, (m, c)."""
    m, n = ranks.shape
    sums = workspace.get_array("sums", (m, columns.shape[1]), np.float64)
    np.matmul(ranks[:, :_MATMUL_ROWS], columns[:_MATMUL_ROWS], out=sums)
    for start in range(_MATMUL_ROWS, n, _MATMUL_ROWS):
        stop = start + _MATMUL_ROWS
        sums += ranks[:, start:stop] @ columns[start:stop]
    return sums
