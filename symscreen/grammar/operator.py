"""The operator record: all that symscreen knows about one operator, in one frozen place."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from symscreen._typing import Residues, Values
    from symscreen.grammar.parser import SyntaxNode


__all__ = [
    "Domain",
    "Monotonicity",
    "Notation",
    "Operator",
    "OperatorFamily",
    "UnitRule",
    "find_operators_by_name",
    "is_in_domain",
]


class Domain(StrEnum):
    """Where an argument may lie."""

    REAL = "real"
    NONZERO = "nonzero"
    NONNEGATIVE = "nonnegative"
    POSITIVE = "positive"
    UNIT = "unit"  # the closed interval [−1, 1]


class Monotonicity(StrEnum):
    """On which side a unary operator keeps or turns the order of its argument."""

    INCREASING = "increasing"
    DECREASING = "decreasing"
    INCREASING_FROM_ZERO = "increasing from zero"  # increasing for x ≥ 0, decreasing for x ≤ 0
    DECREASING_EACH_SIDE = "decreasing on each side"  # decreasing for x < 0 and for x > 0, with a jump at 0
    NONE = "no"


@dataclass(frozen=True, slots=True)
class UnitRule:
    """What an operator asks of units and what it makes of them.

    Parameters
    ----------
    kind : str
        ``same`` (the argument's), ``like`` (both alike, the result too), ``product``, ``quotient``,
        ``power`` (the argument's to a fixed power), ``pure`` (pure numbers in, a pure number out),
        ``exponent`` (pure numbers, or any base with a number written above it) or ``composed`` (what the
        formula that defines the operator makes of them). `symscreen.grammar.dimensions.propagate_dimensions`
        applies it.
    power : Fraction
        The power of ``power``.
    definition : callable or None
        Of ``composed``: units of the arguments to that of the value.
    """

    kind: str
    power: Fraction = Fraction(1)
    definition: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class Notation:
    """How an operator is written; `symscreen.expressions.tree` prints by it.

    Parameters
    ----------
    template : str
        With ``{}`` for each argument; empty for a call, ``name(a, b)``.
    binds : int
        How tightly the result holds together: 10 sum, 20 product, 30 minus sign, 40 power, 50 atom.
    arguments : tuple of int
        How tightly each argument must hold together to stand without parentheses.
    literals : tuple
        For each argument, the numbers that must stand in parentheses there because bare they mean another
        operator (``x**2`` is `square`, ``x**(2)`` is `pow` of x and 2); None for every number.
    """

    template: str = ""
    precedence: int = 50
    argument_precedences: tuple[int, ...] = (0, 0)
    reserved_literals: tuple[tuple[int, ...] | None, ...] = ((), ())

    def is_reserved_literal(self, position: int, number: float) -> bool:
        """Say whether a bare number in this place would be read as part of a short form."""
        literals = self.reserved_literals[position]
        return literals is None or number in literals


@dataclass(frozen=True, slots=True)
class OperatorFamily:
    """What an operator with parameters came from: all that is needed to give them other values.

    A space holds one operator for each combination of starting values; they differ in `values` alone.
    `symscreen.grammar.custom_operators.compose_form` makes functions of the formula.

    Parameters
    ----------
    name : str
        As the grammar defines it; its operators are called ``name_1``, ``name_2``, …
    parameters : tuple of str
        The parameters' names, in the order of `values`.
    values : tuple of float
        This operator's values; an `int` where they are whole.
    starts : tuple of tuple of float
        The values of all operators of the family, in their order.
    tree : Syntax
        The formula, with the parameters' names in it.
    operators : mapping of str to Operator
        Those that the formula may call.
    """

    name: str
    parameters: tuple[str, ...]
    values: tuple[float, ...]
    start_values: tuple[tuple[float, ...], ...]
    tree: SyntaxNode
    operators: Mapping[str, Operator] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Operator:
    """A unary or binary function with everything that symscreen knows about it.

    Parameters
    ----------
    name : str
        As users type it.
    arity : {1, 2}
        The number of arguments.
    numeric : callable
        float64 arrays to a float64 array, element by element. Outside the domain it gives NaN or
        infinity; it never protects, clips or replaces.
    symbolic : callable
        sympy expressions to a sympy expression.
    fingerprint : callable
        Fingerprints of the arguments to that of the value (`symscreen.grammar.fingerprint`).
    domain : tuple of Domain
        Where each argument may lie.
    units : UnitRule
        What it makes of units.
    summary : str
        One line for the listing.
    cost : int
        What it adds to a formula's complexity.
    commutative : bool
        Whether f(a, b) = f(b, a).
    monotone : Monotone
        For a unary operator, where it keeps or turns the order of its argument.
    steps : int
        How many shipped operators it is made of.
    cancels : bool
        Whether it can leave only the rounding error of its arguments, as a difference of equals does.
    prepare_right : callable or None
        Applied once to the fingerprints of all right arguments before `fingerprint`, where that saves work
        (division multiplies by an inverse).
    notation : Notation
        How it is written.
    rounding : callable or None
        The computed value and the arguments, each with a bound of its error, to a bound of the value's error
        (`symscreen.grammar.error_propagation`). Without it, differences are taken.
    family : Family or None
        What it came from, where its formula has parameters.
    calls : tuple of Operator
        Those that the formula calls, where a formula defines it; its `summary` is that formula.

    Notes
    -----
    Operators that formulas define are equal where their definitions are. A pickle holds a shipped operator by
    name and a defined one by its definition: functions do not travel.
    """

    name: str
    arity: int
    numeric: Callable[..., Values]
    symbolic: Callable[..., Any]
    fingerprint: Callable[..., Residues]
    domain: tuple[Domain, ...]
    units: UnitRule
    summary: str
    cost: int = 1
    n_primitives: int = 1
    commutative: bool = False
    monotone: Monotonicity = Monotonicity.NONE
    cancels: bool = False
    prepare_right: Callable[[Residues], Residues] | None = None
    notation: Notation = Notation()
    rounding: Callable[..., Values] | None = None
    family: OperatorFamily | None = None
    called_operators: tuple[Operator, ...] = ()

    def __repr__(self) -> str:
        return f"<Operator {self.name}({', '.join('xy'[: self.arity])}): {self.summary}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Operator):
            return NotImplemented
        return self is other or self._get_identity() == other._get_identity()

    def __hash__(self) -> int:
        return hash((self.name, self.arity, self.summary, self.cost))

    def _get_identity(self) -> tuple[object, ...]:
        """Return what two equal operators share; what a definition gives is not compared again."""
        if self.called_operators:
            return (self.name, self.arity, self.summary, self.cost, self.family, self.called_operators)
        return tuple(getattr(self, each.name) for each in fields(self))

    def __reduce__(self) -> tuple[Callable[..., Operator], tuple[object, ...]]:
        from symscreen.grammar.custom_operators import (
            reduce_operator,  # it knows those that ship, which are made of this
        )

        return reduce_operator(self)

    def compute_fingerprint(self, *arguments: Residues) -> Residues:
        """Return the fingerprint of the value from those of the arguments, shape (…, 2)."""
        if self.prepare_right is not None:
            arguments = (*arguments[:-1], self.prepare_right(arguments[-1]))
        return self.fingerprint(*arguments)


def find_operators_by_name(name: str, operators: Mapping[str, Operator]) -> tuple[Operator, ...]:
    """Find what a name in a list stands for: an operator, or all of a family; nothing if there is neither.

    Examples
    --------
    >>> from symscreen.grammar.builtin_operators import OPERATORS
    >>> from symscreen.grammar.custom_operators import define_family
    >>> decay = define_family("decay", "exp(-a*x)", {"a": [0.1, 1]}, OPERATORS)
    >>> [operator.name for operator in find_operators_by_name("decay",
    ...     {operator.name: operator for operator in decay})]
    ['decay_1', 'decay_2']
    """
    if name in operators:
        return (operators[name],)
    return tuple(one for one in operators.values() if one.family is not None and one.family.name == name)


def is_in_domain(values: Values, domain: Domain) -> NDArray[np.bool_]:
    """Say of each row of a block whether all its values lie in a domain.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        One feature a row.
    domain : Domain
        The domain.

    Returns
    -------
    bool array, shape (q,)

    Examples
    --------
    >>> is_in_domain(np.array([[1.0, 2.0], [0.0, 2.0]]), Domain.POSITIVE).tolist()
    [True, False]
    """
    match domain:
        case Domain.REAL:
            return np.ones(len(values), dtype=np.bool_)
        case Domain.NONZERO:
            return np.asarray((values != 0).all(axis=1))
        case Domain.NONNEGATIVE:
            return np.asarray(values.min(axis=1) >= 0)
        case Domain.POSITIVE:
            return np.asarray(values.min(axis=1) > 0)
        case Domain.UNIT:
            return np.asarray(np.abs(values).max(axis=1) <= 1)
