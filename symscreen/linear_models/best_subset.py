"""Branch and bound for the best subset of one size.

As in leaps and bounds (Furnival and Wilson 1974), the search rests on this: RSS only rises as features leave,
so that no subset of a set S fits better than S. At a node of the search some features are in for good and the
others are free; S is both, and RSS(S) bounds all models below. The node branches on the free feature that is
dearest to lose, first with it, then without it; where RSS without it is no less than the best found so far,
the second branch is closed unseen. One projection updates a node either way, as in `stepwise`: over what the
members leave of the features where one comes in, over the dual vectors of the free features where one goes.

A linearly dependent S has no dual vectors. Its node branches on a feature that lies in the span of others,
until none does; dependent models are not visited, for a smaller one fits as well.

The best subset of every size: exchanges find a good one, branch and bound proves it best or beats it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.linear_models.stepwise_selection import RSS_TIE_TOLERANCE

if TYPE_CHECKING:
    from symscreen._typing import Flags, Integers, Values


__all__ = ["BestSubsets", "find_best_subsets", "search_subsets"]


class _ProjectionLevels(NamedTuple):
    """Vectors as columns and an aim, projected 0, 1, … times: each level is made from the one before."""

    vectors: Values  # (levels, r, q)
    target: Values  # (levels, r)
    target_products: Values  # (levels, q): inner products of vectors and aim
    squared_norms: Values  # (levels, q): inner products of vectors with themselves


class _SubsetSearch(NamedTuple):
    """What all nodes of one search share."""

    members: _ProjectionLevels  # by the members: what they leave of the features and of the response
    removed: _ProjectionLevels  # by the features gone: the dual vectors of the others, and the response
    buffer: _ProjectionLevels  # one level to work in
    tolerance: Values  # (q,)
    current_members: Integers  # (size,): the members at the present node
    max_tolerance: Values  # (size,): the largest tolerance among the first 0, 1, … members
    best_model: Integers  # (size,): the best model so far
    best_rss: Values  # (1,): its RSS
    work_and_limit: Integers  # (2,): nodes visited, and the most to visit


def search_subsets(
    vectors: Values, target: Values, tolerance: Values, rss_to_beat: float, model: Integers, max_work: int
) -> int:
    """Look for the independent subset of one size with the least RSS.

    Parameters
    ----------
    vectors : float64 array, shape (r, q), C-contiguous
        One column a feature, of length 1.
    aim : float64 array, shape (r,)
        The response; what no feature can explain may be one of its coordinates.
    tolerance : float64 array, shape (q,)
        How short a rest puts a feature in the span of others.
    least : float
        RSS to beat: that of a good model, or infinity.
    model : int64 array, shape (size,)
        Receives the best subset if that beats `least`, in no particular order.
    budget : int
        The most work to do.

    Returns
    -------
    int
        The work done: nodes visited, and the free features of those that needed dual vectors anew. Above
        `budget` the search was cut short.

    Examples
    --------
    >>> model = np.array([0, 1])
    >>> search_subsets(np.eye(3), np.array([1.0, 3.0, 2.0]), np.full(3, 1e-7), np.inf, model, 100) < 100
    True
    >>> model.tolist()
    [1, 2]
    """
    (r, q), size = vectors.shape, model.size
    members, gone, spare = (
        _ProjectionLevels(np.empty((n, r, q)), np.empty((n, r)), np.empty((n, q)), np.empty((n, q)))
        for n in (size, q + 1, 1)
    )
    members.vectors[0], members.target[0] = vectors, target
    _compute_inner_products(members, 0)
    present, widest = np.empty(size, dtype=np.int64), np.zeros(size)
    best, work = np.array([rss_to_beat]), np.array([0, max_work])
    search = _SubsetSearch(members, gone, spare, tolerance, present, widest, model, best, work)
    _visit_node(0, 0, np.ones(q, dtype=np.bool_), 0.0, False, search)  # noqa: FBT003 - kernels take no names
    return int(work[0])


@compile_kernel
def _visit_node(
    n_members: int, n_removed: int, free: Flags, subset_rss: float, has_dual: bool, search: _SubsetSearch
) -> None:
    """Search below a node with k members from which g features are gone; `least` is RSS(S), if known."""
    members, gone, best, work = search.members, search.removed, search.best_rss, search.work_and_limit
    room = search.best_model.size - n_members
    work[0] += 1
    count = _exclude_spanned(
        free, members.squared_norms[n_members], search.tolerance, search.max_tolerance[n_members]
    )
    if room == 1:
        _try_last_member(free, search)
    if room == 1 or count < room or work[0] > work[1]:
        return
    dearest, rise = -1, 0.0
    if not has_dual:
        work[0] += count  # so much dearer are dual vectors made anew
        subset_rss, dearest = _compute_dual_vectors(free, n_members, n_removed, search)
        has_dual = dearest < 0
    if has_dual:
        dearest, rise = _find_largest_change(
            free, gone.target_products[n_removed], gone.squared_norms[n_removed]
        )
    if subset_rss >= best[0] * (1.0 - RSS_TIE_TOLERANCE):
        return
    free[dearest] = False
    search.current_members[n_members] = dearest
    search.max_tolerance[n_members + 1] = max(search.max_tolerance[n_members], search.tolerance[dearest])
    _project_out(members, n_members, n_members + 1, dearest)
    _visit_node(n_members + 1, n_removed, free.copy(), subset_rss, has_dual, search)
    if subset_rss + rise < best[0] * (1.0 - RSS_TIE_TOLERANCE):
        if has_dual:
            _project_out(gone, n_removed, n_removed + 1, dearest)
        _visit_node(n_members, n_removed + 1, free, subset_rss + rise, has_dual, search)


@compile_kernel
def _project_out(levels: _ProjectionLevels, source_level: int, target_level: int, column: int) -> None:
    """Project column j of a level out of all its columns and of the aim, into the same or another level."""
    source, target = levels.vectors[source_level], levels.vectors[target_level]
    r, q = source.shape
    direction = source[:, column] / np.sqrt(levels.squared_norms[source_level, column])
    shares = np.zeros(q)
    share = 0.0
    # features run innermost: many at a time, each of its sums in a fixed order
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
    """Compute the inner products of a level's columns with its aim and with themselves."""
    vectors, aim, along, squares = (
        levels.vectors[level],
        levels.target[level],
        levels.target_products[level],
        levels.squared_norms[level],
    )
    along[:] = 0.0
    squares[:] = 0.0
    for i in range(vectors.shape[0]):
        for f in range(vectors.shape[1]):
            along[f] += aim[i] * vectors[i, f]
            squares[f] += vectors[i, f] * vectors[i, f]


