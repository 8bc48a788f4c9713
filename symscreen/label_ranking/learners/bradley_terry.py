"""Label ranking by one linear score for each label, fitted to the pairs that rankings order.

The model of Bradley and Terry (1952) with scores that are linear in the features, as in the log-linear models
for label ranking of Dekel, Manning and Singer (2003): Pr[i ≻ j | x] = 1/(1 + exp(s_j(x) − s_i(x))). A pair
that a row does not show, or ties, says nothing; so incomplete and partial rankings are read as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import DataError, OptionError
from symscreen.label_ranking.base import Ranker, prepare_training_data
from symscreen.label_ranking.consensus.median import rank_by_position
from symscreen.label_ranking.learners.consensus_tree import is_integer, is_real
from symscreen.targets.ranking_ranks import compute_pair_signs, list_label_pairs

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike

    from symscreen._typing import Ranks, Values


__all__ = ["BradleyTerryRanker", "check_labels_ordered", "compute_expected_positions", "fit_scores"]

_INTERCEPT_PENALTY = 1e-6  # how little intercepts are held back: enough to make the optimum unique


class BradleyTerryRanker(Ranker):
    """Fit one linear score for each label by logistic regression on all ordered pairs.

    Parameters
    ----------
    alpha : float
        ≥ 0: the weight of half the squared coefficients beside the mean logistic loss of a pair. Features are
        standardised; intercepts are held back by 10⁻⁶ only.
    max_iter : int
        At most so many steps of L-BFGS.

    Attributes
    ----------
    coef_ : float64 array, shape (k, d)
        Of the features as they came: s(x) = coef_ x + intercept_.
    intercept_ : float64 array, shape (k,)
        Centred over the labels, as the coefficients are.
    n_labels_, n_features_in_ : int
        k and d.

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
            ≥ 0, one a row.

        Returns
        -------
        BradleyTerryRanker
            Itself.

        Raises
        ------
        TableError
            If the rankings are none, or some label is ordered against no other in any row.
        OptionError
            If alpha, the number of steps or a weight makes no sense.
        """
        if not is_real(self.alpha) or not 0.0 <= self.alpha < np.inf:
            raise OptionError(f"alpha is {self.alpha!r}: give a finite number of at least 0")
        if not is_integer(self.max_iter) or self.max_iter < 1:
            raise OptionError(f"max_iter is {self.max_iter!r}: give a whole number of at least 1")
        learned = prepare_training_data(self, X, y, sample_weight)
        check_labels_ordered(learned.ranks)
        centre = np.average(learned.rows, axis=0, weights=learned.weights)
        spread = np.sqrt(np.average((learned.rows - centre) ** 2, axis=0, weights=learned.weights))
        spread[spread <= 1e-12 * np.abs(centre)] = 1.0
        basis = np.column_stack([np.ones(len(learned.rows)), (learned.rows - centre) / spread])
        scores = fit_scores(basis, learned.ranks, learned.weights, alpha=self.alpha, max_iter=self.max_iter)
        scores = scores - scores.mean(axis=1, keepdims=True)
        self.coef_ = (scores[1:] / spread[:, None]).T
        self.intercept_ = scores[0] - self.coef_ @ centre
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
            What is largest is preferred.
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
            Ranks 1 to k; of labels with the same score the one with the smaller index comes first.
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
    """Minimise the mean logistic loss of the ordered pairs plus α/2 times the squared coefficients.

    Parameters
    ----------
    basis : float64 array, shape (n, p)
        Features; the first column is constant, and its coefficients are held back by 10⁻⁶ only.
    ranks : float64 array, shape (n, k)
        Rankings, as `to_mid_ranks` writes them.
    weights : float64 array, shape (n,)
        ≥ 0.
    alpha : float
        α.
    max_iter : int
        At most so many steps.
    start : float64 array, shape (p, k), optional
        Where to start; by default at 0.

    Returns
    -------
    float64 array, shape (p, k)
        W of the scores s = basis · W.

    Examples
    --------
    >>> fitted = fit_scores(np.ones((4, 1)), np.array([[1.0, 2.0]] * 3 + [[2.0, 1.0]]), np.ones(4), alpha=0,
    ...                     max_iter=100)
    >>> bool(abs(fitted[0, 0] - fitted[0, 1] - np.log(3.0)) < 1e-3)  # the odds are 3 to 1
    True
    """
    from scipy.optimize import minimize

    p, k = basis.shape[1], ranks.shape[1]
    first, second = list_label_pairs(k)
    signs = compute_pair_signs(ranks).astype(np.float64)
    share = weights[:, None] * np.abs(signs)
    share /= max(float(share.sum()), 1e-300)
    between = np.zeros((len(first), k))  # of each pair, s_i − s_j
    between[np.arange(len(first)), first] = 1.0
    between[np.arange(len(first)), second] = -1.0
    held = np.full((p, 1), alpha)
    held[0] = _INTERCEPT_PENALTY

    def compute_loss(flat: Values) -> tuple[float, Values]:
        coefficients = flat.reshape(p, k)
        against = signs * ((basis @ coefficients) @ between.T)  # > 0 where the scores say otherwise
        small = np.exp(-np.abs(against))
        value = (share * (np.maximum(against, 0.0) + np.log1p(small))).sum()
        slope = share * signs * np.where(against > 0.0, 1.0, small) / (1.0 + small)
        gradient = basis.T @ (slope @ between) + held * coefficients
        return float(value + 0.5 * (held * coefficients**2).sum()), gradient.ravel()

    begin = np.zeros(p * k) if start is None else start.ravel()
    found = minimize(
        compute_loss, begin, jac=True, method="L-BFGS-B", options={"maxiter": max_iter, "maxcor": 20}
    )
    return np.asarray(found.x, dtype=np.float64).reshape(p, k)


def compute_expected_positions(scores: Values) -> Values:
    """Compute the expected position of each label from scores.

    Parameters
    ----------
    scores : float64 array, shape (n, k)
        What is largest is preferred.

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

    positions = np.full(scores.shape, 0.5)  # of j = i, ½ is added below
    for j in range(scores.shape[1]):
        positions += expit(scores[:, j : j + 1] - scores)
    return positions


def check_labels_ordered(ranks: Ranks) -> None:
    """Refuse labels that no row orders against another.

    Parameters
    ----------
    ranks : float64 array, shape (n, k)
        Rankings, as `to_mid_ranks` writes them.

    Raises
    ------
    TableError
        If there are such labels; a single label needs no order.
    """
    k = ranks.shape[1]
    first, second = list_label_pairs(k)
    ordered = (compute_pair_signs(ranks) != 0).any(axis=0)
    alone = np.setdiff1d(np.arange(k), np.concatenate([first[ordered], second[ordered]]))
    if k > 1 and len(alone):
        raise DataError(
            f"no row orders label {alone[0]} against any other ({len(alone)} such of {k}): "
            "leave such labels out, for nothing can be learnt about them"
        )
