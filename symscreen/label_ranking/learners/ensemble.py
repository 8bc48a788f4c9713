"""The default learner of rankings: an ensemble of trees and linear scores, weighted by cross-validation.

Each model predicts the expected position of every label. The model families represent different dependences.
Trees find thresholds and interactions of few features. Linear scores represent smooth global dependences on
one of several bases: the features, their squares (the log-odds of Gaussian classes), splines of each feature,
and products of pairs. Scores on Gaussian kernels represent smooth local dependences. A family of scores is a
path: the same model at several penalties. The weights of the models are non-negative and minimise the squared
error of the combined prediction for held-out rows (stacking).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from symscreen._parameters import POSITIVE_INTEGER
from symscreen.errors import DataError
from symscreen.label_ranking.base import (
    Ranker,
    TrainingData,
    draw_seeds,
    normalize_weights,
    prepare_training_data,
)
from symscreen.label_ranking.consensus.median import rank_by_position
from symscreen.label_ranking.learners.pairwise import (
    check_labels_ordered,
    compute_expected_positions,
    fit_scores,
)
from symscreen.targets.ranking_ranks import compute_pair_signs, list_label_pairs, mask_ranked_pairs

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from numpy.typing import ArrayLike

    from symscreen._parameters import Constraints
    from symscreen._typing import Ranks, Values

    Predictor = Callable[[Values], list[Values]]


_MAX_ITER = 200  # maximum number of L-BFGS iterations per penalty
_MAX_LANDMARKS = 300  # maximum number of centers of the Gaussian kernels
_MIN_BOOSTING_ROWS = 1000  # fewest rows for boosting
_MAX_PRODUCT_FEATURES = 24  # most features for products of pairs
_MAX_UNSAMPLED_FEATURES = 6  # most features for which a tree considers all of them
_IMPUTATION_PENALTY = 1e-2  # penalty of the scores that complete incomplete rankings

_MIN_BLEND_ROWS = 10  # number of rows below which all models have the same weight
_MIN_LARGE_ROWS = 5000  # fewest rows for three folds in place of five
_MIN_BLEND_SHARE = 1e-6  # models with a smaller share of the weight are dropped


@dataclass(frozen=True)
class ModelFamily:
    """Models that are fitted together.

    Parameters
    ----------
    names : tuple of str
        Names of the models, in the order of the predictions.
    fit : callable
        Maps (training data, positions of shape (n, k), seed) to a predictor. A predictor maps rows of shape
        (m, d) to a list with one array of expected positions, shape (m, k), per model.
    """

    names: tuple[str, ...]
    fit: Callable[[TrainingData, Values, int], Predictor]


def build_model_families(n_rows: int, n_features: int, n_estimators: int) -> list[ModelFamily]:
    """Build the model families for a table.

    Parameters
    ----------
    n_rows, n_features : int
        Numbers of rows and of features.
    n_estimators : int
        Number of trees of the largest forest; the other two forests have half as many.

    Returns
    -------
    list of ModelFamily
        Includes boosting for at least 1000 rows, and products of features for at most 24 features.

    Examples
    --------
    >>> [family.names[0] for family in build_model_families(100, 4, 200)][:4]
    ['extra trees', 'extra trees, leaves of 3', 'random forest', 'linear, 0.01']
    """
    half = max(1, n_estimators // 2)
    families = [
        _build_forest_family(
            "extra trees",
            "ExtraTreesRegressor",
            n_estimators,
            max_features=1.0 if n_features <= _MAX_UNSAMPLED_FEATURES else 0.5,
        ),
        _build_forest_family("extra trees, leaves of 3", "ExtraTreesRegressor", half, min_samples_leaf=3),
        _build_forest_family("random forest", "RandomForestRegressor", half, max_features=0.5),
    ]
    if n_rows >= _MIN_BOOSTING_ROWS:
        families.append(ModelFamily(("boosting",), _fit_boosting))
    families.append(_build_score_family("linear", (1e-2, 1e-3, 1e-4, 1e-6)))
    families.append(_build_score_family("squares", (1e-3, 1e-5, 1e-6)))
    families.append(_build_score_family("splines", (1e-2, 1e-3, 1e-4, 1e-5)))
    if n_features <= _MAX_PRODUCT_FEATURES:
        families.append(_build_score_family("products", (1e-2, 1e-3, 1e-4, 1e-6)))
    for width in (0.3, 1.0, 3.0):
        penalties = (1e-3, 1e-4, 1e-5, 1e-6)
        families.append(_build_score_family(f"kernel of {width:g}/d", penalties, width / n_features))
    return families


def impute_positions(data: TrainingData) -> Values:
    """Estimate the position of every label in incomplete rankings.

    Parameters
    ----------
    data : TrainingData
        Rows and rankings.

    Returns
    -------
    float64 array, shape (n, k)
        1 + Σ_{j≠i} of the indicator that j is preferred to i (½ for ties) if the row ranks both; otherwise of
        Pr[j ≻ i | x], estimated by linear scores fitted to the observed pairs. Complete rankings are
        unchanged.

    Examples
    --------
    >>> from symscreen.label_ranking.base import TrainingData
    >>> data = TrainingData(np.zeros((3, 1)), np.array([[1.0, 2.0], [1.0, 2.0], [1.0, np.nan]]),
    ...     np.ones(3))
    >>> positions = impute_positions(data)
    >>> positions[:2].tolist(), bool(positions[2, 0] < 1.1)
    ([[1.0, 2.0], [1.0, 2.0]], True)
    """
    ranks = data.ranks
    if not np.isnan(ranks).any():
        return ranks
    basis = _make_basis("linear", len(ranks), 0)
    design = basis.fit_transform(data.rows)
    scores = design @ fit_scores(design, ranks, data.weights, alpha=_IMPUTATION_PENALTY, max_iter=_MAX_ITER)
    first, second = list_label_pairs(ranks.shape[1])
    observed = 0.5 + 0.5 * compute_pair_signs(ranks)  # whether the second label is preferred
    predicted = 1.0 / (1.0 + np.exp(np.clip(scores[:, first] - scores[:, second], -500.0, 500.0)))
    second_preferred = np.where(mask_ranked_pairs(ranks), observed, predicted)
    positions = np.ones(ranks.shape)
    for pair in range(len(first)):
        positions[:, first[pair]] += second_preferred[:, pair]
        positions[:, second[pair]] += 1.0 - second_preferred[:, pair]
    return positions


def _build_forest_family(name: str, class_name: str, n_estimators: int, **options: Any) -> ModelFamily:
    """Build a family of one forest that predicts the positions of all labels."""

    def fit(data: TrainingData, positions: Values, seed: int) -> Predictor:
        import sklearn.ensemble

        forest = getattr(sklearn.ensemble, class_name)(n_estimators, random_state=seed, **options)
        forest.fit(data.rows, _squeeze_single_label(positions), sample_weight=data.weights)
        return partial(_predict_forest, forest, positions.shape[1])

    return ModelFamily((name,), fit)


def _fit_boosting(data: TrainingData, positions: Values, seed: int) -> Predictor:
    """Fit one boosting model per label."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    models = [
        HistGradientBoostingRegressor(random_state=seed, early_stopping=False).fit(
            data.rows, target, sample_weight=data.weights
        )
        for target in positions.T
    ]
    return partial(_predict_boosting, models)