@compile_kernel
def _exclude_spanned(free: Flags, squared_norms: Values, tolerance: Values, max_tolerance: float) -> int:
    """Take the features in the span of the members from the free ones; count those that stay."""
    count = 0
    for f in range(free.size):
        limit = max(tolerance[f], max_tolerance)
        free[f] = free[f] and squared_norms[f] > limit * limit
        count += free[f]
    return count


@compile_kernel
def _try_last_member(free: Flags, search: _SubsetSearch) -> None:
    """Fill the last place with the free feature that lowers RSS most; keep the model if it is the best."""
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
    """Find the free feature by which RSS falls most if it enters, or rises most if it goes; say how much."""
    change, largest = -1.0, -1
    for f in range(free.size):
        if free[f] and target_products[f] * target_products[f] > change * squared_norms[f]:
            change, largest = target_products[f] * target_products[f] / squared_norms[f], f
    return largest, change


@compile_kernel
def _compute_dual_vectors(
    free: Flags, n_members: int, n_removed: int, search: _SubsetSearch
) -> tuple[float, int]:
    """Compute the dual vectors of the free columns, taken in the order of their gains.

    Return the RSS of them all; and −1, or a column in the span of others: then there are no dual vectors.
    """
    members, gone, spare, widest = (
        search.members,
        search.removed,
        search.buffer,
        search.max_tolerance[n_members],
    )
    left, work = members.vectors[n_members], spare.vectors[0]
    r, q = left.shape
    for i in range(r):
        spare.target[0, i] = gone.target[n_removed, i] = members.target[n_members, i]
        for f in range(q):
            work[i, f] = left[i, f]
    _compute_inner_products(spare, 0)
    columns, across = np.empty(q, dtype=np.int64), np.empty((q, r))
    m, spanned, waiting = 0, -1, free.copy()
    for _ in range(q):
        j, _ = _find_largest_change(
            waiting, members.target_products[n_members], members.squared_norms[n_members]
        )
        if j < 0:
            break
        waiting[j] = False
        widest = max(widest, search.tolerance[j])
        if spare.squared_norms[0, j] <= widest * widest:
            spanned = j
            continue
        columns[m] = j
        for i in range(r):
            across[m, i] = work[i, j] / np.sqrt(spare.squared_norms[0, j])
        m += 1
        _project_out(spare, 0, 0, j)
    if spanned < 0:
        _solve_dual_vectors(left, columns[:m], across, gone.vectors[n_removed])
        _compute_inner_products(gone, n_removed)
    rss = 0.0
    for i in range(r):
        rss += spare.target[0, i] * spare.target[0, i]
    return rss, spanned


