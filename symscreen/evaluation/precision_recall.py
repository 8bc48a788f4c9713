"""Precision and recall of an order of features with respect to the correct ones.

Features are sorted by their loss in ascending order and grouped by equal losses. Let N_g be the number of
features in the first g groups, T_g the number of correct ones among them, q the total number of features and
C the number of correct ones::

    precision  P_g = T_g / N_g          recall  R_g = T_g / C

NaN and +∞, the losses of features that were not found, tie in the last group. Therefore no metric depends on
the order in which tied features are listed. If no feature is correct, all metrics are NaN. If all are
correct, only the area under the ROC curve is NaN.
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

_RECALL_TOLERANCE = 1e-12  # absorbs rounding errors of a recall


def group_ties(loss: Values, correct: Flags) -> tuple[Values, Counts]:
    """Group the features with equal losses.

    Parameters
    ----------
    loss, correct : arrays, shape (q,)
        Losses; smaller is better, NaN or +∞ for a feature that was not found. And which features are correct.

    Returns
    -------
    distinct : float64 array, shape (g,)
        Distinct losses in ascending order; +∞ for NaN.
    group : int64 array, shape (q,)
        Group of each feature, from 0, the best.

    Raises
    ------
    DataError
        If `loss` and `correct` are not one-dimensional arrays of the same length.

    Examples
    --------
    >>> group_ties(np.array([2.0, np.nan, 0.0, np.inf, -0.0]), np.zeros(5, dtype=bool))
    (array([ 0.,  2., inf]), array([1, 2, 0, 2, 0]))
    """
    losses = np.asarray(loss, dtype=np.float64)
    if losses.ndim != 1 or losses.shape != np.shape(correct):
        raise DataError(
            f"losses have shape {losses.shape} and correctness has shape {np.shape(correct)}: "
            "give one value of each per feature"
        )
    distinct, group = np.unique(np.where(np.isnan(losses), np.inf, losses), return_inverse=True)
    return distinct, group.astype(np.int64)


@dataclass(frozen=True, eq=False)
class PrecisionRecallCurve:
    """Precision-recall curve with one point per group of tied features, best first.

    Parameters
    ----------
    recall : float64 array, shape (g,)
        T_g / C, ascending to 1; NaN if no feature is correct.
    precision : float64 array, shape (g,)
        T_g / N_g; the last element is the share of correct features.
    thresholds : float64 array, shape (g,)
        Loss of each group in ascending order; +∞ for features that were not found.
    """

    recall: Values
    precision: Values
    thresholds: Values


def compute_precision_recall_curve(loss: Values, correct: Flags) -> PrecisionRecallCurve:
    """Compute the precision-recall curve of a ranking.

    Parameters
    ----------
    loss : float array, shape (q,)
        Smaller is better. Features with NaN or +∞ were not found; they are last and tied.
    correct : bool array, shape (q,)
        Which features are correct.

    Returns
    -------
    PrecisionRecallCurve
        Unlike scikit-learn's curve, it does not contain the point with recall 0 and precision 1, which
        belongs to no threshold.

    Raises
    ------
    DataError
        If `loss` and `correct` are not one-dimensional arrays of the same length.

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
    # scikit-learn orders points from the worst threshold to the best and appends an extra point
    return PrecisionRecallCurve(recall[-2::-1].copy(), precision[-2::-1].copy(), distinct)


