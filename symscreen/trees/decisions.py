"""One decision of a tree, partitions of the target values, and the ranking metric (Luo and Li 2024).

A decision rule sends the rows with z_k ≤ C to the left. This module computes its loss (eq. 5), the minimiser
of the loss over features and thresholds, and the ratio of two decisions (eq. 9). The loss of a partition is
the sum of the squared deviations of both parts from their means (eq. 10). The oracle partition has the
smallest loss of all partitions (Lemma 1, eq. 11). Lemma 15 gives the change of the loss when two rows are
exchanged. The ranking metric T(r) of a permutation is eq. 15; its regret has the bound of eq. 30 and 38.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import DataError, OptionError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Values

    RowIndices = NDArray[np.int64]


# limits of the target's range and magnitude: beyond them the squares of eq. (5) underflow or overflow float64
_MIN_SPREAD, _MAX_MAGNITUDE = 1e-150, 1e150

# losses that differ by less than this share of SS(all) are equal: their order is rounding noise
RELATIVE_TOLERANCE = 1e-12


def check_column(values: ArrayLike, name: str, n_rows: int | None = None) -> Values:
    """Convert a column (n,) of `n_rows` finite numbers to float64.

    Raises
    ------
    DataError
        If it is not such a column.
    """
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} is not a column of numbers: {error}") from error
    if column.ndim != 1:
        raise DataError(f"{name} has shape {column.shape}; it must be one-dimensional")
    if n_rows is not None and column.size != n_rows:
        raise DataError(f"{name} has {column.size} rows and y has {n_rows}; give one value for each row")
    if not np.isfinite(column).all():
        raise DataError(f"{name} holds NaN or infinity: drop or correct these rows")
    return column


def check_target(y: ArrayLike) -> Values:
    """Convert target values (n,), n ≥ 2, to float64.

    Raises
    ------
    DataError
        If there are fewer than two finite numbers, or their squares overflow or underflow.
    """
    target = check_column(y, "y")
    if target.size < 2:
        raise DataError(f"y has {target.size} rows; a split needs at least 2")
    largest, spread = float(np.abs(target).max()), float(np.ptp(target))
    if largest > _MAX_MAGNITUDE or 0.0 < spread < _MIN_SPREAD:
        raise DataError(
            f"y has magnitude {largest:g} and range {spread:g}: "
            "its squares would overflow or underflow; rescale it"
        )
    return target


def check_features(table: ArrayLike, n_rows: int) -> Values:
    """Convert features (n, q) or (n,) to float64, (q, n).

    Raises
    ------
    DataError
        If the shape is another one, or a number is not finite.
    """
    shape = np.shape(table)
    if len(shape) not in {1, 2} or shape[0] != n_rows or shape[1:] == (0,):
        raise DataError(
            f"Z has shape {shape} and y has {n_rows} rows; "
            "Z must have shape (n, q) or (n,) with as many rows as y"
        )
    features = np.asarray(table).reshape(n_rows, -1).T
    return np.stack([check_column(column, f"feature {k} of Z") for k, column in enumerate(features)])


def check_threshold(value: float) -> float:
    """Convert a split threshold to a float; it may be infinite but not NaN.

    Raises
    ------
    OptionError
        If the threshold is NaN.
    """
    threshold = float(value)
    if np.isnan(threshold):
        raise OptionError("the threshold is NaN; give a number")
    return threshold


def compute_squared_deviation(values: Values) -> float:
    """Compute SS(P) = Σ_{i ∈ P} (y_i − μ(P))² (Luo and Li 2024, below eq. 10).

    Parameters
    ----------
    values : float64 array, shape (m,)
        Target values of P; m may be 0.

    Returns
    -------
    float
        At least 0, in squared units of the target; 0 for an empty P.

    Examples
    --------
    >>> compute_squared_deviation(np.array([1.0, 3.0])), compute_squared_deviation(np.array([]))
    (2.0, 0.0)
    """
    deviations = values - values.mean() if values.size else values
    return float((deviations * deviations).sum())


def compute_cut_losses(values: Values) -> Values:
    """Compute the loss of eq. (10) for every cut of a column into a first and a second part.

    Parameters
    ----------
    values : float64 array, shape (n,)
        Target values in the order in which they are cut; n ≥ 2.

    Returns
    -------
    float64 array, shape (n − 1,)
        Element i − 1 is L(P1, P2) = SS(P1) + SS(P2), where P1 holds the first i values.

    Notes
    -----
    The cost is O(n). All summands are non-negative, so nothing cancels (Welford 1962).

    Examples
    --------
    >>> compute_cut_losses(np.array([1.0, 3.0, 8.0, 8.0]))
    array([16.66666667,  2.        , 26.        ])
    """
    return _accumulate_squared_deviations(values)[:-1] + _accumulate_squared_deviations(values[::-1])[-2::-1]


def _accumulate_squared_deviations(values: Values) -> Values:
    """Compute SS of the first 1, …, n values, shape (n,)."""
    counts = np.arange(1, values.size + 1)
    centered = values - values.mean()
    means = np.cumsum(centered) / counts
    # SS_{k+1} = SS_k + k/(k+1) · (y_{k+1} − μ_k)²
    increments = (centered[1:] - means[:-1]) ** 2 * (counts[:-1] / counts[1:])
    return np.concatenate(([0.0], np.cumsum(increments)))


@dataclass(frozen=True, eq=False)
class OraclePartition:
    """A partition of the rows into those with the smaller and those with the larger target values.

    Parameters
    ----------
    low, high : int64 array
        Rows with the smaller and with the larger target values, sorted by target value.
    means : tuple of float
        Mean target values (μ(low), μ(high)).
    loss : float
        SS(low) + SS(high) of eq. (10), in squared units of the target.
    """

    low: RowIndices
    high: RowIndices
    means: tuple[float, float]
    loss: float

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of rows in `low` and in `high`."""
        return len(self.low), len(self.high)


