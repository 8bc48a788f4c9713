"""Sums of squares about the mean of every beginning and every end of a column.

Oracle partitions: the best way to part responses in two, whatever the features (paper 003, §3.1).

What an exchange of two rows does to the loss of a partition (paper 003, Lemma 15).
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

__all__ = [
    "RELATIVE_TOLERANCE",
    "OraclePartition",
    "compute_cut_losses",
    "compute_partition_loss",
    "compute_squared_deviation",
    "compute_swap_gains",
    "find_local_minima",
    "find_oracle_partition",
]

RELATIVE_TOLERANCE = (
    1e-12  # losses that differ by less than this share of SS(all) are one: their order is rounding
)


def compute_squared_deviation(values: Values) -> float:
    """Compute SS(P) = Σ_{i ∈ P} (y_i − μ(P))² (Luo and Li 2024, below eq. 10).

    Parameters
    ----------
    values : float64 array, shape (m,)
        The responses of P; an empty P has none.

    Returns
    -------
    float
        ≥ 0, in the response's squared unit; 0 for an empty P.

    Examples
    --------
    >>> compute_squared_deviation(np.array([1.0, 3.0])), compute_squared_deviation(np.array([]))
    (2.0, 0.0)
    """
    if not values.size:
        return 0.0
    away = values - values.mean()
    return float((away * away).sum())


def compute_cut_losses(values: Values) -> Values:
    """Compute L(P1, P2) = SS(P1) + SS(P2) of eq. (10) for every cut of a column into beginning and end.

    Parameters
    ----------
    values : float64 array, shape (n,)
        Responses, in the order in which they are to be cut; n ≥ 2.

    Returns
    -------
    float64 array, shape (n − 1,)
        At place i − 1 the loss where the first i are P1.

    Notes
    -----
    O(n), by sums of numbers that are not negative, so that nothing cancels (Welford 1962).

    Examples
    --------
    >>> compute_cut_losses(np.array([1.0, 3.0, 8.0, 8.0]))
    array([16.66666667,  2.        , 26.        ])
    """
    return _accumulate_squared_deviations(values)[:-1] + _accumulate_squared_deviations(values[::-1])[-2::-1]


def _accumulate_squared_deviations(values: Values) -> Values:
    counts = np.arange(1, values.size + 1)
    centred = values - values.mean()
    means = np.cumsum(centred) / counts
    # SS_{k+1} = SS_k + k/(k+1) · (y_{k+1} − μ_k)²
    grown = (centred[1:] - means[:-1]) ** 2 * (counts[:-1] / counts[1:])
    return np.concatenate(([0.0], np.cumsum(grown)))


@dataclass(frozen=True, eq=False)
class OraclePartition:
    """A partition of the rows at one place of the order of their responses.

    Parameters
    ----------
    low, high : int64 array
        The rows with the smaller and with the larger responses, by response.
    means : tuple of float
        (μ(low), μ(high)).
    loss : float
        SS(low) + SS(high) of eq. (10), in the response's squared unit.
    """

    low: RowIndices
    high: RowIndices
    means: tuple[float, float]
    loss: float

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of rows in `low` and in `high`."""
        return len(self.low), len(self.high)


def compute_partition_loss(y: ArrayLike, part: ArrayLike) -> float:
    """Compute the loss of any partition of the rows in two.

    Parameters
    ----------
    y : array_like, shape (n,)
        The responses; n ≥ 2.
    first : array_like of int
        The rows of P1, counted from 0; P2 holds the others.

    Returns
    -------
    float
        L(P1, P2) = SS(P1) + SS(P2), in the response's squared unit.

    Raises
    ------
    TableError
        If y is not a finite column of at least two rows.
    OptionError
        If a row is named twice or does not exist.

    Notes
    -----
    Luo and Li (2024), eq. (10).

    Examples
    --------
    >>> compute_partition_loss([1.0, 3.0, 8.0], first=[0, 1])
    2.0
    """
    response = check_target(y)
    inside = mark_rows(part, response.size)
    return compute_squared_deviation(response[inside]) + compute_squared_deviation(response[~inside])  # (10)


