"""Units of columns: parsed from headers, files and mappings, propagated through formulas, and checked."""

from symscreen.units.dimensional_analysis import (
    Units,
    check_formula_units,
    compute_dimensions,
    compute_unit,
    find_unit_violation,
)
from symscreen.units.unit_options import (
    convert_targets_to_base_units,
    convert_to_base_units,
    convert_to_original_units,
    convert_to_original_values,
    format_coefficient_units,
    get_target_unit,
    read_units,
)
from symscreen.units.unit_parsing import ColumnUnit, extract_header_unit, parse_unit

__all__ = [
    "ColumnUnit",
    "Units",
    "check_formula_units",
    "compute_dimensions",
    "compute_unit",
    "convert_targets_to_base_units",
    "convert_to_base_units",
    "convert_to_original_units",
    "convert_to_original_values",
    "extract_header_unit",
    "find_unit_violation",
    "format_coefficient_units",
    "get_target_unit",
    "parse_unit",
    "read_units",
]
