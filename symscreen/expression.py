"""A formula as a small frozen tree: evaluate, to sympy, complexity, canonical key, print, parse.

Values and metadata live elsewhere; a tree holds structure only and two trees of the same structure are equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import FormulaError, GrammarError, nearest
from symscreen.grammar import fingerprint as fp
from symscreen.grammar.built_in import OPERATORS
from symscreen.grammar.define import finite_or_nan, look_up, sympy_number
from symscreen.grammar.formula import parse_formula, quote_column

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from symscreen.grammar.formula import Syntax
    from symscreen.grammar.operator import Operator

__all__ = ["Apply", "Column", "Constant", "Expression", "apply", "columns_of", "complexity", "evaluate",
           "key", "parse", "renamed", "to_sympy", "to_text"]  # fmt: skip


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
class Apply:
    """An operator applied to expressions."""

    operator: Operator
    arguments: tuple[Expression, ...]

    def __repr__(self) -> str:
        return f"<formula {to_text(self)}>"

    def __str__(self) -> str:
        return to_text(self)


Expression = Column | Constant | Apply


def apply(operator: Operator, *arguments: Expression) -> Expression:
    """Apply an operator to expressions; `id` gives its argument back.

    Examples
    --------
    >>> str(apply(OPERATORS["sub"], Column("x1"), apply(OPERATORS["inv"], Column("a b"))))
    'x1 - 1/`a b`'
    """
    return arguments[0] if operator.name == "id" else Apply(operator, arguments)


def parse(
    text: str,
    operators: Mapping[str, Operator] = OPERATORS,
    names: Collection[str] | None = None,
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
    >>> print(parse("2*x + sin(`a b`)**2"))
    2*x + sin(`a b`)**2
    """
    return _from_syntax(parse_formula(text), operators, names)


def _from_syntax(
    tree: Syntax, operators: Mapping[str, Operator], names: Collection[str] | None
) -> Expression:
    if tree.kind == "number" and not isinstance(tree.value, str):
        return Constant(tree.value)
    if tree.kind == "call":
        try:
            operator = look_up(str(tree.value), len(tree.arguments), operators)
        except GrammarError as error:
            raise FormulaError(str(error)) from None
        return apply(operator, *(_from_syntax(argument, operators, names) for argument in tree.arguments))
    name = str(tree.value)
    if tree.kind == "name" and name == "pi" and (names is None or name not in names):
        return Constant(math.pi)
    if names is not None and name not in names:
        raise FormulaError(f"there is no column {name!r}{nearest(name, names)}")
    return Column(name)


def to_text(expression: Expression) -> str:
    """Print an expression in the one notation; `parse` reads it back to the same tree.

    Examples
    --------
    >>> x = Column("x")
    >>> to_text(Apply(OPERATORS["pow"], (x, Constant(2)))), to_text(Apply(OPERATORS["square"], (x,)))
    ('x**(2)', 'x**2')
    """
    return _text(expression)[0]


_TAKEN = frozenset(OPERATORS)


def _text(expression: Expression) -> tuple[str, int]:
    """Return the text and how tightly it binds."""
    if isinstance(expression, Column):
        return quote_column(expression.name, _TAKEN), 50
    if isinstance(expression, Constant):
        return str(expression.value), 30 if expression.value < 0 else 50
    operator, notation = expression.operator, expression.operator.notation
    if not notation.template:
        arguments = [_text(argument)[0] for argument in expression.arguments]
        # abs(a - b) is absdiff; in parentheses of its own the difference stays a difference
        if operator.name == "abs" and _is_difference(expression.arguments[0]):
            arguments[0] = f"({arguments[0]})"
        return f"{operator.name}({', '.join(arguments)})", 50
    parts = []
    for place, argument in enumerate(expression.arguments):
        text, binds = _text(argument)
        leads = place == 0 and notation.template.startswith("{}")
        loose = binds < notation.arguments[place] or (text.startswith("-") and not leads)
        # a number that would be drawn into a short form: −2, x**2, 1/x
        drawn = isinstance(argument, Constant) and notation.draws(place, argument.value)
        parts.append(f"({text})" if loose or drawn else text)
    return notation.template.format(*parts), notation.binds


def _is_difference(expression: Expression) -> bool:
    return isinstance(expression, Apply) and expression.operator.name == "sub"


