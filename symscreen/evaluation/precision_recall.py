"""Groups of features whose losses are equal: no order among them is known.

How well an order of features separates the correct from the wrong ones: precision and recall.

Features are ordered by their loss, ascending, and stand in groups of equal loss. After the g-th group N_g
features have been seen, T_g of them correct; q features and C correct ones there are in all::

    precision  P_g = T_g / N_g          recall  R_g = T_g / C

Losses tie where they are equal as numbers; NaN and +∞, what was never found, tie in the last group. Nothing
therefore depends on the order in which the features come. Where no feature is correct, every figure is
undefined, NaN; where all are, only the area under the ROC curve is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import DataError, OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Flags, Values

    Counts = NDArray[np.int64]

__all__ = [
    "PrecisionRecallCurve",
    "average_precision",
    "compute_expected_average_precision",
    "compute_first_correct_rank",
    "compute_grouped_recall",
    "compute_precision_at",
    "compute_precision_recall_curve",
    "compute_recall_at",
    "group_ties",
    "pr_auc",
    "roc_auc",
]


def group_ties(loss: Values, correct: Flags) -> tuple[Values, Counts]:
    """Group the features whose losses are equal.

    Parameters
    ----------
    loss, correct : arrays, shape (q,)
        Smaller is better, NaN or +∞ where a feature was never found; and which features are correct.

    Returns
    -------
    distinct : float64 array, shape (g,)
        The losses there are, ascending; +∞ for NaN.
    group : int64 array, shape (q,)
        The group of each feature, from 0, the best.

    Raises
    ------
    TableError
        If the two are not two columns of one length.

    Examples
    --------
    >>> group_ties(np.array([2.0, np.nan, 0.0, np.inf, -0.0]), np.zeros(5, dtype=bool))
    (array([ 0.,  2., inf]), array([1, 2, 0, 2, 0]))
    """
    losses = np.asarray(loss, dtype=np.float64)
    if losses.ndim != 1 or losses.shape != np.shape(correct):
        raise DataError(
            f"losses of shape {losses.shape} and correctness of shape {np.shape(correct)}: "
            "give one of each for every feature"
        )
    distinct, group = np.unique(np.where(np.isnan(losses), np.inf, losses), return_inverse=True)
    return distinct, group.astype(np.int64)


_RECALL_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class PrecisionRecallCurve:
    """Precision against recall, one point a group of tied features, the best first.

    Parameters
    ----------
    recall : float64 array, shape (g,)
        T_g / C, ascending to 1; NaN where no feature is correct.
    precision : float64 array, shape (g,)
        T_g / N_g; the last is the share of correct features.
    thresholds : float64 array, shape (g,)
        The loss of each group, ascending; +∞ for what was never found.
    """

    recall: Values
    precision: Values
    thresholds: Values


def compute_precision_recall_curve(loss: Values, correct: Flags) -> PrecisionRecallCurve:
    """Trace precision against recall down a ranking.

    Parameters
    ----------
    loss : float array, shape (q,)
        Smaller is better; NaN or +∞ where a feature was never found: last and tied.
    correct : bool array, shape (q,)
        Which features are correct.

    Returns
    -------
    Curve
        Without scikit-learn's extra point at recall 0, precision 1, which no threshold gives.

    Raises
    ------
    TableError
        If the two are not two columns of one length.

    Examples
    --------
    >>> curve = compute_precision_recall_curve(np.array([0.1, 0.2, 0.2, np.nan]), np.array([True, True,
    ...     False, True]))
    >>> curve.recall.round(2).tolist(), curve.precision.round(2).tolist(), curve.thresholds.tolist()
    ([0.33, 0.67, 1.0], [1.0, 0.67, 0.75], [0.1, 0.2, inf])
    """
    distinct, group = group_ties(loss, correct)
    if not np.any(correct):
        return PrecisionRecallCurve(np.full(distinct.size, np.nan), np.zeros(distinct.size), distinct)
    from sklearn.metrics import precision_recall_curve

    precision, recall, _ = precision_recall_curve(correct, -group)
    # theirs runs from the worst threshold to the best, then to the extra point
    return PrecisionRecallCurve(recall[-2::-1].copy(), precision[-2::-1].copy(), distinct)


def compute_precision_at(curve: PrecisionRecallCurve, recall: Values) -> Values:
    """Return the precision of the first group with which a recall is reached.

    Parameters
    ----------
    curve : Curve
        Of one ranking.
    recall : float array, shape (m,)
        In (0, 1].

    Returns
    -------
    float64 array, shape (m,)
        P_g of the least g with R_g ≥ recall, but for rounding: the steps under which the area is the average
        precision. NaN where no feature is correct.

    Raises
    ------
    OptionError
        If a recall is outside (0, 1].

    Examples
    --------
    >>> curve = compute_precision_recall_curve(np.array([0.1, 0.2, 0.3]), np.array([True, False, True]))
    >>> compute_precision_at(curve, np.array([0.2, 0.5, 0.6])).round(2).tolist()
    [1.0, 1.0, 0.67]
    """
    levels = np.asarray(recall, dtype=np.float64)
    if not curve.recall.size or np.isnan(curve.recall[0]):
        return np.full(levels.shape, np.nan)
    if not ((levels > 0.0) & (levels <= 1.0)).all():
        raise OptionError("recall is asked for outside (0, 1]: give shares of the correct features")
    return np.asarray(curve.precision[np.searchsorted(curve.recall, levels - _RECALL_TOLERANCE)])


def average_precision(loss: Values, correct: Flags) -> float:
    """Average the precision over the recall: Σ_g (R_g − R_{g−1}) · P_g with R_0 = 0.

    Parameters
    ----------
    loss, correct : arrays, shape (q,)
        As for `compute_precision_recall_curve`.

    Returns
    -------
    float
        In (0, 1]; 1 where the correct come before the wrong; where all tie exactly the share C/q. NaN where
        no feature is correct.

    Notes
    -----
    Tied features count with the precision at the end of their group. The mean over their orders is another
    figure: C/q where all tie, but `compute_expected_average_precision`, which is larger, over all orders.

    Examples
    --------
    >>> round(average_precision(np.array([0.1, 0.2, 0.3]), np.array([True, False, True])), 4)  # (1 + 2/3)/2
    0.8333
    """
    _, group = group_ties(loss, correct)
    if not np.any(correct):
        return float("nan")
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(correct, -group))


def pr_auc(loss: Values, correct: Flags) -> float:
    """Compute the area under precision against recall by the trapezoid rule.

    Parameters
    ----------
    loss, correct : arrays, shape (q,)
        As for `compute_precision_recall_curve`.

    Returns
    -------
    float
        Σ_g (R_g − R_{g−1}) · (P_{g−1} + P_g)/2 with R_0 = 0 and P_0 = 1, in [0, 1]; NaN where no feature is
        correct.

    Notes
    -----
    scikit-learn's `auc` of its `precision_recall_curve`, whose curve begins at recall 0 with precision 1
    whatever the ranking. So it flatters ties: where all features tie it is (1 + C/q)/2, not C/q. Use
    `average_precision` to compare with the share of correct features (Davis and Goadrich 2006 on why a
    straight line between two points of this curve is out of reach).

    Examples
    --------
    >>> area = pr_auc(np.array([0.1, 0.2, 0.3]), np.array([True, False, True]))
    >>> round(area, 4)  # 1/2 · (1 + 1)/2 + 1/2 · (1/2 + 2/3)/2
    0.7917
    """
    curve = compute_precision_recall_curve(loss, correct)
    if not np.any(correct):
        return float("nan")
    from sklearn.metrics import auc

    return float(auc(np.concatenate(([0.0], curve.recall)), np.concatenate(([1.0], curve.precision))))


def roc_auc(loss: Values, correct: Flags) -> float:
    """Compute the area under the ROC curve by the trapezoid rule (Luo and Li 2024, footnote 1).

    Parameters
    ----------
    loss, correct : arrays, shape (q,)
        As for `compute_precision_recall_curve`.

    Returns
    -------
    float
        The share of pairs of a correct and a wrong feature in which the correct one stands first, ties
        counting half; NaN where no feature, or every feature, is correct.

    Examples
    --------
    >>> roc_auc(np.array([0.1, 0.2, 0.2]), np.array([True, False, True]))
    0.75
    """
    _, group = group_ties(loss, correct)
    if not np.any(correct) or np.all(correct):
        return float("nan")
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(correct, -group))


def compute_recall_at(loss: Values, correct: Flags, k: int) -> float:
    """Say which share of the correct features is among the first k.

    Parameters
    ----------
    loss, correct : arrays, shape (q,)
        As for `compute_precision_recall_curve`.
    k : int
        How many are looked at, at least 1; more than q are q.

    Returns
    -------
    float
        In [0, 1]: [T_{g−1} + (k − N_{g−1}) · (T_g − T_{g−1})/(N_g − N_{g−1})] / C for the group g into which
        the k-th place falls: the mean over all orders of the tied. NaN where no feature is correct.

    Raises
    ------
    OptionError
        If k is not a whole number of at least 1.

    Examples
    --------
    >>> compute_recall_at(np.array([0.1, 0.2, 0.2]), np.array([False, False, True]), 2)
    0.5
    """
    distinct, group = group_ties(loss, correct)
    sizes = np.bincount(group, minlength=distinct.size)
    hits = np.bincount(group[np.asarray(correct, dtype=bool)], minlength=distinct.size)
    return compute_grouped_recall(sizes, hits, k)


def compute_grouped_recall(group_sizes: Counts, hits: Counts, k: int) -> float:
    """Compute recall at k from the groups of tied features; see `compute_recall_at`.

    Parameters
    ----------
    sizes, hits : int64 arrays, shape (g,)
        How many features, and how many correct ones, each group holds, the best first.
    k : int
        How many are looked at.

    Returns
    -------
    float

    Raises
    ------
    OptionError
        If k is not a whole number of at least 1.

    Examples
    --------
    >>> compute_grouped_recall(np.array([1, 2]), np.array([0, 1]), 2)
    0.5
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise OptionError(f"k of recall at k is {k!r}; give a whole number of at least 1")
    total = int(hits.sum())
    if total == 0:
        return float("nan")
    before = np.cumsum(group_sizes) - group_sizes
    share = np.clip((k - before) / np.maximum(group_sizes, 1), 0.0, 1.0)  # of each group that is looked at
    return float((hits * share).sum() / total)


