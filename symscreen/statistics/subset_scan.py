"""Kernels that try all subsets of a few features on inner products, one feature after the other.

A prefix of features leaves Schur complements C, p = diag C, c (`Left`). The next feature j explains c_j²/p_j
and leaves to each feature k after it::

    C_kl ← C_kl − C_jk C_jl / p_j,     p_k ← p_k − C_jk² / p_j,     c_k ← c_k − c_j C_jk / p_j

so the last feature k of a subset costs six products. The row of all such k is first only compared with the
worst model kept, by c_k² ≥ (bar − explained) · p_k, which needs no division, does not branch, and fills the
processor's vectors; a row is looked at one by one only where there is a hit.

No product is fused with a sum and no sum is reordered, so that a subset's score is the same to the bit in
whatever share of the work, and at whatever place in a vector, it is computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["PADDING", "SLACK", "Best", "Left", "Limits", "complement", "push", "scan"]

PADDING = 8
"""Rows end on a whole vector, at most so far beyond the features; pivots are 0 there, so nothing hits."""

SLACK = 4e-15
"""Of R²: more than the comparison and the score can differ by rounding."""


class Left(NamedTuple):
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
    with_target: NDArray[np.float64]
    explained: float
    determinant: float
    code: int


class Limits(NamedTuple):
    """The least pivot and the least determinant of a subset that is scored."""

    pivot: float
    determinant: float


class Best(NamedTuple):
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


class Step(NamedTuple):
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
    least: float
    code: int


@kernel
def scan(size: int, first: int, last: int, apart: int, left: Left, limits: Limits, best: Best) -> None:
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
    q, wide = left.products.shape
    none = np.zeros(wide)
    p, c = np.zeros(wide), np.zeros(wide)
    if size == 1:
        step = Step(0.0, 0.0, 0.0, 0.0, limits.pivot, 0)
        if apart:
            pivots, with_target = left.pivots[apart:], left.with_target[apart:]
            _improve(none[apart:], none[apart:], pivots, with_target, step, best)
        else:
            _look(first, last, none, none, left.pivots, left.with_target, step, best)
    elif size == 2:
        _rows(first, last, none, none, apart, left, limits, best)
    elif size == 3:
        for i in range(first, last):
            _pairs_after(i, p, c, apart, left, limits, best)
    else:
        products, p_left, c_left = np.zeros((q, wide)), np.zeros(wide), np.zeros(wide)
        for h in range(first, last):
            if left.pivots[h] >= limits.pivot:
                complement(h, left, products)
                after = _after(h, left, products, p_left, c_left)
                for i in range(h + 1, q):
                    _pairs_after(i, p, c, apart, after, limits, best)


@kernel
def _pairs_after(i: int, p: Values, c: Values, apart: int, left: Left, limits: Limits, best: Best) -> None:
    if left.pivots[i] >= max(limits.pivot, limits.determinant / left.determinant):
        after = _after(i, left, left.products, p, c)
        given, q = left.products[i], len(left.products)
        ratios = given[:q] * (1.0 / left.pivots[i])
        _rows(i + 1, q, ratios, given, apart, after, limits, best)


@kernel
def _rows(
    first: int, last: int, ratios: Values, given: Values, apart: int, left: Left, limits: Limits, best: Best
) -> None:
    """Try the prefix with each j in [first, last) and each last feature."""
    products, p, c, so_far, determinant, code = left
    q = len(products)
    lowest = limits.determinant / determinant
    given_apart, p_apart, c_apart = given[apart:], p[apart:], c[apart:]
    for j in range(first, last):
        if p[j] < max(limits.pivot, lowest):
            continue
        inverse = 1.0 / p[j]
        beta = c[j] * inverse
        explained, least = so_far + c[j] * beta, max(limits.pivot, lowest * inverse)
        row, start = products[j], j + 1
        if apart:
            step = Step(ratios[j], inverse, beta, explained, least, code + j)
            if _rises(row[apart:], given_apart, p_apart, c_apart, step, best.scores):
                _improve(row[apart:], given_apart, p_apart, c_apart, step, best)
        else:
            step = Step(ratios[j], inverse, beta, explained, least, (code + j) * q)
            stop = start + (q - start + PADDING - 1) // PADDING * PADDING
            limit = best.scores[0] - explained - SLACK
            if _hits(row[start:stop], given[start:stop], p[start:stop], c[start:stop], step, limit):
                _look(start, q, row, given, p, c, step, best)


@kernel
def _hits(row: Values, given: Values, pivots: Values, with_target: Values, step: Step, limit: float) -> int:
    """Count the last features that may explain `limit` more."""
    ratio, inverse, beta, _, least, _ = step
    hits = 0
    for k in range(row.size):
        u = row[k] - ratio * given[k]
        p = pivots[k] - (u * u) * inverse
        c = with_target[k] - u * beta
        hits += (c * c >= limit * p) & (p >= least)
    return hits


@kernel
def _look(
    start: int,
    stop: int,
    row: Values,
    given: Values,
    pivots: Values,
    with_target: Values,
    step: Step,
    best: Best,
) -> None:
    """Score each last feature in [start, stop), and keep the best."""
    ratio, inverse, beta, explained, least, code = step
    for k in range(start, stop):
        u = row[k] - ratio * given[k]
        p = pivots[k] - (u * u) * inverse
        c = with_target[k] - u * beta
        if p >= least:
            push(explained + c * c / p, code + k, best)


@kernel
def _rises(
    row: Values, given: Values, pivots: Values, with_target: Values, step: Step, scores: Values
) -> int:
    """Count the features apart that may have found a better model."""
    ratio, inverse, beta, explained, least, _ = step
    so_far = explained + SLACK
    hits = 0
    for k in range(scores.size):
        u = row[k] - ratio * given[k]
        p = pivots[k] - (u * u) * inverse
        c = with_target[k] - u * beta
        hits += (c * c >= (scores[k] - so_far) * p) & (p >= least)
    return hits


@kernel
def _improve(row: Values, given: Values, pivots: Values, with_target: Values, step: Step, best: Best) -> None:
    """Score each feature apart; it keeps its best."""
    ratio, inverse, beta, explained, least, code = step
    scores, codes = best
    for k in range(scores.size):
        u = row[k] - ratio * given[k]
        p = pivots[k] - (u * u) * inverse
        c = with_target[k] - u * beta
        score = explained + np.divide(c * c, p)  # np.divide does not stop to raise at 0
        better = (p >= least) & (score > scores[k])
        scores[k] = score if better else scores[k]
        codes[k] = code if better else codes[k]


@kernel
def _after(i: int, left: Left, products: Values, p: Values, c: Values) -> Left:
    """Take feature i into the prefix; p and c are filled beyond i, the products are the caller's."""
    inverse = 1.0 / left.pivots[i]
    beta = left.with_target[i] * inverse
    row = left.products[i]
    for k in range(i + 1, row.size):
        p[k] = left.pivots[k] - (row[k] * row[k]) * inverse
        c[k] = left.with_target[k] - row[k] * beta
    explained = left.explained + left.with_target[i] * beta
    code = (left.code + i) * len(left.products)
    return Left(products, p, c, explained, left.determinant * left.pivots[i], code)


@kernel
def complement(i: int, left: Left, products: Values) -> None:
    """Remove feature i from the products of those after it; they are written into the caller's."""
    inverse = 1.0 / left.pivots[i]
    given = left.products[i]
    for j in range(i + 1, len(products)):
        ratio = given[j] * inverse
        row, to = left.products[j], products[j]
        for k in range(row.size):
            to[k] = row[k] - ratio * given[k]


@kernel
def push(score: float, code: int, best: Best) -> None:
    """Put a model into a heap with the worst at its root, unless it is no better than that."""
    scores, codes = best
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
