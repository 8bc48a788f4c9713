"""Compiled kernels of linear models: all subsets, Gram matrices, penalised paths, steps, branch and bound.

**All subsets** of a few features are tried on inner products, adding one feature at a time.

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

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.statistics.column_arithmetic import compute_simd_dot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Values


PADDING = 8
"""Columns of zeros after the features: rows end on a whole vector, and pivots of 0 never give a hit."""

SCORE_SLACK = 4e-15
"""In units of R²: more than the rounding difference between the comparison and the score."""

_CONSTANT_TOLERANCE = 1e-13  # a smaller ratio of the deviation to the largest magnitude is rounding
# Number of tolerances by which |z_j·r|/n must exceed λ. A copy of an active feature reaches λ itself.
ENTRY_SLACK = 10.0
# Relative difference in RSS below which models are tied. The earlier feature wins then.
RSS_TIE_TOLERANCE = 1e-12


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
    size : int
        Number of features of a model; used only if parts are required.
    required : int
        The parts, as bits, that a model must have. 0: all models are allowed.
    parts : int64 array, shape (q,)
        The parts of each feature, as bits.
    streamed_parts : int64 array, shape (w,)
        The parts of each streamed feature.
    """

    scores: NDArray[np.float64]
    codes: NDArray[np.int64]
    size: int = 0
    required: int = 0
    parts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
    streamed_parts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)


