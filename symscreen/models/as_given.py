"""A model of columns in base units, written for the columns as they came."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symscreen.export import Formula
from symscreen.units import in_given_units

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["as_given"]


def as_given(formula: Formula, record: Mapping[str, Any] | None) -> Formula:
    """Write a model so that it takes columns, and gives its target, in the units that they came in.

    Parameters
    ----------
    formula : Formula
        Of columns and a target in base units.
    record : mapping or None
        The part ``units`` of a fit's record; None where there were no units.

    Returns
    -------
    Formula

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> record = {
    ...     "columns": {"x": {"factor": "1/1000", "offset": "0"}},
    ...     "targets": {"y": {"factor": "1000", "offset": "0"}},
    ... }
    >>> print(as_given(Formula("y", 500.0, (4e6,), (parse("x**2"),)), record).equation)
    y = 0.5 + 4000*(x/1000)**2
    """
    if record is None:
        return formula
    unit = record["targets"][formula.target]
    factor, offset = float(Fraction(unit["factor"])), float(Fraction(unit["offset"]))
    return Formula(
        formula.target,
        (formula.intercept - offset) / factor,
        tuple(number / factor for number in formula.coefficients),
        in_given_units(formula.terms, record),
    )
