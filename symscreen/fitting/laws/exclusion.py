"""State which formulas a search has excluded: none of the simple ones fits better than a given error.

The pool of a search for laws has every formula of its grammar up to some complexity. The best of them bounds
the error of all. Most are evaluated on a sample of the rows alone. The squared error on all rows is at least
that on the sample with its own coefficients, so it proves a bound for them too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expressions.traversal import evaluate_expression

if TYPE_CHECKING:
    from symscreen._typing import Values
    from symscreen.fitting.laws.formula_pool import FormulaPool
    from symscreen.fitting.laws.law import LawData


_BLOCK_FORMULAS = 4_096  # formulas whose errors are computed together
_MAX_EVALUATED = 1_000  # formulas that are evaluated on all rows
_ROUNDING = 1e-12  # rounding of squared errors, relative to the sum of squares


@dataclass(frozen=True, slots=True)
class Exclusion:
    """What a search has excluded: y = c₀ + c₁·f with any simple formula f has at least this error.

    Parameters
    ----------
    complexity : int
        Largest complexity up to which every formula was tried.
    n_formulas : int
        Number of these formulas; those with equal values count as one.
    error : float
        Lower bound of their errors, as a share of the standard deviation of the target, √(1 − R²).
    """

    complexity: int
    n_formulas: int
    error: float

    @property
    def record(self) -> dict[str, Any]:
        """The statement as stored in the record of a fit."""
        return {"complexity": self.complexity, "formulas": self.n_formulas, "error": self.error}


def compute_exclusion(data: LawData) -> Exclusion | None:
    """Compute the smallest error of the formulas in the complete part of the pool.

    Parameters
    ----------
    data : LawData
        Inputs, target, grammar and pool. The pool must not have been ended by a time limit.

    Returns
    -------
    Exclusion or None
        None with units or row weights, or if no complexity is complete.

    Notes
    -----
    The formulas consist of the inputs, the constants and the operators of the grammar, by its rules. No
    operator is applied to constants alone. A formula whose parts are not finite in all rows, or are constant,
    does not count.

    Examples
    --------
    >>> from symscreen.fitting.laws.law import LawData
    >>> from symscreen.grammar import load_grammar
    >>> rng = np.random.default_rng(0)
    >>> x, z = rng.uniform(1, 3, (2, 200))
    >>> data = LawData({"x": x, "z": z}, x * z + 0.1 * x**z, load_grammar("basic"), pool_limit=5000)
    >>> excluded = compute_exclusion(data)
    >>> excluded.complexity, round(excluded.error, 3)
    (5, 0.05)
    """
    pool, complexity = data.pool, find_complete_complexity(data.pool, data.pool_limit)
    n_inputs = len(data.columns)
    indices = np.flatnonzero(pool.complexity <= complexity)
    indices = indices[(indices < n_inputs) | (indices >= len(pool.leaves))]  # without the constants
    if data.units is not None or data.row_weights is not None or complexity < 1 or not len(indices):
        return None
    centered = data.target - data.target.mean()
    total = float(centered @ centered)
    bounds = _compute_sample_errors(pool, data.target[data.pool_rows])[indices] / total
    order = np.argsort(bounds, kind="stable")
    smallest = np.inf
    for place in order[:_MAX_EVALUATED].tolist():
        if bounds[place] >= smallest:
            break
        values = evaluate_expression(pool.build_expression(int(indices[place])), data.columns)
        smallest = min(smallest, _compute_squared_error(values, centered) / total)
    else:
        if len(order) > _MAX_EVALUATED:
            smallest = min(smallest, float(bounds[order[_MAX_EVALUATED]]))
    return Exclusion(complexity, len(indices), float(np.sqrt(min(smallest, 1.0))))


def find_complete_complexity(pool: FormulaPool, limit: int) -> int:
    """Return the largest complexity up to which a pool with a limited number of formulas is complete."""
    last = int(pool.complexity[-1])
    return last if len(pool) < limit else last - 1


def _compute_sample_errors(pool: FormulaPool, target: Values) -> Values:
    """Return lower bounds of the squared errors on the rows of a pool, shape (q,)."""
    centered = target - target.mean()
    total = float(centered @ centered)
    errors = np.empty(len(pool))
    for start in range(0, len(pool), _BLOCK_FORMULAS):
        values = pool.values[start : start + _BLOCK_FORMULAS]
        largest = np.abs(values).max(axis=1, keepdims=True)
        scaled = values / np.where(largest > 0.0, largest, 1.0)
        scaled -= scaled.mean(axis=1, keepdims=True)
        norms = (scaled**2).sum(axis=1)
        explained = (scaled @ centered) ** 2 / np.where(norms > 0.0, norms, np.inf)
        errors[start : start + _BLOCK_FORMULAS] = total - explained
    return np.maximum(errors - _ROUNDING * total, 0.0)


def _compute_squared_error(values: Values, centered_target: Values) -> float:
    """Return the squared error of c₀ + c₁·f on all rows; infinite where f is not finite in some row."""
    if not np.isfinite(values).all():
        return np.inf
    scaled = values / max(float(np.abs(values).max()), np.finfo(float).tiny)
    scaled = scaled - scaled.mean()
    norm = float(scaled @ scaled)
    if norm == 0.0:
        return np.inf
    residuals = centered_target - float(scaled @ centered_target) / norm * scaled
    return float(residuals @ residuals)
