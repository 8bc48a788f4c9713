"""Kernels that try all subsets of a few features on inner products, adding one feature at a time.

After a prefix of features, the Schur complements C, p = diag C and c describe the remaining features
(`SchurState`). The next feature j explains c_j²/p_j and updates each feature k after it::

    C_kl ← C_kl − C_jk C_jl / p_j,     p_k ← p_k − C_jk² / p_j,     c_k ← c_k − c_j C_jk / p_j

The last feature k of a subset therefore costs six products. The row of all such k is first compared with the
worst of the top models by c_k² ≥ (threshold − explained) · p_k, which needs no division and no branch, and is
vectorised. Features are scored one by one only if there is a hit.

No product is fused with a sum and no sum is reordered, so the score of a subset is identical to the bit for
any division of the work and any position in a vector.

Each of K targets t has its own c_t, and the last feature k of a subset explains Σ_t c_tk² / p_k. Products and
pivots are shared by all targets, so K targets cost much less than K searches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen._numba import compile_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Values


PADDING = 8
"""Columns of zeros after the features: rows end on a whole vector, and pivots of 0 never give a hit."""

SCORE_SLACK = 4e-15
"""In units of R²: more than the rounding difference between the comparison and the score."""


class SchurState(NamedTuple):
    """The features and the K targets after elimination of a prefix of features.

    Parameters
    ----------
    products : float64 array, shape (q, width)
        C_jk of q features, for j < k.
    pivots : float64 array, shape (width,)
        p.
    target_products : float64 array, shape (K, width)
        c, for each of K targets.
    explained : float
        R² of the prefix.
    determinant : float
        The determinant of the prefix's correlation matrix: the product of its pivots.
    code : int
        The prefix's features as digits to the base q, followed by a zero for the next feature.
    """

    products: NDArray[np.float64]
    pivots: NDArray[np.float64]
    target_products: NDArray[np.float64]
    explained: float
    determinant: float
    code: int


class CollinearityLimits(NamedTuple):
    """Subsets with a smaller pivot or a smaller determinant are skipped as collinear."""

    min_pivot: float
    min_determinant: float


class TopModels(NamedTuple):
    """The best models so far.

    Parameters
    ----------
    scores : float64 array, shape (w,)
        R² of each model; −∞ for unused entries.
    codes : int64 array, shape (w,)
        The features of each model, ascending, as digits to the base q.
    """

    scores: NDArray[np.float64]
    codes: NDArray[np.int64]


class EliminationStep(NamedTuple):
    """The effect of the prefix and the second to last feature j on each last feature k.

    Parameters
    ----------
    ratio : float
        C_ij / p_i of the feature i before j. The rows of products do not include the elimination of i: C_jk
        is row[k] − ratio · pivot_row[k] with pivot_row = C_i.
    inverse : float
        1 / p_j.
    beta : float
        c_tj / p_j of the first target.
    explained : float
        R² including j.
    min_pivot : float
        The minimum pivot of k.
    code : int
        The code of the model, without k.
    """

    ratio: float
    inverse: float
    beta: float
    explained: float
    min_pivot: float
    code: int


class ScanBuffers(NamedTuple):
    """Scratch arrays of one row."""

    products: NDArray[np.float64]  # (width,): C_jk
    pivots: NDArray[np.float64]  # (width,): p_k
    gains: NDArray[np.float64]  # (width,): Σ_t c_tk²
    betas: NDArray[np.float64]  # (K,): c_tj / p_j


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
        Number of features in a model.
    first, last : int
        The range of the first feature, within [0, q).
    stream_start : int
        0: all features of a model are among the q features, which need `PADDING` columns of zeros after them,
        and `top_models` is a bounded heap. Otherwise the last feature of a model is one of the columns from
        `stream_start` on. Each of them has its own best model in `top_models`, with the code of the other
        features.
    state : SchurState
        The correlations, before any elimination.
    limits : CollinearityLimits
        The limits for collinear subsets.
    top_models : TopModels
        Changed in place. Ties go to the lowest code.
    """
    (q, width), k = state.products.shape, len(state.target_products)
    zeros = np.zeros(width)
    buffers = ScanBuffers(np.empty(width), np.empty(width), np.empty(width), np.zeros(k))
    p, c = np.zeros(width), np.zeros((k, width))
    if size == 1:
        start, stop = (stream_start, stream_start + top_models.scores.size) if stream_start else (first, last)
        step = EliminationStep(0.0, 0.0, 0.0, 0.0, limits.min_pivot, 0)
        _accumulate_gains(start, stop, zeros, zeros, state.pivots, state.target_products, step, buffers)
        _update_top_models(start, stop, stream_start > 0, step, buffers, top_models)
    elif size == 2:
        _scan_pairs(first, last, zeros, zeros, stream_start, state, limits, buffers, top_models)
    elif size == 3:
        for i in range(first, last):
            _scan_pairs_after(i, p, c, stream_start, state, limits, buffers, top_models)
    else:
        products, h_pivots, h_target_products = np.zeros((q, width)), np.zeros(width), np.zeros((k, width))
        for h in range(first, last):
            if state.pivots[h] >= limits.min_pivot:
                eliminate_feature(h, state, products)
                after = _extend_prefix(h, state, products, h_pivots, h_target_products)
                for i in range(h + 1, q):
                    _scan_pairs_after(i, p, c, stream_start, after, limits, buffers, top_models)


