"""What values tell: features that are constant, undefined, or equal to one another up to rounding.

What is learnt of features where all their values are at hand, and kept when the values are not.

Candidates proved to be of use from a few rows and from what is known of their arguments.

A candidate that stands for others must be defined in every row, and vary. Where its size is bounded by the
sizes of its arguments it cannot overflow, and values that differ in a few rows by more than rounding of that
bound differ. Most are proved so, without their values in the other rows.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen._numba import compile_kernel
from symscreen.grammar import is_in_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Values
    from symscreen.expansion.candidates import Candidates
    from symscreen.expansion.pool import Pool
    from symscreen.grammar import Domain


__all__ = [
    "CONSTANT_TOLERANCE",
    "FeatureStats",
    "compute_feature_stats",
    "compute_projection",
    "filter_by_range",
    "find_numeric_duplicates",
    "find_projected_duplicates",
    "is_cancellation_noise",
    "is_constant",
    "is_equal_to_rounding",
    "is_provably_valid",
]

# a few operators leave a few units of rounding, 2.2e-16 of the largest value each; what varies less is noise
CONSTANT_TOLERANCE = 64 * float(np.finfo(np.float64).eps)
_LARGEST_VALUE_TOLERANCE = 1e-13
_PAIR_TOLERANCE = 1e-9
_BATCH_VALUES = 1 << 17  # values of features, or of pairs of them, looked at together


def is_constant(
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


@compile_kernel
def filter_by_range(
    low: Values, high: Values, magnitude: Values, cancels: bool, valid: Flags, suspect: Flags
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
        valid[f] = suspect[f] = False
        least, largest = low[f], high[f]
        if not (np.isfinite(least) and np.isfinite(largest)):
            undefined += 1
        elif largest - least <= CONSTANT_TOLERANCE * max(abs(least), abs(largest)):
            still += 1
        else:
            valid[f] = True
            if cancels and largest - least <= CONSTANT_TOLERANCE * magnitude[f]:
                suspect[f] = True
                suspects += 1
    return undefined, still, suspects


def is_cancellation_noise(values: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.bool_]:
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
    >>> is_cancellation_noise(values, np.array([[1.0, 2.0, 1.0], [1.0, 1e20, 1.0]])).tolist()
    [True, False]
    """
    surest = np.take_along_axis(values, scale.argmin(axis=1)[:, None], axis=1)
    noise = CONSTANT_TOLERANCE * (scale + np.abs(surest))
    return np.asarray((np.abs(values - surest) <= noise).all(axis=1))


def is_equal_to_rounding(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.bool_]:
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
    >>> is_equal_to_rounding(a, np.array([[1.0, 1e-6 + 1e-14], [1.0, 2.0 + 1e-15]])).tolist()
    [False, True]
    """
    size = np.maximum(np.abs(a), np.abs(b))
    with np.errstate(over="ignore"):
        gap = np.abs(a - b)
    largest = size.max(axis=1, keepdims=True)
    return np.asarray(
        ((gap <= _LARGEST_VALUE_TOLERANCE * largest) & (gap <= _PAIR_TOLERANCE * size)).all(axis=1)
    )


def find_numeric_duplicates(values: NDArray[np.float64], preference: NDArray[np.int64]) -> NDArray[np.int64]:
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
    return find_projected_duplicates(
        compute_projection(values), values.__getitem__, values.shape[1], preference
    )


def find_projected_duplicates(
    projections: NDArray[np.float64],
    compute_values_at: Callable[[NDArray[np.int64]], NDArray[np.float64]],
    n: int,
    preference: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Find copies as `find_numeric_duplicates` does, where values can be had of some features at a time.

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
        As of `find_numeric_duplicates`.

    Returns
    -------
    int64 array, shape (q,)
        As of `find_numeric_duplicates`.
    """
    stands_for = np.arange(len(projections))
    for one, other in _find_near_pairs(projections, n):
        apart = np.flatnonzero(stands_for[one] != stands_for[other])
        if not len(apart):
            continue
        same = apart[is_equal_to_rounding(compute_values_at(one[apart]), compute_values_at(other[apart]))]
        for a, b in zip(one[same].tolist(), other[same].tolist(), strict=True):
            roots = _find_root(stands_for, a), _find_root(stands_for, b)
            kept, lost = sorted(roots, key=lambda place: int(preference[place]))
            stands_for[lost] = kept
        while same.size and (stands_for != stands_for[stands_for]).any():
            stands_for = stands_for[stands_for]
    return stands_for


