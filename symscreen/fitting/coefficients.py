"""Estimate the coefficients of a model by least squares, with confidence intervals.

`estimate_coefficients` works on arrays. `evaluate_terms` and `get_targets` compute them from the terms of a
model and the rows of a dataset, and `is_identifiable` tells whether the rows determine the coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import evaluate_expression
from symscreen.linear_models.gram import compute_unexplained_shares, normalize_rows
from symscreen.linear_models.row_weights import center_rows, scale_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Values
    from symscreen.data import Dataset
    from symscreen.expressions.tree import Expression
    from symscreen.linear_models.row_weights import RowWeights


@dataclass(frozen=True, eq=False)
class CoefficientEstimates:
    """Least-squares estimates of the intercept and the coefficients of a model.

    Parameters
    ----------
    coefficients : float64 array, shape (k + 1,)
        The intercept, followed by the coefficient of each term. The intercept of a model without one is 0.
    low, high : float64 arrays, shape (k + 1,)
        Ends of the confidence intervals. NaN without a residual degree of freedom.
    level : float
        Nominal coverage of the intervals, between 0 and 1.
    unexplained_share : float
        1 − R² on the rows used.
    residual_std : float
        Residual standard deviation. NaN without a residual degree of freedom.
    n_rows : int
        Number of rows used.
    has_intercept : bool
        Whether the intercept was fitted.
    """

    coefficients: Values
    low: Values
    high: Values
    level: float
    unexplained_share: float
    residual_std: float
    n_rows: int
    has_intercept: bool = True

    @property
    def n_freedom(self) -> int:
        """Number of residual degrees of freedom."""
        return self.n_rows - len(self.coefficients) + (not self.has_intercept)


def build_design(values: Values, row_weights: RowWeights | None) -> tuple[Values, Values]:
    """Build the design matrix of a model. The first column is that of the intercept.

    Parameters
    ----------
    values : float64 array, shape (k, n)
        Values of the terms.
    row_weights : RowWeights or None
        Weights of the rows.

    Returns
    -------
    float64 array, shape (n, k + 1)
        The matrix, with columns of norm 1.
    float64 array, shape (k + 1,)
        The norms by which the columns were divided.
    """
    design = scale_rows(np.vstack([np.ones(values.shape[1]), values]), row_weights)
    magnitude = np.abs(design).max(axis=1)
    norms = np.sqrt(((design / magnitude[:, None]) ** 2).sum(axis=1)) * magnitude
    return (design / norms[:, None]).T, norms


def estimate_coefficients(
    values: Values,
    target: Values,
    level: float = 0.95,
    *,
    has_intercept: bool = True,
    row_weights: RowWeights | None = None,
) -> CoefficientEstimates:
    """Fit a model by least squares.

    Parameters
    ----------
    values : float64 array, shape (k, n)
        Values of the terms. They must be linearly independent and not constant.
    target : float64 array, shape (n,)
        Values of the target.
    level : float
        Coverage of the intervals, from Student's t with n − k − 1 degrees of freedom. The coverage is exact
        for independent normal errors of equal variance, if the terms were not selected on the same rows.
    has_intercept : bool
        Whether the model has an intercept. A law such as y = c·x1/x2 has none.
    row_weights : RowWeights, optional
        Weights of the squared residuals. The intervals assume that the variances of the errors are
        proportional to 1/weight. The number of rows does not depend on the weights.

    Returns
    -------
    CoefficientEstimates

    Examples
    --------
    >>> x = np.arange(6.0)
    >>> estimate_coefficients(x[None, :], 1 + 2 * x).coefficients.round(9).tolist()
    [1.0, 2.0]
    """
    from scipy.special import stdtrit

    design, norms = build_design(values, row_weights)
    if not has_intercept:
        design, norms = design[:, 1:], norms[1:]
    n, p = design.shape
    # scaling by a power of two is exact, and squares of values near 1 neither overflow nor underflow
    _, exponent = np.frexp(np.abs(target).max())
    centered = center_rows(np.ldexp(target, -int(exponent)), row_weights)
    scaled_target = scale_rows(np.ldexp(target, -int(exponent)), row_weights)
    q, r = np.linalg.qr(design)
    solution = np.linalg.solve(r, q.T @ scaled_target)
    # one step of iterative refinement recovers the coefficients of an exact formula to the last digit
    solution = solution + np.linalg.solve(r, q.T @ (scaled_target - design @ solution))
    residuals = scaled_target - design @ solution
    n_freedom = n - p
    variance = float((residuals * residuals).sum()) / n_freedom if n_freedom > 0 else np.nan
    standard_errors = np.sqrt((np.linalg.inv(r) ** 2).sum(axis=1) * variance)
    t_quantile = float(stdtrit(n_freedom, 0.5 + level / 2)) if n_freedom > 0 else np.nan
    coefficients, low, high = (
        np.concatenate((np.zeros(int(not has_intercept)), np.ldexp(vector / norms, int(exponent))))
        for vector in (
            solution,
            solution - t_quantile * standard_errors,
            solution + t_quantile * standard_errors,
        )
    )
    return CoefficientEstimates(
        coefficients=coefficients,
        low=low,
        high=high,
        level=level,
        unexplained_share=float((residuals * residuals).sum() / (centered * centered).sum()),
        residual_std=float(np.ldexp(np.sqrt(variance), int(exponent))),
        n_rows=n,
        has_intercept=has_intercept,
    )


def get_input_columns(dataset: Dataset) -> dict[str, NDArray[np.float64]]:
    """Return the inputs of a dataset by name, each of shape (n,)."""
    return dict(zip(dataset.names, dataset.columns, strict=True))


def get_targets(dataset: Dataset) -> dict[str, NDArray[np.float64]]:
    """Return the targets of a dataset by name, each of shape (n,)."""
    target = dataset.regression_target
    return dict(zip(target.names, np.atleast_2d(target.values), strict=True))


def evaluate_terms(terms: Sequence[Expression], dataset: Dataset) -> NDArray[np.float64]:
    """Evaluate terms on the rows of a dataset, shape (k, n); NaN where a term is undefined."""
    columns = get_input_columns(dataset)
    return np.array([evaluate_expression(term, columns) for term in terms]).reshape(
        len(terms), dataset.target.n
    )


def is_identifiable(values: ArrayLike) -> bool:
    """Return whether the rows determine the coefficients of terms.

    Parameters
    ----------
    values : array, shape (k, n)
        Values of the terms.

    Returns
    -------
    bool
        Whether the terms are defined in all rows, do not overflow and are linearly independent, and a degree
        of freedom is left.

    Examples
    --------
    >>> x = np.arange(5.0)
    >>> [is_identifiable(values) for values in ([x, x**2], [x, 3 - x], x ** [[1], [2], [3], [4]])]
    [True, False, False]
    """
    values = np.asarray(values, dtype=np.float64)
    k, n = values.shape
    largest = np.finfo(np.float64).max / (2.0 * np.sqrt(n))  # the norm of larger values may overflow
    if k > n - 2 or not (np.abs(values) < largest).all():  # NaN is not less
        return False
    shares = compute_unexplained_shares(normalize_rows(values), np.zeros(n), np.arange(k)[None, :])
    return bool(np.isfinite(shares[0]))
