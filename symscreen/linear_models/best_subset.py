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
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.linear_models.stepwise_selection import RSS_TIE_TOLERANCE

if TYPE_CHECKING:
    from symscreen._typing import Flags, Integers, Values


class _ProjectionLevels(NamedTuple):
    """Vectors as columns and a target, projected 0, 1, … times; each level is computed from the last."""

    vectors: Values  # (levels, r, q)
    target: Values  # (levels, r)
    target_products: Values  # (levels, q): inner products of vectors and target
    squared_norms: Values  # (levels, q): squared norms of the vectors


class _SubsetSearch(NamedTuple):
    """The state that all nodes of one search share."""

    members: _ProjectionLevels  # by number of members: residuals of the features and the target
    removed: _ProjectionLevels  # by number of removed features: dual vectors of the others, and the target
    buffer: _ProjectionLevels  # one level of scratch space
    tolerance: Values  # (q,)
    current_members: Integers  # (size,): the members at the current node
    max_tolerance: Values  # (size,): the largest tolerance among the first 0, 1, … members
    best_model: Integers  # (size,): the best model so far
    best_rss: Values  # (1,): its RSS
    work_and_limit: Integers  # (2,): nodes visited, and the limit


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
        _ProjectionLevels(np.empty((n, r, q)), np.empty((n, r)), np.empty((n, q)), np.empty((n, q)))
        for n in (size, q + 1, 1)
    )
    members.vectors[0], members.target[0] = vectors, target
    _compute_inner_products(members, 0)
    current_members, max_tolerance = np.empty(size, dtype=np.int64), np.zeros(size)
    best, work = np.array([rss_to_beat]), np.array([0, max_work])
    search = _SubsetSearch(
        members, removed, buffer, tolerance, current_members, max_tolerance, model, best, work
    )
    _visit_node(0, 0, np.ones(q, dtype=np.bool_), 0.0, False, search)  # noqa: FBT003 - kernels have no keywords
    return int(work[0])


@compile_kernel
def _visit_node(
    n_members: int, n_removed: int, free: Flags, subset_rss: float, has_dual: bool, search: _SubsetSearch
) -> None:
    """Search below a node with k members and g removed features; `subset_rss` is RSS(S) if `has_dual`."""
    members, removed, best, work = search.members, search.removed, search.best_rss, search.work_and_limit
    n_missing = search.best_model.size - n_members
    work[0] += 1
    n_free = _exclude_spanned(
        free, members.squared_norms[n_members], search.tolerance, search.max_tolerance[n_members]
    )
    if n_missing == 1:
        _try_last_member(free, search)
    if n_missing == 1 or n_free < n_missing or work[0] > work[1]:
        return
    branch_feature, rss_increase = -1, 0.0
    if not has_dual:
        work[0] += n_free  # the cost of new dual vectors
        subset_rss, branch_feature = _compute_dual_vectors(free, n_members, n_removed, search)
        has_dual = branch_feature < 0
    if has_dual:
        branch_feature, rss_increase = _find_largest_change(
            free, removed.target_products[n_removed], removed.squared_norms[n_removed]
        )
    if subset_rss >= best[0] * (1.0 - RSS_TIE_TOLERANCE):
        return
    free[branch_feature] = False
    search.current_members[n_members] = branch_feature
    search.max_tolerance[n_members + 1] = max(
        search.max_tolerance[n_members], search.tolerance[branch_feature]
    )
    _project_out(members, n_members, n_members + 1, branch_feature)
    _visit_node(n_members + 1, n_removed, free.copy(), subset_rss, has_dual, search)
    if subset_rss + rss_increase < best[0] * (1.0 - RSS_TIE_TOLERANCE):
        if has_dual:
            _project_out(removed, n_removed, n_removed + 1, branch_feature)
        _visit_node(n_members, n_removed + 1, free, subset_rss + rss_increase, has_dual, search)


@compile_kernel
def _project_out(levels: _ProjectionLevels, source_level: int, target_level: int, column: int) -> None:
    """Project a column of a level out of all its columns and the target, into the same or another level."""
    source, target = levels.vectors[source_level], levels.vectors[target_level]
    r, q = source.shape
    direction = source[:, column] / np.sqrt(levels.squared_norms[source_level, column])
    shares = np.zeros(q)
    share = 0.0
    # The loop over features is the innermost: it is vectorised, and each sum has a fixed order.
    for i in range(r):
        share += direction[i] * levels.target[source_level, i]
        for f in range(q):
            shares[f] += direction[i] * source[i, f]
    for i in range(r):
        levels.target[target_level, i] = levels.target[source_level, i] - share * direction[i]
        for f in range(q):
            target[i, f] = source[i, f] - direction[i] * shares[f]
    _compute_inner_products(levels, target_level)


