"""What a truncated ranking says of the whole space: sharp bounds of precision and recall.

A ranking may show only the first of the features that were scored. If it is known how many of those not
shown are correct, every figure lies between two bounds, and both are reached by some placement of these:

- a class of c features, of which one is shown, holds c − 1 hidden members, which tie with it;
- the hidden features outside the classes are no better than the last one shown: they may tie with it, follow
  it one by one, or in groups of any size.

Which of the hidden features are correct is not known, only how many: X_h of H_h. Groups of tied features are
numbered g = 1 … L in the order of the losses, the last of them open to hidden features from outside. As in
`precision_recall`, N_g features have come until the end of the g-th group, T_g of them correct, C in all.

The placements of hidden features at which areas under precision against recall are least and largest.

The notes of `symscreen.evaluation.compute_bounds` say why these are the extremes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from symscreen.errors import DataError, OptionError
from symscreen.evaluation.precision_recall import compute_grouped_recall, group_ties

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Values

    Counts = NDArray[np.int64]
    Side = Literal["lower", "upper"]

__all__ = [
    "TruncatedRanking",
    "build_truncated_ranking",
    "compute_area_bounds",
    "compute_average_precision_bounds",
    "compute_first_correct_bounds",
    "compute_last_average_precision",
    "compute_last_trapezoid",
    "compute_pr_auc_bounds",
    "compute_recall_bounds",
    "compute_roc_auc_bounds",
]

_UNKNOWN = (float("nan"), float("nan"))


@dataclass(frozen=True, eq=False)
class TruncatedRanking:
    """The groups of tied features of a truncated ranking, and what is hidden.

    Parameters
    ----------
    sizes : int64 array, shape (L,)
        Features in each group, hidden members of its classes included, best first.
    shown_correct : int64 array, shape (L,)
        Those of the features shown that are correct.
    hidden : int64 array, shape (L,)
        Those in each group that are not shown.
    outside : int
        Hidden features of no class that is shown: no better than the last group.
    hidden_correct : int
        How many of all that is hidden are correct.
    """

    group_sizes: Counts
    n_shown_correct: Counts
    n_hidden: Counts
    n_outside: int
    n_hidden_correct: int

    @property
    def n_features(self) -> int:
        """q, the features there are."""
        return int(self.group_sizes.sum()) + self.n_outside

    @property
    def n_correct(self) -> int:
        """C, the correct features there are."""
        return int(self.n_shown_correct.sum()) + self.n_hidden_correct


def build_truncated_ranking(
    loss: Values,
    correct: Flags,
    *,
    n_features: int,
    n_hidden_correct: int,
    class_size: Counts | None = None,
) -> TruncatedRanking:
    """Read a truncated ranking.

    Parameters
    ----------
    loss : float array, shape (k,)
        Of the features shown, k ≥ 1; smaller is better; NaN or +∞ where a feature was never found.
    correct : bool array, shape (k,)
        Which of them are correct.
    features : int
        How many features were scored.
    hidden_correct : int
        How many of those not shown are correct.
    class_size : int array, shape (k,), optional
        How many features each one shown stands for, itself included; by default 1.

    Returns
    -------
    Truncated

    Raises
    ------
    TableError
        If the columns do not match, nothing is shown, or a class is empty.
    OptionError
        If more is shown than there is, or more than all that is hidden is correct.

    Examples
    --------
    >>> seen = build_truncated_ranking(np.array([0.1, 0.3]), np.array([True, False]), features=10,
    ...     hidden_correct=4)
    >>> [round(bound, 4) for bound in compute_average_precision_bounds(seen)]
    [0.521, 0.8667]
    """
    distinct, group = group_ties(loss, correct)
    size = np.ones(group.size, dtype=np.int64) if class_size is None else np.asarray(class_size)
    if size.shape != group.shape or not group.size or size.dtype.kind not in "iu" or size.min() < 1:
        raise DataError(
            f"{group.size} features are shown with class sizes of shape {size.shape}: give at least one "
            "feature, and for each a whole number of at least 1"
        )
    sizes = np.zeros(distinct.size, dtype=np.int64)
    np.add.at(sizes, group, size)
    shown = np.bincount(group, minlength=distinct.size)
    good = np.bincount(group[np.asarray(correct, dtype=bool)], minlength=distinct.size)
    outside = int(n_features) - int(sizes.sum())
    if outside < 0:
        raise OptionError(
            f"the ranking stands for {sizes.sum():,} features, more than the {n_features:,} scored"
        )
    if not 0 <= n_hidden_correct <= n_features - group.size:
        raise OptionError(
            f"{n_hidden_correct:,} correct features outside (--outside), but {n_features - group.size:,} "
            "are not "
            "shown: give a number from 0 to that"
        )
    if distinct[-1] == np.inf:
        # no worse than +∞ can be: what is outside ties with the last group for certain
        sizes[-1] += outside
        outside = 0
    return TruncatedRanking(sizes, good, sizes - shown, outside, int(n_hidden_correct))


def compute_roc_auc_bounds(ranking: TruncatedRanking) -> tuple[float, float]:
    """Bound the area under the ROC curve.

    Parameters
    ----------
    seen : Truncated
        What is shown.

    Returns
    -------
    lower, upper : float
        Each reached by a placement; NaN where no feature, or every feature, is correct.

    Notes
    -----
    To exchange a correct feature for a wrong one that stands before it never lowers the area. So the upper
    bound has the hidden correct features as early as there is room, those from outside tied with the last
    group, and the wrong ones from outside behind it; the lower bound has it the other way round.

    Examples
    --------
    >>> seen = build_truncated_ranking(np.array([0.1, 0.3]), np.array([True, False]), features=10,
    ...     hidden_correct=4)
    >>> compute_roc_auc_bounds(seen)
    (0.2, 0.92)
    """
    wrong = ranking.n_features - ranking.n_correct
    if not wrong or not ranking.n_correct:
        return _UNKNOWN

    def compute_area(sizes: Counts, hits: Counts) -> float:
        misses = (sizes - hits).astype(np.float64)
        behind = wrong - np.cumsum(misses)
        return float((hits * (behind + misses / 2)).sum() / (ranking.n_correct * wrong))

    return compute_area(*_place_hidden_correct(ranking, "lower")), compute_area(
        *_place_hidden_correct(ranking, "upper")
    )


def compute_recall_bounds(ranking: TruncatedRanking, k: int) -> tuple[float, float]:
    """Bound the share of the correct features among the first k.

    Parameters
    ----------
    seen : Truncated
        What is shown.
    k : int
        How many are looked at, at least 1.

    Returns
    -------
    lower, upper : float
        Each reached by a placement, the same as for `compute_roc_auc_bounds`; NaN where no feature is
        correct.

    Raises
    ------
    OptionError
        If k is not a whole number of at least 1.

    Examples
    --------
    >>> seen = build_truncated_ranking(np.array([0.1, 0.3]), np.array([True, False]), features=10,
    ...     hidden_correct=4)
    >>> compute_recall_bounds(seen, 1), compute_recall_bounds(seen, 10)
    ((0.2, 0.2), (1.0, 1.0))
    """
    lower, upper = (
        compute_grouped_recall(*_place_hidden_correct(ranking, side), k) for side in ("lower", "upper")
    )
    return lower, upper


def compute_first_correct_bounds(ranking: TruncatedRanking) -> tuple[float, float]:
    """Bound the rank of the first correct feature.

    Parameters
    ----------
    seen : Truncated
        What is shown.

    Returns
    -------
    lower, upper : float
        Each reached by a placement: middle ranks, so that an open last group moves with what ties with it.
        NaN where no feature is correct.

    Examples
    --------
    >>> seen = build_truncated_ranking(np.array([0.1, 0.3]), np.array([False, False]), features=10,
    ...     hidden_correct=4)
    >>> compute_first_correct_bounds(seen)  # tied with the second; all behind the wrong ones, as one group
    (2.5, 8.5)
    """
    if not ranking.n_correct:
        return _UNKNOWN
    before = np.cumsum(ranking.group_sizes) - ranking.group_sizes
    middle = before + (ranking.group_sizes + 1) / 2
    last = ranking.group_sizes.size - 1
    # lower: the first group that holds a correct feature, or may
    may = np.flatnonzero(
        (ranking.n_shown_correct > 0) | ((ranking.n_hidden > 0) & (ranking.n_hidden_correct > 0))
    )
    lower = float(middle[may[0]]) if may.size else float(middle[last] + 0.5)
    # upper: the first that shows one, or has to take one because there is no room behind it
    room = ranking.n_outside + np.cumsum(ranking.n_hidden[::-1])[::-1] - ranking.n_hidden
    must = np.flatnonzero(
        (ranking.n_shown_correct > 0) | ((ranking.n_hidden > 0) & (ranking.n_hidden_correct > room))
    )
    if not must.size:
        return lower, ranking.n_features - (ranking.n_hidden_correct - 1) / 2
    # all that is outside may tie with the last group
    return lower, float(middle[must[0]] + (ranking.n_outside / 2 if must[0] == last else 0.0))


def compute_average_precision_bounds(ranking: TruncatedRanking) -> tuple[float, float]:
    """Bound the average precision, 1/C · Σ_g (T_g − T_{g−1}) · T_g/N_g.

    Parameters
    ----------
    seen : Truncated
        What is shown.

    Returns
    -------
    lower, upper : float
        Each reached by a placement; NaN where no feature is correct.

    Notes
    -----
    Where features tie, a correct one can lower the figure by coming earlier: it leaves a group that is rich
    in correct ones for a poor one. So no greedy rule holds, and how many of the hidden members of each group
    are correct is found by dynamic programming over T, exactly, in time that grows with the square of their
    number. For what is outside of the groups both ends are known. Upper: all X correct ones tie with the last
    group, where each counts with (T + X)/(N + X), the highest precision that any can have. Lower: all wrong
    ones tie with the last group, and the correct ones follow one by one.

    Examples
    --------
    >>> seen = build_truncated_ranking(np.array([0.1, 0.3]), np.array([True, True]), features=4,
    ...     hidden_correct=0)
    >>> compute_average_precision_bounds(seen)  # the two others may tie with the second
    (0.75, 1.0)
    """
    return compute_area_bounds(ranking, 0.0, compute_last_average_precision)


def compute_pr_auc_bounds(ranking: TruncatedRanking) -> tuple[float, float]:
    """Bound the trapezoid under precision against recall, 1/C · Σ_g (T_g − T_{g−1}) · (P_{g−1} + P_g)/2.

    Parameters
    ----------
    seen : Truncated
        What is shown.

    Returns
    -------
    lower, upper : float
        Each reached by a placement; NaN where no feature is correct.

    Notes
    -----
    As for `compute_average_precision_bounds`, by dynamic programming over T for the groups. For what is
    outside, the
    points of any curve lie between T/(T + w) with w the wrong features of the groups alone, and with w all
    wrong features. Both are concave in T: a finer curve has the larger area. Upper: the wrong ones come
    last, some j of the correct tie with the last group, the others follow one by one; the area first grows
    with j and then falls, so j is found by bisection. Lower: the wrong ones tie with the last group, and the
    correct ones either do too or follow as one group.

    Examples
    --------
    >>> seen = build_truncated_ranking(np.array([0.1, 0.3]), np.array([True, True]), features=4,
    ...     hidden_correct=0)
    >>> compute_pr_auc_bounds(seen)
    (0.875, 1.0)
    """
    return compute_area_bounds(ranking, 0.5, compute_last_trapezoid)


def _place_hidden_correct(ranking: TruncatedRanking, side: Side) -> tuple[Counts, Counts]:
    """Place the hidden correct ones as early, or as late, as they may come; return sizes and correct ones."""
    if side == "upper":
        room = np.append(ranking.n_hidden, ranking.n_outside)
        taken = np.clip(ranking.n_hidden_correct - (np.cumsum(room) - room), 0, room)
        tied = taken[-1]  # the correct from outside tie with the last group, the wrong stand behind it
    else:
        room = np.append(ranking.n_hidden, ranking.n_outside)[::-1]
        taken = np.clip(ranking.n_hidden_correct - (np.cumsum(room) - room), 0, room)[::-1]
        tied = ranking.n_outside - taken[-1]
    sizes, hits = (
        np.append(ranking.group_sizes, ranking.n_outside),
        np.append(ranking.n_shown_correct, 0) + taken,
    )
    sizes[-2] += tied
    sizes[-1] -= tied
    if side == "upper":
        hits[-2] += tied
        hits[-1] = 0
    return sizes, hits


def compute_area_bounds(
    ranking: TruncatedRanking, previous_weight: float, compute_last_area: LastGroupArea
) -> tuple[float, float]:
    """Find the least and the largest area that hidden members of the classes, and what is outside, can make.

    Dynamic programming over T_g, the correct features that have come until the end of the g-th group: a group
    adds (T_g − T_{g−1}) · [earlier · P_{g−1} + (1 − earlier) · P_g], whatever came before it.

    Parameters
    ----------
    seen : Truncated
        What is shown.
    earlier : float
        0 for the average precision, 1/2 for the trapezoid.
    last : callable
        (what is shown, T_{L−1}, hidden correct features left, side) to what the last group and the features
        from outside add at that side's best; arrays over the possible T_{L−1}.

    Returns
    -------
    lower, upper : float
        In [0, 1]; NaN where no feature is correct.
    """
    if not ranking.n_correct:
        return float("nan"), float("nan")
    return _compute_extreme_area(ranking, previous_weight, compute_last_area, "lower"), _compute_extreme_area(
        ranking, previous_weight, compute_last_area, "upper"
    )


def _compute_extreme_area(
    ranking: TruncatedRanking, previous_weight: float, compute_last_area: LastGroupArea, side: Side
) -> float:
    better: Any = np.minimum if side == "lower" else np.maximum
    worst = np.inf if side == "lower" else -np.inf
    area, came, start = np.zeros(1), np.zeros(1), 0.0  # by T, which is `came`, at N = start
    for size, good, hidden in zip(
        ranking.group_sizes[:-1], ranking.n_shown_correct, ranking.n_hidden, strict=False
    ):
        most = min(int(hidden), ranking.n_hidden_correct)
        grown = np.full(min(area.size + most, ranking.n_hidden_correct + 1), worst)
        first = previous_weight * _compute_precision(came, start)
        for x in range(most + 1):  # hidden members that are correct
            to = min(area.size, grown.size - x)
            level = first[:to] + (1 - previous_weight) * (came[:to] + good + x) / (start + size)
            better(grown[x : x + to], area[:to] + (good + x) * level, out=grown[x : x + to])
        area, came, start = grown, came[0] + good + np.arange(grown.size), start + float(size)
    left = ranking.n_hidden_correct - np.arange(area.size, dtype=np.float64)
    room = left <= ranking.n_hidden[-1] + ranking.n_outside
    areas = area[room] + compute_last_area(ranking, came[room], left[room], side)
    return min(1.0, float(better.reduce(areas)) / ranking.n_correct)  # rounding may leave a hair above


def _compute_precision(hits: Values, n_seen: float) -> Values:
    """Return T/N, and 1 where nothing has come yet, as scikit-learn's curve begins."""
    return hits / n_seen if n_seen else np.ones(hits.shape)