def find_local_minima(y: ArrayLike, size: int) -> tuple[OraclePartition, OraclePartition]:
    """Build the two partitions of Lemma 1: the smallest responses against the rest, and the largest.

    Parameters
    ----------
    y : array_like, shape (n,)
        The responses; n ≥ 2. Of equal responses the first rows count as the smaller.
    size : int
        i, the rows in one of the two parts; from 1 to n − 1.

    Returns
    -------
    tuple of OraclePartition
        P* with the i smallest in `low`, and P** with the i largest in `high`.

    Raises
    ------
    TableError
        If y is not a finite column of at least two rows.
    OptionError
        If the size is out of range.

    Notes
    -----
    Luo and Li (2024), Lemma 1. It says that both minimise (10); in general one of them does and the other is
    a local minimum, as Remark 2 says. Local means: no exchange of two rows that are neighbours in the order
    of the responses lowers the loss. An exchange of any two rows may: it can lead straight to the other
    minimum. Nothing needs n > 4 and two rows on either side, as the text assumes, for at fixed sizes
    L = SS(all) − n/(i(n−i)) · (S1 − i·ȳ)² with S1 the sum over P1, which is least where S1 is least or
    greatest. (The last member of P** begins at y_(n−i+2); the lemma prints y_(i+2).)

    Examples
    --------
    >>> y = [0.0, 1.0, 2.0, 3.0, 100.0]
    >>> [(p.sizes, p.loss) for p in find_local_minima(y, size=2)]
    [((2, 3), 6338.5), ((3, 2), 4706.5)]
    """
    response = check_target(y)
    i = _check_size(size, response.size)
    return _partition_at(response, i), _partition_at(response, response.size - i)


def find_oracle_partition(y: ArrayLike, size: int | None = None) -> OraclePartition:
    """Find the best partition of the responses in two, which no tree can beat with one split.

    Parameters
    ----------
    y : array_like, shape (n,)
        The responses; n ≥ 2. Of equal responses the first rows count as the smaller.
    size : int, optional
        i, the rows in one of the two parts, from 1 to n − 1; by default the best of all sizes.

    Returns
    -------
    OraclePartition
        Of losses that agree to 12 digits of SS(all), that with the fewest rows in `low`; with a size, P*
        before P**.

    Raises
    ------
    TableError
        If y is not a finite column of at least two rows.
    OptionError
        If the size is out of range.

    Notes
    -----
    Luo and Li (2024), Lemma 1 and Remark 3, eq. (11) (whose right side lets i reach n, where P2 is empty).
    At fixed sizes the two candidates follow from the ranks of y alone; which of them is the better, and the
    best size, depend on its values. O(n log n).

    Examples
    --------
    Example 3 of the paper: the rows 0 and 4 (y = 5 and 4) against the rest.

    >>> best = find_oracle_partition([5.0, 2.1, 1.0, 2.0, 4.0])
    >>> best.low.tolist(), best.high.tolist(), round(best.loss, 4)
    ([2, 3, 1], [4, 0], 1.24)
    """
    response = check_target(y)
    alike = RELATIVE_TOLERANCE * compute_squared_deviation(response)
    if size is not None:
        smallest, largest = find_local_minima(response, size)
        return smallest if smallest.loss <= largest.loss + alike else largest
    # min over i ∈ {1, …, n−1} of Σ_{j ≤ i} (y_(j) − μ1)² + Σ_{j > i} (y_(j) − μ2)²                 (11)
    losses = compute_cut_losses(np.sort(response))
    return _partition_at(response, 1 + int(np.flatnonzero(losses <= losses.min() + alike)[0]))


