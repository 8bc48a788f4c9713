"""Kernels that try all subsets of a few features on inner products, for several targets at once.

As `subset_scan`, whose notation this is, but of every target t there is a c_t, and the last feature k of a
subset explains Σ_t c_tk² / p_k. Products and pivots are the same for all targets, so that K of them cost much
less than K searches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.subset_scan import SLACK, Left, complement, push

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.statistics.subset_scan import Best, Limits

    Values = NDArray[np.float64]

__all__ = ["scan_shared"]


class _Rows(NamedTuple):
    """What stays the same from row to row: rooms to work in, and where last features come from."""

    u: Values  # (wide,): C_jk of the row at hand
    p: Values  # (wide,): p_k
    gains: Values  # (wide,): Σ_t c_tk²
    betas: Values  # (K,): c_tj / p_j
    apart: int  # 0, or the column from which on last features are


@kernel
def scan_shared(size: int, first: int, last: int, apart: int, left: Left, limits: Limits, best: Best) -> None:
    """Try all models of 1 to 4 features whose first feature is in [first, last), for K targets.

    Parameters
    ----------
    size, first, last, apart, limits, best
        As of `symscreen.statistics.subset_scan.scan`.
    left : Left
        The correlations, `with_target` of shape (K, wide).
    """
    q, wide = left.products.shape
    k = len(left.with_target)
    none = np.zeros(wide)
    rows = _Rows(np.empty(wide), np.empty(wide), np.empty(wide), np.zeros(k), apart)
    p, c = np.zeros(wide), np.zeros((k, wide))
    if size == 1:
        start, stop = (apart, apart + best.scores.size) if apart else (first, last)
        _tried(start, stop, none, none, 0.0, 0.0, left.pivots, left.with_target, rows)
        _taken(start, stop, 0.0, limits.pivot, 0, rows, best)
    elif size == 2:
        _after_prefix(first, last, none, none, left, limits, rows, best)
    elif size == 3:
        for i in range(first, last):
            _pairs_after(i, p, c, left, limits, rows, best)
    else:
        products, p_left, c_left = np.zeros((q, wide)), np.zeros(wide), np.zeros((k, wide))
        for h in range(first, last):
            if left.pivots[h] >= limits.pivot:
                complement(h, left, products)
                after = _after(h, left, products, p_left, c_left)
                for i in range(h + 1, q):
                    _pairs_after(i, p, c, after, limits, rows, best)


@kernel
def _pairs_after(i: int, p: Values, c: Values, left: Left, limits: Limits, rows: _Rows, best: Best) -> None:
    if left.pivots[i] >= max(limits.pivot, limits.determinant / left.determinant):
        after = _after(i, left, left.products, p, c)
        given, q = left.products[i], len(left.products)
        ratios = given[:q] * (1.0 / left.pivots[i])
        _after_prefix(i + 1, q, ratios, given, after, limits, rows, best)


@kernel
def _after_prefix(
    first: int, last: int, ratios: Values, given: Values, left: Left, limits: Limits, rows: _Rows, best: Best
) -> None:
    """Try the prefix with each j in [first, last) and each last feature."""
    products, p, c, so_far, determinant, code = left
    q = len(products)
    lowest = limits.determinant / determinant
    for j in range(first, last):
        if p[j] < max(limits.pivot, lowest):
            continue
        inverse, explained = 1.0 / p[j], so_far
        for t in range(len(c)):
            rows.betas[t] = c[t, j] * inverse
            explained += c[t, j] * rows.betas[t]
        start, stop = (rows.apart, rows.apart + best.scores.size) if rows.apart else (j + 1, q)
        _tried(start, stop, products[j], given, ratios[j], inverse, p, c, rows)
        own = code + j if rows.apart else (code + j) * q
        _taken(start, stop, explained, max(limits.pivot, lowest * inverse), own, rows, best)


@kernel
def _tried(
    start: int,
    stop: int,
    row: Values,
    given: Values,
    ratio: float,
    inverse: float,
    pivots: Values,
    with_target: Values,
    rows: _Rows,
) -> None:
    """Remove feature j from each last feature in [start, stop), and add up what it explains, times p."""
    row, given, pivots = row[start:stop], given[start:stop], pivots[start:stop]
    us, ps, gains = rows.u[start:stop], rows.p[start:stop], rows.gains[start:stop]
    for k in range(us.size):
        u = row[k] - ratio * given[k]
        us[k] = u
        ps[k] = pivots[k] - (u * u) * inverse
        gains[k] = 0.0
    for t in range(len(with_target)):
        own, beta = with_target[t, start:stop], rows.betas[t]
        for k in range(us.size):
            c = own[k] - us[k] * beta
            gains[k] += c * c


@kernel
def _taken(start: int, stop: int, explained: float, least: float, code: int, rows: _Rows, best: Best) -> None:
    """Keep what is better than what was kept: of each last feature apart its best, else the best of all."""
    ps, gains = rows.p[start:stop], rows.gains[start:stop]
    if rows.apart:
        scores, codes = best
        for k in range(scores.size):
            score = explained + np.divide(gains[k], ps[k])  # np.divide does not stop to raise at 0
            better = (ps[k] >= least) & (score > scores[k])
            scores[k] = score if better else scores[k]
            codes[k] = code if better else codes[k]
    elif _hits(ps, gains, best.scores[0] - explained - SLACK, least):
        for k in range(ps.size):
            if ps[k] >= least:
                push(explained + gains[k] / ps[k], code + start + k, best)


@kernel
def _hits(ps: Values, gains: Values, limit: float, least: float) -> int:
    """Count the last features that may explain `limit` more."""
    hits = 0
    for k in range(ps.size):
        hits += (gains[k] >= limit * ps[k]) & (ps[k] >= least)
    return hits


@kernel
def _after(i: int, left: Left, products: Values, p: Values, c: Values) -> Left:
    """Take feature i into the prefix; p and c are filled beyond i, the products are the caller's."""
    inverse = 1.0 / left.pivots[i]
    row, explained = left.products[i], left.explained
    for k in range(i + 1, row.size):
        p[k] = left.pivots[k] - (row[k] * row[k]) * inverse
    for t in range(len(c)):
        own, beta = left.with_target[t], left.with_target[t, i] * inverse
        for k in range(i + 1, row.size):
            c[t, k] = own[k] - row[k] * beta
        explained += left.with_target[t, i] * beta
    code = (left.code + i) * len(left.products)
    return Left(products, p, c, explained, left.determinant * left.pivots[i], code)
