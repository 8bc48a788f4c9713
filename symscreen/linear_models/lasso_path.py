"""The LASSO path (Tibshirani 1996): least squares with a penalty on the sum of the absolute coefficients.

Features are standardised as glmnet and ncvreg do: centred, with mean square 1. For such features z and a
centred target the coefficients at a penalty λ minimise::

    1/(2n) · ‖y − Σ_j b_j z_j‖² + λ · Σ_j |b_j|

They are piecewise linear in λ. Features enter or leave at the knots, so the path can be followed exactly
(Efron, Hastie, Johnstone and Tibshirani 2004). Near copies of features can make this fail. The duality gap,
which bounds the distance from the optimum, is therefore computed for every λ.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError
from symscreen.messages import suggest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Values


_MIN_SCALE, _MAX_SCALE = 5e-324, np.finfo(np.float64).max
_GAP_TOLERANCE = 1e-10  # largest duality gap, in units of ‖y‖²/n
_MAX_KNOTS_FACTOR = 4  # knots per min(features, rows); real paths have about 1
_MAX_SWEEPS = 10_000  # largest number of sweeps of coordinate descent at one λ
_GLMNET_TOLERANCE = 1e-14  # glmnet's criterion: the squared change of the fit by one step
_GLMNET_MAX_SWEEPS = 1_000_000  # largest number of sweeps over the whole path
# size of a coefficient at a knot that is a rounding error, relative to the target
_COEFFICIENT_TOLERANCE = 1e-12
_COPY_TOLERANCE = 1e-9  # largest difference, in any row, of standardised features that are copies


@dataclass(frozen=True, eq=False)
class StandardizedData:
    """Features and target, centred and scaled.

    Parameters
    ----------
    features : float64 array, shape (q, n), C-contiguous
        Each with mean 0 and mean square 1; all zeros if a feature is constant.
    target : float64 array, shape (n,)
        The target with mean 0, in its own unit.
    centers, scales : float64 arrays, shape (q,)
        z = (feature − centre) / scale; the scale of a constant feature is 1.
    target_mean : float
        The target's mean.
    """

    features: NDArray[np.float64]
    target: NDArray[np.float64]
    centers: NDArray[np.float64]
    scales: NDArray[np.float64]
    target_mean: float

    def unscale_coefficients(
        self, coefficients: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Convert coefficients of standardised features to those of the original features.

        Parameters
        ----------
        coefficients : float64 array, shape (…, q)
            Coefficients of the standardised features.

        Returns
        -------
        coefficients : float64 array, shape (…, q)
            Infinite if a feature is so small that its coefficient overflows.
        intercepts : float64 array, shape (…)
        """
        with np.errstate(over="ignore"):
            unscaled = coefficients / self.scales
        # centre / scale first: this quotient is moderate even if the coefficient overflows.
        return unscaled, self.target_mean - (coefficients * (self.centers / self.scales)).sum(axis=-1)


def standardize_features(values: NDArray[np.float64], target: NDArray[np.float64]) -> StandardizedData:
    """Standardise features; centre the target.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        One feature per row; finite, of any magnitude.
    target : float64 array, shape (n,)
        The target.

    Returns
    -------
    StandardizedData

    Examples
    --------
    >>> standardize_features(np.array([[1.0, 3.0]]), np.array([5.0, 7.0])).features.tolist()
    [[-1.0, 1.0]]
    """
    centered, centers, exponents = _center_rows(values)
    magnitude = np.abs(centered).max(axis=1, initial=0.0)
    constant = magnitude == 0.0
    magnitude[constant] = 1.0
    # Scale before squaring: a feature of 1e8 ± 1e-8 has squares of 1e-32 times its own magnitude.
    scaled = centered / magnitude[:, None]
    spread = np.sqrt((scaled * scaled).mean(axis=1))
    spread[constant] = 1.0
    # The scale stays finite and positive even if it would underflow or overflow.
    with np.errstate(over="ignore"):
        scales = np.clip(np.ldexp(magnitude * spread, exponents), _MIN_SCALE, _MAX_SCALE)
    scales[constant] = 1.0
    centered_target, mean, exponent = _center_rows(target[None])
    return StandardizedData(
        scaled / spread[:, None], np.ldexp(centered_target[0], exponent[0]), centers, scales, float(mean[0])
    )


def _center_rows(
    values: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]:
    """Return (values − centre)·2^−exponent, shape (q, n), centres and exponents; no sum overflows."""
    exponents = np.frexp(np.abs(values).max(axis=1, initial=0.0))[1]
    scaled = np.ldexp(values, -exponents[:, None])
    # Values are shifted by the first row, so that a constant feature is centred to exactly zero.
    start = scaled[:, 0].copy()
    scaled -= start[:, None]
    shift = scaled.mean(axis=1)
    scaled -= shift[:, None]
    return scaled, np.ldexp(start + shift, exponents), exponents


