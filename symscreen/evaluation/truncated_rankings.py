"""Sharp bounds of precision and recall metrics for truncated rankings.

A ranking may show only the first of the scored features. If the number of correct features among the others
is known, every metric has a lower and an upper bound, and each bound is attained by some placement of the
hidden features:

- a class of c features has one member that is shown and c − 1 hidden members, which tie with it;
- hidden features outside the classes are not better than the last one shown. They may tie with it, or follow
  it one by one or in groups of any size.

It is unknown which hidden features are correct, only their number. Groups of tied features have the indices g
= 1 … L in the order of the losses; only the last group may contain hidden features from outside the classes.
As in `precision_recall`, N_g is the number of features in the first g groups, T_g the number of correct ones
among them, and C the total number of correct ones. The notes of `compute_average_precision_bounds` and
`compute_pr_auc_bounds` explain which placements are extreme.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from symscreen.errors import DataError, OptionError
from symscreen.evaluation.precision_recall import compute_grouped_recall, group_ties
from symscreen.messages import hint_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Values

    Counts = NDArray[np.int64]
    Side = Literal["lower", "upper"]


_UNKNOWN = (float("nan"), float("nan"))


@dataclass(frozen=True, eq=False)
class TruncatedRanking:
    """Groups of tied features of a truncated ranking and the numbers of hidden features.

    Parameters
    ----------
    group_sizes : int64 array, shape (L,)
        Number of features in each group, including hidden members of its classes, best first.
    n_shown_correct : int64 array, shape (L,)
        Number of correct features among those shown.
    n_hidden : int64 array, shape (L,)
        Number of hidden features in each group.
    n_outside : int
        Number of hidden features outside the classes; they are not better than the last group.
    n_hidden_correct : int
        Number of correct features among all hidden ones.
    """

    group_sizes: Counts
    n_shown_correct: Counts
    n_hidden: Counts
    n_outside: int
    n_hidden_correct: int

    @property
    def n_features(self) -> int:
        """Total number of features q."""
        return int(self.group_sizes.sum()) + self.n_outside

    @property
    def n_correct(self) -> int:
        """Total number of correct features C."""
        return int(self.n_shown_correct.sum()) + self.n_hidden_correct


def build_truncated_ranking(
    loss: Values,
    correct: Flags,
    *,
    n_features: int,
    n_hidden_correct: int,
    class_size: Counts | None = None,
) -> TruncatedRanking:
    """Group the features of a truncated ranking.

    Parameters
    ----------
    loss : float array, shape (k,)
        Losses of the features shown, k ≥ 1; smaller is better, NaN or +∞ for a feature that was not found.
    correct : bool array, shape (k,)
        Which of them are correct.
    n_features : int
        Number of features scored.
    n_hidden_correct : int
        Number of correct features among those not shown.
    class_size : int array, shape (k,), optional
        Number of features that each feature shown represents, including itself. By default 1.

    Returns
    -------
    TruncatedRanking

    Raises
    ------
    DataError
        If the columns do not match, no feature is shown, or a class is empty.
    OptionError
        If more features are represented than scored, or `n_hidden_correct` exceeds the number of hidden
        features.

    Examples
    --------
    >>> ranking = build_truncated_ranking(np.array([0.1, 0.3]), np.array([True, False]), n_features=10,
    ...     n_hidden_correct=4)
    >>> [round(bound, 4) for bound in compute_average_precision_bounds(ranking)]
    [0.521, 0.8667]
    """
    distinct, group = group_ties(loss, correct)
    class_sizes = np.ones(group.size, dtype=np.int64) if class_size is None else np.asarray(class_size)
    if (
        class_sizes.shape != group.shape
        or not group.size
        or class_sizes.dtype.kind not in "iu"
        or class_sizes.min() < 1
    ):
        raise DataError(
            f"{group.size} features have class sizes of shape {class_sizes.shape}: give at least one feature "
            "and an integer ≥ 1 for each"
        )
    group_sizes = np.zeros(distinct.size, dtype=np.int64)
    np.add.at(group_sizes, group, class_sizes)
    n_shown = np.bincount(group, minlength=distinct.size)
    n_shown_correct = np.bincount(group[np.asarray(correct, dtype=bool)], minlength=distinct.size)
    n_outside = int(n_features) - int(group_sizes.sum())
    if n_outside < 0:
        raise OptionError(
            f"the ranking represents {group_sizes.sum():,} features, more than the {n_features:,} scored"
        )
    if not 0 <= n_hidden_correct <= n_features - group.size:
        raise OptionError(
            f"{n_hidden_correct:,} correct features outside{hint_option('outside')}, but "
            f"{n_features - group.size:,} are not shown: give a number from 0 to that"
        )
    if distinct[-1] == np.inf:
        # no loss exceeds +∞, so features from outside always tie with the last group
        group_sizes[-1] += n_outside
        n_outside = 0
    return TruncatedRanking(
        group_sizes, n_shown_correct, group_sizes - n_shown, n_outside, int(n_hidden_correct)
    )


def compute_roc_auc_bounds(ranking: TruncatedRanking) -> tuple[float, float]:
    """Compute bounds of the area under the ROC curve.

    Parameters
    ----------
    ranking : TruncatedRanking
        Truncated ranking.

    Returns
    -------
    lower, upper : float
        Each bound is attained by a placement; NaN if no feature, or every feature, is correct.

    Notes
    -----
    Exchanging a correct feature with a preceding incorrect one never lowers the area. Thus the upper bound
    has the hidden correct features as early as possible: those from outside tie with the last group, and the
    incorrect ones from outside follow it. The lower bound has the reverse placement.

    Examples
    --------
    >>> ranking = build_truncated_ranking(np.array([0.1, 0.3]), np.array([True, False]), n_features=10,
    ...     n_hidden_correct=4)
    >>> compute_roc_auc_bounds(ranking)
    (0.2, 0.92)
    """
    n_wrong = ranking.n_features - ranking.n_correct
    if not n_wrong or not ranking.n_correct:
        return _UNKNOWN

    def compute_area(sizes: Counts, hits: Counts) -> float:
        misses = (sizes - hits).astype(np.float64)
        n_wrong_after = n_wrong - np.cumsum(misses)
        return float((hits * (n_wrong_after + misses / 2)).sum() / (ranking.n_correct * n_wrong))

    return compute_area(*_place_hidden_correct(ranking, "lower")), compute_area(
        *_place_hidden_correct(ranking, "upper")
    )


def compute_recall_bounds(ranking: TruncatedRanking, k: int) -> tuple[float, float]:
    """Compute bounds of the share of the correct features among the first k.

    Parameters
    ----------
    ranking : TruncatedRanking
        Truncated ranking.
    k : int
        Number of features, at least 1.

    Returns
    -------
    lower, upper : float
        The bounds are attained by the placements of `compute_roc_auc_bounds`; NaN if no feature is correct.

    Raises
    ------
    OptionError
        If k is not an integer ≥ 1.

    Examples
    --------
    >>> ranking = build_truncated_ranking(np.array([0.1, 0.3]), np.array([True, False]), n_features=10,
    ...     n_hidden_correct=4)
    >>> compute_recall_bounds(ranking, 1), compute_recall_bounds(ranking, 10)
    ((0.2, 0.2), (1.0, 1.0))
    """
    lower, upper = (
        compute_grouped_recall(*_place_hidden_correct(ranking, side), k) for side in ("lower", "upper")
    )
    return lower, upper


def compute_first_correct_bounds(ranking: TruncatedRanking) -> tuple[float, float]:
    """Compute bounds of the rank of the first correct feature.

    Parameters
    ----------
    ranking : TruncatedRanking
        Truncated ranking.

    Returns
    -------
    lower, upper : float
        Mid-ranks: features from outside that tie with the last group change its rank. Each bound is attained
        by a placement; NaN if no feature is correct.

    Examples
    --------
    >>> ranking = build_truncated_ranking(np.array([0.1, 0.3]), np.array([False, False]), n_features=10,
    ...     n_hidden_correct=4)
    >>> compute_first_correct_bounds(ranking)  # tied with the second; or one group after all others
    (2.5, 8.5)
    """
    if not ranking.n_correct:
        return _UNKNOWN
    n_before = np.cumsum(ranking.group_sizes) - ranking.group_sizes
    mid_ranks = n_before + (ranking.group_sizes + 1) / 2
    last = ranking.group_sizes.size - 1
    # lower: the first group that contains, or may contain, a correct feature
    possible = np.flatnonzero(
        (ranking.n_shown_correct > 0) | ((ranking.n_hidden > 0) & (ranking.n_hidden_correct > 0))
    )
    lower = float(mid_ranks[possible[0]]) if possible.size else float(mid_ranks[last] + 0.5)
    # upper: the first group that shows a correct feature, or must contain one for lack of later positions
    capacity_after = ranking.n_outside + np.cumsum(ranking.n_hidden[::-1])[::-1] - ranking.n_hidden
    certain = np.flatnonzero(
        (ranking.n_shown_correct > 0) | ((ranking.n_hidden > 0) & (ranking.n_hidden_correct > capacity_after))
    )
    if not certain.size:
        return lower, ranking.n_features - (ranking.n_hidden_correct - 1) / 2
    # all features from outside may tie with the last group
    return lower, float(mid_ranks[certain[0]] + (ranking.n_outside / 2 if certain[0] == last else 0.0))


def compute_average_precision_bounds(ranking: TruncatedRanking) -> tuple[float, float]:
    """Compute bounds of the average precision, 1/C · Σ_g (T_g − T_{g−1}) · T_g/N_g.

    Parameters
    ----------
    ranking : TruncatedRanking
        Truncated ranking.

    Returns
    -------
    lower, upper : float
        Each bound is attained by a placement; NaN if no feature is correct.

    Notes
    -----
    Among tied features an earlier position of a correct feature can lower the metric: it moves from a group
    with many correct features to a group with few. Hence no greedy rule is optimal. The numbers of correct
    hidden members of the groups are found exactly by dynamic programming over T, in a time quadratic in their
    number. The placements from outside the classes are known. Upper bound: all X correct ones tie with the
    last group, so each counts with (T + X)/(N + X), the highest possible precision. Lower bound: all
    incorrect ones tie with the last group, and the correct ones follow one by one.

    Examples
    --------
    >>> ranking = build_truncated_ranking(np.array([0.1, 0.3]), np.array([True, True]), n_features=4,
    ...     n_hidden_correct=0)
    >>> compute_average_precision_bounds(ranking)  # the two hidden features may tie with the second
    (0.75, 1.0)
    """
    return compute_area_bounds(ranking, 0.0, compute_last_average_precision)


def compute_pr_auc_bounds(ranking: TruncatedRanking) -> tuple[float, float]:
    """Compute bounds of the trapezoidal area, 1/C · Σ_g (T_g − T_{g−1}) · (P_{g−1} + P_g)/2.

    Parameters
    ----------
    ranking : TruncatedRanking
        Truncated ranking.

    Returns
    -------
    lower, upper : float
        Each bound is attained by a placement; NaN if no feature is correct.

    Notes
    -----
    The groups are optimised by dynamic programming over T, as in `compute_average_precision_bounds`. For
    features from outside the classes the points of every curve lie between T/(T + w) with w the incorrect
    features of the groups only, and T/(T + w) with w all incorrect features. Both are concave in T, so a
    finer curve has a larger area. Upper bound: the incorrect features come last, j of the correct ones tie
    with the last group, and the others follow one by one. The area first increases and then decreases with j,
    so j is found by bisection. Lower bound: the incorrect features tie with the last group, and the correct
    ones either tie with it too or follow as one group.

    Examples
    --------
    >>> ranking = build_truncated_ranking(np.array([0.1, 0.3]), np.array([True, True]), n_features=4,
    ...     n_hidden_correct=0)
    >>> compute_pr_auc_bounds(ranking)
    (0.875, 1.0)
    """
    return compute_area_bounds(ranking, 0.5, compute_last_trapezoid)


def _place_hidden_correct(ranking: TruncatedRanking, side: Side) -> tuple[Counts, Counts]:
    """Place the hidden correct features at an extreme; return group sizes and numbers of correct ones."""
    if side == "upper":
        capacity = np.append(ranking.n_hidden, ranking.n_outside)
        n_placed = np.clip(ranking.n_hidden_correct - (np.cumsum(capacity) - capacity), 0, capacity)
        n_tied = n_placed[-1]  # correct features from outside tie with the last group
    else:
        capacity = np.append(ranking.n_hidden, ranking.n_outside)[::-1]
        n_placed = np.clip(ranking.n_hidden_correct - (np.cumsum(capacity) - capacity), 0, capacity)[::-1]
        n_tied = ranking.n_outside - n_placed[-1]
    sizes, hits = (
        np.append(ranking.group_sizes, ranking.n_outside),
        np.append(ranking.n_shown_correct, 0) + n_placed,
    )
    sizes[-2] += n_tied
    sizes[-1] -= n_tied
    if side == "upper":
        hits[-2] += n_tied
        hits[-1] = 0
    return sizes, hits


def compute_area_bounds(
    ranking: TruncatedRanking, previous_weight: float, compute_last_area: LastGroupArea
) -> tuple[float, float]:
    """Compute the smallest and the largest area over all placements of the hidden features.

    The dynamic programme runs over T_g. A group adds (T_g − T_{g−1}) · [previous_weight · P_{g−1} +
    (1 − previous_weight) · P_g], independent of the groups before it.

    Parameters
    ----------
    ranking : TruncatedRanking
        Truncated ranking.
    previous_weight : float
        0 for the average precision, 1/2 for the trapezoidal area.
    compute_last_area : callable
        Maps (ranking, T_{L−1}, number of hidden correct features left, side) to the extreme contribution of
        the last group and the features from outside; arrays over the possible T_{L−1}.

    Returns
    -------
    lower, upper : float
        In [0, 1]; NaN if no feature is correct.
    """
    if not ranking.n_correct:
        return float("nan"), float("nan")
    return _compute_extreme_area(ranking, previous_weight, compute_last_area, "lower"), _compute_extreme_area(
        ranking, previous_weight, compute_last_area, "upper"
    )


def _compute_extreme_area(
    ranking: TruncatedRanking, previous_weight: float, compute_last_area: LastGroupArea, side: Side
) -> float:
    """Compute the smallest (side "lower") or largest (side "upper") area."""
    better: Any = np.minimum if side == "lower" else np.maximum
    worst = np.inf if side == "lower" else -np.inf
    areas, hits, n_seen = np.zeros(1), np.zeros(1), 0.0  # areas by T (`hits`) at N = n_seen
    groups = zip(ranking.group_sizes[:-1], ranking.n_shown_correct, ranking.n_hidden, strict=False)
    for size, n_shown_correct, n_hidden in groups:
        max_hits = min(int(n_hidden), ranking.n_hidden_correct)
        new_areas = np.full(min(areas.size + max_hits, ranking.n_hidden_correct + 1), worst)
        previous_part = previous_weight * _compute_precision(hits, n_seen)
        for n_hits in range(max_hits + 1):  # correct hidden members of the group
            n_states = min(areas.size, new_areas.size - n_hits)
            gained = n_shown_correct + n_hits
            precision = (hits[:n_states] + gained) / (n_seen + size)
            heights = previous_part[:n_states] + (1 - previous_weight) * precision
            states = new_areas[n_hits : n_hits + n_states]
            better(states, areas[:n_states] + gained * heights, out=states)
        hits = hits[0] + n_shown_correct + np.arange(new_areas.size)
        areas, n_seen = new_areas, n_seen + float(size)
    n_left = ranking.n_hidden_correct - np.arange(areas.size, dtype=np.float64)
    is_feasible = n_left <= ranking.n_hidden[-1] + ranking.n_outside
    last_areas = compute_last_area(ranking, hits[is_feasible], n_left[is_feasible], side)
    total_areas = areas[is_feasible] + last_areas
    return min(1.0, float(better.reduce(total_areas)) / ranking.n_correct)  # rounding may exceed 1


def _compute_precision(hits: Values, n_seen: float) -> Values:
    """Compute T/N; 1 if N = 0, as at the start of scikit-learn's curve."""
    return hits / n_seen if n_seen else np.ones(hits.shape)


