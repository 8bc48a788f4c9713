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


class LabelwiseRegressor(Ranker):
    """Predict the position of each label by regression and sort the labels.

    A regressor is fitted for each label to the canonical representation m_C(σ)_i = σ(i)/k (eq. 6) of the
    rankings. The predicted ranking sorts the labels by their predicted positions in ascending order.

    Parameters
    ----------
    estimator : scikit-learn regressor, optional
        Regressor that is cloned for each label. By default a random forest of 100 trees with seed 0.
    multi_output : bool
        Fit one model for all labels. The regressor must support multiple outputs.

    Attributes
    ----------
    estimators_ : list of regressors
        One per label, or a single one for all labels.
    n_labels_ : int
        Number of labels k.
    n_features_in_ : int
        Number of features d.

    Notes
    -----
    Rankings must be complete and without ties, since the positions in an incomplete ranking are unknown
    (Remark 2.3). `PairwiseRanker` and `RankingEnsemble` support incomplete rankings.

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
        """Fit the regressors.

        Parameters
        ----------
        X : array-like, shape (n, d)
            Features.
        y : array-like, shape (n, k)
            Complete rankings without ties.
        sample_weight : array-like, shape (n,), optional
            Row weights. They are divided by their mean and passed to the regressor. Rows with weight 0 are
            dropped.

        Returns
        -------
        LabelwiseRegressor
            The fitted estimator.

        Raises
        ------
        DataError
            If the rankings are invalid, incomplete or tied.
        OptionError
            If `estimator` is not a regressor, or does not support the weights.
        """
        model = _make_default_regressor() if self.estimator is None else self.estimator
        check_estimator(model, "regressor")
        data = prepare_training_data(self, X, y, sample_weight, complete=True)
        weight_params = build_weight_params(model, sample_weight, data.weights)
        targets = compute_canonical_positions(data.ranks)
        if self.multi_output:
            outputs = targets if targets.shape[1] > 1 else targets[:, 0]
            self.estimators_ = [clone(model).fit(data.rows, outputs, **weight_params)]
        else:
            self.estimators_ = [clone(model).fit(data.rows, target, **weight_params) for target in targets.T]
        return self

    def decision_function(self, X: Any) -> Values:  # noqa: N803
        """Predict the canonical positions.

        Parameters
        ----------
        X : array-like, shape (m, d)
            Features.

        Returns
        -------
        float64 array, shape (m, k)
            Estimates of σ(i)/k; smaller values are preferred.
        """
        rows = self._check_rows(X)
        positions = [np.asarray(model.predict(rows), dtype=np.float64) for model in self.estimators_]
        return np.column_stack(positions)

    def predict(self, X: Any) -> Ranks:  # noqa: N803
        """Predict rankings: labels in ascending order of their predicted positions.

        Parameters
        ----------
        X : array-like, shape (m, d)
            Features.

        Returns
        -------
        float64 array, shape (m, k)
            Ranks 1 to k. Labels with equal predictions are sorted by index.
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
    """Check that an object is a scikit-learn estimator.

    Parameters
    ----------
    model : object
        Inner estimator passed by the user.
    estimator_type : str
        Required type, for the error message.

    Raises
    ------
    OptionError
        If the object has no `fit` and `predict`, or is a class.
    """
    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise OptionError(
            f"estimator is {model!r}: give an instance of a scikit-learn {estimator_type}, or None"
        )


def build_weight_params(model: Any, sample_weight: ArrayLike | None, weights: Values) -> dict[str, Values]:
    """Build the weight arguments for the `fit` method of an inner estimator.

    Parameters
    ----------
    model : scikit-learn estimator
        Inner estimator.
    sample_weight : array-like or None
        Weights passed by the user.
    weights : float64 array, shape (n,)
        Checked weights.

    Returns
    -------
    dict
        Empty without user weights. Otherwise the weights with mean 1, so that a common factor does not change
        the relative penalty of a regularised model.

    Raises
    ------
    OptionError
        If the estimator does not support weights.

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
            f"sample_weight was given, but {type(model).__name__} does not support weights: omit them, "
            "or use another estimator"
        )
    return {"sample_weight": normalize_weights(weights)}


def _make_default_regressor() -> Any:
    """Make the default regressor, a random forest."""
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(random_state=0)
