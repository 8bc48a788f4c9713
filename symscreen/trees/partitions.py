"""Partitions of the target values into two groups (Luo and Li 2024, section 3.1 and Lemma 15).

The loss of a partition is the sum of the squared deviations of both parts from their means, eq. (10). The
oracle partition has the smallest loss of all partitions, independent of any feature. This module computes
losses, oracle partitions (Lemma 1, eq. 11) and the change of the loss by exchanging two rows (Lemma 15).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError
from symscreen.trees._column_checks import check_target

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Values

    RowIndices = NDArray[np.int64]


# losses that differ by less than this share of SS(all) are equal: their order is rounding noise
RELATIVE_TOLERANCE = 1e-12


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
    if not values.size:
        return 0.0
    deviations = values - values.mean()
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
    centred = values - values.mean()
    means = np.cumsum(centred) / counts
    # SS_{k+1} = SS_k + k/(k+1) · (y_{k+1} − μ_k)²
    increments = (centred[1:] - means[:-1]) ** 2 * (counts[:-1] / counts[1:])
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
    return compute_squared_deviation(target[is_in_part]) + compute_squared_deviation(
        target[~is_in_part]
    )  # (10)


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