def _find_root(representatives: NDArray[np.int64], index: int) -> int:
    while representatives[index] != index:
        index = int(representatives[index])
    return index


def _find_near_pairs(
    projections: NDArray[np.float64], n: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Pair all features that may be equal to rounding, and few others, some pairs at a time."""
    order = np.argsort(projections, kind="stable")
    place = projections[order]
    near, lag = np.arange(len(order)), 1
    while near.size:
        near = near[near + lag < len(order)]
        near = near[place[near + lag] - place[near] <= 2 * _PAIR_TOLERANCE]
        for some in _split_batches(near, n):
            yield order[some], order[some + lag]
        lag += 1


def compute_projection(values: NDArray[np.float64]) -> NDArray[np.float64]:
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
    for some in _split_batches(np.arange(q), n):
        size = np.abs(values[some])
        size[size == 0] = 1.0
        found[some] = ((np.log(size) + np.sign(values[some])) * weights).sum(axis=1)
    return found


def _split_batches(indices: NDArray[np.int64], n: int) -> Iterator[NDArray[np.int64]]:
    step = max(1, _BATCH_VALUES // n)
    return (indices[first : first + step] for first in range(0, len(indices), step))


_STATS_BATCH_VALUES = 1 << 17  # values looked at together


@dataclass(frozen=True, eq=False)
class FeatureStats:
    """Facts about features over all rows, one an entry of every array.

    Parameters
    ----------
    low, high : float64 arrays, shape (q,)
        The smallest and largest value.
    least : float64 array, shape (q,)
        The smallest magnitude.
    line : float64 array, shape (q,)
        Where `projection` puts the feature, so that copies are found.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    min_abs: NDArray[np.float64]
    projection: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.low)

    @lockfree_cached_property
    def max_abs(self) -> NDArray[np.float64]:
        """The largest magnitude of each feature's values, shape (q,)."""
        return np.asarray(np.maximum(-self.low, self.high))

    def take(self, indices: NDArray[np.int64]) -> FeatureStats:
        """Return what is learnt of the features at some places."""
        return FeatureStats(*(getattr(self, field.name)[indices] for field in fields(self)))

    def concatenate(self, *more: FeatureStats) -> FeatureStats:
        """Return this and what is learnt of more features behind these."""
        parts = (self, *more)
        return FeatureStats(
            *(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(self))
        )

    def is_in_domain(self, domain: Domain) -> NDArray[np.bool_]:
        """Say of each feature whether all its values lie in a domain; shape (q,).

        Examples
        --------
        >>> from symscreen.grammar import Domain
        >>> compute_feature_stats(np.array([[1.0, 2.0], [0.0, 0.5]])).within(Domain.NONZERO).tolist()
        [True, False]
        """
        # a domain is a range, maybe without 0: the ends, and 0 where it is a value, tell for all values
        telling = np.column_stack((self.low, self.high, np.where(self.min_abs == 0, 0.0, self.high)))
        return is_in_domain(telling, domain)