def compute_precision_at(curve: PrecisionRecallCurve, recall: Values) -> Values:
    """Compute the precision of the first group that attains a given recall.

    Parameters
    ----------
    curve : PrecisionRecallCurve
        Curve of one ranking.
    recall : float array, shape (m,)
        Recalls in (0, 1].

    Returns
    -------
    float64 array, shape (m,)
        P_g of the smallest g with R_g ≥ recall, up to rounding. The area under this step function is the
        average precision. NaN if no feature is correct.

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
        raise OptionError("a recall is outside (0, 1]: give shares of the correct features")
    return np.asarray(curve.precision[np.searchsorted(curve.recall, levels - _RECALL_TOLERANCE)])


def average_precision(loss: Values, correct: Flags) -> float:
    """Compute the average precision Σ_g (R_g − R_{g−1}) · P_g with R_0 = 0.

    Parameters
    ----------
    loss, correct : arrays, shape (q,)
        See `compute_precision_recall_curve`.

    Returns
    -------
    float
        In (0, 1]; 1 if all correct features precede the others, and the share C/q if all features tie. NaN if
        no feature is correct.

    Notes
    -----
    Tied features have the precision at the end of their group. The mean over all orders of the tied features
    is a different statistic. If all features tie, it is `compute_expected_average_precision`, which exceeds
    C/q.

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
    """Compute the area under the precision-recall curve with the trapezoidal rule.

    Parameters
    ----------
    loss, correct : arrays, shape (q,)
        See `compute_precision_recall_curve`.

    Returns
    -------
    float
        Σ_g (R_g − R_{g−1}) · (P_{g−1} + P_g)/2 with R_0 = 0 and P_0 = 1, in [0, 1]; NaN if no feature is
        correct.

    Notes
    -----
    This is scikit-learn's `auc` of its `precision_recall_curve`, which always starts at recall 0 with
    precision 1. The area therefore overestimates rankings with ties: if all features tie, it is (1 + C/q)/2
    instead of C/q. Use `average_precision` for a comparison with the share of correct features. Davis and
    Goadrich (2006) explain why a straight line between two points of this curve is not attainable.

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
    """Compute the area under the ROC curve with the trapezoidal rule (Luo and Li 2024, footnote 1).

    Parameters
    ----------
    loss, correct : arrays, shape (q,)
        See `compute_precision_recall_curve`.

    Returns
    -------
    float
        Share of the pairs of a correct and an incorrect feature in which the correct one comes first; ties
        count half. NaN if no feature, or every feature, is correct.

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
    """Compute the share of the correct features among the first k.

    Parameters
    ----------
    loss, correct : arrays, shape (q,)
        See `compute_precision_recall_curve`.
    k : int
        Number of features, at least 1; values above q have the same effect as q.

    Returns
    -------
    float
        In [0, 1]: [T_{g−1} + (k − N_{g−1}) · (T_g − T_{g−1})/(N_g − N_{g−1})] / C for the group g that
        contains position k. This is the mean over all orders of the tied features. NaN if no feature is
        correct.

    Raises
    ------
    OptionError
        If k is not an integer ≥ 1.

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
    group_sizes, hits : int64 arrays, shape (g,)
        Numbers of features and of correct features in each group, best first.
    k : int
        Number of features, at least 1.

    Returns
    -------
    float

    Raises
    ------
    OptionError
        If k is not an integer ≥ 1.

    Examples
    --------
    >>> compute_grouped_recall(np.array([1, 2]), np.array([0, 1]), 2)
    0.5
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise OptionError(f"k of recall at k is {k!r}; give an integer ≥ 1")
    n_correct = int(hits.sum())
    if n_correct == 0:
        return float("nan")
    before = np.cumsum(group_sizes) - group_sizes
    counted_shares = np.clip((k - before) / np.maximum(group_sizes, 1), 0.0, 1.0)
    return float((hits * counted_shares).sum() / n_correct)


def compute_first_correct_rank(loss: Values, correct: Flags) -> float:
    """Compute the rank of the first correct feature.

    Parameters
    ----------
    loss, correct : arrays, shape (q,)
        See `compute_precision_recall_curve`.

    Returns
    -------
    float
        In [1, q]: the mid-rank N_{g−1} + (N_g − N_{g−1} + 1)/2 of the first group g with a correct feature;
        NaN if no feature is correct.

    Notes
    -----
    Tied features have their mid-rank, as in rank statistics, so this is the smallest rank of a correct
    feature. In a random order of the m tied features, c of them correct, the first correct one has the
    expected rank N_{g−1} + (m + 1)/(c + 1). This is the same for c = 1, and smaller for c > 1.

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
    """Compute the expected average precision of a random order of the features.

    The feature at rank r is correct with probability C/q. On average (r − 1)(C − 1)/(q − 1) correct features
    then precede it. With the harmonic number H_q = Σ_r 1/r::

        E = 1/q · Σ_r [1 + (r − 1)(C − 1)/(q − 1)] / r = (C − 1)/(q − 1) + H_q/q · (q − C)/(q − 1)

    Parameters
    ----------
    n_features, n_correct : int
        Numbers of features q ≥ 1 and of correct features C ≤ q.

    Returns
    -------
    float
        Exceeds the share C/q by (H_q − 1)/(q − 1) · (1 − C/q): by 0.06 for 12 of 24 features and by 6e-5 for
        half of 10⁵. For one of 10⁶ the excess is thirteen times the share. NaN if no feature is correct.

    Raises
    ------
    OptionError
        If the numbers are out of range.

    Examples
    --------
    >>> round(compute_expected_average_precision(24, 12), 4)
    0.5603
    >>> compute_expected_average_precision(2, 1)  # 1 or 1/2
    0.75
    """
    if not 0 <= n_correct <= n_features or n_features < 1:
        raise OptionError(
            f"{n_correct} correct of {n_features} features: give 0 ≤ n_correct ≤ n_features, n_features ≥ 1"
        )
    if n_correct == 0:
        return float("nan")
    if n_features == 1:
        return 1.0
    harmonic = float((1.0 / np.arange(1, n_features + 1)).sum())
    return ((n_correct - 1) + harmonic / n_features * (n_features - n_correct)) / (n_features - 1)
