"""A response that is a ranking, and the pairs of labels that rank statistics compare features with.

For every pair of labels the sign of their order is a binary response of the rows that show both labels and do
not tie them: those count for the pair. Which of the two labels comes first, and so whether ranks or scores
were given, decides only the sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from symscreen.errors import TableError, printable
from symscreen.label_ranking import Rankings, pair_signs
from symscreen.once import once
from symscreen.response.binary import BinaryResponses, binary_responses

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response import Kind

__all__ = ["RankingResponse"]


@dataclass(frozen=True, eq=False)
class RankingResponse:
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
    >>> from symscreen.label_ranking import read_rankings
    >>> y = RankingResponse(read_rankings(["a>b>c", "b>a", "a=c>b"]), "taste")
    >>> y.binary.signs.tolist(), y.binary.counted.tolist()
    ([[-1, 0, 1], [-1, 1, -1]], [2, 3])
    >>> y.counts
    {'complete': 1, 'incomplete': 1, 'tied': 1}
    """

    rankings: Rankings
    name: str = "y"
    kind: ClassVar[Kind] = "ranking"

    def __post_init__(self) -> None:
        shown, k = printable(repr(self.name)), len(self.rankings.labels)
        if k < 2 or self.n < 2:
            raise TableError(
                f"the ranking {shown} has {self.n} rows that rank {k} label{'' if k == 1 else 's'}: at least "
                "2 rows and 2 labels are needed"
            )
        if not len(self.binary.counted):
            raise TableError(
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

    @once
    def binary(self) -> BinaryResponses:
        """The pairs that some rows order one way and others the other; others cannot tell features apart."""
        return binary_responses(pair_signs(self.ranks).T)

    @once
    def counts(self) -> dict[str, int]:
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
