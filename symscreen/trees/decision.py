"""One decision of a tree, and the ranking metric of scores (Luo and Li 2024, sections 2 and 4).

A decision rule sends the rows with z_k ≤ C to the left. This module computes its loss (eq. 5), the minimiser
of the loss over features and thresholds, and the ratio of two decisions (eq. 9). It also computes the ranking
metric T(r) of a permutation (eq. 15), its regret and a bound on the regret (eq. 30 and 38).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import DataError, OptionError
from symscreen.trees._column_checks import check_column, check_features, check_target, check_threshold
from symscreen.trees.partitions import RELATIVE_TOLERANCE, compute_cut_losses, compute_squared_deviation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class Split:
    """A decision rule: rows with z_k ≤ C go left, the others go right.

    Parameters
    ----------
    feature : int
        Index k of the feature, from 0.
    threshold : float
        Threshold C, an observed value of the feature.
    loss : float
        Loss of eq. (5), in squared units of the target.
    means : tuple of float
        Mean target values (μ_L, μ_R) of eq. (6).
    """

    feature: int
    threshold: float
    loss: float
    means: tuple[float, float]


def compute_split_means(z: ArrayLike, y: ArrayLike, threshold: float) -> tuple[float, float]:
    """Compute the mean target values (μ_L, μ_R) of the two sides of a split.

    Parameters
    ----------
    z : array_like, shape (n,)
        Feature values.
    y : array_like, shape (n,)
        Target values; n ≥ 2.
    threshold : float
        Threshold C. Rows with z ≤ C are on the left.

    Returns
    -------
    left, right : float
        NaN for a side without rows.

    Raises
    ------
    DataError
        If z and y are not finite columns of the same length.
    OptionError
        If the threshold is NaN.

    Notes
    -----
    Luo and Li (2024), eq. (6), and for features z = θ(x) eq. (7) and (8). Equation (8) contains an error: it
    prints θ_k x_i ≤ C on its right side, which is the left mean again; θ_k x_i > C is meant.

    Examples
    --------
    >>> compute_split_means([1.0, 2.0, 3.0], [10.0, 20.0, 60.0], 2.0)
    (15.0, 60.0)
    """
    target = check_target(y)
    left = check_column(z, "z", target.size) <= check_threshold(threshold)
    # μ_L = Σ y_i·1(z_i ≤ C) / Σ 1(z_i ≤ C),  μ_R = Σ y_i·1(z_i > C) / Σ 1(z_i > C)                       (6)
    return _compute_mean(target[left]), _compute_mean(target[~left])


def compute_split_loss(z: ArrayLike, y: ArrayLike, threshold: float) -> float:
    """Compute CART's loss of splitting a node on one feature at one threshold.

    Parameters
    ----------
    z : array_like, shape (n,)
        Feature values.
    y : array_like, shape (n,)
        Target values of the node; n ≥ 2.
    threshold : float
        Threshold C. Rows with z ≤ C go left.

    Returns
    -------
    float
        Σ (y_i − μ_L)²·1(z_i ≤ C) + Σ (y_i − μ_R)²·1(z_i > C), in squared units of the target. If one side is
        empty, the result is the loss of the node itself.

    Raises
    ------
    DataError
        If z and y are not finite columns of the same length.
    OptionError
        If the threshold is NaN.

    Notes
    -----
    Luo and Li (2024), eq. (5). A split never increases the loss (Proposition 7). The loss is unchanged only
    if μ_L = μ_R or one side is empty.

    Examples
    --------
    >>> compute_split_loss([1.0, 2.0, 3.0], [10.0, 20.0, 60.0], 2.0)
    50.0
    """
    target = check_target(y)
    left = check_column(z, "z", target.size) <= check_threshold(threshold)
    # Σ (y_i − μ_L)²·1(z_i ≤ C) + Σ (y_i − μ_R)²·1(z_i > C)                                               (5)
    return compute_squared_deviation(target[left]) + compute_squared_deviation(target[~left])


def find_best_split(table: ArrayLike, y: ArrayLike) -> Split:
    """Find the split that CART makes: the minimiser of the loss over features and their values.

    Parameters
    ----------
    table : array_like, shape (n, q) or (n,)
        Features Z in columns, or a single feature.
    y : array_like, shape (n,)
        Target values of the node; n ≥ 2.

    Returns
    -------
    Split
        Losses that agree to 12 digits of the node's loss are equal. Among them the first feature and its
        smallest threshold are selected.

    Raises
    ------
    DataError
        If the shapes do not agree, a value is not finite, or every feature is constant.

    Notes
    -----
    Luo and Li (2024), eq. (5): (C, k) = argmin. Thresholds are observed values, as in the paper; libraries
    usually take the midpoint to the next value. The largest value of a feature is excluded because it splits
    nothing off. The cost is O(q · n log n).

    Examples
    --------
    >>> x = np.array([-2.0, -1.0, 1.0, 2.5])
    >>> find_best_split(np.column_stack([x, x**2]), [4.0, 1.0, 1.0, 6.0])
    Split(feature=1, threshold=1.0, loss=2.0, means=(1.0, 5.0))
    """
    target = check_target(y)
    features = check_features(table, target.size)
    tolerance = RELATIVE_TOLERANCE * compute_squared_deviation(target)
    best: tuple[float, int, float] | None = None
    for k, z in enumerate(features):
        order = np.lexsort((target, z))  # ties by target: the sums do not depend on the row order
        thresholds = z[order][:-1]
        losses = np.where(thresholds < z[order][1:], compute_cut_losses(target[order]), np.inf)
        cut = int(np.flatnonzero(losses <= losses.min() + tolerance)[0])
        if np.isfinite(losses[cut]) and (best is None or losses[cut] < best[0] - tolerance):
            best = float(losses[cut]), k, float(thresholds[cut])
    if best is None:
        raise DataError(
            "every feature is constant, so no split exists; give a feature with two distinct values"
        )
    loss, k, threshold = best
    left = features[k] <= threshold
    return Split(k, threshold, loss, (_compute_mean(target[left]), _compute_mean(target[~left])))


def compute_log_decision_ratio(
    first: tuple[ArrayLike, float], second: tuple[ArrayLike, float], y: ArrayLike
) -> float:
    """Compute log τ: the loss of the second decision rule minus the loss of the first.

    Parameters
    ----------
    first, second : tuple of (array_like of shape (n,), float)
        Two rules, each with its feature z_k and its threshold C.
    y : array_like, shape (n,)
        Target values of the node; n ≥ 2.

    Returns
    -------
    float
        In squared units of the target; positive if the first rule is better.

    Raises
    ------
    DataError
        If the features and y are not finite columns of the same length.
    OptionError
        If a threshold is NaN.

    Notes
    -----
    Luo and Li (2024), eq. (9). The rule that minimises (5) has the largest τ against every other rule. The
    text calls τ a likelihood ratio for normal errors of standard deviation 1. Without a factor ½ in the
    exponent it is the square of that ratio, or the ratio for variance ½. The order of the rules is the same.

    Examples
    --------
    >>> x, y = [1.0, 2.0, 3.0], [10.0, 20.0, 60.0]
    >>> compute_log_decision_ratio((x, 2.0), (x, 1.0), y)
    750.0
    """
    # log τ = [Σ (y_i − μ²_L)²·1(z_i,k2 ≤ C2) + …] − [Σ (y_i − μ¹_L)²·1(z_i,k1 ≤ C1) + …]                 (9)
    return compute_split_loss(second[0], y, second[1]) - compute_split_loss(first[0], y, first[1])


def compute_decision_ratio(
    first: tuple[ArrayLike, float], second: tuple[ArrayLike, float], y: ArrayLike
) -> float:
    """Compute the principal decision ratio τ of two decision rules.

    Parameters
    ----------
    first, second : tuple of (array_like of shape (n,), float)
        Two rules, each with its feature z_k and its threshold C.
    y : array_like, shape (n,)
        Target values of the node; n ≥ 2.

    Returns
    -------
    float
        Above 1 if the first rule is better. The ratio overflows to infinity or underflows to 0 if the losses
        differ by more than about 700; use `compute_log_decision_ratio` in this case.

    Raises
    ------
    DataError
        If the features and y are not finite columns of the same length.
    OptionError
        If a threshold is NaN.

    Notes
    -----
    Luo and Li (2024), eq. (9).

    Examples
    --------
    >>> x, y = [1.0, 2.0, 3.0], [1.0, 2.0, 4.0]
    >>> round(compute_decision_ratio((x, 2.0), (x, 1.0), y), 4)
    4.4817
    """
    with np.errstate(over="ignore", under="ignore"):
        return float(np.exp(np.float64(compute_log_decision_ratio(first, second, y))))


def _compute_mean(values: NDArray[np.float64]) -> float:
    """Compute the mean of values of shape (m,); NaN for m = 0."""
    return float(values.mean()) if values.size else float("nan")


def rank_rows(scores: ArrayLike) -> NDArray[np.int64]:
    """Sort rows by their scores in descending order: the permutation that a scoring function induces.

    Parameters
    ----------
    scores : array_like, shape (N,)
        Score f(x_j) of each row.

    Returns
    -------
    int64 array, shape (N,)
        r = (j_1, …, j_N) with f(x_{j_1}) ≥ … ≥ f(x_{j_N}). Rows count from 0; rows with equal scores keep
        their order.

    Raises
    ------
    DataError
        If the scores are not a finite column.

    Examples
    --------
    >>> rank_rows([0.3, 2.0, 1.0]).tolist()
    [1, 2, 0]
    """
    return np.argsort(-check_column(scores, "scores"), kind="stable")


def compute_ranking_metric(ranking: ArrayLike, means: ArrayLike) -> float:
    """Compute the ranking metric T(r), which is large if rows with larger target values are ranked higher.

    Parameters
    ----------
    ranking : array_like of int, shape (N,)
        r, a permutation of the rows 0 … N − 1, highest first.
    means : array_like, shape (N,)
        Expected target E[y_j | x_j] of each row; y itself without noise. N ≥ 2.

    Returns
    -------
    float
        In [−Δ, Δ], in units of the target, where Δ is Gini's mean difference of the means. T(r) = Δ if the
        means descend along r.

    Raises
    ------
    DataError
        If the means are not a finite column of at least two rows.
    OptionError
        If the ranking is not a permutation of the rows.

    Notes
    -----
    Luo and Li (2024), eq. (15). In the sum over pairs the row at position p (from 1) occurs N − p times with
    a plus sign and p − 1 times with a minus sign. Hence T(r) = 2/(N(N−1)) · Σ_p (N + 1 − 2p) · E[y_{j_p} |
    x_{j_p}], which costs O(N). For the ranking by a feature θ without ties, and without noise, T(r) = Δ −
    T0(θ). If θ has ties, T0 averages over all orders of the tied rows.

    Examples
    --------
    >>> from symscreen import t0
    >>> y, z = [1.0, 2.0, 4.0], [0.1, 0.5, 0.3]
    >>> compute_ranking_metric(rank_rows(y), y) - compute_ranking_metric(rank_rows(z), y) == t0(z, y)
    True
    """
    mean = check_target(means)
    r = np.asarray(ranking)
    if r.dtype.kind not in "iu" or not np.array_equal(np.sort(r), np.arange(mean.size)):
        raise OptionError(
            f"a ranking must contain each row from 0 to {mean.size - 1} once; {r.tolist()!r} "
            "does not: rows count from 0"
        )
    # T(r) = 2/(N(N−1)) · Σ_{i<i'} (E y_{j_i} − E y_{j_i'})                                               (15)
    weights = mean.size + 1.0 - 2.0 * np.arange(1, mean.size + 1)
    pairs = mean.size * (mean.size - 1.0)
    return float(2.0 / pairs * (weights * (mean - mean.mean())[r]).sum())


def compute_ranking_regret(scores: ArrayLike, means: ArrayLike) -> float:
    """Compute the ranking regret T(r_B) − T(r) of a ranking by scores.

    Parameters
    ----------
    scores : array_like, shape (N,)
        Score f(x_j) of each row: a prediction or a feature.
    means : array_like, shape (N,)
        Expected target E[y_j | x_j] of each row, the Bayes scoring function f_B; not constant, N ≥ 2.

    Returns
    -------
    float
        In [0, 2Δ], in units of the target. It equals T0 between the scores and the means.

    Raises
    ------
    DataError
        If the shapes do not agree, a value is not finite, or the means are constant.

    Notes
    -----
    Luo and Li (2024), section 4: r_B sorts by the means, and T(r_B) = Δ. Equal scores, such as those of rows
    in one leaf, count as the average over all their orders. The result does not depend on the order of the
    rows.

    Examples
    --------
    >>> compute_ranking_regret([1.0, 3.0, 2.0], [0.0, 3.0, 6.0])
    2.0
    """
    from symscreen.screeners.array_api import t0

    mean = check_target(means)
    return float(t0(check_column(scores, "scores", mean.size), mean))


def compute_regret_bound(scores: ArrayLike, means: ArrayLike) -> float:
    """Compute the upper bound on the ranking regret T(r_B) − T(r) from the errors of the scores.

    Parameters
    ----------
    scores : array_like, shape (N,)
        Score f(x_j) of each row.
    means : array_like, shape (N,)
        Bayes score f_B(x_j) of each row; N ≥ 2.

    Returns
    -------
    float
        4/√N · (Σ_j (f_B(x_j) − f(x_j))²)^½, in units of the target.

    Raises
    ------
    DataError
        If the shapes do not agree or a value is not finite.

    Notes
    -----
    Luo and Li (2024), eq. (30) and (38), after Cossock and Zhang (2006). In Theorems 10 and 13 this step
    bounds the regret of the ranking by the error of the regression. It holds for any two columns, also in the
    form 4 mean|f_B − f|: the means of a pair in the wrong order differ by at most the sum of its two errors.

    Examples
    --------
    >>> compute_regret_bound([1.0, 2.0, 3.0], [1.0, 2.0, 4.5]) > compute_ranking_regret([1.0, 2.0, 3.0],
    ...     [1.0, 2.0, 4.5])
    True
    """
    mean = check_target(means)
    errors = mean - check_column(scores, "scores", mean.size)
    return float(4.0 * np.sqrt((errors * errors).mean()))  # (30), (38)
