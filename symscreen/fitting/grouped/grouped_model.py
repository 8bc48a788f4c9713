"""Models whose coefficients and inner constants are shared by all groups or vary from group to group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from math import inf, log
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import (
    collect_columns,
    compute_complexity,
    evaluate_expression,
    iterate_constants,
    rebuild_expression,
)
from symscreen.expressions.tree import Call, Column
from symscreen.fitting.grouped.grouped_rows import orthonormalize, remove_projection
from symscreen.linear_models.model_criteria import EXACT_SHARE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.grouped.grouped_rows import GroupedRows


MIN_ROWS_PER_PARAMETER = 2
"""Rows for each fitted number that a model must have at least."""

# step of central differences that balances both errors
_RELATIVE_STEP = float(np.cbrt(np.finfo(np.float64).eps))
_MIN_SCALE = 1e-3  # smallest scale of a constant for central differences, for columns with values of up to 1


@dataclass(frozen=True, eq=False)
class GroupedModel:
    """A sum of terms, fitted to groups of rows.

    Parameters
    ----------
    terms : tuple of Expression, length k
        The terms; constants inside them that are fitted are marked.
    search_sizes : tuple of float, length k
        Number of terms that each was chosen from.
    has_intercept : bool
        Whether a constant is added; it is then the first column of the design.
    varies : tuple of bool, length k, or k + 1 with an intercept
        Whether each coefficient, that of the intercept first, varies from group to group.
    inner_varies : tuple of bool
        Whether each fitted constant inside the terms varies, from left to right.
    square : float
        Sum of squared residuals on the rows that the model was fitted to, with their weights.
    """

    terms: tuple[Expression, ...]
    search_sizes: tuple[float, ...]
    has_intercept: bool
    varies: tuple[bool, ...]
    inner_varies: tuple[bool, ...] = ()
    square: float = np.inf

    @property
    def constants(self) -> Values:
        """The fitted constants inside the terms, from left to right."""
        return np.array(
            [each.value for term in self.terms for each in iterate_constants(term) if each.fitted],
            dtype=np.float64,
        )

    @property
    def complexity(self) -> int:
        """Sum of the complexities of the terms, plus one for each coefficient."""
        return sum(map(compute_complexity, self.terms)) + len(self.terms)

    @property
    def n_varying(self) -> int:
        """Number of constants that vary from group to group."""
        return sum(self.varies) + sum(self.inner_varies)

    def count_inner(self) -> list[int]:
        """Count the fitted constants inside each term, length k."""
        return [sum(each.fitted for each in iterate_constants(term)) for term in self.terms]

    def count_parameters(self, n_groups: int) -> int:
        """Count the fitted numbers: one for each shared constant, and G for each that varies."""
        n_shared = len(self.varies) + len(self.inner_varies) - self.n_varying
        return n_groups * self.n_varying + n_shared

    def put_constants(self, constants: Values) -> GroupedModel:
        """Return the model with other constants inside its terms."""
        values = iter(constants.tolist())
        terms = tuple(
            rebuild_expression(
                term, number=lambda each: replace(each, value=next(values)) if each.fitted else each
            )
            for term in self.terms
        )
        return replace(self, terms=terms)

    def sort_terms(self) -> GroupedModel:
        """Return the model with terms whose coefficients vary first, and of each kind complex terms first."""
        outer = self.varies[self.has_intercept :]
        starts = np.cumsum([0, *self.count_inner()])
        keys = [
            (not varies, -compute_complexity(term), to_text(term))
            for varies, term in zip(outer, self.terms, strict=True)
        ]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        return replace(
            self,
            terms=tuple(self.terms[place] for place in order),
            search_sizes=tuple(self.search_sizes[place] for place in order),
            varies=(*self.varies[: self.has_intercept], *(outer[place] for place in order)),
            inner_varies=tuple(
                varies for place in order for varies in self.inner_varies[starts[place] : starts[place + 1]]
            ),
        )

    def compute_score(self, rows: GroupedRows, criterion: str) -> float:
        """Compute the criterion; lower is better.

        With p fitted numbers and n rows, BIC is n·log(RSS/TSS) + p·log n, and AIC has 2·p instead. EBIC adds
        2·Σ log p_j to BIC, where p_j is the number of terms that term j was chosen from. All add the
        correction for few rows.
        """
        n_parameters = self.count_parameters(rows.n_groups)
        fit = rows.n * log(max(self.square / rows.total_square, EXACT_SHARE))
        fit += compute_few_rows_correction(n_parameters, rows.n)
        if criterion == "aic":
            return fit + 2.0 * n_parameters
        search = 2.0 * sum(map(log, self.search_sizes)) if criterion == "ebic" else 0.0
        return fit + n_parameters * log(rows.n) + search


def compute_few_rows_correction(n_parameters: int, n_rows: int) -> float:
    """Compute 2p(p + 1)/(n − p − 1), which the criterion of p fitted numbers adds for n rows.

    It is that of Hurvich and Tsai (1989, Biometrika 76, 297-307) for AIC. Groups have many constants for few
    rows, where residuals are much smaller than the errors. It is infinite with fewer than p + 2 rows.
    """
    n_left = n_rows - n_parameters - 1
    return 2.0 * n_parameters * (n_parameters + 1) / n_left if n_left > 0 else inf


class ModelFunction:
    """The terms of a model, and their derivatives, as functions of the constants inside.

    Parameters
    ----------
    terms : sequence of Expression
        The terms; constants that are fitted are marked.
    rows : GroupedRows
        The rows.
    """

    def __init__(self, terms: Sequence[Expression], rows: GroupedRows) -> None:
        self.rows = rows
        self.columns: dict[str, Values] = {}
        self._n_parts = count()
        self._n_constants = count()
        n_inside = [sum(each.fitted for each in iterate_constants(term)) for term in terms]
        self.terms = [self._prepare(term) for term in terms]
        self.n_constants = sum(n_inside)
        self.owners = np.repeat(np.arange(len(terms)), n_inside)
        # a constant that multiplies a large column is small
        largest = {name: float(np.abs(values).max()) for name, values in rows.columns.items()}
        sizes = [
            max((largest.get(name, 1.0) for name in collect_columns(term)), default=1.0) for term in terms
        ]
        self._least_scales = _MIN_SCALE / np.maximum(1.0, np.array(sizes))[self.owners]

    def _prepare(self, term: Expression) -> Expression:
        """Replace the largest parts without fitted constants by columns of their values."""
        if not any(each.fitted for each in iterate_constants(term)):
            name = f"part {next(self._n_parts)}"
            self.columns[name] = self.rows.evaluate(term)
            return Column(name)
        if isinstance(term, Call):
            return Call(term.operator, tuple(map(self._prepare, term.arguments)))
        return Column(f"constant {next(self._n_constants)}")

    def evaluate(self, constants: Values) -> Values:
        """Evaluate the terms, shape (k, n), for constants of shape (p, 1), or (p, n) if they vary."""
        columns = self.columns | {f"constant {number}": each for number, each in enumerate(constants)}
        values = np.empty((len(self.terms), self.rows.n))
        for row, term in zip(values, self.terms, strict=True):
            row[:] = evaluate_expression(term, columns)
        return values

    def differentiate(self, constants: Values) -> Values:
        """Differentiate each constant's term by it, shape (p, n), by central differences."""
        derivatives = np.empty((self.n_constants, self.rows.n))
        columns = self.columns | {f"constant {number}": each for number, each in enumerate(constants)}
        for number, owner in enumerate(self.owners.tolist()):
            step = _RELATIVE_STEP * np.maximum(np.abs(constants[number]), self._least_scales[number])
            above, below = (
                evaluate_expression(
                    self.terms[owner], columns | {f"constant {number}": constants[number] + sign * step}
                )
                for sign in (1.0, -1.0)
            )
            derivatives[number] = (above - below) / (2.0 * step)
        return derivatives


