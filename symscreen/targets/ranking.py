"""A response that is a ranking, and the pairs of labels that rank statistics compare features with.

For every pair of labels the sign of their order is a binary response of the rows that show both labels and do
not tie them: those count for the pair. Which of the two labels comes first, and so whether ranks or scores
were given, decides only the sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.errors import DataError, escape_control_chars
from symscreen.targets.binary import BinaryTargets, build_binary_targets
from symscreen.targets.ranking_ranks import compute_pair_signs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.targets.numeric import TargetType
    from symscreen.targets.ranking_notation import Rankings


__all__ = ["RankingTarget"]


@dataclass(frozen=True, eq=False)
class RankingTarget:
    """A response of n rows, each of which ranks some of k labels.

    Parameters
    ----------
    rankings : Rankings
        Ranks of shape (n, k), NaN where a label is missing, and the labels' names; n ≥ 2.
    name : str
        What it is called, for messages and results.

    Raises
    ------
    TableError
        If there are fewer than two rows or labels, or no pair of labels is ordered both ways.

    Examples
    --------
    >>> from symscreen.label_ranking import parse_rankings
    >>> y = RankingTarget(parse_rankings(["a>b>c", "b>a", "a=c>b"]), "taste")
    >>> y.binary.signs.tolist(), y.binary.n_observed.tolist()
    ([[-1, 0, 1], [-1, 1, -1]], [2, 3])
    >>> y.counts
    {'complete': 1, 'incomplete': 1, 'tied': 1}
    """

    rankings: Rankings
    name: str = "y"
    target_type: ClassVar[TargetType] = "ranking"

    def __post_init__(self) -> None:
        shown, k = escape_control_chars(repr(self.name)), len(self.rankings.labels)
        if k < 2 or self.n < 2:
            raise DataError(
                f"the ranking {shown} has {self.n} rows that rank {k} label{'' if k == 1 else 's'}: at least "
                "2 rows and 2 labels are needed"
            )
        if not len(self.binary_targets.n_observed):
            raise DataError(
                f"the ranking {shown} orders no two labels in one row this way and in another that way: "
                "nothing can be ranked against it; choose another with --ranking"
            )

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.rankings.ranks)

    @property
    def ranks(self) -> NDArray[np.float64]:
        """The ranks, NaN where a label is missing; shape (n, k)."""
        return self.rankings.ranks

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the k labels."""
        return self.rankings.labels

    @lockfree_cached_property
    def binary_targets(self) -> BinaryTargets:
        """The pairs that some rows order one way and others the other; others cannot tell features apart."""
        return build_binary_targets(compute_pair_signs(self.ranks).T)

    @lockfree_cached_property
    def completeness_counts(self) -> dict[str, int]:
        """How many rows show all labels without a tie, lack some, tie some; one may do both of the last."""
        ranks = self.ranks
        incomplete = np.isnan(ranks).any(axis=1)
        ordered = np.sort(ranks, axis=1)
        tied = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        return {
            "complete": int((~incomplete & ~tied).sum()),
            "incomplete": int(incomplete.sum()),
            "tied": int(tied.sum()),
        }