def evaluate(expression: Expression, columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
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
    >>> evaluate(parse("1/x"), {"x": np.array([4.0, 0.0])}).tolist()
    [0.25, nan]
    """
    with np.errstate(all="ignore"):
        return _values(expression, columns)


def _values(expression: Expression, columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    if isinstance(expression, Column):
        if expression.name not in columns:
            raise FormulaError(f"there is no column {expression.name!r}{nearest(expression.name, columns)}")
        return finite_or_nan(columns[expression.name])
    if isinstance(expression, Constant):
        rows = len(next(iter(columns.values())))
        return np.full(rows, float(expression.value))
    return finite_or_nan(
        expression.operator.numeric(*(_values(argument, columns) for argument in expression.arguments))
    )


def to_sympy(expression: Expression) -> Any:
    """Build the sympy form; a column becomes a `sympy.Symbol` of its own name, whatever that is.

    sympy simplifies as it builds, which takes for ever where a number is huge (``9**9**9``) or functions
    stand deep inside one another: such a formula is built as it stands, with nothing simplified.

    Examples
    --------
    >>> to_sympy(parse("x*x + `a b`"))
    a b + x**2
    >>> to_sympy(parse("9**9**9*x"))
    9**(9**9)*x
    """
    import sympy

    if _is_plain(expression):
        try:
            return _symbolic(expression)
        except OverflowError:
            pass  # a power of a number is too large: nothing around it may be simplified either
    with sympy.evaluate(False):  # noqa: FBT003  # sympy's own way to say it
        return _symbolic(expression)


def _symbolic(expression: Expression) -> Any:
    import sympy

    if isinstance(expression, Column):
        return sympy.Symbol(expression.name)
    if isinstance(expression, Constant):
        return sympy_number(expression.value)
    form = expression.operator.symbolic(*(_symbolic(argument) for argument in expression.arguments))
    if _nodes(form, {}) > _MOST_NODES:
        raise FormulaError(
            f"sympy's form of it has more than {_MOST_NODES} parts, for some operators write their argument "
            "twice: take a shorter formula"
        )
    return form


_MOST_NODES = 20_000


def _nodes(form: Any, known: dict[int, int]) -> int:
    """Count the nodes of a sympy form, each part that stands in several places but once looked into."""
    if id(form) not in known:
        known[id(form)] = 1 + sum(_nodes(argument, known) for argument in form.args)
    return known[id(form)]


_ALGEBRA = frozenset({"add", "sub", "mul", "div", "neg", "inv", "square", "cube", "pow", "sqrt"})
_MOST_NESTED = 6


def _is_plain(expression: Expression) -> bool:
    """Tell whether sympy simplifies a formula soon: functions nested little, its numbers finite."""
    with np.errstate(all="ignore"):
        nested, value = _nesting(expression)
    return nested <= _MOST_NESTED and value is not _ENDLESS


_ENDLESS = object()  # the value of what holds a number beyond double precision


def _nesting(expression: Expression) -> tuple[int, Any]:
    """Return how deep functions stand inside one another, and the value of what has no column."""
    if isinstance(expression, Column):
        return 0, None
    if isinstance(expression, Constant):
        return 0, np.array([float(expression.value)])
    operator = expression.operator
    inner = [_nesting(argument) for argument in expression.arguments]
    nested = max(one for one, _ in inner) + (0 if operator.name in _ALGEBRA else operator.steps)
    values = [value for _, value in inner]
    if any(value is _ENDLESS for value in values):
        return nested, _ENDLESS
    if any(value is None for value in values):
        return nested, None
    if operator.name in {"div", "inv"} and not values[-1].any():
        return nested, None  # at a pole sympy says so at once
    value = operator.numeric(*values)
    return nested, value if np.isfinite(value).all() else _ENDLESS


def key(expression: Expression) -> tuple[int, int]:
    """Return the canonical key: equal for formulas that are equal by algebra.

    See `symscreen.grammar.fingerprint` for what is recognised.

    Examples
    --------
    >>> key(parse("(x + y) - y")) == key(parse("x"))
    True
    """
    first, second = _residues(expression).tolist()
    return first, second


def _residues(expression: Expression) -> NDArray[np.uint64]:
    if isinstance(expression, Column):
        return fp.of_column(expression.name)
    if isinstance(expression, Constant):
        return fp.of_number(expression.value)
    return expression.operator.key(*(_residues(argument) for argument in expression.arguments))


def complexity(expression: Expression) -> int:
    """Count one for each column and number, and each operator's cost.

    Examples
    --------
    >>> complexity(parse("x1 - cos(x2)/x1"))
    6
    """
    if isinstance(expression, Apply):
        return expression.operator.cost + sum(complexity(argument) for argument in expression.arguments)
    return 1


def columns_of(expression: Expression) -> frozenset[str]:
    """Name the inputs that an expression contains.

    Examples
    --------
    >>> sorted(columns_of(parse("x1 - cos(x2)/x1")))
    ['x1', 'x2']
    """
    if isinstance(expression, Apply):
        return frozenset().union(*(columns_of(argument) for argument in expression.arguments))
    return frozenset({expression.name}) if isinstance(expression, Column) else frozenset()


def renamed(expression: Expression, names: Mapping[str, str]) -> Expression:
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
    >>> print(renamed(parse("x1 - cos(x2)/x1"), {"x1": "speed", "x2": "the angle"}))
    speed - cos(`the angle`)/speed
    """
    if isinstance(expression, Apply):
        return Apply(expression.operator, tuple(renamed(each, names) for each in expression.arguments))
    if isinstance(expression, Column):
        return Column(names.get(expression.name, expression.name))
    return expression
