"""Laws, y = c₀ + Σ cₖ·fₖ with simple fₖ, and the data that all searches for laws share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.expressions.grammar_rules import is_expressible
from symscreen.fitting.effort import EFFORTS
from symscreen.fitting.laws.formula_pool import grow_formula_pool
from symscreen.fitting.laws.unit_lattice import build_unit_lattice
from symscreen.statistics.spread_places import select_spread_places

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.formula_pool import FormulaPool
    from symscreen.fitting.laws.unit_lattice import UnitLattice
    from symscreen.fitting.required_inputs import RequiredInputs
    from symscreen.grammar import Grammar
    from symscreen.linear_models.row_weights import RowWeights
    from symscreen.units import Units


_MAX_POOL_ROWS = 400  # rows on which the formulas of the pool are evaluated
_MIN_POOL_ROWS = 48
_MAX_POOL_VALUES = 100_000_000  # a larger pool has fewer rows, but not fewer than the minimum
_MAX_EXPONENT = 300  # power of two of the largest target value: squares stay far from overflow and underflow
_N_THIRD_TERMS = 40


@dataclass(frozen=True, eq=False)
class Law:
    """A candidate for the law of a target, before its coefficients are fitted.

    Parameters
    ----------
    terms : tuple of Expression
        The terms fₖ; their coefficients are fitted later, on the scale of the target.
    has_intercept : bool
        Whether a constant c₀ is added.
    search_size : float
        Number of laws that this one was chosen from.
    n_constants : int
        Number of constants inside the terms that were fitted to the target.
    stage : str
        Name of the stage of the search that found it.
    """

    terms: tuple[Expression, ...]
    has_intercept: bool
    search_size: float
    n_constants: int = 0
    stage: str = ""


@dataclass(frozen=True, eq=False)
class LawData:
    """What a search for laws needs; see `build_law_data`.

    Parameters
    ----------
    columns : mapping of str to float64 array, shape (n,)
        The inputs by name, in the order of their names; at least one.
    target : float64 array, shape (n,)
        The target y, finite, not constant, and ascending.
    grammar : Grammar
        Operators, constants and rules.
    is_allowed : callable, optional
        Decides which terms are allowed. With units, these are the terms that have the unit of the target or,
        if that is not given, any unit.
    pool_limit : int
        Maximum number of formulas in the pool.
    required_inputs : RequiredInputs, optional
        Inputs that every law must have.
    row_weights : RowWeights, optional
        Weights of the rows in the fits of coefficients and constants. The searches find candidates without.
    units : Units, optional
        Units of the inputs and of the target. They restrict all searches to what has a unit and, if that of
        the target is given, has its unit.
    max_pool_rows : int
        Maximum number of rows on which the formulas of the pool are evaluated.
    n_third_terms : int
        Number of simple formulas that are tried as the third term of a sum.
    max_ranked_formulas : int or None
        Maximum number of formulas, simplest first, whose pairs are ranked if no law is exact; None for all.
    should_stop : callable or None
        Returns whether the search must end, before the next batch of the pool or the ranking of pairs.
    jobs : int
        Number of threads; it has no effect on what is found.
    all_columns : mapping of str to float64 array, shape (n,), or None
        All inputs of the table if `columns` has only some of them, chosen by the target.
    """

    columns: Mapping[str, Values]
    target: Values
    grammar: Grammar
    is_allowed: Callable[[Expression], bool] | None = None
    pool_limit: int = EFFORTS["default"].pool_formulas
    required_inputs: RequiredInputs | None = None
    row_weights: RowWeights | None = None
    units: Units | None = None
    max_pool_rows: int = _MAX_POOL_ROWS
    n_third_terms: int = _N_THIRD_TERMS
    max_ranked_formulas: int | None = None
    should_stop: Callable[[], bool] | None = None
    jobs: int = 1
    all_columns: Mapping[str, Values] | None = None

    @property
    def every_column(self) -> Mapping[str, Values]:
        """All inputs of the table, also those that are not searched."""
        return self.columns if self.all_columns is None else self.all_columns

    @property
    def known_numbers(self) -> frozenset[float]:
        """The constants of the grammar in absolute value; other numbers in a formula have a cost."""
        return frozenset(abs(float(value)) for value in self.grammar.constants)

    @property
    def has_products(self) -> bool:
        """Whether products and quotients are among the operators of the grammar."""
        return {"mul", "div"} <= {operator.name for operator in self.grammar.binary}

    @property
    def lattice(self) -> UnitLattice | None:
        """The exponents that the units of the inputs allow; None without units."""
        return None if self.units is None else build_unit_lattice(self.units, tuple(self.columns))

    @property
    def target_unit(self) -> Values | None:
        """Exponents of the base units of the target, shape (D,); None if its unit is not known."""
        return None if self.lattice is None else self.lattice.target

    @lockfree_cached_property
    def pool_rows(self) -> NDArray[np.int64]:
        """Rows on which the formulas of the pool are evaluated, shape (m,)."""
        n_rows = _MAX_POOL_VALUES // self.pool_limit
        return self.select_rows(min(self.max_pool_rows, max(n_rows, _MIN_POOL_ROWS)))

    @lockfree_cached_property
    def pool(self) -> FormulaPool:
        """Formulas of the inputs by rising complexity, with their values on `pool_rows`."""
        columns = {name: values[self.pool_rows] for name, values in self.columns.items()}
        return grow_formula_pool(columns, self.grammar, self.pool_limit, self.units, self.should_stop)

    @property
    def is_over(self) -> bool:
        """Whether the search must end before its next long step."""
        return self.should_stop is not None and self.should_stop()

    def select_rows(self, limit: int) -> NDArray[np.int64]:
        """Return a limited number of rows, spread evenly over all, shape (m,)."""
        return select_spread_places(len(self.target), limit)

    def allows(self, law: Law) -> bool:
        """Return whether the grammar and the units allow a law, and it has the required inputs."""
        if self.required_inputs is not None and not self.required_inputs.has_all(law.terms):
            return False
        return all(
            is_expressible(term, self.grammar) and (self.is_allowed is None or self.is_allowed(term))
            for term in law.terms
        )


def build_law_data(
    columns: Mapping[str, Values],
    target: Values,
    grammar: Grammar,
    is_allowed: Callable[[Expression], bool] | None = None,
    *,
    pool_limit: int = EFFORTS["default"].pool_formulas,
    required_inputs: RequiredInputs | None = None,
    row_weights: RowWeights | None = None,
    units: Units | None = None,
    jobs: int = 1,
) -> LawData:
    """Sort the columns by name, and the rows by target and inputs, so that their order has no effect.

    A target so large or small that its squares are no numbers is scaled by a power of two. The laws have an
    outer coefficient, so this changes none of them.

    Parameters
    ----------
    columns, target, grammar, is_allowed, pool_limit, required_inputs, row_weights, units, jobs
        See `LawData`.

    Returns
    -------
    LawData
    """
    sorted_columns = {name: columns[name] for name in sorted(columns)}
    ties = () if row_weights is None else (row_weights.weights,)
    order = np.lexsort((*ties, *sorted_columns.values(), target))
    return LawData(
        {name: values[order] for name, values in sorted_columns.items()},
        _scale_extreme(target[order]),
        grammar,
        is_allowed,
        pool_limit,
        required_inputs,
        None if row_weights is None else row_weights.take(order),
        units,
        jobs=jobs,
    )


def _scale_extreme(target: Values) -> Values:
    """Scale a target, shape (n,), to about 1 by a power of two if its largest value is extreme."""
    _, exponent = np.frexp(np.abs(target).max(initial=0.0))
    return target if abs(exponent) <= _MAX_EXPONENT else np.ldexp(target, -int(exponent))