@compile_kernel
def _scan_pairs_after(
    i: int,
    p: Values,
    c: Values,
    stream_start: int,
    state: SchurState,
    limits: CollinearityLimits,
    buffers: ScanBuffers,
    top_models: TopModels,
) -> None:
    """Scan all models that begin with the prefix and feature i; `p` and `c` are overwritten."""
    if state.pivots[i] >= max(limits.min_pivot, limits.min_determinant / state.determinant):
        after = _extend_prefix(i, state, state.products, p, c)
        pivot_row, q = state.products[i], len(state.products)
        ratios = pivot_row[:q] * (1.0 / state.pivots[i])
        _scan_pairs(i + 1, q, ratios, pivot_row, stream_start, after, limits, buffers, top_models)


@compile_kernel
def _scan_pairs(
    first: int,
    last: int,
    ratios: Values,
    pivot_row: Values,
    stream_start: int,
    state: SchurState,
    limits: CollinearityLimits,
    buffers: ScanBuffers,
    top_models: TopModels,
) -> None:
    """Try the prefix with each j in [first, last) and each last feature."""
    products, p, c, prefix_r2, determinant, code = state
    q, k, betas, c0 = len(products), len(c), buffers.betas, c[0]
    min_ratio = limits.min_determinant / determinant
    for j in range(first, last):
        if p[j] < max(limits.min_pivot, min_ratio):
            continue
        inverse, explained = 1.0 / p[j], prefix_r2
        for t in range(k):
            betas[t] = c[t, j] * inverse
            explained += c[t, j] * betas[t]
        min_pivot = max(limits.min_pivot, min_ratio * inverse)
        row, scores = products[j], top_models.scores
        # for one target, a comparison without buffers skips most rows
        if stream_start:
            step = EliminationStep(ratios[j], inverse, betas[0], explained, min_pivot, code + j)
            start, stop = stream_start, stream_start + scores.size
            skips = k == 1 and not _count_improvable(
                row[start:], pivot_row[start:], p[start:], c0[start:], step, scores
            )
        else:
            step = EliminationStep(ratios[j], inverse, betas[0], explained, min_pivot, (code + j) * q)
            start, stop = j + 1, q
            end = start + (stop - start + PADDING - 1) // PADDING * PADDING
            skips = k == 1 and not _count_hits(
                row[start:end], pivot_row[start:end], p[start:end], c0[start:end], step, scores[0]
            )
        if not skips:
            _accumulate_gains(start, stop, row, pivot_row, p, c, step, buffers)
            _update_top_models(start, stop, stream_start > 0, step, buffers, top_models)


@compile_kernel
def _count_hits(
    row: Values,
    pivot_row: Values,
    pivots: Values,
    target_products: Values,
    step: EliminationStep,
    min_score: float,
) -> int:
    """Count the last features with which a model of one target may reach a score."""
    ratio, inverse, beta, explained, min_pivot, _ = step
    min_gain = min_score - explained - SCORE_SLACK
    hits = 0
    for k in range(row.size):
        u = row[k] - ratio * pivot_row[k]
        p = pivots[k] - (u * u) * inverse
        c = target_products[k] - u * beta
        hits += (c * c >= min_gain * p) & (p >= min_pivot)
    return hits


@compile_kernel
def _count_improvable(
    row: Values,
    pivot_row: Values,
    pivots: Values,
    target_products: Values,
    step: EliminationStep,
    scores: Values,
) -> int:
    """Count the streamed features whose best model of one target may improve."""
    ratio, inverse, beta, explained, min_pivot, _ = step
    max_explained = explained + SCORE_SLACK
    hits = 0
    for k in range(scores.size):
        u = row[k] - ratio * pivot_row[k]
        p = pivots[k] - (u * u) * inverse
        c = target_products[k] - u * beta
        hits += (c * c >= (scores[k] - max_explained) * p) & (p >= min_pivot)
    return hits


