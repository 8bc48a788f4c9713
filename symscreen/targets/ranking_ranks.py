"""Arrays of ranks: mid-ranks per row, signs of pairs of labels, and an order of rows by their rankings.

`sort_rows_by_content` orders rows with equal inputs. Methods that draw rows by index, such as the bootstrap
of a forest, depend on this order. It must therefore not depend on the names of the labels, nor on whether
ranks or scores were given, and is derived from the rankings themselves.
"""

from __future__ import annotations

from itertools import groupby, islice, permutations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Integers, Ranks, Values


_MAX_LABEL_ORDERS = 720  # permutations of indistinguishable labels that are compared (6!)


def to_mid_ranks(values: ArrayLike, *, require_complete: bool = False) -> Ranks:
    """Check rankings and convert them to mid-ranks within each row.

    Parameters
    ----------
    values : array-like, shape (n, k)
        One row per ranking and one column per label. Smaller values are preferred, equal values are ties, NaN
        marks a missing label, whose position is unknown. Only the order within a row matters, so positions
        from 0, ranks with gaps and negated scores are valid.
    require_complete : bool
        Reject rows with missing labels. Ties are allowed.

    Returns
    -------
    float64 array, shape (n, k)
        A new array. The m labels of a row have mid-ranks from 1 to m; missing labels are NaN.

    Raises
    ------
    DataError
        If the values are not a table of numbers, are infinite, a row has no label, or a row misses a label
        and `require_complete` is set.

    Examples
    --------
    >>> to_mid_ranks([[0, 1, 2], [5, 2, 2], [np.nan, 7, 3]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 1.5, 1.5], [nan, 2.0, 1.0]]
    """
    ranks = _to_rank_table(values)
    is_infinite = np.isinf(ranks).any(axis=1)
    if is_infinite.any():
        raise DataError(
            f"row {int(is_infinite.argmax())} of the rankings holds an infinite rank: "
            "use NaN for a missing label"
        )
    is_missing = np.isnan(ranks)
    is_empty = is_missing.all(axis=1)
    if is_empty.any():
        raise DataError(f"row {int(is_empty.argmax())} of the rankings ranks no label: drop such rows")
    if require_complete and is_missing.any():
        is_incomplete = is_missing.any(axis=1)
        raise DataError(
            f"row {int(is_incomplete.argmax())} of the rankings lacks "
            f"{int(is_missing[is_incomplete.argmax()].sum())} of {ranks.shape[1]} labels "
            f"({int(is_incomplete.sum())} such rows), and this method needs complete rankings: drop these "
            "rows, or use a method for incomplete rankings, by pairs of labels"
        )
    return _compute_mid_ranks(ranks)


def to_orders(ranks: ArrayLike) -> NDArray[np.int64]:
    """List the labels of each ranking, most preferred first.

    Parameters
    ----------
    ranks : array-like, shape (n, k)
        Rankings. Tied labels are listed in the order of their indices.

    Returns
    -------
    int64 array, shape (n, k)
        Indices of the labels from 0, padded with −1 after the last ranked label.

    Raises
    ------
    DataError
        If the rankings are not valid, see `to_mid_ranks`.

    Examples
    --------
    >>> to_orders([[2, 3, 1], [1, np.nan, 1]]).tolist()
    [[2, 0, 1], [0, 2, -1]]
    """
    mid_ranks = to_mid_ranks(ranks)
    orders = np.argsort(mid_ranks, axis=1, kind="stable").astype(np.int64)
    n_ranked = (~np.isnan(mid_ranks)).sum(axis=1)
    orders[np.arange(mid_ranks.shape[1]) >= n_ranked[:, None]] = -1
    return orders


def to_float_array(values: Any) -> Ranks:
    """Convert an array, list or pandas object to float64, NaN where a value is missing.

    Parameters
    ----------
    values : array-like
        Numbers.

    Returns
    -------
    float64 array
        A new array of the same shape.

    Raises
    ------
    DataError
        If a value is not a real number.

    Examples
    --------
    >>> to_float_array([1, None]).tolist()
    [1.0, nan]
    """
    if _is_complex(values):
        raise DataError("rankings hold complex numbers, which have no order: give ranks")
    try:
        if hasattr(values, "to_numpy"):  # pandas has its own objects for missing values
            return np.array(values.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"rankings hold a value that is not a number ({error}): give ranks, or read texts such as "
            "'a>b>c' with parse_rankings"
        ) from None


def _is_complex(values: Any) -> bool:
    """Return whether values are complex numbers."""
    try:
        return bool(np.iscomplexobj(values))
    except ValueError:  # ragged lists
        return False


def _to_rank_table(values: Any) -> Ranks:
    """Convert values of shape (n, k), n ≥ 1 and k ≥ 1, to a float64 array."""
    try:
        shape = np.shape(values)
    except ValueError:
        raise DataError(
            "the rows of the rankings have different lengths: give every row one value for each label, NaN "
            "where the label is missing; lists of labels are read by build_rankings_from_orders"
        ) from None
    if len(shape) != 2 or 0 in shape:
        raise DataError(
            f"rankings have shape {shape}: one row per ranking and one column per label are needed; "
            "texts such as 'a>b>c' are read by parse_rankings"
        )
    return to_float_array(values)


