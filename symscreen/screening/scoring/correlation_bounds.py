"""Bound Pearson's correlation of sums, differences, products and quotients without computing them.

The correlation of f with y needs c = Σ f·(y − ȳ) and v = Σ f² − (Σ f)²/n. For all pairs of two sets of
columns they are entries of matrix products: for products, of Σ ab·(y − ȳ), Σ ab and Σ a²b²; for quotients, of
the same with 1/b in place of b; for sums and differences, of Σ (a − ā)(b − b̄). So most features of a last
layer can be left out without computing their values. The others are computed and scored as always, and the
result has the same bits.

**The bound.** Let u = 2⁻⁵³, γ = (n + 8)·u and A = Σ f². Sums of n products have errors of at most γ·Σ|terms|
in any order of summation (Higham 2002, Accuracy and Stability of Numerical Algorithms, section 3.1), and
Σ|f·(y − ȳ)| ≤ √A·‖y − ȳ‖ by the Cauchy–Schwarz inequality. The entries, the rounding of f itself, of 1/b and
of the means, and the kernel that scores f, together change c by at most 12·γ·√A·‖y − ȳ‖ and v by at most
16·γ·A. A sum or difference has (√A₁ + √A₂)² in place of A.

**P-values** depend on r only. The entries give r with a small error, so they give most p-values to the digits
that are counted; see `symscreen.statistics.nulls.pearson_keys`. A feature whose p-value is not decided is
computed.

**Validity.** A feature that is left out counts as scored, so it has to be finite and not constant. A feature
with v ≤ 16·γ·A, or without finite sums, is computed. The range of any other is at least 2·√(v/n)
(Popoviciu's inequality), which is more than 8·√(u·A), so it is not constant up to rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen._numba import compile_kernel
from symscreen.screeners import PEARSON
from symscreen.statistics.column_arithmetic import ARITHMETIC_UFUNCS
from symscreen.targets import NumericTarget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Flags, Integers, Values
    from symscreen.expansion import Space
    from symscreen.expansion.candidates import OperatorRange
    from symscreen.screeners import Screener, Sign
    from symscreen.screening.scoring.block_scoring import TopKSpec


_UNIT_ROUNDOFF = 2.0**-53
_COVARIANCE_ERRORS, _VARIANCE_ERRORS = 12.0, 16.0  # see the module
_LOSS_SLACK = 1e-11  # losses are rounded to 12 decimals before they are compared
_MIN_VARIANCE = 1e-200  # smaller sums of squares may have lost digits below the smallest number
_COPIES = 4  # number of matrices as large as the members: centred, squares, reciprocals and their squares
_MAX_BYTES = 1 << 26  # largest memory of these matrices
_MAX_SPARSITY = 4  # entries of a matrix product for each candidate
_TILE_COPIES = 6  # matrix products, indices and flags of the candidates that a thread compares together
_SIGNS: dict[Any, float] = {np.add: 1.0, np.subtract: -1.0}


@dataclass(frozen=True, eq=False)
class _Factors:
    """Columns and their squares, shape (q, n)."""

    columns: Values
    squares: Values


def _prepare_factors(columns: Values) -> _Factors:
    """Compute the squares of columns; they may overflow."""
    with np.errstate(all="ignore"):
        return _Factors(columns, columns**2)


class BoundedCandidates(NamedTuple):
    """What is known of some candidates without computing them.

    Parameters
    ----------
    is_possible : bool array, shape (m,)
        False for features that are finite, not constant, and in no list.
    correlations : float64 array, shape (m,) or (0,)
        Pearson's r of features that are not possible, if it is wanted.
    errors : float64 array, shape (m,) or (0,)
        What they may differ by from the r that is computed.
    """

    is_possible: Flags
    correlations: Values
    errors: Values

    @classmethod
    def allocate(cls, m: int, *, keeps_correlations: bool) -> BoundedCandidates:
        """Return candidates that are all possible."""
        n_kept = m if keeps_correlations else 0
        return cls(np.ones(m, dtype=np.bool_), np.zeros(n_kept), np.zeros(n_kept))

    def take(self, chosen: Flags) -> BoundedCandidates:
        """Copy some candidates."""
        if not len(self.correlations):
            return self._replace(is_possible=self.is_possible[chosen])
        return BoundedCandidates(self.is_possible[chosen], self.correlations[chosen], self.errors[chosen])

    def put(self, chosen: Flags, other: BoundedCandidates) -> None:
        """Overwrite some candidates."""
        for part, new in zip(self, other, strict=True):
            if len(part):
                part[chosen] = new


@dataclass(frozen=True, eq=False)
class CorrelationBounds:
    """Decides which candidates of a last layer may have a small enough loss.

    Parameters
    ----------
    members : float64 array, shape (q, n)
        The features that the layer is applied to.
    numerics : tuple of callable
        What each operator of the space computes, by its code. Other functions than numpy's four arithmetic
        ones have no bounds.
    target : float64 array, shape (n,)
        The target.
    signs : tuple of {"free", "positive"}
        Sign of each list of best features.
    keeps_correlations : bool
        Whether the correlations of features that are left out are wanted, for their p-values.
    """

    members: Values
    numerics: tuple[Any, ...]
    target: Values
    signs: tuple[Sign, ...]
    keeps_correlations: bool = False

    @lockfree_cached_property
    def _centered_target(self) -> Values:
        """The target minus its mean, of norm 1."""
        scaled = self.target / np.abs(self.target).max()  # so that squares do not overflow
        centered = scaled - scaled.mean()
        return np.asarray(centered / np.linalg.norm(centered))

    @lockfree_cached_property
    def _factors(self) -> _Factors:
        return _prepare_factors(self.members)

    @lockfree_cached_property
    def _divisors(self) -> _Factors:
        with np.errstate(all="ignore"):
            return _prepare_factors(1.0 / self.members)

    @lockfree_cached_property
    def _centered(self) -> tuple[Values, Values, Values, Values]:
        """Centred members, their covariances with the target, variances and √Σ a², not centred."""
        with np.errstate(all="ignore"):
            centered = self.members - self.members.mean(axis=1, keepdims=True)
            root_moments = np.sqrt((self.members**2).sum(axis=1))
            return centered, centered @ self._centered_target, (centered**2).sum(axis=1), root_moments

    def find_possible(
        self, operator_range: OperatorRange, numbers: Integers, loss_limits: Sequence[float]
    ) -> BoundedCandidates:
        """Find the candidates that must be computed.

        Parameters
        ----------
        operator_range : OperatorRange
            The candidates of an operator.
        numbers : int64 array, shape (m,), ascending
            Numbers of some of them.
        loss_limits : sequence of float
            For each list, the loss above which a feature does not enter it.

        Returns
        -------
        BoundedCandidates
        """
        numeric = self.numerics[operator_range.code]
        found = BoundedCandidates.allocate(len(numbers), keeps_correlations=self.keeps_correlations)
        limits = {"free": math.inf, "positive": math.inf}
        for sign, loss in zip(self.signs, loss_limits, strict=True):
            limits[sign] = min(limits[sign], 1.0 - loss - _LOSS_SLACK)
        if not min(limits.values()) > 0.0 or numeric not in ARITHMETIC_UFUNCS:
            return found
        left, right = operator_range.decode(numbers)
        rounding = (self.members.shape[1] + 8) * _UNIT_ROUNDOFF
        tolerances = (
            limits["free"],
            limits["positive"],
            _COVARIANCE_ERRORS * rounding,
            _VARIANCE_ERRORS * rounding,
        )
        if numeric in _SIGNS:
            self._mark_sums(_SIGNS[numeric], left, right, tolerances, found)
        elif numeric is np.multiply:
            self._mark_products(left, right, self._factors, self._factors, tolerances, found)
        else:
            is_later = left >= right
            for chosen, moving, staying, own, other in (
                (is_later, left, right, self._factors, self._divisors),
                (~is_later, right, left, self._divisors, self._factors),
            ):
                if chosen.any():
                    part = found.take(chosen)
                    self._mark_products(moving[chosen], staying[chosen], own, other, tolerances, part)
                    found.put(chosen, part)
        return found

    def _mark_sums(
        self,
        sign: float,
        left: Integers,
        right: Integers,
        tolerances: tuple[float, float, float, float],
        found: BoundedCandidates,
    ) -> None:
        """Write which sums or differences are possible."""
        later, earlier = np.maximum(left, right), np.minimum(left, right)
        tile = _find_tile(later, earlier)
        if tile is None:
            return
        rows, columns = tile
        centered, covariances, variances, root_moments = self._centered
        with np.errstate(all="ignore"):
            gram = centered[rows] @ centered[columns].T
        _mark_possible_sums(
            left, right, later - rows.start, earlier - columns.start, sign, gram, covariances, variances,
            root_moments, *tolerances, *found,
        )  # fmt: skip

    def _mark_products(
        self,
        first: Integers,
        second: Integers,
        own: _Factors,
        other: _Factors,
        tolerances: tuple[float, float, float, float],
        found: BoundedCandidates,
    ) -> None:
        """Write which products of a member of one set and of another are possible."""
        if own is other:
            first, second = np.maximum(first, second), np.minimum(first, second)
        tile = _find_tile(first, second)
        if tile is None:
            return
        rows, columns = tile
        with np.errstate(all="ignore"):
            weighted = (own.columns[rows] * self._centered_target) @ other.columns[columns].T
            sums = own.columns[rows] @ other.columns[columns].T
            squares = own.squares[rows] @ other.squares[columns].T
        _mark_possible_products(
            first - rows.start, second - columns.start, weighted, sums, squares, self.members.shape[1],
            *tolerances, *found,
        )  # fmt: skip


def build_correlation_bounds(
    space: Space,
    target: object,
    screeners: Sequence[Screener],
    specs: Sequence[TopKSpec],
    sign: Sign,
    *,
    keeps_correlations: bool,
) -> CorrelationBounds | None:
    """Build the bounds for a space, if all lists are ordered by Pearson's correlation with a numeric target.

    Returns
    -------
    CorrelationBounds or None
        None also if a list has no limit, or if the columns are not in memory or take too much of it.
    """
    members = space.pool.values
    if members is None or _COPIES * members.nbytes > _MAX_BYTES or not isinstance(target, NumericTarget):
        return None
    if not all(spec.limit is not None and screeners[spec.screener_index] is PEARSON for spec in specs):
        return None
    numerics = tuple(operator.numeric for operator in space.pool.symbols.operators)
    signs = tuple(spec.choose_sign(sign) for spec in specs)
    return CorrelationBounds(members, numerics, target.group_values, signs, keeps_correlations)


def estimate_bounds_bytes(n_threads: int, chunk_size: int) -> int:
    """Estimate the largest memory of bounds whose threads compare a number of candidates at a time."""
    return _MAX_BYTES + n_threads * _TILE_COPIES * _MAX_SPARSITY * 8 * chunk_size


def _find_tile(rows: Integers, columns: Integers) -> tuple[slice, slice] | None:
    """Return the ranges of rows and columns that pairs span; None if the pairs are too few of them."""
    row_range = slice(int(rows.min()), int(rows.max()) + 1)
    column_range = slice(int(columns.min()), int(columns.max()) + 1)
    n_entries = (row_range.stop - row_range.start) * (column_range.stop - column_range.start)
    return None if n_entries > _MAX_SPARSITY * len(rows) else (row_range, column_range)


@compile_kernel
def _bound(
    covariance: float, variance: float, root_moment: float,
    free_limit: float, positive_limit: float, covariance_error: float, variance_error: float,
    k: int, is_possible: Flags, correlations: Values, errors: Values,
) -> None:  # fmt: skip
    """Write whether a feature may be among the best or invalid, and its r; the target has norm 1."""
    rest = variance_error * root_moment * root_moment
    least_variance = variance - rest
    is_possible[k] = True
    if not least_variance > _MIN_VARIANCE:  # or not a number
        return
    spread, error = math.sqrt(least_variance), covariance_error * root_moment
    is_worse = abs(covariance) + error < free_limit * spread and covariance + error < positive_limit * spread
    is_possible[k] = not is_worse
    if correlations.size:
        correlations[k] = min(max(covariance / math.sqrt(variance), -1.0), 1.0)
        largest = (abs(covariance) + error) / spread
        errors[k] = largest - (abs(covariance) - error) / math.sqrt(variance + rest)


@compile_kernel
def _mark_possible_products(
    first: Integers, second: Integers, weighted: Values, sums: Values, squares: Values, n: int,
    free_limit: float, positive_limit: float, covariance_error: float, variance_error: float,
    is_possible: Flags, correlations: Values, errors: Values,
) -> None:  # fmt: skip
    """Write what is known of products, shape (m,); indices are those of the matrix products."""
    for k in range(first.size):
        i, j = first[k], second[k]
        moment = squares[i, j]
        variance = moment - sums[i, j] * sums[i, j] / n
        _bound(
            weighted[i, j], variance, math.sqrt(moment), free_limit, positive_limit,
            covariance_error, variance_error, k, is_possible, correlations, errors,
        )  # fmt: skip


@compile_kernel
def _mark_possible_sums(
    left: Integers, right: Integers, later: Integers, earlier: Integers, sign: float, gram: Values,
    covariances: Values, variances: Values, root_moments: Values,
    free_limit: float, positive_limit: float, covariance_error: float, variance_error: float,
    is_possible: Flags, correlations: Values, errors: Values,
) -> None:  # fmt: skip
    """Write what is known of sums a + s·b, shape (m,); `later` and `earlier` are indices of `gram`."""
    for k in range(left.size):
        a, b = left[k], right[k]
        _bound(
            covariances[a] + sign * covariances[b],
            variances[a] + variances[b] + 2.0 * sign * gram[later[k], earlier[k]],
            root_moments[a] + root_moments[b],
            free_limit, positive_limit, covariance_error, variance_error,
            k, is_possible, correlations, errors,
        )  # fmt: skip
