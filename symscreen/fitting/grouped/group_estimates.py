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

_LEAST_SPREAD = 1e-6  # smallest τ, relative to a typical standard error, so that 1/τ² is finite


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
        Their standard errors; NaN without a residual degree of freedom, and where a group leaves them open.
    shared : float64 array, shape (s,)
        The shared constants.
    shared_errors : float64 array, shape (s,)
        Their standard errors; NaN for one that the rows do not tell from the constants before it.
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
    ranks = (np.diagonal(projection.r_varying, axis1=1, axis2=2) > 0.0).sum(axis=1)
    is_known = np.diagonal(projection.r_shared) > 0.0  # whether the rows tell a shared constant from others
    n_freedom = rows.n - int(ranks.sum()) - int(is_known.sum())
    variance = estimates.square / n_freedom if n_freedom > 0 else np.nan
    inverse = np.linalg.inv(projection.r_shared[np.ix_(is_known, is_known)])
    shared_covariance = variance * (inverse @ inverse.T)
    shared_errors = np.full(len(shared), np.nan)
    shared_errors[is_known] = np.sqrt(np.diag(shared_covariance))
    known = estimates.shared[is_known]
    cross = np.array([rows.sum_by_group(column * known) for column in estimates.varying])
    cross = cross.reshape(len(varying), len(known), rows.n_groups).transpose(2, 0, 1)
    is_determined = ranks == len(varying)
    prior = estimate_prior(varying, projection.r_varying, is_determined, variance)
    own, own_errors = varying.copy(), np.full(varying.shape, np.nan)
    for group in range(rows.n_groups):
        derivatives = projection.r_varying[group]  # as good as those of the rows: the same inner products
        if prior is None and not is_determined[group]:
            own_errors[:, group] = np.sqrt(variance) * _compute_known_lengths(derivatives)
            continue
        mean, covariance = compute_posterior(derivatives, derivatives @ varying[:, group], prior, variance)
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
        shared_errors=shared_errors,
        n_freedom=n_freedom,
        residual_std=float(np.sqrt(variance)),
        prior=prior,
    )


def _compute_known_lengths(r_varying: Values) -> Values:
    """Compute √diag((RᵀR)⁻¹) of the constants that the rows determine although others are not, shape (v,).

    The others are NaN. R has a zero row for each column that depends on those before it. Such a column leaves
    the constants of these columns open, unless it is zero.
    """
    is_kept = np.diagonal(r_varying) > 0.0
    inverse = np.linalg.inv(r_varying[np.ix_(is_kept, is_kept)])
    dependent = inverse @ r_varying[np.ix_(is_kept, ~is_kept)]
    lengths = np.full(len(is_kept), np.nan)
    lengths[is_kept] = np.where(
        (dependent == 0.0).all(axis=1), np.sqrt(np.square(inverse).sum(axis=1)), np.nan
    )
    return lengths


def estimate_prior(
    varying: Values, r_varying: Values, is_determined: Flags, variance: float
) -> GroupPrior | None:
    """Estimate the mean and the variance of each constant between groups.

    Parameters
    ----------
    varying : float64 array, shape (v, G)
        Least-squares estimates.
    r_varying : float64 array, shape (G, v, v)
        Triangular factors R of the derivatives within each group; RᵀR are their inner products.
    is_determined : bool array, shape (G,)
        Whether the own rows of a group determine its constants. The others take no part.
    variance : float
        Variance of the errors.

    Returns
    -------
    GroupPrior or None
        None with fewer than four groups that take part, without errors, or if a variance is beyond double
        precision.
    """
    if is_determined.sum() < MIN_SHRUNK_GROUPS or not variance > 0.0 or not len(varying):
        return None
    with np.errstate(all="ignore"):
        own = variance * np.square(np.linalg.inv(r_varying[is_determined])).sum(axis=2).T
        unit = np.median(own, axis=1)  # squares of the constants themselves may be beyond double precision
        values, weights = varying[:, is_determined] / np.sqrt(unit)[:, None], unit[:, None] / own
        total = weights.sum(axis=1)
        means = (weights * values).sum(axis=1) / total
        heterogeneity = (weights * np.square(values - means[:, None])).sum(axis=1)
        excess = heterogeneity - (values.shape[1] - 1)
        # Σw − Σw²/Σw = 2·Σ_{i<j} wᵢwⱼ/Σw, without the difference of two nearly equal numbers
        ordered = np.sort(weights, axis=1)
        pairs = (ordered[:, 1:] * np.cumsum(ordered, axis=1)[:, :-1]).sum(axis=1)
        variances = np.maximum(excess / (2.0 * pairs / total), np.square(_LEAST_SPREAD))
        weights = 1.0 / (1.0 / weights + variances[:, None])
        total = weights.sum(axis=1)
        means = (weights * values).sum(axis=1) / total
        parts = means * np.sqrt(unit), variances * unit, unit / total
    return GroupPrior(*parts, variance) if all(np.isfinite(part).all() for part in parts) else None


def compute_posterior(
    derivatives: Values, target: Values, prior: GroupPrior | None, variance: float
) -> tuple[Values, Values]:
    """Compute the constants of one group and their covariance.

    It solves a least-squares problem in which the prior of each constant is one more row. An orthogonal
    decomposition keeps the digits that inner products would lose.

    Parameters
    ----------
    derivatives : float64 array, shape (n, v)
        Derivatives of the target by the constants on the rows of the group.
    target : float64 array, shape (n,)
        The target of a model that is linear in the constants.
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
    >>> constants, covariance = compute_posterior(np.array([[1.0], [1.0]]), np.array([2, 4.0]), prior, 1.0)
    >>> constants.round(9).tolist(), covariance.round(9).tolist()
    ([2.0], [[0.25]])
    """
    if prior is not None:
        std, spread = np.sqrt(variance), np.sqrt(prior.variances)
        derivatives = np.vstack([derivatives / std, np.diag(1.0 / spread)])
        target, variance = np.concatenate([target / std, prior.means / spread]), 1.0
    # rows by size and columns of length 1 let the decomposition keep what small rows say
    order = np.argsort(-np.abs(derivatives).max(axis=1, initial=0.0), kind="stable")
    lengths = np.sqrt(np.square(derivatives).sum(axis=0))
    q, r = np.linalg.qr(derivatives[order] / lengths)
    inverse = np.linalg.inv(r) / lengths[:, None]
    constants = inverse @ (q.T @ target[order])
    # one step of refinement recovers the last digits of exact constants
    constants = constants + inverse @ (q.T @ (target - derivatives @ constants)[order])
    return constants, variance * (inverse @ inverse.T)


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
