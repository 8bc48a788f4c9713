"""Ranking targets, decomposed into binary targets of pairs of labels.

For every pair of labels, the sign of their order is a binary target. A row is observed if it ranks both
labels without a tie. Swapping the two labels, or giving scores instead of ranks, changes only the sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.errors import DataError
from symscreen.messages import escape_control_chars, hint_option
from symscreen.targets.binary import BinaryTargets, build_binary_targets
from symscreen.targets.ranking_ranks import compute_pair_signs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.targets.numeric import TargetType
    from symscreen.targets.ranking_notation import Rankings


@dataclass(frozen=True, eq=False)
class RankingTarget:
    """A target that ranks some of k labels in each row.

    Parameters
    ----------
    rankings : Rankings
        Ranks of shape (n, k), NaN where a label is missing, and the names of the labels; n ≥ 2.
    name : str
        Name of the target, for messages and results.

    Raises
    ------
    DataError
        If there are fewer than two rows or labels, or no pair of labels is ordered both ways.

    Examples
    --------
    >>> from symscreen.targets.ranking_notation import parse_rankings
    >>> y = RankingTarget(parse_rankings(["a>b>c", "b>a", "a=c>b"]), "taste")
    >>> y.binary_targets.signs.tolist(), y.binary_targets.n_observed.tolist()
    ([[-1, 0, 1], [-1, 1, -1]], [2, 3])
    >>> y.completeness_counts
    {'complete': 1, 'incomplete': 1, 'tied': 1}
    """

    rankings: Rankings
    name: str = "y"
    target_type: ClassVar[TargetType] = "ranking"

    def __post_init__(self) -> None:
        quoted_name, k = escape_control_chars(repr(self.name)), len(self.rankings.labels)
        if k < 2 or self.n < 2:
            raise DataError(
                f"the ranking {quoted_name} has {self.n} rows that rank {k} label{'' if k == 1 else 's'}: at "
                "least 2 rows and 2 labels are needed"
            )
        if not len(self.binary_targets.n_observed):
            raise DataError(
                f"the ranking {quoted_name} orders no pair of labels both ways: "
                f"nothing can be ranked against it; choose another{hint_option('ranking')}"
            )

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.rankings.ranks)

    @property
    def ranks(self) -> NDArray[np.float64]:
        """Ranks, NaN where a label is missing; shape (n, k)."""
        return self.rankings.ranks

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the k labels."""
        return self.rankings.labels

    @lockfree_cached_property
    def binary_targets(self) -> BinaryTargets:
        """One binary target per pair of labels that occurs in both orders; other pairs are uninformative."""
        return build_binary_targets(compute_pair_signs(self.ranks).T)

    @lockfree_cached_property
    def completeness_counts(self) -> dict[str, int]:
        """Numbers of rows that are complete without ties, that miss labels, and that have ties.

        A row can count both as incomplete and as tied.
        """
        ranks = self.ranks
        incomplete = np.isnan(ranks).any(axis=1)
        ordered = np.sort(ranks, axis=1)
        tied = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        return {
            "complete": int((~incomplete & ~tied).sum()),
            "incomplete": int(incomplete.sum()),
            "tied": int(tied.sum()),
        }
