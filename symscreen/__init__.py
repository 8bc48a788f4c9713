"""symscreen: grow a space of formulas from a table, score every one, keep the few worth modelling.

Names are loaded when they are first used, so that importing the package stays fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symscreen import datasets, evaluation, export, trees
    from symscreen.errors import SymscreenError
    from symscreen.estimators import SymbolicRegressor, SymbolicScreener
    from symscreen.export.applied import apply_bundle
    from symscreen.export.bundle import load_bundle, save_bundle
    from symscreen.grammar.load import load_grammar
    from symscreen.models.fit_result import FitResult
    from symscreen.pipeline.classes import classes
    from symscreen.pipeline.fit import fit
    from symscreen.pipeline.plan import plan
    from symscreen.pipeline.power import power
    from symscreen.pipeline.screening import screen
    from symscreen.pipeline.stored import load_result
    from symscreen.report.page import write_report
    from symscreen.report.stored import read_ranking
    from symscreen.result.course import Standing
    from symscreen.result.screen_result import ScreenResult
    from symscreen.screeners.checks import check_screener
    from symscreen.statistics.columns import t0, t0_interval, xi
    from symscreen.whereabouts import Why, why

__all__ = [
    "FitResult",
    "ScreenResult",
    "Standing",
    "SymbolicRegressor",
    "SymbolicScreener",
    "SymscreenError",
    "Why",
    "__version__",
    "apply_bundle",
    "check_screener",
    "classes",
    "datasets",
    "evaluation",
    "export",
    "fit",
    "load_bundle",
    "load_grammar",
    "load_result",
    "plan",
    "power",
    "read_ranking",
    "save_bundle",
    "screen",
    "t0",
    "t0_interval",
    "trees",
    "why",
    "write_report",
    "xi",
]

_MODULES = ("datasets", "evaluation", "export", "trees")

_HOMES = {
    "SymbolicRegressor": "symscreen.estimators",
    "SymbolicScreener": "symscreen.estimators",
    "FitResult": "symscreen.models.fit_result",
    "ScreenResult": "symscreen.result.screen_result",
    "Standing": "symscreen.result.course",
    "SymscreenError": "symscreen.errors",
    "apply_bundle": "symscreen.export.applied",
    "Why": "symscreen.whereabouts",
    "check_screener": "symscreen.screeners.checks",
    "classes": "symscreen.pipeline.classes",
    "fit": "symscreen.pipeline.fit",
    "load_bundle": "symscreen.export.bundle",
    "load_grammar": "symscreen.grammar.load",
    "load_result": "symscreen.pipeline.stored",
    "plan": "symscreen.pipeline.plan",
    "power": "symscreen.pipeline.power",
    "read_ranking": "symscreen.report.stored",
    "save_bundle": "symscreen.export.bundle",
    "screen": "symscreen.pipeline.screening",
    "t0": "symscreen.statistics.columns",
    "t0_interval": "symscreen.statistics.columns",
    "why": "symscreen.whereabouts",
    "write_report": "symscreen.report.page",
    "xi": "symscreen.statistics.columns",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib import metadata  # slow to import, and seldom asked for

        return metadata.version("symscreen")
    if name in _MODULES:
        return import_module(f"symscreen.{name}")
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'symscreen' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
