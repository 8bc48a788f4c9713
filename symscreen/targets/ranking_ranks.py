"""Ranks as they are kept: mid-ranks among the labels that a row shows.

The pairs of labels, in one fixed order, and how each row orders them.

An order of rows that inputs cannot tell apart, which the names of labels do not decide.

What draws rows by their place (a forest's bootstrap) would follow the names of labels if equal inputs were
put into the order of the first label's ranks, and would follow whether ranks or scores were given. Rows are
compared under an order of the labels that comes from the rankings themselves.
"""

from __future__ import annotations

from itertools import groupby, islice, permutations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Ranks, Values

    IntArray = NDArray[np.int64]

__all__ = [
    "compute_pair_signs",
    "list_label_pairs",
    "mask_ranked_pairs",
    "sort_rows_by_content",
    "to_float_array",
    "to_mid_ranks",
    "to_orders",
]


def to_mid_ranks(values: ArrayLike, *, require_complete: bool = False) -> Ranks:
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
    >>> to_mid_ranks([[0, 1, 2], [5, 2, 2], [np.nan, 7, 3]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 1.5, 1.5], [nan, 2.0, 1.0]]
    """
    ranks = _to_rank_table(values)
    infinite = np.isinf(ranks).any(axis=1)
    if infinite.any():
        raise DataError(
            f"row {int(infinite.argmax())} of the rankings holds an infinite rank: "
            "leave a label that is missing NaN"
        )
    missing = np.isnan(ranks)
    empty = missing.all(axis=1)
    if empty.any():
        raise DataError(f"row {int(empty.argmax())} of the rankings ranks no label: drop such rows")
    if require_complete and missing.any():
        rows = missing.any(axis=1)
        raise DataError(
            f"row {int(rows.argmax())} of the rankings lacks {int(missing[rows.argmax()].sum())} of "
            f"{ranks.shape[1]} labels ({int(rows.sum())} such rows), and this method needs complete "
            "rankings: drop these rows, or take one that reads incomplete rankings, by pairs of labels"
        )
    return _compute_mid_ranks(ranks)


def to_orders(ranks: ArrayLike) -> NDArray[np.int64]:
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
        As `to_mid_ranks`.

    Examples
    --------
    >>> to_orders([[2, 3, 1], [1, np.nan, 1]]).tolist()
    [[2, 0, 1], [0, 2, -1]]
    """
    known = to_mid_ranks(ranks)
    orders = np.argsort(known, axis=1, kind="stable").astype(np.int64)
    shown = (~np.isnan(known)).sum(axis=1)
    orders[np.arange(known.shape[1]) >= shown[:, None]] = -1
    return orders


def to_float_array(values: Any) -> Ranks:
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
    >>> to_float_array([1, None]).tolist()
    [1.0, nan]
    """
    if _is_complex(values):
        raise DataError("rankings hold complex numbers, which have no order: give ranks")
    try:
        if hasattr(values, "to_numpy"):  # pandas marks what is missing by an object of its own
            return np.array(values.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as fault:
        raise DataError(
            f"rankings hold what is no number ({fault}): give ranks, or read texts such as 'a>b>c' by "
            "read_rankings"
        ) from None


def _is_complex(values: Any) -> bool:
    try:
        return bool(np.iscomplexobj(values))
    except ValueError:  # ragged lists, which are no numbers
        return False


def _to_rank_table(values: Any) -> Ranks:
    try:
        shape = np.shape(values)
    except ValueError:
        raise DataError(
            "the rows of the rankings have different lengths: give every row one value for each label, NaN "
            "where the label is missing; lists of labels in order are read by rankings_of_orders"
        ) from None
    if len(shape) != 2 or 0 in shape:
        raise DataError(
            f"rankings have shape {shape}: one row a ranking and one column a label are needed; "
            "texts such as 'a>b>c' are read by read_rankings"
        )
    return to_float_array(values)


def _compute_mid_ranks(values: Ranks) -> Ranks:
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


def list_label_pairs(k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the pairs (i, j) of k labels with i < j, in the order of every array over pairs.

    Parameters
    ----------
    k : int
        The number of labels, ≥ 1.

    Returns
    -------
    first, second : int64 arrays, shape (k(k − 1)/2,)
        i and j: (0, 1), (0, 2), …, (0, k − 1), (1, 2), …

    Examples
    --------
    >>> first, second = list_label_pairs(3)
    >>> first.tolist(), second.tolist()
    ([0, 0, 1], [1, 2, 2])
    """
    first, second = np.triu_indices(k, 1)
    return first.astype(np.int64), second.astype(np.int64)


