"""Binary targets, into which rankings, chains of stages and classes are decomposed.

A ranking has one binary target per pair of labels (their order), a chain of stages one per pair of stages
(whether a row at the earlier stage reaches the later one), and a class target one per class. A feature is
scored against all of them with a single sort (`symscreen.statistics.ranks.t0`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class BinaryTargets:
    """P binary targets of n rows, in ascending order of the number of observed rows.

    Parameters
    ----------
    signs : int8 array, shape (P, n)
        −1 or 1; both occur in each target. 0 if the row is not observed.
    n_observed : int64 array, shape (P,)
        n_p, the number of observed rows; ascending.
    n_opposite_pairs : int64 array, shape (P,)
        n_p⁺·n_p⁻, the number of pairs of observed rows with opposite signs.
    weights : float64 array, shape (P,)
        ω_p > 0, the weight of each observed row of the target.
    indices : int64 array, shape (P,)
        Index of each target in the original list.
    code_gap : float
        Difference between the two values of a target in scores: 2 for −1 and 1, 1 for 0 and 1.
    """

    signs: NDArray[np.int8]
    n_observed: NDArray[np.int64]
    n_opposite_pairs: NDArray[np.int64]
    weights: NDArray[np.float64]
    indices: NDArray[np.int64]
    code_gap: float = 2.0

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.signs.shape[1])


def build_binary_targets(
    signs: NDArray[np.int8], weights: NDArray[np.float64] | None = None, code_gap: float = 2.0
) -> BinaryTargets:
    """Select the informative binary targets: those with both signs and a positive weight.

    Parameters
    ----------
    signs : int8 array, shape (P, n)
        −1 or 1; 0 if the row is not observed.
    weights : float64 array, shape (P,), optional
        Weight of each row of a target, ≥ 0; 1 by default.
    code_gap : float
        Difference between the two values of a target, see `BinaryTargets`.

    Returns
    -------
    BinaryTargets

    Examples
    --------
    >>> targets = build_binary_targets(np.array([[1, 1, -1], [1, -1, 0], [1, 1, 0]], dtype=np.int8))
    >>> targets.signs.tolist(), targets.n_observed.tolist(), targets.indices.tolist()
    ([[1, -1, 0], [1, 1, -1]], [2, 3], [1, 0])
    """
    all_weights = np.ones(len(signs)) if weights is None else weights
    n_positive, n_negative = (signs > 0).sum(axis=1), (signs < 0).sum(axis=1)
    order = np.lexsort((all_weights, n_positive + n_negative))
    order = order[(n_positive * n_negative * (all_weights > 0))[order] > 0]
    return BinaryTargets(
        signs=np.ascontiguousarray(signs[order]),
        n_observed=(n_positive + n_negative)[order],
        n_opposite_pairs=(n_positive * n_negative)[order],
        weights=all_weights[order],
        indices=order,
        code_gap=code_gap,
    )