def compute_partition_loss(y: ArrayLike, part: ArrayLike) -> float:
    """Compute the loss of any partition of the rows into two parts.

    Parameters
    ----------
    y : array_like, shape (n,)
        Target values; n ≥ 2.
    part : array_like of int
        Rows of P1, counted from 0. P2 holds the other rows.

    Returns
    -------
    float
        L(P1, P2) = SS(P1) + SS(P2), in squared units of the target.

    Raises
    ------
    DataError
        If y is not a finite column of at least two rows.
    OptionError
        If a row occurs twice or does not exist.

    Notes
    -----
    Luo and Li (2024), eq. (10).

    Examples
    --------
    >>> compute_partition_loss([1.0, 3.0, 8.0], part=[0, 1])
    2.0
    """
    target = check_target(y)
    is_in_part = mark_rows(part, target.size)
    # eq. (10)
    return compute_squared_deviation(target[is_in_part]) + compute_squared_deviation(target[~is_in_part])


def find_local_minima(y: ArrayLike, size: int) -> tuple[OraclePartition, OraclePartition]:
    """Build the two partitions of Lemma 1: the smallest values and the largest values against the rest.

    Parameters
    ----------
    y : array_like, shape (n,)
        Target values; n ≥ 2. Among equal values the first rows count as the smaller ones.
    size : int
        Number of rows i in one of the two parts; from 1 to n − 1.

    Returns
    -------
    tuple of OraclePartition
        P* with the i smallest values in `low`, and P** with the i largest values in `high`.

    Raises
    ------
    DataError
        If y is not a finite column of at least two rows.
    OptionError
        If the size is out of range.

    Notes
    -----
    Luo and Li (2024), Lemma 1. The lemma states that both partitions minimise (10). In general only one of
    them does, and the other is a local minimum, as Remark 2 says. Local means that no exchange of two rows
    that are neighbours in the order of the target lowers the loss. An exchange of two other rows may lower
    it. The assumptions of the text, n > 4 and at least two rows in each part, are not needed: at fixed sizes
    L = SS(all) − n/(i(n−i)) · (S1 − i·ȳ)² with S1 the sum over P1. L is smallest if S1 is as small or as
    large as possible. The last member of P** begins at y_(n−i+2); the lemma prints y_(i+2).

    Examples
    --------
    >>> y = [0.0, 1.0, 2.0, 3.0, 100.0]
    >>> [(p.sizes, p.loss) for p in find_local_minima(y, size=2)]
    [((2, 3), 6338.5), ((3, 2), 4706.5)]
    """
    target = check_target(y)
    i = _check_size(size, target.size)
    return _partition_at(target, i), _partition_at(target, target.size - i)


