"""Label ranking by one classifier for each pair of labels (Fotakis et al., Algorithms 2, 6, 7 and 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from symscreen.errors import DataError, OptionError, suggest
from symscreen.label_ranking.base import Ranker, draw_seeds, prepare_training_data
from symscreen.label_ranking.learners.labelwise import build_weight_params, check_estimator
from symscreen.targets.ranking_ranks import compute_pair_signs, list_label_pairs, mask_ranked_pairs

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Ranks, Values


__all__ = ["PairwiseRanker"]

_VOTING_METHODS = ("hard", "soft")
_SCORE_DECIMALS = 12  # of the scores that labels are sorted by
_MAX_NAMED_PAIRS = 6  # pairs, at most, in a message


class PairwiseRanker(Ranker):
    """Ask a classifier about every pair of labels, and count the pairs each label wins.

    For i < j the classifier ĝ_ij learns sgn(σ(i) − σ(j)) from the rows that show both labels and do not tie
    them: incomplete rankings are read as in Algorithm 7, partial ones as in Algorithm 8. With
    ĝ_ji = −ĝ_ij, the score of a label is ŝ(x; i) = 1 + Σ_{j≠i} 1{ĝ_ij(x) = −1} (Algorithm 6): how many labels
    it beats, plus one. So the largest score comes first.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        Cloned, one for each pair; by default logistic regression on standardised features.
    voting : {"hard", "soft"}
        Soft votes count Pr[ĝ_ij(x) = −1] in place of the indicator: the classifier must know probabilities.
    random_state : int, RandomState or None
        Labels with the same score are put into one random order of the labels, drawn by this seed when
        fitted: so the prediction for a row does not depend on the rows beside it.

    Attributes
    ----------
    seen_together_ : float64 array, shape (k, k)
        φ̂_ij: the share of rows that show both i and j; on the diagonal, of those that show i.
    told_apart_ : float64 array, shape (k, k)
        ξ̂_ij: of the rows that show both, the share in which i and j are not tied; 0 on the diagonal.
    ties_ : float64 array, shape (k, k)
        1 − ξ̂_ij.
    transitivity_rate_ : float
        The share of training rows on which the hard votes of all pairs agree with one ranking.
    estimators_ : list
        For each pair, in the order (0, 1), (0, 2), …, the classifier; or −1 or 1 where all rows agreed.
    n_labels_, n_features_in_ : int
        k and d.

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
        """Train one classifier for each pair.

        Parameters
        ----------
        X : array-like, shape (n, d)
            Features.
        y : array-like, shape (n, k)
            Rankings; labels may be missing (NaN) or tied.
        sample_weight : array-like, shape (n,), optional
            Passed on, divided by their mean over all rows that count, where the classifier takes weights.
            Rows of weight 0 are left out; else the shares reported do not count weights.

        Returns
        -------
        PairwiseRanker
            Itself.

        Raises
        ------
        TableError
            If the rankings are none, or some pair of labels is never shown untied.
        OptionError
            If the voting is unknown, or the classifier knows no probabilities or weights that are asked for.
        """
        model = _make_default_classifier() if self.estimator is None else self.estimator
        check_estimator(model, "classifier")
        if self.voting not in _VOTING_METHODS:
            raise OptionError(f"voting is {self.voting!r}{suggest(str(self.voting), _VOTING_METHODS)}")
        if self.voting == "soft" and not hasattr(model, "predict_proba"):
            raise OptionError(
                f"voting='soft' needs probabilities, and {type(model).__name__} has no predict_proba: take "
                "voting='hard', or another classifier"
            )
        learned = prepare_training_data(self, X, y, sample_weight)
        signs = compute_pair_signs(learned.ranks)
        self._check_pair_coverage(learned.ranks, signs)
        extra = build_weight_params(model, sample_weight, learned.weights)
        self.estimators_: list[Any] = []
        for sign in signs.T:  # the training sets D_ij of Algorithms 7 and 8
            told = np.flatnonzero(sign)
            chosen = {name: values[told] for name, values in extra.items()}
            one_sided = sign[told].min() == sign[told].max()
            self.estimators_.append(
                int(sign[told[0]])
                if one_sided
                else clone(model).fit(learned.rows[told], sign[told], **chosen)
            )
        seed = draw_seeds(self.random_state, 1)[0]
        self.tie_order_ = np.random.default_rng(seed).permutation(self.n_labels_)
        self.transitivity_rate_ = _compute_acyclic_share(
            self._compute_scores(self._compute_votes(learned.rows, "hard"))
        )
        return self

    def decision_function(self, X: Any) -> Values:  # noqa: N803
        """Count the labels that each label beats.

        Parameters
        ----------
        X : array-like, shape (m, d)
            Features.

        Returns
        -------
        float64 array, shape (m, k)
            ŝ(x; i), from 1 to k: what is largest is preferred.
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
            Ranks 1 to k; labels with the same score stand in the order drawn by the seed.
        """
        scores = np.round(self.decision_function(X), _SCORE_DECIMALS)[:, self.tie_order_]
        order = self.tie_order_[np.argsort(-scores, axis=1, kind="stable")]
        return np.argsort(order, axis=1).astype(np.float64) + 1.0

    def compute_transitivity_rate(self, X: Any) -> float:  # noqa: N803
        """Compute the share of rows on which the hard votes contain no cycle.

        Parameters
        ----------
        X : array-like, shape (m, d)
            Features.

        Returns
        -------
        float
            From 0 to 1. A tournament has no cycle exactly where its scores are 1, 2, …, k in some order.
        """
        return _compute_acyclic_share(self._compute_scores(self._compute_votes(self._check_rows(X), "hard")))

    def _check_pair_coverage(self, ranks: Ranks, signs: NDArray[np.int8]) -> None:
        """Count how often pairs are seen, and refuse those that never are."""
        k = ranks.shape[1]
        first, second = list_label_pairs(k)
        together = mask_ranked_pairs(ranks).sum(axis=0)
        apart = (signs != 0).sum(axis=0)
        never = np.flatnonzero(apart == 0)
        if len(never):
            named = ", ".join(f"({first[pair]}, {second[pair]})" for pair in never[:_MAX_NAMED_PAIRS])
            raise DataError(
                f"no row orders the labels of {len(never)} of {len(first)} pairs: {named}"
                f"{', …' if len(never) > _MAX_NAMED_PAIRS else ''}, so that nothing can be learnt about "
                "them: leave "
                "out labels until every two are ordered in some row, or take RankingEnsemble, which compares "
                "labels through others"
            )
        self.pair_coverage_ = np.diag((~np.isnan(ranks)).mean(axis=0))
        self.strict_order_rate_ = np.zeros((k, k))
        self.pair_coverage_[first, second] = self.pair_coverage_[second, first] = together / len(ranks)
        self.strict_order_rate_[first, second] = self.strict_order_rate_[second, first] = apart / together
        self.tie_rate_ = 1.0 - self.strict_order_rate_

    def _compute_votes(self, rows: Values, voting: str) -> Values:
        """Give Pr[ĝ_ij = −1], or its indicator, shape (m, pairs): that i is preferred to j."""
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
        first, second = list_label_pairs(self.n_labels_)
        scores = np.ones((len(votes), self.n_labels_))
        for pair in range(len(first)):
            scores[:, first[pair]] += votes[:, pair]
            scores[:, second[pair]] += 1.0 - votes[:, pair]  # g_ji = −g_ij
        return scores


def _compute_acyclic_share(scores: Values) -> float:
    return float((np.sort(scores, axis=1) == np.arange(1.0, scores.shape[1] + 1.0)).all(axis=1).mean())


def _make_default_classifier() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
