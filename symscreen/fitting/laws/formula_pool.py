"""Grow a pool of formulas by complexity; formulas with equal values count as one.

A space is grown in layers and keeps every formula that differs in form. A pool is grown in the order of
complexity: first the inputs and constants, then all formulas of complexity 2, 3 and so on, each made of
smaller ones. If formulas have equal values on the rows, only the simplest stays. So a pool of 10⁵ formulas of
four inputs contains every formula of up to five symbols, and many of six. With units, only formulas that have
a unit are grown, so a pool of the same size contains longer ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.expressions.tree import Column, Constant, apply_operator
from symscreen.grammar.dimensions import EXPONENT_DENOMINATOR, TRUE, Dimensions, propagate_dimensions
from symscreen.statistics.spread_places import select_spread_places
from symscreen.units import compute_dimensions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Grammar
    from symscreen.grammar.operator import Operator
    from symscreen.units import Units

    # an operator, and the indices of its left and right arguments; None for the right one if it is unary
    Batch = tuple[int, NDArray[np.int64], NDArray[np.int64] | None]


_BATCH_FORMULAS = 20_000  # formulas that are evaluated together
_MAX_VALUE = 1e150  # largest value of a formula, whose square does not overflow
_MIN_RELATIVE_SPREAD = 1e-9  # range of a formula, relative to its size, below which it is constant
_ROUNDED_BITS = 20  # bits of 52 that are rounded away, so that values that agree to 2e-10 are equal
_N_COMPARED_ROWS = 48  # rows on which values are compared
_NO_ARGUMENT = -1
_UNIT_TOLERANCE = 1e-9  # largest difference of equal exponents of base units


@dataclass(frozen=True, eq=False)
class FormulaPool:
    """Formulas as parallel arrays, simplest first.

    Parameters
    ----------
    values : float64 array, shape (q, m)
        Values of the formulas.
    complexity : int64 array, shape (q,)
        Complexity of the formulas.
    operator_indices : int64 array, shape (q,)
        Index of the outer operator, or −1 for an input or a constant.
    left, right : int64 arrays, shape (q,)
        Indices of the arguments; −1 if there is none.
    leaves : tuple of Expression
        The inputs and constants, which are the first formulas.
    operators : tuple of Operator
        The operators.
    exponents : int64 array, shape (q, D), or None
        Exponents of the D base units of each formula, times `EXPONENT_DENOMINATOR`; None without units.
    """

    values: Values
    complexity: NDArray[np.int64]
    operator_indices: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    leaves: tuple[Expression, ...]
    operators: tuple[Operator, ...]
    exponents: NDArray[np.int64] | None = None

    @lockfree_cached_property
    def units(self) -> Values | None:
        """Exponents of the base units of each formula, shape (q, D); None without units."""
        return None if self.exponents is None else self.exponents / EXPONENT_DENOMINATOR

    def __len__(self) -> int:
        return len(self.complexity)

    def estimate_count(self, complexity: int, unit: Values | None = None) -> float:
        """Estimate the number of different formulas that are not more complex, at least 1.

        Beyond the largest complexity that the pool has completely, the number is assumed to grow as it did up
        to there. With units, only formulas with the given unit, shape (D,), may be counted.
        """
        last = int(self.complexity[-1])
        has_unit = np.ones(len(self), dtype=bool)
        if unit is not None and self.units is not None:
            has_unit &= (np.abs(self.units - unit) <= _UNIT_TOLERANCE).all(axis=1)
        if complexity < last:
            return float(max(1, (has_unit & (self.complexity <= max(1, complexity))).sum()))
        complete = max(1, last - 1)
        n_leaves, n_complete = (float((self.complexity <= size).sum()) for size in (1, complete))
        growth = (n_complete / n_leaves) ** (1.0 / max(1, complete - 1))
        n_counted = float(max(1, (has_unit & (self.complexity <= complete)).sum()))
        return n_counted * float(growth ** (complexity - complete))

    def build_expression(self, index: int) -> Expression:
        """Build the expression of a formula."""
        if self.operator_indices[index] < 0:
            return self.leaves[index]
        arguments = (int(self.left[index]), int(self.right[index]))
        return apply_operator(
            self.operators[self.operator_indices[index]],
            *(self.build_expression(argument) for argument in arguments if argument != _NO_ARGUMENT),
        )


def grow_formula_pool(
    columns: Mapping[str, Values],
    grammar: Grammar,
    limit: int,
    units: Units | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> FormulaPool:
    """Grow a pool of formulas.

    Parameters
    ----------
    columns : mapping of str to float64 array, shape (m,)
        The inputs by name; at least one. Equal values on these rows make two formulas equal, so the rows
        should be many more than the inputs.
    grammar : Grammar
        Operators, constants and rules. The limit of its complexity holds for each formula of the pool.
    limit : int
        Maximum number of formulas. The last complexity may be incomplete.
    units : Units, optional
        Units of the inputs. Formulas without a unit, such as sums of a length and a time, are left out.
    should_stop : callable, optional
        Returns whether the growth must end before its next batch.

    Returns
    -------
    FormulaPool
        All formulas are finite on the rows. Formulas other than the constants vary.

    Examples
    --------
    >>> from symscreen.grammar import load_grammar
    >>> pool = grow_formula_pool({"x": np.array([1.0, 2.0, 4.0])}, load_grammar("basic"), 8)
    >>> [str(pool.build_expression(index)) for index in range(len(pool))]
    ['x', 'x**2', 'sqrt(x)', '1/x', 'exp(x)', 'log(x)', 'exp(x)**2', 'log(x)**2']
    """
    return _PoolGrowth(columns, grammar, limit, units).grow(should_stop)


class _PoolGrowth:
    """A pool that is being grown; its lists have one array for each batch of new formulas."""

    def __init__(
        self, columns: Mapping[str, Values], grammar: Grammar, limit: int, units: Units | None
    ) -> None:
        self.grammar, self.limit = grammar, limit
        self.operators = (*grammar.unary, *grammar.binary)
        self.leaves: tuple[Expression, ...] = (
            *map(Column, columns),
            *map(Constant, grammar.constants),
        )
        n_rows = len(next(iter(columns.values())))
        values = np.vstack([*columns.values(), *(np.full(n_rows, float(each)) for each in grammar.constants)])
        n_leaves = len(values)
        self.is_constant = np.arange(n_leaves) >= len(columns)
        self.values = np.empty((max(limit, n_leaves), n_rows))
        self.values[:n_leaves] = values
        # rows of similar targets lie together, so the compared rows are spread over all
        self.compared_rows = select_spread_places(n_rows, _N_COMPARED_ROWS)
        self.compared_values = self.values  # on few rows, the values are not stored twice
        if len(self.compared_rows) < n_rows:
            self.compared_values = np.empty((max(limit, n_leaves), len(self.compared_rows)))
            self.compared_values[:n_leaves] = values[:, self.compared_rows]
        self.size = n_leaves
        self.complexity = [np.ones(n_leaves, dtype=np.int64)]
        self.operator_indices = [np.full(n_leaves, -1)]
        self.left = [np.full(n_leaves, _NO_ARGUMENT)]
        self.right = [np.full(n_leaves, _NO_ARGUMENT)]
        self.contained = [np.zeros(n_leaves, dtype=np.int64)]  # bit k: operator k occurs in the formula
        self.known_hashes = np.sort(_compute_hashes(self.compared_values[:n_leaves]))
        self.has_units = units is not None
        if units is not None:
            # batches of exponents, shape (q, D), and of the values of number literals, shape (q,)
            dimensions = [compute_dimensions(leaf, units) for leaf in self.leaves]
            self.exponents = [np.array([each.exponents for each in dimensions]).reshape(n_leaves, -1)]
            self.literals = [np.array([float(each.literal) for each in dimensions])]

    def grow(self, should_stop: Callable[[], bool] | None) -> FormulaPool:
        """Add formulas of rising complexity until the pool is full or nothing new appears."""
        largest_cost = max((operator.cost for operator in self.operators), default=0)
        complexity, last_new = 1, 1
        max_complexity = self.grammar.max_complexity or np.inf
        # an argument of the last complexity may still give formulas of twice this complexity
        is_stopped = False
        while (
            not is_stopped
            and self.size < self.limit
            and complexity < min(max_complexity, 2 * last_new + largest_cost)
        ):
            complexity += 1
            size = self.size
            self._join_lists()
            for batch in self._list_batches(complexity):
                self._add(complexity, *batch)
                is_stopped = should_stop is not None and should_stop()
                if self.size >= self.limit or is_stopped:
                    break
            if self.size > size:
                last_new = complexity
        self._join_lists()
        return FormulaPool(
            values=self.values[: self.size],
            complexity=self.complexity[0],
            operator_indices=self.operator_indices[0],
            left=self.left[0],
            right=self.right[0],
            leaves=self.leaves,
            operators=self.operators,
            exponents=self.exponents[0] if self.has_units else None,
        )

    def _join_lists(self) -> None:
        """Join the arrays of each list into one."""
        for arrays in (self.complexity, self.operator_indices, self.left, self.right, self.contained):
            arrays[:] = [np.concatenate(arrays)]
        if self.has_units:
            self.exponents, self.literals = [np.concatenate(self.exponents)], [np.concatenate(self.literals)]

    def _list_batches(self, complexity: int) -> Iterator[Batch]:
        """Yield batches of candidates of a complexity: every operator with its possible arguments."""
        for index, operator in enumerate(self.operators):
            rest = complexity - operator.cost
            if operator.arity == 1:
                arguments = self._select_arguments(operator, rest)
                arguments = arguments[~self._is_constant(arguments)]
                for start in range(0, len(arguments), _BATCH_FORMULAS):
                    yield index, arguments[start : start + _BATCH_FORMULAS], None
                continue
            for left_complexity in range(1, rest):
                if operator.commutative and 2 * left_complexity > rest:
                    break
                left = self._select_arguments(operator, left_complexity)
                right = self._select_arguments(operator, rest - left_complexity)
                for batch in self._pair(operator, left, right):
                    yield (index, *batch)

    def _select_arguments(self, operator: Operator, complexity: int) -> NDArray[np.int64]:
        """Return the indices of the formulas of a complexity that the rules allow as arguments."""
        indices = np.flatnonzero(self.complexity[0] == complexity)
        places = {each.name: place for place, each in enumerate(self.operators)}
        forbidden = [places[name] for name in self.grammar.forbid.get(operator.name, ()) if name in places]
        if forbidden:
            indices = indices[~np.isin(self.operator_indices[0][indices], forbidden)]
        inside = sum(
            1 << places[name] for name in self.grammar.forbid_within.get(operator.name, ()) if name in places
        )
        if inside:
            indices = indices[self.contained[0][indices] & inside == 0]
        if (allowed := self.grammar.columns.get(operator.name)) is not None:
            is_allowed = [
                index < len(self.leaves)
                and isinstance(leaf := self.leaves[index], Column)
                and leaf.name in allowed
                for index in indices.tolist()
            ]
            indices = indices[np.array(is_allowed, dtype=bool)]
        return indices

    def _is_constant(self, indices: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return whether formulas are constants, shape of `indices`."""
        return (indices < len(self.leaves)) & self.is_constant[np.minimum(indices, len(self.leaves) - 1)]

    def _pair(
        self, operator: Operator, left: NDArray[np.int64], right: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield pairs of arguments in batches, without pairs of constants and repeated pairs."""
        if not len(right):
            return
        step = max(1, _BATCH_FORMULAS // len(right))
        for start in range(0, len(left), step):
            block = left[start : start + step]
            first, second = np.repeat(block, len(right)), np.tile(right, len(block))
            is_needed = ~(self._is_constant(first) & self._is_constant(second))
            if operator.commutative:
                is_needed &= (first <= second) | (self.complexity[0][first] != self.complexity[0][second])
            if is_needed.any():
                yield first[is_needed], second[is_needed]

    def _add(
        self, complexity: int, operator_index: int, left: NDArray[np.int64], right: NDArray[np.int64] | None
    ) -> None:
        """Evaluate candidates and add those with new values and, with units, a unit."""
        arguments = (left,) if right is None else (left, right)
        if self.has_units:
            dimensions = self._compute_dimensions(operator_index, arguments)
            has_unit = np.broadcast_to(dimensions.valid, left.shape)
            if not has_unit.any():
                return
            exponents = np.broadcast_to(dimensions.exponents, (len(left), self.exponents[0].shape[1]))
            exponents = exponents[has_unit]
            left, right = left[has_unit], None if right is None else right[has_unit]
            arguments = (left,) if right is None else (left, right)
        numeric = self.operators[operator_index].numeric
        with np.errstate(all="ignore"):
            compared = numeric(*(self.compared_values[indices] for indices in arguments))
            indices = np.flatnonzero(_is_usable(compared))
            hashes = _compute_hashes(compared[indices])
            indices, hashes = self._keep_new(indices, hashes)
            values = numeric(*(self.values[argument[indices]] for argument in arguments))
            is_usable = _is_usable(values)
        kept = np.flatnonzero(is_usable)[: self.limit - self.size]
        indices = indices[kept]
        contained = np.full(len(indices), 1 << operator_index)
        for argument in arguments:
            contained |= self.contained[0][argument[indices]]
        new = slice(self.size, self.size + len(indices))
        self.values[new], self.compared_values[new] = values[kept], compared[indices]
        self.size = new.stop
        self.complexity.append(np.full(len(indices), complexity))
        self.operator_indices.append(np.full(len(indices), operator_index))
        self.left.append(left[indices])
        self.right.append(np.full(len(indices), _NO_ARGUMENT) if right is None else right[indices])
        self.contained.append(contained)
        if self.has_units:
            self.exponents.append(exponents[indices])
            self.literals.append(np.full(len(indices), np.nan))
        self.known_hashes = np.sort(np.concatenate((self.known_hashes, hashes[kept])), kind="stable")

    def _compute_dimensions(self, operator_index: int, arguments: Sequence[NDArray[np.int64]]) -> Dimensions:
        """Compute the dimensions of an operator's values for batches of arguments."""
        return propagate_dimensions(
            self.operators[operator_index],
            *(
                Dimensions(self.exponents[0][indices], self.literals[0][indices], TRUE)
                for indices in arguments
            ),
        )

    def _keep_new(
        self, indices: NDArray[np.int64], hashes: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the candidates whose hashes are new, and these hashes; of equal ones the first."""
        _, first = np.unique(hashes, return_index=True)
        first.sort()
        places = np.searchsorted(self.known_hashes, hashes[first]) % len(self.known_hashes)
        first = first[self.known_hashes[places] != hashes[first]]
        return indices[first], hashes[first]


def _is_usable(values: Values) -> NDArray[np.bool_]:
    """Return which rows of values, shape (q, m), are finite, not too large, and vary."""
    largest, smallest = values.max(axis=1), values.min(axis=1)  # NaN if any value is
    magnitude = np.maximum(np.abs(largest), np.abs(smallest))
    return np.asarray((magnitude < _MAX_VALUE) & (largest - smallest > _MIN_RELATIVE_SPREAD * magnitude))


def _compute_hashes(values: Values) -> NDArray[np.int64]:
    """Compute hashes of rows, shape (q,), that are equal if the values are equal up to rounding."""
    multipliers = np.random.default_rng(0).integers(1, 1 << 62, size=values.shape[1], dtype=np.int64) * 2 + 1
    bits = np.ascontiguousarray(values + 0.0).view(np.int64)  # + 0.0 replaces −0.0 by 0.0
    rounded = (bits + (1 << (_ROUNDED_BITS - 1))) >> _ROUNDED_BITS
    with np.errstate(over="ignore"):
        return np.asarray((rounded * multipliers).sum(axis=1))
