"""The best subset of every size: exchanges find a good one, branch and bound proves it best or improves it.

As in leaps and bounds (Furnival and Wilson 1974), the search uses that RSS only increases when features are
removed, so no subset of a set S fits better than S. At a node of the search some features are fixed members
and others are free. S is the union of both, and RSS(S) is a lower bound for all models below the node. The
node branches on the free feature whose removal increases RSS most, first with it, then without it. The second
branch is pruned if RSS without the feature is not below the best RSS so far. One projection updates a node in
both cases, as in `stepwise_selection`: of the residuals of the features if one is added, and of the dual
vectors of the free features if one is removed.

A linearly dependent S has no dual vectors. Its node branches on a feature in the span of others until there
is none. Dependent models are not visited, because a smaller model fits as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.linear_models._kernels import (
    RSS_TIE_TOLERANCE,
    ProjectionLevels,
    SubsetSearch,
    compute_level_products,
    visit_node,
)

if TYPE_CHECKING:
    from symscreen._typing import Integers, Values


def search_subsets(
    vectors: Values, target: Values, tolerance: Values, rss_to_beat: float, model: Integers, max_work: int
) -> int:
    """Search for the linearly independent subset of one size with the smallest RSS.

    Parameters
    ----------
    vectors : float64 array, shape (r, q), C-contiguous
        One feature per column, with norm 1.
    target : float64 array, shape (r,)
        The target. One coordinate may hold the norm of the part that no feature explains.
    tolerance : float64 array, shape (q,)
        Length of the residual up to which a feature is in the span of others.
    rss_to_beat : float
        RSS of a good model, or infinity.
    model : int64 array, shape (size,)
        Overwritten with the best subset, unsorted, if its RSS is below `rss_to_beat`.
    max_work : int
        Maximum work.

    Returns
    -------
    int
        The work: the number of nodes visited, plus the number of free features of each node that computed new
        dual vectors. If it exceeds `max_work`, the search was stopped early.

    Examples
    --------
    >>> model = np.array([0, 1])
    >>> search_subsets(np.eye(3), np.array([1.0, 3.0, 2.0]), np.full(3, 1e-7), np.inf, model, 100) < 100
    True
    >>> model.tolist()
    [1, 2]
    """
    (r, q), size = vectors.shape, model.size
    members, removed, buffer = (
        ProjectionLevels(np.empty((n, r, q)), np.empty((n, r)), np.empty((n, q)), np.empty((n, q)))
        for n in (size, q + 1, 1)
    )
    members.vectors[0], members.target[0] = vectors, target
    compute_level_products(members, 0)
    current_members, max_tolerance = np.empty(size, dtype=np.int64), np.zeros(size)
    best, work = np.array([rss_to_beat]), np.array([0, max_work])
    search = SubsetSearch(
        members, removed, buffer, tolerance, current_members, max_tolerance, model, best, work
    )
    visit_node(0, 0, np.ones(q, dtype=np.bool_), 0.0, False, search)  # noqa: FBT003 - kernels have no keywords
    return int(work[0])


@dataclass(frozen=True, eq=False)
class BestSubsets:
    """The best models of size 0, 1, ….

    models : tuple of int64 arrays
        The features of each model, ascending, by size from 0.
    rss : float64 array, shape (sizes,)
        RSS as a share of the target's sum of squares.
    proven_size : int
        Models up to this size are proven to be optimal; larger ones are the best found.
    work : int
        Number of nodes visited, plus the number of free features of each node that computed new dual vectors.
    """

    models: tuple[Integers, ...]
    rss: Values
    proven_size: int
    work: int


def find_best_subsets(
    features: Values, target: Values, max_size: int, tolerance: Values, rss_floor: float, max_work: int
) -> BestSubsets:
    """Find the linearly independent set of features with the smallest RSS, for every size.

    Parameters
    ----------
    features : float64 array, shape (q, n)
        Each with mean 0 and mean square 1, or all zeros.
    target : float64 array, shape (n,)
        The target, with mean 0 and mean square 1.
    max_size : int
        The largest size.
    tolerance : float64 array, shape (q,)
        From `symscreen.linear_models.stepwise_selection.compute_span_tolerance`.
    rss_floor : float
        Larger sizes are not tried once RSS is at most this.
    max_work : int
        Maximum work over all sizes. Once it is exceeded, models are the best found so far. If negative, they
        are those that no single exchange improves, without a search.

    Returns
    -------
    BestSubsets
        Fewer sizes than `max_size` if no more features are independent, or `rss_floor` is reached. Among
        models whose RSS agree to 12 digits, one in which no member can be exchanged for an earlier feature.

    Examples
    --------
    >>> x = np.array([[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0], [1.0, -1.0, -1.0, 1.0]])
    >>> y = np.array([3.0, -1.0, -1.0, -1.0]) / 3**0.5
    >>> subsets = find_best_subsets(x, y, 2, np.full(3, 1e-7), 1e-24, 1000)
    >>> [model.tolist() for model in subsets.models], subsets.rss.round(6).tolist()
    ([[], [0], [0, 1]], [1.0, 0.666667, 0.333333])
    """
    vectors, rotated_target = _rotate_to_coordinates(features, target)
    distinct = _find_distinct_features(vectors, tolerance)
    vectors, tolerance = np.ascontiguousarray(vectors[:, distinct]), tolerance[distinct]
    models, rss = [np.empty(0, dtype=np.int64)], [float(rotated_target @ rotated_target)]
    proven_size = work = 0
    while len(models) <= max_size and rss[-1] > rss_floor:
        start = _extend_model(vectors, rotated_target, models[-1], tolerance)
        if start.size < len(models):
            break
        model, model_rss = _exchange_members(vectors, rotated_target, start, tolerance)
        if model_rss > rss_floor and work <= max_work:
            work += search_subsets(vectors, rotated_target, tolerance, model_rss, model, max_work - work)
        if work <= max_work:
            proven_size = len(models)
        model, model_rss = _prefer_earlier_features(vectors, rotated_target, model, tolerance, rss_floor)
        models.append(np.sort(model))
        rss.append(model_rss)
    return BestSubsets(tuple(distinct[model] for model in models), np.array(rss), proven_size, work)


def _rotate_to_coordinates(features: Values, target: Values) -> tuple[Values, Values]:
    """Rotate features, as columns, and target into few coordinates: R and Qᵀy of Z = QR.

    The last coordinate is the norm of the part of the target that no feature explains.
    """
    n = target.size
    basis, triangle = np.linalg.qr(features.T / np.sqrt(n))
    coordinates = basis.T @ target / np.sqrt(n)
    residual = target / np.sqrt(n) - basis @ coordinates
    return np.vstack([triangle, np.zeros((1, len(features)))]), np.append(
        coordinates, np.sqrt(residual @ residual)
    )


def _find_distinct_features(vectors: Values, tolerance: Values) -> Integers:
    """Find features that are not copies of earlier ones: no model improves by using the copy instead."""
    distinct: list[int] = []
    for j, limit in enumerate(tolerance):
        earlier, vector = vectors[:, distinct], vectors[:, j]
        residuals = vector[:, None] - earlier * (vector @ earlier)
        limits = np.maximum(limit, tolerance[distinct])
        if not (np.einsum("ij,ij->j", residuals, residuals) <= limits * limits).any():
            distinct.append(j)
    return np.array(distinct, dtype=np.int64)


def _compute_gains(
    vectors: Values, target: Values, model: Integers, tolerance: Values
) -> tuple[Values, float]:
    """Compute the decrease of RSS by each other feature, shape (q,), −1 if it cannot be added; and RSS."""
    basis, _ = np.linalg.qr(vectors[:, model])
    residual, residuals = target, vectors
    for _ in range(2):
        residual = residual - basis @ (basis.T @ residual)
        residuals = residuals - basis @ (basis.T @ residuals)
    squared_norms = np.einsum("ij,ij->j", residuals, residuals)
    limits = np.maximum(tolerance, tolerance[model].max(initial=0.0))
    can_enter = squared_norms > limits * limits
    can_enter[model] = False
    gains = np.where(can_enter, (residual @ residuals) ** 2 / np.where(can_enter, squared_norms, 1.0), -1.0)
    return gains, float(residual @ residual)


def _extend_model(vectors: Values, target: Values, model: Integers, tolerance: Values) -> Integers:
    """Add the feature that decreases RSS most, if any can be added."""
    gains, _ = _compute_gains(vectors, target, model, tolerance)
    best = int(np.argmax(gains))
    return model if gains[best] < 0.0 else np.append(model, best)


def _exchange_members(
    vectors: Values, target: Values, model: Integers, tolerance: Values
) -> tuple[Integers, float]:
    """Exchange single members while that decreases RSS, to give the search a good model to beat."""
    _, model_rss = _compute_gains(vectors, target, model, tolerance)
    improved = True
    while improved:
        improved = False
        for member in model.copy():
            others = model[model != member]
            gains, rss = _compute_gains(vectors, target, others, tolerance)
            best = int(np.argmax(gains))
            new_rss = max(rss - float(gains[best]), 0.0)  # rounding of an exact fit may give a negative value
            if gains[best] >= 0.0 and new_rss < model_rss * (1.0 - RSS_TIE_TOLERANCE):
                model, model_rss, improved = np.append(others, best), new_rss, True
    return model, model_rss


def _prefer_earlier_features(
    vectors: Values, target: Values, model: Integers, tolerance: Values, rss_floor: float
) -> tuple[Integers, float]:
    """Exchange members for earlier features that fit equally well, so that ties go to the first features."""
    _, model_rss = _compute_gains(vectors, target, model, tolerance)
    max_rss = model_rss + max(RSS_TIE_TOLERANCE * model_rss, rss_floor)
    is_final = False
    while not is_final:
        is_final = True
        for member in np.sort(model)[::-1]:
            others = model[model != member]
            gains, rss = _compute_gains(vectors, target, others, tolerance)
            equal = (gains[:member] >= 0.0) & (rss - gains[:member] <= max_rss)
            if equal.any():
                model, is_final = np.append(others, int(np.argmax(equal))), False
    return model, _compute_gains(vectors, target, model, tolerance)[1]
