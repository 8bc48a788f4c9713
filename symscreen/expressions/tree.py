"""Expressions: formulas as immutable trees, with evaluation, parsing, printing, keys and conversion to sympy.

A tree contains only the structure of a formula. Trees with the same structure are equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import FormulaError, GrammarError
from symscreen.grammar import fingerprint as fp
from symscreen.grammar.builtin_operators import OPERATORS
from symscreen.grammar.custom_operators import get_operator, replace_infinities, to_sympy_number
from symscreen.grammar.parser import parse_formula, quote_column
from symscreen.messages import suggest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from symscreen.grammar.operator import Operator
    from symscreen.grammar.parser import SyntaxNode


_OPERATOR_NAMES = frozenset(OPERATORS)
_ATOM_PRECEDENCE, _SIGN_PRECEDENCE = 50, 30  # as in `symscreen.grammar.operator.Notation`
_MAX_SYMPY_NODES = 20_000  # of the sympy form of an expression
_ALGEBRAIC_OPERATORS = frozenset({"add", "sub", "mul", "div", "neg", "inv", "square", "cube", "pow", "sqrt"})
_MAX_NESTING = 6  # nested non-algebraic functions that sympy simplifies quickly
_OVERFLOWING = object()  # the value of an expression with a number beyond double precision


@dataclass(frozen=True, slots=True)
class Column:
    """An input column.

    Parameters
    ----------
    name : str
        Name of the column.
    """

    name: str

    def __str__(self) -> str:
        return to_text(self)


@dataclass(frozen=True, slots=True)
class Constant:
    """A number.

    Parameters
    ----------
    value : float or int
        The number; `int` for integers.
    fitted : bool
        Whether the number was fitted to data, so that it may be rounded for display. The numbers of operators
        and units are exact. Ignored in comparisons.
    """

    value: float
    fitted: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        return to_text(self)


@dataclass(frozen=True, slots=True)
class Call:
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
        return f"<formula {to_text(self)}>"

    def __str__(self) -> str:
        return to_text(self)


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
    return _build_expression(parse_formula(text), operators, column_names)


def _build_expression(
    tree: SyntaxNode, operators: Mapping[str, Operator], column_names: Collection[str] | None
) -> Expression:
    """Convert a syntax tree to an expression."""
    if tree.kind == "number" and not isinstance(tree.value, str):
        return Constant(tree.value)
    if tree.kind == "call":
        try:
            operator = get_operator(str(tree.value), len(tree.arguments), operators)
        except GrammarError as error:
            raise FormulaError(str(error)) from None
        return apply_operator(
            operator, *(_build_expression(argument, operators, column_names) for argument in tree.arguments)
        )
    name = str(tree.value)
    if tree.kind == "name" and name == "pi" and (column_names is None or name not in column_names):
        return Constant(math.pi)
    if column_names is not None and name not in column_names:
        raise FormulaError(f"there is no column {name!r}{suggest(name, column_names)}")
    return Column(name)


def to_text(expression: Expression) -> str:
    """Format an expression in the formula notation; `parse_expression` converts it back to the same tree.

    Parameters
    ----------
    expression : Expression
        The expression.

    Returns
    -------
    str

    Examples
    --------
    >>> x = Column("x")
    >>> to_text(Call(OPERATORS["pow"], (x, Constant(2)))), to_text(Call(OPERATORS["square"], (x,)))
    ('x**(2)', 'x**2')
    """
    return _format_node(expression)[0]


def _format_node(expression: Expression) -> tuple[str, int]:
    """Return the text of an expression and its precedence."""
    if isinstance(expression, Column):
        return quote_column(expression.name, _OPERATOR_NAMES), _ATOM_PRECEDENCE
    if isinstance(expression, Constant):
        return str(expression.value), _SIGN_PRECEDENCE if expression.value < 0 else _ATOM_PRECEDENCE
    operator, notation = expression.operator, expression.operator.notation
    if not notation.template:
        arguments = [_format_node(argument)[0] for argument in expression.arguments]
        # abs(a - b) is parsed as absdiff, abs((a - b)) as abs of a difference.
        first = expression.arguments[0]
        if operator.name == "abs" and isinstance(first, Call) and first.operator.name == "sub":
            arguments[0] = f"({arguments[0]})"
        return f"{operator.name}({', '.join(arguments)})", _ATOM_PRECEDENCE
    parts = []
    for index, argument in enumerate(expression.arguments):
        text, precedence = _format_node(argument)
        is_leading = index == 0 and notation.template.startswith("{}")
        binds_loosely = precedence < notation.argument_precedences[index] or (
            text.startswith("-") and not is_leading
        )
        # A number that would be parsed as part of a short form: −2, x**2, 1/x.
        is_reserved = isinstance(argument, Constant) and notation.is_reserved_literal(index, argument.value)
        parts.append(f"({text})" if binds_loosely or is_reserved else text)
    return notation.template.format(*parts), notation.precedence


def evaluate_expression(
    expression: Expression, columns: Mapping[str, NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Evaluate an expression.

    Parameters
    ----------
    expression : Expression
        The expression.
    columns : mapping of str to float64 array, shape (n,)
        Columns by name; at least one.

    Returns
    -------
    float64 array, shape (n,)
        NaN in rows in which any step is undefined or not finite.

    Raises
    ------
    FormulaError
        If a column is missing.

    Examples
    --------
    >>> evaluate_expression(parse_expression("1/x"), {"x": np.array([4.0, 0.0])}).tolist()
    [0.25, nan]
    """
    with np.errstate(all="ignore"):
        return _evaluate_node(expression, columns)