class PartTable(NamedTuple):
    """Parts that models must have, see `TopModels`; the arrays are empty if none are required."""

    required: int
    parts: NDArray[np.int64]
    streamed_parts: NDArray[np.int64]


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
    """Try all models of 1 to 5 features whose first feature is in [first, last).

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
    elif size == 4:
        products = np.zeros((q, width))
        _scan_triples(first, last, products, p, c, stream_start, state, limits, buffers, top_models)
    else:
        products, outer_products = np.zeros((q, width)), np.zeros((q, width))
        outer_pivots, outer_target_products = np.zeros(width), np.zeros((k, width))
        for g in range(first, last):
            if state.pivots[g] >= limits.min_pivot:
                eliminate_feature(g, state, outer_products)
                after = _extend_prefix(g, state, outer_products, outer_pivots, outer_target_products)
                _scan_triples(g + 1, q, products, p, c, stream_start, after, limits, buffers, top_models)


@compile_kernel
def scan_streamed_features(
    block: Values,
    rows: Values,
    sizes: Integers,
    stream_start: int,
    state: SchurState,
    limits: CollinearityLimits,
    scores: Values,
    codes: Integers,
    parts: PartTable,
) -> None:
    """Find the best model of each streamed feature with a subset of the core, for each size of the subset.

    Parameters
    ----------
    block : float64 array, shape (m, n)
        One streamed feature per row; finite.
    rows : float64 array, shape (q + K, n)
        The features of the core and the targets.
    sizes : int64 array, shape (k,)
        Sizes of the subsets.
    stream_start : int
        The first column of the state for streamed features. As many as follow are scanned together.
    state : SchurState
        The correlations of the core. The columns of streamed features are overwritten.
    limits : CollinearityLimits
        The limits for collinear subsets.
    scores, codes : float64 and int64 arrays, shape (k, m)
        Changed in place, see `TopModels`.
    parts : PartTable
        Parts that models must have.
    """
    q, lanes = len(state.products), state.products.shape[1] - stream_start
    tile, products = np.empty((block.shape[1], lanes)), np.empty((len(rows), lanes))
    for start in range(0, len(block), lanes):
        stop = min(start + lanes, len(block))
        state.pivots[stream_start:] = fill_normalized_tile(block[start:stop], tile)
        compute_products(rows, tile, products)
        state.products[:, stream_start:] = products[:q]
        state.target_products[:, stream_start:] = products[q:]
        for place in range(len(sizes)):
            best = TopModels(
                scores[place, start:stop],
                codes[place, start:stop],
                sizes[place] + 1,
                parts.required,
                parts.parts,
                parts.streamed_parts[start:stop],
            )
            scan_subsets(sizes[place] + 1, 0, q, stream_start, state, limits, best)


@compile_kernel
def _scan_triples(
    first: int,
    last: int,
    products: Values,
    p: Values,
    c: Values,
    stream_start: int,
    state: SchurState,
    limits: CollinearityLimits,
    buffers: ScanBuffers,
    top_models: TopModels,
) -> None:
    """Scan all models of the prefix, h in [first, last) and three more; three arrays are overwritten."""
    h_pivots, h_target_products = np.zeros(p.size), np.zeros(c.shape)
    for h in range(first, last):
        if state.pivots[h] >= max(limits.min_pivot, limits.min_determinant / state.determinant):
            eliminate_feature(h, state, products)
            after = _extend_prefix(h, state, products, h_pivots, h_target_products)
            for i in range(h + 1, len(products)):
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
    q, k, betas, c0, scores = len(products), len(c), buffers.betas, c[0], top_models.scores
    min_ratio = limits.min_determinant / determinant
    # slices are made outside of the loop, where they take longer than the comparison of a row
    begin, end = stream_start, stream_start + scores.size if stream_start else 0
    streamed_pivot_row = pivot_row[begin:end]
    streamed_p, streamed_c = p[begin:end], c0[begin:end]
    for j in range(first, last):
        if p[j] < max(limits.min_pivot, min_ratio):
            continue
        inverse, explained = 1.0 / p[j], prefix_r2
        for t in range(k):
            betas[t] = c[t, j] * inverse
            explained += c[t, j] * betas[t]
        min_pivot = max(limits.min_pivot, min_ratio * inverse)
        # for one target, a comparison without buffers skips most rows
        if stream_start:
            step = EliminationStep(ratios[j], inverse, betas[0], explained, min_pivot, code + j)
            start, stop = stream_start, stream_start + scores.size
            skips = k == 1 and not _count_improvable(
                products[j, begin:end], streamed_pivot_row, streamed_p, streamed_c, step, scores
            )
        else:
            step = EliminationStep(ratios[j], inverse, betas[0], explained, min_pivot, (code + j) * q)
            start, stop = j + 1, q
            padded = start + (stop - start + PADDING - 1) // PADDING * PADDING
            skips = k == 1 and not _count_hits(
                products[j, start:padded],
                pivot_row[start:padded],
                p[start:padded],
                c0[start:padded],
                step,
                scores[0],
            )
        if not skips:
            _accumulate_gains(start, stop, products[j], pivot_row, p, c, step, buffers)
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
    scores, codes, required = top_models.scores, top_models.codes, top_models.required
    if is_streamed and required:
        missing = required & ~_collect_parts(code, top_models)
        for k in range(scores.size):
            if ps[k] >= min_pivot and missing & ~top_models.streamed_parts[k] == 0:
                score = explained + gains[k] / ps[k]
                if score > scores[k]:
                    scores[k], codes[k] = score, code
        return
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
        # the code of the prefix ends with a digit for the last feature
        missing = required & ~_collect_parts(code // max(1, top_models.parts.size), top_models)
        for k in range(ps.size):
            if ps[k] >= min_pivot and (not missing or missing & ~top_models.parts[start + k] == 0):
                push_model(explained + gains[k] / ps[k], code + start + k, top_models)


@compile_kernel
def _collect_parts(code: int, top_models: TopModels) -> int:
    """Collect the parts of all features of a model but the last; 0 if none are required."""
    parts = 0
    if top_models.required:
        for _ in range(top_models.size - 1):
            parts |= top_models.parts[code % top_models.parts.size]
            code //= top_models.parts.size
    return parts


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
    scores, codes = top_models.scores, top_models.codes
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


@compile_kernel
def fill_normalized_tile(values: Values, tile: Values) -> Values:
    """Write normalised features into the columns of a tile.

    Parameters
    ----------
    values : float64 array, shape (w, n)
        One feature per row; finite.
    tile : float64 array, shape (n, lanes), lanes ≥ w
        Overwritten: one feature per column; zeros for constant features, and in the remaining columns.

    Returns
    -------
    float64 array, shape (lanes,)
        The squared norms: 1, or 0 for columns of zeros.
    """
    w, (n, lanes) = len(values), tile.shape
    tile[:, w:] = 0.0
    largest, sums, squares = np.zeros(lanes), np.zeros(lanes), np.zeros(lanes)
    _fill_transposed(values, tile)
    _find_largest(tile, largest)
    factors = np.empty(lanes)
    for f in range(lanes):
        # A power of two does not round, and squares of numbers near 1 neither overflow nor underflow.
        _, exponent = math.frexp(largest[f])
        factors[f] = math.ldexp(1.0, -max(exponent, -1000))
        largest[f] *= factors[f]
    _scale_columns(tile, factors, sums)
    # Twice: the first mean is rounded on the scale of the values, the second on that of their deviations.
    further_sums = np.zeros(lanes)
    _subtract_means(tile, sums / n, further_sums)
    _subtract_means_squared(tile, further_sums / n, squares)
    for f in range(lanes):
        varies = squares[f] > n * (_CONSTANT_TOLERANCE * largest[f]) ** 2
        factors[f] = 1.0 / math.sqrt(squares[f]) if varies else 0.0
        squares[f] = 1.0 if varies else 0.0
    for r in range(n):
        row = tile[r]
        for f in range(lanes):
            row[f] *= factors[f]
    return squares


@compile_kernel
def compute_products(rows: Values, tile: Values, out: Values) -> None:
    """Compute the inner products of features with those of a tile.

    Parameters
    ----------
    rows : float64 array, shape (s, n)
        One feature per row.
    tile : float64 array, shape (n, lanes)
        One feature per column.
    out : float64 array, shape (s, lanes)
        Overwritten. Each product is a sum over n in one order, for any s and lanes.
    """
    s, n = rows.shape
    out[:] = 0.0
    n_blocked = n - n % 8
    for r in range(0, n_blocked, 8):
        x0, x1, x2, x3 = tile[r], tile[r + 1], tile[r + 2], tile[r + 3]
        x4, x5, x6, x7 = tile[r + 4], tile[r + 5], tile[r + 6], tile[r + 7]
        for a in range(s):
            z, sums = rows[a, r : r + 8], out[a]
            z0, z1, z2, z3, z4, z5, z6, z7 = z[0], z[1], z[2], z[3], z[4], z[5], z[6], z[7]
            for f in range(sums.size):
                low = (z0 * x0[f] + z1 * x1[f]) + (z2 * x2[f] + z3 * x3[f])
                high = (z4 * x4[f] + z5 * x5[f]) + (z6 * x6[f] + z7 * x7[f])
                sums[f] += low + high
    for r in range(n_blocked, n):
        for a in range(s):
            for f in range(out.shape[1]):
                out[a, f] += rows[a, r] * tile[r, f]


@compile_kernel
def _fill_transposed(values: Values, tile: Values) -> None:
    """Write values, shape (w, n), as columns of the tile."""
    w, n = values.shape
    # eight rows at a time, so that their lines of the tile stay in the first-level cache
    for start in range(0, n, 8):
        for f in range(w):
            for r in range(start, min(start + 8, n)):
                tile[r, f] = values[f, r]


@compile_kernel
def _find_largest(tile: Values, largest: Values) -> None:
    """Write the largest magnitude of each column, shape (lanes,), over zeros."""
    n, lanes = tile.shape
    for r in range(n):
        row = tile[r]
        for f in range(lanes):
            largest[f] = max(largest[f], abs(row[f]))


@compile_kernel
def _scale_columns(tile: Values, factors: Values, sums: Values) -> None:
    """Multiply each column by a factor, and add its values to the sums, shape (lanes,)."""
    n, lanes = tile.shape
    for r in range(n):
        row = tile[r]
        for f in range(lanes):
            value = row[f] * factors[f]
            row[f] = value
            sums[f] += value


@compile_kernel
def _subtract_means(tile: Values, means: Values, sums: Values) -> None:
    """Subtract the mean of each column, and add the differences to the sums, shape (lanes,)."""
    n, lanes = tile.shape
    for r in range(n):
        row = tile[r]
        for f in range(lanes):
            value = row[f] - means[f]
            row[f] = value
            sums[f] += value


@compile_kernel
def _subtract_means_squared(tile: Values, means: Values, squares: Values) -> None:
    """Subtract the mean of each column, and add the squared differences to the squares, shape (lanes,)."""
    n, lanes = tile.shape
    for r in range(n):
        row = tile[r]
        for f in range(lanes):
            value = row[f] - means[f]
            row[f] = value
            squares[f] += value * value


@compile_kernel
def fill_unexplained_shares(
    columns: Values,
    targets: Values,
    models: Integers,
    min_pivot: float,
    min_determinant: float,
    shares: Values,
) -> None:
    """Write the unexplained share of each model, shape (k,); infinite if its features are collinear."""
    k, size = models.shape
    n = targets.shape[1]
    basis = np.empty((size, n))
    residual = np.empty(n)
    for model in range(k):
        shares[model] = np.inf
        if _fill_orthonormal_basis(columns, models[model], min_pivot, min_determinant, basis):
            shares[model] = 0.0
            for target in targets:
                for row in range(n):
                    residual[row] = target[row]
                for s in range(size):
                    _project_out(basis[s], residual)
                shares[model] += _compute_inner_product(residual, residual)


@compile_kernel
def _fill_orthonormal_basis(
    columns: Values, model: Integers, min_pivot: float, min_determinant: float, basis: Values
) -> bool:
    """Write an orthonormal basis of a model's columns, shape (s, n); return False if they are collinear."""
    product = 1.0
    for s in range(model.size):
        basis[s] = columns[model[s]]
        for _ in range(2):
            for previous in range(s):
                _project_out(basis[previous], basis[s])
        share = _compute_inner_product(basis[s], basis[s])
        product *= share
        if share < min_pivot or product < min_determinant:
            return False
        basis[s] /= math.sqrt(share)
    return True


