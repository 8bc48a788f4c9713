"""Functions of binary features under an exact distribution, and the variance that splits explain.

Fotakis et al. (2022) state the conditions of their theorems by Ṽ(S) = E[E[f | x_S]²] (eq. 7) for a function f
on {0, 1}^d. The gain of feature i after the features S is Ṽ(S ∪ {i}) − Ṽ(S): how much a split on i reduces
the mean squared error of a tree that has split on S. The gain in a cell A, a set of points on which some
features are fixed, is Ṽ_ℓ(A, i) − Ṽ_ℓ(A). With two halves of A that have the shares p0 and p1 and the means
m0 and m1, it equals p0·p1·(m0 − m1)². Differences of means lose no digits, as differences of Ṽ would.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import DataError, OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from symscreen._typing import Integers, Values

MAX_FEATURES = 12  # the checks visit 3^d cells for each feature
_MAX_MAGNITUDE = 1e150  # squares of larger values overflow
_RESOLUTION = 1e-12  # means that differ by less than this share of the range are equal


def build_binary_inputs(d: int) -> Values:
    """List the points of {0, 1}^d, in the order in which the checks expect values without `rows`.

    Parameters
    ----------
    d : int
        Number of features, from 1 to 12.

    Returns
    -------
    float64 array, shape (2^d, d)
        Points in ascending order; the last feature changes fastest.

    Raises
    ------
    OptionError
        If d is out of range.

    Examples
    --------
    >>> build_binary_inputs(2).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    check_feature_count(d)
    return np.indices((2,) * d).reshape(d, -1).T.astype(np.float64)


@dataclass(frozen=True, eq=False)
class BinaryFunctions:
    """Functions on {0, 1}^d, one for each label, and the distribution of their argument.

    Parameters
    ----------
    values : float64 array, shape (k, 2, …, 2)
        Values, shifted to the middle of the range of each function and divided by the range; 0 for a constant
        function, and at points of probability 0.
    middles, ranges : float64 array, shape (k,)
        Middle of the range of each function, and its largest minus its smallest value.
    probabilities : float64 array, shape (2, …, 2)
        Probability of each point.
    """

    values: Values
    middles: Values
    ranges: Values
    probabilities: Values

    @property
    def d(self) -> int:
        """Number of features."""
        return self.probabilities.ndim


def check_feature_count(d: int) -> None:
    """Check that there are 1 to 12 features.

    Raises
    ------
    OptionError
        If there are fewer or more.
    """
    if not 1 <= d <= MAX_FEATURES:
        raise OptionError(
            f"{d} features: the check visits all cells of {{0, 1}}^d and takes 1 to {MAX_FEATURES} features; "
            "leave out features that the function does not depend on"
        )


