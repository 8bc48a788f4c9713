"""Permutation p-values for any target and column screener, by permutations of the rows of the features.

`symscreen.statistics.inference.max_t` permutes the target of a linear rank statistic by a matrix product.
Other statistics, and other targets than one number per row, have no such product. Here the rows of the
features are permuted instead, which leaves the target as it is: rankings, stages, classes, times to an event
and weights of rows stay together. The order of the rows under each feature is known, so nothing is sorted
again. The statistic is the negative loss by which the screener ranks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.statistics.inference.max_t import draw_permutations
from symscreen.statistics.inference.statistic_counts import LevelScale
from symscreen.statistics.ranks.sorted_block import permute_block_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.screeners import Screener
    from symscreen.screeners.base import Sign
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.statistics.workspace import Workspace
    from symscreen.targets import Target


_LOSSES = LevelScale(-2.0, 0.0)  # a loss is 0 for a perfect feature and about 1 under independence


@dataclass(frozen=True, eq=False)
class PermutedRows:
    """A target, a screener and permutations of the rows of features.

    Parameters
    ----------
    screener : Screener
        The screener that ranks.
    target : Target
        The target, n rows.
    sign : {"free", "positive"}
        Whether falling and rising features count alike.
    rows : int32 array, shape (B, n)
        The permutations.
    """

    screener: Screener
    target: Target
    sign: Sign
    rows: NDArray[np.int32]

    @lockfree_cached_property
    def _inverse_rows(self) -> NDArray[np.int32]:
        """The inverse permutations, shape (B, n)."""
        return np.argsort(self.rows, axis=1).astype(np.int32)

    @property
    def initial_max(self) -> NDArray[np.float64]:
        """The maximum statistic of an empty space under each permutation: −inf, shape (B,)."""
        return np.full(len(self.rows), -np.inf)

    def update_max(
        self, ordered: SortedBlock, max_statistics: NDArray[np.float64], workspace: Workspace
    ) -> None:
        """Update the maximum statistic under each permutation, shape (B,), with a block of features."""
        del workspace
        for b, statistics in enumerate(self._iterate_permuted(ordered)):
            max_statistics[b] = max(max_statistics[b], float(statistics.max()))

    def compute_permuted_statistics(
        self, ordered: SortedBlock, workspace: Workspace
    ) -> tuple[Values, Values]:
        """Compute the statistic of each feature, shape (m,), and that under each permutation, shape (m, B).

        The second array is a view of the workspace.
        """
        shape = (len(ordered.values), len(self.rows))
        permuted = workspace.get_array("permuted statistics", shape, np.float64)
        for b, statistics in enumerate(self._iterate_permuted(ordered)):
            permuted[:, b] = statistics
        return self.compute_statistics(ordered), permuted

    @property
    def level_scale(self) -> LevelScale:
        """The range of the negative loss, for counting."""
        return _LOSSES

    def _iterate_permuted(self, ordered: SortedBlock) -> Iterator[Values]:
        """Yield the statistics of a block under each permutation, shape (m,)."""
        for rows, inverse_rows in zip(self.rows, self._inverse_rows, strict=True):
            yield self.compute_statistics(permute_block_rows(ordered, rows, inverse_rows))

    def compute_statistics(self, ordered: SortedBlock) -> NDArray[np.float64]:
        """Compute the negative loss of each feature of a block, shape (m,)."""
        statistics = self.screener.statistic(ordered, self.target)
        return np.asarray(-self.screener.loss(statistics, self.target, self.sign))

    def are_possible(self, max_statistics: NDArray[np.float64], *, has_features: bool) -> bool:
        """Return whether saved maxima of a checkpoint can be those of a space."""
        if max_statistics.shape != (len(self.rows),) or np.isnan(max_statistics).any():
            return False
        return not (has_features and np.isinf(max_statistics).any())


def permute_rows(
    screener: Screener,
    target: Target,
    permutations: int,
    *,
    seed: int,
    sign: Sign,
    groups: NDArray[np.int64] | None = None,
    runs: Sequence[NDArray[np.int64]] | None = None,
) -> PermutedRows:
    """Draw permutations of the rows of features.

    Parameters
    ----------
    screener : Screener
        The screener that ranks.
    target : Target
        The target, n rows.
    permutations : int
        B, at least 1.
    seed : int
        The seed, not negative.
    sign : {"free", "positive"}
        Whether falling and rising features count alike.
    groups, runs
        See `draw_permutations`.

    Returns
    -------
    PermutedRows
    """
    drawn = draw_permutations(target.n, permutations, seed=seed, groups=groups, runs=runs)
    return PermutedRows(screener, target, sign, np.array(list(drawn), dtype=np.int32))
