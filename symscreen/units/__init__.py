"""Units: read from headers, files and mappings; carried through formulas; what breaks a rule, told."""

from symscreen.units.column_unit import ColumnUnit, column_unit, unit_in_header
from symscreen.units.given import given_units, in_base_units, in_given_units
from symscreen.units.meaning import Units, checked_formulas, measure_of, unit_of, violation

__all__ = [
    "ColumnUnit",
    "Units",
    "checked_formulas",
    "column_unit",
    "given_units",
    "in_base_units",
    "in_given_units",
    "measure_of",
    "unit_in_header",
    "unit_of",
    "violation",
]
