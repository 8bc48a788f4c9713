"""Label ranking by pairs of labels: a linear score per label, or a classifier per pair.

`BradleyTerryRanker` fits scores by logistic regression on all ordered pairs. `PairwiseRanker` fits one
classifier for each pair of labels (Fotakis et al., Algorithms 2, 6, 7 and 8).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import StrOptions

from symscreen._parameters import NON_NEGATIVE, POSITIVE_INTEGER
from symscreen.errors import DataError, OptionError
from symscreen.label_ranking.base import Ranker, draw_seeds, prepare_training_data
from symscreen.label_ranking.consensus.median import rank_by_position
from symscreen.label_ranking.learners.labelwise import build_weight_params, check_estimator
from symscreen.targets.ranking_ranks import compute_pair_signs, list_label_pairs, mask_ranked_pairs

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from symscreen._parameters import Constraints
    from symscreen._typing import Ranks, Values


_INTERCEPT_PENALTY = 1e-6  # small penalty of the intercepts that makes the optimum unique

_SCORE_DECIMALS = 12  # decimals of the scores for sorting
_MAX_NAMED_PAIRS = 6  # pairs listed in an error message


@dataclass(eq=False, repr=False, kw_only=True)
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

    alpha: float = 1e-3
    max_iter: int = 500

    _parameter_constraints: ClassVar[Constraints] = {
        "alpha": (NON_NEGATIVE,),
        "max_iter": (POSITIVE_INTEGER,),
    }

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
        self._validate_params()
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
        # positive if the scores contradict the observed order
        violations = signs * ((basis @ coefficients) @ differences.T)
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


@dataclass(eq=False, repr=False)
class PairwiseRanker(Ranker):
    """Label ranking by a classifier for each pair of labels; a label is scored by its number of wins.

    For i < j the classifier ĝ_ij learns sgn(σ(i) − σ(j)) from the rows that rank both labels without a tie.
    Incomplete rankings are used as in Algorithm 7, partial ones as in Algorithm 8. With ĝ_ji = −ĝ_ij the
    score of a label is ŝ(x; i) = 1 + Σ_{j≠i} 1{ĝ_ij(x) = −1} (Algorithm 6), one plus the number of labels it
    beats. The label with the largest score comes first.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        Classifier that is cloned for each pair. By default logistic regression on standardised features.
    voting : {"hard", "soft"}
        "soft" adds Pr[ĝ_ij(x) = −1] in place of the indicator; the classifier must support ``predict_proba``.
    random_state : int, RandomState or None
        Random state of the order of labels with equal scores. The order is drawn once in `fit`, so the
        prediction for a row does not depend on the other rows.

    Attributes
    ----------
    pair_coverage_ : float64 array, shape (k, k)
        φ̂_ij: share of rows that rank both i and j; on the diagonal, share of rows that rank i.
    strict_order_rate_ : float64 array, shape (k, k)
        ξ̂_ij: share of rows without a tie of i and j among the rows that rank both; 0 on the diagonal.
    tie_rate_ : float64 array, shape (k, k)
        1 − ξ̂_ij.
    transitivity_rate_ : float
        Share of training rows for which the hard votes of all pairs are consistent with one ranking.
    estimators_ : list
        Classifier of each pair in the order (0, 1), (0, 2), …; −1 or 1 if all rows agree.
    n_labels_, n_features_in_ : int
        Numbers of labels k and of features d.

    Examples
    --------
    >>> X, y = [[-1.0], [-2.0], [1.0], [2.0]], [[1, 2, 3], [1, np.nan, 2], [3, 2, 1], [2, 1.5, 1]]
    >>> ranker = PairwiseRanker().fit(X, y)
    >>> ranker.predict([[-3.0], [3.0]]).tolist(), ranker.pair_coverage_[0].tolist()
    ([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]], [1.0, 0.75, 1.0])
    """

    estimator: Any = None
    _: KW_ONLY
    voting: str = "hard"
    random_state: int | np.random.RandomState | None = 0

    _parameter_constraints: ClassVar[Constraints] = {
        "voting": (StrOptions({"hard", "soft"}),),
    }

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:  # noqa: N803
        """Fit one classifier for each pair.

        Parameters
        ----------
        X : array-like, shape (n, d)
            Features.
        y : array-like, shape (n, k)
            Rankings; labels may be missing (NaN) or tied.
        sample_weight : array-like, shape (n,), optional
            Row weights. They are divided by their mean over all rows with positive weight and passed to the
            classifier. Rows with weight 0 are dropped. The rates in the attributes are not weighted.

        Returns
        -------
        PairwiseRanker
            The fitted estimator.

        Raises
        ------
        DataError
            If the rankings are invalid, or no row ranks some pair of labels without a tie.
        OptionError
            If the voting is unknown, or the classifier does not support the required probabilities or
            weights.
        """
        model = _make_default_classifier() if self.estimator is None else self.estimator
        check_estimator(model, "classifier")
        self._validate_params()
        if self.voting == "soft" and not hasattr(model, "predict_proba"):
            raise OptionError(
                f"voting='soft' needs probabilities, but {type(model).__name__} has no predict_proba: use "
                "voting='hard' or another classifier"
            )
        data = prepare_training_data(self, X, y, sample_weight)
        signs = compute_pair_signs(data.ranks)
        self._check_pair_coverage(data.ranks, signs)
        weight_params = build_weight_params(model, sample_weight, data.weights)
        self.estimators_: list[Any] = []
        for sign in signs.T:  # the training sets D_ij of Algorithms 7 and 8
            untied_rows = np.flatnonzero(sign)
            pair_params = {name: values[untied_rows] for name, values in weight_params.items()}
            is_unanimous = sign[untied_rows].min() == sign[untied_rows].max()
            self.estimators_.append(
                int(sign[untied_rows[0]])
                if is_unanimous
                else clone(model).fit(data.rows[untied_rows], sign[untied_rows], **pair_params)
            )
        seed = draw_seeds(self.random_state, 1)[0]
        self.tie_order_ = np.random.default_rng(seed).permutation(self.n_labels_)
        self.transitivity_rate_ = self._compute_acyclic_share(data.rows)
        return self

    def decision_function(self, X: Any) -> Values:  # noqa: N803
        """Compute one plus the number of labels that each label beats.

        Parameters
        ----------
        X : array-like, shape (m, d)
            Features.

        Returns
        -------
        float64 array, shape (m, k)
            ŝ(x; i), from 1 to k; larger values are preferred.
        """
        return self._compute_scores(self._compute_votes(self._check_rows(X), self.voting))

    def predict(self, X: Any) -> Ranks:  # noqa: N803
        """Predict rankings: labels in descending order of their scores.

        Parameters
        ----------
        X : array-like, shape (m, d)
            Features.

        Returns
        -------
        float64 array, shape (m, k)
            Ranks 1 to k. Labels with equal scores have the random order drawn in `fit`.
        """
        scores = np.round(self.decision_function(X), _SCORE_DECIMALS)[:, self.tie_order_]
        order = self.tie_order_[np.argsort(-scores, axis=1, kind="stable")]
        return np.argsort(order, axis=1).astype(np.float64) + 1.0

    def compute_transitivity_rate(self, X: Any) -> float:  # noqa: N803
        """Compute the share of rows for which the hard votes have no cycle.

        Parameters
        ----------
        X : array-like, shape (m, d)
            Features.

        Returns
        -------
        float
            From 0 to 1. A tournament has no cycle if and only if its scores are a permutation of 1, 2, …, k.
        """
        return self._compute_acyclic_share(self._check_rows(X))

    def _compute_acyclic_share(self, rows: Values) -> float:
        """Compute the share of rows whose scores by hard votes are a permutation of 1, …, k."""
        scores = self._compute_scores(self._compute_votes(rows, "hard"))
        return float((np.sort(scores, axis=1) == np.arange(1.0, self.n_labels_ + 1.0)).all(axis=1).mean())

    def _check_pair_coverage(self, ranks: Ranks, signs: NDArray[np.int8]) -> None:
        """Compute the coverage and tie rates of the pairs; each pair must be ordered in some row."""
        k = ranks.shape[1]
        first, second = list_label_pairs(k)
        n_observed = mask_ranked_pairs(ranks).sum(axis=0)
        n_untied = (signs != 0).sum(axis=0)
        unordered = np.flatnonzero(n_untied == 0)
        if len(unordered):
            pair_list = ", ".join(f"({first[pair]}, {second[pair]})" for pair in unordered[:_MAX_NAMED_PAIRS])
            raise DataError(
                f"no row orders the labels of {len(unordered)} of {len(first)} pairs: {pair_list}"
                f"{', …' if len(unordered) > _MAX_NAMED_PAIRS else ''}, so these "
                "pairs cannot be learned: drop labels until each pair is ordered in some row, or use "
                "RankingEnsemble, which compares labels indirectly"
            )
        self.pair_coverage_ = np.diag((~np.isnan(ranks)).mean(axis=0))
        self.strict_order_rate_ = np.zeros((k, k))
        for i, j in ((first, second), (second, first)):
            self.pair_coverage_[i, j] = n_observed / len(ranks)
            self.strict_order_rate_[i, j] = n_untied / n_observed
        self.tie_rate_ = 1.0 - self.strict_order_rate_

    def _compute_votes(self, rows: Values, voting: str) -> Values:
        """Compute Pr[ĝ_ij = −1] or its indicator, shape (m, pairs): the vote for i against j."""
        votes = np.empty((len(rows), len(self.estimators_)))
        for pair, model in enumerate(self.estimators_):
            if isinstance(model, int):
                votes[:, pair] = model == -1
            elif voting == "soft":
                votes[:, pair] = model.predict_proba(rows)[:, list(model.classes_).index(-1)]
            else:
                votes[:, pair] = model.predict(rows) == -1
        return votes

    def _compute_scores(self, votes: Values) -> Values:
        """Compute the label scores, shape (m, k), from votes, shape (m, pairs)."""
        first, second = list_label_pairs(self.n_labels_)
        scores = np.ones((len(votes), self.n_labels_))
        for i, j, vote in zip(first, second, votes.T, strict=True):
            scores[:, i] += vote
            scores[:, j] += 1.0 - vote  # g_ji = −g_ij
        return scores


def _make_default_classifier() -> Any:
    """Make the default classifier, logistic regression on standardised features."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