def mark_rows(rows: ArrayLike, n_rows: int) -> NDArray[np.bool_]:
    """Mark the rows of a part.

    Parameters
    ----------
    rows : array_like of int
        Rows, counted from 0, each once.
    n : int
        How many rows there are.

    Returns
    -------
    bool array, shape (n,)

    Raises
    ------
    OptionError
        If a row is named twice or does not exist.

    Examples
    --------
    >>> mark_rows([2], 3).tolist()
    [False, False, True]
    """
    named = np.asarray(rows)
    if named.size == 0:
        named = named.astype(np.int64)
    if named.ndim != 1 or named.dtype.kind not in "iu" or ((named < 0) | (named >= n_rows)).any():
        raise OptionError(
            f"the rows of a part are whole numbers from 0 to {n_rows - 1}; {named.tolist()!r} was given"
        )
    inside = np.zeros(n_rows, dtype=np.bool_)
    inside[named] = True
    if inside.sum() != named.size:
        raise OptionError(f"a row is named twice in {named.tolist()!r}; name each once")
    return inside


def _check_size(size: int, n_rows: int) -> int:
    whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
    if not whole or not 1 <= size < n_rows:
        raise OptionError(
            f"a part of {size!r} rows was asked for; give a whole number from 1 to {n_rows - 1}, for y has "
            f"{n_rows}"
        )
    return int(size)


def _partition_at(target: NDArray[np.float64], size: int) -> OraclePartition:
    rows = np.argsort(target, kind="stable")
    along = target[rows]
    means = float(along[:size].mean()), float(along[size:].mean())
    return OraclePartition(rows[:size], rows[size:], means, float(compute_cut_losses(along)[size - 1]))


def compute_swap_gains(y: ArrayLike, part: ArrayLike) -> NDArray[np.float64]:
    """Compute by how much each exchange of a row of P1 with a row of P2 reduces the loss.

    Parameters
    ----------
    y : array_like, shape (n,)
        The responses; n ≥ 2.
    first : array_like of int
        The rows of P1, counted from 0; P2 holds the others. Neither is empty.

    Returns
    -------
    float64 array, shape (|P1|, |P2|)
        L before less L after, in the response's squared unit; the rows of P1 and of P2 ascending.

    Raises
    ------
    TableError
        If y is not a finite column of at least two rows.
    OptionError
        If a row is named twice or does not exist, or a part is empty.

    Notes
    -----
    With d = y_a − y_b the exchange of a ∈ P1 and b ∈ P2 lowers the sum over P1 by d, and
    L = SS(all) − n/(i(n−i)) · (S1 − i·ȳ)² falls by n/(i(n−i)) · d² − 2d·(μ1 − μ2), where i = |P1|.

    Lemma 15 of Luo and Li (2024) follows: where a and b are reversed (μ1 < μ2 and y_a > y_b) both terms are
    positive and grow with d, so the larger of two reversed pairs gains more. The lemma's own case, where
    μ1 < μ2 is not assumed, holds as well under its conditions n > 4 and two rows on either side. A slip in
    its proof: of its two exchanges only that of (y_α, y_γ) leaves no reversed pair; after that of
    (y_β, y_γ) the pair (y_α, y_β) is reversed.

    Examples
    --------
    Rows 1 and 2 are reversed with row 3; the larger of the two gains more.

    >>> compute_swap_gains([1.0, 4.0, 5.0, 3.0, 8.0, 9.0], first=[0, 1, 2])[:, 0].round(4).tolist()
    [-10.6667, 7.3333, 16.0]
    """
    response = check_target(y)
    inside = mark_rows(part, response.size)
    i, n = int(inside.sum()), response.size
    if not 0 < i < n:
        raise OptionError(f"a part holds {i} of {n} rows: there is nothing to exchange; fill both parts")
    ours, theirs = response[inside], response[~inside]
    d = ours[:, None] - theirs[None, :]
    # n/(i(n−i)) · d² − 2d·(μ1 − μ2)
    return np.asarray(n / (i * (n - i)) * d * d - 2.0 * d * (ours.mean() - theirs.mean()))