def _evaluate_node(expression: Expression, columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Evaluate an expression; shape (n,)."""
    if isinstance(expression, Column):
        if expression.name not in columns:
            raise FormulaError(f"there is no column {expression.name!r}{suggest(expression.name, columns)}")
        return replace_infinities(columns[expression.name])
    if isinstance(expression, Constant):
        n = len(next(iter(columns.values())))
        return np.full(n, float(expression.value))
    return replace_infinities(
        expression.operator.numeric(*(_evaluate_node(argument, columns) for argument in expression.arguments))
    )


def to_sympy(expression: Expression) -> Any:
    """Convert an expression to sympy. A column becomes a `sympy.Symbol` of the same name.

    sympy simplifies while it builds a form, which may not terminate for huge numbers (``9**9**9``) or deeply
    nested functions. Such expressions are converted without simplification.

    Parameters
    ----------
    expression : Expression
        The expression.

    Returns
    -------
    sympy expression

    Raises
    ------
    FormulaError
        If the form has more than 20,000 nodes.

    Examples
    --------
    >>> to_sympy(parse_expression("x*x + `a b`"))
    a b + x**2
    >>> to_sympy(parse_expression("9**9**9*x"))
    9**(9**9)*x
    """
    import sympy

    if _is_quickly_simplified(expression):
        try:
            return _build_sympy(expression)
        except OverflowError:
            pass  # a power is too large, so nothing that contains it can be simplified either
    with sympy.evaluate(False):  # noqa: FBT003  # the signature of sympy
        return _build_sympy(expression)


def _build_sympy(expression: Expression) -> Any:
    """Convert an expression to sympy in the current mode of simplification."""
    import sympy

    if isinstance(expression, Column):
        return sympy.Symbol(expression.name)
    if isinstance(expression, Constant):
        return to_sympy_number(expression.value)
    form = expression.operator.symbolic(*(_build_sympy(argument) for argument in expression.arguments))
    if _count_nodes(form, {}) > _MAX_SYMPY_NODES:
        raise FormulaError(
            f"its sympy form has more than {_MAX_SYMPY_NODES} nodes, because some operators repeat their "
            "argument: use a shorter formula"
        )
    return form


def _count_nodes(form: Any, counts: dict[int, int]) -> int:
    """Count the nodes of a sympy form; shared parts are traversed once but counted each time."""
    if id(form) not in counts:
        counts[id(form)] = 1 + sum(_count_nodes(argument, counts) for argument in form.args)
    return counts[id(form)]


def _is_quickly_simplified(expression: Expression) -> bool:
    """Check whether sympy simplifies an expression quickly: finite numbers, few nested functions."""
    with np.errstate(all="ignore"):
        depth, value = _measure_nesting(expression)
    return depth <= _MAX_NESTING and value is not _OVERFLOWING


def _measure_nesting(expression: Expression) -> tuple[int, Any]:
    """Return the nesting depth of non-algebraic functions, and the value (None if there are columns)."""
    if isinstance(expression, Column):
        return 0, None
    if isinstance(expression, Constant):
        return 0, np.array([float(expression.value)])
    operator = expression.operator
    measured = [_measure_nesting(argument) for argument in expression.arguments]
    depth = max(argument_depth for argument_depth, _ in measured) + (
        0 if operator.name in _ALGEBRAIC_OPERATORS else operator.n_primitives
    )
    values = [value for _, value in measured]
    if any(value is _OVERFLOWING for value in values):
        return depth, _OVERFLOWING
    if any(value is None for value in values):
        return depth, None
    if operator.name in {"div", "inv"} and not values[-1].any():
        return depth, None  # sympy evaluates a pole quickly
    value = operator.numeric(*values)
    return depth, value if np.isfinite(value).all() else _OVERFLOWING


def compute_key(expression: Expression) -> tuple[int, int]:
    """Return the canonical key of an expression, which is equal for algebraically equal expressions.

    Parameters
    ----------
    expression : Expression
        The expression.

    Returns
    -------
    tuple of int and int
        The fingerprint, see `symscreen.grammar.fingerprint`.

    Examples
    --------
    >>> compute_key(parse_expression("(x + y) - y")) == compute_key(parse_expression("x"))
    True
    """
    first, second = _compute_fingerprint(expression).tolist()
    return first, second


def _compute_fingerprint(expression: Expression) -> NDArray[np.uint64]:
    """Return the fingerprint of an expression; shape (2,)."""
    if isinstance(expression, Column):
        return fp.encode_column(expression.name)
    if isinstance(expression, Constant):
        return fp.encode_number(expression.value)
    return expression.operator.compute_fingerprint(
        *(_compute_fingerprint(argument) for argument in expression.arguments)
    )


def compute_complexity(expression: Expression) -> int:
    """Return the complexity: 1 for each column and number, plus the costs of all operators.

    Parameters
    ----------
    expression : Expression
        The expression.

    Returns
    -------
    int

    Examples
    --------
    >>> compute_complexity(parse_expression("x1 - cos(x2)/x1"))
    6
    """
    if isinstance(expression, Call):
        return expression.operator.cost + sum(
            compute_complexity(argument) for argument in expression.arguments
        )
    return 1


def collect_columns(expression: Expression) -> frozenset[str]:
    """Return the names of the columns in an expression.

    Parameters
    ----------
    expression : Expression
        The expression.

    Returns
    -------
    frozenset of str

    Examples
    --------
    >>> sorted(collect_columns(parse_expression("x1 - cos(x2)/x1")))
    ['x1', 'x2']
    """
    if isinstance(expression, Call):
        return frozenset().union(*(collect_columns(argument) for argument in expression.arguments))
    return frozenset({expression.name}) if isinstance(expression, Column) else frozenset()


def rename_columns(expression: Expression, new_names: Mapping[str, str]) -> Expression:
    """Rename the columns of an expression.

    Parameters
    ----------
    expression : Expression
        The expression.
    new_names : mapping of str to str
        New names by old names; other columns keep their names.

    Returns
    -------
    Expression

    Examples
    --------
    >>> print(rename_columns(parse_expression("x1 - cos(x2)/x1"), {"x1": "speed", "x2": "the angle"}))
    speed - cos(`the angle`)/speed
    """
    if isinstance(expression, Call):
        return Call(
            expression.operator,
            tuple(rename_columns(argument, new_names) for argument in expression.arguments),
        )
    if isinstance(expression, Column):
        return Column(new_names.get(expression.name, expression.name))
    return expression
