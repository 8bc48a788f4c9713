"""Distances and coefficients between rankings, row by row.

All functions take two arrays of rankings of the same labels. They compare the labels that both rows rank: the
position of a missing label is unknown, so pairs with it are not counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.errors import DataError
from symscreen.label_ranking.consensus.pairwise_probabilities import check_weights
from symscreen.targets.ranking_ranks import to_mid_ranks, to_orders

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from symscreen._typing import Ranks


def kendall_distance(a: ArrayLike, b: ArrayLike) -> Ranks:
    """Count the pairs of labels that two rankings order differently: d_τ (Clémençon et al., eq. 2).

    Parameters
    ----------
    a, b : array-like, shape (n, k) or (k,)
        Rankings. One of them may be a single ranking, which is compared with all rows of the other.

    Returns
    -------
    float64 array, shape (n,)
        From 0 to k(k − 1)/2, over the pairs that both rows rank. A pair that is tied in only one row counts
        ½, as in K^(1/2) of Fagin et al. (2006). So the mean over rows is the expected distance computed from
        pairwise probabilities, in which ties count ½ too.

    Raises
    ------
    DataError
        If the rankings are invalid, or their labels or numbers of rows differ.

    Examples
    --------
    >>> kendall_distance([[1, 2, 3], [3, 2, 1], [1, 2, 2]], [1, 2, 3]).tolist()
    [0.0, 3.0, 0.5]
    """
    pairs = _count_pairs(*_align_rankings(a, b))
    return pairs.discordant + 0.5 * (pairs.tied_in_a + pairs.tied_in_b)


def kendall_tau(a: ArrayLike, b: ArrayLike) -> Ranks:
    """Compute Kendall's τ = (C − D)/(C + D) over the pairs that both rankings contain without a tie.

    Parameters
    ----------
    a, b : array-like, shape (n, k) or (k,)
        Rankings. One of them may be a single ranking, which is compared with all rows of the other.

    Returns
    -------
    float64 array, shape (n,)
        From −1 to 1, where C and D are the numbers of concordant and discordant pairs; NaN without such a
        pair. For complete rankings without ties it is 1 − 4 d_τ/(k(k − 1)). With ties it is Goodman and
        Kruskal's γ, as is usual for partial rankings: a tied pair does not determine an order.

    Raises
    ------
    DataError
        If the rankings are invalid, or their labels or numbers of rows differ.

    Examples
    --------
    >>> kendall_tau([[1, 2, 3], [2, 1, 3], [1, 1, 1]], [1, 2, 3]).round(3).tolist()
    [1.0, 0.333, nan]
    """
    pairs = _count_pairs(*_align_rankings(a, b))
    return _divide(pairs.concordant - pairs.discordant, pairs.concordant + pairs.discordant)


def kendall_tau_b(a: ArrayLike, b: ArrayLike) -> Ranks:
    """Compute Kendall's τ-b, which penalises pairs that are tied in only one ranking.

    Parameters
    ----------
    a, b : array-like, shape (n, k) or (k,)
        Rankings. One of them may be a single ranking, which is compared with all rows of the other.

    Returns
    -------
    float64 array, shape (n,)
        (C − D)/√((C + D + T_a)(C + D + T_b)) over the pairs that both rankings contain. T_a of them are tied
        only in a and T_b only in b. From −1 to 1; NaN if one ranking ties all of them.

    Raises
    ------
    DataError
        If the rankings are invalid, or their labels or numbers of rows differ.

    Examples
    --------
    >>> kendall_tau_b([[1, 2, 3], [1, 2.5, 2.5]], [1, 2, 3]).round(3).tolist()
    [1.0, 0.816]
    """
    pairs = _count_pairs(*_align_rankings(a, b))
    untied = pairs.concordant + pairs.discordant
    scale = np.sqrt((untied + pairs.tied_in_a) * (untied + pairs.tied_in_b))
    return _divide(pairs.concordant - pairs.discordant, scale)


def mean_kendall_tau(a: ArrayLike, b: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Compute the weighted mean of Kendall's τ over rows: the `score` of the learners.

    Parameters
    ----------
    a, b : array-like, shape (n, k) or (k,)
        Rankings; see `kendall_tau`.
    weights : array-like, shape (n,), optional
        Non-negative row weights. By default all rows have the same weight.

    Returns
    -------
    float
        Mean over the rows with at least one comparable pair; NaN if there are none.

    Raises
    ------
    DataError
        If the rankings are invalid, or their labels or numbers of rows differ.
    OptionError
        If the weights are not one finite non-negative number per row, or are all 0.

    Examples
    --------
    >>> mean_kendall_tau([[1, 2, 3], [3, 2, 1], [1, 1, 1]], [1, 2, 3])
    0.0
    """
    tau = kendall_tau(a, b)
    row_weights = check_weights(weights, tau.size)
    is_comparable = ~np.isnan(tau)
    total_weight = float(row_weights[is_comparable].sum())
    return (
        float((tau[is_comparable] * row_weights[is_comparable]).sum()) / total_weight
        if total_weight > 0.0
        else float("nan")
    )


def footrule(a: ArrayLike, b: ArrayLike) -> Ranks:
    """Compute Spearman's footrule Σ_i |a(i) − b(i)|.

    Parameters
    ----------
    a, b : array-like, shape (n, k) or (k,)
        Rankings. One of them may be a single ranking, which is compared with all rows of the other.

    Returns
    -------
    float64 array, shape (n,)
        At least 0, from mid-ranks. Labels that are missing in one row are dropped, and the others are ranked
        again.

    Raises
    ------
    DataError
        If the rankings are invalid, or their labels or numbers of rows differ.

    Examples
    --------
    >>> footrule([[1, 2, 3], [np.nan, 2, 1]], [3, 2, 1]).tolist()
    [4.0, 0.0]
    """
    return np.asarray(np.abs(_subtract_ranks(a, b)).sum(axis=1))