def find_oracle_partition(y: ArrayLike, size: int | None = None) -> OraclePartition:
    """Find the partition into two parts with the smallest loss; no single split of a tree has a smaller one.

    Parameters
    ----------
    y : array_like, shape (n,)
        Target values; n ≥ 2. Among equal values the first rows count as the smaller ones.
    size : int, optional
        Number of rows i in one of the two parts, from 1 to n − 1. By default the best of all sizes.

    Returns
    -------
    OraclePartition
        Losses that agree to 12 digits of SS(all) are equal. Among them the partition with the fewest rows in
        `low` is selected; if `size` is given, P* is preferred to P**.

    Raises
    ------
    DataError
        If y is not a finite column of at least two rows.
    OptionError
        If the size is out of range.

    Notes
    -----
    Luo and Li (2024), Lemma 1 and Remark 3, eq. (11). The right side of eq. (11) lets i reach n, where P2 is
    empty. At fixed sizes the two candidates follow from the ranks of y. Which of them is better, and the best
    size, depend on the values of y. The cost is O(n log n).

    Examples
    --------
    Example 3 of the paper: the rows 0 and 4 (y = 5 and 4) against the rest.

    >>> best = find_oracle_partition([5.0, 2.1, 1.0, 2.0, 4.0])
    >>> best.low.tolist(), best.high.tolist(), round(best.loss, 4)
    ([2, 3, 1], [4, 0], 1.24)
    """
    target = check_target(y)
    tolerance = RELATIVE_TOLERANCE * compute_squared_deviation(target)
    if size is not None:
        smallest, largest = find_local_minima(target, size)
        return smallest if smallest.loss <= largest.loss + tolerance else largest
    # min over i ∈ {1, …, n−1} of Σ_{j ≤ i} (y_(j) − μ1)² + Σ_{j > i} (y_(j) − μ2)²                 (11)
    losses = compute_cut_losses(np.sort(target))
    return _partition_at(target, 1 + int(np.flatnonzero(losses <= losses.min() + tolerance)[0]))


def mark_rows(rows: ArrayLike, n_rows: int) -> NDArray[np.bool_]:
    """Build the mask of the rows of a part.

    Parameters
    ----------
    rows : array_like of int
        Rows, counted from 0, without repetition.
    n_rows : int
        Number of rows n in total.

    Returns
    -------
    bool array, shape (n,)

    Raises
    ------
    OptionError
        If a row occurs twice or does not exist.

    Examples
    --------
    >>> mark_rows([2], 3).tolist()
    [False, False, True]
    """
    indices = np.asarray(rows)
    if indices.size == 0:
        indices = indices.astype(np.int64)
    if indices.ndim != 1 or indices.dtype.kind not in "iu" or ((indices < 0) | (indices >= n_rows)).any():
        raise OptionError(
            f"the rows of a part must be integers from 0 to {n_rows - 1}; got {indices.tolist()!r}"
        )
    is_in_part = np.zeros(n_rows, dtype=np.bool_)
    is_in_part[indices] = True
    if is_in_part.sum() != indices.size:
        raise OptionError(f"a row occurs twice in {indices.tolist()!r}; list each row once")
    return is_in_part


def _check_size(size: int, n_rows: int) -> int:
    """Check the number of rows in a part, an integer from 1 to n_rows − 1."""
    is_integer = isinstance(size, int | np.integer) and not isinstance(size, bool)
    if not is_integer or not 1 <= size < n_rows:
        raise OptionError(
            f"the size of a part is {size!r}; give an integer from 1 to {n_rows - 1} for {n_rows} rows"
        )
    return int(size)


def _partition_at(target: NDArray[np.float64], size: int) -> OraclePartition:
    """Build the partition with the `size` smallest target values in `low`."""
    order = np.argsort(target, kind="stable")
    sorted_target = target[order]
    means = float(sorted_target[:size].mean()), float(sorted_target[size:].mean())
    return OraclePartition(
        order[:size], order[size:], means, float(compute_cut_losses(sorted_target)[size - 1])
    )


