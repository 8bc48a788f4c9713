"""Ranks as they are kept: mid-ranks among the labels that a row shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import TableError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Ranks = NDArray[np.float64]

__all__ = ["as_rankings", "numbers_of", "orders_of"]


def as_rankings(values: ArrayLike, *, complete: bool = False) -> Ranks:
    """Check rankings and write them as mid-ranks among the labels of each row.

    Parameters
    ----------
    values : array-like, shape (n, k)
        One row a ranking, one column a label; what is smaller is preferred. NaN: the label is missing, its
        position unknown. Equal values: a tie. Only the order within a row counts, so positions from 0, ranks
        with gaps and negated scores are as good as ranks.
    complete : bool
        Refuse rows in which labels are missing, for methods that have no use for them. Ties are allowed.

    Returns
    -------
    float64 array, shape (n, k)
        A new array: in a row that shows m labels mid-ranks from 1 to m, and NaN elsewhere.

    Raises
    ------
    TableError
        If the values are no table of numbers, are infinite, show no label in some row, or show not all of
        them where `complete` is asked for.

    Examples
    --------
    >>> as_rankings([[0, 1, 2], [5, 2, 2], [np.nan, 7, 3]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 1.5, 1.5], [nan, 2.0, 1.0]]
    """
    ranks = _table(values)
    infinite = np.isinf(ranks).any(axis=1)
    if infinite.any():
        raise TableError(
            f"row {int(infinite.argmax())} of the rankings holds an infinite rank: "
            "leave a label that is missing NaN"
        )
    missing = np.isnan(ranks)
    empty = missing.all(axis=1)
    if empty.any():
        raise TableError(f"row {int(empty.argmax())} of the rankings ranks no label: drop such rows")
    if complete and missing.any():
        rows = missing.any(axis=1)
        raise TableError(
            f"row {int(rows.argmax())} of the rankings lacks {int(missing[rows.argmax()].sum())} of "
            f"{ranks.shape[1]} labels ({int(rows.sum())} such rows), and this method needs complete "
            "rankings: drop these rows, or take one that reads incomplete rankings, by pairs of labels"
        )
    return _mid_ranks(ranks)


def orders_of(ranks: ArrayLike) -> NDArray[np.int64]:
    """List the labels of every ranking from the most to the least preferred.

    Parameters
    ----------
    ranks : array-like, shape (n, k)
        Rankings; of tied labels the one with the smaller index is listed first.

    Returns
    -------
    int64 array, shape (n, k)
        Indices of labels, from 0; after the last label shown, −1.

    Raises
    ------
    TableError
        As `as_rankings`.

    Examples
    --------
    >>> orders_of([[2, 3, 1], [1, np.nan, 1]]).tolist()
    [[2, 0, 1], [0, 2, -1]]
    """
    known = as_rankings(ranks)
    orders = np.argsort(known, axis=1, kind="stable").astype(np.int64)
    shown = (~np.isnan(known)).sum(axis=1)
    orders[np.arange(known.shape[1]) >= shown[:, None]] = -1
    return orders


def numbers_of(values: Any) -> Ranks:
    """Turn a table or a column into float64, NaN where a value is missing.

    Parameters
    ----------
    values : array-like
        Numbers, as numpy, pandas or lists hold them.

    Returns
    -------
    float64 array
        A new one of the same shape.

    Raises
    ------
    TableError
        If there is something that is no real number.

    Examples
    --------
    >>> numbers_of([1, None]).tolist()
    [1.0, nan]
    """
    if _complex(values):
        raise TableError("rankings hold complex numbers, which have no order: give ranks")
    try:
        if hasattr(values, "to_numpy"):  # pandas marks what is missing by an object of its own
            return np.array(values.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as fault:
        raise TableError(
            f"rankings hold what is no number ({fault}): give ranks, or read texts such as 'a>b>c' by "
            "read_rankings"
        ) from None


def _complex(values: Any) -> bool:
    try:
        return bool(np.iscomplexobj(values))
    except ValueError:  # ragged lists, which are no numbers
        return False


def _table(values: Any) -> Ranks:
    try:
        shape = np.shape(values)
    except ValueError:
        raise TableError(
            "the rows of the rankings have different lengths: give every row one value for each label, NaN "
            "where the label is missing; lists of labels in order are read by rankings_of_orders"
        ) from None
    if len(shape) != 2 or 0 in shape:
        raise TableError(
            f"rankings have shape {shape}: one row a ranking and one column a label are needed; "
            "texts such as 'a>b>c' are read by read_rankings"
        )
    return numbers_of(values)


def _mid_ranks(values: Ranks) -> Ranks:
    """Rank every row, tied values sharing the mean of their places; NaN stays NaN."""
    order = np.argsort(values, axis=1, kind="stable")  # NaN comes last
    ascending = np.take_along_axis(values, order, axis=1)
    place = np.broadcast_to(np.arange(1.0, values.shape[1] + 1.0), values.shape)
    new = np.ones(values.shape, dtype=bool)
    new[:, 1:] = ascending[:, 1:] != ascending[:, :-1]
    first = np.maximum.accumulate(np.where(new, place, 0.0), axis=1)
    ends = np.ones(values.shape, dtype=bool)
    ends[:, :-1] = new[:, 1:]
    last = np.minimum.accumulate(np.where(ends, place, np.inf)[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2.0, axis=1)
    ranks[np.isnan(values)] = np.nan
    return ranks
