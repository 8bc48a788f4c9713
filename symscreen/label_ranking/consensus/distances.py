"""Distances and coefficients between rankings, row by row.

All take two arrays of rankings of the same labels and compare the labels that both rows show: the position of
a label that is missing is unknown, so that nothing is counted for it.
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


__all__ = [
    "d2",
    "footrule",
    "kendall_distance",
    "kendall_tau",
    "kendall_tau_b",
    "mean_kendall_tau",
    "order_list_tau",
]


def kendall_distance(a: ArrayLike, b: ArrayLike) -> Ranks:
    """Count the pairs of labels that two rankings order differently: d_τ (Clémençon et al., eq. 2).

    Parameters
    ----------
    a, b : array-like, shape (n, k) or (k,)
        Rankings; one of them may be a single ranking for all rows of the other.

    Returns
    -------
    float64 array, shape (n,)
        From 0 to k(k − 1)/2, over the pairs that both rows show. A pair that one row ties and the other does
        not counts ½, as in K^(1/2) of Fagin et al. (2006): so the mean over rows is the expected distance
        that pairwise probabilities give, where ties count ½ too.

    Raises
    ------
    TableError
        If the rankings are none, or not of the same labels and rows.

    Examples
    --------
    >>> kendall_distance([[1, 2, 3], [3, 2, 1], [1, 2, 2]], [1, 2, 3]).tolist()
    [0.0, 3.0, 0.5]
    """
    pairs = _count_pairs(*_align_rankings(a, b))
    return pairs.discordant + 0.5 * (pairs.tied_in_a + pairs.tied_in_b)


def kendall_tau(a: ArrayLike, b: ArrayLike) -> Ranks:
    """Compute Kendall's τ = (C − D)/(C + D) over the pairs that both rankings show and neither ties.

    Parameters
    ----------
    a, b : array-like, shape (n, k) or (k,)
        Rankings; one of them may be a single ranking for all rows of the other.

    Returns
    -------
    float64 array, shape (n,)
        From −1 to 1, C and D being the numbers of concordant and discordant pairs; NaN where no pair can be
        compared. For complete rankings without ties it is 1 − 4 d_τ/(k(k − 1)). With ties it is Goodman and
        Kruskal's γ, the custom for partial rankings: a tied pair says nothing about a prediction's order.

    Raises
    ------
    TableError
        If the rankings are none, or not of the same labels and rows.

    Examples
    --------
    >>> kendall_tau([[1, 2, 3], [2, 1, 3], [1, 1, 1]], [1, 2, 3]).round(3).tolist()
    [1.0, 0.333, nan]
    """
    pairs = _count_pairs(*_align_rankings(a, b))
    return _divide(pairs.concordant - pairs.discordant, pairs.concordant + pairs.discordant)


def kendall_tau_b(a: ArrayLike, b: ArrayLike) -> Ranks:
    """Compute Kendall's τ-b, which counts pairs tied in one ranking alone against it.

    Parameters
    ----------
    a, b : array-like, shape (n, k) or (k,)
        Rankings; one of them may be a single ranking for all rows of the other.

    Returns
    -------
    float64 array, shape (n,)
        (C − D)/√((C + D + T_a)(C + D + T_b)) over the pairs that both show, T_a of them tied in a alone and
        T_b in b alone; from −1 to 1, and NaN where one ranking ties all of them.

    Raises
    ------
    TableError
        If the rankings are none, or not of the same labels and rows.

    Examples
    --------
    >>> kendall_tau_b([[1, 2, 3], [1, 2.5, 2.5]], [1, 2, 3]).round(3).tolist()
    [1.0, 0.816]
    """
    pairs = _count_pairs(*_align_rankings(a, b))
    apart = pairs.concordant + pairs.discordant
    scale = np.sqrt((apart + pairs.tied_in_a) * (apart + pairs.tied_in_b))
    return _divide(pairs.concordant - pairs.discordant, scale)


def mean_kendall_tau(a: ArrayLike, b: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Average Kendall's τ over rows: what the learners' `score` is.

    Parameters
    ----------
    a, b : array-like, shape (n, k) or (k,)
        As for `kendall_tau`.
    weights : array-like, shape (n,), optional
        ≥ 0; else every row counts alike.

    Returns
    -------
    float
        The mean over the rows in which at least one pair can be compared; NaN where there is none.

    Raises
    ------
    TableError
        If the rankings are none, or not of the same labels and rows.
    OptionError
        If the weights are not one finite number ≥ 0 a row, or are all 0.

    Examples
    --------
    >>> mean_kendall_tau([[1, 2, 3], [3, 2, 1], [1, 1, 1]], [1, 2, 3])
    0.0
    """
    tau = kendall_tau(a, b)
    weight = check_weights(weights, tau.size)
    known = ~np.isnan(tau)
    total = float(weight[known].sum())
    return float((tau[known] * weight[known]).sum()) / total if total > 0.0 else float("nan")


