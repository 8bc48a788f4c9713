"""Traverse expressions: folds, rebuilt trees, and what is computed with them.

All traversals are loops, so that an expression may be as deep as a model has terms.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from symscreen.errors import FormulaError
from symscreen.expressions.tree import Call, Column, Constant
from symscreen.grammar import fingerprint as fp
from symscreen.grammar.custom_operators import replace_infinities
from symscreen.messages import suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from symscreen.data import DerivedColumn
    from symscreen.expressions.tree import Expression


T = TypeVar("T")


def iterate_postorder(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all its subexpressions, arguments before calls, left before right.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> [str(part) for part in iterate_postorder(parse_expression("1/(x + 2)"))]
    ['x', '2', 'x + 2', '1/(x + 2)']
    """
    stack, reversed_order = [expression], []
    while stack:
        node = stack.pop()
        reversed_order.append(node)
        if isinstance(node, Call):
            stack.extend(node.arguments)
    return reversed(reversed_order)


def iterate_preorder(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all its subexpressions, calls before arguments, left before right."""
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, Call):
            stack.extend(reversed(node.arguments))


def iterate_calls(expression: Expression) -> Iterator[Call]:
    """Yield all calls in an expression, inner before outer, left before right."""
    return (part for part in iterate_postorder(expression) if isinstance(part, Call))


def iterate_constants(expression: Expression) -> Iterator[Constant]:
    """Yield all numbers in an expression from left to right."""
    return (part for part in iterate_postorder(expression) if isinstance(part, Constant))


def fold_expression(
    expression: Expression,
    *,
    column: Callable[[str], T],
    number: Callable[[Constant], T],
    call: Callable[[Call, list[T]], T],
) -> T:
    """Combine the parts of an expression from the leaves to the root.

    Parameters
    ----------
    expression : Expression
        The expression.
    column : callable
        Maps the name of a column to a result.
    number : callable
        Maps a constant to a result.
    call : callable
        Maps a call and the results of its arguments to a result.

    Returns
    -------
    object
        The result of the whole expression.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> fold_expression(parse_expression("1/(x + sin(y))"), column=lambda name: 0, number=lambda number: 0,
    ...     call=lambda call, depths: 1 + max(depths))
    3
    """
    return _fold_nodes(expression, lambda node: column(node.name), number, call)


def _fold_nodes(
    expression: Expression,
    column: Callable[[Column], T],
    number: Callable[[Constant], T],
    call: Callable[[Call, list[T]], T],
) -> T:
    """Combine the parts of an expression as `fold_expression` does; `column` gets the whole node."""
    results: list[T] = []
    for node in iterate_postorder(expression):
        if not isinstance(node, Call):
            results.append(column(node) if isinstance(node, Column) else number(node))
        elif len(node.arguments) == 1:
            results[-1] = call(node, results[-1:])
        else:
            right = results.pop()
            results[-1] = call(node, [results[-1], right])
    return results[0]


def _rebuild_call(call: Call, arguments: list[Expression]) -> Expression:
    """Apply the operator of a call to other arguments."""
    return Call(call.operator, tuple(arguments))


def rebuild_expression(
    expression: Expression,
    *,
    column: Callable[[Column], Expression] = lambda column: column,
    number: Callable[[Constant], Expression] = lambda constant: constant,
    call: Callable[[Call, list[Expression]], Expression] = _rebuild_call,
) -> Expression:
    """Build an expression with other columns, numbers or calls; by default a copy.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> replacements = {"x1": Column("speed"), "x2": parse_expression("t + 1")}
    >>> print(rebuild_expression(
    ...     parse_expression("x1 - cos(x2)/x1"), column=lambda column: replacements[column.name]))
    speed - cos(t + 1)/speed
    """
    return _fold_nodes(expression, column, number, call)


def rename_columns(expression: Expression, new_names: Mapping[str, str]) -> Expression:
    """Rename the columns of an expression; columns that are not in the mapping stay as they are."""

    def rename(column: Column) -> Column:
        return Column(new_names[column.name]) if column.name in new_names else column

    return rebuild_expression(expression, column=rename)


def define_columns(expression: Expression, indicators: Mapping[str, DerivedColumn]) -> Expression:
    """Return an expression whose columns know how they are computed from others.

    A formula that was read from a text needs this; those of a space are built with it.

    Examples
    --------
    >>> from symscreen.data import LevelIndicator
    >>> formula = define_columns(Column("c = p"), {"c = p": LevelIndicator("c", "p")})
    >>> collect_indicators([formula])
    {'c = p': LevelIndicator(column='c', level='p', gated_column=None, fill=None)}
    """
    return rebuild_expression(
        expression, column=lambda column: Column(column.name, indicators.get(column.name, column.indicator))
    )


def collect_indicators(expressions: Iterable[Expression]) -> dict[str, DerivedColumn]:
    """Return how the columns in expressions are computed that are derived from others, by name."""
    return {
        part.name: part.indicator
        for expression in expressions
        for part in iterate_postorder(expression)
        if isinstance(part, Column) and part.indicator is not None
    }


def collect_columns(*expressions: Expression) -> frozenset[str]:
    """Return the names of the columns in expressions.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> sorted(collect_columns(parse_expression("x1 - cos(x2)/x1"), parse_expression("x3")))
    ['x1', 'x2', 'x3']
    """
    return frozenset(
        part.name
        for expression in expressions
        for part in iterate_postorder(expression)
        if isinstance(part, Column)
    )


def collect_inputs(expressions: Iterable[Expression]) -> tuple[str, ...]:
    """Return the names of all columns in expressions, sorted."""
    return tuple(sorted(collect_columns(*expressions)))


def collect_operator_names(*expressions: Expression) -> frozenset[str]:
    """Return the names of the operators in expressions."""
    return frozenset(call.operator.name for expression in expressions for call in iterate_calls(expression))


def check_numbers(expressions: Iterable[Expression]) -> None:
    """Check that all numbers in expressions are finite; a formula cannot contain others.

    Raises
    ------
    FormulaError
        If a number is not finite.
    """
    for expression in expressions:
        for constant in iterate_constants(expression):
            if not math.isfinite(constant.value):
                raise FormulaError(
                    f"the formula {str(expression)!r} holds the number {constant.value}; "
                    "only finite ones can be written"
                )


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
    >>> from symscreen.expressions.tree import parse_expression
    >>> evaluate_expression(parse_expression("1/x"), {"x": np.array([4.0, 0.0])}).tolist()
    [0.25, nan]
    """

    def get_column(name: str) -> NDArray[np.float64]:
        if name not in columns:
            raise FormulaError(f"there is no column {name!r}{suggest(name, columns)}")
        return replace_infinities(columns[name])

    with np.errstate(all="ignore"):
        return fold_expression(
            expression,
            column=get_column,
            number=lambda constant: np.full(len(next(iter(columns.values()))), float(constant.value)),
            call=lambda call, values: replace_infinities(call.operator.numeric(*values)),
        )


def compute_key(expression: Expression) -> tuple[int, int]:
    """Return the canonical key of an expression, which is equal for algebraically equal expressions.

    It is the fingerprint of the expression, see `symscreen.grammar.fingerprint`.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> compute_key(parse_expression("(x + y) - y")) == compute_key(parse_expression("x"))
    True
    """
    fingerprint = fold_expression(
        expression,
        column=fp.encode_column,
        number=lambda constant: fp.encode_number(constant.value),
        call=lambda call, fingerprints: call.operator.compute_fingerprint(*fingerprints),
    )
    first, second = fingerprint.tolist()
    return first, second


def compute_complexity(expression: Expression) -> int:
    """Return the complexity: 1 for each column and number, plus the costs of all operators.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> compute_complexity(parse_expression("x1 - cos(x2)/x1"))
    6
    """
    return sum(part.operator.cost if isinstance(part, Call) else 1 for part in iterate_postorder(expression))
