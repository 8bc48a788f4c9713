"""The models that `RankingEnsemble` blends: each predicts the expected position of every label.

Families differ in what they can see. Trees find thresholds and interactions of few features; linear scores
what is smooth and global, on features as they are, with their squares (the log-odds of Gaussian classes),
bent each on its own (splines) or multiplied in pairs; scores on Gaussian kernels what is smooth and local. A
family of scores is a path: the same model at several penalties.

The default learner of rankings: trees and linear scores of many kinds, blended by cross-validation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import DataError, OptionError
from symscreen.label_ranking.base import (
    Ranker,
    TrainingData,
    draw_seeds,
    normalize_weights,
    prepare_training_data,
)
from symscreen.label_ranking.consensus.median import rank_by_position
from symscreen.label_ranking.learners.bradley_terry import (
    check_labels_ordered,
    compute_expected_positions,
    fit_scores,
)
from symscreen.label_ranking.learners.consensus_tree import is_integer
from symscreen.targets.ranking_ranks import compute_pair_signs, list_label_pairs, mask_ranked_pairs

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from numpy.typing import ArrayLike

    from symscreen._typing import Ranks, Values

    Predictor = Callable[[Values], list[Values]]

__all__ = ["ModelFamily", "RankingEnsemble", "build_model_families", "impute_positions"]

_MAX_ITER = 200  # of L-BFGS, for each penalty
_MAX_LANDMARKS = 300  # of the Gaussian kernels
_MIN_BOOSTING_ROWS = 1000  # rows from which boosting is worth its cost
_MAX_PRODUCT_FEATURES = 24  # features up to which products of pairs are tried
_MAX_UNSAMPLED_FEATURES = 6  # features up to which a tree looks at all of them
_IMPUTATION_PENALTY = 1e-2  # the penalty of the scores that complete incomplete rankings


@dataclass(frozen=True)
class ModelFamily:
    """Models that are fitted together.

    Parameters
    ----------
    names : tuple of str
        Of the models, in the order of what the fitted family predicts.
    fit : callable
        (learned, completed positions of shape (n, k), seed) to a function from rows of shape (m, d) to one
        array of expected positions, shape (m, k), for each model.
    """

    names: tuple[str, ...]
    fit: Callable[[TrainingData, Values, int], Predictor]


def build_model_families(n_rows: int, n_features: int, n_estimators: int) -> list[ModelFamily]:
    """List the families for a table.

    Parameters
    ----------
    n, d : int
        Rows and features.
    n_estimators : int
        Trees of the largest forest; the other two have half as many.

    Returns
    -------
    list of Family
        Boosting from 1000 rows on, products of features for at most 24 of them.

    Examples
    --------
    >>> [family.names[0] for family in build_model_families(100, 4, 200)][:4]
    ['extra trees', 'extra trees, leaves of 3', 'random forest', 'linear, 0.01']
    """
    half = max(1, n_estimators // 2)
    found = [
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
        found.append(ModelFamily(("boosting",), _fit_boosting))
    found.append(_build_score_family("linear", (1e-2, 1e-3, 1e-4, 1e-6), _make_linear_basis))
    found.append(_build_score_family("squares", (1e-3, 1e-5, 1e-6), _make_squares_basis))
    found.append(_build_score_family("splines", (1e-2, 1e-3, 1e-4, 1e-5), _make_spline_basis))
    if n_features <= _MAX_PRODUCT_FEATURES:
        found.append(_build_score_family("products", (1e-2, 1e-3, 1e-4, 1e-6), _make_products_basis))
    for width in (0.3, 1.0, 3.0):
        path = (1e-3, 1e-4, 1e-5, 1e-6)
        found.append(
            _build_score_family(f"kernel of {width:g}/d", path, _bind_kernel_basis(width / n_features))
        )
    return found


def impute_positions(data: TrainingData) -> Values:
    """Estimate the position of every label where rankings are incomplete.

    Parameters
    ----------
    learned : Learned
        Rows and rankings.

    Returns
    -------
    float64 array, shape (n, k)
        1 + Σ_{j≠i} of: whether j is preferred to i (½ for ties) where the row shows both; else Pr[j ≻ i | x]
        by linear scores fitted to the pairs that are shown. Complete rankings come back as they are.

    Examples
    --------
    >>> from symscreen.label_ranking.base import TrainingData
    >>> learned = TrainingData(np.zeros((3, 1)), np.array([[1.0, 2.0], [1.0, 2.0], [1.0, np.nan]]),
    ...     np.ones(3))
    >>> positions = impute_positions(learned)
    >>> positions[:2].tolist(), bool(positions[2, 0] < 1.1)
    ([[1.0, 2.0], [1.0, 2.0]], True)
    """
    ranks = data.ranks
    if not np.isnan(ranks).any():
        return ranks
    basis = _make_linear_basis(len(ranks), 0)
    shown = basis.fit_transform(data.rows)
    scores = shown @ fit_scores(shown, ranks, data.weights, alpha=_IMPUTATION_PENALTY, max_iter=_MAX_ITER)
    first, second = list_label_pairs(ranks.shape[1])
    told = 0.5 + 0.5 * compute_pair_signs(ranks)  # that the second is preferred
    guessed = 1.0 / (1.0 + np.exp(np.clip(scores[:, first] - scores[:, second], -500.0, 500.0)))
    behind = np.where(mask_ranked_pairs(ranks), told, guessed)
    positions = np.ones(ranks.shape)
    for pair in range(len(first)):
        positions[:, first[pair]] += behind[:, pair]
        positions[:, second[pair]] += 1.0 - behind[:, pair]
    return positions


def _build_forest_family(name: str, class_name: str, n_estimators: int, **options: Any) -> ModelFamily:
    """Grow one forest on the positions of all labels at once."""

    def fit(data: TrainingData, positions: Values, seed: int) -> Predictor:
        import sklearn.ensemble

        forest = getattr(sklearn.ensemble, class_name)(n_estimators, random_state=seed, **options)
        forest.fit(data.rows, _squeeze_single_label(positions), sample_weight=data.weights)
        return partial(_predict_forest, forest, positions.shape[1])

    return ModelFamily((name,), fit)


def _fit_boosting(data: TrainingData, positions: Values, seed: int) -> Predictor:
    from sklearn.ensemble import HistGradientBoostingRegressor

    models = [
        HistGradientBoostingRegressor(random_state=seed, early_stopping=False).fit(
            data.rows, target, sample_weight=data.weights
        )
        for target in positions.T
    ]
    return partial(_predict_boosting, models)


def _build_score_family(
    name: str, penalties: tuple[float, ...], make_basis: Callable[[int, int], Any]
) -> ModelFamily:
    """Fit linear scores on a basis at each penalty, each fit starting where the last one ended."""

    def fit(data: TrainingData, positions: Values, seed: int) -> Predictor:  # noqa: ARG001  # pairs say more
        basis = make_basis(len(data.rows), seed)
        shown = basis.fit_transform(data.rows)
        fitted: list[Values] = []
        for alpha in penalties:
            start = fitted[-1] if fitted else None
            fitted.append(
                fit_scores(shown, data.ranks, data.weights, alpha=alpha, max_iter=_MAX_ITER, start=start)
            )
        return partial(_predict_scores, basis, fitted)

    return ModelFamily(tuple(f"{name}, {alpha:g}" for alpha in penalties), fit)


def _predict_forest(forest: Any, n_labels: int, rows: Values) -> list[Values]:
    return [np.asarray(forest.predict(rows), dtype=np.float64).reshape(-1, n_labels)]


def _predict_boosting(models: list[Any], rows: Values) -> list[Values]:
    return [np.column_stack([model.predict(rows) for model in models])]


def _predict_scores(basis: Any, coefficients: list[Values], rows: Values) -> list[Values]:
    shown = basis.transform(rows)
    return [compute_expected_positions(shown @ one) for one in coefficients]


def _squeeze_single_label(positions: Values) -> Values:
    return positions if positions.shape[1] > 1 else positions[:, 0]


def _make_linear_basis(n_rows: int, seed: int) -> Any:  # noqa: ARG001  # kernels need them
    return _build_basis_pipeline()


def _make_squares_basis(n_rows: int, seed: int) -> Any:  # noqa: ARG001  # kernels need them
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    return _build_basis_pipeline(FunctionTransformer(_append_squares), StandardScaler())


def _make_spline_basis(n_rows: int, seed: int) -> Any:  # noqa: ARG001  # kernels need them
    from sklearn.preprocessing import SplineTransformer, StandardScaler

    return _build_basis_pipeline(SplineTransformer(6, knots="quantile", include_bias=False), StandardScaler())


def _make_products_basis(n_rows: int, seed: int) -> Any:  # noqa: ARG001  # kernels need them
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    return _build_basis_pipeline(PolynomialFeatures(2, include_bias=False), StandardScaler())


def _bind_kernel_basis(gamma: float) -> Callable[[int, int], Any]:
    """Give Gaussian kernels to a sample of the rows, made orthonormal (Nyström)."""
    return partial(_make_kernel_basis, gamma)


def _make_kernel_basis(gamma: float, n_rows: int, seed: int) -> Any:
    from sklearn.kernel_approximation import Nystroem

    count = min(_MAX_LANDMARKS, n_rows)
    return _build_basis_pipeline(Nystroem(gamma=gamma, n_components=count, random_state=seed))


def _build_basis_pipeline(*steps: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    return make_pipeline(StandardScaler(), *steps, FunctionTransformer(_prepend_constant))


def _append_squares(rows: Values) -> Values:
    return np.hstack([rows, rows * rows])


def _prepend_constant(rows: Values) -> Values:
    return np.column_stack([np.ones(len(rows)), rows])


_MIN_BLEND_ROWS = 10  # rows; of fewer, every model counts alike
_MIN_LARGE_ROWS = 5000  # rows from which three folds are enough
_MIN_BLEND_SHARE = 1e-6  # of all weight: models with less are left out


class RankingEnsemble(Ranker):
    """Blend forests, boosting and linear scores on several bases; no option need be tuned.

    Every model predicts the expected position of each label, 1 + Σ_{j≠i} Pr[j ≻ i | x], which is also Borda's
    score of soft pairwise votes. Weights ≥ 0 of the models are found by least squares between the blend of
    what they predict for rows held out in an inner cross-validation and the rankings of these rows (Breiman
    1996, Stacked regressions). Labels are sorted by the blend.

    Parameters
    ----------
    n_estimators : int
        Trees of the largest forest; two more have half as many.
    inner_folds : int, optional
        By default 5, and 3 from 5000 rows on. Of fewer than 10 rows all models count alike.
    random_state : int, RandomState or None
        Draws folds, trees and the landmarks of kernels.

    Attributes
    ----------
    weights_ : dict of str to float
        The share of each model in the blend, largest first; models that are not named have none.
    n_labels_, n_features_in_ : int
        k and d.

    Notes
    -----
    Linear scores read incomplete and partial rankings as they are. For the other models the positions of
    labels that are missing are estimated by linear scores.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> ranker = RankingEnsemble(n_estimators=10).fit(X, -X)  # the largest feature is preferred
    >>> ranker.predict([[3.0, 2.0, -1.0], [-1.0, 2.0, 0.5]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]
    """

    def __init__(
        self,
        *,
        n_estimators: int = 200,
        inner_folds: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.inner_folds = inner_folds
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:  # noqa: N803
        """Fit and weigh the models.

        Parameters
        ----------
        X : array-like, shape (n, d)
            Features.
        y : array-like, shape (n, k)
            Rankings; labels may be missing (NaN) or tied.
        sample_weight : array-like, shape (n,), optional
            ≥ 0, one a row; only their ratios count. Rows of weight 0 are left out.

        Returns
        -------
        RankingEnsemble
            Itself.

        Raises
        ------
        TableError
            If the rankings are none, some label is ordered against no other in any row, or there is one row.
        OptionError
            If the number of trees or folds makes no sense.
        """
        if not is_integer(self.n_estimators) or self.n_estimators < 1:
            raise OptionError(f"n_estimators is {self.n_estimators!r}: give a whole number of at least 1")
        learned = prepare_training_data(self, X, y, sample_weight)
        if len(learned.rows) < 2:
            raise DataError(
                "RankingEnsemble cannot learn from 1 sample: give at least two rows of weight above 0"
            )
        check_labels_ordered(learned.ranks)
        learned = learned._replace(weights=normalize_weights(learned.weights))
        n, d = learned.rows.shape
        known = build_model_families(n, d, self.n_estimators)
        positions = impute_positions(learned)
        folds = self._choose_n_folds(n)
        seeds = draw_seeds(self.random_state, len(known) + 1)
        shares = [np.full(len(family.names), 1.0) for family in known]
        if folds is not None:
            held_out = _predict_held_out(known, learned, positions, folds, seeds)
            shares = _fit_blend_weights(held_out, positions, learned.weights)
        total = sum(float(share.sum()) for share in shares)
        self._blend: list[tuple[Values, Predictor]] = []
        named: dict[str, float] = {}
        for family, share, seed in zip(known, shares, seeds, strict=False):
            if share.sum() > _MIN_BLEND_SHARE * total:
                self._blend.append((share / total, family.fit(learned, positions, seed)))
                named |= dict(zip(family.names, (share / total).tolist(), strict=True))
        self.weights_ = {
            name: weight
            for name, weight in sorted(named.items(), key=lambda one: -one[1])
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
            About 1 to k: what is smallest is preferred.
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
            Ranks 1 to k; of labels predicted alike the one with the smaller index comes first.
        """
        return rank_by_position(self.decision_function(X))

    def _choose_n_folds(self, n_rows: int) -> int | None:
        wanted = (5 if n_rows < _MIN_LARGE_ROWS else 3) if self.inner_folds is None else self.inner_folds
        if not is_integer(wanted) or wanted < 2:
            raise OptionError(f"inner_folds is {wanted!r}: give a whole number of at least 2, or None")
        return None if n_rows < max(_MIN_BLEND_ROWS, wanted) else wanted


def _predict_held_out(
    families: list[ModelFamily], data: TrainingData, positions: Values, n_folds: int, seeds: list[int]
) -> list[list[Values]]:
    """Let every model predict rows that it has not seen; one list of (n, k) arrays for each family."""
    from sklearn.model_selection import KFold

    predicted = [[np.empty(positions.shape) for _ in family.names] for family in families]
    dealt = KFold(n_folds, shuffle=True, random_state=seeds[-1])
    for seen, unseen in dealt.split(data.rows):
        part = TrainingData(data.rows[seen], data.ranks[seen], data.weights[seen])
        for family, answers, seed in zip(families, predicted, seeds, strict=False):
            predictor = family.fit(part, positions[seen], seed)
            for answer, found in zip(answers, predictor(data.rows[unseen]), strict=True):
                answer[unseen] = found
    return predicted


def _fit_blend_weights(predictions: list[list[Values]], positions: Values, weights: Values) -> list[Values]:
    """Find the weights ≥ 0 of the blend by least squares on positions centred at (k + 1)/2."""
    from scipy.optimize import nnls

    middle = (positions.shape[1] + 1) / 2.0
    scale = np.sqrt(weights)[:, None]
    models = [one for family in predictions for one in family]
    table = np.column_stack([(scale * (one - middle)).ravel() for one in models])
    found, _ = nnls(table, (scale * (positions - middle)).ravel())
    if not found.sum() > 0.0:
        found = np.ones(len(models))
    ends = np.cumsum([len(family) for family in predictions])[:-1]
    return [np.asarray(part) for part in np.split(found, ends)]
