"""What values tell: features that are constant, undefined, or equal to one another up to rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Numbers = NDArray[np.int64]
    Values = NDArray[np.float64]

__all__ = [
    "CONSTANT_TOLERANCE",
    "constant",
    "copies_among",
    "equal_to_rounding",
    "numeric_copies",
    "only_rounding",
    "projection",
    "sift_by_ends",
]

# a few operators leave a few units of rounding, 2.2e-16 of the largest value each; what varies less is noise
CONSTANT_TOLERANCE = 64 * float(np.finfo(np.float64).eps)
_EQUAL_TO_LARGEST = 1e-13
_EQUAL_TO_EACH = 1e-9
_AT_A_TIME = 1 << 17  # values of features, or of pairs of them, looked at together


def constant(
    low: NDArray[np.float64], high: NDArray[np.float64], scale: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Say which features are constant up to rounding.

    Parameters
    ----------
    low, high : float64 arrays, shape (m,)
        The smallest and largest value of each.
    scale : float64 array, shape (m,)
        The largest magnitude that went into each.

    Returns
    -------
    bool array, shape (m,)
    """
    return np.asarray(high - low <= CONSTANT_TOLERANCE * scale)


@kernel
def sift_by_ends(
    low: Values, high: Values, size: Values, cancels: bool, good: Flags, suspect: Flags
) -> tuple[int, int, int]:
    """Say by their least and largest values which new features are finite and not constant.

    Parameters
    ----------
    low, high : float64 arrays, shape (m,)
        The smallest and largest value of each; one is not finite where the feature is undefined.
    size : float64 array, shape (m,)
        The largest magnitude that went into each; read only where terms may cancel.
    cancels : bool
        Whether the operator's terms may cancel, so that what is left may be rounding.
    good, suspect : bool arrays, shape (m,)
        Filled: which are finite and vary by more than their own rounding, and which of these vary by no more
        than that of their terms.

    Returns
    -------
    undefined, still, suspects : int
        How many are undefined, constant, and suspected of being rounding.
    """
    undefined = still = suspects = 0
    for f in range(low.size):
        good[f] = suspect[f] = False
        least, largest = low[f], high[f]
        if not (np.isfinite(least) and np.isfinite(largest)):
            undefined += 1
        elif largest - least <= CONSTANT_TOLERANCE * max(abs(least), abs(largest)):
            still += 1
        else:
            good[f] = True
            if cancels and largest - least <= CONSTANT_TOLERANCE * size[f]:
                suspect[f] = True
                suspects += 1
    return undefined, still, suspects


def only_rounding(values: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say which sums and differences are a constant and, row by row, the rounding of what they were taken of.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        The sums or differences.
    scale : float64 array, shape (m, n)
        The larger magnitude of the two terms in each row.

    Returns
    -------
    bool array, shape (m,)
        A single row of huge terms does not make the others noise.

    Examples
    --------
    >>> values = np.array([[1e-16, 0.0, -1e-16], [0.5, 0.0, -0.25]])
    >>> only_rounding(values, np.array([[1.0, 2.0, 1.0], [1.0, 1e20, 1.0]])).tolist()
    [True, False]
    """
    surest = np.take_along_axis(values, scale.argmin(axis=1)[:, None], axis=1)
    noise = CONSTANT_TOLERANCE * (scale + np.abs(surest))
    return np.asarray((np.abs(values - surest) <= noise).all(axis=1))


def equal_to_rounding(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say of each pair of rows whether they are the same feature up to rounding.

    Every difference must be below 1e-13 of the largest value, and below 1e-9 of the pair itself, so that a
    feature of very wide range keeps its small values.

    Parameters
    ----------
    a, b : float64 arrays, shape (m, n)

    Returns
    -------
    bool array, shape (m,)

    Examples
    --------
    >>> a = np.array([[1.0, 1e-6], [1.0, 2.0]])
    >>> equal_to_rounding(a, np.array([[1.0, 1e-6 + 1e-14], [1.0, 2.0 + 1e-15]])).tolist()
    [False, True]
    """
    size = np.maximum(np.abs(a), np.abs(b))
    with np.errstate(over="ignore"):
        gap = np.abs(a - b)
    largest = size.max(axis=1, keepdims=True)
    return np.asarray(((gap <= _EQUAL_TO_LARGEST * largest) & (gap <= _EQUAL_TO_EACH * size)).all(axis=1))


def numeric_copies(values: NDArray[np.float64], preference: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find features that repeat another one up to rounding.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        Features; finite.
    preference : int64 array, shape (q,)
        The lower, the sooner a feature is the one kept; all different.

    Returns
    -------
    int64 array, shape (q,)
        For each feature the place of the one that stands for it, its own where it is kept.
    """
    return copies_among(projection(values), values.__getitem__, values.shape[1], preference)


def copies_among(
    line: NDArray[np.float64],
    values_at: Callable[[NDArray[np.int64]], NDArray[np.float64]],
    n: int,
    preference: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Find copies as `numeric_copies` does, where values can be had of some features at a time.

    Parameters
    ----------
    line : float64 array, shape (q,)
        What `projection` makes of the features.
    values_at : callable
        Places, an int64 array of shape (m,), to the values there, shape (m, n); asked for features that stand
        close together only.
    n : int
        Rows.
    preference : int64 array, shape (q,)
        As of `numeric_copies`.

    Returns
    -------
    int64 array, shape (q,)
        As of `numeric_copies`.
    """
    stands_for = np.arange(len(line))
    for one, other in _near_pairs(line, n):
        apart = np.flatnonzero(stands_for[one] != stands_for[other])
        if not len(apart):
            continue
        same = apart[equal_to_rounding(values_at(one[apart]), values_at(other[apart]))]
        for a, b in zip(one[same].tolist(), other[same].tolist(), strict=True):
            roots = _root(stands_for, a), _root(stands_for, b)
            kept, lost = sorted(roots, key=lambda place: int(preference[place]))
            stands_for[lost] = kept
        while same.size and (stands_for != stands_for[stands_for]).any():
            stands_for = stands_for[stands_for]
    return stands_for


def _root(stands_for: NDArray[np.int64], place: int) -> int:
    while stands_for[place] != place:
        place = int(stands_for[place])
    return place


def _near_pairs(line: NDArray[np.float64], n: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Pair all features that may be equal to rounding, and few others, some pairs at a time."""
    order = np.argsort(line, kind="stable")
    place = line[order]
    near, lag = np.arange(len(order)), 1
    while near.size:
        near = near[near + lag < len(order)]
        near = near[place[near + lag] - place[near] <= 2 * _EQUAL_TO_EACH]
        for some in _in_parts(near, n):
            yield order[some], order[some + lag]
        lag += 1


def projection(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put features on a line so that those equal up to rounding, and few others, stand close together.

    Such features have signs in common, and logarithms within 1e-9 of each other, row by row. So have their
    weighted means, whatever the range of the values is.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        Features; finite.

    Returns
    -------
    float64 array, shape (q,)
        A feature's place does not depend on the others.
    """
    q, n = values.shape
    weights = (0.5 + np.modf(np.arange(1, n + 1) * 0.6180339887498949)[0]) / n
    found = np.empty(q)
    for some in _in_parts(np.arange(q), n):
        size = np.abs(values[some])
        size[size == 0] = 1.0
        found[some] = ((np.log(size) + np.sign(values[some])) * weights).sum(axis=1)
    return found


def _in_parts(places: NDArray[np.int64], n: int) -> Iterator[NDArray[np.int64]]:
    step = max(1, _AT_A_TIME // n)
    return (places[first : first + step] for first in range(0, len(places), step))