def compute_pair_signs(ranks: Ranks) -> NDArray[np.int8]:
    """Tell of every row and pair i < j the sign of σ(i) − σ(j).

    Parameters
    ----------
    ranks : float64 array, shape (n, k)
        Rankings, as `to_mid_ranks` returns them.

    Returns
    -------
    int8 array, shape (n, k(k − 1)/2)
        −1 where i is preferred, 1 where j is, 0 where they are tied and also where the row does not show
        both: `mask_ranked_pairs` tells these two apart. Columns in the order of `list_label_pairs`.

    Examples
    --------
    >>> compute_pair_signs(np.array([[1.0, 2.0, 3.0], [1.5, 1.5, np.nan]])).tolist()
    [[-1, -1, -1], [0, 0, 0]]
    """
    n, k = ranks.shape
    signs = np.empty((n, k * (k - 1) // 2), dtype=np.int8)
    start = 0
    for i in range(k - 1):  # by first label: nothing larger than the answer is held
        later, one = ranks[:, i + 1 :], ranks[:, i : i + 1]
        stop = start + k - 1 - i
        signs[:, start:stop] = (one > later).astype(np.int8) - (one < later).astype(np.int8)
        start = stop
    return signs


def mask_ranked_pairs(ranks: Ranks) -> NDArray[np.bool_]:
    """Tell of every row and pair i < j whether the row shows both labels.

    Parameters
    ----------
    ranks : float64 array, shape (n, k)
        Rankings, as `to_mid_ranks` returns them.

    Returns
    -------
    bool array, shape (n, k(k − 1)/2)
        In the order of `list_label_pairs`; True also for tied labels.

    Examples
    --------
    >>> mask_ranked_pairs(np.array([[1.0, 2.0, 3.0], [1.5, 1.5, np.nan]])).tolist()
    [[True, True, True], [True, False, False]]
    """
    first, second = list_label_pairs(ranks.shape[1])
    shown = ~np.isnan(ranks)
    return np.asarray(shown[:, first] & shown[:, second])


_MAX_LABEL_ORDERS = 720  # of labels that are alike in every group


def sort_rows_by_content(groups: IntArray, ranks: Values) -> IntArray:
    """Order rows by their group, and inside a group by their rankings, whatever labels are called.

    Parameters
    ----------
    groups : int64 array, shape (n,)
        Which rows no input tells apart, numbered in the order of the groups.
    ranks : float64 array, shape (n, k)
        Rankings, as `to_mid_ranks` writes them.

    Returns
    -------
    int64 array, shape (n,)
        Rows. Other names of the labels, another order of the rows and scores in place of ranks give the same
        rankings in the same places, up to a renaming of the labels and a reversal of all rankings. Where
        labels are alike in every group (the same ranks, each as often) all their orders are compared, up to
        720; beyond, names decide.

    Examples
    --------
    >>> ranks = np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 1.0], [1.0, 3.0, 2.0]])
    >>> one = ranks[sort_rows_by_content(np.array([0, 0, 1]), ranks)]
    >>> renamed = ranks[:, [2, 0, 1]]
    >>> other = renamed[sort_rows_by_content(np.array([0, 0, 1]), renamed)]
    >>> bool((other == one[:, [2, 0, 1]]).all())
    True
    """
    order = np.argsort(groups, kind="stable")
    if (np.diff(groups[order]) > 0).all():
        return order.astype(np.int64)  # inputs tell all rows apart
    missing = np.isnan(ranks)
    shown = (~missing).sum(axis=1, keepdims=True)
    forward, backward = np.where(missing, 0.0, ranks), np.where(missing, 0.0, shown + 1.0 - ranks)
    candidates = [
        _sort_rows(groups, own[:, labels])
        for own in (forward, backward)
        for labels in _iterate_label_orders(groups, own)
    ]
    return min(candidates, key=lambda found: found[0])[1]


def _sort_rows(groups: IntArray, ranks: Values) -> tuple[bytes, IntArray]:
    rows = np.lexsort((*ranks.T[::-1], groups)).astype(np.int64)
    return ranks[rows].tobytes(), rows


def _iterate_label_orders(groups: IntArray, ranks: Values) -> Iterator[list[int]]:
    """Go through the orders of the labels by the ranks that each has in the groups."""
    told = [column[np.lexsort((column, groups))].tobytes() for column in ranks.T]
    places = sorted(range(len(told)), key=told.__getitem__)
    alike = [list(same) for _, same in groupby(places, key=told.__getitem__)]
    orders = product(*(islice(permutations(same), _MAX_LABEL_ORDERS) for same in alike))
    return ([label for same in order for label in same] for order in islice(orders, _MAX_LABEL_ORDERS))