def compute_swap_gains(y: ArrayLike, part: ArrayLike) -> NDArray[np.float64]:
    """Compute the reduction of the loss by each exchange of a row of P1 with a row of P2.

    Parameters
    ----------
    y : array_like, shape (n,)
        Target values; n ≥ 2.
    part : array_like of int
        Rows of P1, counted from 0. P2 holds the other rows. Both must be non-empty.

    Returns
    -------
    float64 array, shape (|P1|, |P2|)
        Loss before minus loss after the exchange, in squared units of the target. The rows of P1 and of P2
        are in ascending order.

    Raises
    ------
    DataError
        If y is not a finite column of at least two rows.
    OptionError
        If a row occurs twice or does not exist, or a part is empty.

    Notes
    -----
    Let d = y_a − y_b. The exchange of a ∈ P1 and b ∈ P2 lowers the sum over P1 by d. The loss
    L = SS(all) − n/(i(n−i)) · (S1 − i·ȳ)² falls by n/(i(n−i)) · d² − 2d·(μ1 − μ2), where i = |P1|.

    This implies Lemma 15 of Luo and Li (2024). If a and b are reversed (μ1 < μ2 and y_a > y_b), both terms
    are positive and increase with d, so the larger of two reversed pairs gains more. The case of the lemma,
    which does not assume μ1 < μ2, holds too under its conditions n > 4 and at least two rows in each part.
    The proof contains an error: of its two exchanges only that of (y_α, y_γ) leaves no reversed pair. After
    that of (y_β, y_γ) the pair (y_α, y_β) is reversed.

    Examples
    --------
    Rows 1 and 2 are reversed with row 3; the larger of the two gains more.

    >>> compute_swap_gains([1.0, 4.0, 5.0, 3.0, 8.0, 9.0], part=[0, 1, 2])[:, 0].round(4).tolist()
    [-10.6667, 7.3333, 16.0]
    """
    target = check_target(y)
    is_in_part = mark_rows(part, target.size)
    i, n = int(is_in_part.sum()), target.size
    if not 0 < i < n:
        raise OptionError(
            f"the part holds {i} of {n} rows: there is nothing to exchange; both parts need a row"
        )
    part_values, other_values = target[is_in_part], target[~is_in_part]
    d = part_values[:, None] - other_values[None, :]
    # n/(i(n−i)) · d² − 2d·(μ1 − μ2)
    return np.asarray(n / (i * (n - i)) * d * d - 2.0 * d * (part_values.mean() - other_values.mean()))


@dataclass(frozen=True, slots=True)
class Split:
    """A decision rule: rows with z_k ≤ C go left, the others go right.

    Parameters
    ----------
    feature : int
        Index k of the feature, from 0.
    threshold : float
        Threshold C, an observed value of the feature.
    loss : float
        Loss of eq. (5), in squared units of the target.
    means : tuple of float
        Mean target values (μ_L, μ_R) of eq. (6).
    """

    feature: int
    threshold: float
    loss: float
    means: tuple[float, float]


def compute_split_means(z: ArrayLike, y: ArrayLike, threshold: float) -> tuple[float, float]:
    """Compute the mean target values (μ_L, μ_R) of the two sides of a split.

    Parameters
    ----------
    z : array_like, shape (n,)
        Feature values.
    y : array_like, shape (n,)
        Target values; n ≥ 2.
    threshold : float
        Threshold C. Rows with z ≤ C are on the left.

    Returns
    -------
    left, right : float
        NaN for a side without rows.

    Raises
    ------
    DataError
        If z and y are not finite columns of the same length.
    OptionError
        If the threshold is NaN.

    Notes
    -----
    Luo and Li (2024), eq. (6), and for features z = θ(x) eq. (7) and (8). Equation (8) contains an error: it
    prints θ_k x_i ≤ C on its right side, which is the left mean again; θ_k x_i > C is meant.

    Examples
    --------
    >>> compute_split_means([1.0, 2.0, 3.0], [10.0, 20.0, 60.0], 2.0)
    (15.0, 60.0)
    """
    left, right = _split_target(z, y, threshold)
    # μ_L = Σ y_i·1(z_i ≤ C) / Σ 1(z_i ≤ C),  μ_R = Σ y_i·1(z_i > C) / Σ 1(z_i > C)                       (6)
    return _compute_mean(left), _compute_mean(right)