def compute_last_average_precision(
    ranking: TruncatedRanking, hits_before: Values, n_left: Values, side: Side
) -> Values:
    """Compute the part of the last group and of features from outside in C times the average precision.

    Parameters
    ----------
    ranking : TruncatedRanking
        Truncated ranking.
    hits_before, n_left : float64 arrays, shape (m,)
        Numbers of correct features before the last group, and of hidden correct features left.
    side : {"lower", "upper"}
        Whether to compute the smallest or the largest contribution.

    Returns
    -------
    float64 array, shape (m,)
    """
    n_shown_correct, n_hidden = float(ranking.n_shown_correct[-1]), float(ranking.n_hidden[-1])
    if side == "upper":
        n_tied = n_left - np.minimum(n_left, n_hidden)
        end = ranking.n_features - ranking.n_outside + n_tied
        return np.asarray((n_shown_correct + n_left) * (hits_before + n_shown_correct + n_left) / end)
    group_hits = n_shown_correct + np.maximum(n_left - ranking.n_outside, 0.0)
    n_single = n_shown_correct + n_left - group_hits
    hits, end = hits_before + group_hits, ranking.n_features - n_single
    # Σ_{u=1}^{X} (T + u)/(N + u) = X − (N − T) · Σ_u 1/(N + u)
    return np.asarray(
        group_hits * hits / end + n_single - (end - hits) * _sum_reciprocals(end, end + n_single)
    )


