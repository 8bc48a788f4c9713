"""Errors that grow with the size of the target: their standard deviation σ = a + b·|prediction|."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics.ranks.sorted_values import compute_midranks

if TYPE_CHECKING:
    from symscreen._typing import Values


# p-value below which errors grow: with 60 rows, a smaller one misses half of the tables with relative errors,
# and equal errors lose little where they are weighted by chance
_LEVEL = 1e-3
_MIN_ROWS = 30
# ratio of the largest to the smallest standard deviation from which on weights have a clear effect
_MIN_RATIO = 2.0
_MIN_SHARE = 1e-3  # smallest standard deviation, relative to the mean one, so that no single row decides
_HALF_NORMAL_MEAN = float(np.sqrt(2.0 / np.pi))  # mean of |e| for a standard normal error e


@dataclass(frozen=True, slots=True)
class ErrorScale:
    """The standard deviation of errors, σ = a + b·|prediction|.

    Parameters
    ----------
    constant : float
        The part a, in units of the target; not negative.
    proportional : float
        The part b, relative to the prediction; positive.
    """

    constant: float
    proportional: float

    @property
    def record(self) -> dict[str, float]:
        """The scale as stored in the record of a fit."""
        return {"constant": self.constant, "proportional": self.proportional}

    def compute_deviations(self, predictions: Values) -> Values:
        """Compute σ of each row, with the shape of the predictions."""
        return np.asarray(self.constant + self.proportional * np.abs(predictions))

    def raise_constant(self, predictions: Values) -> ErrorScale:
        """Return the scale with a constant of at least a thousandth of the mean σ of rows, shape (n,)."""
        least = _MIN_SHARE * float(self.compute_deviations(predictions).mean())
        return ErrorScale(max(self.constant, least), self.proportional)

    def drop_constant(self, predictions: Values) -> ErrorScale:
        """Return the scale b·|prediction| with the same mean over rows, shape (n,)."""
        return ErrorScale(
            0.0, float(self.compute_deviations(predictions).mean() / np.abs(predictions).mean())
        )

    def list_variants(self, predictions: Values) -> list[ErrorScale]:
        """List the scale and, if it has a constant, the scale without one.

        The misfit of a wrong formula where the target is small looks like a constant part of the errors.
        """
        return [self, self.drop_constant(predictions)] if self.constant > 0.0 else [self]

    def compute_weights(self, predictions: Values) -> Values:
        """Compute 1/σ² of each row, shape (n,)."""
        deviations = self.compute_deviations(predictions)
        return np.asarray(1.0 / np.maximum(deviations, _MIN_SHARE * deviations.mean()) ** 2)


def estimate_error_scale(predictions: Values, residuals: Values, *, n_tests: int = 1) -> ErrorScale | None:
    """Estimate how the standard deviation of errors grows with the size of the predictions.

    Parameters
    ----------
    predictions, residuals : float64 array, shape (n,)
        The predictions and the residuals of a law.
    n_tests : int
        The number of laws that are tested; the level is divided by it.

    Returns
    -------
    ErrorScale or None
        None if the sizes of residuals and predictions have no clear rank correlation, if the standard
        deviation does not double, or if there are fewer than 30 rows.

    Notes
    -----
    The sizes of the residuals are regressed on 1 and the sizes of the predictions (Glejser 1969, Journal of
    the American Statistical Association 64, 316-323), with coefficients that are not negative.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> predictions, errors = rng.uniform(1, 50, 400), rng.normal(size=400)
    >>> round(estimate_error_scale(predictions, 0.02 * predictions * errors).proportional, 3)
    0.02
    >>> estimate_error_scale(predictions, errors) is None
    True
    """
    sizes, deviations = np.abs(predictions), np.abs(residuals)
    if len(sizes) < _MIN_ROWS or np.ptp(sizes) == 0.0 or np.ptp(deviations) == 0.0:
        return None
    if _compute_rank_p_value(sizes, deviations) > _LEVEL / n_tests:
        return None
    from scipy.optimize import nnls  # imported here because few targets have such errors

    scale = float(sizes.mean())
    design = np.column_stack([np.ones(len(sizes)), sizes / scale])
    # rows with larger errors say less about σ: a second regression has the weights of the first
    weights = np.ones(len(sizes))
    for _ in range(2):
        (constant, slope), _ = nnls(design * weights[:, None], deviations * weights)
        fitted = constant + slope * sizes / scale
        if slope == 0.0 or fitted.max() < _MIN_RATIO * fitted.min():
            return None
        weights = 1.0 / np.maximum(fitted, _MIN_SHARE * fitted.mean())
    return ErrorScale(float(constant) / _HALF_NORMAL_MEAN, float(slope) / scale / _HALF_NORMAL_MEAN)


def _compute_rank_p_value(first: Values, second: Values) -> float:
    """Compute the p-value of Spearman's correlation against an increasing relation, by Student's t."""
    from scipy.special import stdtr  # importing scipy.stats takes longer than a small fit

    n_freedom = len(first) - 2
    correlation = float(np.corrcoef(compute_midranks(first), compute_midranks(second))[0, 1])
    unexplained = (1.0 - correlation) * (1.0 + correlation)
    if unexplained <= 0.0:
        return 0.0 if correlation > 0.0 else 1.0
    return float(stdtr(n_freedom, -correlation * np.sqrt(n_freedom / unexplained)))
