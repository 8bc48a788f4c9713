"""Kernels that try all subsets of a few features on inner products, one feature after the other.

A prefix of features leaves Schur complements C, p = diag C, c (`SchurState`). The next feature j explains
c_j²/p_j and leaves to each feature k after it::

    C_kl ← C_kl − C_jk C_jl / p_j,     p_k ← p_k − C_jk² / p_j,     c_k ← c_k − c_j C_jk / p_j

so the last feature k of a subset costs six products. The row of all such k is first only compared with the
worst model kept, by c_k² ≥ (bar − explained) · p_k, which needs no division, does not branch, and fills the
processor's vectors; a row is looked at one by one only where there is a hit.

No product is fused with a sum and no sum is reordered, so that a subset's score is the same to the bit in
whatever share of the work, and at whatever place in a vector, it is computed.

Kernels that try all subsets of a few features on inner products, for several targets at once.

As `subset_scan`, whose notation this is, but of every target t there is a c_t, and the last feature k of a
subset explains Σ_t c_tk² / p_k. Products and pivots are the same for all targets, so that K of them cost much
less than K searches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen._numba import compile_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Values


__all__ = [
    "PADDING",
    "SCORE_SLACK",
    "CollinearityLimits",
    "SchurState",
    "TopModels",
    "eliminate_feature",
    "push_model",
    "scan_subsets",
    "scan_subsets_multioutput",
]

PADDING = 8
"""Rows end on a whole vector, at most so far beyond the features; pivots are 0 there, so nothing hits."""

SCORE_SLACK = 4e-15
"""Of R²: more than the comparison and the score can differ by rounding."""


class SchurState(NamedTuple):
    """What a prefix of features leaves of the features and the target.

    Parameters
    ----------
    products : float64 array, shape (q, wide)
        C_jk of q features, for j < k.
    pivots : float64 array, shape (wide,)
        p.
    with_target : float64 array, shape (wide,), or for `shared_scan` (K, wide)
        c, of each of K targets.
    explained : float
        R² of the prefix.
    determinant : float
        Of the prefix's correlation matrix: the product of its pivots.
    code : int
        The prefix's features as digits to the base q, and a zero for the next.
    """

    products: NDArray[np.float64]
    pivots: NDArray[np.float64]
    target_products: NDArray[np.float64]
    explained: float
    determinant: float
    code: int


class CollinearityLimits(NamedTuple):
    """The least pivot and the least determinant of a subset that is scored."""

    min_pivot: float
    min_determinant: float


class TopModels(NamedTuple):
    """The best models so far.

    Parameters
    ----------
    scores : float64 array, shape (w,)
        R² of each; −∞ where there is none yet.
    codes : int64 array, shape (w,)
        Its features, ascending, as digits to the base q.
    """

    scores: NDArray[np.float64]
    codes: NDArray[np.int64]


class EliminationStep(NamedTuple):
    """What the prefix and the feature j before the last make of each last feature k.

    Parameters
    ----------
    ratio : float
        C_ij / p_i of the feature i before j. The rows of products lack its removal: C_jk is, on the way,
        row[k] − ratio · given[k] with given = C_i.
    inverse, beta : float
        1 / p_j and c_j / p_j.
    explained : float
        R² with j.
    least : float
        The least pivot of k.
    code : int
        That of the model, less k.
    """

    ratio: float
    inverse: float
    beta: float
    explained: float
    min_pivot: float
    code: int


@compile_kernel
def scan_subsets(
    size: int,
    first: int,
    last: int,
    stream_start: int,
    state: SchurState,
    limits: CollinearityLimits,
    top_models: TopModels,
) -> None:
    """Try all models of 1 to 4 features whose first feature is in [first, last).

    Parameters
    ----------
    size : int
        Features in a model.
    first, last : int
        The share of the work, of [0, q).
    apart : int
        0: all features of a model are among the q, which need `PADDING` columns of zeros beyond them, and
        `best` is a bounded heap of models. Else the last feature of a model is one of the columns from
        `apart` on, each of which keeps its own best model in `best`, with the code of the others.
    left : Left
        The correlations: what no prefix leaves.
    limits : Limits
        What is skipped as collinear.
    best : Best
        Changed in place. Of equals the one with the lowest code is kept.
    """
    q, wide = state.products.shape
    none = np.zeros(wide)
    p, c = np.zeros(wide), np.zeros(wide)
    if size == 1:
        step = EliminationStep(0.0, 0.0, 0.0, 0.0, limits.min_pivot, 0)
        if stream_start:
            pivots, with_target = state.pivots[stream_start:], state.target_products[stream_start:]
            _improve_streamed(none[stream_start:], none[stream_start:], pivots, with_target, step, top_models)
        else:
            _score_models(first, last, none, none, state.pivots, state.target_products, step, top_models)
    elif size == 2:
        _scan_pairs(first, last, none, none, stream_start, state, limits, top_models)
    elif size == 3:
        for i in range(first, last):
            _scan_pairs_after(i, p, c, stream_start, state, limits, top_models)
    else:
        products, p_left, c_left = np.zeros((q, wide)), np.zeros(wide), np.zeros(wide)
        for h in range(first, last):
            if state.pivots[h] >= limits.min_pivot:
                eliminate_feature(h, state, products)
                after = _extend_prefix(h, state, products, p_left, c_left)
                for i in range(h + 1, q):
                    _scan_pairs_after(i, p, c, stream_start, after, limits, top_models)


@compile_kernel
def _scan_pairs_after(
    i: int,
    p: Values,
    c: Values,
    stream_start: int,
    state: SchurState,
    limits: CollinearityLimits,
    top_models: TopModels,
) -> None:
    if state.pivots[i] >= max(limits.min_pivot, limits.min_determinant / state.determinant):
        after = _extend_prefix(i, state, state.products, p, c)
        given, q = state.products[i], len(state.products)
        ratios = given[:q] * (1.0 / state.pivots[i])
        _scan_pairs(i + 1, q, ratios, given, stream_start, after, limits, top_models)


@compile_kernel
def _scan_pairs(
    first: int,
    last: int,
    ratios: Values,
    pivot_row: Values,
    stream_start: int,
    state: SchurState,
    limits: CollinearityLimits,
    top_models: TopModels,
) -> None:
    """Try the prefix with each j in [first, last) and each last feature."""
    products, p, c, so_far, determinant, code = state
    q = len(products)
    lowest = limits.min_determinant / determinant
    given_apart, p_apart, c_apart = pivot_row[stream_start:], p[stream_start:], c[stream_start:]
    for j in range(first, last):
        if p[j] < max(limits.min_pivot, lowest):
            continue
        inverse = 1.0 / p[j]
        beta = c[j] * inverse
        explained, least = so_far + c[j] * beta, max(limits.min_pivot, lowest * inverse)
        row, start = products[j], j + 1
        if stream_start:
            step = EliminationStep(ratios[j], inverse, beta, explained, least, code + j)
            if _count_improvable(row[stream_start:], given_apart, p_apart, c_apart, step, top_models.scores):
                _improve_streamed(row[stream_start:], given_apart, p_apart, c_apart, step, top_models)
        else:
            step = EliminationStep(ratios[j], inverse, beta, explained, least, (code + j) * q)
            stop = start + (q - start + PADDING - 1) // PADDING * PADDING
            limit = top_models.scores[0] - explained - SCORE_SLACK
            if _count_hits(row[start:stop], pivot_row[start:stop], p[start:stop], c[start:stop], step, limit):
                _score_models(start, q, row, pivot_row, p, c, step, top_models)


@compile_kernel
def _count_hits(
    row: Values,
    pivot_row: Values,
    pivots: Values,
    target_products: Values,
    step: EliminationStep,
    min_gain: float,
) -> int:
    """Count the last features that may explain `limit` more."""
    ratio, inverse, beta, _, least, _ = step
    hits = 0
    for k in range(row.size):
        u = row[k] - ratio * pivot_row[k]
        p = pivots[k] - (u * u) * inverse
        c = target_products[k] - u * beta
        hits += (c * c >= min_gain * p) & (p >= least)
    return hits


@compile_kernel
def _score_models(
    start: int,
    stop: int,
    row: Values,
    pivot_row: Values,
    pivots: Values,
    target_products: Values,
    step: EliminationStep,
    top_models: TopModels,
) -> None:
    """Score each last feature in [start, stop), and keep the best."""
    ratio, inverse, beta, explained, least, code = step
    for k in range(start, stop):
        u = row[k] - ratio * pivot_row[k]
        p = pivots[k] - (u * u) * inverse
        c = target_products[k] - u * beta
        if p >= least:
            push_model(explained + c * c / p, code + k, top_models)


@compile_kernel
def _count_improvable(
    row: Values,
    pivot_row: Values,
    pivots: Values,
    target_products: Values,
    step: EliminationStep,
    scores: Values,
) -> int:
    """Count the features apart that may have found a better model."""
    ratio, inverse, beta, explained, least, _ = step
    so_far = explained + SCORE_SLACK
    hits = 0
    for k in range(scores.size):
        u = row[k] - ratio * pivot_row[k]
        p = pivots[k] - (u * u) * inverse
        c = target_products[k] - u * beta
        hits += (c * c >= (scores[k] - so_far) * p) & (p >= least)
    return hits


@compile_kernel
def _improve_streamed(
    row: Values,
    pivot_row: Values,
    pivots: Values,
    target_products: Values,
    step: EliminationStep,
    top_models: TopModels,
) -> None:
    """Score each feature apart; it keeps its best."""
    ratio, inverse, beta, explained, least, code = step
    scores, codes = top_models
    for k in range(scores.size):
        u = row[k] - ratio * pivot_row[k]
        p = pivots[k] - (u * u) * inverse
        c = target_products[k] - u * beta
        score = explained + np.divide(c * c, p)  # np.divide does not stop to raise at 0
        better = (p >= least) & (score > scores[k])
        scores[k] = score if better else scores[k]
        codes[k] = code if better else codes[k]


@compile_kernel
def _extend_prefix(i: int, state: SchurState, products: Values, p: Values, c: Values) -> SchurState:
    """Take feature i into the prefix; p and c are filled beyond i, the products are the caller's."""
    inverse = 1.0 / state.pivots[i]
    beta = state.target_products[i] * inverse
    row = state.products[i]
    for k in range(i + 1, row.size):
        p[k] = state.pivots[k] - (row[k] * row[k]) * inverse
        c[k] = state.target_products[k] - row[k] * beta
    explained = state.explained + state.target_products[i] * beta
    code = (state.code + i) * len(state.products)
    return SchurState(products, p, c, explained, state.determinant * state.pivots[i], code)