@compile_kernel
def _project_out(unit: Values, vector: Values) -> None:
    """Project a unit vector, shape (n,), out of another vector, in place."""
    along = _compute_inner_product(unit, vector)
    for r in range(unit.size):
        vector[r] -= along * unit[r]


@compile_kernel
def _compute_inner_product(a: Values, b: Values) -> float:
    """Compute the inner product of two arrays of shape (n,)."""
    return float(compute_simd_dot(a, b, 0, a.size))


@compile_kernel
def _apply_threshold(z: float, lam: float, gamma: float, scad: bool) -> float:
    """Minimise ½(z − b)² + p(|b|) over b."""
    size = abs(z)
    sign = 1.0 if z > 0.0 else -1.0
    if size <= lam:
        return 0.0
    if size > gamma * lam:
        return z
    if scad and size > 2.0 * lam:
        # Fan and Li 2001: b = {(γ − 1)z − sgn(z)γλ}/(γ − 2) (eq. 2.8)
        return sign * ((gamma - 1.0) * size - gamma * lam) / (gamma - 2.0)
    if scad:
        return sign * (size - lam)
    # z − b = p'(b) = λ − b/γ, solved for b > 0
    return sign * (size - lam) / (1.0 - 1.0 / gamma)


@compile_kernel
def descend_coordinates(
    gram: Values,
    products: Values,
    b: Values,
    lam: float,
    gamma: float,
    scad: bool,
    tolerance: float,
    max_sweeps: int,
) -> bool:
    """Sweep over the coordinates, shape (k,), until they converge; return whether they did."""
    for _ in range(max_sweeps):
        max_change = 0.0
        for j in range(b.size):
            if b[j] == 0.0 and abs(products[j]) <= lam + ENTRY_SLACK * tolerance:
                continue
            new = _apply_threshold(products[j] + b[j], lam, gamma, scad)
            change = new - b[j]
            if change != 0.0:
                b[j] = new
                for k in range(b.size):
                    products[k] -= change * gram[j, k]
                max_change = max(max_change, abs(change))
        if max_change <= tolerance:
            return True
    return False