def read_binary_functions(
    values: ArrayLike, rows: ArrayLike | None = None, weights: ArrayLike | None = None
) -> BinaryFunctions:
    """Read values of functions at weighted points; see `compute_heterogeneity`.

    Raises
    ------
    DataError
        If the values do not have shape (n,) or (n, k), are not finite or too large, or differ at one point.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim not in {1, 2} or table.size == 0:
        raise DataError(f"values have shape {table.shape}; give (n,), or (n, k) with a column for each label")
    if not (np.abs(table) <= _MAX_MAGNITUDE).all():
        raise DataError(f"values hold NaN or a magnitude above {_MAX_MAGNITUDE:g}: drop or rescale them")
    points, masses, d = _read_points(rows, weights, len(table))
    probabilities = _sum_masses(points, masses, d)
    is_used = masses > 0.0
    points, used = points[is_used], table.reshape(len(table), -1).T[:, is_used]
    cube = np.zeros((len(used), 2**d))
    cube[:, points] = used
    conflicts = np.flatnonzero((cube[:, points] != used).any(axis=0))
    if conflicts.size:
        raise DataError(
            f"row {int(np.flatnonzero(is_used)[conflicts[0]])} has other values than a row with the same "
            "features: a function has one value at each point; average over the noise first"
        )
    low, high = used.min(axis=1), used.max(axis=1)
    middles, ranges = low + 0.5 * (high - low), high - low
    scaled = (cube - middles[:, None]) / np.where(ranges > 0.0, ranges, 1.0)[:, None]
    shape = (2,) * d
    values = np.where(probabilities > 0.0, scaled, 0.0).reshape(-1, *shape)
    return BinaryFunctions(values, middles, ranges, probabilities.reshape(shape))


def read_distribution(rows: ArrayLike, weights: ArrayLike | None = None) -> Values:
    """Read weighted points as the probability of each point of the cube, shape (2, …, 2)."""
    points, masses, d = _read_points(rows, weights, None)
    return _sum_masses(points, masses, d).reshape((2,) * d)


def _read_points(
    rows: ArrayLike | None, weights: ArrayLike | None, n_rows: int | None
) -> tuple[Integers, Values, int]:
    """Convert rows of zeros and ones to numbers of points; return them, their weights and d."""
    if rows is None:
        size = n_rows or 0
        d = size.bit_length() - 1
        if size < 2 or size != 2**d:
            raise DataError(
                f"{size} values without rows: give 2^d values in the order of build_binary_inputs, or the "
                "rows that the values belong to"
            )
        check_feature_count(d)
        return np.arange(size), _read_weights(weights, size), d
    features = np.asarray(rows, dtype=np.float64)
    if features.ndim != 2 or len(features) == 0 or (n_rows is not None and len(features) != n_rows):
        expected = "n" if n_rows is None else n_rows
        raise DataError(
            f"rows have shape {features.shape}; give shape ({expected}, d), one row for each value"
        )
    d = features.shape[1]
    check_feature_count(d)
    if not ((features == 0.0) | (features == 1.0)).all():
        raise DataError("rows hold other numbers than 0 and 1: the conditions are about binary features")
    places = 2 ** np.arange(d - 1, -1, -1)
    return (features.astype(np.int64) * places).sum(axis=1), _read_weights(weights, len(features)), d


def _read_weights(weights: ArrayLike | None, n_rows: int) -> Values:
    """Convert weights to float64, shape (n_rows,), with the largest weight 1."""
    masses = np.ones(n_rows) if weights is None else np.asarray(weights, dtype=np.float64)
    if masses.shape != (n_rows,) or not (np.isfinite(masses) & (masses >= 0.0)).all() or not masses.any():
        raise DataError(
            f"weights have shape {masses.shape} for {n_rows} rows; give one finite number of at least 0 for "
            "each row, and a positive one"
        )
    return np.asarray(masses / masses.max())


def _sum_masses(points: Integers, masses: Values, d: int) -> Values:
    """Sum the weights at each point, shape (2^d,), to the total 1; the order of the rows has no effect."""
    order = np.lexsort((masses, points))
    sums = np.bincount(points[order], masses[order], minlength=2**d)
    return np.asarray(sums / sums.sum())


def compute_heterogeneity(
    values: ArrayLike,
    features: Sequence[int] = (),
    rows: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    cell: str | None = None,
) -> Values:
    """Compute Ṽ(S) = E[E[f | x_S]²], or Ṽ_ℓ(A, S), where the expectation is over a cell A.

    Parameters
    ----------
    values : array_like, shape (n,) or (n, k)
        Value of f at each point; with k labels, one function per column. For rankings, give the positions
        σ(i)/k of the labels (eq. 6).
    features : sequence of int
        Features S that the tree splits on, from 0.
    rows : array_like of 0 and 1, shape (n, d), optional
        Points of the values. By default all points of {0, 1}^d in the order of `build_binary_inputs`.
    weights : array_like, shape (n,), optional
        Weights of the points, proportional to their probabilities under D_x. By default all are equal. Points
        that are not given have probability 0.
    cell : str, optional
        A cell, with a sign for each feature: 0, 1, or * where the feature is not fixed. By default all
        points.

    Returns
    -------
    float64 array, shape (k,)
        In squared units of f. Ṽ(S) − Ṽ(∅) is the variance that S explains.

    Raises
    ------
    DataError
        If the values, rows or weights are invalid, or the cell has probability 0.
    OptionError
        If there are more than 12 features, or the cell or the features do not fit the rows.

    Notes
    -----
    Fotakis et al. (2022), eq. (7), and its form for cells before Condition 9.

    Examples
    --------
    >>> x = build_binary_inputs(2)
    >>> [compute_heterogeneity(x[:, 0] * x[:, 1], s).tolist() for s in ([], [0], [0, 1])]
    [[0.0625], [0.125], [0.25]]
    >>> compute_heterogeneity(x[:, 0] * x[:, 1], cell="*1").tolist()
    [0.25]
    """
    functions = read_binary_functions(values, rows, weights)
    d = functions.d
    split = sorted({_check_feature(feature, d) for feature in features})
    signs = "*" * d if cell is None else cell
    if len(signs) != d or not set(signs) <= set("01*"):
        raise OptionError(f"the cell is {cell!r}; give one of 0, 1 and * for each of the {d} features")
    index = tuple(slice(None) if sign == "*" else slice(int(sign), int(sign) + 1) for sign in signs)
    masses = functions.probabilities[index]
    total = float(masses.sum())
    if total == 0.0:
        raise DataError(f"the cell {signs} has probability 0: its mean is not defined")
    others = tuple(axis for axis in range(d) if axis not in split)
    parts = masses.sum(axis=others)
    found = []
    for scaled, middle, width in zip(functions.values, functions.middles, functions.ranges, strict=True):
        sums = ((middle + width * scaled[index]) * masses).sum(axis=others)
        means = np.divide(sums, parts, out=np.zeros_like(sums), where=parts > 0.0)
        found.append(float((parts * means**2).sum()) / total)
    return np.array(found)


def _check_feature(feature: int, d: int) -> int:
    """Return the number of a feature; raise `OptionError` unless it is from 0 to d − 1."""
    if not 0 <= feature < d:
        raise OptionError(f"feature {feature} of {d}: features count from 0 to {d - 1}")
    return int(feature)


def add_margins(array: Values) -> Values:
    """Extend every axis of length 2 by the sum of its entries: one entry for each of the 3^d cells."""
    for axis in range(array.ndim):
        array = np.concatenate([array, array.sum(axis=axis, keepdims=True)], axis=axis)
    return array


def compute_cell_gains(values: Values, probabilities: Values) -> list[tuple[Values, Values]]:
    """Compute for each feature its gain in all cells that do not fix it, and their probabilities.

    Both arrays have shape (3, …, 3) with d − 1 axes, those of the other features: 0 and 1 fix a feature, 2
    does not. Gains are 0 in cells of probability 0.
    """
    masses, sums = add_margins(probabilities), add_margins(probabilities * values)
    means = np.divide(sums, masses, out=np.zeros_like(sums), where=masses > 0.0)
    found = []
    for i in range(values.ndim):
        whole = np.asarray(masses.take(2, axis=i))
        low, high = (
            np.divide(masses.take(side, axis=i), whole, out=np.zeros_like(whole), where=whole > 0.0)
            for side in (0, 1)
        )
        difference = means.take(0, axis=i) - means.take(1, axis=i)
        squares = np.where(np.abs(difference) <= _RESOLUTION, 0.0, difference**2)
        found.append((np.asarray(low * high * squares), whole))
    return found


def compute_subset_gains(cell_gains: Values, masses: Values) -> Values:
    """Compute Ṽ(S ∪ {i}) − Ṽ(S) for all sets S of the other features, shape (2, …, 2).

    An index is 1 if S contains the feature.
    """
    gains = cell_gains * masses
    for axis in range(gains.ndim):
        gains = np.stack([gains.take(2, axis), gains.take(0, axis) + gains.take(1, axis)], axis=axis)
    return gains


def find_relevant_features(
    values: ArrayLike, rows: ArrayLike | None = None, weights: ArrayLike | None = None
) -> tuple[tuple[int, ...], ...]:
    """Find the features R that each function depends on; a function with r of them is r-sparse.

    Parameters
    ----------
    values, rows, weights
        Functions and distribution; see `compute_heterogeneity`.

    Returns
    -------
    tuple of tuple of int
        For each label the smallest set R such that points of positive probability with equal features in R
        have equal values; the first in lexicographic order if there are several. There is only one if every
        point is possible.

    Raises
    ------
    DataError
        If the values, rows or weights are invalid.
    OptionError
        If there are more than 12 features.

    Notes
    -----
    Fotakis et al. (2022), Definition A.1. Values that differ by less than 10⁻¹² of the range are equal.

    Examples
    --------
    >>> x = build_binary_inputs(3)
    >>> find_relevant_features(np.column_stack([x[:, 0] - x[:, 2], x[:, 1]]))
    ((0, 2), (1,))
    """
    functions = read_binary_functions(values, rows, weights)
    return tuple(select_relevant_features(f, functions.probabilities) for f in functions.values)


def select_relevant_features(values: Values, probabilities: Values) -> tuple[int, ...]:
    """Find the relevant features of one function, values of shape (2, …, 2)."""
    highest = np.where(probabilities > 0.0, values, -np.inf)
    lowest = np.where(probabilities > 0.0, values, np.inf)

    def decides(features: tuple[int, ...]) -> bool:
        others = tuple(axis for axis in range(values.ndim) if axis not in features)
        spread = highest.max(axis=others) - lowest.min(axis=others)  # −∞ where no point is possible
        return bool((spread <= _RESOLUTION).all())

    # two possible points that differ in one feature and in value make the feature necessary
    everything = tuple(range(values.ndim))
    needed = tuple(i for i in everything if not decides(everything[:i] + everything[i + 1 :]))
    rest = [i for i in everything if i not in needed]
    for size in range(len(rest) + 1):
        for more in combinations(rest, size):
            features = tuple(sorted((*needed, *more)))
            if decides(features):
                return features
    return everything