def _build_score_family(name: str, penalties: tuple[float, ...], gamma: float = 1.0) -> ModelFamily:
    """Build a family of linear scores on a basis; each penalty starts from the previous coefficients."""

    def fit(data: TrainingData, positions: Values, seed: int) -> Predictor:  # noqa: ARG001  # scores use the pairs
        basis = _make_basis(name.split(maxsplit=1)[0], len(data.rows), seed, gamma)
        design = basis.fit_transform(data.rows)
        coefficients: list[Values] = []
        for alpha in penalties:
            start = coefficients[-1] if coefficients else None
            coefficients.append(
                fit_scores(design, data.ranks, data.weights, alpha=alpha, max_iter=_MAX_ITER, start=start)
            )
        return partial(_predict_scores, basis, coefficients)

    return ModelFamily(tuple(f"{name}, {alpha:g}" for alpha in penalties), fit)


def _predict_forest(forest: Any, n_labels: int, rows: Values) -> list[Values]:
    """Predict positions with a forest, one (m, k) array."""
    return [np.asarray(forest.predict(rows), dtype=np.float64).reshape(-1, n_labels)]


def _predict_boosting(models: list[Any], rows: Values) -> list[Values]:
    """Predict positions with one boosting model per label, one (m, k) array."""
    return [np.column_stack([model.predict(rows) for model in models])]