@compile_kernel
def project_out_direction(
    residual_vectors: Values,
    direction: Values,
    residual_target: Values,
    inner_products: Values,
    squared_norms: Values,
) -> None:
    """Project a direction out of vectors, shape (q, n), and update their products and norms, shape (q,)."""
    for j in range(residual_vectors.shape[0]):
        vector = residual_vectors[j]  # stays in the cache for all four passes
        share = np.dot(vector, direction)
        for i in range(vector.size):
            vector[i] -= share * direction[i]
        inner_products[j] = np.dot(vector, residual_target)
        squared_norms[j] = np.dot(vector, vector)


class ProjectionLevels(NamedTuple):
    """Vectors as columns and a target, projected 0, 1, … times; each level is computed from the last."""

    vectors: Values  # (levels, r, q)
    target: Values  # (levels, r)
    target_products: Values  # (levels, q): inner products of vectors and target
    squared_norms: Values  # (levels, q): squared norms of the vectors


class SubsetSearch(NamedTuple):
    """The state that all nodes of one search share."""

    members: ProjectionLevels  # by number of members: residuals of the features and the target
    removed: ProjectionLevels  # by number of removed features: dual vectors of the others, and the target
    buffer: ProjectionLevels  # one level of scratch space
    tolerance: Values  # (q,)
    current_members: Integers  # (size,): the members at the current node
    max_tolerance: Values  # (size,): the largest tolerance among the first 0, 1, … members
    best_model: Integers  # (size,): the best model so far
    best_rss: Values  # (1,): its RSS
    work_and_limit: Integers  # (2,): nodes visited, and the limit


@compile_kernel
def visit_node(
    n_members: int, n_removed: int, free: Flags, subset_rss: float, has_dual: bool, search: SubsetSearch
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
    _project_out_column(members, n_members, n_members + 1, branch_feature)
    visit_node(n_members + 1, n_removed, free.copy(), subset_rss, has_dual, search)
    if subset_rss + rss_increase < best[0] * (1.0 - RSS_TIE_TOLERANCE):
        if has_dual:
            _project_out_column(removed, n_removed, n_removed + 1, branch_feature)
        visit_node(n_members, n_removed + 1, free, subset_rss + rss_increase, has_dual, search)


@compile_kernel
def _project_out_column(levels: ProjectionLevels, source_level: int, target_level: int, column: int) -> None:
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
    compute_level_products(levels, target_level)


@compile_kernel
def compute_level_products(levels: ProjectionLevels, level: int) -> None:
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
def _try_last_member(free: Flags, search: SubsetSearch) -> None:
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
    free: Flags, n_members: int, n_removed: int, search: SubsetSearch
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
    compute_level_products(buffer, 0)
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
        _project_out_column(buffer, 0, 0, j)
    if spanned < 0:
        _solve_dual_vectors(residuals, columns[:m], basis, removed.vectors[n_removed])
        compute_level_products(removed, n_removed)
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
