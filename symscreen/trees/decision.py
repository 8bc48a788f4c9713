"""One decision of a tree: the loss of a split, its minimiser, and the ratio of two (paper 003, §2).

The ranking metric T(r) of a permutation, and what it lacks to the best (paper 003, §4).
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


__all__ = [
    "Split",
    "compute_decision_ratio",
    "compute_log_decision_ratio",
    "compute_ranking_metric",
    "compute_ranking_regret",
    "compute_regret_bound",
    "compute_split_loss",
    "compute_split_means",
    "find_best_split",
    "rank_rows",
]


@dataclass(frozen=True, slots=True)
class Split:
    """A decision rule: rows with z_k ≤ C go left, the others right.

    Parameters
    ----------
    feature : int
        k, counted from 0.
    threshold : float
        C, a value of the feature.
    loss : float
        Of eq. (5), in the response's squared unit.
    means : tuple of float
        (μ_L, μ_R) of eq. (6).
    """

    feature: int
    threshold: float
    loss: float
    means: tuple[float, float]


def compute_split_means(z: ArrayLike, y: ArrayLike, threshold: float) -> tuple[float, float]:
    """Compute the mean responses (μ_L, μ_R) of the two sides of a split.

    Parameters
    ----------
    z : array_like, shape (n,)
        A feature.
    y : array_like, shape (n,)
        The responses; n ≥ 2.
    threshold : float
        C: rows with z ≤ C are on the left.

    Returns
    -------
    left, right : float
        NaN for a side without rows.

    Raises
    ------
    TableError
        If z and y are not two finite columns of one length.
    OptionError
        If the threshold is NaN.

    Notes
    -----
    Luo and Li (2024), eq. (6); over features z = θ(x), eq. (7) and (8). A slip in the text: (8) prints
    θ_k x_i ≤ C on its right side, which is the left mean again; θ_k x_i > C is meant.

    Examples
    --------
    >>> compute_split_means([1.0, 2.0, 3.0], [10.0, 20.0, 60.0], 2.0)
    (15.0, 60.0)
    """
    response = check_target(y)
    left = check_column(z, "z", response.size) <= check_threshold(threshold)
    # μ_L = Σ y_i·1(z_i ≤ C) / Σ 1(z_i ≤ C),  μ_R = Σ y_i·1(z_i > C) / Σ 1(z_i > C)                       (6)
    return _compute_mean(response[left]), _compute_mean(response[~left])


def compute_split_loss(z: ArrayLike, y: ArrayLike, threshold: float) -> float:
    """Compute CART's loss of splitting a node on one feature at one value.

    Parameters
    ----------
    z : array_like, shape (n,)
        A feature.
    y : array_like, shape (n,)
        The responses of the node; n ≥ 2.
    threshold : float
        C: rows with z ≤ C go left.

    Returns
    -------
    float
        Σ (y_i − μ_L)²·1(z_i ≤ C) + Σ (y_i − μ_R)²·1(z_i > C), in the response's squared unit. Where one side
        has no rows, the loss of the node itself.

    Raises
    ------
    TableError
        If z and y are not two finite columns of one length.
    OptionError
        If the threshold is NaN.

    Notes
    -----
    Luo and Li (2024), eq. (5). No split is worse than none (Proposition 7); it is as bad only where
    μ_L = μ_R, or one side is empty.

    Examples
    --------
    >>> compute_split_loss([1.0, 2.0, 3.0], [10.0, 20.0, 60.0], 2.0)
    50.0
    """
    response = check_target(y)
    left = check_column(z, "z", response.size) <= check_threshold(threshold)
    # Σ (y_i − μ_L)²·1(z_i ≤ C) + Σ (y_i − μ_R)²·1(z_i > C)                                               (5)
    return compute_squared_deviation(response[left]) + compute_squared_deviation(response[~left])


def find_best_split(table: ArrayLike, y: ArrayLike) -> Split:
    """Find the split that CART makes: the minimiser of its loss over features and their values.

    Parameters
    ----------
    table : array_like, shape (n, q) or (n,)
        Features Z in columns, or one feature.
    y : array_like, shape (n,)
        The responses of the node; n ≥ 2.

    Returns
    -------
    Split
        Of losses that agree to 12 digits of the node's own, the first feature and its smallest value.

    Raises
    ------
    TableError
        If shapes do not agree, a value is not finite, or every feature is constant.

    Notes
    -----
    Luo and Li (2024), eq. (5): (C, k) = argmin. Thresholds are observed values, as in the paper, though
    libraries put them halfway to the next. The largest value of a feature is left out, since it splits
    nothing off. O(q · n log n).

    Examples
    --------
    >>> x = np.array([-2.0, -1.0, 1.0, 2.5])
    >>> find_best_split(np.column_stack([x, x**2]), [4.0, 1.0, 1.0, 6.0])
    Split(feature=1, threshold=1.0, loss=2.0, means=(1.0, 5.0))
    """
    response = check_target(y)
    block = check_features(table, response.size)
    alike = RELATIVE_TOLERANCE * compute_squared_deviation(response)
    best: tuple[float, int, float] | None = None
    for k, z in enumerate(block):
        rows = np.lexsort((response, z))  # responses too: the sums do not depend on the order of the rows
        thresholds = z[rows][:-1]
        losses = np.where(thresholds < z[rows][1:], compute_cut_losses(response[rows]), np.inf)
        place = int(np.flatnonzero(losses <= losses.min() + alike)[0])
        if np.isfinite(losses[place]) and (best is None or losses[place] < best[0] - alike):
            best = float(losses[place]), k, float(thresholds[place])
    if best is None:
        raise DataError("every feature is constant: nothing can be split; give one with two values")
    loss, k, threshold = best
    left = block[k] <= threshold
    return Split(k, threshold, loss, (_compute_mean(response[left]), _compute_mean(response[~left])))


def compute_log_decision_ratio(
    first: tuple[ArrayLike, float], second: tuple[ArrayLike, float], y: ArrayLike
) -> float:
    """Compute log τ, by how much the loss of one decision rule is below that of another.

    Parameters
    ----------
    first, second : tuple of (array_like of shape (n,), float)
        Two rules: the feature z_k and the threshold C of each.
    y : array_like, shape (n,)
        The responses of the node; n ≥ 2.

    Returns
    -------
    float
        Loss of the second less loss of the first, in the response's squared unit; positive where the first
        is the better.

    Raises
    ------
    TableError
        If the features and y are not finite columns of one length.
    OptionError
        If a threshold is NaN.

    Notes
    -----
    Luo and Li (2024), eq. (9). The rule that minimises (5) has the highest τ against any other. The text
    calls τ a likelihood ratio for normal errors of standard deviation 1; without a factor ½ in the exponent
    that is its square, or the ratio for variance ½: the order of the rules is the same.

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
        Two rules: the feature z_k and the threshold C of each.
    y : array_like, shape (n,)
        The responses of the node; n ≥ 2.

    Returns
    -------
    float
        Above 1 where the first rule is the better; infinity or 0 where float64 ends, at losses that are some
        700 apart: then `compute_log_decision_ratio` still tells them apart.

    Raises
    ------
    TableError
        If the features and y are not finite columns of one length.
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
    return float(values.mean()) if values.size else float("nan")


