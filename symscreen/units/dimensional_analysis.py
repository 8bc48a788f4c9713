"""Formulas under units: what a formula is measured in, or which part of it breaks which rule."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.errors import FormulaError
from symscreen.expressions.tree import Call, Column, to_text
from symscreen.grammar.dimensions import (
    EXPONENT_DENOMINATOR,
    TRUE,
    Dimensions,
    is_dimensionless,
    make_number_dimensions,
    propagate_dimensions,
)
from symscreen.units.unit_parsing import ColumnUnit, format_unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from symscreen.expressions.tree import Expression


__all__ = ["Units", "check_formula_units", "compute_dimensions", "compute_unit", "find_unit_violation"]


@dataclass(frozen=True, eq=False)
class Units:
    """The units of a table's columns.

    Parameters
    ----------
    columns : mapping of str to ColumnUnit
        Each input's, and the response's where it is known.
    target : ColumnUnit or None
        The units asked for of a result, up to a factor.
    """

    columns: Mapping[str, ColumnUnit]
    target: ColumnUnit | None = None

    @lockfree_cached_property
    def symbols(self) -> tuple[str, ...]:
        """The base units that occur, in a fixed order; D of them."""
        every = [*self.columns.values(), *([self.target] if self.target else [])]
        return tuple(sorted({name for unit in every for name in unit.exponents}))

    def get_exponents(self, unit: ColumnUnit) -> NDArray[np.int64]:
        """Return a unit's exponents of the base units, times `WHOLE`; shape (D,)."""
        found = [unit.exponents.get(name, Fraction(0)) * EXPONENT_DENOMINATOR for name in self.symbols]
        return np.array([int(power) for power in found], dtype=np.int64)

    @property
    def record(self) -> dict[str, Any]:
        """What the run's record tells; `symscreen.units.convert_to_base_units` reads it."""
        told = {name: _build_unit_record(unit) for name, unit in sorted(self.columns.items())}
        return {
            "columns": told,
            "target_units": None if self.target is None else _build_unit_record(self.target),
        }


def _build_unit_record(unit: ColumnUnit) -> dict[str, str]:
    return {
        "given": unit.text,
        "base": unit.base,
        "factor": str(unit.factor),
        "offset": str(unit.offset),
    }


def compute_dimensions(expression: Expression, units: Units) -> Dimensions:
    """Work out the unit of a formula; columns without a unit count as pure numbers.

    Returns
    -------
    Measure
        Of one feature, exponents of shape (D,).
    """
    none = np.zeros(len(units.symbols), dtype=np.int64)
    if isinstance(expression, Call):
        found = propagate_dimensions(
            expression.operator, *(compute_dimensions(one, units) for one in expression.arguments)
        )
        return Dimensions(none + found.exponents, found.literal, found.valid)
    if isinstance(expression, Column):
        unit = units.columns.get(expression.name)
        return Dimensions(none if unit is None else units.get_exponents(unit), np.array(np.nan), TRUE)
    number = make_number_dimensions(expression.value)
    return Dimensions(none, number.literal, number.valid)


def compute_unit(expression: Expression, units: Units) -> str | None:
    """Write the unit of a formula in base units.

    Parameters
    ----------
    expression : Expression
        The formula.
    units : Units
        Those of its columns.

    Returns
    -------
    str or None
        ``"1"`` for a pure number; None where the formula has no meaning.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> from symscreen.units import parse_unit
    >>> units = Units({"m": parse_unit("g"), "v": parse_unit("km/h")})
    >>> compute_unit(parse_expression("m*v**2/2"), units), compute_unit(parse_expression("m + v"), units)
    ('kg*m**2/s**2', None)
    """
    found = compute_dimensions(expression, units)
    return _format_dimensions(found, units) if found.valid else None


def find_unit_violation(expression: Expression, units: Units) -> str | None:
    """Say which part of a formula breaks which rule, the innermost and leftmost one.

    Parameters
    ----------
    expression : Expression
        The formula.
    units : Units
        Those of its columns.

    Returns
    -------
    str or None
        None where the formula has a unit.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> from symscreen.units import parse_unit
    >>> units = Units({"x": parse_unit("mm"), "t": parse_unit("s")})
    >>> find_unit_violation(parse_expression("x*sin(x/t)"), units)
    'sin(x/t): sin takes a pure number, and x/t is in m/s'
    >>> find_unit_violation(parse_expression("x/t"), units) is None
    True
    """
    if not isinstance(expression, Call):
        return None
    for argument in expression.arguments:
        if inner := find_unit_violation(argument, units):
            return inner
    if compute_dimensions(expression, units).valid:
        return None
    return f"{to_text(expression)}: {_explain_violation(expression, units)}"


def check_formula_units(expressions: Sequence[Expression], units: Units) -> None:
    """Refuse formulas of the user's own that have no meaning, or other units than the target's.

    Raises
    ------
    FormulaError
        With what is wrong.
    """
    for expression in expressions:
        if told := find_unit_violation(expression, units):
            raise FormulaError(f"--also {to_text(expression)!r} has no unit: {told}")
        own = compute_unit(expression, units)
        if units.target is not None and own != units.target.base:
            raise FormulaError(
                f"--also {to_text(expression)!r} is in {own}, and --target-units {units.target.text} asks "
                f"for {units.target.base}"
            )


def _explain_violation(expression: Call, units: Units) -> str:
    operator, arguments = expression.operator, expression.arguments
    found = [compute_dimensions(argument, units) for argument in arguments]
    each = [
        f"{to_text(argument)} is {_describe_dimensions(one, units)}"
        for argument, one in zip(arguments, found, strict=True)
    ]
    match operator.units.kind:
        case "like":
            return f"{operator.name} takes like with like, and {' but '.join(each)}"
        case "pure":
            culprit = next(
                text for text, one in zip(each, found, strict=True) if not is_dimensionless(one.exponents)
            )
            return f"{operator.name} takes a pure number, and {culprit}"
        case "exponent" if not is_dimensionless(found[1].exponents):
            return f"an exponent is a pure number, and {each[1]}"
        case "exponent":
            return f"what has a unit takes a number such as 2 or 0.5 for exponent, and {each[0]}"
        case "composed":
            return f"{operator.name} is {operator.summary}, which has no unit where {' and '.join(each)}"
        case _:
            return f"the exponents of its unit are too large or too fine, and {' and '.join(each)}"


def _describe_dimensions(dimensions: Dimensions, units: Units) -> str:
    return (
        "a pure number"
        if is_dimensionless(dimensions.exponents)
        else f"in {_format_dimensions(dimensions, units)}"
    )


def _format_dimensions(dimensions: Dimensions, units: Units) -> str:
    powers = zip(units.symbols, dimensions.exponents.tolist(), strict=True)
    return format_unit({name: Fraction(power, EXPONENT_DENOMINATOR) for name, power in powers if power})
