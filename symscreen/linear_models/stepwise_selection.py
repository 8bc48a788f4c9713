"""Forward selection and backward elimination.

With unit features z_j, the residual r of the target, and e_j, the residual of z_j given the selected
features::

    adding z_j decreases RSS by     (r·e_j)² / ‖e_j‖²                                   (forward)
    removing z_j increases RSS by   (b·s_j)² / ‖s_j‖² = β_j² / [(ZᵀZ)⁻¹]_jj             (backward)

where s_j are the dual vectors of the features in the model (s_j·z_i = 1 if i = j, else 0) and b is the
projection of the target on their span. Both are one step of Gram-Schmidt: the chosen vector is projected out
of all the others. The Gram matrix, which would square the condition number, is neither formed nor inverted.

A feature is in the span of others if the residual of its unit vector is not longer than its tolerance. RSS is
always a share of the target's sum of squares, so the result does not depend on any scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.linear_models._kernels import RSS_TIE_TOLERANCE, project_out_direction

if TYPE_CHECKING:
    from symscreen._typing import Integers, Values


_COLLINEARITY_TOLERANCE = 1e-7  # length of the residual of a unit vector, as in R's lm
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class NestedFits:
    """Least squares of nested models, sizes 0 to k.

    Parameters
    ----------
    rss : float64 array, shape (k + 1,)
        The residual sum of squares as a share of the target's sum of squares.
    coefficients : float64 array, shape (k + 1, k)
        Coefficients of the features in their order; 0 for those not in the model.
    """

    rss: Values
    coefficients: Values


def compute_span_tolerance(centers: Values, scales: Values) -> Values:
    """Compute the residual length up to which a unit feature is in the span of others.

    Parameters
    ----------
    centers, scales : float64 arrays, shape (q,)
        The centres and scales of the standardised features.

    Returns
    -------
    float64 array, shape (q,)
        1e-7, or eight rounding errors of the feature's values if a large offset makes these larger.

    Examples
    --------
    >>> compute_span_tolerance(np.array([0.5, 1e12]), np.array([1.0, 1.0])).round(8).tolist()
    [1e-07, 0.00177636]
    """
    return np.maximum(_COLLINEARITY_TOLERANCE, 8.0 * _EPS * np.abs(centers) / scales)


def select_independent(features: Values, sequence: Integers, tolerance: Values) -> Integers:
    """Select the features that are not in the span of those before them in a sequence.

    Parameters
    ----------
    features : float64 array, shape (q, n)
        Each with mean 0 and mean square 1, or all zeros.
    sequence : int64 array
        Feature indices in the order in which they are considered.
    tolerance : float64 array, shape (q,)
        From `compute_span_tolerance`. The largest tolerance of the features involved applies.

    Returns
    -------
    int64 array, shape (r,)
        Indices of the selected features, ascending.

    Examples
    --------
    >>> x = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [1.0, 1.0, -2.0]]) * 1.2247**0.5
    >>> select_independent(x, np.array([1, 0, 2]), np.full(3, 1e-7)).tolist()
    [1, 2]
    """
    q, n = features.shape
    basis = np.empty((min(q, n - 1), n))  # at most n − 1 columns with mean 0 are independent
    selected: list[int] = []
    max_tolerance = 0.0
    for j in sequence.tolist():
        if len(selected) == len(basis):
            break
        limit = max(max_tolerance, float(tolerance[j]))
        rest = _orthogonalize(features[j] / np.sqrt(n), basis[: len(selected)])
        length = float(np.sqrt(rest @ rest))
        if length > limit:
            basis[len(selected)] = rest / length
            selected.append(j)
            max_tolerance = limit
    return np.sort(np.array(selected, dtype=np.int64))


def find_spanned_features(features: Values, model: Integers, tolerance: Values) -> Integers:
    """Find the features in the span of a model's features, which the data cannot distinguish from these.

    Parameters
    ----------
    features : float64 array, shape (q, n)
        Each with mean 0 and mean square 1, or all zeros.
    model : int64 array, shape (k,)
        Indices of linearly independent features.
    tolerance : float64 array, shape (q,)
        From `compute_span_tolerance`.

    Returns
    -------
    int64 array
        Indices, ascending, without those of the model.

    Examples
    --------
    >>> x = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [1.0, 1.0, -2.0]]) * 1.2247 ** 0.5
    >>> find_spanned_features(x, np.array([0]), np.full(3, 1e-7)).tolist()
    [1]
    """
    basis, _ = np.linalg.qr(features[model].T)
    residuals = features / np.sqrt(features.shape[1])
    for _ in range(2):
        residuals = residuals - (residuals @ basis) @ basis.T
    limits = np.maximum(tolerance, tolerance[model].max(initial=0.0))
    is_spanned = np.einsum("ij,ij->i", residuals, residuals) <= limits * limits
    is_spanned[model] = False
    return np.flatnonzero(is_spanned).astype(np.int64)


def select_forward_by_projection(
    features: Values, target: Values, max_features: int, tolerance: Values, rss_floor: float
) -> Integers:
    """Add features one by one, each time the one that decreases RSS most, and project it out of the others.

    Parameters
    ----------
    features : float64 array, shape (q, n)
        Each with mean 0 and mean square 1, or all zeros.
    target : float64 array, shape (n,)
        The target, with mean 0 and mean square 1.
    max_features : int
        Maximum number of features to add.
    tolerance : float64 array, shape (q,)
        From `compute_span_tolerance`. Features in the span of the selected ones are not added.
    rss_floor : float
        Selection stops when RSS is at most this.

    Returns
    -------
    int64 array, shape (≤ max_features,)
        Feature indices in the order of their entry; among ties the first feature enters.

    Examples
    --------
    >>> x = np.array([[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0]])
    >>> y = np.array([1.0, -3.0, 3.0, -1.0]) / 5**0.5
    >>> select_forward_by_projection(x, y, 2, np.full(2, 1e-7), 1e-24).tolist()
    [1, 0]
    """
    q, n = features.shape
    residuals, residual_target = np.ascontiguousarray(features / np.sqrt(n)), target / np.sqrt(n)
    inner_products, squared_norms = residuals @ residual_target, np.einsum("ij,ij->i", residuals, residuals)
    basis = np.empty((min(max_features, n, q), n))
    is_excluded = np.zeros(q, dtype=np.bool_)
    limits = tolerance.copy()
    order: list[int] = []
    while len(order) < len(basis):
        rss = float(residual_target @ residual_target)
        is_excluded |= squared_norms <= limits * limits
        if rss <= rss_floor or is_excluded.all():
            break
        gain = np.where(
            is_excluded, -1.0, inner_products * inner_products / np.where(is_excluded, 1.0, squared_norms)
        )
        best = int(np.argmax(gain >= gain.max() - RSS_TIE_TOLERANCE * rss))
        _project_out_feature(
            best, residuals, residual_target, inner_products, squared_norms, basis, len(order)
        )
        order.append(best)
        is_excluded[best] = True
        limits = np.maximum(limits, tolerance[best])
    return np.array(order, dtype=np.int64)


def eliminate_backward(features: Values, target: Values, rss_floor: float) -> Integers:
    """Remove features one by one, starting from all, each time the one that increases RSS least.

    Parameters
    ----------
    features : float64 array, shape (q, n)
        Linearly independent, as selected by `select_independent`; each with mean 0 and mean square 1.
    target : float64 array, shape (n,)
        The target, with mean 0 and mean square 1.
    rss_floor : float
        Increases of RSS that differ by at most this are tied.

    Returns
    -------
    int64 array, shape (q,)
        Feature indices in reverse order of their removal, so the first k are the model of size k. Among ties
        the last feature is removed first.

    Examples
    --------
    >>> x = np.array([[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0]])
    >>> eliminate_backward(x, np.array([1.0, -3.0, 3.0, -1.0]) / 5**0.5, 1e-24).tolist()
    [1, 0]
    """
    q, n = features.shape
    if q == 0:
        return np.empty(0, dtype=np.int64)
    basis_q, triangle = np.linalg.qr(features.T / np.sqrt(n))
    scaled_target = target / np.sqrt(n)
    coordinates = basis_q.T @ scaled_target
    outside = scaled_target - basis_q @ coordinates
    rss = float(outside @ outside)
    # Z = QR, so the dual vectors are the rows of R⁻¹ in the coordinates of Q.
    dual = np.ascontiguousarray(np.linalg.inv(triangle))
    inner_products, squared_norms = dual @ coordinates, np.einsum("ij,ij->i", dual, dual)
    basis = np.empty((q, q))
    in_model = np.ones(q, dtype=np.bool_)
    removed: list[int] = []
    while len(removed) < q:
        rise = np.where(
            in_model, inner_products * inner_products / np.where(in_model, squared_norms, 1.0), np.inf
        )
        equal = rise <= rise.min() + max(RSS_TIE_TOLERANCE * (rss + rise.min()), rss_floor)
        weakest = int(np.flatnonzero(equal)[-1])
        rss += float(rise[weakest])
        _project_out_feature(weakest, dual, coordinates, inner_products, squared_norms, basis, len(removed))
        removed.append(weakest)
        in_model[weakest] = False
    return np.array(removed[::-1], dtype=np.int64)


def fit_nested_models(features: Values, target: Values, order: Integers) -> NestedFits:
    """Fit the models of the first 0, 1, …, k features of an order.

    Parameters
    ----------
    features : float64 array, shape (q, n)
        Each with mean 0 and mean square 1.
    target : float64 array, shape (n,)
        The target, with mean 0 and mean square 1.
    order : int64 array, shape (k,)
        Indices of linearly independent features, k < n.

    Returns
    -------
    NestedFits

    Examples
    --------
    >>> x = np.array([[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0]])
    >>> fits = fit_nested_models(x, np.array([1.0, -3.0, 3.0, -1.0]) / 5**0.5, np.array([1, 0]))
    >>> fits.rss.round(6).tolist(), (fits.coefficients * 5**0.5).round(6).tolist()
    ([1.0, 0.2, 0.0], [[0.0, 0.0], [2.0, 0.0], [2.0, -1.0]])
    """
    n = target.size
    residual = target / np.sqrt(n)
    k = order.size
    rss, shares = np.empty(k + 1), np.empty(k)
    rss[0] = residual @ residual
    basis, triangle = np.linalg.qr(features[order].T / np.sqrt(n))
    for i in range(k):
        direction = basis[:, i]
        shares[i] = direction @ residual
        residual = residual - shares[i] * direction
        rss[i + 1] = residual @ residual
    # The inverse of R's leading block is the leading block of its inverse: β of size k is a sum of k columns.
    steps = np.cumsum(np.linalg.inv(triangle) * shares, axis=1)
    return NestedFits(rss, np.vstack([np.zeros((1, k)), steps.T]))


def _project_out_feature(
    j: int,
    residual_vectors: Values,
    residual_target: Values,
    inner_products: Values,
    squared_norms: Values,
    basis: Values,
    n_taken: int,
) -> None:
    """Project vector j out of all vectors and of the target, in place; store its direction in the basis."""
    direction = _orthogonalize(residual_vectors[j], basis[:n_taken])
    direction /= np.sqrt(direction @ direction)
    basis[n_taken] = direction
    residual_target -= (direction @ residual_target) * direction
    project_out_direction(residual_vectors, direction, residual_target, inner_products, squared_norms)


def _orthogonalize(vector: Values, basis: Values) -> Values:
    """Project a basis, shape (k, n), out of a vector, shape (n,); twice, to remove the rounding errors."""
    for _ in range(2):
        vector = vector - (basis @ vector) @ basis
    return vector
