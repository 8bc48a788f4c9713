"""T0 against rankings: for every feature the sign-free T0 of all pairs of labels, from one sort.

The order of a pair p of labels is a response y_r = ±1 on its n_p rows that show both and do not tie them.
With ranks R among these rows, T0 of `symscreen.statistics.t0` is there::

    T0_p(θ) = Δ_p − 2 S_p / (n_p(n_p − 1)),    S_p = Σ_r y_r (2 R_r(θ) − (n_p + 1))
    Δ_p     = 4 n_p⁺ n_p⁻ / (n_p(n_p − 1))

S_p is a Mann–Whitney count: twice the pairs of rows with different signs that the feature orders as y does,
less those that it orders the other way, ties counting nothing. Which label of a pair comes first is a matter
of names, so a feature is given the smaller of T0_p and 2Δ_p − T0_p, which is Δ_p − 2|S_p|/(n_p(n_p − 1)). Its
score is their mean over pairs, weighted by w_p = n_p/n, the share of rows that count for the pair::

    T0(θ) = Σ_p w_p min(T0_p, 2Δ_p − T0_p) / Σ_p w_p = Δ − Σ_p 2|S_p| / ((n_p − 1) Σ_q n_q)

with Δ = Σ_p w_p Δ_p / Σ_p w_p. A pair that all rows order in one way is left out: it cannot tell features
apart. All |S_p| are whole numbers, and those of pairs with one n_p are summed as such: neither the order of
the rows nor the names of the labels change a bit.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.lanes import LANES, dot_in_lanes
from symscreen.statistics.runs import rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.ranking_response import RankingResponse
    from symscreen.statistics.order import Ordered

    Counts = NDArray[np.int32] | NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Rows = NDArray[np.int32]
    Signs = NDArray[np.int8]
    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["mean_gini_difference", "pair_metric"]

_FEW_ROWS = 30_000  # up to which |S_p| < n² fits 32 bits


def pair_metric(ordered: Ordered, response: RankingResponse) -> NDArray[np.float64]:
    """Compute Δ − T0(θ) of each feature of a block.

    Parameters
    ----------
    ordered : Ordered
        m features over the response's n rows.
    response : RankingResponse
        The response.

    Returns
    -------
    float64 array, shape (m,)
        In [0, Δ]: Δ where a feature orders the rows as every pair does, or as its reverse does. The same for
        mirrored ranks.
    """
    counted, parted = response.pairs.counted, _parted(response)
    room = np.zeros((4, parted.part.shape[1]), dtype=parted.part.dtype)
    out = np.empty(len(ordered.order))
    _kernel(ordered.order, ordered.values, ordered.tied, *parted, counted, _factors(counted), room, out)
    return out


def mean_gini_difference(response: RankingResponse) -> float:
    """Compute Δ, the mean over pairs of labels of Gini's mean difference of their signs, by their weights.

    Parameters
    ----------
    response : RankingResponse
        The response.

    Returns
    -------
    float
        Δ in (0, 2]; T0 lies in [0, Δ], and is near Δ under independence.
    """
    counted, either = response.pairs.counted, response.pairs.either
    factors, total = _factors(counted), 0.0
    for count in np.unique(counted):  # summed as the kernel sums: a feature without fault has T0 = 0
        chosen = counted == count
        total += float(factors[chosen][0]) * float(2 * either[chosen].sum())
    return total


def _factors(counted: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return w_p · 2/(n_p(n_p − 1)) / Σ_q w_q = 2 / ((n_p − 1) Σ_q n_q)."""
    return np.asarray(2.0 / ((counted - 1.0) * float(counted.sum())))


class _Parted(NamedTuple):
    """The signs of pairs that count in all rows, and of the others."""

    whole: Signs  # (W, n)
    part: Counts  # (n, U): filled up to whole lanes with pairs for which no row counts
    totals: Whole  # (P − W,): the sums of signs over rows


@lru_cache(maxsize=4)  # the same for every block of features
def _parted(response: RankingResponse) -> _Parted:
    signs, n = response.pairs.signs, response.n
    count = int(np.searchsorted(response.pairs.counted, n))
    part = np.zeros((n, -(-count // LANES) * LANES), dtype=np.int32 if n <= _FEW_ROWS else np.int64)
    part[:, :count] = signs[:count].T
    return _Parted(signs[count:], part, signs[:count].sum(axis=1, dtype=np.int64))


@kernel
def _kernel(
    order: Rows,
    values: Values,
    tied: Flags,
    whole: Signs,
    part: Counts,
    totals: Whole,
    counted: Whole,
    factors: Values,
    room: Counts,
    out: Values,
) -> None:
    m, n = order.shape
    doubled = np.empty(n, dtype=np.int32)  # twice the ranks, less n + 1
    sizes = np.empty(counted.size, dtype=np.int64)  # |S_p|
    parts = counted.size - len(whole)
    for f in range(m):
        rows = order[f]
        if tied[f]:
            rank(rows, values[f], doubled)
            for i in range(n):
                doubled[i] -= np.int32(n + 1)
        elif len(whole):
            for k in range(n):
                doubled[np.uint32(rows[k])] = np.int32(2 * k + 1 - n)
        for p in range(len(whole)):  # whole numbers below 2⁵³: their sum is exact in any order
            sizes[parts + p] = abs(int(dot_in_lanes(whole[p], doubled, 0, n)))
        if parts:
            if tied[f]:
                _count_tied(rows, doubled, part, room)
            else:
                _count(rows, part, room)
            for p in range(parts):
                sizes[p] = abs(2 * np.int64(room[0, p]) - (counted[p] - 1) * totals[p])
        out[f] = _weighted(sizes, counted, factors)


@kernel
def _count(rows: Rows, part: Counts, room: Counts) -> None:
    """Sum y_r times the number of rows before r that count, over the rows of every pair."""
    concordant, before = room[0], room[1]
    room[:] = 0
    for row in rows:
        signs = part[np.uint32(row)]
        for p in range(signs.size):
            sign = signs[p]
            concordant[p] += sign * before[p]
            before[p] += sign * sign


@kernel
def _count_tied(rows: Rows, doubled: Rows, part: Counts, room: Counts) -> None:
    """Do the same where rows are tied: half of the other rows of a run count as standing before one of it."""
    concordant, before, run_signs, run_count = room[0], room[1], room[2], room[3]
    room[:] = 0
    for k in range(rows.size):
        signs = part[np.uint32(rows[k])]
        for p in range(signs.size):
            sign = signs[p]
            run_signs[p] += sign
            run_count[p] += sign * sign
        if k + 1 < rows.size and doubled[rows[k + 1]] == doubled[rows[k]]:
            continue
        for p in range(signs.size):
            # the sum of signs and their number are both odd or both even: the half is whole
            concordant[p] += run_signs[p] * before[p] + run_signs[p] * (run_count[p] - 1) // 2
            before[p] += run_count[p]
            run_signs[p], run_count[p] = 0, 0


@kernel
def _weighted(sizes: Whole, counted: Whole, factors: Values) -> float:
    """Sum factors times sizes, the sizes of pairs with one factor as whole numbers."""
    result, total = 0.0, np.int64(0)
    for p in range(sizes.size):
        total += sizes[p]
        if p + 1 == sizes.size or counted[p + 1] != counted[p]:
            result += factors[p] * float(total)
            total = np.int64(0)
    return result