def compute_last_average_precision(
    ranking: TruncatedRanking, hits_before: Values, n_left: Values, side: Side
) -> Values:
    """Return what the last group and what is outside add to C times the average precision.

    Parameters
    ----------
    seen : Truncated
        What is shown.
    before, left : float64 arrays, shape (m,)
        How many correct features have come before the last group, and how many hidden ones follow.
    side : {"lower", "upper"}
        The least or the largest.

    Returns
    -------
    float64 array, shape (m,)
    """
    good, hidden = float(ranking.n_shown_correct[-1]), float(ranking.n_hidden[-1])
    if side == "upper":
        tied = n_left - np.minimum(n_left, hidden)
        end = ranking.n_features - ranking.n_outside + tied
        return np.asarray((good + n_left) * (hits_before + good + n_left) / end)
    own = good + np.maximum(n_left - ranking.n_outside, 0.0)
    single = good + n_left - own
    hits, end = hits_before + own, ranking.n_features - single
    # Σ_{u=1}^{X} (T + u)/(N + u) = X − (N − T) · Σ_u 1/(N + u)
    return np.asarray(own * hits / end + single - (end - hits) * _sum_reciprocals(end, end + single))


def compute_last_trapezoid(
    ranking: TruncatedRanking, hits_before: Values, n_left: Values, side: Side
) -> Values:
    """Return what the last group and what is outside add to C times the trapezoid.

    Parameters
    ----------
    seen, before, left, side
        As for `compute_last_average_precision`.

    Returns
    -------
    float64 array, shape (m,)
    """
    good, hidden = float(ranking.n_shown_correct[-1]), float(ranking.n_hidden[-1])
    start = float(ranking.group_sizes[:-1].sum())
    first = _compute_precision(hits_before, start)
    own = good + np.minimum(n_left, hidden)
    if side == "upper":
        end = start + float(ranking.group_sizes[-1])
        return _maximize_last_area(first, own, hits_before + own, end, good + n_left - own)
    everything = hits_before + good + n_left
    tied = (good + n_left) * (first + everything / ranking.n_features) / 2
    areas = [tied]
    for inside in (own, good + np.maximum(n_left - ranking.n_outside, 0.0)):
        after = good + n_left - inside
        level = (hits_before + inside) / (ranking.n_features - after)
        areas.append((inside * (first + level) + after * (level + everything / ranking.n_features)) / 2)
    return np.asarray(np.minimum.reduce(areas))


