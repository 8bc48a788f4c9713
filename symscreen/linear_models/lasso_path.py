"""Features on one scale: centred, with mean square 1, as glmnet and ncvreg standardise.

The LASSO (Tibshirani 1996): least squares under a penalty on the sum of the coefficients' sizes.

For features z of mean 0 and mean square 1 and a centred response, the coefficients at a penalty λ minimise::

    1/(2n) · ‖y − Σ_j b_j z_j‖² + λ · Σ_j |b_j|

As functions of λ they are linear between knots, at which a feature enters or leaves, so that the path can be
followed exactly (Efron, Hastie, Johnstone and Tibshirani 2004). Among near copies the way may be lost: how
far coefficients are from optimal is bounded by the duality gap, which is computed for every λ.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError, suggest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Values


__all__ = [
    "StandardizedData",
    "compute_duality_gaps",
    "compute_glmnet_lambdas",
    "fit_lasso_path",
    "standardize_features",
]

_MIN_SCALE, _MAX_SCALE = 5e-324, np.finfo(np.float64).max


@dataclass(frozen=True, eq=False)
class StandardizedData:
    """Features and response, centred and scaled.

    Parameters
    ----------
    features : float64 array, shape (q, n), C-contiguous
        Each of mean 0 and mean square 1; all zeros where a feature is constant.
    target : float64 array, shape (n,)
        Of mean 0, on its own scale.
    centres, scales : float64 arrays, shape (q,)
        z = (feature − centre) / scale; the scale of a constant feature is 1.
    mean : float
        The response's mean.
    """

    features: NDArray[np.float64]
    target: NDArray[np.float64]
    centres: NDArray[np.float64]
    scales: NDArray[np.float64]
    target_mean: float

    def unscale_coefficients(
        self, coefficients: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bring coefficients back to the features' own scale.

        Parameters
        ----------
        coefficients : float64 array, shape (…, q)
            For the standardised features.

        Returns
        -------
        coefficients : float64 array, shape (…, q)
            Infinite where a feature is so small that its coefficient leaves float64.
        intercepts : float64 array, shape (…)
        """
        with np.errstate(over="ignore"):
            own = coefficients / self.scales
        # centre / scale first: it is of moderate size where the coefficient on its own is not
        return own, self.target_mean - (coefficients * (self.centres / self.scales)).sum(axis=-1)


def standardize_features(values: NDArray[np.float64], target: NDArray[np.float64]) -> StandardizedData:
    """Centre and scale features; centre the response.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        One row a feature, finite, of any size.
    target : float64 array, shape (n,)
        The response.

    Returns
    -------
    Standardised

    Examples
    --------
    >>> standardised(np.array([[1.0, 3.0]]), np.array([5.0, 7.0])).features.tolist()
    [[-1.0, 1.0]]
    """
    centred, centres, exponents = _center_rows(values)
    size = np.abs(centred).max(axis=1, initial=0.0)
    constant = size == 0.0
    size[constant] = 1.0
    # near 1 before squaring: a feature of 1e8 ± 1e-8 has squares of 1e-32 times its own size
    near = centred / size[:, None]
    spread = np.sqrt((near * near).mean(axis=1))
    spread[constant] = 1.0
    # a number even where rounding would take it to 0 or beyond float64
    with np.errstate(over="ignore"):
        scales = np.clip(np.ldexp(size * spread, exponents), _MIN_SCALE, _MAX_SCALE)
    scales[constant] = 1.0
    aim, mean, exponent = _center_rows(target[None])
    return StandardizedData(
        near / spread[:, None], np.ldexp(aim[0], exponent[0]), centres, scales, float(mean[0])
    )


def _center_rows(
    values: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]:
    """Return (values − centre)·2^−exponent, the centres, and the exponents, so that no sum overflows."""
    exponents = np.frexp(np.abs(values).max(axis=1, initial=0.0))[1]
    small = np.ldexp(values, -exponents[:, None])
    # the mean is sought from the first row on, so that a constant is centred to exactly zero
    start = small[:, 0].copy()
    small -= start[:, None]
    shift = small.mean(axis=1)
    small -= shift[:, None]
    return small, np.ldexp(start + shift, exponents), exponents