@compile_kernel
def _solve_dual_vectors(residuals: Values, columns: Integers, basis: Values, dual: Values) -> None:
    """Compute the dual vectors S of the columns E = QR, from Q, whose columns are the rows of `across`."""
    r, q = residuals.shape
    shares = np.empty(q)
    # S Rᵀ = Q, from the last column of S to the first; row a of R = QᵀE is the shares along direction a
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

    Parameters
    ----------
    models : tuple of int64 arrays
        The features of each model, ascending, by size from 0.
    rss : float64 array, shape (sizes,)
        As a share of the response's sum of squares.
    proven : int
        Models of up to this size are proven best; those of larger sizes are the best found.
    work : int
        Nodes visited; one that needed dual vectors anew counts once more for each of its free features.
    """

    models: tuple[Integers, ...]
    rss: Values
    proven_size: int
    work: int


def find_best_subsets(
    features: Values, target: Values, max_size: int, tolerance: Values, rss_floor: float, max_work: int
) -> BestSubsets:
    """Find the linearly independent set of features with the least RSS, for every size.

    Parameters
    ----------
    features : float64 array, shape (q, n)
        Of mean 0 and mean square 1, or all zero.
    target : float64 array, shape (n,)
        Of mean 0 and mean square 1.
    most : int
        The largest size.
    tolerance : float64 array, shape (q,)
        How short a rest puts a feature in the span of others (`stepwise.span_tolerance`).
    floor : float
        RSS from which down nothing is left to explain: larger sizes are not tried.
    budget : int
        The most `work` to do, over all sizes; beyond it models are the best found so far. Below 0, nothing
        is searched, and models are those that no single exchange betters.

    Returns
    -------
    BestSubsets
        Fewer sizes than `most` where no more features are independent, or the floor is reached. Of models
        whose RSS is equal to 12 digits, one in which no member can be exchanged for an earlier feature.

    Examples
    --------
    >>> x = np.array([[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0], [1.0, -1.0, -1.0, 1.0]])
    >>> y = np.array([3.0, -1.0, -1.0, -1.0]) / 3**0.5
    >>> found = find_best_subsets(x, y, 2, np.full(3, 1e-7), 1e-24, 1000)
    >>> [model.tolist() for model in found.models], found.rss.round(6).tolist()
    ([[], [0], [0, 1]], [1.0, 0.666667, 0.333333])
    """
    vectors, aim = _rotate_to_coordinates(features, target)
    distinct = _find_distinct_features(vectors, tolerance)
    vectors, tolerance = np.ascontiguousarray(vectors[:, distinct]), tolerance[distinct]
    models, rss = [np.empty(0, dtype=np.int64)], [float(aim @ aim)]
    proven = work = 0
    while len(models) <= max_size and rss[-1] > rss_floor:
        start = _extend_model(vectors, aim, models[-1], tolerance)
        if start.size < len(models):
            break
        model, least = _exchange_members(vectors, aim, start, tolerance)
        if least > rss_floor and work <= max_work:
            work += search_subsets(vectors, aim, tolerance, least, model, max_work - work)
        if work <= max_work:
            proven = len(models)
        model, least = _prefer_earlier_features(vectors, aim, model, tolerance, rss_floor)
        models.append(np.sort(model))
        rss.append(least)
    return BestSubsets(tuple(distinct[model] for model in models), np.array(rss), proven, work)


def _rotate_to_coordinates(features: Values, target: Values) -> tuple[Values, Values]:
    """Rotate features, as columns, and response into few coordinates: R and Qᵀy of Z = QR.

    The last coordinate is the length of what all the features leave of the response.
    """
    n = target.size
    across, triangle = np.linalg.qr(features.T / np.sqrt(n))
    aim = across.T @ target / np.sqrt(n)
    rest = target / np.sqrt(n) - across @ aim
    return np.vstack([triangle, np.zeros((1, len(features)))]), np.append(aim, np.sqrt(rest @ rest))


def _find_distinct_features(vectors: Values, tolerance: Values) -> Integers:
    """Leave out copies of earlier features: no model is better for having the copy instead."""
    kept: list[int] = []
    for j, limit in enumerate(tolerance):
        earlier, vector = vectors[:, kept], vectors[:, j]
        rests = vector[:, None] - earlier * (vector @ earlier)
        limits = np.maximum(limit, tolerance[kept])
        if not (np.einsum("ij,ij->j", rests, rests) <= limits * limits).any():
            kept.append(j)
    return np.array(kept, dtype=np.int64)


def _compute_gains(
    vectors: Values, target: Values, model: Integers, tolerance: Values
) -> tuple[Values, float]:
    """Compute by how much each further feature lowers RSS, −1 where it cannot enter; and RSS."""
    across, _ = np.linalg.qr(vectors[:, model])
    rest, left = target, vectors
    for _ in range(2):
        rest = rest - across @ (across.T @ rest)
        left = left - across @ (across.T @ left)
    squares = np.einsum("ij,ij->j", left, left)
    limits = np.maximum(tolerance, tolerance[model].max(initial=0.0))
    enters = squares > limits * limits
    enters[model] = False
    gains = np.where(enters, (rest @ left) ** 2 / np.where(enters, squares, 1.0), -1.0)
    return gains, float(rest @ rest)


def _extend_model(vectors: Values, target: Values, model: Integers, tolerance: Values) -> Integers:
    """Add the feature that lowers RSS most, if any can enter."""
    gains, _ = _compute_gains(vectors, target, model, tolerance)
    best = int(np.argmax(gains))
    return model if gains[best] < 0.0 else np.append(model, best)


def _exchange_members(
    vectors: Values, target: Values, model: Integers, tolerance: Values
) -> tuple[Integers, float]:
    """Exchange one member at a time as long as that lowers RSS: a good model for the search to beat."""
    _, least = _compute_gains(vectors, target, model, tolerance)
    improved = True
    while improved:
        improved = False
        for member in model.copy():
            others = model[model != member]
            gains, rss = _compute_gains(vectors, target, others, tolerance)
            best = int(np.argmax(gains))
            less = max(rss - float(gains[best]), 0.0)  # the rounding of an exact fit may lie below 0
            if gains[best] >= 0.0 and less < least * (1.0 - RSS_TIE_TOLERANCE):
                model, least, improved = np.append(others, best), less, True
    return model, least


def _prefer_earlier_features(
    vectors: Values, target: Values, model: Integers, tolerance: Values, rss_floor: float
) -> tuple[Integers, float]:
    """Exchange members for earlier features that do as well, so that ties fall to the first."""
    _, least = _compute_gains(vectors, target, model, tolerance)
    enough = least + max(RSS_TIE_TOLERANCE * least, rss_floor)
    settled = False
    while not settled:
        settled = True
        for member in np.sort(model)[::-1]:
            others = model[model != member]
            gains, rss = _compute_gains(vectors, target, others, tolerance)
            equal = (gains[:member] >= 0.0) & (rss - gains[:member] <= enough)
            if equal.any():
                model, settled = np.append(others, int(np.argmax(equal))), False
    return model, _compute_gains(vectors, target, model, tolerance)[1]
