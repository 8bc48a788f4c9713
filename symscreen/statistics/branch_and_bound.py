"""Branch and bound for the best subset of one size.

As in leaps and bounds (Furnival and Wilson 1974), the search rests on this: RSS only rises as features leave,
so that no subset of a set S fits better than S. At a node of the search some features are in for good and the
others are free; S is both, and RSS(S) bounds all models below. The node branches on the free feature that is
dearest to lose, first with it, then without it; where RSS without it is no less than the best found so far,
the second branch is closed unseen. One projection updates a node either way, as in `stepwise`: over what the
members leave of the features where one comes in, over the dual vectors of the free features where one goes.

A linearly dependent S has no dual vectors. Its node branches on a feature that lies in the span of others,
until none does; dependent models are not visited, for a smaller one fits as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.stepwise import TIE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["search_subsets"]


class _Levels(NamedTuple):
    """Vectors as columns and an aim, projected 0, 1, … times: each level is made from the one before."""

    vectors: Values  # (levels, r, q)
    aim: Values  # (levels, r)
    along: Values  # (levels, q): inner products of vectors and aim
    squares: Values  # (levels, q): inner products of vectors with themselves


class _Search(NamedTuple):
    """What all nodes of one search share."""

    members: _Levels  # by the members: what they leave of the features and of the response
    gone: _Levels  # by the features gone: the dual vectors of the others, and the response
    spare: _Levels  # one level to work in
    tolerance: Values  # (q,)
    present: Whole  # (size,): the members at the present node
    widest: Values  # (size,): the largest tolerance among the first 0, 1, … members
    model: Whole  # (size,): the best model so far
    best: Values  # (1,): its RSS
    work: Whole  # (2,): nodes visited, and the most to visit


def search_subsets(
    vectors: Values, aim: Values, tolerance: Values, least: float, model: Whole, budget: int
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
        _Levels(np.empty((n, r, q)), np.empty((n, r)), np.empty((n, q)), np.empty((n, q)))
        for n in (size, q + 1, 1)
    )
    members.vectors[0], members.aim[0] = vectors, aim
    _measure(members, 0)
    present, widest = np.empty(size, dtype=np.int64), np.zeros(size)
    best, work = np.array([least]), np.array([0, budget])
    search = _Search(members, gone, spare, tolerance, present, widest, model, best, work)
    _visit(0, 0, np.ones(q, dtype=np.bool_), 0.0, False, search)  # noqa: FBT003 - kernels take no names
    return int(work[0])


@kernel
def _visit(k: int, g: int, free: Flags, least: float, has_dual: bool, search: _Search) -> None:
    """Search below a node with k members from which g features are gone; `least` is RSS(S), if known."""
    members, gone, best, work = search.members, search.gone, search.best, search.work
    room = search.model.size - k
    work[0] += 1
    count = _close_spanned(free, members.squares[k], search.tolerance, search.widest[k])
    if room == 1:
        _try_last(free, search)
    if room == 1 or count < room or work[0] > work[1]:
        return
    dearest, rise = -1, 0.0
    if not has_dual:
        work[0] += count  # so much dearer are dual vectors made anew
        least, dearest = _duals(free, k, g, search)
        has_dual = dearest < 0
    if has_dual:
        dearest, rise = _largest(free, gone.along[g], gone.squares[g])
    if least >= best[0] * (1.0 - TIE):
        return
    free[dearest] = False
    search.present[k] = dearest
    search.widest[k + 1] = max(search.widest[k], search.tolerance[dearest])
    _project(members, k, k + 1, dearest)
    _visit(k + 1, g, free.copy(), least, has_dual, search)
    if least + rise < best[0] * (1.0 - TIE):
        if has_dual:
            _project(gone, g, g + 1, dearest)
        _visit(k, g + 1, free, least + rise, has_dual, search)


@kernel
def _project(levels: _Levels, at: int, to: int, j: int) -> None:
    """Project column j of a level out of all its columns and of the aim, into the same or another level."""
    source, target = levels.vectors[at], levels.vectors[to]
    r, q = source.shape
    direction = source[:, j] / np.sqrt(levels.squares[at, j])
    shares = np.zeros(q)
    share = 0.0
    # features run innermost: many at a time, each of its sums in a fixed order
    for i in range(r):
        share += direction[i] * levels.aim[at, i]
        for f in range(q):
            shares[f] += direction[i] * source[i, f]
    for i in range(r):
        levels.aim[to, i] = levels.aim[at, i] - share * direction[i]
        for f in range(q):
            target[i, f] = source[i, f] - direction[i] * shares[f]
    _measure(levels, to)


@kernel
def _measure(levels: _Levels, at: int) -> None:
    """Compute the inner products of a level's columns with its aim and with themselves."""
    vectors, aim, along, squares = levels.vectors[at], levels.aim[at], levels.along[at], levels.squares[at]
    along[:] = 0.0
    squares[:] = 0.0
    for i in range(vectors.shape[0]):
        for f in range(vectors.shape[1]):
            along[f] += aim[i] * vectors[i, f]
            squares[f] += vectors[i, f] * vectors[i, f]