def footrule(a: ArrayLike, b: ArrayLike) -> Ranks:
    """Compute Spearman's footrule Σ_i |a(i) − b(i)|.

    Parameters
    ----------
    a, b : array-like, shape (n, k) or (k,)
        Rankings; one of them may be a single ranking for all rows of the other.

    Returns
    -------
    float64 array, shape (n,)
        ≥ 0, from mid-ranks; labels that one row lacks are left out and the others ranked anew.

    Raises
    ------
    TableError
        If the rankings are none, or not of the same labels and rows.

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
        Rankings; one of them may be a single ranking for all rows of the other.

    Returns
    -------
    float64 array, shape (n,)
        ≥ 0, from mid-ranks; labels that one row lacks are left out and the others ranked anew. For complete
        rankings without ties Spearman's ρ is 1 − 6 d2/(k(k² − 1)).

    Raises
    ------
    TableError
        If the rankings are none, or not of the same labels and rows.

    Examples
    --------
    >>> d2([1, 2, 3], [3, 2, 1]).tolist()
    [8.0]
    """
    return np.asarray((_subtract_ranks(a, b) ** 2).sum(axis=1))


def order_list_tau(a: ArrayLike, b: ArrayLike) -> Ranks:
    """Compute Kendall's τ between the *order lists* of two rankings, position by position.

    The tables that Fotakis et al. publish for their own forests hold this figure. It compares the inverse
    permutations, so it depends on how the labels are numbered: use `kendall_tau` for anything but a
    comparison with those tables.

    Parameters
    ----------
    a, b : array-like, shape (n, k) or (k,)
        Complete rankings without ties; one of them may be a single ranking for all rows of the other.

    Returns
    -------
    float64 array, shape (n,)
        From −1 to 1; NaN for a single label.

    Raises
    ------
    TableError
        If labels are missing or tied, for which there is no such list.

    Examples
    --------
    >>> a, b = [1, 4, 2, 3], [2, 4, 1, 3]  # orders 0 2 3 1 and 2 0 3 1
    >>> order_list_tau(a, b).round(3).tolist(), kendall_tau(a, b).round(3).tolist()
    ([0.0], [0.667])
    """
    lists = []
    for ranks in _align_rankings(a, b):
        one = to_mid_ranks(ranks, require_complete=True)
        tied = (np.sort(one, axis=1) != np.arange(1.0, one.shape[1] + 1.0)).any(axis=1)
        if tied.any():
            raise DataError(
                f"row {int(tied.argmax())} of the rankings ties labels: an order list has no place for ties; "
                "use kendall_tau or kendall_tau_b"
            )
        lists.append(to_orders(one).astype(np.float64))
    return kendall_tau(lists[0], lists[1])


class _PairCounts(NamedTuple):
    """How many pairs of labels stand how in two rankings, each of shape (n,)."""

    concordant: Ranks
    discordant: Ranks
    tied_in_a: Ranks
    tied_in_b: Ranks


def _align_rankings(a: ArrayLike, b: ArrayLike) -> tuple[Ranks, Ranks]:
    one, two = (to_mid_ranks(_to_table(ranks)) for ranks in (a, b))
    if one.shape[1] != two.shape[1] or (len(one) != len(two) and 1 not in {len(one), len(two)}):
        raise DataError(
            f"rankings of shapes {one.shape} and {two.shape} cannot be compared: give as many rows of as "
            "many labels, or one ranking for all rows"
        )
    one, two = np.broadcast_arrays(one, two)
    return one, two


def _count_pairs(a: Ranks, b: Ranks) -> _PairCounts:
    counts = np.zeros((4, len(a)))
    for i in range(a.shape[1] - 1):  # by first label: memory stays (n, k)
        sign_a = np.sign(a[:, i + 1 :] - a[:, i : i + 1])
        sign_b = np.sign(b[:, i + 1 :] - b[:, i : i + 1])
        product = sign_a * sign_b  # NaN where a label is missing: then no comparison below is true
        counts[0] += (product > 0).sum(axis=1)
        counts[1] += (product < 0).sum(axis=1)
        counts[2] += ((sign_a == 0) & (np.abs(sign_b) > 0)).sum(axis=1)
        counts[3] += ((sign_b == 0) & (np.abs(sign_a) > 0)).sum(axis=1)
    return _PairCounts(*counts)


def _subtract_ranks(a: ArrayLike, b: ArrayLike) -> Ranks:
    """Subtract mid-ranks among the labels that both show; 0 for the others, shape (n, k)."""
    one, two = _align_rankings(a, b)
    unknown = np.isnan(one) | np.isnan(two)
    both = ~unknown.all(axis=1)  # a row without a common label differs in nothing
    differences = np.zeros(one.shape)
    first, second = (
        (to_mid_ranks(np.where(unknown, np.nan, ranks)[both]) for ranks in (one, two))
        if both.any()
        else (one[both], two[both])
    )
    differences[both] = np.nan_to_num(first - second)
    return differences


def _divide(numerator: Ranks, denominator: Ranks) -> Ranks:
    quotients = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=quotients, where=denominator > 0)
    return quotients


def _to_table(ranks: ArrayLike) -> ArrayLike:
    """Make one ranking a table of one row; what is neither is refused where it is read."""
    try:
        return np.atleast_2d(ranks)
    except ValueError:  # ragged
        return ranks