@compile_kernel
def _compute_inner_products(levels: _ProjectionLevels, level: int) -> None:
    """Compute the inner products of a level's columns with its target and with themselves."""
    vectors, target, target_products, squared_norms = (
        levels.vectors[level],
        levels.target[level],
        levels.target_products[level],
        levels.squared_norms[level],
    )
    target_products[:] = 0.0
    squared_norms[:] = 0.0
    for i in range(vectors.shape[0]):
        for f in range(vectors.shape[1]):
            target_products[f] += target[i] * vectors[i, f]
            squared_norms[f] += vectors[i, f] * vectors[i, f]


@compile_kernel
def _exclude_spanned(free: Flags, squared_norms: Values, tolerance: Values, max_tolerance: float) -> int:
    """Exclude features in the span of the members from the free ones; return the number of free features."""
    n_free = 0
    for f in range(free.size):
        limit = max(tolerance[f], max_tolerance)
        free[f] = free[f] and squared_norms[f] > limit * limit
        n_free += free[f]
    return n_free


@compile_kernel
def _try_last_member(free: Flags, search: _SubsetSearch) -> None:
    """Add the free feature that decreases RSS most as the last member; store the model if it is the best."""
    members, k = search.members, search.best_model.size - 1
    rss = 0.0
    last, gain = _find_largest_change(free, members.target_products[k], members.squared_norms[k])
    for i in range(members.target.shape[1]):
        rss += members.target[k, i] * members.target[k, i]
    rss = max(rss - gain, 0.0)
    if last >= 0 and rss < search.best_rss[0] * (1.0 - RSS_TIE_TOLERANCE):
        search.best_rss[0] = rss
        for i in range(k):
            search.best_model[i] = search.current_members[i]
        search.best_model[k] = last


@compile_kernel
def _find_largest_change(free: Flags, target_products: Values, squared_norms: Values) -> tuple[int, float]:
    """Find the free feature that changes RSS most when added or removed; return it and the change."""
    change, best_feature = -1.0, -1
    for f in range(free.size):
        if free[f] and target_products[f] * target_products[f] > change * squared_norms[f]:
            change, best_feature = target_products[f] * target_products[f] / squared_norms[f], f
    return best_feature, change


@compile_kernel
def _compute_dual_vectors(
    free: Flags, n_members: int, n_removed: int, search: _SubsetSearch
) -> tuple[float, int]:
    """Compute the dual vectors of the free columns, which are orthogonalised by descending gain.

    Returns RSS of all of them, and −1 or a column in the span of others; in this case there are no dual
    vectors.
    """
    members, removed, buffer, max_tolerance = (
        search.members,
        search.removed,
        search.buffer,
        search.max_tolerance[n_members],
    )
    residuals, work = members.vectors[n_members], buffer.vectors[0]
    r, q = residuals.shape
    for i in range(r):
        buffer.target[0, i] = removed.target[n_removed, i] = members.target[n_members, i]
        for f in range(q):
            work[i, f] = residuals[i, f]
    _compute_inner_products(buffer, 0)
    columns, basis = np.empty(q, dtype=np.int64), np.empty((q, r))
    m, spanned, is_waiting = 0, -1, free.copy()
    for _ in range(q):
        j, _ = _find_largest_change(
            is_waiting, members.target_products[n_members], members.squared_norms[n_members]
        )
        if j < 0:
            break
        is_waiting[j] = False
        max_tolerance = max(max_tolerance, search.tolerance[j])
        if buffer.squared_norms[0, j] <= max_tolerance * max_tolerance:
            spanned = j
            continue
        columns[m] = j
        for i in range(r):
            basis[m, i] = work[i, j] / np.sqrt(buffer.squared_norms[0, j])
        m += 1
        _project_out(buffer, 0, 0, j)
    if spanned < 0:
        _solve_dual_vectors(residuals, columns[:m], basis, removed.vectors[n_removed])
        _compute_inner_products(removed, n_removed)
    rss = 0.0
    for i in range(r):
        rss += buffer.target[0, i] * buffer.target[0, i]
    return rss, spanned


@compile_kernel
def _solve_dual_vectors(residuals: Values, columns: Integers, basis: Values, dual: Values) -> None:
    """Compute the dual vectors S of the columns E = QR; the rows of `basis`, shape (m, r), are Qᵀ."""
    r, q = residuals.shape
    shares = np.empty(q)
    # S Rᵀ = Q, from the last column of S to the first. Row a of R = QᵀE contains the products with direction
    # a.
    for a in range(columns.size - 1, -1, -1):
        shares[:] = 0.0
        for i in range(r):
            for f in range(q):
                shares[f] += basis[a, i] * residuals[i, f]
        for b in range(a + 1, columns.size):
            for i in range(r):
                basis[a, i] -= shares[columns[b]] * basis[b, i]
        for i in range(r):
            basis[a, i] /= shares[columns[a]]
            dual[i, columns[a]] = basis[a, i]


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