def compute_first_correct_rank(loss: Values, correct: Flags) -> float:
    """Return the rank of the first correct feature.

    Parameters
    ----------
    loss, correct : arrays, shape (q,)
        As for `compute_precision_recall_curve`.

    Returns
    -------
    float
        In [1, q]: the middle rank, N_{g−1} + (N_g − N_{g−1} + 1)/2, of the first group g that holds a correct
        feature; NaN where no feature is correct.

    Notes
    -----
    Tied features share their middle rank, as they do in rank statistics, so this is the least of the correct
    features' own ranks. If the tied were put into a random order, the first of c correct ones among m would
    on average come at N_{g−1} + (m + 1)/(c + 1): the same for c = 1, sooner for more.

    Examples
    --------
    >>> compute_first_correct_rank(np.array([0.1, 0.2, 0.2, 0.2]), np.array([False, False, True, False]))
    3.0
    """
    distinct, group = group_ties(loss, correct)
    if not np.any(correct):
        return float("nan")
    first = int(group[np.asarray(correct, dtype=bool)].min())
    sizes = np.bincount(group, minlength=distinct.size)
    return float(sizes[:first].sum() + (sizes[first] + 1) / 2)


def compute_expected_average_precision(n_features: int, n_correct: int) -> float:
    """Return the mean of the average precision over all orders of the features: what chance scores.

    A feature at place r is correct with probability C/q; it then has (r − 1)(C − 1)/(q − 1) correct ones
    before it on average, so that, with the harmonic number H_q = Σ_r 1/r::

        E = 1/q · Σ_r [1 + (r − 1)(C − 1)/(q − 1)] / r = (C − 1)/(q − 1) + H_q/q · (q − C)/(q − 1)

    Parameters
    ----------
    features, correct : int
        q ≥ 1 and C ≤ q.

    Returns
    -------
    float
        Above the share C/q, by (H_q − 1)/(q − 1) · (1 − C/q): 0.06 for 12 of 24, 6e-5 for half of 10⁵, but
        thirteen times the share itself for one of 10⁶. NaN where no feature is correct.

    Raises
    ------
    OptionError
        If there are not that many features.

    Examples
    --------
    >>> round(compute_expected_average_precision(24, 12), 4)
    0.5603
    >>> compute_expected_average_precision(2, 1)  # 1 or 1/2
    0.75
    """
    if not 0 <= n_correct <= n_features or n_features < 1:
        raise OptionError(
            f"{n_correct} correct of {n_features} features: give 0 ≤ correct ≤ features, 1 at least"
        )
    if n_correct == 0:
        return float("nan")
    if n_features == 1:
        return 1.0
    harmonic = float((1.0 / np.arange(1, n_features + 1)).sum())
    return ((n_correct - 1) + harmonic / n_features * (n_features - n_correct)) / (n_features - 1)
