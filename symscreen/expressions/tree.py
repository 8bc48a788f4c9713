"""A formula as a small frozen tree: evaluate, to sympy, complexity, canonical key, print, parse.

Values and metadata live elsewhere; a tree holds structure only and two trees of the same structure are equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import FormulaError, GrammarError, suggest
from symscreen.grammar import fingerprint as fp
from symscreen.grammar.builtin_operators import OPERATORS
from symscreen.grammar.custom_operators import get_operator, replace_infinities, to_sympy_number
from symscreen.grammar.parser import parse_formula, quote_column

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from symscreen.grammar.operator import Operator
    from symscreen.grammar.parser import SyntaxNode


__all__ = [
    "Call",
    "Column",
    "Constant",
    "Expression",
    "apply_operator",
    "collect_columns",
    "compute_complexity",
    "compute_key",
    "evaluate_expression",
    "parse_expression",
    "rename_columns",
    "to_sympy",
    "to_text",
]


@dataclass(frozen=True, slots=True)
class Column:
    """An input, by its name."""

    name: str

    def __str__(self) -> str:
        return to_text(self)


@dataclass(frozen=True, slots=True)
class Constant:
    """A number; an `int` where it is whole.

    Parameters
    ----------
    value : float or int
        The number.
    fitted : bool
        Whether data told it, so that a display may round it; an operator's own numbers and those of units are
        exact. It makes no difference to what is equal.
    """

    value: float
    fitted: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        return to_text(self)


@dataclass(frozen=True, slots=True)
class Call:
    """An operator applied to expressions."""

    operator: Operator
    arguments: tuple[Expression, ...]

    def __repr__(self) -> str:
        return f"<formula {to_text(self)}>"

    def __str__(self) -> str:
        return to_text(self)


Expression = Column | Constant | Call


def apply_operator(operator: Operator, *arguments: Expression) -> Expression:
    """Apply an operator to expressions; `id` gives its argument back.

    Examples
    --------
    >>> str(apply(OPERATORS["sub"], Column("x1"), apply(OPERATORS["inv"], Column("a b"))))
    'x1 - 1/`a b`'
    """
    return arguments[0] if operator.name == "id" else Call(operator, arguments)


def parse_expression(
    text: str,
    operators: Mapping[str, Operator] = OPERATORS,
    column_names: Collection[str] | None = None,
) -> Expression:
    """Read a formula in the one notation.

    Parameters
    ----------
    text : str
        For instance ``x1 - cos(x2)/`my column```.
    operators : mapping, optional
        The operators that may be called, by name; by default all that ship.
    names : collection of str, optional
        The columns there are. Without it any name is taken for a column, save ``pi``.

    Returns
    -------
    Expression

    Raises
    ------
    FormulaError
        If the text does not parse, calls an unknown operator or names an unknown column.

    Examples
    --------
    >>> print(parse_expression("2*x + sin(`a b`)**2"))
    2*x + sin(`a b`)**2
    """
    return _build_expression(parse_formula(text), operators, column_names)


def _build_expression(
    tree: SyntaxNode, operators: Mapping[str, Operator], column_names: Collection[str] | None
) -> Expression:
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
    """Print an expression in the one notation; `parse` reads it back to the same tree.

    Examples
    --------
    >>> x = Column("x")
    >>> to_text(Call(OPERATORS["pow"], (x, Constant(2)))), to_text(Call(OPERATORS["square"], (x,)))
    ('x**(2)', 'x**2')
    """
    return _format_node(expression)[0]


_OPERATOR_NAMES = frozenset(OPERATORS)


def _format_node(expression: Expression) -> tuple[str, int]:
    """Return the text and how tightly it binds."""
    if isinstance(expression, Column):
        return quote_column(expression.name, _OPERATOR_NAMES), 50
    if isinstance(expression, Constant):
        return str(expression.value), 30 if expression.value < 0 else 50
    operator, notation = expression.operator, expression.operator.notation
    if not notation.template:
        arguments = [_format_node(argument)[0] for argument in expression.arguments]
        # abs(a - b) is absdiff; in parentheses of its own the difference stays a difference
        if operator.name == "abs" and _is_difference(expression.arguments[0]):
            arguments[0] = f"({arguments[0]})"
        return f"{operator.name}({', '.join(arguments)})", 50
    parts = []
    for place, argument in enumerate(expression.arguments):
        text, binds = _format_node(argument)
        leads = place == 0 and notation.template.startswith("{}")
        loose = binds < notation.argument_precedences[place] or (text.startswith("-") and not leads)
        # a number that would be drawn into a short form: −2, x**2, 1/x
        drawn = isinstance(argument, Constant) and notation.is_reserved_literal(place, argument.value)
        parts.append(f"({text})" if loose or drawn else text)
    return notation.template.format(*parts), notation.precedence


def _is_difference(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.operator.name == "sub"


def evaluate_expression(
    expression: Expression, columns: Mapping[str, NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Compute an expression's values.

    Parameters
    ----------
    expression : Expression
        The formula.
    columns : mapping of str to float64 array, shape (n,)
        The inputs by name; at least one.

    Returns
    -------
    float64 array, shape (n,)
        NaN in the rows where the formula, at any step, is undefined or not finite.

    Raises
    ------
    FormulaError
        If a column is missing.

    Examples
    --------
    >>> evaluate(parse_expression("1/x"), {"x": np.array([4.0, 0.0])}).tolist()
    [0.25, nan]
    """
    with np.errstate(all="ignore"):
        return _evaluate_node(expression, columns)


