"""Find features with invalid or duplicate values: undefined, constant, or equal up to rounding.

`FeatureStats` holds statistics of each feature that are computed while its values are available.

`is_provably_valid` proves from a few rows that candidates are defined in every row and not constant. If the
magnitude of a candidate is bounded by the magnitudes of its arguments, it cannot overflow. If its values in
the few rows differ by more than the rounding error of that bound, it is not constant. This proves most
candidates without computing all their values.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.expansion import _kernels
from symscreen.expansion._kernels import CONSTANT_TOLERANCE
from symscreen.grammar import is_in_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.expansion.candidates import Candidates
    from symscreen.expansion.pool import Pool
    from symscreen.grammar import Domain


# largest difference of equal values, relative to the maximum of both features
_LARGEST_VALUE_TOLERANCE = 1e-13
_PAIR_TOLERANCE = 1e-9  # largest difference of equal values, relative to the larger value of the row
_BATCH_VALUES = 1 << 17  # values of features, or of pairs of features, processed together

_STATS_BATCH_VALUES = 1 << 15  # values processed together: few, so that intermediate results stay in cache

_MAX_SAMPLE_ROWS = 64  # rows
_MIN_SAMPLE_ROWS = 8  # rows
_SAMPLE_VALUES = 1 << 20  # values of the whole pool in the sample rows
_BATCH_CANDIDATES = 1 << 16  # candidates whose arguments are listed together
_ROUNDING_MARGIN = 1 + 1e-12  # factor that covers the rounding error of a bound

_KERNEL_OPERATORS: dict[Any, int] = {
    np.add: _kernels.ADD,
    np.subtract: _kernels.SUBTRACT,
    np.multiply: _kernels.MULTIPLY,
    np.divide: _kernels.DIVIDE,
    np.minimum: _kernels.MINIMUM,
    np.maximum: _kernels.MAXIMUM,
}


def is_constant(
    low: NDArray[np.float64], high: NDArray[np.float64], scale: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Return for each feature whether it is constant up to rounding.

    Parameters
    ----------
    low, high : float64 arrays, shape (m,)
        Minimum and maximum of each feature.
    scale : float64 array, shape (m,)
        Maximum magnitude of the values that each feature is computed from.

    Returns
    -------
    bool array, shape (m,)
    """
    return np.asarray(high - low <= CONSTANT_TOLERANCE * scale)