def compute_split_loss(z: ArrayLike, y: ArrayLike, threshold: float) -> float:
    """Compute CART's loss of splitting a node on one feature at one threshold.

    Parameters
    ----------
    z : array_like, shape (n,)
        Feature values.
    y : array_like, shape (n,)
        Target values of the node; n ≥ 2.
    threshold : float
        Threshold C. Rows with z ≤ C go left.

    Returns
    -------
    float
        Σ (y_i − μ_L)²·1(z_i ≤ C) + Σ (y_i − μ_R)²·1(z_i > C), in squared units of the target. If one side is
        empty, the result is the loss of the node itself.

    Raises
    ------
    DataError
        If z and y are not finite columns of the same length.
    OptionError
        If the threshold is NaN.

    Notes
    -----
    Luo and Li (2024), eq. (5). A split never increases the loss (Proposition 7). The loss is unchanged only
    if μ_L = μ_R or one side is empty.

    Examples
    --------
    >>> compute_split_loss([1.0, 2.0, 3.0], [10.0, 20.0, 60.0], 2.0)
    50.0
    """
    left, right = _split_target(z, y, threshold)
    # Σ (y_i − μ_L)²·1(z_i ≤ C) + Σ (y_i − μ_R)²·1(z_i > C)                                               (5)
    return compute_squared_deviation(left) + compute_squared_deviation(right)


def _split_target(z: ArrayLike, y: ArrayLike, threshold: float) -> tuple[Values, Values]:
    """Split the target values (n,) at a threshold of a feature (n,): the left and the right ones."""
    target = check_target(y)
    is_left = check_column(z, "z", target.size) <= check_threshold(threshold)
    return target[is_left], target[~is_left]


def find_best_split(table: ArrayLike, y: ArrayLike) -> Split:
    """Find the split that CART makes: the minimiser of the loss over features and their values.

    Parameters
    ----------
    table : array_like, shape (n, q) or (n,)
        Features Z in columns, or a single feature.
    y : array_like, shape (n,)
        Target values of the node; n ≥ 2.

    Returns
    -------
    Split
        Losses that agree to 12 digits of the node's loss are equal. Among them the first feature and its
        smallest threshold are selected.

    Raises
    ------
    DataError
        If the shapes do not agree, a value is not finite, or every feature is constant.

    Notes
    -----
    Luo and Li (2024), eq. (5): (C, k) = argmin. Thresholds are observed values, as in the paper; libraries
    usually take the midpoint to the next value. The largest value of a feature is excluded because it splits
    nothing off. The cost is O(q · n log n).

    Examples
    --------
    >>> x = np.array([-2.0, -1.0, 1.0, 2.5])
    >>> find_best_split(np.column_stack([x, x**2]), [4.0, 1.0, 1.0, 6.0])
    Split(feature=1, threshold=1.0, loss=2.0, means=(1.0, 5.0))
    """
    target = check_target(y)
    features = check_features(table, target.size)
    tolerance = RELATIVE_TOLERANCE * compute_squared_deviation(target)
    best: tuple[float, int, float] | None = None
    for k, z in enumerate(features):
        order = np.lexsort((target, z))  # ties by target: the sums do not depend on the row order
        thresholds = z[order][:-1]
        losses = np.where(thresholds < z[order][1:], compute_cut_losses(target[order]), np.inf)
        cut = int(np.flatnonzero(losses <= losses.min() + tolerance)[0])
        if np.isfinite(losses[cut]) and (best is None or losses[cut] < best[0] - tolerance):
            best = float(losses[cut]), k, float(thresholds[cut])
    if best is None:
        raise DataError(
            "every feature is constant, so no split exists; give a feature with two distinct values"
        )
    loss, k, threshold = best
    left = features[k] <= threshold
    return Split(k, threshold, loss, (_compute_mean(target[left]), _compute_mean(target[~left])))