@compile_kernel
def eliminate_feature(i: int, state: SchurState, products: Values) -> None:
    """Remove feature i from the products of those after it; they are written into the caller's."""
    inverse = 1.0 / state.pivots[i]
    given = state.products[i]
    for j in range(i + 1, len(products)):
        ratio = given[j] * inverse
        row, to = state.products[j], products[j]
        for k in range(row.size):
            to[k] = row[k] - ratio * given[k]


@compile_kernel
def push_model(score: float, code: int, top_models: TopModels) -> None:
    """Put a model into a heap with the worst at its root, unless it is no better than that."""
    scores, codes = top_models
    if score < scores[0] or (score == scores[0] and code > codes[0]):
        return
    place, child = 0, 1
    while child < scores.size:
        other = child + 1
        if other < scores.size and (
            scores[other] < scores[child] or (scores[other] == scores[child] and codes[other] > codes[child])
        ):
            child = other
        if scores[child] > score or (scores[child] == score and codes[child] < code):
            break
        scores[place], codes[place] = scores[child], codes[child]
        place, child = child, 2 * child + 1
    scores[place], codes[place] = score, code


class _MultiOutputBuffers(NamedTuple):
    """What stays the same from row to row: rooms to work in, and where last features come from."""

    u: Values  # (wide,): C_jk of the row at hand
    p: Values  # (wide,): p_k
    gains: Values  # (wide,): Σ_t c_tk²
    betas: Values  # (K,): c_tj / p_j
    stream_start: int  # 0, or the column from which on last features are


