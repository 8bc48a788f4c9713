"""Label ranking by regression on the position of each label (Fotakis et al., section 2.1 and Algorithm 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from symscreen.errors import OptionError
from symscreen.label_ranking.base import Ranker, normalize_weights, prepare_training_data
from symscreen.label_ranking.consensus.median import rank_by_position

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike

    from symscreen._typing import Ranks, Values


__all__ = ["LabelwiseRegressor", "build_weight_params", "check_estimator", "compute_canonical_positions"]


class LabelwiseRegressor(Ranker):
    """Predict the position of each label by regression, and sort.

    The canonical representation m_C(σ)_i = σ(i)/k (eq. 6) of each ranking is learnt, label by label; the
    predicted ranking lists labels in ascending order of what is predicted for them.

    Parameters
    ----------
    estimator : scikit-learn regressor, optional
        Cloned, one for each label; by default a random forest of 100 trees, seeded with 0.
    multi_output : bool
        Fit one model for all labels instead: the estimator must know several outputs.

    Attributes
    ----------
    estimators_ : list of regressors
        One for each label, or one for all.
    n_labels_ : int
        k.
    n_features_in_ : int
        d.

    Notes
    -----
    Rankings must be complete and without ties: in an incomplete one the positions are unknown (Remark 2.3).
    `PairwiseRanker` and `RankingEnsemble` read such rankings.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X, y = [[0.0], [1.0], [2.0]], [[1, 2, 3], [2, 1, 3], [3, 2, 1]]
    >>> LabelwiseRegressor(DecisionTreeRegressor()).fit(X, y).predict([[0.1], [1.9]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]
    """

    def __init__(self, estimator: Any = None, *, multi_output: bool = False) -> None:
        self.estimator = estimator
        self.multi_output = multi_output

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:  # noqa: N803
        """Learn the positions.

        Parameters
        ----------
        X : array-like, shape (n, d)
            Features.
        y : array-like, shape (n, k)
            Complete rankings without ties.
        sample_weight : array-like, shape (n,), optional
            Passed on, divided by their mean, where the estimator takes weights. Rows of weight 0 are left
            out.

        Returns
        -------
        LabelwiseRegressor
            Itself.

        Raises
        ------
        TableError
            If the rankings are none, incomplete or tied.
        OptionError
            If the estimator is none, or takes no weights and some were given.
        """
        model = _make_default_regressor() if self.estimator is None else self.estimator
        check_estimator(model, "regressor")
        learned = prepare_training_data(self, X, y, sample_weight, complete=True)
        extra = build_weight_params(model, sample_weight, learned.weights)
        targets = compute_canonical_positions(learned.ranks)
        if self.multi_output:
            whole = targets if targets.shape[1] > 1 else targets[:, 0]
            self.estimators_ = [clone(model).fit(learned.rows, whole, **extra)]
        else:
            self.estimators_ = [clone(model).fit(learned.rows, target, **extra) for target in targets.T]
        return self

    def decision_function(self, X: Any) -> Values:  # noqa: N803
        """Predict the canonical positions themselves.

        Parameters
        ----------
        X : array-like, shape (m, d)
            Features.

        Returns
        -------
        float64 array, shape (m, k)
            Estimates of σ(i)/k: what is smallest is preferred.
        """
        rows = self._check_rows(X)
        parts = [np.asarray(model.predict(rows), dtype=np.float64) for model in self.estimators_]
        return np.column_stack(parts)

    def predict(self, X: Any) -> Ranks:  # noqa: N803
        """Predict rankings: labels in ascending order of their predicted positions.

        Parameters
        ----------
        X : array-like, shape (m, d)
            Features.

        Returns
        -------
        float64 array, shape (m, k)
            Ranks 1 to k; of labels predicted alike the one with the smaller index comes first.
        """
        return rank_by_position(self.decision_function(X))


def compute_canonical_positions(ranks: Ranks) -> Values:
    """Compute the canonical representation of complete rankings.

    Parameters
    ----------
    ranks : float64 array, shape (n, k)
        Ranks 1 to k.

    Returns
    -------
    float64 array, shape (n, k)
        m_C(σ) = (σ(i)/k)_i (Fotakis et al., eq. 6), in (0, 1].

    Examples
    --------
    >>> compute_canonical_positions(np.array([[1.0, 4.0, 2.0, 3.0]])).tolist()
    [[0.25, 1.0, 0.5, 0.75]]
    """
    return np.asarray(ranks / ranks.shape[1])


def check_estimator(model: Any, estimator_type: str) -> None:
    """Refuse what cannot be fitted.

    Parameters
    ----------
    model : object
        What the user put inside a ranker.
    kind : str
        What is needed.

    Raises
    ------
    OptionError
        If it has no `fit` and `predict`, or is a class.
    """
    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise OptionError(
            f"estimator is {model!r}: give a {estimator_type} of scikit-learn's, made but not fitted, or None"
        )


def build_weight_params(model: Any, sample_weight: ArrayLike | None, weights: Values) -> dict[str, Values]:
    """Say what to pass on to an estimator's `fit` beside rows and targets.

    Parameters
    ----------
    model : scikit-learn estimator
        The estimator inside a ranker.
    given : array-like or None
        What the user gave as weights.
    weights : float64 array, shape (n,)
        The same, checked.

    Returns
    -------
    dict
        Empty where no weights were given; else with these, of mean 1, so that a common factor of them is no
        other penalty to a regularised model.

    Raises
    ------
    OptionError
        If the estimator takes no weights.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> build_weight_params(DecisionTreeRegressor(), None, np.ones(2))
    {}
    """
    if sample_weight is None:
        return {}
    if isinstance(model, Pipeline) and has_fit_parameter(model.steps[-1][1], "sample_weight"):
        return {f"{model.steps[-1][0]}__sample_weight": normalize_weights(weights)}
    if not has_fit_parameter(model, "sample_weight"):
        raise OptionError(
            f"sample_weight was given, but {type(model).__name__} takes none: leave the weights out, or put "
            "an estimator inside that takes them"
        )
    return {"sample_weight": normalize_weights(weights)}


def _make_default_regressor() -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(random_state=0)
