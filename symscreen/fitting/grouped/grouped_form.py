"""Write a model of groups as a formula with constants that vary."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expressions.grouped_formula import (
    GroupConstant,
    GroupedFormula,
    list_symbols,
    multiply_by_constant,
)
from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.traversal import rebuild_expression
from symscreen.expressions.tree import Call, Column, Constant
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.grouped.grouped_model import GroupedModel


def build_grouped_formula(
    model: GroupedModel,
    varying: Values,
    shared: Values,
    *,
    target: str,
    column: str,
    groups: Sequence[str],
    inputs: Sequence[str],
) -> GroupedFormula:
    """Write a model as a formula; its constants that vary are a, b and so on, in the order of the text.

    Parameters
    ----------
    model : GroupedModel
        The model.
    varying : float64 array, shape (v, G)
        The constants that vary: coefficients, that of the intercept first, then inner constants.
    shared : float64 array, shape (s,)
        The shared constants, in the same order.
    target, column : str
        The target, and the column of the groups.
    groups : sequence of str, length G
        The groups.
    inputs : sequence of str
        The names of all inputs, which no constant gets.

    Returns
    -------
    GroupedFormula

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> from symscreen.fitting.grouped.grouped_model import GroupedModel
    >>> model = GroupedModel((parse_expression("x"), parse_expression("z")), (1.0, 1.0), True,
    ...     (False, True, False))
    >>> print(build_grouped_formula(model, np.array([[3.0, 4.0]]), np.array([1.0, 2.0]), target="y",
    ...     column="ore", groups=["p", "q"], inputs=["x", "z"]).equation)
    y = 1 + a[ore]*x + 2*z
    """
    places = _order_varying(model)
    symbols = dict(zip(places, list_symbols(column, inputs, len(places)), strict=True))
    values = iter(varying)
    constants = {
        place: GroupConstant(symbols[place], column, tuple(next(values).tolist())) for place in sorted(places)
    }
    common = iter(shared.tolist())
    n_coefficients = len(model.varies)
    outer = [None if varies else next(common) for varies in model.varies]
    inner = [None if varies else next(common) for varies in model.inner_varies]
    numbers = iter(range(len(inner)))

    def write_inner(constant: Constant) -> Expression:
        if not constant.fitted:
            return constant
        number = next(numbers)
        value = inner[number]
        if value is None:
            return Column(constants[n_coefficients + number].name)
        return Constant(value, fitted=True)

    intercept, coefficients, terms = 0.0, list[float](), list[Any]()
    design: list[Expression] = [Constant(1)] if model.has_intercept else []
    design += [rebuild_expression(term, number=write_inner) for term in model.terms]
    for place, (term, value) in enumerate(zip(design, outer, strict=True)):
        if value is None:
            terms.append(multiply_by_constant(constants[place].name, term))
            coefficients.append(1.0)
        elif term == Constant(1) and model.has_intercept and place == 0:
            intercept = value
        else:
            terms.append(term)
            coefficients.append(value)
    form = Formula(target, intercept, tuple(coefficients), tuple(terms))
    return GroupedFormula(form, column, tuple(groups), tuple(constants[place] for place in places))


def _order_varying(model: GroupedModel) -> list[int]:
    """Return the places of the constants that vary, in the order in which the text has them.

    A place is the number of a coefficient, that of the intercept first, or, after all coefficients, that of
    an inner constant.
    """
    n_coefficients, first_inner, ordered = len(model.varies), 0, []
    if model.has_intercept:
        ordered.append(0)
    for number, n_inner in enumerate(model.count_inner()):
        ordered.append(number + model.has_intercept)
        ordered += range(n_coefficients + first_inner, n_coefficients + first_inner + n_inner)
        first_inner += n_inner
    varies = np.array([*model.varies, *model.inner_varies], dtype=bool)
    return [place for place in ordered if varies[place]]


def subtract_negative_numbers(term: Expression) -> Expression:
    """Write x + (-0.5) as x - 0.5 in a term.

    Examples
    --------
    >>> total = Call(OPERATORS["add"], (Column("x"), Constant(-0.5, fitted=True)))
    >>> print(subtract_negative_numbers(total))
    x - 0.5
    """

    def build_call(call: Call, arguments: list[Expression]) -> Expression:
        first, *others = arguments
        if call.operator.name == "add" and isinstance(others[0], Constant) and others[0].value < 0.0:
            return Call(OPERATORS["sub"], (first, replace(others[0], value=-others[0].value)))
        return Call(call.operator, tuple(arguments))

    return rebuild_expression(term, call=build_call)


def order_by_text(model: GroupedModel, values: Values) -> Values:
    """Sort estimates of the constants that vary, shape (v, …), in the order of the text."""
    places = _order_varying(model)
    ranks = {place: rank for rank, place in enumerate(sorted(places))}
    return values[[ranks[place] for place in places]]
