"""T0 against several binary responses: for every feature the sign-free T0 of all of them, from one sort.

A binary response p is y_r = ±1 on the n_p rows that count for it: the order of two labels, where a row
ranks both and does not tie them; or whether a row that is at one stage reaches a later one. With ranks R
among these rows, T0 of `symscreen.statistics.t0` is there::

    T0_p(θ) = Δ_p − 2 S_p / (n_p(n_p − 1)),    S_p = Σ_r y_r (2 R_r(θ) − (n_p + 1))
    Δ_p     = 4 n_p⁺ n_p⁻ / (n_p(n_p − 1))

Where the two values are taken to be 0 and 1, as of a class, all of these are half of that (`apart` = 1).
S_p is a Mann–Whitney count: twice the pairs of rows with different signs that the feature orders as y does,
less those that it orders the other way, ties counting nothing. For each response a feature is given the
smaller of T0_p and 2Δ_p − T0_p, which is Δ_p − 2|S_p|/(n_p(n_p − 1)). Its score is their mean, weighted by
w_p = ω_p n_p/n, the share of rows that count, times what such a row weighs::

    T0(θ) = Σ_p w_p min(T0_p, 2Δ_p − T0_p) / Σ_p w_p = Δ − Σ_p 2ω_p|S_p| / ((n_p − 1) Σ_q ω_q n_q)

with Δ = Σ_p w_p Δ_p / Σ_p w_p. In terms of the areas A_p under the curves, 1 − T0(θ)/Δ is the mean of
|2A_p − 1| with weights ω_p n_p⁺n_p⁻/(n_p − 1): for equal ω_p each as good as weighed by the inverse of its
variance under independence, (n_p + 1)/(3 n_p⁺n_p⁻). A response with one sign is left out: it cannot tell
features apart. All |S_p| are whole numbers, and those with one factor are summed as such: neither the
order of the rows nor that of responses which weigh alike changes a bit.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.lanes import LANES, dot_in_lanes
from symscreen.statistics.runs import rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response.binary import BinaryResponses
    from symscreen.statistics.order import Ordered

    Counts = NDArray[np.int32] | NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Rows = NDArray[np.int32]
    Signs = NDArray[np.int8]
    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["agreed_direction", "binary_metric", "mean_gini_difference"]

_FEW_ROWS = 30_000  # up to which |S_p| < n² fits 32 bits


def binary_metric(ordered: Ordered, responses: BinaryResponses) -> NDArray[np.float64]:
    """Compute Δ − T0(θ) of each feature of a block.

    Parameters
    ----------
    ordered : Ordered
        m features over the n rows.
    responses : BinaryResponses
        Of these rows, at least one.

    Returns
    -------
    float64 array, shape (m,)
        In [0, Δ]: Δ where a feature orders the rows as every response does, or as its reverse does. The same
        for mirrored ranks.
    """
    out = np.empty(len(ordered.order))
    _metrics(
        ordered.order,
        ordered.values,
        ordered.tied,
        *_parted(responses),
        responses.counted,
        _factors(responses),
        out,
    )
    return out


def agreed_direction(ordered: Ordered, responses: BinaryResponses) -> NDArray[np.int8]:
    """Tell whether each feature of a block rises, or falls, with all the responses.

    Parameters
    ----------
    ordered, responses
        As of `binary_metric`.

    Returns
    -------
    int8 array, shape (m,)
        1 where no S_p is negative, −1 where none is positive, 0 where responses disagree or all S_p are 0.
    """
    out = np.empty(len(ordered.order), dtype=np.int8)
    _directions(ordered.order, ordered.values, ordered.tied, *_parted(responses), responses.counted, out)
    return out


def mean_gini_difference(responses: BinaryResponses) -> float:
    """Compute Δ, the mean of Gini's mean difference of the responses, by their weights.

    Parameters
    ----------
    responses : BinaryResponses
        At least one.

    Returns
    -------
    float
        Δ in (0, 2]; T0 lies in [0, Δ], and is near Δ under independence.
    """
    # summed as the kernel sums: a feature without fault has |S_p| = 2 n_p⁺n_p⁻ and T0 = 0
    return float(_weighted(2 * responses.either, _factors(responses)))


def _factors(responses: BinaryResponses) -> NDArray[np.float64]:
    """Return w_p · 2/(n_p(n_p − 1)) / Σ_q w_q = 2ω_p / ((n_p − 1) Σ_q ω_q n_q); 2 is how far ±1 are apart."""
    weights, counted = responses.weights, responses.counted
    return np.asarray(responses.apart * weights / ((counted - 1.0) * math.fsum(weights * counted)))


class _Parted(NamedTuple):
    """The signs of responses that count in all rows, and of the others."""

    whole: Signs  # (W, n)
    part: Counts  # (n, U): filled up to whole lanes with responses for which no row counts
    totals: Whole  # (P − W,): the sums of signs over rows


@lru_cache(maxsize=4)  # the same for every block of features
def _parted(responses: BinaryResponses) -> _Parted:
    signs, n = responses.signs, responses.n
    count = int(np.searchsorted(responses.counted, n))
    part = np.zeros((n, -(-count // LANES) * LANES), dtype=np.int32 if n <= _FEW_ROWS else np.int64)
    part[:, :count] = signs[:count].T
    return _Parted(signs[count:], part, signs[:count].sum(axis=1, dtype=np.int64))


@kernel
def _metrics(
    order: Rows,
    values: Values,
    tied: Flags,
    whole: Signs,
    part: Counts,
    totals: Whole,
    counted: Whole,
    factors: Values,
    out: Values,
) -> None:
    doubled = np.empty(order.shape[1], dtype=np.int32)
    room = np.zeros((4, part.shape[1]), dtype=part.dtype)
    sums = np.empty(counted.size, dtype=np.int64)
    for f in range(len(order)):
        _add_up(order[f], values[f], tied[f], whole, part, totals, counted, doubled, room, sums)
        for p in range(sums.size):
            sums[p] = abs(sums[p])
        out[f] = _weighted(sums, factors)


@kernel
def _directions(
    order: Rows,
    values: Values,
    tied: Flags,
    whole: Signs,
    part: Counts,
    totals: Whole,
    counted: Whole,
    out: Signs,
) -> None:
    doubled = np.empty(order.shape[1], dtype=np.int32)
    room = np.zeros((4, part.shape[1]), dtype=part.dtype)
    sums = np.empty(counted.size, dtype=np.int64)
    for f in range(len(order)):
        _add_up(order[f], values[f], tied[f], whole, part, totals, counted, doubled, room, sums)
        rises, falls = sums.max() > 0, sums.min() < 0
        out[f] = np.int8(rises) - np.int8(falls)


@kernel
def _add_up(
    rows: Rows,
    values: Values,
    tied: bool,
    whole: Signs,
    part: Counts,
    totals: Whole,
    counted: Whole,
    doubled: Rows,
    room: Counts,
    sums: Whole,
) -> None:
    """Compute all S_p of a feature."""
    n, parts = rows.size, counted.size - len(whole)
    if tied:
        rank(rows, values, doubled)
        for i in range(n):
            doubled[i] -= np.int32(n + 1)  # twice the ranks, less n + 1
    elif len(whole):
        for k in range(n):
            doubled[np.uint32(rows[k])] = np.int32(2 * k + 1 - n)
    for p in range(len(whole)):  # whole numbers below 2⁵³: their sum is exact in any order
        sums[parts + p] = int(dot_in_lanes(whole[p], doubled, 0, n))
    if parts:
        if tied:
            _count_tied(rows, doubled, part, room)
        else:
            _count(rows, part, room)
        for p in range(parts):
            sums[p] = 2 * np.int64(room[0, p]) - (counted[p] - 1) * totals[p]


@kernel
def _count(rows: Rows, part: Counts, room: Counts) -> None:
    """Sum y_r times the number of rows before r that count, over the rows of every response."""
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
def _weighted(sizes: Whole, factors: Values) -> float:
    """Sum factors times sizes, the sizes with one factor as whole numbers."""
    result, total = 0.0, np.int64(0)
    for p in range(sizes.size):
        total += sizes[p]
        if p + 1 == sizes.size or factors[p + 1] != factors[p]:
            result += factors[p] * float(total)
            total = np.int64(0)
    return result