def _maximize_last_area(
    first_precision: Values, group_hits: Values, hits: Values, end: float, outside_hits: Values
) -> Values:
    """Return the largest area that a last group and correct features from outside can have.

    With `own` correct ones a group takes T to `hits` and N to `end`, from the precision `first`; j of
    those from outside tie with it, the others follow one by one, u = j + 1, …, at φ_u = (T + u)/(N + u).
    """

    def phi(u: Values) -> Values:
        return (hits + u) / (end + u)

    low, high = np.zeros_like(outside_hits), outside_hits.copy()
    while (low < high).any():
        middle = np.floor((low + high) / 2)
        # twice the area that one more tied adds; it falls as more are tied, φ being concave
        gain = first_precision - phi(middle) + (group_hits + middle) * (phi(middle + 1) - phi(middle))
        more = (gain > 0.0) & (low < high)
        low, high = np.where(more, middle + 1, low), np.where(more, high, np.minimum(middle, high))
    tied = (group_hits + low) * (first_precision + phi(low)) / 2
    levels = outside_hits - low + 1 - (end - hits) * _sum_reciprocals(end + low - 1, end + outside_hits)
    return np.asarray(tied + levels - (phi(low) + phi(outside_hits)) / 2)


def _sum_reciprocals(start: Values, end: Values) -> Values:
    """Return Σ 1/i over start < i ≤ end."""
    from scipy.special import digamma

    return np.asarray(digamma(end + 1.0) - digamma(start + 1.0))


if TYPE_CHECKING:
    LastGroupArea = Callable[[TruncatedRanking, Values, Values, Side], Values]