def compute_last_trapezoid(
    ranking: TruncatedRanking, hits_before: Values, n_left: Values, side: Side
) -> Values:
    """Compute the part of the last group and of features from outside in C times the trapezoidal area.

    Parameters
    ----------
    ranking, hits_before, n_left, side
        See `compute_last_average_precision`.

    Returns
    -------
    float64 array, shape (m,)
    """
    n_shown_correct, n_hidden = float(ranking.n_shown_correct[-1]), float(ranking.n_hidden[-1])
    n_seen = float(ranking.group_sizes[:-1].sum())
    first_precision = _compute_precision(hits_before, n_seen)
    group_hits = n_shown_correct + np.minimum(n_left, n_hidden)
    if side == "upper":
        end = n_seen + float(ranking.group_sizes[-1])
        return _maximize_last_area(
            first_precision, group_hits, hits_before + group_hits, end, n_shown_correct + n_left - group_hits
        )
    all_hits = hits_before + n_shown_correct + n_left
    tied_area = (n_shown_correct + n_left) * (first_precision + all_hits / ranking.n_features) / 2
    areas = [tied_area]
    for inside_hits in (group_hits, n_shown_correct + np.maximum(n_left - ranking.n_outside, 0.0)):
        n_after = n_shown_correct + n_left - inside_hits
        precision = (hits_before + inside_hits) / (ranking.n_features - n_after)
        areas.append(
            (
                inside_hits * (first_precision + precision)
                + n_after * (precision + all_hits / ranking.n_features)
            )
            / 2
        )
    return np.asarray(np.minimum.reduce(areas))