def compute_feature_stats(values: NDArray[np.float64]) -> FeatureStats:
    """Learn from values.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        One feature a row, finite.

    Returns
    -------
    Learnt

    Examples
    --------
    >>> compute_feature_stats(np.array([[-3.0, 2.0]])).scale.tolist()
    [3.0]
    """
    q, n = values.shape
    least = np.empty(q)
    for first in range(0, q, step := max(1, _STATS_BATCH_VALUES // n)):
        least[first : first + step] = np.abs(values[first : first + step]).min(axis=1)
    return FeatureStats(values.min(axis=1), values.max(axis=1), least, compute_projection(values))


_MAX_SAMPLE_ROWS = 64
_MIN_SAMPLE_ROWS = 8
_SAMPLE_VALUES = 1 << 20
_BATCH_CANDIDATES = 1 << 11
_ROUNDING_MARGIN = 1 + 1e-12

# of the arguments' largest magnitudes, and of the right one's smallest, the largest magnitude of the value
_MAGNITUDE_BOUNDS: dict[Callable[..., Values], Callable[[Values, Values, Values], Values]] = {
    np.add: lambda a, b, _: a + b,
    np.subtract: lambda a, b, _: a + b,
    np.multiply: lambda a, b, _: a * b,
    np.divide: lambda a, _, least: a / least,
    np.minimum: lambda a, b, _: np.maximum(a, b),
    np.maximum: lambda a, b, _: np.maximum(a, b),
}


def is_provably_valid(pool: Pool, candidates: Candidates, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which candidates are proved to be finite in every row and not constant.

    Parameters
    ----------
    pool : Pool
        What the layer is applied to; not one that only counts.
    candidates : Candidates
        The layer.
    numbers : int64 array, shape (m,), ascending
        The candidates asked for.

    Returns
    -------
    bool array, shape (m,)
        Of the others nothing is said.
    """
    proved = np.zeros(len(numbers), dtype=np.bool_)
    sample: Values | None = None
    for segment in candidates.operator_ranges:
        operator = pool.symbols.operators[segment.code]
        largest = _MAGNITUDE_BOUNDS.get(operator.numeric)
        start, stop = np.searchsorted(numbers, (segment.start, segment.start + segment.count))
        if largest is None or start == stop:
            continue
        if sample is None:
            sample = pool.compute_at_rows(_select_sample_rows(len(pool), pool.n_rows))
        for first in range(start, stop, _BATCH_CANDIDATES):
            part = slice(first, min(first + _BATCH_CANDIDATES, stop))
            left, right = segment.decode(numbers[part])
            with np.errstate(all="ignore"):
                values = operator.numeric(sample[left], sample[right])
                proved[part] = _is_provably_varying(pool, largest, left, right, values)
    return proved


def _select_sample_rows(n_members: int, n_rows: int) -> NDArray[np.int64]:
    most = min(_MAX_SAMPLE_ROWS, max(_MIN_SAMPLE_ROWS, _SAMPLE_VALUES // n_members), n_rows)
    return np.linspace(0, n_rows - 1, most).astype(np.int64)


def _is_provably_varying(
    pool: Pool,
    magnitude_bound: Callable[[Values, Values, Values], Values],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    values: Values,
) -> NDArray[np.bool_]:
    assert pool.feature_stats is not None  # noqa: S101  # the caller asks about values
    bound = (
        magnitude_bound(pool.max_abs[left], pool.max_abs[right], pool.feature_stats.min_abs[right])
        * _ROUNDING_MARGIN
    )
    # an infinite bound proves nothing; that of a sum or difference is no smaller than its arguments, against
    # which what cancels is held
    proved = np.empty(len(values), dtype=np.bool_)
    _mark_wide_spread(values, CONSTANT_TOLERANCE * bound, proved)
    return proved


@compile_kernel
def _mark_wide_spread(values: Values, tolerance: Values, exceeds: Flags) -> None:
    """Say which rows spread by more than a tolerance; two values are mostly enough to tell.

    Where a value is not finite the tolerance is not either, and no row spreads by more.
    """
    for f in range(values.shape[0]):
        low = high = values[f, 0]
        exceeds[f] = False
        for i in range(1, values.shape[1]):
            low, high = min(low, values[f, i]), max(high, values[f, i])
            if high - low > tolerance[f]:
                exceeds[f] = True
                break
