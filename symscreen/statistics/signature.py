"""Signatures by which features that a statistic cannot tell apart are recognised without keeping them.

Rank statistics see ranks only: features with the same ranks, or the mirrored ones where the sign is free,
form a rank class. Pearson's correlation sees a feature up to an affine map.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.correlation import correlations
from symscreen.statistics.runs import rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.statistics.order import Ordered

    Flags = NDArray[np.bool_]
    Rows = NDArray[np.int32]
    Values = NDArray[np.float64]
    Weights = NDArray[np.uint64]

__all__ = ["affine_signatures", "rank_signatures"]

_AFFINE_STEP = 1e-9  # two affine copies agree to about 1e-15, so a step is straddled once in a million


@lru_cache(maxsize=8)  # the same for every block of features
def _weights(n: int, purpose: int) -> NDArray[np.uint64]:
    # the sequence of splitmix64: fixed, of good quality, and the same on every platform
    state = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(purpose)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def rank_signatures(ordered: Ordered, *, mirrored: bool) -> NDArray[np.uint64]:
    """Sign each feature by its ranks.

    Parameters
    ----------
    ordered : Ordered
        m features over n rows.
    mirrored : bool
        Whether a feature and one with the mirrored order shall have one signature.

    Returns
    -------
    uint64 array, shape (m,)
        Equal for equal ranks; for others equal with probability near 2⁻⁶⁰, for it is a random linear form
        of the ranks modulo 2⁶⁴.
    """
    weights = _weights(ordered.values.shape[1], 0)
    signatures = np.empty(len(ordered.values), dtype=np.uint64)
    _sum_up(ordered.order, ordered.values, ordered.tied, weights, signatures)
    return np.minimum(signatures, ~signatures + np.uint64(1)) if mirrored else signatures


@kernel
def _sum_up(order: Rows, values: Values, tied: Flags, weights: Weights, signatures: Weights) -> None:
    """Add up, modulo 2⁶⁴, the weights of the rows times twice their ranks less n + 1."""
    m, n = order.shape
    doubled = np.empty(n, dtype=np.int32)
    for f in range(m):
        rows = order[f]
        total = np.uint64(0)
        if tied[f]:
            rank(rows, values[f], doubled)
            for i in range(n):
                total += weights[i] * np.uint64(np.int64(doubled[i]) - (n + 1))
        else:
            for k in range(n):
                total += weights[np.uint32(rows[k])] * np.uint64(np.int64(2 * k + 1 - n))
        signatures[f] = total


def affine_signatures(values: NDArray[np.float64], *, mirrored: bool) -> NDArray[np.uint64]:
    """Sign each feature up to an affine map z ↦ a·z + b: a > 0, or a ≠ 0 where mirrored.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        Features.
    mirrored : bool
        Whether a may be negative.

    Returns
    -------
    uint64 array, shape (m,)
        From the correlations with two fixed random columns, to nine digits.
    """
    n = values.shape[1]
    probes = [_weights(n, purpose).astype(np.float64) / 2.0**64 for purpose in (1, 2)]
    first, second = (np.rint(correlations(values, probe) / _AFFINE_STEP).astype(np.int64) for probe in probes)
    if mirrored:
        turn = np.where(first < 0, -1, 1)
        first, second = first * turn, second * turn
    return (first.astype(np.uint64) << np.uint64(32)) ^ (second.astype(np.uint64) & np.uint64(0xFFFFFFFF))