def compute_glmnet_lambdas(features: Values, target: Values, n_lambdas: int = 100) -> Values:
    """Compute the penalties of a path as glmnet does, equidistant in log λ.

    Parameters
    ----------
    features : float64 array, shape (q, n)
        Each with mean 0 and mean square 1, or all zeros.
    target : float64 array, shape (n,)
        The target, with mean 0, far from overflow.
    n_lambdas : int
        Number of penalties.

    Returns
    -------
    float64 array, shape (n_lambdas,)
        From λ_max, at which no feature enters, down to λ_max/100 if n < q, otherwise λ_max/10,000. The
        documentation of glmnet leaves n = q open; its code uses λ_max/10,000.

    Examples
    --------
    >>> z, y = np.array([[1.0, -1.0, 1.0, -1.0]]), np.array([3.0, -1.0, 1.0, -3.0])
    >>> compute_glmnet_lambdas(z, y, n_lambdas=3).round(6).tolist()
    [2.0, 0.02, 0.0002]
    """
    q, n = features.shape
    # λ_max = max_j |z_j·y| / n; a positive number above rounding if all features are uncorrelated with the
    # target.
    max_lambda = max(float(np.abs(features @ target).max()) / n, _COEFFICIENT_TOLERANCE)
    ratio = 1e-2 if n < q else 1e-4
    return np.asarray(max_lambda * np.logspace(0.0, np.log10(ratio), n_lambdas), dtype=np.float64)


def fit_lasso_path(
    features: Values, target: Values, lambdas: Values, engine: str = "sklearn"
) -> tuple[Values, int]:
    """Solve the LASSO at every penalty of a path.

    Parameters
    ----------
    features : float64 array, shape (q, n)
        Each with mean 0 and mean square 1, or all zeros.
    target : float64 array, shape (n,)
        The target, with mean 0, far from overflow.
    lambdas : float64 array, shape (s,)
        Positive, in descending order.
    engine : {"sklearn", "glmnet"}
        "sklearn" uses scikit-learn's exact path, and its coordinate descent to a duality gap of 1e-10 where
        that fails. "glmnet" uses glmnet's coordinate descent with a threshold of 1e-14.

    Returns
    -------
    coefficients : float64 array, shape (s, q)
        Exactly zero for features not in the model. Copies of earlier features have zeros with "sklearn".
    n_missed : int
        The number of λ without convergence; their coefficients are the best that were reached.

    Raises
    ------
    OptionError
        If the engine is unknown or not installed.

    Examples
    --------
    >>> z, y = np.array([[1.0, -1.0, 1.0, -1.0]]), np.array([3.0, -1.0, 1.0, -3.0])
    >>> coefficients, n_missed = fit_lasso_path(z, y, np.array([2.0, 0.5]))
    >>> coefficients.round(6).tolist(), n_missed
    ([[0.0], [1.5]], 0)
    """
    engines = {"sklearn": _fit_with_sklearn, "glmnet": _fit_with_glmnet}
    if engine not in engines:
        raise OptionError(f"the LASSO engine is {engine!r}{suggest(engine, engines)}")
    if not np.abs(features @ target).max() / target.size > lambdas[-1]:
        return np.zeros((lambdas.size, len(features))), 0
    coefficients, n_missed = engines[engine](features, target, lambdas)
    min_magnitude = _COEFFICIENT_TOLERANCE * np.sqrt((target * target).mean())
    return np.where(np.abs(coefficients) > min_magnitude, coefficients, 0.0), n_missed


def compute_duality_gaps(features: Values, target: Values, lambdas: Values, coefficients: Values) -> Values:
    """Bound the suboptimality of coefficients by the duality gap.

    Parameters
    ----------
    features, target, lambdas : float64 arrays, shapes (q, n), (n,) and (s,)
        As in `fit_lasso_path`; the target is not all zeros.
    coefficients : float64 array, shape (s, q)
        One row per λ.

    Returns
    -------
    float64 array, shape (s,)
        An upper bound of the objective minus its minimum, in units of ‖y‖²/n.

    Examples
    --------
    >>> z, y = np.array([[1.0, -1.0, 1.0, -1.0]]), np.array([3.0, -1.0, 1.0, -3.0])
    >>> compute_duality_gaps(z, y, np.array([0.5, 0.5]), np.array([[1.5], [0.0]])).tolist()
    [0.0, 0.28125]
    """
    residual = target - coefficients @ features
    max_correlation = np.abs(residual @ features.T).max(axis=1) / target.size
    # u = s·(y − Zb) with max_j |z_j·u|/n ≤ λ is feasible in the dual, with value (‖y‖² − ‖y − u‖²)/2n.
    shrinkage = lambdas / np.maximum(max_correlation, lambdas)
    dual_residual = target - shrinkage[:, None] * residual
    primal = (residual**2).sum(axis=1) + 2.0 * target.size * lambdas * np.abs(coefficients).sum(axis=1)
    squares = (target**2).sum()
    return np.asarray((primal - squares + (dual_residual**2).sum(axis=1)) / (2.0 * squares), dtype=np.float64)