@compile_kernel
def scan_subsets_multioutput(
    size: int,
    first: int,
    last: int,
    stream_start: int,
    state: SchurState,
    limits: CollinearityLimits,
    top_models: TopModels,
) -> None:
    """Try all models of 1 to 4 features whose first feature is in [first, last), for K targets.

    Parameters
    ----------
    size, first, last, apart, limits, best
        As of `symscreen.linear_models._kernels.scan_subsets`.
    left : Left
        The correlations, `with_target` of shape (K, wide).
    """
    q, wide = state.products.shape
    k = len(state.target_products)
    none = np.zeros(wide)
    rows = _MultiOutputBuffers(np.empty(wide), np.empty(wide), np.empty(wide), np.zeros(k), stream_start)
    p, c = np.zeros(wide), np.zeros((k, wide))
    if size == 1:
        start, stop = (stream_start, stream_start + top_models.scores.size) if stream_start else (first, last)
        _accumulate_gains(start, stop, none, none, 0.0, 0.0, state.pivots, state.target_products, rows)
        _update_top_multioutput(start, stop, 0.0, limits.min_pivot, 0, rows, top_models)
    elif size == 2:
        _scan_pairs_multioutput(first, last, none, none, state, limits, rows, top_models)
    elif size == 3:
        for i in range(first, last):
            _scan_pairs_after_multioutput(i, p, c, state, limits, rows, top_models)
    else:
        products, p_left, c_left = np.zeros((q, wide)), np.zeros(wide), np.zeros((k, wide))
        for h in range(first, last):
            if state.pivots[h] >= limits.min_pivot:
                eliminate_feature(h, state, products)
                after = _extend_prefix_multioutput(h, state, products, p_left, c_left)
                for i in range(h + 1, q):
                    _scan_pairs_after_multioutput(i, p, c, after, limits, rows, top_models)