def rank_rows(scores: ArrayLike) -> NDArray[np.int64]:
    """Order rows by their scores, the highest first: the permutation that a scoring function induces.

    Parameters
    ----------
    scores : array_like, shape (N,)
        f(x_j) of each row.

    Returns
    -------
    int64 array, shape (N,)
        r = (j_1, …, j_N) with f(x_{j_1}) ≥ … ≥ f(x_{j_N}), rows counted from 0; of equal scores the first
        row first.

    Raises
    ------
    TableError
        If the scores are not a finite column.

    Examples
    --------
    >>> rank_rows([0.3, 2.0, 1.0]).tolist()
    [1, 2, 0]
    """
    return np.argsort(-check_column(scores, "scores"), kind="stable")


def compute_ranking_metric(ranking: ArrayLike, means: ArrayLike) -> float:
    """Compute T(r), by how much rows that are ranked higher have the higher responses.

    Parameters
    ----------
    ranking : array_like of int, shape (N,)
        r, a permutation of the rows 0 … N − 1, the highest first.
    means : array_like, shape (N,)
        E[y_j | x_j] of each row; without noise, y itself. N ≥ 2.

    Returns
    -------
    float
        In [−Δ, Δ], in the response's unit, where Δ is Gini's mean difference of the means: Δ where they
        descend along r.

    Raises
    ------
    TableError
        If the means are not a finite column of at least two rows.
    OptionError
        If the ranking is not a permutation of the rows.

    Notes
    -----
    Luo and Li (2024), eq. (15). The pair sum counts the row at place p (from 1) N − p times with plus and
    p − 1 times with minus, so that T(r) = 2/(N(N−1)) · Σ_p (N + 1 − 2p) · E[y_{j_p} | x_{j_p}], in O(N). Of
    the ranking by a feature θ without ties, and without noise, it is Δ − T0(θ); where θ has ties, T0 averages
    over all ways to break them.

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
            f"a ranking holds each row from 0 to {mean.size - 1} once; {r.tolist()!r} does not: count from 0"
        )
    # T(r) = 2/(N(N−1)) · Σ_{i<i'} (E y_{j_i} − E y_{j_i'})                                               (15)
    weights = mean.size + 1.0 - 2.0 * np.arange(1, mean.size + 1)
    pairs = mean.size * (mean.size - 1.0)
    return float(2.0 / pairs * (weights * (mean - mean.mean())[r]).sum())


def compute_ranking_regret(scores: ArrayLike, means: ArrayLike) -> float:
    """Compute T(r_B) − T(r), what a ranking by scores lacks to the best one.

    Parameters
    ----------
    scores : array_like, shape (N,)
        f(x_j) of each row: a prediction, or a feature.
    means : array_like, shape (N,)
        E[y_j | x_j] of each row, the Bayes scoring function f_B; not constant, N ≥ 2.

    Returns
    -------
    float
        In [0, 2Δ], in the response's unit: T0 between the scores and the means.

    Raises
    ------
    TableError
        If shapes do not agree, a value is not finite, or the means are constant.

    Notes
    -----
    Luo and Li (2024), §4: r_B sorts by the means, and T(r_B) = Δ. Equal scores, as the leaves of one tree
    give them, are ordered in all ways and averaged over, so that the order of the rows does not matter.

    Examples
    --------
    >>> compute_ranking_regret([1.0, 3.0, 2.0], [0.0, 3.0, 6.0])
    2.0
    """
    from symscreen.statistics.array_api import t0

    mean = check_target(means)
    return float(t0(check_column(scores, "scores", mean.size), mean))


def compute_regret_bound(scores: ArrayLike, means: ArrayLike) -> float:
    """Compute the bound on T(r_B) − T(r) from the error of the scores.

    Parameters
    ----------
    scores : array_like, shape (N,)
        f(x_j) of each row.
    means : array_like, shape (N,)
        f_B(x_j) of each row; N ≥ 2.

    Returns
    -------
    float
        4/√N · (Σ_j (f_B(x_j) − f(x_j))²)^½, in the response's unit.

    Raises
    ------
    TableError
        If shapes do not agree or a value is not finite.

    Notes
    -----
    Luo and Li (2024), eq. (30) and (38), after Cossock and Zhang (2006): the step of Theorems 10 and 13 that
    takes a regression's error to its ranking. It holds for any two columns, also with 4 mean|f_B − f|: a pair
    in the wrong order is no further apart than its two errors together.

    Examples
    --------
    >>> compute_regret_bound([1.0, 2.0, 3.0], [1.0, 2.0, 4.5]) > compute_ranking_regret([1.0, 2.0, 3.0],
    ...     [1.0, 2.0, 4.5])
    True
    """
    mean = check_target(means)
    away = mean - check_column(scores, "scores", mean.size)
    return float(4.0 * np.sqrt((away * away).mean()))  # (30), (38)
