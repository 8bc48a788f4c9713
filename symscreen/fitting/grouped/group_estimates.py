"""Estimates of the constants of each group, with shrinkage toward the mean of the groups, and their errors.

Shrinkage is empirical Bayes. A constant of the groups is taken to be normal with mean μ and variance τ². Both
follow from the least-squares estimates by the method of moments of DerSimonian and Laird (1986, Controlled
Clinical Trials 7, 177-188). The estimate of a group is then its posterior mean: with standard error s, it
moves by the share s²/(s² + τ²) of its distance toward μ. A group with many rows hardly moves; a group that
its own rows do not determine gets what the others say. With fewer than four groups that their own rows
determine, nothing is shrunk: four are needed so that a shrunk estimate has the smaller expected error (Efron
and Morris 1973, Journal of the American Statistical Association 68, 117-130).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.fitting.grouped.grouped_model import project_design

if TYPE_CHECKING:
    from symscreen._typing import Flags, Values
    from symscreen.fitting.grouped.constant_fit import ConstantEstimates
    from symscreen.fitting.grouped.grouped_rows import GroupedRows


MIN_SHRUNK_GROUPS = 4
"""Number of groups that their own rows determine, from which on estimates are shrunk."""

_LEAST_SPREAD = 1e-6  # of τ relative to the typical standard error, so that 1/τ² is finite


@dataclass(frozen=True, eq=False)
class GroupPrior:
    """What the groups say of a further one.

    Parameters
    ----------
    means : float64 array, shape (v,)
        Mean μ of each constant that varies.
    variances : float64 array, shape (v,)
        Variance τ² of each between groups.
    mean_variances : float64 array, shape (v,)
        Squared standard errors of the means.
    residual_variance : float
        Variance of the errors of the rows.
    """

    means: Values
    variances: Values
    mean_variances: Values
    residual_variance: float


@dataclass(frozen=True, eq=False)
class GroupEstimates:
    """The constants of a model with their standard errors.

    Parameters
    ----------
    varying : float64 array, shape (v, G)
        The constants that vary.
    varying_errors : float64 array, shape (v, G)
        Their standard errors; NaN without a residual degree of freedom.
    shared : float64 array, shape (s,)
        The shared constants.
    shared_errors : float64 array, shape (s,)
        Their standard errors.
    n_freedom : int
        Number of residual degrees of freedom.
    residual_std : float
        Residual standard deviation.
    prior : GroupPrior or None
        What the estimates are shrunk toward; None if they are not shrunk.
    """

    varying: Values
    varying_errors: Values
    shared: Values
    shared_errors: Values
    n_freedom: int
    residual_std: float
    prior: GroupPrior | None


def compute_group_estimates(
    varying: Values, shared: Values, estimates: ConstantEstimates, rows: GroupedRows
) -> GroupEstimates:
    """Compute standard errors, and shrink the constants of the groups.

    Parameters
    ----------
    varying : float64 array, shape (v, G)
        Least-squares estimates of the constants that vary.
    shared : float64 array, shape (s,)
        Those of the shared constants.
    estimates : ConstantEstimates
        The derivatives and residuals at these constants.
    rows : GroupedRows
        The rows.

    Returns
    -------
    GroupEstimates
        The errors are those of the model that is linear in all constants at the estimates, with errors of
        one variance. They include the uncertainty of the shared constants and, of shrunk constants, that of
        the means and, by the formula of Morris (1983, Journal of the American Statistical Association 78,
        47-55), that of τ².
    """
    projection = project_design(rows, estimates.varying, estimates.shared)
    information = np.einsum("gki,gkj->gij", projection.r_varying, projection.r_varying)
    ranks = (np.diagonal(projection.r_varying, axis1=1, axis2=2) > 0.0).sum(axis=1)
    n_freedom = rows.n - int(ranks.sum()) - len(shared)
    variance = estimates.square / n_freedom if n_freedom > 0 else np.nan
    inverse = np.linalg.inv(projection.r_shared) if len(shared) else np.empty((0, 0))
    shared_covariance = variance * (inverse @ inverse.T)
    cross = np.array([rows.sum_by_group(column * estimates.shared) for column in estimates.varying])
    cross = cross.reshape(len(varying), len(shared), rows.n_groups).transpose(2, 0, 1)
    is_determined = ranks == len(varying)
    prior = estimate_prior(varying, information, is_determined, variance)
    own, own_errors = varying.copy(), np.full(varying.shape, np.nan)
    for group in range(rows.n_groups):
        if prior is None and not is_determined[group]:
            continue
        mean, covariance = compute_posterior(
            information[group], information[group] @ varying[:, group], prior, variance
        )
        leverage = covariance @ cross[group] / variance if variance > 0.0 else np.zeros_like(cross[group])
        errors = np.diag(covariance + leverage @ shared_covariance @ leverage.T)
        if prior is not None:
            own[:, group] = mean
            n_determined = int(is_determined.sum()) if is_determined[group] else None
            errors = errors + _compute_prior_errors(covariance, prior, varying[:, group], n_determined)
        own_errors[:, group] = np.sqrt(errors)
    return GroupEstimates(
        varying=own,
        varying_errors=own_errors,
        shared=shared,
        shared_errors=np.sqrt(np.diag(shared_covariance)),
        n_freedom=n_freedom,
        residual_std=float(np.sqrt(variance)),
        prior=prior,
    )


def estimate_prior(
    varying: Values, information: Values, is_determined: Flags, variance: float
) -> GroupPrior | None:
    """Estimate the mean and the variance of each constant between groups.

    Parameters
    ----------
    varying : float64 array, shape (v, G)
        Least-squares estimates.
    information : float64 array, shape (G, v, v)
        Inner products of the derivatives within each group.
    is_determined : bool array, shape (G,)
        Whether the own rows of a group determine its constants. The others take no part.
    variance : float
        Variance of the errors.

    Returns
    -------
    GroupPrior or None
        None with fewer than four groups that take part, or without errors.
    """
    if is_determined.sum() < MIN_SHRUNK_GROUPS or not variance > 0.0 or not len(varying):
        return None
    values = varying[:, is_determined]
    own = variance * np.diagonal(np.linalg.inv(information[is_determined]), axis1=1, axis2=2).T
    weights = 1.0 / own
    total = weights.sum(axis=1)
    means = (weights * values).sum(axis=1) / total
    heterogeneity = (weights * np.square(values - means[:, None])).sum(axis=1)
    excess = heterogeneity - (values.shape[1] - 1)
    variances = excess / (total - np.square(weights).sum(axis=1) / total)
    variances = np.maximum(variances, np.square(_LEAST_SPREAD) * np.median(own, axis=1))
    weights = 1.0 / (own + variances[:, None])
    total = weights.sum(axis=1)
    return GroupPrior((weights * values).sum(axis=1) / total, variances, 1.0 / total, variance)


def compute_posterior(
    information: Values, moments: Values, prior: GroupPrior | None, variance: float
) -> tuple[Values, Values]:
    """Compute the constants of one group and their covariance from inner products.

    Parameters
    ----------
    information : float64 array, shape (v, v)
        Inner products JᵀJ of the derivatives J on the rows of the group.
    moments : float64 array, shape (v,)
        Their inner products Jᵀy with the target.
    prior : GroupPrior or None
        What is known beforehand; None for least squares.
    variance : float
        Variance of the errors.

    Returns
    -------
    constants : float64 array, shape (v,)
    covariance : float64 array, shape (v, v)

    Examples
    --------
    >>> prior = GroupPrior(np.array([1.0]), np.array([0.5]), np.array([0.0]), 1.0)
    >>> constants, covariance = compute_posterior(np.array([[2.0]]), np.array([6.0]), prior, 1.0)
    >>> constants.round(9).tolist(), covariance.round(9).tolist()
    ([2.0], [[0.25]])
    """
    if prior is None:
        own_inverse = np.asarray(np.linalg.inv(information), dtype=np.float64)
        return own_inverse @ moments, variance * own_inverse
    scale = np.sqrt(prior.variances)
    scaled = scale[:, None] * information * scale / variance
    inverse = np.asarray(np.linalg.inv(scaled + np.eye(len(scale))), dtype=np.float64)
    covariance = scale[:, None] * inverse * scale
    return covariance @ (moments / variance + prior.means / prior.variances), covariance


def _compute_prior_errors(
    covariance: Values, prior: GroupPrior, values: Values, n_determined: int | None
) -> Values:
    """Compute what the estimates of μ and τ² add to the squared errors of one group, shape (v,).

    The number of groups that their own rows determine is None for a group that is not one of them.
    """
    pull = covariance / prior.variances  # share of a change of μ that the constants follow
    added = np.square(pull) @ prior.mean_variances
    if n_determined is not None:
        share = np.diag(pull)
        added = added + 2.0 / (n_determined - 3) * np.square(share * (values - prior.means))
    return np.asarray(added)