def _compute_mid_ranks(values: Ranks) -> Ranks:
    """Replace each row's values by mid-ranks (the mean position of tied values); shape (n, k)."""
    order = np.argsort(values, axis=1, kind="stable")  # NaN is sorted last
    ascending = np.take_along_axis(values, order, axis=1)
    position = np.broadcast_to(np.arange(1.0, values.shape[1] + 1.0), values.shape)
    starts_tie = np.ones(values.shape, dtype=bool)
    starts_tie[:, 1:] = ascending[:, 1:] != ascending[:, :-1]
    first = np.maximum.accumulate(np.where(starts_tie, position, 0.0), axis=1)
    ends_tie = np.ones(values.shape, dtype=bool)
    ends_tie[:, :-1] = starts_tie[:, 1:]
    last = np.minimum.accumulate(np.where(ends_tie, position, np.inf)[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2.0, axis=1)
    ranks[np.isnan(values)] = np.nan
    return ranks


def list_label_pairs(k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the pairs (i, j) of k labels with i < j, in the order used for all arrays over pairs.

    Parameters
    ----------
    k : int
        Number of labels, ≥ 1.

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
    """Compute the sign of σ(i) − σ(j) for every row and every pair i < j.

    Parameters
    ----------
    ranks : float64 array, shape (n, k)
        Rankings as returned by `to_mid_ranks`.

    Returns
    -------
    int8 array, shape (n, k(k − 1)/2)
        −1 if i is preferred, 1 if j is preferred, 0 if they are tied or not both ranked
        (`mask_ranked_pairs` distinguishes these two cases). Columns in the order of `list_label_pairs`.

    Examples
    --------
    >>> compute_pair_signs(np.array([[1.0, 2.0, 3.0], [1.5, 1.5, np.nan]])).tolist()
    [[-1, -1, -1], [0, 0, 0]]
    """
    n, k = ranks.shape
    signs = np.empty((n, k * (k - 1) // 2), dtype=np.int8)
    start = 0
    for i in range(k - 1):  # one first label at a time, so that no temporary array exceeds the result
        first, later = ranks[:, i : i + 1], ranks[:, i + 1 :]
        stop = start + k - 1 - i
        signs[:, start:stop] = (first > later).astype(np.int8) - (first < later).astype(np.int8)
        start = stop
    return signs


def mask_ranked_pairs(ranks: Ranks) -> NDArray[np.bool_]:
    """Find the pairs i < j of labels that are both ranked in a row.

    Parameters
    ----------
    ranks : float64 array, shape (n, k)
        Rankings as returned by `to_mid_ranks`.

    Returns
    -------
    bool array, shape (n, k(k − 1)/2)
        Columns in the order of `list_label_pairs`. True also for tied labels.

    Examples
    --------
    >>> mask_ranked_pairs(np.array([[1.0, 2.0, 3.0], [1.5, 1.5, np.nan]])).tolist()
    [[True, True, True], [True, False, False]]
    """
    first, second = list_label_pairs(ranks.shape[1])
    is_ranked = ~np.isnan(ranks)
    return np.asarray(is_ranked[:, first] & is_ranked[:, second])


def sort_rows_by_content(groups: Integers, ranks: Values) -> Integers:
    """Sort rows by group, and within a group by their rankings, independently of the label names.

    Parameters
    ----------
    groups : int64 array, shape (n,)
        Group number of each row. Rows of a group have equal inputs.
    ranks : float64 array, shape (n, k)
        Rankings as returned by `to_mid_ranks`.

    Returns
    -------
    int64 array, shape (n,)
        Indices of the rows. Renaming the labels, permuting the rows, or giving scores instead of ranks
        results in the same sequence of rankings, up to renaming the labels and reversing all rankings. Labels
        with equal ranks in every group cannot be distinguished; then all their orders are compared, up to
        720. Beyond that limit the result depends on the names.

    Examples
    --------
    >>> ranks = np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 1.0], [1.0, 3.0, 2.0]])
    >>> rows = sort_rows_by_content(np.array([0, 0, 1]), ranks)
    >>> renamed = ranks[:, [2, 0, 1]]
    >>> renamed_rows = sort_rows_by_content(np.array([0, 0, 1]), renamed)
    >>> bool((renamed[renamed_rows] == ranks[rows][:, [2, 0, 1]]).all())
    True
    """
    order = np.argsort(groups, kind="stable")
    if (np.diff(groups[order]) > 0).all():
        return order.astype(np.int64)  # every row has its own group
    is_missing = np.isnan(ranks)
    n_ranked = (~is_missing).sum(axis=1, keepdims=True)
    forward, backward = np.where(is_missing, 0.0, ranks), np.where(is_missing, 0.0, n_ranked + 1.0 - ranks)
    candidates = [
        _sort_rows(groups, directed_ranks[:, labels])
        for directed_ranks in (forward, backward)
        for labels in _iterate_label_orders(groups, directed_ranks)
    ]
    return min(candidates, key=lambda candidate: candidate[0])[1]


def _sort_rows(groups: Integers, ranks: Values) -> tuple[bytes, Integers]:
    """Sort rows by group and ranks; return the sorted ranks as bytes, and the row indices."""
    rows = np.lexsort((*ranks.T[::-1], groups)).astype(np.int64)
    return ranks[rows].tobytes(), rows


def _iterate_label_orders(groups: Integers, ranks: Values) -> Iterator[list[int]]:
    """Yield the orders of the labels by their ranks per group, with all permutations of equal labels."""
    keys = [column[np.lexsort((column, groups))].tobytes() for column in ranks.T]
    labels = sorted(range(len(keys)), key=keys.__getitem__)
    equal_labels = [list(block) for _, block in groupby(labels, key=keys.__getitem__)]
    orders = product(*(islice(permutations(block), _MAX_LABEL_ORDERS) for block in equal_labels))
    return ([label for block in order for label in block] for order in islice(orders, _MAX_LABEL_ORDERS))