_GAP_TOLERANCE = 1e-10  # of the duality gap
_MAX_KNOTS_FACTOR = 4  # of a path, for every feature or row, whichever are fewer; real ones have about 1
_MAX_SWEEPS = 10_000  # of coordinate descent at one λ
_GLMNET_TOLERANCE = 1e-14  # glmnet's own measure: the largest step in the fit, squared
_GLMNET_MAX_SWEEPS = 1_000_000  # over the whole path
_COEFFICIENT_TOLERANCE = 1e-12  # of the response: a coefficient below is what rounding leaves at a knot
_COPY_TOLERANCE = 1e-9  # standardised features that differ by less everywhere are one


def compute_glmnet_lambdas(features: Values, target: Values, n_lambdas: int = 100) -> Values:
    """Lay out penalties as glmnet does, evenly in log λ.

    Parameters
    ----------
    features : float64 array, shape (q, n)
        Each of mean 0 and mean square 1, or all zeros.
    target : float64 array, shape (n,)
        Of mean 0 and moderate size.
    steps : int
        How many.

    Returns
    -------
    float64 array, shape (steps,)
        From λ_max, at which no feature enters, down to λ_max/10,000 where n > q, else to λ_max/100.

    Examples
    --------
    >>> z, y = np.array([[1.0, -1.0, 1.0, -1.0]]), np.array([3.0, -1.0, 1.0, -3.0])
    >>> compute_glmnet_lambdas(z, y, steps=3).round(6).tolist()
    [2.0, 0.02, 0.0002]
    """
    q, n = features.shape
    # λ_max = max_j |z_j·y| / n; where no feature is correlated with the response, a number above rounding
    largest = max(float(np.abs(features @ target).max()) / n, _COEFFICIENT_TOLERANCE)
    ratio = 1e-4 if n > q else 1e-2
    return np.asarray(largest * np.logspace(0.0, np.log10(ratio), n_lambdas), dtype=np.float64)


def fit_lasso_path(
    features: Values, target: Values, lambdas: Values, engine: str = "sklearn"
) -> tuple[Values, int]:
    """Solve the LASSO at every penalty of a path.

    Parameters
    ----------
    features : float64 array, shape (q, n)
        Each of mean 0 and mean square 1, or all zeros.
    target : float64 array, shape (n,)
        Of mean 0 and moderate size.
    lambdas : float64 array, shape (s,)
        Positive, from the largest down.
    engine : {"sklearn", "glmnet"}
        scikit-learn's exact path, with its coordinate descent to a duality gap of 1e-10 where that is lost;
        or glmnet's coordinate descent at a threshold of 1e-14.

    Returns
    -------
    coefficients : float64 array, shape (s, q)
        Exact zeros where a feature is left out, as are copies of earlier features in scikit-learn's path.
    missed : int
        How many λ did not converge; their coefficients are the best that were reached.

    Raises
    ------
    OptionError
        If the engine is unknown or not installed.

    Examples
    --------
    >>> z, y = np.array([[1.0, -1.0, 1.0, -1.0]]), np.array([3.0, -1.0, 1.0, -3.0])
    >>> coefficients, missed = fit_lasso_path(z, y, np.array([2.0, 0.5]))
    >>> coefficients.round(6).tolist(), missed
    ([[0.0], [1.5]], 0)
    """
    engines = {"sklearn": _fit_with_sklearn, "glmnet": _fit_with_glmnet}
    if engine not in engines:
        raise OptionError(f"the LASSO's engine is {engine!r}{suggest(engine, engines)}")
    if not np.abs(features @ target).max() / target.size > lambdas[-1]:
        return np.zeros((lambdas.size, len(features))), 0
    coefficients, missed = engines[engine](features, target, lambdas)
    small = _COEFFICIENT_TOLERANCE * np.sqrt((target * target).mean())
    return np.where(np.abs(coefficients) > small, coefficients, 0.0), missed