def d2(a: ArrayLike, b: ArrayLike) -> Ranks:
    """Compute Spearman's d2 = Σ_i (a(i) − b(i))².

    Parameters
    ----------
    a, b : array-like, shape (n, k) or (k,)
        Rankings. One of them may be a single ranking, which is compared with all rows of the other.

    Returns
    -------
    float64 array, shape (n,)
        At least 0, from mid-ranks. Labels that are missing in one row are dropped, and the others are ranked
        again. For complete rankings without ties Spearman's ρ is 1 − 6 d2/(k(k² − 1)).

    Raises
    ------
    DataError
        If the rankings are invalid, or their labels or numbers of rows differ.

    Examples
    --------
    >>> d2([1, 2, 3], [3, 2, 1]).tolist()
    [8.0]
    """
    return np.asarray((_subtract_ranks(a, b) ** 2).sum(axis=1))


def order_list_tau(a: ArrayLike, b: ArrayLike) -> Ranks:
    """Compute Kendall's τ between the *order lists* of two rankings, position by position.

    Fotakis et al. report this statistic for their forests. It compares the inverse permutations and therefore
    depends on the numbering of the labels. Use `kendall_tau` except for a comparison with their tables.

    Parameters
    ----------
    a, b : array-like, shape (n, k) or (k,)
        Complete rankings without ties. One of them may be a single ranking, which is compared with all rows
        of the other.

    Returns
    -------
    float64 array, shape (n,)
        From −1 to 1; NaN for a single label.

    Raises
    ------
    DataError
        If labels are missing or tied: such rankings have no order list.

    Examples
    --------
    >>> a, b = [1, 4, 2, 3], [2, 4, 1, 3]  # orders 0 2 3 1 and 2 0 3 1
    >>> order_list_tau(a, b).round(3).tolist(), kendall_tau(a, b).round(3).tolist()
    ([0.0], [0.667])
    """
    lists = []
    for ranks in _align_rankings(a, b):
        complete = to_mid_ranks(ranks, require_complete=True)
        tied = (np.sort(complete, axis=1) != np.arange(1.0, complete.shape[1] + 1.0)).any(axis=1)
        if tied.any():
            raise DataError(
                f"row {int(tied.argmax())} of the rankings has ties, for which no order list exists; "
                "use kendall_tau or kendall_tau_b"
            )
        lists.append(to_orders(complete).astype(np.float64))
    return kendall_tau(lists[0], lists[1])


class _PairCounts(NamedTuple):
    """Numbers of pairs of labels by their order in two rankings, each of shape (n,)."""

    concordant: Ranks
    discordant: Ranks
    tied_in_a: Ranks
    tied_in_b: Ranks


def _align_rankings(a: ArrayLike, b: ArrayLike) -> tuple[Ranks, Ranks]:
    """Convert two arrays of rankings to mid-ranks and broadcast them to the same shape (n, k)."""
    first, second = (to_mid_ranks(_to_table(ranks)) for ranks in (a, b))
    if first.shape[1] != second.shape[1] or (
        len(first) != len(second) and 1 not in {len(first), len(second)}
    ):
        raise DataError(
            f"rankings of shapes {first.shape} and {second.shape} cannot be compared: give arrays of the "
            "same shape, or one ranking for all rows"
        )
    first, second = np.broadcast_arrays(first, second)
    return first, second


def _count_pairs(a: Ranks, b: Ranks) -> _PairCounts:
    """Count concordant, discordant and tied pairs in each row of two (n, k) arrays."""
    counts = np.zeros((4, len(a)))
    for i in range(a.shape[1] - 1):  # one label at a time: memory stays (n, k)
        sign_a = np.sign(a[:, i + 1 :] - a[:, i : i + 1])
        sign_b = np.sign(b[:, i + 1 :] - b[:, i : i + 1])
        product = sign_a * sign_b  # NaN for a missing label: then all comparisons below are false
        counts[0] += (product > 0).sum(axis=1)
        counts[1] += (product < 0).sum(axis=1)
        counts[2] += ((sign_a == 0) & (np.abs(sign_b) > 0)).sum(axis=1)
        counts[3] += ((sign_b == 0) & (np.abs(sign_a) > 0)).sum(axis=1)
    return _PairCounts(*counts)


def _subtract_ranks(a: ArrayLike, b: ArrayLike) -> Ranks:
    """Subtract the mid-ranks among the labels that both rows rank, shape (n, k); 0 for other labels."""
    ranks_a, ranks_b = _align_rankings(a, b)
    is_missing = np.isnan(ranks_a) | np.isnan(ranks_b)
    has_common_label = ~is_missing.all(axis=1)  # rows without a common label have difference 0
    differences = np.zeros(ranks_a.shape)
    common_a, common_b = (
        (to_mid_ranks(np.where(is_missing, np.nan, ranks)[has_common_label]) for ranks in (ranks_a, ranks_b))
        if has_common_label.any()
        else (ranks_a[has_common_label], ranks_b[has_common_label])
    )
    differences[has_common_label] = np.nan_to_num(common_a - common_b)
    return differences


def _divide(numerator: Ranks, denominator: Ranks) -> Ranks:
    """Divide arrays of shape (n,); NaN where the denominator is 0."""
    quotients = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=quotients, where=denominator > 0)
    return quotients


def _to_table(ranks: ArrayLike) -> ArrayLike:
    """Convert a single ranking to a table of one row; `to_mid_ranks` rejects invalid input later."""
    try:
        return np.atleast_2d(ranks)
    except ValueError:  # ragged
        return ranks