def _predict_scores(basis: Any, coefficients: list[Values], rows: Values) -> list[Values]:
    """Predict positions for each penalty, (m, k) arrays."""
    design = basis.transform(rows)
    return [compute_expected_positions(design @ model_coefficients) for model_coefficients in coefficients]


def _squeeze_single_label(positions: Values) -> Values:
    """Convert positions of a single label from shape (n, 1) to (n,)."""
    return positions if positions.shape[1] > 1 else positions[:, 0]


def _make_basis(name: str, n_rows: int, seed: int, gamma: float = 1.0) -> Any:
    """Make a basis: a pipeline that standardises features, expands them and prepends a constant.

    "kernel" is a Nyström basis: Gaussian kernels centred at sampled rows, orthonormalised.
    """
    from sklearn import preprocessing
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    expansions = {
        "linear": None,
        "squares": preprocessing.FunctionTransformer(_append_squares),
        "splines": preprocessing.SplineTransformer(6, knots="quantile", include_bias=False),
        "products": preprocessing.PolynomialFeatures(2, include_bias=False),
        "kernel": Nystroem(gamma=gamma, n_components=min(_MAX_LANDMARKS, n_rows), random_state=seed),
    }
    steps = [] if name == "linear" else [expansions[name]]
    if name in {"squares", "splines", "products"}:
        steps.append(preprocessing.StandardScaler())
    constant = preprocessing.FunctionTransformer(_prepend_constant)
    return make_pipeline(preprocessing.StandardScaler(), *steps, constant)


def _append_squares(rows: Values) -> Values:
    """Append the squares of the columns, shape (n, 2d)."""
    return np.hstack([rows, rows * rows])


def _prepend_constant(rows: Values) -> Values:
    """Prepend a column of ones."""
    return np.column_stack([np.ones(len(rows)), rows])


