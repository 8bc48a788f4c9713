"""The models that `RankingEnsemble` blends: each predicts the expected position of every label.

Families differ in what they can see. Trees find thresholds and interactions of few features; linear scores
what is smooth and global, on features as they are, with their squares (the log-odds of Gaussian classes),
bent each on its own (splines) or multiplied in pairs; scores on Gaussian kernels what is smooth and local. A
family of scores is a path: the same model at several penalties.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.label_ranking import pair_places, pair_signs, pairs_shown
from symscreen.ranking.bradley_terry import expected_positions, fit_scores

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from symscreen.ranking.learned import Learned

    Ranks = NDArray[np.float64]
    Values = NDArray[np.float64]
    Predictor = Callable[[Values], list[Values]]

__all__ = ["Family", "completed", "families"]

_STEPS = 200  # of L-BFGS, for each penalty
_LANDMARKS = 300  # of the Gaussian kernels
_BOOSTED = 1000  # rows from which boosting is worth its cost
_MULTIPLIED = 24  # features up to which products of pairs are tried
_FEW = 6  # features up to which a tree looks at all of them
_COMPLETING = 1e-2  # the penalty of the scores that complete incomplete rankings


@dataclass(frozen=True)
class Family:
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
    fit: Callable[[Learned, Values, int], Predictor]


def families(n: int, d: int, n_estimators: int) -> list[Family]:
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
    >>> [family.names[0] for family in families(100, 4, 200)][:4]
    ['extra trees', 'extra trees, leaves of 3', 'random forest', 'linear, 0.01']
    """
    half = max(1, n_estimators // 2)
    found = [
        _trees("extra trees", "ExtraTreesRegressor", n_estimators, max_features=1.0 if d <= _FEW else 0.5),
        _trees("extra trees, leaves of 3", "ExtraTreesRegressor", half, min_samples_leaf=3),
        _trees("random forest", "RandomForestRegressor", half, max_features=0.5),
    ]
    if n >= _BOOSTED:
        found.append(Family(("boosting",), _boosted))
    found.append(_scores("linear", (1e-2, 1e-3, 1e-4, 1e-6), _plain))
    found.append(_scores("squares", (1e-3, 1e-5, 1e-6), _squares))
    found.append(_scores("splines", (1e-2, 1e-3, 1e-4, 1e-5), _splines))
    if d <= _MULTIPLIED:
        found.append(_scores("products", (1e-2, 1e-3, 1e-4, 1e-6), _products))
    for width in (0.3, 1.0, 3.0):
        path = (1e-3, 1e-4, 1e-5, 1e-6)
        found.append(_scores(f"kernel of {width:g}/d", path, _kernel(width / d)))
    return found


def completed(learned: Learned) -> Values:
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
    >>> from symscreen.ranking.learned import Learned
    >>> learned = Learned(np.zeros((3, 1)), np.array([[1.0, 2.0], [1.0, 2.0], [1.0, np.nan]]), np.ones(3))
    >>> positions = completed(learned)
    >>> positions[:2].tolist(), bool(positions[2, 0] < 1.1)
    ([[1.0, 2.0], [1.0, 2.0]], True)
    """
    ranks = learned.ranks
    if not np.isnan(ranks).any():
        return ranks
    basis = _plain(len(ranks), 0)
    shown = basis.fit_transform(learned.rows)
    scores = shown @ fit_scores(shown, ranks, learned.weights, alpha=_COMPLETING, max_iter=_STEPS)
    first, second = pair_places(ranks.shape[1])
    told = 0.5 + 0.5 * pair_signs(ranks)  # that the second is preferred
    guessed = 1.0 / (1.0 + np.exp(np.clip(scores[:, first] - scores[:, second], -500.0, 500.0)))
    behind = np.where(pairs_shown(ranks), told, guessed)
    positions = np.ones(ranks.shape)
    for pair in range(len(first)):
        positions[:, first[pair]] += behind[:, pair]
        positions[:, second[pair]] += 1.0 - behind[:, pair]
    return positions


def _trees(name: str, kind: str, count: int, **options: Any) -> Family:
    """Grow one forest on the positions of all labels at once."""

    def fit(learned: Learned, positions: Values, seed: int) -> Predictor:
        import sklearn.ensemble

        forest = getattr(sklearn.ensemble, kind)(count, random_state=seed, **options)
        forest.fit(learned.rows, _squeezed(positions), sample_weight=learned.weights)
        return partial(_forest_positions, forest, positions.shape[1])

    return Family((name,), fit)


def _boosted(learned: Learned, positions: Values, seed: int) -> Predictor:
    from sklearn.ensemble import HistGradientBoostingRegressor

    models = [
        HistGradientBoostingRegressor(random_state=seed, early_stopping=False).fit(
            learned.rows, target, sample_weight=learned.weights
        )
        for target in positions.T
    ]
    return partial(_boosted_positions, models)


def _scores(name: str, path: tuple[float, ...], basis_of: Callable[[int, int], Any]) -> Family:
    """Fit linear scores on a basis at each penalty, each fit starting where the last one ended."""

    def fit(learned: Learned, positions: Values, seed: int) -> Predictor:  # noqa: ARG001  # pairs say more
        basis = basis_of(len(learned.rows), seed)
        shown = basis.fit_transform(learned.rows)
        fitted: list[Values] = []
        for alpha in path:
            start = fitted[-1] if fitted else None
            fitted.append(
                fit_scores(shown, learned.ranks, learned.weights, alpha=alpha, max_iter=_STEPS, start=start)
            )
        return partial(_score_positions, basis, fitted)

    return Family(tuple(f"{name}, {alpha:g}" for alpha in path), fit)


def _forest_positions(forest: Any, k: int, rows: Values) -> list[Values]:
    return [np.asarray(forest.predict(rows), dtype=np.float64).reshape(-1, k)]


def _boosted_positions(models: list[Any], rows: Values) -> list[Values]:
    return [np.column_stack([model.predict(rows) for model in models])]


def _score_positions(basis: Any, fitted: list[Values], rows: Values) -> list[Values]:
    shown = basis.transform(rows)
    return [expected_positions(shown @ one) for one in fitted]


def _squeezed(positions: Values) -> Values:
    return positions if positions.shape[1] > 1 else positions[:, 0]


def _plain(n: int, seed: int) -> Any:  # noqa: ARG001  # kernels need them
    return _with_constant()


def _squares(n: int, seed: int) -> Any:  # noqa: ARG001  # kernels need them
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    return _with_constant(FunctionTransformer(_and_squares), StandardScaler())


def _splines(n: int, seed: int) -> Any:  # noqa: ARG001  # kernels need them
    from sklearn.preprocessing import SplineTransformer, StandardScaler

    return _with_constant(SplineTransformer(6, knots="quantile", include_bias=False), StandardScaler())


def _products(n: int, seed: int) -> Any:  # noqa: ARG001  # kernels need them
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    return _with_constant(PolynomialFeatures(2, include_bias=False), StandardScaler())


def _kernel(gamma: float) -> Callable[[int, int], Any]:
    """Give Gaussian kernels to a sample of the rows, made orthonormal (Nyström)."""
    return partial(_kernel_basis, gamma)


def _kernel_basis(gamma: float, n: int, seed: int) -> Any:
    from sklearn.kernel_approximation import Nystroem

    count = min(_LANDMARKS, n)
    return _with_constant(Nystroem(gamma=gamma, n_components=count, random_state=seed))


def _with_constant(*steps: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    return make_pipeline(StandardScaler(), *steps, FunctionTransformer(_after_constant))


def _and_squares(rows: Values) -> Values:
    return np.hstack([rows, rows * rows])


def _after_constant(rows: Values) -> Values:
    return np.column_stack([np.ones(len(rows)), rows])
