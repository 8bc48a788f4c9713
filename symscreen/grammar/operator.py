"""The operator record: everything that symscreen knows about an operator."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import IntEnum, StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from symscreen._typing import Residues, Values
    from symscreen.grammar.interval_bounds import Intervals
    from symscreen.grammar.parser import SyntaxNode


class Domain(StrEnum):
    """Domain of an argument."""

    REAL = "real"
    NONZERO = "nonzero"
    NONNEGATIVE = "nonnegative"
    POSITIVE = "positive"
    UNIT = "unit"  # the closed interval [−1, 1]


class Monotonicity(StrEnum):
    """Monotonicity of a unary operator."""

    INCREASING = "increasing"
    DECREASING = "decreasing"
    INCREASING_FROM_ZERO = "increasing from zero"  # increasing for x ≥ 0, decreasing for x ≤ 0
    DECREASING_EACH_SIDE = "decreasing on each side"  # decreasing for x < 0 and for x > 0, with a jump at 0
    NONE = "no"


@dataclass(frozen=True, slots=True)
class UnitRule:
    """How an operator checks and combines units.

    `symscreen.grammar.dimensions.propagate_dimensions` applies the rule.

    Parameters
    ----------
    kind : str
        ``same``: the argument's unit. ``like``: both arguments and the result have the same unit.
        ``product``, ``quotient``: of the arguments' units. ``power``: the argument's unit to a fixed power.
        ``pure``: dimensionless arguments and result. ``exponent``: dimensionless arguments, or any base with
        a number literal as exponent. ``composed``: computed from the formula that defines the operator.
    power : Fraction
        The power for the kind ``power``.
    definition : callable or None
        For the kind ``composed``, maps the dimensions of the arguments to those of the value.
    """

    kind: str
    power: Fraction = Fraction(1)
    definition: Callable[..., Any] | None = None


class Precedence(IntEnum):
    """How tightly the parts of a written formula bind."""

    ANY = 0  # precedence of an argument that the notation encloses
    SUM = 10
    SIGN = 15  # precedence of a sign in programming languages, where a negative factor has parentheses
    PRODUCT = 20
    PREFIX = 30  # precedence of a minus sign in the formula notation
    POWER = 40
    # precedence of functions in mathematical notation, where the base of a power has parentheses
    FUNCTION = 45
    ATOM = 50


@dataclass(frozen=True, slots=True)
class Notation:
    """How an operator is written in one language, see `symscreen.expressions.printing`.

    Parameters
    ----------
    template : str
        Format string of the arguments. In the formula notation, it is empty for a call ``name(a, b)``.
    precedence : int
        Precedence of the result.
    argument_precedences : tuple of int
        Minimum precedence of each argument without parentheses.
    reserved_literals : tuple
        For each argument, the numbers that need parentheses because they would be parsed as another operator
        otherwise (``x**2`` is `square`, ``x**(2)`` is `pow` of x and 2); None for all numbers.
    starts_with_argument : bool
        Whether nothing visible is written before the first argument.
    """

    template: str = ""
    precedence: int = Precedence.ATOM
    argument_precedences: tuple[int, ...] = (Precedence.ANY, Precedence.ANY)
    reserved_literals: tuple[tuple[int, ...] | None, ...] = ((), ())
    starts_with_argument: bool = field(init=False)

    def __post_init__(self) -> None:
        starts_with_argument = self.template.removeprefix("<mrow>").startswith(("{}", "{0}"))
        object.__setattr__(self, "starts_with_argument", starts_with_argument)

    def is_reserved_literal(self, position: int, number: float) -> bool:
        """Return whether a number without parentheses would be parsed as part of another operator."""
        literals = self.reserved_literals[position]
        return literals is None or number in literals


@dataclass(frozen=True, slots=True)
class OperatorFamily:
    """The origin of an operator with parameters.

    A space contains one operator for each combination of starting values; they differ only in `values`.
    `symscreen.grammar.custom_operators.compose_form` builds functions of the formula for other values.

    Parameters
    ----------
    name : str
        Name in the grammar; the operators are called ``name_1``, ``name_2``, …
    parameters : tuple of str
        Names of the parameters, in the order of `values`.
    values : tuple of float
        The values of this operator; `int` for integers.
    start_values : tuple of tuple of float
        The values of all operators of the family, in their order.
    tree : SyntaxNode
        The formula with the names of the parameters.
    operators : mapping of str to Operator
        Operators that the formula may call.
    """

    name: str
    parameters: tuple[str, ...]
    values: tuple[float, ...]
    start_values: tuple[tuple[float, ...], ...]
    tree: SyntaxNode
    operators: Mapping[str, Operator] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Operator:
    """A unary or binary function, with everything that symscreen knows about it.

    Parameters
    ----------
    name : str
        Name in formulas and grammars.
    arity : {1, 2}
        Number of arguments.
    numeric : callable
        Maps float64 arrays to a float64 array, element by element. The result is NaN or infinite outside the
        domain; values are never clipped or replaced.
    symbolic : callable
        Maps sympy expressions to a sympy expression.
    fingerprint : callable
        Maps the fingerprints of the arguments to that of the value (`symscreen.grammar.fingerprint`).
    domain : tuple of Domain
        Domain of each argument.
    units : UnitRule
        How the operator checks and combines units.
    summary : str
        One line for listings; for a defined operator its formula.
    cost : int
        Contribution to the complexity of a formula.
    n_primitives : int
        Number of built-in operators in its definition; 1 for a built-in operator.
    commutative : bool
        Whether f(a, b) = f(b, a).
    monotone : Monotonicity
        Monotonicity of a unary operator.
    cancels : bool
        Whether the value can consist only of the rounding errors of the arguments, as in a difference of
        equal values.
    prepare_right : callable or None
        Applied once to the fingerprints of all right arguments before `fingerprint`, where this saves work
        (division multiplies by an inverse).
    notation : Notation
        How the operator is written.
    rounding : callable or None
        Maps the computed value and the arguments with their error bounds to an error bound of the value
        (`symscreen.grammar.error_propagation`). None for an estimate by differences.
    bounds : callable or None
        Maps intervals of the arguments to intervals of the value, with what may be undefined there
        (`symscreen.grammar.interval_bounds`). None if no bounds are known.
    continuous : bool
        Whether the value is continuous in the arguments wherever it is defined.
    family : OperatorFamily or None
        Origin of an operator with parameters.
    called_operators : tuple of Operator
        Operators that the defining formula calls; empty for built-in operators.

    Notes
    -----
    Operators defined by formulas are equal if their definitions are. A pickle stores a built-in operator by
    name and a defined one by its definition, because functions cannot be pickled.
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
    bounds: Callable[..., Intervals] | None = None
    continuous: bool = True
    family: OperatorFamily | None = None
    called_operators: tuple[Operator, ...] = ()

    def __repr__(self) -> str:
        return f"<Operator {self.name}({', '.join('xy'[: self.arity])}): {self.summary}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Operator):
            return NotImplemented
        # most pairs differ by name, and all fields take long to compare
        return self is other or (self.name == other.name and self._get_identity() == other._get_identity())

    def __hash__(self) -> int:
        return hash((self.name, self.arity, self.summary, self.cost))

    def _get_identity(self) -> tuple[object, ...]:
        """Return the fields that determine equality; for a defined operator its definition."""
        if self.called_operators:
            return (self.name, self.arity, self.summary, self.cost, self.family, self.called_operators)
        return tuple(getattr(self, operator_field.name) for operator_field in fields(self))

    def __reduce__(self) -> tuple[Callable[..., Operator], tuple[object, ...]]:
        from symscreen.grammar.custom_operators import reduce_operator  # avoids a circular import

        return reduce_operator(self)

    def compute_fingerprint(self, *arguments: Residues) -> Residues:
        """Return the fingerprint of the value from those of the arguments; shape (…, 2)."""
        if self.prepare_right is not None:
            arguments = (*arguments[:-1], self.prepare_right(arguments[-1]))
        return self.fingerprint(*arguments)


def find_operators_by_name(name: str, operators: Mapping[str, Operator]) -> tuple[Operator, ...]:
    """Find the operator or all operators of the family with a given name; empty if there is neither.

    Parameters
    ----------
    name : str
        Name of an operator or a family.
    operators : mapping of str to Operator
        The available operators.

    Returns
    -------
    tuple of Operator

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
    return tuple(
        operator
        for operator in operators.values()
        if operator.family is not None and operator.family.name == name
    )


def is_in_domain(values: Values, domain: Domain) -> NDArray[np.bool_]:
    """Return for each row of a block whether all its values are in a domain.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        One feature per row.
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
