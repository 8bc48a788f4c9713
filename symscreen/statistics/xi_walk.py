"""Σ |r_{k+1} − r_k| over random orders of the rows: all of them, plain ones, and walks under a tilt."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.chance import below, started, uniform

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    State = NDArray[np.uint64]
    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["draw", "enumerate_all", "walker"]

_ALIKE = 4  # moves a row until a walk has forgotten where it was
_EVERY, _NOTES_A_ROW = 25, 8  # a walk notes where it is after 25 moves, or an eighth of the rows


def enumerate_all(r: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return Q = Σ |r_{k+1} − r_k| of all n! orders; n ≤ 9.

    Parameters
    ----------
    r : int64 array, shape (n,)
        In any order.

    Returns
    -------
    int64 array, shape (n!,)
        In no order.
    """
    found = np.empty(math.factorial(len(r)), dtype=np.int64)
    _enumerate(r.copy(), found)
    return found


def draw(r: NDArray[np.int64], count: int, key: tuple[int, ...]) -> NDArray[np.int64]:
    """Return Q of random orders.

    Parameters
    ----------
    r : int64 array, shape (n,)
        In any order.
    count : int
        Orders.
    key : tuple of int
        The seed.

    Returns
    -------
    int64 array, shape (count,)
        In no order.
    """
    found = np.empty(count, dtype=np.int64)
    _draw(r.copy(), started(*key), found)
    return found


def walker(
    r: NDArray[np.int64], mean: float, deviation: float, moves: int, key: tuple[int, ...]
) -> tuple[Callable[[float], Values], float]:
    """Prepare walks among orders under tilts, for `symscreen.statistics.umbrella.tilted`.

    Parameters
    ----------
    r : int64 array, shape (n,)
        In the order where the first walk starts.
    mean, deviation : float
        Of Q over all orders.
    moves : int
        Of each walk.
    key : tuple of int
        The seed.

    Returns
    -------
    walk : callable
        A tilt to the (mean − Q) / deviation noted on the way.
    worth : float
        How many independent ones a noted one is worth.
    """
    state, order = started(*key), r.copy()
    n = len(order)
    every = max(_EVERY, n // _NOTES_A_ROW)

    def walk(tilt: float) -> Values:
        found = np.empty(moves // every, dtype=np.int64)
        _climb(order, tilt / deviation, every, state, found)
        return np.asarray((mean - found) / deviation)

    return walk, min(every / (_ALIKE * n), 1.0)


@kernel
def _steps(r: Whole) -> np.int64:
    total = np.int64(0)
    for k in range(r.size - 1):
        total += abs(r[k + 1] - r[k])
    return total


@kernel
def _enumerate(r: Whole, found: Whole) -> None:
    """Sum over all orders, by the algorithm of Heap (1963)."""
    n = r.size
    counters = np.zeros(n, dtype=np.int64)
    found[0] = _steps(r)
    done = 1
    i = 0
    while i < n:
        if counters[i] < i:
            j = 0 if i % 2 == 0 else counters[i]
            r[i], r[j] = r[j], r[i]
            found[done] = _steps(r)
            done += 1
            counters[i] += 1
            i = 0
        else:
            counters[i] = 0
            i += 1


@kernel
def _draw(r: Whole, state: State, found: Whole) -> None:
    n = r.size
    for note in range(found.size):
        before = np.int64(0)
        total = np.int64(0)
        for k in range(n):
            j = k + below(state, n - k)
            value = r[j]
            r[j] = r[k]
            r[k] = value
            if k > 0:
                total += abs(value - before)
            before = value
        found[note] = total


@kernel
def _around(r: Whole, k: int) -> np.int64:
    """Return the steps that touch a place."""
    total = np.int64(0)
    if k > 0:
        total += abs(r[k] - r[k - 1])
    if k < r.size - 1:
        total += abs(r[k + 1] - r[k])
    return total


@kernel
def _climb(r: Whole, strength: float, every: int, state: State, found: Whole) -> None:
    """Walk among orders whose chance is in proportion to exp(−strength · Q), by swaps of two places."""
    n = r.size
    total = _steps(r)
    for note in range(found.size):
        for _ in range(every):
            i, j = below(state, n), below(state, n)
            if r[i] == r[j]:
                continue
            # a step between the two places is the same before and after, so that counting it twice cancels
            before = _around(r, i) + _around(r, j)
            r[i], r[j] = r[j], r[i]
            gain = before - _around(r, i) - _around(r, j)
            if gain >= 0 or uniform(state) < math.exp(strength * gain):
                total -= gain
            else:
                r[i], r[j] = r[j], r[i]
        found[note] = total
