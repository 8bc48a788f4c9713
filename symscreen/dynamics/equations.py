"""Right-hand sides with free constants, and systems of them that can be evaluated for many states at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.traversal import (
    compute_complexity,
    compute_key,
    fold_expression,
    iterate_constants,
    rebuild_expression,
)
from symscreen.expressions.tree import Constant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from symscreen._typing import Values
    from symscreen.expressions.system_formula import SystemFormula
    from symscreen.expressions.tree import Call, Expression

    # maps columns and constants, each with any shape, to values
    Rate = Callable[[Mapping[str, Values], Sequence[Values | float]], Values]


@dataclass(frozen=True, eq=False)
class Equation:
    """A right-hand side: a sum of terms with coefficients.

    Parameters
    ----------
    state : str
        The state that changes at this rate.
    terms : tuple of Expression
        The terms; the constant 1 stands for an intercept.
    coefficients : tuple of float
        One for each term.
    search_costs : tuple of float
        For each term, the logarithm of the number of terms that it was chosen from.
    """

    state: str
    terms: tuple[Expression, ...]
    coefficients: tuple[float, ...]
    search_costs: tuple[float, ...]

    @cached_property
    def constants(self) -> Values:
        """The free constants: the coefficients, then the fitted numbers inside the terms, left to right."""
        return np.array([*self.coefficients, *_list_inner_constants(self.terms)])

    def replace_constants(self, constants: Sequence[float]) -> Equation:
        """Return the equation with other constants."""
        n_terms = len(self.terms)
        values = iter(constants[n_terms:])
        terms = tuple(_fill_constants(term, values) for term in self.terms)
        return replace(self, terms=terms, coefficients=tuple(map(float, constants[:n_terms])))

    def replace_term(self, place: int, term: Expression, search_cost: float) -> Equation:
        """Return the equation with another term at a place, which gets the coefficient of the old one."""
        return replace(
            self,
            terms=(*self.terms[:place], term, *self.terms[place + 1 :]),
            search_costs=(*self.search_costs[:place], search_cost, *self.search_costs[place + 1 :]),
        )

    def drop_term(self, place: int) -> Equation:
        """Return the equation without a term."""
        return replace(
            self,
            terms=self.terms[:place] + self.terms[place + 1 :],
            coefficients=self.coefficients[:place] + self.coefficients[place + 1 :],
            search_costs=self.search_costs[:place] + self.search_costs[place + 1 :],
        )

    @property
    def search_cost(self) -> float:
        """The sum of the search costs of the terms."""
        return sum(self.search_costs)

    @property
    def complexity(self) -> int:
        """The complexity of the terms, plus one for each coefficient."""
        return len(self.terms) + sum(map(compute_complexity, self.terms))

    def build_formula(self, left_side: str) -> Formula:
        """Build the formula whose target is the left side."""
        is_constant = [term == Constant(1) for term in self.terms]
        pairs = list(zip(self.coefficients, self.terms, is_constant, strict=True))
        intercept = sum(value for value, _, constant in pairs if constant)
        kept = [(value, term) for value, term, constant in pairs if not constant]
        return Formula(
            left_side, intercept, tuple(value for value, _ in kept), tuple(term for _, term in kept)
        )

    def compile(self) -> Rate:
        """Return a function that evaluates the right-hand side from columns and constants."""
        compiled, _ = self.compile_terms()

        def compute(columns: Mapping[str, Values], constants: Sequence[Values | float]) -> Values:
            total: Values | float = 0.0
            for place, evaluate in enumerate(compiled):
                total = total + constants[place] * evaluate(columns, constants)
            return np.asarray(total)

        return compute

    def compile_terms(self) -> tuple[list[Rate], list[int]]:
        """Return functions that evaluate the terms, and the term that each number inside belongs to."""
        places = count(len(self.terms))
        compiled = [_compile_term(term, places) for term in self.terms]
        owners = [place for place, term in enumerate(self.terms) for _ in _list_inner_constants([term])]
        return compiled, owners


def find_form(term: Expression) -> tuple[int, int]:
    """Return a key that terms share which differ in the fitted constants inside only."""
    return compute_key(
        rebuild_expression(
            term, number=lambda number: replace(number, value=2.0) if number.fitted else number
        )
    )


def _list_inner_constants(terms: Sequence[Expression]) -> list[float]:
    """List the fitted numbers inside terms."""
    return [float(each.value) for term in terms for each in iterate_constants(term) if each.fitted]


def _fill_constants(term: Expression, values: Iterator[float]) -> Expression:
    """Replace the fitted numbers of a term from left to right."""
    return rebuild_expression(
        term, number=lambda number: replace(number, value=float(next(values))) if number.fitted else number
    )


def _compile_term(term: Expression, places: Iterator[int]) -> Rate:
    """Turn a term into nested functions; fitted numbers are read from the constants."""

    def read_column(name: str) -> Rate:
        return lambda columns, _: columns[name]

    def read_number(number: Constant) -> Rate:
        if number.fitted:
            place = next(places)
            return lambda _, constants: np.asarray(constants[place])
        value = np.asarray(float(number.value))
        return lambda _, __: value

    def apply(call: Call, arguments: list[Rate]) -> Rate:
        numeric = call.operator.numeric
        if len(arguments) == 1:
            (only,) = arguments
            return lambda columns, constants: numeric(only(columns, constants))
        left, right = arguments
        return lambda columns, constants: numeric(left(columns, constants), right(columns, constants))

    return fold_expression(term, column=read_column, number=read_number, call=apply)


def build_system(formula: SystemFormula) -> System:
    """Build the system of saved equations; numbers inside terms stay as they are."""
    terms = [_split_formula(each) for each in formula.rates.formulas]
    names = formula.velocities or formula.states
    equations = tuple(
        Equation(name, expressions, coefficients, (0.0,) * len(expressions))
        for name, (coefficients, expressions) in zip(names, terms, strict=True)
    )
    return System(equations, (*formula.states, *formula.velocities))


def _split_formula(formula: Formula) -> tuple[tuple[float, ...], tuple[Expression, ...]]:
    """Return the coefficients and the terms of a formula, its intercept included."""
    if formula.intercept == 0.0 and formula.terms:
        return formula.coefficients, formula.terms
    return (formula.intercept, *formula.coefficients), (Constant(1), *formula.terms)


@dataclass(frozen=True, eq=False)
class System:
    """The equations of all states of a system of first order.

    Parameters
    ----------
    equations : tuple of Equation
        The equations of the dynamic states.
    states : tuple of str
        All states: the measured ones, then, in a system of second order, their derivatives.
    """

    equations: tuple[Equation, ...]
    states: tuple[str, ...]

    @cached_property
    def constants(self) -> Values:
        """The free constants of all equations."""
        return np.concatenate([each.constants for each in self.equations])

    def replace_constants(self, constants: Values) -> System:
        """Return the system with other constants."""
        parts = np.split(constants, np.cumsum([len(each.constants) for each in self.equations])[:-1])
        equations = tuple(
            each.replace_constants(part.tolist()) for each, part in zip(self.equations, parts, strict=True)
        )
        return replace(self, equations=equations)

    def replace_equation(self, place: int, equation: Equation) -> System:
        """Return the system with another equation at a place."""
        equations = (*self.equations[:place], equation, *self.equations[place + 1 :])
        return replace(self, equations=equations)

    @property
    def complexity(self) -> int:
        """The sum of the complexities of the equations."""
        return sum(each.complexity for each in self.equations)

    @cached_property
    def search_cost(self) -> float:
        """The logarithm of the number of systems that this one was chosen from.

        A term that another equation has, too, is one of the few terms of the system: what leaves one state
        often arrives in another. Constants inside it may differ.
        """
        costs: dict[object, list[float]] = {}
        for equation in self.equations:
            for term, cost in zip(equation.terms, equation.search_costs, strict=True):
                costs.setdefault(find_form(term), []).append(cost)
        again = float(np.log(len(costs)))
        return sum(max(each) + sum(min(cost, again) for cost in sorted(each)[:-1]) for each in costs.values())

    @cached_property
    def rates(self) -> Callable[[Mapping[str, Values], Sequence[Values | float]], list[Values]]:
        """A function from columns and constants to the rates of all states."""
        compiled = [each.compile() for each in self.equations]
        sizes = np.cumsum([0, *(len(each.constants) for each in self.equations)]).tolist()
        n_kinematic = len(self.states) - len(self.equations)
        velocities = self.states[len(self.states) - n_kinematic :] if n_kinematic else ()

        def compute(columns: Mapping[str, Values], constants: Sequence[Values | float]) -> list[Values]:
            kinematic = [columns[name] for name in velocities]
            dynamic = [
                rate(columns, constants[sizes[place] : sizes[place + 1]])
                for place, rate in enumerate(compiled)
            ]
            return [*kinematic, *dynamic]

        return compute