def compute_log_decision_ratio(
    first: tuple[ArrayLike, float], second: tuple[ArrayLike, float], y: ArrayLike
) -> float:
    """Compute log τ: the loss of the second decision rule minus the loss of the first.

    Parameters
    ----------
    first, second : tuple of (array_like of shape (n,), float)
        Two rules, each with its feature z_k and its threshold C.
    y : array_like, shape (n,)
        Target values of the node; n ≥ 2.

    Returns
    -------
    float
        In squared units of the target; positive if the first rule is better.

    Raises
    ------
    DataError
        If the features and y are not finite columns of the same length.
    OptionError
        If a threshold is NaN.

    Notes
    -----
    Luo and Li (2024), eq. (9). The rule that minimises (5) has the largest τ against every other rule. The
    text calls τ a likelihood ratio for normal errors of standard deviation 1. Without a factor ½ in the
    exponent it is the square of that ratio, or the ratio for variance ½. The order of the rules is the same.

    Examples
    --------
    >>> x, y = [1.0, 2.0, 3.0], [10.0, 20.0, 60.0]
    >>> compute_log_decision_ratio((x, 2.0), (x, 1.0), y)
    750.0
    """
    # log τ = [Σ (y_i − μ²_L)²·1(z_i,k2 ≤ C2) + …] − [Σ (y_i − μ¹_L)²·1(z_i,k1 ≤ C1) + …]                 (9)
    return compute_split_loss(second[0], y, second[1]) - compute_split_loss(first[0], y, first[1])


def compute_decision_ratio(
    first: tuple[ArrayLike, float], second: tuple[ArrayLike, float], y: ArrayLike
) -> float:
    """Compute the principal decision ratio τ of two decision rules.

    Parameters
    ----------
    first, second : tuple of (array_like of shape (n,), float)
        Two rules, each with its feature z_k and its threshold C.
    y : array_like, shape (n,)
        Target values of the node; n ≥ 2.

    Returns
    -------
    float
        Above 1 if the first rule is better. The ratio overflows to infinity or underflows to 0 if the losses
        differ by more than about 700; use `compute_log_decision_ratio` in this case.

    Raises
    ------
    DataError
        If the features and y are not finite columns of the same length.
    OptionError
        If a threshold is NaN.

    Notes
    -----
    Luo and Li (2024), eq. (9).

    Examples
    --------
    >>> x, y = [1.0, 2.0, 3.0], [1.0, 2.0, 4.0]
    >>> round(compute_decision_ratio((x, 2.0), (x, 1.0), y), 4)
    4.4817
    """
    with np.errstate(over="ignore", under="ignore"):
        return float(np.exp(np.float64(compute_log_decision_ratio(first, second, y))))


def _compute_mean(values: NDArray[np.float64]) -> float:
    """Compute the mean of values of shape (m,); NaN for m = 0."""
    return float(values.mean()) if values.size else float("nan")


def rank_rows(scores: ArrayLike) -> NDArray[np.int64]:
    """Sort rows by their scores in descending order: the permutation that a scoring function induces.

    Parameters
    ----------
    scores : array_like, shape (N,)
        Score f(x_j) of each row.

    Returns
    -------
    int64 array, shape (N,)
        r = (j_1, …, j_N) with f(x_{j_1}) ≥ … ≥ f(x_{j_N}). Rows count from 0; rows with equal scores keep
        their order.

    Raises
    ------
    DataError
        If the scores are not a finite column.

    Examples
    --------
    >>> rank_rows([0.3, 2.0, 1.0]).tolist()
    [1, 2, 0]
    """
    return np.argsort(-check_column(scores, "scores"), kind="stable")


