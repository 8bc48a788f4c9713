"""Fitted formulas and how they leave symscreen: text, other languages, bundles to apply to new data."""

from symscreen.export.applied import apply_bundle
from symscreen.export.bundle import bundle_as_json, load_bundle, read_bundle, save_bundle
from symscreen.export.c_source import to_c
from symscreen.export.excel import to_excel
from symscreen.export.formula import Formula
from symscreen.export.gates import Gate, gates_of_record
from symscreen.export.handoff import HandOff, for_gplearn, for_pysr, kept_as_columns
from symscreen.export.latex import to_latex
from symscreen.export.mathml import to_mathml
from symscreen.export.matlab import to_matlab
from symscreen.export.numpy_source import to_numpy
from symscreen.export.shared_formula import SharedFormula, shared_formula
from symscreen.export.sql import to_duckdb, to_sql, to_sqlite
from symscreen.export.targets import TARGETS, Target, exported, operators_of_record
from symscreen.export.written import check_apart, check_free, check_outputs_differ, write_whole

__all__ = [
    "TARGETS",
    "Formula",
    "Gate",
    "HandOff",
    "SharedFormula",
    "Target",
    "apply_bundle",
    "bundle_as_json",
    "check_apart",
    "check_free",
    "check_outputs_differ",
    "exported",
    "for_gplearn",
    "for_pysr",
    "gates_of_record",
    "kept_as_columns",
    "load_bundle",
    "operators_of_record",
    "read_bundle",
    "save_bundle",
    "shared_formula",
    "to_c",
    "to_duckdb",
    "to_excel",
    "to_latex",
    "to_mathml",
    "to_matlab",
    "to_numpy",
    "to_sql",
    "to_sqlite",
    "write_whole",
]
