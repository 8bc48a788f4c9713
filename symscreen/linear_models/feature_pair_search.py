"""Find the best pairs among up to hundreds of thousands of features, without a Gram matrix in memory.

With unit features z_a and a unit target y, let r_a = z_a·y and g = z_a·z_b. A pair explains the share
R² = (r_a² + r_b² − 2·r_a·r_b·g)/(1 − g²). It can be among the best only if R² is at least τ, that of the
worst pair on the list, so only if

    h(g) = τ − r_a² − r_b² + 2·r_a·r_b·g − τ·g² ≤ 0.

**The bound.** A few directions d_k carry most of the variance of features that are formulas of the same
inputs. With the coordinates u_a = (z_a·d_k)_k and the remainder ρ_a² = 1 − |u_a|², g differs from u_a·u_b by
at most ρ_a·ρ_b (Cauchy–Schwarz), and h from h(u_a·u_b) by at most ρ_a·ρ_b·(2|r_a·r_b| + 2τ·|g|). The
products u_a·u_b of all pairs are tiles of a matrix product in single precision, with a bound on its rounding
(Higham 2002, Accuracy and Stability of Numerical Algorithms, section 3.1). Where no few directions do, the
columns themselves take the place of the coordinates, and ρ is 0.

What this bound leaves gets the exact g, and what h leaves is fitted on the columns. A pair that is left out
is worse than every pair of the list, so the result does not depend on directions, tiles or threads. The list
starts with pairs of the features that are most correlated with the target, and tiles are tried in that order.

With K targets of norm 1/√K, r_a² and r_a·r_b are sums over the targets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.errors import OptionError
from symscreen.linear_models.exhaustive_subsets import run_threads
from symscreen.linear_models.gram import (
    MIN_PIVOT,
    argsort_models,
    compute_unexplained_shares,
    normalize_rows,
    normalize_target,
)
from symscreen.statistics.column_arithmetic import compute_simd_dot

if TYPE_CHECKING:
    from collections.abc import Callable

    from symscreen._typing import Flags, Integers, Values
    from symscreen.linear_models.exhaustive_subsets import RequiredParts


_TILE_FEATURES = 1024  # features along each side of a tile, whose products fit into a cache
_N_STARTS = 32  # features most correlated with the target, whose pairs are the first on the list
_START_DETERMINANT = 1e-8  # smallest determinant, by inner products, of the pairs that start the list
_N_DIRECTIONS = (16, 32, 64, 128)  # numbers of directions that are tried
_N_DIRECTION_FEATURES = 512  # features whose directions are taken, and on which their number is chosen
_EXACT_COST = 10.0  # cost of a multiplication in an exact g, relative to one in a matrix product
_REMAINDER_ERROR = 1e-12  # error of ρ² with directions that are orthonormal up to rounding
_SLOPE = 4.0  # largest |dh/dg|
_ARITHMETIC_ERRORS = 64.0  # roundings of numbers up to 4 in h, and of τ, r_a² and r_a·r_b
_TIE_SLACK = 1e-11  # pairs whose residual norms agree to 12 decimals are tied
_FITTED_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class PairModels:
    """The best pairs of features, best first.

    Parameters
    ----------
    members : int64 array, shape (k, 2)
        The features of each pair, ascending.
    unexplained : float64 array, shape (k,)
        RSS/‖y − ȳ‖² = 1 − R².
    n_tried : int
        Number of pairs that were tried, which is that of all pairs unless the search was stopped.
    """

    members: Integers
    unexplained: Values
    n_tried: int


def find_best_pairs(
    values: Values,
    target: Values,
    n_best: int,
    *,
    jobs: int = 1,
    required_parts: RequiredParts | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> PairModels:
    """Find the pairs of features with the smallest unexplained share; BLAS must be limited to one thread.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        One feature per row; finite, any scale. A copy of them is made in double and one in single precision.
    target : float64 array, shape (n,) or (K, n)
        The target, or K targets that share one model; finite, none constant.
    n_best : int
        Number of pairs to return, at least 1.
    jobs : int
        Number of threads. The result is identical to the bit for any number.
    required_parts : RequiredParts, optional
        Parts that each pair must have.
    should_stop : callable
        Whether the search must end; asked before each tile. The list then has the best of the pairs tried.

    Returns
    -------
    PairModels
        As by `find_best_models`: of the same pairs, with the same order among ties. Collinear pairs are
        skipped.

    Raises
    ------
    OptionError
        If `n_best` is below 1.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(20, 50))
    >>> pairs = find_best_pairs(x, 2 * x[3] - x[11], 1)
    >>> pairs.members.tolist(), bool(pairs.unexplained[0] < 1e-28), pairs.n_tried
    ([[3, 11]], True, 190)
    """
    if n_best < 1:
        raise OptionError(f"the number of models to keep must be at least 1: it is {n_best}")
    search = _PairSearch(values, target, n_best, required_parts)
    n_tiles = -(-len(values) // _TILE_FEATURES)
    tiles = iter([(later, earlier) for later in range(n_tiles) for earlier in range(later + 1)])

    def scan_tiles(_: int) -> int:
        """Scan tiles until none is left; return the number of pairs."""
        buffers, n_tried = _Buffers(), 0
        for later, earlier in tiles:  # one iterator for all threads
            if should_stop():
                break
            n_tried += search.scan_tile(later, earlier, buffers)
        return n_tried

    n_tried = sum(run_threads(scan_tiles, tiles, jobs))
    return PairModels(*search.describe_best(), n_tried)


class _Features(NamedTuple):
    """The features by descending |r|, and what bounds the h of their pairs."""

    columns: Values  # shape (q, n), float64
    target_products: Values  # r, shape (K, q), float64
    coordinates: Values  # u, shape (q, d), float32
    remainders: Values  # ρ, shape (q,), float32
    approximate_products: Values  # r in float32, shape (K, q)
    strengths: Values  # Σ r² in float32, shape (q,)
    bound_error: float  # error of h in single precision
    exact_error: float  # error of h in double precision


@dataclass(eq=False)
class _Buffers:
    """Arrays that a thread uses for each tile."""

    products: Values = field(default_factory=lambda: np.empty(_TILE_FEATURES**2, dtype=np.float32))
    bounds: Values = field(default_factory=lambda: np.empty(_TILE_FEATURES, dtype=np.float32))
    pairs: Integers = field(default_factory=lambda: np.empty((_TILE_FEATURES**2, 2), dtype=np.int64))


@dataclass(frozen=True, eq=False)
class _PairList:
    """The best pairs so far, as positions in the order of strength."""

    members: Integers
    unexplained: Values


class _PairSearch:
    """The features in the order of strength, and the list of the best pairs."""

    def __init__(
        self, values: Values, target: Values, n_best: int, required_parts: RequiredParts | None
    ) -> None:
        self._target, self._n_best, self._required_parts = normalize_target(target), n_best, required_parts
        columns = normalize_rows(values)
        strengths = np.square(columns @ self._target.T).sum(axis=1)
        self._order = np.argsort(-strengths, kind="stable")  # rounding of the order changes no result
        columns = columns[self._order]
        self._best, self._lock = _PairList(np.zeros((0, 2), np.int64), np.zeros(0)), Lock()
        self._start_list(columns)
        self._features = _choose_features(columns, self._target @ columns.T, self._get_threshold())

    def describe_best(self) -> tuple[Integers, Values]:
        """Return the features of the best pairs, ascending, shape (k, 2), and their unexplained shares."""
        return np.sort(self._order[self._best.members], axis=1), self._best.unexplained

    def _start_list(self, columns: Values) -> None:
        """Put the best pairs of the strongest features on the list."""
        with_target = self._target @ columns.T
        strengths = np.square(with_target).sum(axis=0)
        n_starts = min(_N_STARTS, len(columns))
        products = columns[:n_starts] @ columns.T
        determinants = 1.0 - products * products
        alignments = with_target[:, :n_starts].T @ with_target
        explained = strengths[:n_starts, None] + strengths - 2.0 * alignments * products
        is_pair = (determinants > _START_DETERMINANT) & (
            np.arange(n_starts)[:, None] < np.arange(len(columns))
        )
        scores = np.where(is_pair, explained / np.where(is_pair, determinants, 1.0), -1.0)
        chosen = np.argsort(-scores, axis=None, kind="stable")[: self._n_best]
        pairs = np.column_stack(np.unravel_index(chosen, scores.shape))
        self._add(columns, pairs[scores.flat[chosen] >= 0.0])

    def scan_tile(self, later: int, earlier: int, buffers: _Buffers) -> int:
        """Add the possible pairs of two ranges of features to the list; return the number of all pairs."""
        rows, columns = (
            slice(start * _TILE_FEATURES, min((start + 1) * _TILE_FEATURES, len(self._order)))
            for start in (later, earlier)
        )
        shape = rows.stop - rows.start, columns.stop - columns.start
        products = buffers.products[: shape[0] * shape[1]].reshape(shape)
        features = self._features
        np.matmul(features.coordinates[rows], features.coordinates[columns].T, out=products)
        n_possible = _write_possible_pairs(
            products, features, self._get_threshold(), rows.start, columns.start, buffers.bounds,
            buffers.pairs,
        )  # fmt: skip
        for first in range(0, n_possible, _FITTED_AT_ONCE):
            self._add(features.columns, buffers.pairs[first : min(first + _FITTED_AT_ONCE, n_possible)])
        return shape[0] * (shape[0] - 1) // 2 if later == earlier else shape[0] * shape[1]

    def _get_threshold(self) -> float:
        """Return τ; 0 while the list is not full, with which every pair is possible."""
        unexplained = self._best.unexplained  # replaced as a whole, so that it can be read without the lock
        return 1.0 - float(unexplained[-1]) if len(unexplained) == self._n_best else 0.0

    def _has_required_parts(self, pairs: Integers) -> Flags:
        """Return which pairs, shape (m, 2), have all required parts."""
        if self._required_parts is None:
            return np.ones(len(pairs), dtype=np.bool_)
        parts, required = self._required_parts.parts[self._order[pairs]], self._required_parts.required
        return np.asarray((parts[:, 0] | parts[:, 1]) & required == required)

    def _add(self, columns: Values, pairs: Integers) -> None:
        """Fit pairs, the stronger feature of each first, and keep the best."""
        pairs = pairs[self._has_required_parts(pairs)]
        unexplained = compute_unexplained_shares(columns, self._target, pairs)
        is_known = np.isfinite(unexplained)
        with self._lock:
            members = np.vstack([self._best.members, pairs[is_known]])
            unexplained = np.concatenate([self._best.unexplained, unexplained[is_known]])
            features = np.sort(self._order[members], axis=1)
            ranking = argsort_models(unexplained, *features.T)
            is_new = np.ones(len(ranking), dtype=np.bool_)  # pairs that start the list are met again
            is_new[1:] = (features[ranking[1:]] != features[ranking[:-1]]).any(axis=1)
            kept = ranking[is_new][: self._n_best]
            self._best = _PairList(members[kept], unexplained[kept])


def _choose_features(columns: Values, target_products: Values, threshold: float) -> _Features:
    """Choose the directions with which a search of columns, shape (q, n), costs least."""
    q, n = columns.shape
    places = np.linspace(0, q - 1, min(q, 2 * _N_DIRECTION_FEATURES)).astype(np.int64)
    directions = np.linalg.svd(columns[places[::2]], full_matrices=False)[2]
    others = places[1::2]  # directions of a few features suit these better than others
    sample, sample_products = columns[others], target_products[:, others]
    best_cost, chosen = float(n), None
    for count in _N_DIRECTIONS:
        if 2 * count > min(n, len(directions)):
            break
        trial = _prepare_features(sample, sample_products, directions[:count])
        products, bounds = trial.coordinates @ trial.coordinates.T, np.empty(len(sample), dtype=np.float32)
        n_exact = _count_possible_pairs(products, trial, threshold, bounds)
        cost = count + _EXACT_COST * n * n_exact / max(1, len(sample) * (len(sample) - 1) // 2)
        if cost < best_cost:
            best_cost, chosen = cost, directions[:count]
    return _prepare_features(columns, target_products, chosen)


def _prepare_features(columns: Values, target_products: Values, directions: Values | None) -> _Features:
    """Compute the coordinates of columns, shape (q, n), along directions, shape (d, n)."""
    n_terms = columns.shape[1]
    coordinates, remainders = columns, np.zeros(len(columns))
    if directions is not None:
        coordinates = columns @ directions.T
        n_terms = len(directions)
        shares = 1.0 - np.square(coordinates).sum(axis=1)
        remainders = np.sqrt(np.maximum(shares, 0.0) + _REMAINDER_ERROR) * (1.0 + 1e-6)
    return _Features(
        columns,
        target_products,
        np.ascontiguousarray(coordinates, dtype=np.float32),
        remainders.astype(np.float32),
        target_products.astype(np.float32),
        np.square(target_products).sum(axis=0).astype(np.float32),
        (_SLOPE * (n_terms + 4) + _ARITHMETIC_ERRORS) * 2.0**-24 + _TIE_SLACK,
        (_SLOPE * (columns.shape[1] + 4) + _ARITHMETIC_ERRORS) * 2.0**-53 + _TIE_SLACK,
    )


@compile_kernel
def _fill_bounds(
    products: Values, features: _Features, threshold: float, row: int, first_column: int, n_columns: int,
    out: Values,
) -> int:  # fmt: skip
    """Write a number that h is at least, for the pairs of a row, and count those at most its rounding error.

    `products` are the inner products of the coordinates of the row, shape (≥ n_columns,).
    """
    tau, error = np.float32(threshold), np.float32(features.bound_error)
    strengths, remainders = features.strengths[first_column:], features.remainders[first_column:]
    limit, remainder, two = tau - features.strengths[row], features.remainders[row], np.float32(2.0)
    n_possible = np.int32(0)
    out[:n_columns] = 0.0
    for t in range(features.approximate_products.shape[0]):
        own, others = features.approximate_products[t, row], features.approximate_products[t, first_column:]
        for j in range(n_columns):
            out[j] += own * others[j]
    for j in range(n_columns):
        g, alignment, rest = products[j], out[j], remainder * remainders[j]
        slope = two * (abs(alignment) + tau * (abs(g) + rest))
        out[j] = (limit - strengths[j]) + g * (two * alignment - tau * g) - rest * slope
    for j in range(n_columns):  # a loop of its own, so that both use vector registers
        n_possible += np.int32(1) if out[j] <= error else np.int32(0)
    return int(n_possible)


@compile_kernel
def _count_possible_pairs(products: Values, features: _Features, threshold: float, bounds: Values) -> int:
    """Count the pairs of a few features that the bound leaves; products have the shape (q, q)."""
    n_possible = 0
    for i in range(products.shape[0]):
        n_possible += _fill_bounds(products[i], features, threshold, i, 0, i, bounds)
    return n_possible


@compile_kernel
def _write_possible_pairs(
    products: Values, features: _Features, threshold: float, first_row: int, first_column: int,
    bounds: Values, pairs: Integers,
) -> int:  # fmt: skip
    """Write the pairs (column, row) of a tile that may be among the best; return their number.

    Only columns before the row are pairs.
    """
    columns, error, n_found = features.columns, np.float32(features.bound_error), 0
    for i in range(products.shape[0]):
        row = first_row + i
        n_columns = min(products.shape[1], row - first_column)
        if _fill_bounds(products[i], features, threshold, row, first_column, n_columns, bounds) == 0:
            continue
        for j in range(n_columns):
            if bounds[j] <= error and _is_possible(
                columns[row], columns[first_column + j], features.target_products[:, row],
                features.target_products[:, first_column + j], threshold, features.exact_error,
            ):  # fmt: skip
                pairs[n_found, 0], pairs[n_found, 1] = first_column + j, row
                n_found += 1
    return n_found


@compile_kernel
def _is_possible(
    first: Values, second: Values, first_products: Values, second_products: Values, threshold: float,
    error: float,
) -> bool:  # fmt: skip
    """Return whether h of two columns, shape (n,), is at most its error, and they are not collinear."""
    g = float(compute_simd_dot(first, second, 0, first.size))
    if 1.0 - g * g < MIN_PIVOT - error:
        return False
    h = threshold * (1.0 - g * g)
    for t in range(first_products.size):
        a, b = first_products[t], second_products[t]
        h -= a * a + b * b - 2.0 * a * b * g
    return bool(h <= error)
