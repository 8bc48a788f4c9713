"""Formulas under units: what a formula is measured in, or which part of it breaks which rule."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import FormulaError
from symscreen.expression import Apply, Column, to_text
from symscreen.grammar.measures import TRUE, WHOLE, Measure, is_pure, measure_of_number, measured
from symscreen.once import once
from symscreen.units.column_unit import ColumnUnit, written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from symscreen.expression import Expression

__all__ = ["Units", "checked_formulas", "measure_of", "unit_of", "violation"]


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

    @once
    def symbols(self) -> tuple[str, ...]:
        """The base units that occur, in a fixed order; D of them."""
        every = [*self.columns.values(), *([self.target] if self.target else [])]
        return tuple(sorted({name for unit in every for name in unit.exponents}))

    def exponents(self, unit: ColumnUnit) -> NDArray[np.int64]:
        """Return a unit's exponents of the base units, times `WHOLE`; shape (D,)."""
        found = [unit.exponents.get(name, Fraction(0)) * WHOLE for name in self.symbols]
        return np.array([int(power) for power in found], dtype=np.int64)

    @property
    def record(self) -> dict[str, Any]:
        """What the run's record tells; `symscreen.units.in_base_units` reads it."""
        told = {name: _told(unit) for name, unit in sorted(self.columns.items())}
        return {"columns": told, "target_units": None if self.target is None else _told(self.target)}


def _told(unit: ColumnUnit) -> dict[str, str]:
    return {
        "given": unit.given,
        "base": unit.base,
        "factor": str(unit.factor),
        "offset": str(unit.offset),
    }


def measure_of(expression: Expression, units: Units) -> Measure:
    """Work out the unit of a formula; columns without a unit count as pure numbers.

    Returns
    -------
    Measure
        Of one feature, exponents of shape (D,).
    """
    none = np.zeros(len(units.symbols), dtype=np.int64)
    if isinstance(expression, Apply):
        found = measured(expression.operator, *(measure_of(one, units) for one in expression.arguments))
        return Measure(none + found.exponents, found.number, found.sound)
    if isinstance(expression, Column):
        unit = units.columns.get(expression.name)
        return Measure(none if unit is None else units.exponents(unit), np.array(np.nan), TRUE)
    number = measure_of_number(expression.value)
    return Measure(none, number.number, number.sound)


def unit_of(expression: Expression, units: Units) -> str | None:
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
    >>> from symscreen.expression import parse
    >>> from symscreen.units import column_unit
    >>> units = Units({"m": column_unit("g"), "v": column_unit("km/h")})
    >>> unit_of(parse("m*v**2/2"), units), unit_of(parse("m + v"), units)
    ('kg*m**2/s**2', None)
    """
    found = measure_of(expression, units)
    return _text(found, units) if found.sound else None


def violation(expression: Expression, units: Units) -> str | None:
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
    >>> from symscreen.expression import parse
    >>> from symscreen.units import column_unit
    >>> units = Units({"x": column_unit("mm"), "t": column_unit("s")})
    >>> violation(parse("x*sin(x/t)"), units)
    'sin(x/t): sin takes a pure number, and x/t is in m/s'
    >>> violation(parse("x/t"), units) is None
    True
    """
    if not isinstance(expression, Apply):
        return None
    for argument in expression.arguments:
        if inner := violation(argument, units):
            return inner
    if measure_of(expression, units).sound:
        return None
    return f"{to_text(expression)}: {_broken(expression, units)}"


def checked_formulas(expressions: Sequence[Expression], units: Units) -> None:
    """Refuse formulas of the user's own that have no meaning, or other units than the target's.

    Raises
    ------
    FormulaError
        With what is wrong.
    """
    for expression in expressions:
        if told := violation(expression, units):
            raise FormulaError(f"--also {to_text(expression)!r} has no unit: {told}")
        own = unit_of(expression, units)
        if units.target is not None and own != units.target.base:
            raise FormulaError(
                f"--also {to_text(expression)!r} is in {own}, and --target-units {units.target.given} asks "
                f"for {units.target.base}"
            )


def _broken(expression: Apply, units: Units) -> str:
    operator, arguments = expression.operator, expression.arguments
    found = [measure_of(argument, units) for argument in arguments]
    each = [
        f"{to_text(argument)} is {_in(one, units)}" for argument, one in zip(arguments, found, strict=True)
    ]
    match operator.units.kind:
        case "like":
            return f"{operator.name} takes like with like, and {' but '.join(each)}"
        case "pure":
            culprit = next(text for text, one in zip(each, found, strict=True) if not is_pure(one.exponents))
            return f"{operator.name} takes a pure number, and {culprit}"
        case "exponent" if not is_pure(found[1].exponents):
            return f"an exponent is a pure number, and {each[1]}"
        case "exponent":
            return f"what has a unit takes a number such as 2 or 0.5 for exponent, and {each[0]}"
        case "composed":
            return f"{operator.name} is {operator.summary}, which has no unit where {' and '.join(each)}"
        case _:
            return f"the exponents of its unit are too large or too fine, and {' and '.join(each)}"


def _in(found: Measure, units: Units) -> str:
    return "a pure number" if is_pure(found.exponents) else f"in {_text(found, units)}"


def _text(found: Measure, units: Units) -> str:
    powers = zip(units.symbols, found.exponents.tolist(), strict=True)
    return written({name: Fraction(power, WHOLE) for name, power in powers if power})
