"""Several binary responses at once, each of the rows that count for it: what rankings and stages come to.

Of a ranking it is the order of each pair of labels; of a chain of stages, whether a row that is at one stage
reaches a later one. A feature is scored against all of them from one sort (`symscreen.statistics.ranks.t0`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["BinaryTargets", "build_binary_targets"]


@dataclass(frozen=True, eq=False)
class BinaryTargets:
    """P binary responses of n rows, those for which fewer rows count first.

    Parameters
    ----------
    signs : int8 array, shape (P, n)
        −1 and 1, both of them in each row; 0 where a row does not count.
    counted : int64 array, shape (P,)
        n_p, how many rows count; ascending.
    either : int64 array, shape (P,)
        n_p⁺·n_p⁻, in how many pairs of these rows the signs differ.
    weights : float64 array, shape (P,)
        ω_p > 0, what each of these rows weighs.
    places : int64 array, shape (P,)
        Which of the responses that were given each is.
    apart : float
        How far apart the two values of a response are taken to be in scores: 2 for −1 and 1, 1 for 0 and 1.
    """

    signs: NDArray[np.int8]
    n_observed: NDArray[np.int64]
    n_opposite_pairs: NDArray[np.int64]
    weights: NDArray[np.float64]
    indices: NDArray[np.int64]
    code_gap: float = 2.0

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.signs.shape[1])


def build_binary_targets(
    signs: NDArray[np.int8], weights: NDArray[np.float64] | None = None, code_gap: float = 2.0
) -> BinaryTargets:
    """Take the responses that can tell features apart: those with both signs, and a weight.

    Parameters
    ----------
    signs : int8 array, shape (P, n)
        −1 and 1; 0 where a row does not count.
    weights : float64 array, shape (P,), optional
        What each row of a response weighs, ≥ 0; 1 by default.
    apart : float
        As of `BinaryTargets`.

    Returns
    -------
    BinaryResponses

    Examples
    --------
    >>> both = build_binary_targets(np.array([[1, 1, -1], [1, -1, 0], [1, 1, 0]], dtype=np.int8))
    >>> both.signs.tolist(), both.n_observed.tolist(), both.places.tolist()
    ([[1, -1, 0], [1, 1, -1]], [2, 3], [1, 0])
    """
    asked = np.ones(len(signs)) if weights is None else weights
    above, below = (signs > 0).sum(axis=1), (signs < 0).sum(axis=1)
    order = np.lexsort((asked, above + below))
    order = order[(above * below * (asked > 0))[order] > 0]
    return BinaryTargets(
        signs=np.ascontiguousarray(signs[order]),
        n_observed=(above + below)[order],
        n_opposite_pairs=(above * below)[order],
        weights=asked[order],
        indices=order,
        code_gap=code_gap,
    )