@kernel
def _close_spanned(free: Flags, squares: Values, tolerance: Values, widest: float) -> int:
    """Take the features in the span of the members from the free ones; count those that stay."""
    count = 0
    for f in range(free.size):
        limit = max(tolerance[f], widest)
        free[f] = free[f] and squares[f] > limit * limit
        count += free[f]
    return count


@kernel
def _try_last(free: Flags, search: _Search) -> None:
    """Fill the last place with the free feature that lowers RSS most; keep the model if it is the best."""
    members, k = search.members, search.model.size - 1
    rss = 0.0
    last, gain = _largest(free, members.along[k], members.squares[k])
    for i in range(members.aim.shape[1]):
        rss += members.aim[k, i] * members.aim[k, i]
    rss = max(rss - gain, 0.0)
    if last >= 0 and rss < search.best[0] * (1.0 - TIE):
        search.best[0] = rss
        for i in range(k):
            search.model[i] = search.present[i]
        search.model[k] = last


@kernel
def _largest(free: Flags, along: Values, squares: Values) -> tuple[int, float]:
    """Find the free feature by which RSS falls most if it enters, or rises most if it goes; say how much."""
    change, largest = -1.0, -1
    for f in range(free.size):
        if free[f] and along[f] * along[f] > change * squares[f]:
            change, largest = along[f] * along[f] / squares[f], f
    return largest, change


@kernel
def _duals(free: Flags, k: int, g: int, search: _Search) -> tuple[float, int]:
    """Compute the dual vectors of the free columns, taken in the order of their gains.

    Return the RSS of them all; and −1, or a column in the span of others: then there are no dual vectors.
    """
    members, gone, spare, widest = search.members, search.gone, search.spare, search.widest[k]
    left, work = members.vectors[k], spare.vectors[0]
    r, q = left.shape
    for i in range(r):
        spare.aim[0, i] = gone.aim[g, i] = members.aim[k, i]
        for f in range(q):
            work[i, f] = left[i, f]
    _measure(spare, 0)
    columns, across = np.empty(q, dtype=np.int64), np.empty((q, r))
    m, spanned, waiting = 0, -1, free.copy()
    for _ in range(q):
        j, _ = _largest(waiting, members.along[k], members.squares[k])
        if j < 0:
            break
        waiting[j] = False
        widest = max(widest, search.tolerance[j])
        if spare.squares[0, j] <= widest * widest:
            spanned = j
            continue
        columns[m] = j
        for i in range(r):
            across[m, i] = work[i, j] / np.sqrt(spare.squares[0, j])
        m += 1
        _project(spare, 0, 0, j)
    if spanned < 0:
        _invert(left, columns[:m], across, gone.vectors[g])
        _measure(gone, g)
    rss = 0.0
    for i in range(r):
        rss += spare.aim[0, i] * spare.aim[0, i]
    return rss, spanned


@kernel
def _invert(left: Values, columns: Whole, across: Values, dual: Values) -> None:
    """Compute the dual vectors S of the columns E = QR, from Q, whose columns are the rows of `across`."""
    r, q = left.shape
    shares = np.empty(q)
    # S Rᵀ = Q, from the last column of S to the first; row a of R = QᵀE is the shares along direction a
    for a in range(columns.size - 1, -1, -1):
        shares[:] = 0.0
        for i in range(r):
            for f in range(q):
                shares[f] += across[a, i] * left[i, f]
        for b in range(a + 1, columns.size):
            for i in range(r):
                across[a, i] -= shares[columns[b]] * across[b, i]
        for i in range(r):
            across[a, i] /= shares[columns[a]]
            dual[i, columns[a]] = across[a, i]
