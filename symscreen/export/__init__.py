"""Fitted formulas and how they leave symscreen: text, sympy, LaTeX, bundles to apply to new data."""

from symscreen.export.applied import apply_bundle
from symscreen.export.bundle import bundle_as_json, load_bundle, save_bundle
from symscreen.export.formula import Formula
from symscreen.export.latex import to_latex
from symscreen.export.written import check_free, write_whole

__all__ = [
    "Formula",
    "apply_bundle",
    "bundle_as_json",
    "check_free",
    "load_bundle",
    "save_bundle",
    "to_latex",
    "write_whole",
]
