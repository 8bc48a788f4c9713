"""Forward selection and backward elimination.

With unit features z_j, the rest r of the response and e_j, what the chosen features leave of z_j::

    taking z_j lowers RSS by   (r·e_j)² / ‖e_j‖²                                   (forward)
    leaving z_j out raises it by (b·s_j)² / ‖s_j‖² = β_j² / [(ZᵀZ)⁻¹]_jj           (backward)

where s_j are the dual vectors of the features in the model (s_j·z_i = 1 if i = j, else 0) and b the response
within their span. Both are one step of Gram-Schmidt: the vector taken is projected out of all the others, so
the Gram matrix, which would square the condition number, is never formed nor inverted.

A feature lies in the span of others where its unit vector leaves a rest no longer than its tolerance. RSS is
a share of the response's sum of squares throughout, so that no scale matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen._numba import compile_kernel

if TYPE_CHECKING:
    from symscreen._typing import Integers, Values


__all__ = [
    "RSS_TIE_TOLERANCE",
    "NestedFits",
    "compute_span_tolerance",
    "eliminate_backward",
    "find_spanned_features",
    "fit_nested_models",
    "select_forward",
    "select_independent",
]

RSS_TIE_TOLERANCE = (
    1e-12  # models whose RSS differ by less than this share of RSS are equal; the earlier feature wins
)
_COLLINEARITY_TOLERANCE = 1e-7  # rest of a unit vector, as R's lm has it
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class NestedFits:
    """Least squares of nested models, sizes 0 to k.

    Parameters
    ----------
    rss : float64 array, shape (k + 1,)
        The residual sum of squares as a share of the response's sum of squares.
    coefficients : float64 array, shape (k + 1, k)
        Of the features in their order; 0 for those not yet in the model.
    """

    rss: Values
    coefficients: Values


def compute_span_tolerance(centres: Values, scales: Values) -> Values:
    """Say how short a unit feature's rest must be for the feature to lie in the span of others.

    Parameters
    ----------
    centres, scales : float64 arrays, shape (q,)
        As features were centred and scaled.

    Returns
    -------
    float64 array, shape (q,)
        1e-7, or eight roundings of the feature's values where an offset makes these larger.

    Examples
    --------
    >>> compute_span_tolerance(np.array([0.5, 1e12]), np.array([1.0, 1.0])).round(8).tolist()
    [1e-07, 0.00177636]
    """
    return np.maximum(_COLLINEARITY_TOLERANCE, 8.0 * _EPS * np.abs(centres) / scales)


def select_independent(features: Values, sequence: Integers, tolerance: Values) -> Integers:
    """Set aside the features that lie in the span of those before them in a sequence.

    Parameters
    ----------
    features : float64 array, shape (q, n)
        Of mean 0 and mean square 1, or all zero.
    sequence : int64 array
        The features, in the order in which they are looked at.
    tolerance : float64 array, shape (q,)
        From `compute_span_tolerance`; the largest of all that take part counts.

    Returns
    -------
    int64 array, shape (r,)
        Ascending: each feature that leaves a rest when projected on those kept before it.

    Examples
    --------
    >>> x = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [1.0, 1.0, -2.0]]) * 1.2247**0.5
    >>> select_independent(x, np.array([1, 0, 2]), np.full(3, 1e-7)).tolist()
    [1, 2]
    """
    q, n = features.shape
    basis = np.empty((min(q, n - 1), n))  # no more than n − 1 columns of mean 0 are independent
    kept: list[int] = []
    widest = 0.0
    for j in sequence.tolist():
        if len(kept) == len(basis):
            break
        limit = max(widest, float(tolerance[j]))
        rest = _orthogonalize(features[j] / np.sqrt(n), basis[: len(kept)])
        length = float(np.sqrt(rest @ rest))
        if length > limit:
            basis[len(kept)] = rest / length
            kept.append(j)
            widest = limit
    return np.sort(np.array(kept, dtype=np.int64))


def find_spanned_features(features: Values, model: Integers, tolerance: Values) -> Integers:
    """Find the features in the span of a model's, which no data could tell from combinations of these.

    Parameters
    ----------
    features : float64 array, shape (q, n)
        Of mean 0 and mean square 1, or all zero.
    model : int64 array, shape (k,)
        Features that are linearly independent.
    tolerance : float64 array, shape (q,)
        From `compute_span_tolerance`.

    Returns
    -------
    int64 array
        Ascending, the model's own left out.

    Examples
    --------
    >>> x = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [1.0, 1.0, -2.0]]) * 1.2247 ** 0.5
    >>> find_spanned_features(x, np.array([0]), np.full(3, 1e-7)).tolist()
    [1]
    """
    across, _ = np.linalg.qr(features[model].T)
    left = features / np.sqrt(features.shape[1])
    for _ in range(2):
        left = left - (left @ across) @ across.T
    limits = np.maximum(tolerance, tolerance[model].max(initial=0.0))
    inside = np.einsum("ij,ij->i", left, left) <= limits * limits
    inside[model] = False
    return np.flatnonzero(inside).astype(np.int64)


def select_forward(
    features: Values, target: Values, max_features: int, tolerance: Values, rss_floor: float
) -> Integers:
    """Take features one by one, each time the one that lowers RSS most.

    Parameters
    ----------
    features : float64 array, shape (q, n)
        Of mean 0 and mean square 1, or all zero.
    target : float64 array, shape (n,)
        Of mean 0 and mean square 1.
    most : int
        How many to take at most.
    tolerance : float64 array, shape (q,)
        A feature within it of the span of those taken is not taken.
    floor : float
        RSS from which down nothing is left to explain, and no more is taken.

    Returns
    -------
    int64 array, shape (at most `most`,)
        The features in the order of their entry; of equals the first enters.

    Examples
    --------
    >>> x = np.array([[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0]])
    >>> select_forward(x, np.array([1.0, -3.0, 3.0, -1.0]) / 5**0.5, 2, np.full(2, 1e-7), 1e-24).tolist()
    [1, 0]
    """
    q, n = features.shape
    left, rest = np.ascontiguousarray(features / np.sqrt(n)), target / np.sqrt(n)
    along, squares = left @ rest, np.einsum("ij,ij->i", left, left)
    basis = np.empty((min(max_features, n, q), n))
    closed = np.zeros(q, dtype=np.bool_)
    limits = tolerance.copy()
    order: list[int] = []
    while len(order) < len(basis):
        rss = float(rest @ rest)
        closed |= squares <= limits * limits
        if rss <= rss_floor or closed.all():
            break
        gain = np.where(closed, -1.0, along * along / np.where(closed, 1.0, squares))
        best = int(np.argmax(gain >= gain.max() - RSS_TIE_TOLERANCE * rss))
        _project_out_feature(best, left, rest, along, squares, basis, len(order))
        order.append(best)
        closed[best] = True
        limits = np.maximum(limits, tolerance[best])
    return np.array(order, dtype=np.int64)


def eliminate_backward(features: Values, target: Values, rss_floor: float) -> Integers:
    """Leave features out one by one, from all of them down, each time the one that raises RSS least.

    Parameters
    ----------
    features : float64 array, shape (q, n)
        Linearly independent, as `independent` leaves them; of mean 0 and mean square 1.
    target : float64 array, shape (n,)
        Of mean 0 and mean square 1.
    floor : float
        A rise of RSS up to it is rounding.

    Returns
    -------
    int64 array, shape (q,)
        The features in the reverse order of their removal, so that the first k are the model of size k; of
        equals the last is left out first.

    Examples
    --------
    >>> x = np.array([[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0]])
    >>> eliminate_backward(x, np.array([1.0, -3.0, 3.0, -1.0]) / 5**0.5, 1e-24).tolist()
    [1, 0]
    """
    q, n = features.shape
    if q == 0:
        return np.empty(0, dtype=np.int64)
    across, triangle = np.linalg.qr(features.T / np.sqrt(n))
    aim = target / np.sqrt(n)
    rest = across.T @ aim
    outside = aim - across @ rest
    rss = float(outside @ outside)
    # Z = QR, so the dual vectors are the rows of R⁻¹ in the coordinates of Q
    dual = np.ascontiguousarray(np.linalg.inv(triangle))
    along, squares = dual @ rest, np.einsum("ij,ij->i", dual, dual)
    basis = np.empty((q, q))
    present = np.ones(q, dtype=np.bool_)
    removed: list[int] = []
    while len(removed) < q:
        rise = np.where(present, along * along / np.where(present, squares, 1.0), np.inf)
        equal = rise <= rise.min() + max(RSS_TIE_TOLERANCE * (rss + rise.min()), rss_floor)
        least = int(np.flatnonzero(equal)[-1])
        rss += float(rise[least])
        _project_out_feature(least, dual, rest, along, squares, basis, len(removed))
        removed.append(least)
        present[least] = False
    return np.array(removed[::-1], dtype=np.int64)


def fit_nested_models(features: Values, target: Values, order: Integers) -> NestedFits:
    """Fit the models that hold the first 0, 1, …, k features of an order.

    Parameters
    ----------
    features : float64 array, shape (q, n)
        Of mean 0 and mean square 1.
    target : float64 array, shape (n,)
        Of mean 0 and mean square 1.
    order : int64 array, shape (k,)
        Features that are linearly independent, k < n.

    Returns
    -------
    Fits

    Examples
    --------
    >>> x = np.array([[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0]])
    >>> fits = fit_nested_models(x, np.array([1.0, -3.0, 3.0, -1.0]) / 5**0.5, np.array([1, 0]))
    >>> fits.rss.round(6).tolist(), (fits.coefficients * 5**0.5).round(6).tolist()
    ([1.0, 0.2, 0.0], [[0.0, 0.0], [2.0, 0.0], [2.0, -1.0]])
    """
    n = target.size
    rest = target / np.sqrt(n)
    k = order.size
    rss, shares = np.empty(k + 1), np.empty(k)
    rss[0] = rest @ rest
    across, triangle = np.linalg.qr(features[order].T / np.sqrt(n))
    for i in range(k):
        direction = across[:, i]
        shares[i] = direction @ rest
        rest = rest - shares[i] * direction
        rss[i + 1] = rest @ rest
    # the inverse of R's leading block is the leading block of its inverse: β of size k sums k columns
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
    """Project vector j out of all vectors and of the rest, in place; keep its direction in the basis."""
    direction = _orthogonalize(residual_vectors[j], basis[:n_taken])
    direction /= np.sqrt(direction @ direction)
    basis[n_taken] = direction
    residual_target -= (direction @ residual_target) * direction
    _project_out_direction(residual_vectors, direction, residual_target, inner_products, squared_norms)


def _orthogonalize(vector: Values, basis: Values) -> Values:
    # twice is enough: what the first projection leaves of the basis by rounding, the second takes away
    for _ in range(2):
        vector = vector - (basis @ vector) @ basis
    return vector


@compile_kernel
def _project_out_direction(
    residual_vectors: Values,
    direction: Values,
    residual_target: Values,
    inner_products: Values,
    squared_norms: Values,
) -> None:
    for j in range(residual_vectors.shape[0]):
        vector = residual_vectors[j]  # stays in the cache for all four passes
        share = np.dot(vector, direction)
        for i in range(vector.size):
            vector[i] -= share * direction[i]
        inner_products[j] = np.dot(vector, residual_target)
        squared_norms[j] = np.dot(vector, vector)