def compute_ranking_metric(ranking: ArrayLike, means: ArrayLike) -> float:
    """Compute the ranking metric T(r), which is large if rows with larger target values are ranked higher.

    Parameters
    ----------
    ranking : array_like of int, shape (N,)
        r, a permutation of the rows 0 … N − 1, highest first.
    means : array_like, shape (N,)
        Expected target E[y_j | x_j] of each row; y itself without noise. N ≥ 2.

    Returns
    -------
    float
        In [−Δ, Δ], in units of the target, where Δ is Gini's mean difference of the means. T(r) = Δ if the
        means descend along r.

    Raises
    ------
    DataError
        If the means are not a finite column of at least two rows.
    OptionError
        If the ranking is not a permutation of the rows.

    Notes
    -----
    Luo and Li (2024), eq. (15). In the sum over pairs the row at position p (from 1) occurs N − p times with
    a plus sign and p − 1 times with a minus sign. So T(r) = 2/(N(N−1)) · Σ_p (N + 1 − 2p) · E[y_{j_p} |
    x_{j_p}], which costs O(N). For the ranking by a feature θ without ties, and without noise, T(r) = Δ −
    T0(θ). If θ has ties, T0 averages over all orders of the tied rows.

    Examples
    --------
    >>> from symscreen import t0
    >>> y, z = [1.0, 2.0, 4.0], [0.1, 0.5, 0.3]
    >>> compute_ranking_metric(rank_rows(y), y) - compute_ranking_metric(rank_rows(z), y) == t0(z, y)
    True
    """
    mean = check_target(means)
    r = np.asarray(ranking)
    if r.dtype.kind not in "iu" or not np.array_equal(np.sort(r), np.arange(mean.size)):
        raise OptionError(
            f"a ranking must contain each row from 0 to {mean.size - 1} once; {r.tolist()!r} "
            "does not: rows count from 0"
        )
    # T(r) = 2/(N(N−1)) · Σ_{i<i'} (E y_{j_i} − E y_{j_i'})                                               (15)
    weights = mean.size + 1.0 - 2.0 * np.arange(1, mean.size + 1)
    pairs = mean.size * (mean.size - 1.0)
    return float(2.0 / pairs * (weights * (mean - mean.mean())[r]).sum())


def compute_ranking_regret(scores: ArrayLike, means: ArrayLike) -> float:
    """Compute the ranking regret T(r_B) − T(r) of a ranking by scores.

    Parameters
    ----------
    scores : array_like, shape (N,)
        Score f(x_j) of each row: a prediction or a feature.
    means : array_like, shape (N,)
        Expected target E[y_j | x_j] of each row, the Bayes scoring function f_B; not constant, N ≥ 2.

    Returns
    -------
    float
        In [0, 2Δ], in units of the target. It equals T0 between the scores and the means.

    Raises
    ------
    DataError
        If the shapes do not agree, a value is not finite, or the means are constant.

    Notes
    -----
    Luo and Li (2024), section 4: r_B sorts by the means, and T(r_B) = Δ. Equal scores, such as those of rows
    in one leaf, count as the average over all their orders. The result does not depend on the order of the
    rows.

    Examples
    --------
    >>> compute_ranking_regret([1.0, 3.0, 2.0], [0.0, 3.0, 6.0])
    2.0
    """
    from symscreen.screeners.array_api import t0

    mean = check_target(means)
    return float(t0(check_column(scores, "scores", mean.size), mean))


def compute_regret_bound(scores: ArrayLike, means: ArrayLike) -> float:
    """Compute the upper bound on the ranking regret T(r_B) − T(r) from the errors of the scores.

    Parameters
    ----------
    scores : array_like, shape (N,)
        Score f(x_j) of each row.
    means : array_like, shape (N,)
        Bayes score f_B(x_j) of each row; N ≥ 2.

    Returns
    -------
    float
        4/√N · (Σ_j (f_B(x_j) − f(x_j))²)^½, in units of the target.

    Raises
    ------
    DataError
        If the shapes do not agree or a value is not finite.

    Notes
    -----
    Luo and Li (2024), eq. (30) and (38), after Cossock and Zhang (2006). In Theorems 10 and 13 this step
    bounds the regret of the ranking by the error of the regression. It holds for any two columns, also in the
    form 4 mean|f_B − f|: the means of a pair in the wrong order differ by at most the sum of its two errors.

    Examples
    --------
    >>> compute_regret_bound([1.0, 2.0, 3.0], [1.0, 2.0, 4.5]) > compute_ranking_regret([1.0, 2.0, 3.0],
    ...     [1.0, 2.0, 4.5])
    True
    """
    mean = check_target(means)
    errors = mean - check_column(scores, "scores", mean.size)
    return float(4.0 * np.sqrt((errors * errors).mean()))  # (30), (38)