@dataclass(eq=False, repr=False, kw_only=True)
class RankingEnsemble(Ranker):
    """Weighted ensemble of forests, boosting and linear scores on several bases; needs no tuning.

    Every model predicts the expected position of each label, 1 + Σ_{j≠i} Pr[j ≻ i | x], which is also the
    Borda score of soft pairwise votes. Non-negative weights of the models are found by least squares between
    the weighted mean of their predictions for held-out rows in an inner cross-validation and the rankings of
    these rows (Breiman 1996, Stacked regressions). Labels are sorted by the weighted mean.

    Parameters
    ----------
    n_estimators : int
        Number of trees of the largest forest; two more forests have half as many.
    inner_folds : int, optional
        Number of folds, at least 2. By default 5, and 3 for at least 5000 rows. With fewer than 10 rows all
        models have the same weight.
    random_state : int, RandomState or None
        Random state of folds, trees and kernel centers.

    Attributes
    ----------
    weights_ : dict of str to float
        Share of each model in descending order; models with weight 0 are omitted.
    n_labels_, n_features_in_ : int
        Numbers of labels k and of features d.

    Notes
    -----
    Linear scores support incomplete and partial rankings directly. For the other models the positions of
    missing labels are estimated by linear scores.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> ranker = RankingEnsemble(n_estimators=10).fit(X, -X)  # the largest feature is preferred
    >>> ranker.predict([[3.0, 2.0, -1.0], [-1.0, 2.0, 0.5]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]
    """

    n_estimators: int = 200
    inner_folds: int | None = None
    random_state: int | np.random.RandomState | None = 0

    _parameter_constraints: ClassVar[Constraints] = {
        "n_estimators": (POSITIVE_INTEGER,),
        "inner_folds": (Interval(Integral, 2, None, closed="left"), None),
    }

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:  # noqa: N803
        """Fit the models and their weights.

        Parameters
        ----------
        X : array-like, shape (n, d)
            Features.
        y : array-like, shape (n, k)
            Rankings; labels may be missing (NaN) or tied.
        sample_weight : array-like, shape (n,), optional
            Non-negative row weights; only their ratios matter. Rows with weight 0 are dropped.

        Returns
        -------
        RankingEnsemble
            The fitted estimator.

        Raises
        ------
        DataError
            If the rankings are invalid, a label is not ordered against any other label in any row, or there
            is only one row.
        OptionError
            If the number of trees or folds is invalid.
        """
        self._validate_params()
        data = prepare_training_data(self, X, y, sample_weight)
        if len(data.rows) < 2:
            raise DataError(
                "RankingEnsemble cannot learn from 1 sample: give at least two rows of weight above 0"
            )
        check_labels_ordered(data.ranks)
        data = data._replace(weights=normalize_weights(data.weights))
        n, d = data.rows.shape
        families = build_model_families(n, d, self.n_estimators)
        positions = impute_positions(data)
        n_folds = self._choose_n_folds(n)
        seeds = draw_seeds(self.random_state, len(families) + 1)
        shares = [np.full(len(family.names), 1.0) for family in families]
        if n_folds is not None:
            held_out = _predict_held_out(families, data, positions, n_folds, seeds)
            shares = _fit_blend_weights(held_out, positions, data.weights)
        total = sum(float(share.sum()) for share in shares)
        self._blend: list[tuple[Values, Predictor]] = []
        model_shares: dict[str, float] = {}
        for family, share, seed in zip(families, shares, seeds, strict=False):
            if share.sum() > _MIN_BLEND_SHARE * total:
                self._blend.append((share / total, family.fit(data, positions, seed)))
                model_shares |= dict(zip(family.names, (share / total).tolist(), strict=True))
        self.weights_ = {
            name: weight
            for name, weight in sorted(model_shares.items(), key=lambda item: -item[1])
            if weight > _MIN_BLEND_SHARE
        }
        return self

    def decision_function(self, X: Any) -> Values:  # noqa: N803
        """Predict expected positions.

        Parameters
        ----------
        X : array-like, shape (m, d)
            Features.

        Returns
        -------
        float64 array, shape (m, k)
            Approximately 1 to k; smaller values are preferred.
        """
        rows = self._check_rows(X)
        blend = np.zeros((len(rows), self.n_labels_))
        for shares, predictor in self._blend:
            for share, positions in zip(shares, predictor(rows), strict=True):
                blend += share * positions
        return blend

    def predict(self, X: Any) -> Ranks:  # noqa: N803
        """Predict rankings: labels in ascending order of their expected positions.

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

    def _choose_n_folds(self, n_rows: int) -> int | None:
        """Return the number of inner folds; None if there are too few rows."""
        n_folds = (5 if n_rows < _MIN_LARGE_ROWS else 3) if self.inner_folds is None else self.inner_folds
        return None if n_rows < max(_MIN_BLEND_ROWS, n_folds) else n_folds


def _predict_held_out(
    families: list[ModelFamily], data: TrainingData, positions: Values, n_folds: int, seeds: list[int]
) -> list[list[Values]]:
    """Predict held-out rows with every model; one list of (n, k) arrays per family."""
    from sklearn.model_selection import KFold

    predicted = [[np.empty(positions.shape) for _ in family.names] for family in families]
    folds = KFold(n_folds, shuffle=True, random_state=seeds[-1])
    for training_rows, held_out_rows in folds.split(data.rows):
        fold_data = TrainingData(
            data.rows[training_rows], data.ranks[training_rows], data.weights[training_rows]
        )
        for family, family_predictions, seed in zip(families, predicted, seeds, strict=False):
            predictor = family.fit(fold_data, positions[training_rows], seed)
            for prediction, positions_held_out in zip(
                family_predictions, predictor(data.rows[held_out_rows]), strict=True
            ):
                prediction[held_out_rows] = positions_held_out
    return predicted


def _fit_blend_weights(predictions: list[list[Values]], positions: Values, weights: Values) -> list[Values]:
    """Find non-negative weights by least squares on positions centred at (k + 1)/2; one array per family."""
    from scipy.optimize import nnls

    middle = (positions.shape[1] + 1) / 2.0
    scale = np.sqrt(weights)[:, None]
    models = [model for family in predictions for model in family]
    design = np.column_stack([(scale * (model - middle)).ravel() for model in models])
    blend_weights, _ = nnls(design, (scale * (positions - middle)).ravel())
    if not blend_weights.sum() > 0.0:
        blend_weights = np.ones(len(models))
    ends = np.cumsum([len(family) for family in predictions])[:-1]
    return [np.asarray(part) for part in np.split(blend_weights, ends)]
