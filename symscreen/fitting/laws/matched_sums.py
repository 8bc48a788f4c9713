"""Find sums y = c₀ + c₁·A + c₂·B of formulas of a pool, with an optional simple third term."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import evaluate_expression
from symscreen.fitting.laws.direction_groups import N_DIRECTIONS
from symscreen.fitting.laws.law import Law
from symscreen.fitting.laws.pair_search import MoreRows, PairSearch, select_more_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.law import LawData


_MAX_CACHED_VALUES = 20_000_000  # values of formulas on all rows that are kept in memory
_N_RANKED = 200  # pairs that are fitted on all rows if none is exact
_MIN_PART = 1e-9  # smallest part of a law, relative to the target's spread; less is rounding


def prepare_sums(data: LawData) -> PairSearch | None:
    """Prepare the search for sums; None if there are too few rows."""
    pool, target = data.pool, data.target[data.pool_rows]
    if len(target) < N_DIRECTIONS + 4:
        return None
    rows = select_more_rows(data)
    varies = np.ptp(pool.values[: 2 * data.n_third_terms], axis=1) > 0.0
    return PairSearch(
        pool,
        _keep_values,
        target / np.abs(target).max(),
        np.ones((len(target), 1)),
        np.flatnonzero(varies)[: data.n_third_terms],
        _N_RANKED,
        len(data.target),
        _SumFit(data),
        max_ranked=data.max_ranked_formulas,
        more_rows=None if rows is None else _take_rows(data, rows),
        jobs=data.jobs,
    )


def _keep_values(values: Values) -> tuple[NDArray[np.bool_], Values]:
    """Return all formulas with their values, since the scale is that of the target."""
    return np.ones(len(values), dtype=bool), values


def _take_rows(data: LawData, rows: NDArray[np.int64]) -> MoreRows:
    """Return rows on which sums are ranked again."""
    columns = {name: values[rows] for name, values in data.columns.items()}
    target = data.target[rows] / np.abs(data.target[rows]).max()
    return MoreRows(columns, _keep_values, target, np.ones((len(rows), 1)))


class _SumFit:
    """Fits sums of formulas with free coefficients on all rows."""

    def __init__(self, data: LawData) -> None:
        self.data = data
        self.centered = data.target - data.target.mean()
        self.spread = float(np.linalg.norm(self.centered))
        self.terms: dict[int, tuple[Expression, Values]] = {}

    def __call__(
        self, indices: Sequence[int], n_choices: float, signs: Sequence[int] | None = None
    ) -> tuple[float, Law] | None:
        """Fit a sum; None if a term is not finite or has no effect, or if coefficients are given."""
        if signs is not None:
            return None
        terms = [self._evaluate(index) for index in indices]
        values = np.column_stack([values for _, values in terms])
        if not np.isfinite(values).all():
            return None
        values = values / np.abs(values).max(axis=0)
        centered = values - values.mean(axis=0)
        q, r = np.linalg.qr(centered)
        if np.abs(np.diag(r)).min() <= _MIN_PART * np.linalg.norm(values):
            return None
        coefficients = np.linalg.solve(r, q.T @ self.centered)
        residuals = self.centered - centered @ coefficients
        square = float(residuals @ residuals)
        if (np.abs(coefficients) * np.linalg.norm(centered, axis=0) < _MIN_PART * self.spread).any():
            return None
        law = Law(
            tuple(term for term, _ in terms),
            has_intercept=self._needs_intercept(values, coefficients, square),
            search_size=n_choices,
        )
        return (min(square / self.spread**2, 1.0), law) if self.data.allows(law) else None

    def _needs_intercept(self, values: Values, coefficients: Values, square: float) -> bool:
        """Return whether the intercept is not rounding, and lowers the Bayesian information criterion."""
        n, target = len(values), self.data.target
        intercept = float(target.mean() - values.mean(axis=0) @ coefficients)
        if abs(intercept) <= _MIN_PART * float(np.abs(values * coefficients).max()):
            return False
        q, _ = np.linalg.qr(values)
        residuals = target - q @ (q.T @ target)
        return bool(float(residuals @ residuals) > square * float(n) ** (1.0 / n))

    def _evaluate(self, index: int) -> tuple[Expression, Values]:
        """Return a formula of the pool and its values on all rows."""
        if len(self.terms) * len(self.data.target) > _MAX_CACHED_VALUES:
            self.terms.clear()
        if index not in self.terms:
            expression = self.data.pool.build_expression(index)
            self.terms[index] = (expression, evaluate_expression(expression, self.data.columns))
        return self.terms[index]
