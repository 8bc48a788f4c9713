"""Label ranking with one linear score per label, fitted to the ordered pairs of the rankings.

This is the model of Bradley and Terry (1952) with scores that are linear in the features, as in the
log-linear models for label ranking of Dekel, Manning and Singer (2003): Pr[i ≻ j | x] = 1/(1 + exp(s_j(x) −
s_i(x))). Missing and tied pairs do not enter the loss, so incomplete and partial rankings are supported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import DataError, OptionError
from symscreen.label_ranking.base import Ranker, is_integer, is_real, prepare_training_data
from symscreen.label_ranking.consensus.median import rank_by_position
from symscreen.targets.ranking_ranks import compute_pair_signs, list_label_pairs

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike

    from symscreen._typing import Ranks, Values


_INTERCEPT_PENALTY = 1e-6  # small penalty of the intercepts that makes the optimum unique


class BradleyTerryRanker(Ranker):
    """Label ranking with one linear score per label, fitted by logistic regression on all ordered pairs.

    Parameters
    ----------
    alpha : float
        Penalty ≥ 0. The objective is the mean logistic loss of a pair plus alpha/2 times the sum of the
        squared coefficients of the standardised features. Intercepts have the penalty 10⁻⁶.
    max_iter : int
        Maximum number of L-BFGS iterations.

    Attributes
    ----------
    coef_ : float64 array, shape (k, d)
        Coefficients of the original features: s(x) = coef_ x + intercept_.
    intercept_ : float64 array, shape (k,)
        Intercepts. They sum to 0 over the labels, as the coefficients do.
    n_labels_, n_features_in_ : int
        Numbers of labels k and of features d.

    Examples
    --------
    >>> X, y = [[-1.0], [-2.0], [1.0], [2.0]], [[1, 2, 3], [1, np.nan, 2], [3, 2, 1], [2, 1.5, 1]]
    >>> BradleyTerryRanker().fit(X, y).predict([[-3.0], [3.0]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]
    """

    def __init__(self, *, alpha: float = 1e-3, max_iter: int = 500) -> None:
        self.alpha = alpha
        self.max_iter = max_iter

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:  # noqa: N803
        """Fit the scores.

        Parameters
        ----------
        X : array-like, shape (n, d)
            Features.
        y : array-like, shape (n, k)
            Rankings; labels may be missing (NaN) or tied.
        sample_weight : array-like, shape (n,), optional
            Non-negative row weights.

        Returns
        -------
        BradleyTerryRanker
            The fitted estimator.

        Raises
        ------
        DataError
            If the rankings are invalid, or a label is not ordered against any other label in any row.
        OptionError
            If `alpha`, `max_iter` or a weight is invalid.
        """
        if not is_real(self.alpha) or not 0.0 <= self.alpha < np.inf:
            raise OptionError(f"alpha is {self.alpha!r}: give a finite number of at least 0")
        if not is_integer(self.max_iter) or self.max_iter < 1:
            raise OptionError(f"max_iter is {self.max_iter!r}: give an integer ≥ 1")
        data = prepare_training_data(self, X, y, sample_weight)
        check_labels_ordered(data.ranks)
        center = np.average(data.rows, axis=0, weights=data.weights)
        spread = np.sqrt(np.average((data.rows - center) ** 2, axis=0, weights=data.weights))
        spread[spread <= 1e-12 * np.abs(center)] = 1.0
        basis = np.column_stack([np.ones(len(data.rows)), (data.rows - center) / spread])
        scores = fit_scores(basis, data.ranks, data.weights, alpha=self.alpha, max_iter=self.max_iter)
        scores = scores - scores.mean(axis=1, keepdims=True)
        self.coef_ = (scores[1:] / spread[:, None]).T
        self.intercept_ = scores[0] - self.coef_ @ center
        return self

    def decision_function(self, X: Any) -> Values:  # noqa: N803
        """Compute the scores s(x).

        Parameters
        ----------
        X : array-like, shape (m, d)
            Features.

        Returns
        -------
        float64 array, shape (m, k)
            Labels with larger scores are preferred.
        """
        return np.asarray(self._check_rows(X) @ self.coef_.T + self.intercept_)

    def predict(self, X: Any) -> Ranks:  # noqa: N803
        """Predict rankings: labels in descending order of their scores.

        Parameters
        ----------
        X : array-like, shape (m, d)
            Features.

        Returns
        -------
        float64 array, shape (m, k)
            Ranks 1 to k. Labels with equal scores are sorted by index.
        """
        return rank_by_position(-self.decision_function(X))


def fit_scores(
    basis: Values,
    ranks: Ranks,
    weights: Values,
    *,
    alpha: float,
    max_iter: int,
    start: Values | None = None,
) -> Values:
    """Minimise the mean logistic loss of the ordered pairs plus α/2 times the sum of squared coefficients.

    Parameters
    ----------
    basis : float64 array, shape (n, p)
        Features. The first column is constant; its coefficients have the penalty 10⁻⁶.
    ranks : float64 array, shape (n, k)
        Rankings in the format of `to_mid_ranks`.
    weights : float64 array, shape (n,)
        Non-negative row weights.
    alpha : float
        Penalty α ≥ 0.
    max_iter : int
        Maximum number of iterations.
    start : float64 array, shape (p, k), optional
        Initial coefficients. By default 0.

    Returns
    -------
    float64 array, shape (p, k)
        Coefficients W of the scores s = basis · W.

    Examples
    --------
    >>> coefficients = fit_scores(np.ones((4, 1)), np.array([[1.0, 2.0]] * 3 + [[2.0, 1.0]]), np.ones(4),
    ...     alpha=0, max_iter=100)
    >>> bool(abs(coefficients[0, 0] - coefficients[0, 1] - np.log(3.0)) < 1e-3)  # the odds are 3 to 1
    True
    """
    from scipy.optimize import minimize

    p, k = basis.shape[1], ranks.shape[1]
    first, second = list_label_pairs(k)
    signs = compute_pair_signs(ranks).astype(np.float64)
    pair_weights = weights[:, None] * np.abs(signs)
    pair_weights /= max(float(pair_weights.sum()), 1e-300)
    differences = np.zeros((len(first), k))  # maps scores to s_i − s_j of each pair, shape (pairs, k)
    differences[np.arange(len(first)), first] = 1.0
    differences[np.arange(len(first)), second] = -1.0
    penalty = np.full((p, 1), alpha)
    penalty[0] = _INTERCEPT_PENALTY

    def compute_loss(flat: Values) -> tuple[float, Values]:
        coefficients = flat.reshape(p, k)
        violations = signs * (
            (basis @ coefficients) @ differences.T
        )  # > 0 if the scores contradict the observed order
        exp_violations = np.exp(-np.abs(violations))
        loss = (pair_weights * (np.maximum(violations, 0.0) + np.log1p(exp_violations))).sum()
        slopes = (
            pair_weights * signs * np.where(violations > 0.0, 1.0, exp_violations) / (1.0 + exp_violations)
        )
        gradient = basis.T @ (slopes @ differences) + penalty * coefficients
        return float(loss + 0.5 * (penalty * coefficients**2).sum()), gradient.ravel()

    initial = np.zeros(p * k) if start is None else start.ravel()
    result = minimize(
        compute_loss, initial, jac=True, method="L-BFGS-B", options={"maxiter": max_iter, "maxcor": 20}
    )
    return np.asarray(result.x, dtype=np.float64).reshape(p, k)


def compute_expected_positions(scores: Values) -> Values:
    """Compute the expected position of each label from scores.

    Parameters
    ----------
    scores : float64 array, shape (n, k)
        Labels with larger scores are preferred.

    Returns
    -------
    float64 array, shape (n, k)
        1 + Σ_{j≠i} Pr[j ≻ i], from 1 to k.

    Examples
    --------
    >>> compute_expected_positions(np.array([[0.0, 0.0], [np.log(3.0), 0.0]])).round(3).tolist()
    [[1.5, 1.5], [1.25, 1.75]]
    """
    from scipy.special import expit

    positions = np.full(scores.shape, 0.5)  # the term j = i adds another ½ below
    for j in range(scores.shape[1]):
        positions += expit(scores[:, j : j + 1] - scores)
    return positions


def check_labels_ordered(ranks: Ranks) -> None:
    """Raise an error for labels that are not ordered against any other label in any row.

    Parameters
    ----------
    ranks : float64 array, shape (n, k)
        Rankings in the format of `to_mid_ranks`.

    Raises
    ------
    DataError
        If there are such labels; a single label is accepted.
    """
    k = ranks.shape[1]
    first, second = list_label_pairs(k)
    is_ordered = (compute_pair_signs(ranks) != 0).any(axis=0)
    unordered = np.setdiff1d(np.arange(k), np.concatenate([first[is_ordered], second[is_ordered]]))
    if k > 1 and len(unordered):
        raise DataError(
            f"no row orders label {unordered[0]} against any other label ({len(unordered)} such labels of "
            f"{k}): drop these labels"
        )
