"""Label ranking by the positions of labels: regressors, trees and honest forests (Fotakis et al.).

`LabelwiseRegressor` predicts the position of each label by any regressor. The trees and forests are those of
Algorithms 3 to 5, 9 and 10: an honest tree is grown on one half of the rows, and its leaf values are the
means of the other half. Trees are grown by Breiman's criterion, cell by cell, or by level splits, which
split all cells of a level in the same direction.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import has_fit_parameter

from symscreen._parameters import POSITIVE_INTEGER
from symscreen.errors import OptionError
from symscreen.label_ranking.base import (
    Ranker,
    draw_seeds,
    normalize_weights,
    prepare_training_data,
)
from symscreen.label_ranking.consensus.median import rank_by_position
from symscreen.statistics.level_splits import (
    compute_honest_values,
    grow_level_tree,
    predict_level_tree,
    split_rows_in_half,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from numpy.typing import ArrayLike

    from symscreen._parameters import Constraints
    from symscreen._typing import Ranks, Values

    PositionTree = Callable[[Values], Values]


@dataclass(eq=False, repr=False)
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

    estimator: Any = None
    _: KW_ONLY
    multi_output: bool = False

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


def grow_breiman_position_tree(
    rows: Values, y: Values, rng: np.random.Generator, max_depth: int | None, min_leaf: int, *, honest: bool
) -> PositionTree:
    """Grow a tree by Breiman's criterion, cell by cell (Fotakis et al., Algorithm 10).

    Parameters
    ----------
    rows : float64 array, shape (n, d)
        Features.
    y : float64 array, shape (n,)
        Positions of the label.
    rng : numpy Generator
        Random generator for the halves and for ties between directions.
    honest : bool
        Grow the tree on one half of the rows and compute the leaf values from the other half.
    max_depth : int, optional
        Maximum depth.
    min_leaf : int
        Minimum number of growing rows per leaf.

    Returns
    -------
    callable
        Maps features, shape (m, d), to predicted positions, shape (m,).

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0]])
    >>> options = {"honest": False, "max_depth": None, "min_leaf": 1}
    >>> grow_breiman_position_tree(rows, np.array([0.5, 1.0]), np.random.default_rng(0),
    ...     **options)(rows).tolist()
    [0.5, 1.0]
    """
    from sklearn.tree import DecisionTreeRegressor

    seed = int(rng.integers(2**31 - 1))
    tree = DecisionTreeRegressor(max_depth=max_depth, min_samples_leaf=min_leaf, random_state=seed)
    if not honest:
        return tree.fit(rows, y).predict  # type: ignore[no-any-return]
    growing_rows, value_rows = split_rows_in_half(len(rows), rng)
    tree.fit(rows[growing_rows], y[growing_rows])  # the decrease of the squared error is the gain of eq. (12)
    values = compute_honest_values(tree, rows[value_rows], y[value_rows])
    return partial(_predict_values, tree, values)


def grow_level_position_tree(
    rows: Values, y: Values, rng: np.random.Generator, max_depth: int | None, min_leaf: int, *, honest: bool
) -> PositionTree:
    """Grow a tree by level splits, all cells in the same direction (Fotakis et al., Algorithm 9).

    Parameters
    ----------
    rows, y, rng, honest, max_depth
        See `grow_breiman_position_tree`. Only the halves are random.
    min_leaf : int
        A cell is split only if both parts contain at least this number of rows of the half that determines
        the values.

    Returns
    -------
    callable
        Maps features, shape (m, d), to predicted positions, shape (m,).

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0]])
    >>> options = {"honest": False, "max_depth": None, "min_leaf": 1}
    >>> grow_level_position_tree(rows, np.array([0.5, 1.0]), np.random.default_rng(0),
    ...     **options)(rows).tolist()
    [0.5, 1.0]
    """
    direction_rows, value_rows = split_rows_in_half(len(rows), rng) if honest else (np.arange(len(rows)),) * 2
    tree = grow_level_tree(
        rows[direction_rows],
        y[direction_rows],
        rows[value_rows],
        y[value_rows],
        max_levels=max_depth,
        min_leaf=min_leaf,
    )
    return partial(predict_level_tree, tree)


def _predict_values(tree: Any, values: Values, rows: Values) -> Values:
    """Return the value of the leaf of each row, shape (m,)."""
    return np.asarray(values[tree.apply(rows)])


@dataclass(eq=False, repr=False, kw_only=True)
class _PositionRanker(Ranker):
    """Base class: average the position trees of each label and sort the labels."""

    honest: bool = False
    max_depth: int | None = None
    min_samples_leaf: int = 1
    random_state: int | np.random.RandomState | None = 0

    _parameter_constraints: ClassVar[Constraints] = {
        "max_depth": (POSITIVE_INTEGER, None),
        "min_samples_leaf": (POSITIVE_INTEGER,),
    }

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
        total = np.zeros((len(rows), self.n_labels_))
        for trees in self.trees_:
            total += np.column_stack([tree(rows) for tree in trees])
        return total / len(self.trees_)

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

    def _grow(self, X: Any, y: ArrayLike, base: str, n_trees: int, sample_share: float | None) -> Self:  # noqa: N803
        """Grow `n_trees` trees for each label, each on a sample of the rows."""
        self._validate_params()
        data = prepare_training_data(self, X, y, complete=True)
        targets = compute_canonical_positions(data.ranks)
        n = len(targets)
        grow = grow_breiman_position_tree if base == "breiman" else grow_level_position_tree
        size = n if sample_share is None else _compute_sample_size(sample_share, n)
        limits = (self.max_depth, self.min_samples_leaf)
        self.trees_: list[list[PositionTree]] = []
        for seed in draw_seeds(self.random_state, n_trees):
            rng = np.random.default_rng(seed)
            sample = np.arange(n) if size == n else np.sort(rng.choice(n, size, replace=False))
            rows = data.rows[sample]
            self.trees_.append(
                [grow(rows, target, rng, *limits, honest=self.honest) for target in targets[sample].T]
            )
        return self


@dataclass(eq=False, repr=False, kw_only=True)
class BreimanTree(_PositionRanker):
    """One tree for the position of each label, grown by Breiman's criterion (Algorithms 4, 5 and 10).

    Parameters
    ----------
    honest : bool
        Grow each tree on a random half of the rows and compute its leaf values from the other half. A cell
        with at most one row of the second half is not split. A cell without such rows has the value of its
        parent. By default all rows determine both, as in Algorithms 4 and 5 (h = 0).
    max_depth : int, optional
        Maximum depth (log t in the paper). By default trees are fully grown.
    min_samples_leaf : int
        Minimum number of growing rows per leaf.
    random_state : int, RandomState or None
        Random state of ties between features and, if `honest` is True, of the halves.

    Attributes
    ----------
    trees_ : list of one list of k callables
        Trees that map features to the canonical position σ(i)/k of a label.
    n_labels_, n_features_in_ : int
        Numbers of labels k and of features d.

    Notes
    -----
    Rankings must be complete and without ties. The features of the paper are binary; thresholds on numeric
    features are an extension.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0]], [[1, 2, 3], [2, 1, 3], [3, 2, 1]]
    >>> BreimanTree().fit(X, y).predict([[0.1], [1.9]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]
    """

    def fit(self, X: Any, y: ArrayLike) -> Self:  # noqa: N803
        """Grow the trees.

        Parameters
        ----------
        X : array-like, shape (n, d)
            Features.
        y : array-like, shape (n, k)
            Complete rankings without ties.

        Returns
        -------
        BreimanTree
            The fitted estimator.

        Raises
        ------
        DataError
            If the rankings are invalid, incomplete or tied.
        OptionError
            If a depth or a size is not positive.
        """
        return self._grow(X, y, "breiman", 1, None)


@dataclass(eq=False, repr=False, kw_only=True)
class LevelSplitsTree(_PositionRanker):
    """One tree for the position of each label, grown by level splits (Algorithms 3, 5 and 9).

    Parameters
    ----------
    honest : bool
        Select the directions on a random half of the rows; split the cells and compute their values with the
        other half. By default all rows determine both, as in Algorithms 3 and 5 (h = 0).
    max_depth : int, optional
        Maximum number of levels (log t in the paper). By default levels are added until the rows that select
        directions have a single position in every cell, or no cell can be split.
    min_samples_leaf : int
        A cell is split only if both parts contain at least this number of rows of the half that determines
        the values.
    random_state : int, RandomState or None
        Random state of the halves; it has no effect if `honest` is False.

    Attributes
    ----------
    trees_ : list of one list of k callables
        Trees that map features to the canonical position σ(i)/k of a label.
    n_labels_, n_features_in_ : int
        Numbers of labels k and of features d.

    Notes
    -----
    Rankings must be complete and without ties. The features of the paper are binary, and a direction is a
    feature. For numeric features, an extension, a direction is a feature with a threshold. Among equally good
    directions the feature with the smallest index and its lowest threshold are selected.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0]], [[1, 2, 3], [2, 1, 3], [3, 2, 1]]
    >>> LevelSplitsTree().fit(X, y).predict([[0.1], [1.9]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]
    """

    def fit(self, X: Any, y: ArrayLike) -> Self:  # noqa: N803
        """Grow the trees.

        Parameters
        ----------
        X : array-like, shape (n, d)
            Features.
        y : array-like, shape (n, k)
            Complete rankings without ties.

        Returns
        -------
        LevelSplitsTree
            The fitted estimator.

        Raises
        ------
        DataError
            If the rankings are invalid, incomplete or tied.
        OptionError
            If a depth or a size is not positive.
        """
        return self._grow(X, y, "level", 1, None)


@dataclass(eq=False, repr=False)
class HonestForest(_PositionRanker):
    """Average of fully grown honest trees on subsamples (Fotakis et al., Theorems A.5 and A.6).

    Parameters
    ----------
    base : {"breiman", "level"}
        Type of the trees: those of `BreimanTree` or of `LevelSplitsTree`.
    n_estimators : int
        Number of trees per label.
    subsample : float or int
        Number s of the rows drawn without replacement for each tree, or their share in (0, 1].
    honest : bool
        If False, the same rows determine the splits and the values of a tree. By default the trees are
        honest, as in Theorems A.5 and A.6 (h = 1).
    max_depth : int, optional
        Maximum depth. By default trees are fully grown.
    min_samples_leaf : int
        See `BreimanTree` and `LevelSplitsTree`.
    random_state : int, RandomState or None
        Random state of subsamples and halves.

    Attributes
    ----------
    trees_ : list of n_estimators lists of k callables
        Trees that map features to the canonical position σ(i)/k of a label. The k trees of a list have the
        same subsample of rows and different halves.
    n_labels_, n_features_in_ : int
        Numbers of labels k and of features d.

    Examples
    --------
    >>> X = np.linspace(0.0, 1.0, 40)[:, None]
    >>> y = np.where(X < 0.5, [1, 2, 3], [3, 2, 1])
    >>> HonestForest(n_estimators=20).fit(X, y).predict([[0.1], [0.9]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]
    """

    base: str = "breiman"
    _: KW_ONLY
    honest: bool = True
    n_estimators: int = 100
    subsample: float = 0.5

    _parameter_constraints: ClassVar[Constraints] = {
        "base": (StrOptions({"breiman", "level"}),),
        "n_estimators": (POSITIVE_INTEGER,),
    }

    def fit(self, X: Any, y: ArrayLike) -> Self:  # noqa: N803
        """Grow the trees.

        Parameters
        ----------
        X : array-like, shape (n, d)
            Features.
        y : array-like, shape (n, k)
            Complete rankings without ties.

        Returns
        -------
        HonestForest
            The fitted estimator.

        Raises
        ------
        DataError
            If the rankings are invalid, incomplete or tied.
        OptionError
            If the base is unknown, or a number, depth or size is not positive.
        """
        self._validate_params()
        return self._grow(X, y, self.base, self.n_estimators, self.subsample)


def _compute_sample_size(sample_share: Any, n: int) -> int:
    """Convert `subsample` to a number of rows."""
    is_integer = isinstance(sample_share, int | np.integer) and not isinstance(sample_share, bool)
    if is_integer and 1 <= sample_share <= n:
        return int(sample_share)
    if isinstance(sample_share, float) and 0.0 < sample_share <= 1.0:
        return max(1, round(sample_share * n))
    raise OptionError(
        f"subsample is {sample_share!r}: give a share of the rows in (0, 1], such as 0.5, or an integer "
        f"number of rows from 1 to {n}"
    )
