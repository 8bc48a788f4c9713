"""Export fitted formulas: source text in other languages, JSON bundles, and seeds for other searches."""

from symscreen.data import LevelIndicator
from symscreen.export.bundle import load_bundle, read_bundle, save_bundle
from symscreen.export.bundle_application import apply_bundle
from symscreen.export.bundle_documents import format_bundle
from symscreen.export.c_source import to_c
from symscreen.export.excel import to_excel
from symscreen.export.formats import (
    EXPORT_FORMATS,
    ExportFormat,
    build_operators_from_record,
    export_formulas,
)
from symscreen.export.interop import SeedFormulas, compute_feature_frame, to_gplearn, to_pysr
from symscreen.export.matlab import to_matlab
from symscreen.export.numpy_source import to_numpy
from symscreen.export.source import build_indicators_from_record
from symscreen.export.sql import to_duckdb, to_sql, to_sqlite
from symscreen.expressions.linear_formula import Formula, SharedFormula, build_shared_formula

__all__ = [
    "EXPORT_FORMATS",
    "ExportFormat",
    "Formula",
    "LevelIndicator",
    "SeedFormulas",
    "SharedFormula",
    "apply_bundle",
    "build_indicators_from_record",
    "build_operators_from_record",
    "build_shared_formula",
    "compute_feature_frame",
    "export_formulas",
    "format_bundle",
    "load_bundle",
    "read_bundle",
    "save_bundle",
    "to_c",
    "to_duckdb",
    "to_excel",
    "to_gplearn",
    "to_matlab",
    "to_numpy",
    "to_pysr",
    "to_sql",
    "to_sqlite",
]