def compute_duality_gaps(features: Values, target: Values, lambdas: Values, coefficients: Values) -> Values:
    """Bound how far coefficients are from optimal.

    Parameters
    ----------
    features, target, lambdas
        As for `fit_lasso_path`; the response not all zeros.
    coefficients : float64 array, shape (s, q)
        One row a λ.

    Returns
    -------
    float64 array, shape (s,)
        At most this much the objective exceeds its minimum, in units of ‖y‖²/n.

    Examples
    --------
    >>> z, y = np.array([[1.0, -1.0, 1.0, -1.0]]), np.array([3.0, -1.0, 1.0, -3.0])
    >>> compute_duality_gaps(z, y, np.array([0.5, 0.5]), np.array([[1.5], [0.0]])).tolist()
    [0.0, 0.28125]
    """
    residual = target - coefficients @ features
    reach = np.abs(residual @ features.T).max(axis=1) / target.size
    # u = s·(y − Zb) with max_j |z_j·u|/n ≤ λ is feasible in the dual, of value (‖y‖² − ‖y − u‖²)/2n
    share = lambdas / np.maximum(reach, lambdas)
    rest = target - share[:, None] * residual
    primal = (residual**2).sum(axis=1) + 2.0 * target.size * lambdas * np.abs(coefficients).sum(axis=1)
    squares = (target**2).sum()
    return np.asarray((primal - squares + (rest**2).sum(axis=1)) / (2.0 * squares), dtype=np.float64)


def _fit_with_sklearn(features: Values, target: Values, lambdas: Values) -> tuple[Values, int]:
    from sklearn.exceptions import ConvergenceWarning

    first = _find_distinct_features(features)
    distinct = features[first]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the duality gap tells
        found = _follow_knots(distinct, target, lambdas)
        missed = compute_duality_gaps(distinct, target, lambdas, found) > _GAP_TOLERANCE
        if missed.any():
            found[missed] = _descend_coordinates(distinct, target, lambdas[missed], found[missed.argmax()])
            # its own gap, summed in another order, ends a hair below the tolerance
            missed = compute_duality_gaps(distinct, target, lambdas, found) > 1.01 * _GAP_TOLERANCE
    coefficients = np.zeros((lambdas.size, len(features)))
    coefficients[:, first] = found
    return coefficients, int(missed.sum())


def _find_distinct_features(features: Values) -> NDArray[np.int64]:
    """Find the features that are no copy of an earlier one, mirrored or not, and not constant."""
    digits = np.rint(features / _COPY_TOLERANCE).astype(np.int64)
    lead = np.take_along_axis(digits, (digits != 0).argmax(axis=1)[:, None], axis=1)
    firsts: dict[bytes, int] = {}
    for feature in np.flatnonzero(lead):
        firsts.setdefault((digits[feature] * np.sign(lead[feature])).tobytes(), int(feature))
    return np.array(list(firsts.values()))


def _follow_knots(features: Values, target: Values, lambdas: Values) -> Values:
    """Follow the path from knot to knot as far as that goes; return coefficients, (s, q)."""
    from sklearn.linear_model import lars_path

    # lars_path tells λ apart to 1e-7, an absolute figure: the last one is made 1, and put inside the path
    last = lambdas[-1]
    knots, _, bends = lars_path(
        features.T,
        target / last,
        method="lasso",
        Gram="auto",
        alpha_min=0.999,
        max_iter=_MAX_KNOTS_FACTOR * min(features.shape),
    )
    coefficients = np.zeros((lambdas.size, len(features)))
    for feature in np.flatnonzero(bends.any(axis=1)):
        coefficients[:, feature] = np.interp(lambdas / last, knots[::-1], bends[feature, ::-1]) * last
    return coefficients


def _descend_coordinates(
    features: Values, target: Values, lambdas: Values, initial_coefficients: Values
) -> Values:
    """Descend by coordinates; return coefficients, (s, q)."""
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
    try:
        from glmnet import ElasticNet
    except ImportError:
        raise OptionError(
            "the LASSO's engine 'glmnet' is not installed: pip install 'symscreen[glmnet]', or use sklearn"
        ) from None
    model = ElasticNet(
        n_splits=0,
        lambda_path=lambdas,
        standardize=False,
        tol=_GLMNET_TOLERANCE,
        max_iter=_GLMNET_MAX_SWEEPS,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the number of λ reached tells
        model.fit(features.T, target)
    reached = model.coef_path_.T
    missed = lambdas.size - len(reached)
    last = reached[-1:] if len(reached) else np.zeros((1, len(features)))
    return np.concatenate([reached, last.repeat(missed, axis=0)]), missed
