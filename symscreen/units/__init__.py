"""Units: read from headers, files and mappings; carried through formulas; what breaks a rule, told."""

from symscreen.units.column_unit import ColumnUnit, column_unit, unit_in_header
from symscreen.units.given import given_units, in_base_units, in_given_units
from symscreen.units.meaning import Units, checked_formulas, measure_of, unit_of, violation
from symscreen.units.responses import coefficient_units, target_unit, with_targets_in_base_units

__all__ = [
    "ColumnUnit",
    "Units",
    "checked_formulas",
    "coefficient_units",
    "column_unit",
    "given_units",
    "in_base_units",
    "in_given_units",
    "measure_of",
    "target_unit",
    "unit_in_header",
    "unit_of",
    "violation",
    "with_targets_in_base_units",
]