def _maximize_last_area(
    first_precision: Values, group_hits: Values, hits: Values, end: float, outside_hits: Values
) -> Values:
    """Compute the largest area of a last group and correct features from outside, shape (m,).

    A group with `group_hits` correct features increases T to `hits` and N to `end`, from the precision
    `first_precision`. Of the features from outside j tie with it, and the others follow one by one, u = j +
    1, …, at φ_u = (T + u)/(N + u).
    """

    def phi(u: Values) -> Values:
        return (hits + u) / (end + u)

    low, high = np.zeros_like(outside_hits), outside_hits.copy()
    while (low < high).any():
        middle = np.floor((low + high) / 2)
        # twice the area gained by tying one more feature; decreases with j because φ is concave
        gain = first_precision - phi(middle) + (group_hits + middle) * (phi(middle + 1) - phi(middle))
        is_rising = (gain > 0.0) & (low < high)
        low, high = np.where(is_rising, middle + 1, low), np.where(is_rising, high, np.minimum(middle, high))
    tied_area = (group_hits + low) * (first_precision + phi(low)) / 2
    level_sum = outside_hits - low + 1 - (end - hits) * _sum_reciprocals(end + low - 1, end + outside_hits)
    return np.asarray(tied_area + level_sum - (phi(low) + phi(outside_hits)) / 2)


def _sum_reciprocals(start: Values, end: Values) -> Values:
    """Compute Σ 1/i over start < i ≤ end."""
    from scipy.special import digamma

    return np.asarray(digamma(end + 1.0) - digamma(start + 1.0))


if TYPE_CHECKING:
    LastGroupArea = Callable[[TruncatedRanking, Values, Values, Side], Values]
