"""Dimensional analysis of formulas: the unit of a formula, or the part that violates a rule."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.errors import FormulaError
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import fold_expression, iterate_calls
from symscreen.grammar.dimensions import (
    EXPONENT_DENOMINATOR,
    TRUE,
    Dimensions,
    is_dimensionless,
    make_number_dimensions,
    propagate_dimensions,
)
from symscreen.messages import name_option
from symscreen.units.unit_parsing import ColumnUnit, build_unit_record, format_scaled_exponents

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from symscreen.expressions.tree import Call, Expression


@dataclass(frozen=True, eq=False)
class Units:
    """Units of the columns of a dataset.

    Parameters
    ----------
    columns : mapping of str to ColumnUnit
        The known units of inputs and targets. Columns without a unit count as dimensionless.
    target : ColumnUnit or None
        The required unit of a result, up to a factor; None without a requirement.
    """

    columns: Mapping[str, ColumnUnit]
    target: ColumnUnit | None = None

    @lockfree_cached_property
    def symbols(self) -> tuple[str, ...]:
        """The D base units that occur, sorted by symbol."""
        all_units = [*self.columns.values(), *([self.target] if self.target else [])]
        return tuple(sorted({name for unit in all_units for name in unit.exponents}))

    def get_exponents(self, unit: ColumnUnit) -> NDArray[np.int64]:
        """Return the exponents of a unit in terms of `symbols`, times `EXPONENT_DENOMINATOR`; shape (D,)."""
        scaled = [unit.exponents.get(name, Fraction(0)) * EXPONENT_DENOMINATOR for name in self.symbols]
        return np.array([int(power) for power in scaled], dtype=np.int64)

    @property
    def record(self) -> dict[str, Any]:
        """The units as stored in a run's metadata, which `symscreen.units.convert_to_base_units` reads."""
        columns = {name: build_unit_record(unit) for name, unit in sorted(self.columns.items())}
        return {
            "columns": columns,
            "target_units": None if self.target is None else build_unit_record(self.target),
        }


def compute_dimensions(expression: Expression, units: Units) -> Dimensions:
    """Compute the dimensions of a formula. Columns without a unit count as dimensionless.

    Parameters
    ----------
    expression : Expression
        The formula.
    units : Units
        The units of its columns.

    Returns
    -------
    Dimensions
        Of a single feature, with exponents of shape (D,).
    """
    zeros = np.zeros(len(units.symbols), dtype=np.int64)

    def get_column(name: str) -> Dimensions:
        unit = units.columns.get(name)
        return Dimensions(zeros if unit is None else units.get_exponents(unit), np.array(np.nan), TRUE)

    def extend(dimensions: Dimensions) -> Dimensions:
        return Dimensions(zeros + dimensions.exponents, dimensions.literal, dimensions.valid)

    return fold_expression(
        expression,
        column=get_column,
        number=lambda constant: extend(make_number_dimensions(constant.value)),
        call=lambda call, arguments: extend(propagate_dimensions(call.operator, *arguments)),
    )


def compute_unit(expression: Expression, units: Units) -> str | None:
    """Return the unit of a formula in base units.

    Parameters
    ----------
    expression : Expression
        The formula.
    units : Units
        The units of its columns.

    Returns
    -------
    str or None
        ``"1"`` if the formula is dimensionless; None if it violates a rule.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> from symscreen.units import parse_unit
    >>> units = Units({"m": parse_unit("g"), "v": parse_unit("km/h")})
    >>> compute_unit(parse_expression("m*v**2/2"), units), compute_unit(parse_expression("m + v"), units)
    ('kg*m**2/s**2', None)
    """
    dimensions = compute_dimensions(expression, units)
    return format_scaled_exponents(dimensions.exponents, units.symbols) if dimensions.valid else None


def find_unit_violation(expression: Expression, units: Units) -> str | None:
    """Describe the innermost, leftmost part of a formula that violates a rule.

    Parameters
    ----------
    expression : Expression
        The formula.
    units : Units
        The units of its columns.

    Returns
    -------
    str or None
        None if the formula has a unit.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> from symscreen.units import parse_unit
    >>> units = Units({"x": parse_unit("mm"), "t": parse_unit("s")})
    >>> find_unit_violation(parse_expression("x*sin(x/t)"), units)
    'sin(x/t): sin takes a pure number, but x/t is in m/s'
    >>> find_unit_violation(parse_expression("x/t"), units) is None
    True
    """
    for call in iterate_calls(expression):
        if not compute_dimensions(call, units).valid:
            return f"{to_text(call)}: {_explain_violation(call, units)}"
    return None


def check_formula_units(expressions: Sequence[Expression], units: Units) -> None:
    """Check that formulas given by the user have a unit, which must be the required one if there is one.

    Parameters
    ----------
    expressions : sequence of Expression
        The formulas.
    units : Units
        The units of their columns.

    Raises
    ------
    FormulaError
        If a formula violates a rule or has another unit.
    """
    for expression in expressions:
        if violation := find_unit_violation(expression, units):
            raise FormulaError(f"{name_option('also', to_text(expression))} has no unit: {violation}")
        unit = compute_unit(expression, units)
        if units.target is not None and unit != units.target.base:
            raise FormulaError(
                f"{name_option('also', to_text(expression))} is in {unit}, but "
                f"{name_option('target_units', units.target.text)} requires {units.target.base}"
            )


def _explain_violation(expression: Call, units: Units) -> str:
    """Explain why a call has no unit although each of its arguments has one."""
    operator, arguments = expression.operator, expression.arguments
    dimensions = [compute_dimensions(argument, units) for argument in arguments]
    descriptions = [
        f"{to_text(argument)} is {_describe_dimensions(dimension, units)}"
        for argument, dimension in zip(arguments, dimensions, strict=True)
    ]
    match operator.units.kind:
        case "like":
            return f"{operator.name} requires equal units, but {' and '.join(descriptions)}"
        case "pure":
            culprit = next(
                text
                for text, dimension in zip(descriptions, dimensions, strict=True)
                if not is_dimensionless(dimension.exponents)
            )
            return f"{operator.name} takes a pure number, but {culprit}"
        case "exponent" if not is_dimensionless(dimensions[1].exponents):
            return f"an exponent must be a pure number, but {descriptions[1]}"
        case "exponent":
            return (
                f"a base with a unit needs a number such as 2 or 0.5 as its exponent, and {descriptions[0]}"
            )
        case "composed":
            return f"{operator.name} is {operator.summary}, which has no unit if {' and '.join(descriptions)}"
        case _:
            return f"the exponents of its unit are too large or too fine: {' and '.join(descriptions)}"


def _describe_dimensions(dimensions: Dimensions, units: Units) -> str:
    """Describe dimensions for a message."""
    return (
        "a pure number"
        if is_dimensionless(dimensions.exponents)
        else f"in {format_scaled_exponents(dimensions.exponents, units.symbols)}"
    )