@compile_kernel
def _scan_pairs_after_multioutput(
    i: int,
    p: Values,
    c: Values,
    state: SchurState,
    limits: CollinearityLimits,
    buffers: _MultiOutputBuffers,
    top_models: TopModels,
) -> None:
    if state.pivots[i] >= max(limits.min_pivot, limits.min_determinant / state.determinant):
        after = _extend_prefix_multioutput(i, state, state.products, p, c)
        given, q = state.products[i], len(state.products)
        ratios = given[:q] * (1.0 / state.pivots[i])
        _scan_pairs_multioutput(i + 1, q, ratios, given, after, limits, buffers, top_models)


@compile_kernel
def _scan_pairs_multioutput(
    first: int,
    last: int,
    ratios: Values,
    pivot_row: Values,
    state: SchurState,
    limits: CollinearityLimits,
    buffers: _MultiOutputBuffers,
    top_models: TopModels,
) -> None:
    """Try the prefix with each j in [first, last) and each last feature."""
    products, p, c, so_far, determinant, code = state
    q = len(products)
    lowest = limits.min_determinant / determinant
    for j in range(first, last):
        if p[j] < max(limits.min_pivot, lowest):
            continue
        inverse, explained = 1.0 / p[j], so_far
        for t in range(len(c)):
            buffers.betas[t] = c[t, j] * inverse
            explained += c[t, j] * buffers.betas[t]
        start, stop = (
            (buffers.stream_start, buffers.stream_start + top_models.scores.size)
            if buffers.stream_start
            else (j + 1, q)
        )
        _accumulate_gains(start, stop, products[j], pivot_row, ratios[j], inverse, p, c, buffers)
        own = code + j if buffers.stream_start else (code + j) * q
        _update_top_multioutput(
            start, stop, explained, max(limits.min_pivot, lowest * inverse), own, buffers, top_models
        )


@compile_kernel
def _accumulate_gains(
    start: int,
    stop: int,
    row: Values,
    pivot_row: Values,
    ratio: float,
    inverse: float,
    pivots: Values,
    target_products: Values,
    buffers: _MultiOutputBuffers,
) -> None:
    """Remove feature j from each last feature in [start, stop), and add up what it explains, times p."""
    row, pivot_row, pivots = row[start:stop], pivot_row[start:stop], pivots[start:stop]
    us, ps, gains = buffers.u[start:stop], buffers.p[start:stop], buffers.gains[start:stop]
    for k in range(us.size):
        u = row[k] - ratio * pivot_row[k]
        us[k] = u
        ps[k] = pivots[k] - (u * u) * inverse
        gains[k] = 0.0
    for t in range(len(target_products)):
        own, beta = target_products[t, start:stop], buffers.betas[t]
        for k in range(us.size):
            c = own[k] - us[k] * beta
            gains[k] += c * c


@compile_kernel
def _update_top_multioutput(
    start: int,
    stop: int,
    explained: float,
    min_pivot: float,
    code: int,
    buffers: _MultiOutputBuffers,
    top_models: TopModels,
) -> None:
    """Keep what is better than what was kept: of each last feature apart its best, else the best of all."""
    ps, gains = buffers.p[start:stop], buffers.gains[start:stop]
    if buffers.stream_start:
        scores, codes = top_models
        for k in range(scores.size):
            score = explained + np.divide(gains[k], ps[k])  # np.divide does not stop to raise at 0
            better = (ps[k] >= min_pivot) & (score > scores[k])
            scores[k] = score if better else scores[k]
            codes[k] = code if better else codes[k]
    elif _count_hits_multioutput(ps, gains, top_models.scores[0] - explained - SCORE_SLACK, min_pivot):
        for k in range(ps.size):
            if ps[k] >= min_pivot:
                push_model(explained + gains[k] / ps[k], code + start + k, top_models)


@compile_kernel
def _count_hits_multioutput(ps: Values, gains: Values, min_gain: float, min_pivot: float) -> int:
    """Count the last features that may explain `limit` more."""
    hits = 0
    for k in range(ps.size):
        hits += (gains[k] >= min_gain * ps[k]) & (ps[k] >= min_pivot)
    return hits


@compile_kernel
def _extend_prefix_multioutput(
    i: int, state: SchurState, products: Values, p: Values, c: Values
) -> SchurState:
    """Take feature i into the prefix; p and c are filled beyond i, the products are the caller's."""
    inverse = 1.0 / state.pivots[i]
    row, explained = state.products[i], state.explained
    for k in range(i + 1, row.size):
        p[k] = state.pivots[k] - (row[k] * row[k]) * inverse
    for t in range(len(c)):
        own, beta = state.target_products[t], state.target_products[t, i] * inverse
        for k in range(i + 1, row.size):
            c[t, k] = own[k] - row[k] * beta
        explained += state.target_products[t, i] * beta
    code = (state.code + i) * len(state.products)
    return SchurState(products, p, c, explained, state.determinant * state.pivots[i], code)
