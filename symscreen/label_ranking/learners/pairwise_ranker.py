"""Label ranking by one classifier for each pair of labels (Fotakis et al., Algorithms 2, 6, 7 and 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from symscreen.errors import DataError, OptionError
from symscreen.label_ranking.base import Ranker, draw_seeds, prepare_training_data
from symscreen.label_ranking.learners.labelwise import build_weight_params, check_estimator
from symscreen.messages import suggest
from symscreen.targets.ranking_ranks import compute_pair_signs, list_label_pairs, mask_ranked_pairs

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Ranks, Values


_VOTING_METHODS = ("hard", "soft")
_SCORE_DECIMALS = 12  # decimals of the scores for sorting
_MAX_NAMED_PAIRS = 6  # pairs listed in an error message


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
        "soft" adds Pr[ĝ_ij(x) = −1] in place of the indicator; the classifier must support `predict_proba`.
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

    def __init__(
        self,
        estimator: Any = None,
        *,
        voting: str = "hard",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.estimator = estimator
        self.voting = voting
        self.random_state = random_state

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
        if self.voting not in _VOTING_METHODS:
            raise OptionError(f"voting is {self.voting!r}{suggest(str(self.voting), _VOTING_METHODS)}")
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
        self.transitivity_rate_ = _compute_acyclic_share(
            self._compute_scores(self._compute_votes(data.rows, "hard"))
        )
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
        return _compute_acyclic_share(self._compute_scores(self._compute_votes(self._check_rows(X), "hard")))

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
        self.pair_coverage_[first, second] = self.pair_coverage_[second, first] = n_observed / len(ranks)
        self.strict_order_rate_[first, second] = self.strict_order_rate_[second, first] = (
            n_untied / n_observed
        )
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
        for pair in range(len(first)):
            scores[:, first[pair]] += votes[:, pair]
            scores[:, second[pair]] += 1.0 - votes[:, pair]  # g_ji = −g_ij
        return scores


def _compute_acyclic_share(scores: Values) -> float:
    """Compute the share of rows whose scores are a permutation of 1, …, k."""
    return float((np.sort(scores, axis=1) == np.arange(1.0, scores.shape[1] + 1.0)).all(axis=1).mean())


def _make_default_classifier() -> Any:
    """Make the default classifier, logistic regression on standardised features."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