@dataclass(frozen=True, eq=False)
class Projection:
    """Orthonormal bases of the columns of a design: those that vary within each group, then the shared ones.

    Parameters
    ----------
    rows : GroupedRows
        The rows.
    varying : float64 array, shape (v, n)
        Orthonormal within each group.
    r_varying : float64 array, shape (G, v, v)
        See `orthonormalize`.
    shared : float64 array, shape (s, n)
        Orthonormal over all rows, and without what varies.
    r_shared : float64 array, shape (s, s)
        See `orthonormalize`.
    """

    rows: GroupedRows
    varying: Values
    r_varying: Values
    shared: Values
    r_shared: Values

    @property
    def is_determined(self) -> bool:
        """Whether the rows determine the shared coefficients, and some group each that varies.

        They determine nothing if the squares of a column are beyond double precision.
        """
        varying, shared = np.diagonal(self.r_varying, axis1=1, axis2=2), np.diagonal(self.r_shared)
        is_in_range = np.isfinite(varying).all() and np.isfinite(shared).all()
        return bool(is_in_range and (varying > 0.0).any(axis=0).all() and (shared > 0.0).all())

    def solve(self, target: Values, shared: Values) -> tuple[Values, Values]:
        """Return the coefficients that vary, shape (v, G), and the shared ones, shape (s,), of a target.

        `shared` are the columns of the design that do not vary, shape (s, n). A coefficient that the rows of
        a group do not determine is 0 there.
        """
        common = _substitute_back(self.r_shared[None], (self.shared * target).sum(axis=1)[:, None])[:, 0]
        rest = target - (common[:, None] * shared).sum(axis=0)
        return _substitute_back(self.r_varying, self.rows.sum_by_group(self.varying * rest)), common

    def remove(self, values: Values) -> Values:
        """Subtract from values, shape (n,) or (m, n), what the design explains."""
        rest = remove_projection(self.rows, self.varying, values)
        return remove_projection(self.rows.merge(), self.shared, rest) if len(self.shared) else rest


def project_design(rows: GroupedRows, varying: Values, shared: Values) -> Projection:
    """Build orthonormal bases of columns that vary, shape (v, n), and of shared ones, shape (s, n)."""
    q, r = orthonormalize(rows, varying)
    rest = remove_projection(rows, q, shared) if len(shared) else shared
    q_shared, r_shared = orthonormalize(rows.merge(), rest)
    return Projection(rows, q, r, q_shared, r_shared[0])


def _substitute_back(r: Values, right: Values) -> Values:
    """Solve r·x = right for upper triangular r, shape (G, k, k); x is 0 where a pivot is.

    The right-hand side and x have the shape (k, G).
    """
    solution = np.zeros_like(right)
    for i in reversed(range(len(right))):
        rest = right[i] - (r[:, i, i + 1 :].T * solution[i + 1 :]).sum(axis=0)
        pivots = r[:, i, i]
        solution[i] = np.divide(rest, pivots, out=np.zeros_like(rest), where=pivots > 0.0)
    return solution


def build_design(model: GroupedModel, values: Values, rows: GroupedRows) -> tuple[Values, Values]:
    """Split the columns of the design, the intercept first, into those that vary and the shared ones.

    `values` are those of the terms, shape (k, n). The columns are multiplied by the roots of the row weights.
    """
    design = rows.scale(np.vstack([np.ones((int(model.has_intercept), rows.n)), values]))
    varies = np.array(model.varies, dtype=bool)
    return design[varies], design[~varies]
