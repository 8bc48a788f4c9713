"""Expressions: columns and numbers combined by operators.

A tree contains only the structure of a formula. Trees with the same structure are equal.
`symscreen.expressions.traversal` evaluates and rewrites them, `symscreen.expressions.printing` formats them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from symscreen.data.time_operators import parse_time_operator
from symscreen.errors import FormulaError, GrammarError
from symscreen.grammar.builtin_operators import OPERATORS
from symscreen.grammar.custom_operators import get_operator
from symscreen.grammar.parser import NAMED_CONSTANTS, parse_formula
from symscreen.messages import suggest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from symscreen.data import DerivedColumn
    from symscreen.grammar.operator import Operator
    from symscreen.grammar.parser import SyntaxNode


class _Node:
    """What all nodes of an expression share."""

    __slots__ = ()

    def __str__(self) -> str:
        from symscreen.expressions.printing import to_text  # avoids a circular import

        return to_text(self)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Column(_Node):
    """An input column.

    Parameters
    ----------
    name : str
        Name of the column.
    indicator : DerivedColumn or None
        How the column is computed from another one; None for a column of the source. Ignored in
        comparisons.
    """

    name: str
    indicator: DerivedColumn | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Constant(_Node):
    """A number.

    Parameters
    ----------
    value : float or int
        The number; `int` for integers. The double nearest to π means π itself.
    fitted : bool
        Whether the number was fitted to data, so that it may be rounded for display. The numbers of operators
        and units are exact. Ignored in comparisons.
    """

    value: float
    fitted: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call(_Node):
    """An operator applied to expressions.

    Parameters
    ----------
    operator : Operator
        The operator.
    arguments : tuple of Expression
        One or two arguments.
    """

    operator: Operator
    arguments: tuple[Expression, ...]

    def __repr__(self) -> str:
        return f"<formula {self}>"


Expression = Column | Constant | Call


def apply_operator(operator: Operator, *arguments: Expression) -> Expression:
    """Apply an operator to expressions; `id` returns its argument.

    Parameters
    ----------
    operator : Operator
        The operator.
    *arguments : Expression
        One or two arguments.

    Returns
    -------
    Expression

    Examples
    --------
    >>> inverse = apply_operator(OPERATORS["inv"], Column("a b"))
    >>> str(apply_operator(OPERATORS["sub"], Column("x1"), inverse))
    'x1 - 1/`a b`'
    """
    return arguments[0] if operator.name == "id" else Call(operator, arguments)


def parse_expression(
    text: str,
    operators: Mapping[str, Operator] = OPERATORS,
    column_names: Collection[str] | None = None,
) -> Expression:
    """Parse a formula.

    Parameters
    ----------
    text : str
        A formula such as ``x1 - cos(x2)/`my column```.
    operators : mapping of str to Operator, optional
        The available operators; by default the built-in ones.
    column_names : collection of str, optional
        The available columns. By default every name except ``pi`` is a column.

    Returns
    -------
    Expression

    Raises
    ------
    FormulaError
        If the text cannot be parsed, or contains an unknown operator or column.

    Examples
    --------
    >>> print(parse_expression("2*x + sin(`a b`)**2"))
    2*x + sin(`a b`)**2
    """
    named_columns = frozenset(column_names or ()) & NAMED_CONSTANTS.keys()
    return _build_expression(parse_formula(text), operators, column_names, named_columns)


def parse_printed_expression(
    text: str, operators: Mapping[str, Operator], column_names: Collection[str]
) -> Expression:
    """Parse a text that `to_text` wrote, in which ``pi`` is the number even where a column has this name.

    Parameters
    ----------
    text : str
        A formula in which a column called ``pi`` is in backticks.
    operators : mapping of str to Operator
        The available operators.
    column_names : collection of str
        The available columns.

    Returns
    -------
    Expression

    Raises
    ------
    FormulaError
        If the text cannot be parsed, or contains an unknown operator or column.

    Examples
    --------
    >>> parse_printed_expression("pi*`pi`", OPERATORS, ["pi"]).arguments
    (Constant(value=3.141592653589793), Column(name='pi'))
    """
    return _build_expression(parse_formula(text), operators, column_names, frozenset())


def _build_expression(
    tree: SyntaxNode,
    operators: Mapping[str, Operator],
    column_names: Collection[str] | None,
    named_columns: Collection[str],
) -> Expression:
    """Convert a syntax tree to an expression; `named_columns` are columns with the name of a constant."""
    if tree.kind == "number" and not isinstance(tree.value, str):
        return Constant(tree.value)
    if tree.kind == "call" and _is_time_call(tree, operators):
        return _build_time_column(tree, column_names)
    if tree.kind == "call":
        try:
            operator = get_operator(str(tree.value), len(tree.arguments), operators)
        except GrammarError as error:
            raise FormulaError(str(error)) from None
        return apply_operator(
            operator,
            *(
                _build_expression(argument, operators, column_names, named_columns)
                for argument in tree.arguments
            ),
        )
    name = str(tree.value)
    if tree.kind == "name" and name in NAMED_CONSTANTS and name not in named_columns:
        return Constant(NAMED_CONSTANTS[name])
    if column_names is not None and name not in column_names:
        raise FormulaError(f"there is no column {name!r}{suggest(name, column_names)}")
    return Column(name)


def _is_time_call(tree: SyntaxNode, operators: Mapping[str, Operator]) -> bool:
    """Return whether a call is that of an operator of time, such as ``lag1(x)``."""
    try:
        return str(tree.value) not in operators and parse_time_operator(str(tree.value)) is not None
    except GrammarError as error:
        raise FormulaError(str(error)) from None


def _build_time_column(tree: SyntaxNode, column_names: Collection[str] | None) -> Column:
    """Convert the call of an operator of time to the column that it computes."""
    operator, argument = str(tree.value), tree.arguments[0]
    if len(tree.arguments) > 1 or argument.kind not in {"name", "column"}:
        raise FormulaError(
            f"{operator} acts on one column, not on a formula; write lag1(x*z) as lag1(x)*lag1(z), and "
            "diff(x*z) as x*z - lag1(x)*lag1(z)"
        )
    name = f"{operator}({argument.value})"
    if column_names is not None and name not in column_names:
        raise FormulaError(f"there is no column {name!r}{suggest(name, column_names)}")
    return Column(name)