def _fit_with_sklearn(features: Values, target: Values, lambdas: Values) -> tuple[Values, int]:
    """Follow the exact path, and use coordinate descent for λ with a large duality gap."""
    from sklearn.exceptions import ConvergenceWarning

    first = _find_distinct_features(features)
    distinct = features[first]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # convergence is checked by the duality gap
        distinct_coefficients = _follow_knots(distinct, target, lambdas)
        missed = compute_duality_gaps(distinct, target, lambdas, distinct_coefficients) > _GAP_TOLERANCE
        if missed.any():
            distinct_coefficients[missed] = _descend_coordinates(
                distinct, target, lambdas[missed], distinct_coefficients[missed.argmax()]
            )
            # scikit-learn sums its gap in a different order, so it may stop slightly above this tolerance.
            missed = (
                compute_duality_gaps(distinct, target, lambdas, distinct_coefficients) > 1.01 * _GAP_TOLERANCE
            )
    coefficients = np.zeros((lambdas.size, len(features)))
    coefficients[:, first] = distinct_coefficients
    return coefficients, int(missed.sum())


def _find_distinct_features(features: Values) -> NDArray[np.int64]:
    """Find the features that are neither constant nor a copy of an earlier one, mirrored or not."""
    digits = np.rint(features / _COPY_TOLERANCE).astype(np.int64)
    lead = np.take_along_axis(digits, (digits != 0).argmax(axis=1)[:, None], axis=1)
    firsts: dict[bytes, int] = {}
    for feature in np.flatnonzero(lead):
        firsts.setdefault((digits[feature] * np.sign(lead[feature])).tobytes(), int(feature))
    return np.array(list(firsts.values()))


def _follow_knots(features: Values, target: Values, lambdas: Values) -> Values:
    """Follow the path from knot to knot as far as possible; return coefficients, shape (s, q)."""
    from sklearn.linear_model import lars_path

    # lars_path distinguishes λ to 1e-7 absolutely: scale the last one to 1, and stop slightly below it.
    last = lambdas[-1]
    knots, _, knot_coefficients = lars_path(
        features.T,
        target / last,
        method="lasso",
        Gram="auto",
        alpha_min=0.999,
        max_iter=_MAX_KNOTS_FACTOR * min(features.shape),
    )
    coefficients = np.zeros((lambdas.size, len(features)))
    for feature in np.flatnonzero(knot_coefficients.any(axis=1)):
        coefficients[:, feature] = (
            np.interp(lambdas / last, knots[::-1], knot_coefficients[feature, ::-1]) * last
        )
    return coefficients


def _descend_coordinates(
    features: Values, target: Values, lambdas: Values, initial_coefficients: Values
) -> Values:
    """Solve by coordinate descent; return coefficients, shape (s, q)."""
    from sklearn.linear_model import lasso_path

    _, coefficients, _ = lasso_path(
        features.T,
        target,
        alphas=lambdas,
        coef_init=initial_coefficients,
        tol=_GAP_TOLERANCE,
        max_iter=_MAX_SWEEPS,
    )
    return np.asarray(coefficients.T, dtype=np.float64)


def _fit_with_glmnet(features: Values, target: Values, lambdas: Values) -> tuple[Values, int]:
    """Solve by glmnet; the last coefficients reached are repeated for the missed λ."""
    try:
        from glmnet import ElasticNet
    except ImportError:
        raise OptionError(
            "the LASSO engine 'glmnet' is not installed: pip install 'symscreen[glmnet]', or use sklearn"
        ) from None
    model = ElasticNet(
        n_splits=0,
        lambda_path=lambdas,
        standardize=False,
        tol=_GLMNET_TOLERANCE,
        max_iter=_GLMNET_MAX_SWEEPS,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # convergence is checked by the number of λ reached
        model.fit(features.T, target)
    reached = model.coef_path_.T
    n_missed = lambdas.size - len(reached)
    last = reached[-1:] if len(reached) else np.zeros((1, len(features)))
    return np.concatenate([reached, last.repeat(n_missed, axis=0)]), n_missed
