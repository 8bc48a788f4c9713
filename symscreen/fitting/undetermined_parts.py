"""Find parts of a fitted formula that the rows do not determine.

A part is not determined if it may change without an effect on the rows, if too few rows depend on its
numbers, or if its argument has too few different values. Other formulas then fit these rows as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.expressions.traversal import (
    collect_columns,
    evaluate_expression,
    iterate_calls,
    iterate_constants,
    iterate_postorder,
)
from symscreen.expressions.tree import Call, Constant
from symscreen.fitting.coefficients import get_input_columns, get_targets
from symscreen.fitting.laws.simple_numbers import is_simple_number
from symscreen.grammar import OPERATORS
from symscreen.linear_models.row_weights import scale_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from symscreen._typing import Integers, Values
    from symscreen.data import Dataset
    from symscreen.expressions.linear_formula import Formula
    from symscreen.expressions.tree import Expression
    from symscreen.linear_models.row_weights import RowWeights


_EPSILON = float(np.finfo(np.float64).eps)
_MAX_ROUNDING = 8.0 * _EPSILON  # change of a row that has no effect, relative to the sizes of the terms
_FACTOR = 1.1  # factor by which parts are changed; a part whose change has no effect is not determined
_N_UNDETERMINED_VALUES = 2  # values of an argument that do not determine a function of it
_MIN_FREE_NUMBERS = 2  # one free number for each value of a column is its usual coding
# operators that ignore small changes of an argument
_STEP_OPERATORS = frozenset({"sign", "floor", "min", "max"})
_SUMS = frozenset({"add", "sub"})


class _Addend(NamedTuple):
    """An addend of a sum, and the number of fitted numbers in it."""

    expression: Expression
    n_numbers: int


def find_undetermined_part(formula: Formula, dataset: Dataset) -> Expression | None:
    """Find a part that the rows do not determine, of a formula that leaves nothing but rounding.

    Parameters
    ----------
    formula : Formula
        The formula.
    dataset : Dataset
        The rows that it was fitted on.

    Returns
    -------
    Expression or None
        None if the rows determine each part.
    """
    return (
        _find_ineffective_part(formula, dataset)
        or _find_two_valued_part(formula, dataset)
        or _find_saturated_part(formula, dataset)
    )


def find_local_part(
    formula: Formula, residuals: Values, dataset: Dataset, row_weights: RowWeights | None
) -> Expression | None:
    """Find a part with fitted numbers on which no more rows depend than it has such numbers.

    Parameters
    ----------
    formula : Formula
        The formula.
    residuals : float64 array, shape (n,)
        Its residuals. A smaller change of a row has no effect.
    dataset : Dataset
        The rows that it was fitted on.
    row_weights : RowWeights or None
        Weights of the rows.

    Returns
    -------
    Expression or None
        An example is 900·(x − 3) in tanh(900·(x − 3)) if one row has an x near 3: many formulas for a step
        fit as well. None if there is no such part.
    """
    noise = float(np.median(np.abs(scale_rows(residuals, row_weights))))
    for coefficient, _, part, changes in _iterate_changes(formula, dataset):
        n_numbers = _count_fitted_numbers(part)
        if not n_numbers or not np.isfinite(changes).all():
            continue
        visible = np.abs(scale_rows(coefficient * changes, row_weights))
        if (visible > noise).sum() <= n_numbers and count_dominant_rows(visible) < n_numbers + 1:
            return part
    return None


def count_dominant_rows(values: Values) -> float:
    """Return the number of rows that make up most of the squares of values, shape (n,): (Σv²)²/Σv⁴."""
    largest = np.abs(values).max(initial=0.0)
    squares = (values / largest) ** 2 if largest > 0.0 else np.ones(len(values))
    return float(squares.sum() ** 2 / (squares @ squares))


def _find_ineffective_part(formula: Formula, dataset: Dataset) -> Expression | None:
    """Find a part that may change without any effect on the rows; None if there is none.

    The largest one is returned. An example is 9·x in tanh(9·x) if no row has an x between −3 and 3: the
    formula only says that y depends on the sign of x.
    """
    target = np.abs(get_targets(dataset)[formula.target])
    for coefficient, values, part, changes in _iterate_changes(formula, dataset):
        sizes = np.abs(coefficient * values) + target
        if (np.abs(coefficient * changes) <= _MAX_ROUNDING * sizes).all():
            return part
    return None


def _find_two_valued_part(formula: Formula, dataset: Dataset) -> Call | None:
    """Find a function of one argument that has two values in the rows; None if there is none.

    Two points lie on the graph of many functions, so the rows determine none of them.
    """
    columns = get_input_columns(dataset)
    for term in formula.terms:
        for part in iterate_postorder(term):
            if isinstance(part, Call) and part.operator.arity == 1 and part.operator.name != "neg":
                (argument,) = part.arguments
                if len(np.unique(evaluate_expression(argument, columns))) == _N_UNDETERMINED_VALUES:
                    return part
    return None


def _find_saturated_part(formula: Formula, dataset: Dataset) -> Expression | None:
    """Find an addend that is a function of a column fitted with as many numbers as the column has values.

    Several such addends, with or without a common factor of other columns, count together; the last one is
    returned. An example is √k in 0.3·k + 0.7·√k if k is 0, 1 or 2: two numbers fit the two values, with any
    other function in place of √k.
    """
    columns = get_input_columns(dataset)
    levels = {
        name: np.unique(columns[name], return_inverse=True)[1] for name in collect_columns(*formula.terms)
    }
    for addends, n_free in _iterate_sums(formula):
        for name, level in levels.items():
            own = [each for each in addends if name in collect_columns(each.expression)]
            n_levels = int(level.max()) + 1
            if sum(each.n_numbers for each in own) < max(_MIN_FREE_NUMBERS, n_levels - n_free - 1):
                continue  # at most one value, zero, is determined by the form of the addends
            for group in _group_addends(own, level, columns):
                n_numbers = sum(each.n_numbers for each in group)
                values = np.array([evaluate_expression(each.expression, columns) for each in group])
                is_constant_shared = len(collect_columns(group[0].expression)) == 1
                n_constants = n_free if is_constant_shared else 0
                n_fitted = n_levels if n_constants else len(np.unique(level[np.any(values, axis=0)]))
                if n_numbers >= _MIN_FREE_NUMBERS and n_numbers + n_constants >= n_fitted:
                    return group[-1].expression
    return None


def _group_addends(
    addends: Sequence[_Addend], level: Integers, columns: Mapping[str, Values]
) -> list[list[_Addend]]:
    """Group addends whose ratios depend on one column alone; `level` has the index of its values.

    An addend of several columns that has no such ratio to another one is left out.
    """
    groups: list[list[_Addend]] = [[]]
    firsts: list[Values] = [np.ones(len(level))]  # the first group has the functions of the column alone
    for addend in addends:
        values = evaluate_expression(addend.expression, columns)
        for first, group in zip(firsts, groups, strict=True):
            with np.errstate(all="ignore"):
                ratios = values / first
            if _is_function_of_levels(ratios[first != 0.0], level[first != 0.0]):
                group.append(addend)
                break
        else:
            firsts.append(values)
            groups.append([addend])
    return [group for group in groups[:1] if group] + [group for group in groups[1:] if len(group) > 1]


def _is_function_of_levels(values: Values, level: Integers) -> bool:
    """Return whether values, shape (n,), are equal up to rounding where their level is equal."""
    if not len(values) or not np.isfinite(values).all():
        return False
    order = np.lexsort((values, level))
    is_same = level[order][1:] == level[order][:-1]
    steps = np.diff(values[order])[is_same]
    return bool((np.abs(steps) <= _MAX_ROUNDING * np.abs(values).max()).all())


def _iterate_sums(formula: Formula) -> Iterator[tuple[Sequence[_Addend], int]]:
    """Iterate over the sums in a formula: their addends with columns, and the number of free constants."""
    top = [
        _Addend(term, (not is_simple_number(coefficient)) + _count_fitted_numbers(term))
        for coefficient, term in zip(formula.coefficients, formula.terms, strict=True)
    ]
    yield top, int(not is_simple_number(formula.intercept))
    for term in formula.terms:
        inner = {
            id(argument)
            for call in iterate_calls(term)
            if call.operator.name in _SUMS
            for argument in call.arguments
        }
        for call in iterate_calls(term):
            if call.operator.name in _SUMS and id(call) not in inner:
                addends = [_Addend(each, _count_fitted_numbers(each)) for each in _iterate_addends(call)]
                n_free = sum(each.n_numbers for each in addends if not collect_columns(each.expression))
                yield addends, n_free


def _iterate_addends(expression: Expression) -> Iterator[Expression]:
    """Iterate over the addends of a sum, without their signs."""
    if isinstance(expression, Call) and expression.operator.name in _SUMS:
        for argument in expression.arguments:
            yield from _iterate_addends(argument)
    else:
        yield expression


def _count_fitted_numbers(expression: Expression) -> int:
    """Count the fitted numbers in an expression that are not simple."""
    return sum(
        constant.fitted and not is_simple_number(float(constant.value))
        for constant in iterate_constants(expression)
    )


def _iterate_changes(
    formula: Formula, dataset: Dataset
) -> Iterator[tuple[float, Values, Expression, Values]]:
    """Iterate over coefficients, values of terms, parts, and the change of the term by 1.1 times the part."""
    columns = get_input_columns(dataset)
    for coefficient, term in zip(formula.coefficients, formula.terms, strict=True):
        values = evaluate_expression(term, columns)
        for part, changed in ((term, _scale_part(term)), *_iterate_scaled_parts(term)):
            with np.errstate(all="ignore"):
                changes = evaluate_expression(changed, columns) - values
            yield coefficient, values, part, changes


def _scale_part(expression: Expression) -> Expression:
    """Build 1.1 times an expression."""
    return Call(OPERATORS["mul"], (Constant(_FACTOR), expression))


def _iterate_scaled_parts(expression: Expression) -> Iterator[tuple[Expression, Expression]]:
    """Iterate over the parts of an expression, and over the expression with 1.1 times this part."""
    if not isinstance(expression, Call):
        return
    for place, argument in enumerate(expression.arguments):

        def replace_argument(changed: Expression, place: int = place) -> Expression:
            arguments = list(expression.arguments)
            arguments[place] = changed
            return Call(expression.operator, tuple(arguments))

        if expression.operator.name not in _STEP_OPERATORS:
            yield argument, replace_argument(_scale_part(argument))
        for part, changed in _iterate_scaled_parts(argument):
            yield part, replace_argument(changed)