def is_cancellation_noise(values: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which sums and differences are, row by row, a constant plus the rounding error of their terms.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        The sums or differences.
    scale : float64 array, shape (m, n)
        The larger magnitude of the two terms in each row.

    Returns
    -------
    bool array, shape (m,)
        The test is done row by row, so a single row of huge terms does not make a feature noise.

    Examples
    --------
    >>> values = np.array([[1e-16, 0.0, -1e-16], [0.5, 0.0, -0.25]])
    >>> is_cancellation_noise(values, np.array([[1.0, 2.0, 1.0], [1.0, 1e20, 1.0]])).tolist()
    [True, False]
    """
    most_precise = np.take_along_axis(values, scale.argmin(axis=1)[:, None], axis=1)
    noise = CONSTANT_TOLERANCE * (scale + np.abs(most_precise))
    return np.asarray((np.abs(values - most_precise) <= noise).all(axis=1))


def is_equal_to_rounding(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for each pair of rows whether they are the same feature up to rounding.

    Every difference must be at most 1e-13 of the largest value, and at most 1e-9 of the larger value of the
    pair. The second condition also compares the small values of features with a wide range.

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
    """Find features that are equal to another feature up to rounding.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        Features, finite.
    preference : int64 array, shape (q,)
        Distinct ranks. Among equal features, the one with the lowest rank is kept.

    Returns
    -------
    int64 array, shape (q,)
        Index of the representative of each feature. Its own index if it is kept.
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
    """Find duplicates like `find_numeric_duplicates`, computing values only for features that may be equal.

    Parameters
    ----------
    projections : float64 array, shape (q,)
        Result of `compute_projection`.
    compute_values_at : callable
        Maps indices, an int64 array of shape (m,), to values of shape (m, n). Called only for features whose
        projections are close.
    n : int
        Number of rows.
    preference : int64 array, shape (q,)
        See `find_numeric_duplicates`.

    Returns
    -------
    int64 array, shape (q,)
        See `find_numeric_duplicates`.
    """
    representatives = np.arange(len(projections))
    for first, second in _find_near_pairs(projections, n):
        unmerged = np.flatnonzero(representatives[first] != representatives[second])
        if not len(unmerged):
            continue
        equal = unmerged[
            is_equal_to_rounding(compute_values_at(first[unmerged]), compute_values_at(second[unmerged]))
        ]
        for a, b in zip(first[equal].tolist(), second[equal].tolist(), strict=True):
            roots = _find_root(representatives, a), _find_root(representatives, b)
            kept, dropped = sorted(roots, key=lambda index: int(preference[index]))
            representatives[dropped] = kept
        while equal.size and (representatives != representatives[representatives]).any():
            representatives = representatives[representatives]
    return representatives


def _find_root(representatives: NDArray[np.int64], index: int) -> int:
    """Follow representatives, shape (q,), to one that represents itself."""
    while representatives[index] != index:
        index = int(representatives[index])
    return index


def _find_near_pairs(
    projections: NDArray[np.float64], n: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield batches of pairs of features that may be equal up to rounding, as two index arrays."""
    order = np.argsort(projections, kind="stable")
    position = projections[order]
    near, lag = np.arange(len(order)), 1
    while near.size:
        near = near[near + lag < len(order)]
        near = near[position[near + lag] - position[near] <= 2 * _PAIR_TOLERANCE]
        for batch in _split_batches(near, n):
            yield order[batch], order[batch + lag]
        lag += 1


def compute_projection(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Map each feature to a number, so that features that are equal up to rounding have close numbers.

    The values of such features have the same signs, and logarithms within 1e-9 of each other, row by row. A
    weighted mean of both is therefore close too, for any range of the values. Few other features are close.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        Features, finite.

    Returns
    -------
    float64 array, shape (q,)
        The number of a feature does not depend on the other features.
    """
    q, n = values.shape
    weights = (0.5 + np.modf(np.arange(1, n + 1) * 0.6180339887498949)[0]) / n
    projections = np.empty(q)
    for first in range(0, q, step := max(1, _STATS_BATCH_VALUES // n)):
        batch = values[first : first + step]
        terms = np.abs(batch, order="C")  # the order of summation does not depend on the layout of the values
        signs = np.copysign(1.0, batch)  # np.sign branches at each value, so mixed signs slow it down
        is_zero = terms == 0
        terms[is_zero], signs[is_zero] = 1.0, 0.0
        np.log(terms, out=terms)
        terms += signs
        terms *= weights
        projections[first : first + step] = terms.sum(axis=1)
    return projections


def _split_batches(indices: NDArray[np.int64], n: int) -> Iterator[NDArray[np.int64]]:
    """Split indices into batches of about `_BATCH_VALUES` values."""
    step = max(1, _BATCH_VALUES // n)
    return (indices[first : first + step] for first in range(0, len(indices), step))


@dataclass(frozen=True, eq=False)
class FeatureStats:
    """Statistics of features over all rows, as parallel arrays.

    Parameters
    ----------
    low, high : float64 arrays, shape (q,)
        Minimum and maximum.
    min_abs : float64 array, shape (q,)
        Minimum magnitude.
    projection : float64 array, shape (q,)
        Result of `compute_projection`, used to find duplicates.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    min_abs: NDArray[np.float64]
    projection: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.low)

    @lockfree_cached_property
    def max_abs(self) -> NDArray[np.float64]:
        """Maximum magnitude of each feature; shape (q,)."""
        return np.asarray(np.maximum(-self.low, self.high))

    def take(self, indices: NDArray[np.int64]) -> FeatureStats:
        """Return the statistics of the features at the given indices."""
        return FeatureStats(*(getattr(self, field.name)[indices] for field in fields(self)))

    def concatenate(self, *more: FeatureStats) -> FeatureStats:
        """Return these statistics followed by those of more features."""
        parts = (self, *more)
        return FeatureStats(
            *(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(self))
        )

    def is_in_domain(self, domain: Domain) -> NDArray[np.bool_]:
        """Return for each feature whether all its values are in a domain; shape (q,).

        Examples
        --------
        >>> from symscreen.grammar import Domain
        >>> compute_feature_stats(np.array([[1.0, 2.0], [0.0, 0.5]])).is_in_domain(Domain.NONZERO).tolist()
        [True, False]
        """
        # a domain is an interval, possibly without 0, so a test of the minimum, the maximum and 0 is enough
        extremes = np.column_stack((self.low, self.high, np.where(self.min_abs == 0, 0.0, self.high)))
        return is_in_domain(extremes, domain)


def compute_feature_stats(values: NDArray[np.float64]) -> FeatureStats:
    """Compute the statistics of features.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        One feature per row, finite.

    Returns
    -------
    FeatureStats

    Examples
    --------
    >>> compute_feature_stats(np.array([[-3.0, 2.0]])).max_abs.tolist()
    [3.0]
    """
    q, n = values.shape
    min_abs = np.empty(q)
    for first in range(0, q, step := max(1, _STATS_BATCH_VALUES // n)):
        min_abs[first : first + step] = np.abs(values[first : first + step]).min(axis=1)
    return FeatureStats(values.min(axis=1), values.max(axis=1), min_abs, compute_projection(values))


def is_provably_valid(pool: Pool, candidates: Candidates, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each candidate whether it is proved to be finite in every row and not constant.

    Parameters
    ----------
    pool : Pool
        The pool that the layer is applied to, with values.
    candidates : Candidates
        The layer.
    numbers : int64 array, shape (m,), ascending
        Candidate numbers.

    Returns
    -------
    bool array, shape (m,)
        True for proved candidates. False means unknown.
    """
    assert pool.feature_stats is not None  # noqa: S101  # callers check this first
    proved = np.zeros(len(numbers), dtype=np.bool_)
    sample: Values | None = None
    for operator_range in candidates.operator_ranges:
        kernel_operator = _KERNEL_OPERATORS.get(pool.symbols.operators[operator_range.code].numeric)
        start, stop = np.searchsorted(numbers, (operator_range.start, operator_range.stop))
        if kernel_operator is None or start == stop:
            continue
        if sample is None:
            sample = np.ascontiguousarray(pool.compute_at_rows(_select_sample_rows(len(pool), pool.n_rows)))
        for first in range(start, stop, _BATCH_CANDIDATES):
            batch = slice(first, min(first + _BATCH_CANDIDATES, stop))
            left, right = operator_range.decode(numbers[batch])
            _kernels.mark_varying(
                kernel_operator, sample, left, right, pool.max_abs, pool.feature_stats.min_abs,
                CONSTANT_TOLERANCE * _ROUNDING_MARGIN, proved[batch],
            )  # fmt: skip
    return proved


def _select_sample_rows(n_members: int, n_rows: int) -> NDArray[np.int64]:
    """Return evenly spaced row indices."""
    n_sample_rows = min(_MAX_SAMPLE_ROWS, max(_MIN_SAMPLE_ROWS, _SAMPLE_VALUES // n_members), n_rows)
    return np.linspace(0, n_rows - 1, n_sample_rows).astype(np.int64)