def _evaluate_node(expression: Expression, columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    if isinstance(expression, Column):
        if expression.name not in columns:
            raise FormulaError(f"there is no column {expression.name!r}{suggest(expression.name, columns)}")
        return replace_infinities(columns[expression.name])
    if isinstance(expression, Constant):
        rows = len(next(iter(columns.values())))
        return np.full(rows, float(expression.value))
    return replace_infinities(
        expression.operator.numeric(*(_evaluate_node(argument, columns) for argument in expression.arguments))
    )


def to_sympy(expression: Expression) -> Any:
    """Build the sympy form; a column becomes a `sympy.Symbol` of its own name, whatever that is.

    sympy simplifies as it builds, which takes for ever where a number is huge (``9**9**9``) or functions
    stand deep inside one another: such a formula is built as it stands, with nothing simplified.

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
            pass  # a power of a number is too large: nothing around it may be simplified either
    with sympy.evaluate(False):  # noqa: FBT003  # sympy's own way to say it
        return _build_sympy(expression)


def _build_sympy(expression: Expression) -> Any:
    import sympy

    if isinstance(expression, Column):
        return sympy.Symbol(expression.name)
    if isinstance(expression, Constant):
        return to_sympy_number(expression.value)
    form = expression.operator.symbolic(*(_build_sympy(argument) for argument in expression.arguments))
    if _count_nodes(form, {}) > _MAX_SYMPY_NODES:
        raise FormulaError(
            f"sympy's form of it has more than {_MAX_SYMPY_NODES} parts, for some operators write their "
            "argument "
            "twice: take a shorter formula"
        )
    return form


_MAX_SYMPY_NODES = 20_000


def _count_nodes(form: Any, counts: dict[int, int]) -> int:
    """Count the nodes of a sympy form, each part that stands in several places but once looked into."""
    if id(form) not in counts:
        counts[id(form)] = 1 + sum(_count_nodes(argument, counts) for argument in form.args)
    return counts[id(form)]


_ALGEBRAIC_OPERATORS = frozenset({"add", "sub", "mul", "div", "neg", "inv", "square", "cube", "pow", "sqrt"})
_MAX_NESTING = 6


def _is_quickly_simplified(expression: Expression) -> bool:
    """Tell whether sympy simplifies a formula soon: functions nested little, its numbers finite."""
    with np.errstate(all="ignore"):
        nested, value = _measure_nesting(expression)
    return nested <= _MAX_NESTING and value is not _OVERFLOWING


_OVERFLOWING = object()  # the value of what holds a number beyond double precision


def _measure_nesting(expression: Expression) -> tuple[int, Any]:
    """Return how deep functions stand inside one another, and the value of what has no column."""
    if isinstance(expression, Column):
        return 0, None
    if isinstance(expression, Constant):
        return 0, np.array([float(expression.value)])
    operator = expression.operator
    inner = [_measure_nesting(argument) for argument in expression.arguments]
    nested = max(one for one, _ in inner) + (
        0 if operator.name in _ALGEBRAIC_OPERATORS else operator.n_primitives
    )
    values = [value for _, value in inner]
    if any(value is _OVERFLOWING for value in values):
        return nested, _OVERFLOWING
    if any(value is None for value in values):
        return nested, None
    if operator.name in {"div", "inv"} and not values[-1].any():
        return nested, None  # at a pole sympy says so at once
    value = operator.numeric(*values)
    return nested, value if np.isfinite(value).all() else _OVERFLOWING


def compute_key(expression: Expression) -> tuple[int, int]:
    """Return the canonical key: equal for formulas that are equal by algebra.

    See `symscreen.grammar.fingerprint` for what is recognised.

    Examples
    --------
    >>> compute_key(parse_expression("(x + y) - y")) == compute_key(parse_expression("x"))
    True
    """
    first, second = _compute_fingerprint(expression).tolist()
    return first, second


def _compute_fingerprint(expression: Expression) -> NDArray[np.uint64]:
    if isinstance(expression, Column):
        return fp.encode_column(expression.name)
    if isinstance(expression, Constant):
        return fp.encode_number(expression.value)
    return expression.operator.compute_fingerprint(
        *(_compute_fingerprint(argument) for argument in expression.arguments)
    )


def compute_complexity(expression: Expression) -> int:
    """Count one for each column and number, and each operator's cost.

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
    """Name the inputs that an expression contains.

    Examples
    --------
    >>> sorted(columns_of(parse_expression("x1 - cos(x2)/x1")))
    ['x1', 'x2']
    """
    if isinstance(expression, Call):
        return frozenset().union(*(collect_columns(argument) for argument in expression.arguments))
    return frozenset({expression.name}) if isinstance(expression, Column) else frozenset()


def rename_columns(expression: Expression, new_names: Mapping[str, str]) -> Expression:
    """Call inputs by other names.

    Parameters
    ----------
    expression : Expression
        The formula.
    names : mapping of str to str
        Old name to new; inputs that are not in it keep theirs.

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
            expression.operator, tuple(rename_columns(each, new_names) for each in expression.arguments)
        )
    if isinstance(expression, Column):
        return Column(new_names.get(expression.name, expression.name))
    return expression