@compile_kernel
def _accumulate_gains(
    start: int,
    stop: int,
    row: Values,
    pivot_row: Values,
    pivots: Values,
    target_products: Values,
    step: EliminationStep,
    buffers: ScanBuffers,
) -> None:
    """Eliminate feature j from each last feature in [start, stop), and sum what it explains, times p."""
    ratio, inverse = step.ratio, step.inverse
    row, pivot_row, pivots = row[start:stop], pivot_row[start:stop], pivots[start:stop]
    us, ps, gains = buffers.products[start:stop], buffers.pivots[start:stop], buffers.gains[start:stop]
    for k in range(us.size):
        u = row[k] - ratio * pivot_row[k]
        us[k] = u
        ps[k] = pivots[k] - (u * u) * inverse
        gains[k] = 0.0
    for t in range(len(target_products)):
        products, beta = target_products[t, start:stop], buffers.betas[t]
        for k in range(us.size):
            c = products[k] - us[k] * beta
            gains[k] += c * c


@compile_kernel
def _update_top_models(
    start: int,
    stop: int,
    is_streamed: bool,
    step: EliminationStep,
    buffers: ScanBuffers,
    top_models: TopModels,
) -> None:
    """Update the top models: the best of each streamed feature, otherwise the best of all."""
    explained, min_pivot, code = step.explained, step.min_pivot, step.code
    ps, gains = buffers.pivots[start:stop], buffers.gains[start:stop]
    scores, codes = top_models
    if is_streamed:
        for k in range(scores.size):
            score = explained + np.divide(gains[k], ps[k])  # unlike the operator /, no error at 0
            better = (ps[k] >= min_pivot) & (score > scores[k])
            scores[k] = score if better else scores[k]
            codes[k] = code if better else codes[k]
        return
    hits, min_gain = 0, scores[0] - explained - SCORE_SLACK
    for k in range(ps.size):
        hits += (gains[k] >= min_gain * ps[k]) & (ps[k] >= min_pivot)
    if hits:
        for k in range(ps.size):
            if ps[k] >= min_pivot:
                push_model(explained + gains[k] / ps[k], code + start + k, top_models)


@compile_kernel
def _extend_prefix(i: int, state: SchurState, products: Values, p: Values, c: Values) -> SchurState:
    """Add feature i to the prefix; `p` and `c` are overwritten after i, `products` become the new state's."""
    inverse = 1.0 / state.pivots[i]
    row, explained = state.products[i], state.explained
    for k in range(i + 1, row.size):
        p[k] = state.pivots[k] - (row[k] * row[k]) * inverse
    for t in range(len(c)):
        products_t, beta = state.target_products[t], state.target_products[t, i] * inverse
        for k in range(i + 1, row.size):
            c[t, k] = products_t[k] - row[k] * beta
        explained += state.target_products[t, i] * beta
    code = (state.code + i) * len(state.products)
    return SchurState(products, p, c, explained, state.determinant * state.pivots[i], code)


@compile_kernel
def eliminate_feature(i: int, state: SchurState, products: Values) -> None:
    """Eliminate feature i from the products of the features after it; write the result to `products`."""
    inverse = 1.0 / state.pivots[i]
    pivot_row = state.products[i]
    for j in range(i + 1, len(products)):
        ratio = pivot_row[j] * inverse
        row, updated = state.products[j], products[j]
        for k in range(row.size):
            updated[k] = row[k] - ratio * pivot_row[k]


@compile_kernel
def push_model(score: float, code: int, top_models: TopModels) -> None:
    """Push a model into a heap with the worst at its root, unless it is worse than the root."""
    scores, codes = top_models
    if score < scores[0] or (score == scores[0] and code > codes[0]):
        return
    position, child = 0, 1
    while child < scores.size:
        sibling = child + 1
        if sibling < scores.size and (
            scores[sibling] < scores[child]
            or (scores[sibling] == scores[child] and codes[sibling] > codes[child])
        ):
            child = sibling
        if scores[child] > score or (scores[child] == score and codes[child] < code):
            break
        scores[position], codes[position] = scores[child], codes[child]
        position, child = child, 2 * child + 1
    scores[position], codes[position] = score, code
