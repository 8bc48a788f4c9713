"""symscreen: grow a space of formulas from a table, score every one, and keep the few worth modelling.

Names are loaded when they are first used, so that importing the package stays fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symscreen import datasets, evaluation, export, trees
    from symscreen.dynamics import OdeResult, discover_ode
    from symscreen.errors import SymscreenError
    from symscreen.estimators import SymbolicClassifier, SymbolicRegressor, SymbolicScreener
    from symscreen.explain import Explanation, why
    from symscreen.export.bundle import load_bundle, save_bundle
    from symscreen.export.bundle_application import apply_bundle
    from symscreen.fitting.baselines import Comparison, compare_baselines
    from symscreen.fitting.best_subsets import SubsetResult, find_best_subsets
    from symscreen.fitting.fit import fit
    from symscreen.fitting.grouped.adaptation import adapt
    from symscreen.fitting.search_monitor import FitProgress
    from symscreen.grammar.grammar_files import load_grammar
    from symscreen.report.html_page import write_report
    from symscreen.results.fit_result import FitResult, GroupedFitResult, SharedFitResult
    from symscreen.results.ranking_reader import read_ranking
    from symscreen.results.screen_result import ScreenResult
    from symscreen.screeners.array_api import t0, t0_interval, xi
    from symscreen.screeners.checks import check_screener
    from symscreen.screening.class_members import classes
    from symscreen.screening.input_screening.input_screen import InputScreenResult, screen_inputs
    from symscreen.screening.plan import plan
    from symscreen.screening.power import power
    from symscreen.screening.run_control import Progress
    from symscreen.screening.screen import screen
    from symscreen.screening.stored_screens import load_result
    from symscreen.studies import StudyResult, run_study

__all__ = [
    "Comparison",
    "Explanation",
    "FitProgress",
    "FitResult",
    "GroupedFitResult",
    "InputScreenResult",
    "OdeResult",
    "Progress",
    "ScreenResult",
    "SharedFitResult",
    "StudyResult",
    "SubsetResult",
    "SymbolicClassifier",
    "SymbolicRegressor",
    "SymbolicScreener",
    "SymscreenError",
    "__version__",
    "adapt",
    "apply_bundle",
    "check_screener",
    "classes",
    "compare_baselines",
    "datasets",
    "discover_ode",
    "evaluation",
    "export",
    "find_best_subsets",
    "fit",
    "load_bundle",
    "load_grammar",
    "load_result",
    "plan",
    "power",
    "read_ranking",
    "run_study",
    "save_bundle",
    "screen",
    "screen_inputs",
    "t0",
    "t0_interval",
    "trees",
    "why",
    "write_report",
    "xi",
]

_MODULES = ("datasets", "evaluation", "export", "trees")

_HOMES = {
    "SymbolicClassifier": "symscreen.estimators",
    "SymbolicRegressor": "symscreen.estimators",
    "SymbolicScreener": "symscreen.estimators",
    "FitProgress": "symscreen.fitting.search_monitor",
    "FitResult": "symscreen.results.fit_result",
    "GroupedFitResult": "symscreen.results.fit_result",
    "InputScreenResult": "symscreen.screening.input_screening.input_screen",
    "OdeResult": "symscreen.dynamics",
    "ScreenResult": "symscreen.results.screen_result",
    "SharedFitResult": "symscreen.results.fit_result",
    "StudyResult": "symscreen.studies",
    "SubsetResult": "symscreen.fitting.best_subsets",
    "Progress": "symscreen.screening.run_control",
    "SymscreenError": "symscreen.errors",
    "adapt": "symscreen.fitting.grouped.adaptation",
    "apply_bundle": "symscreen.export.bundle_application",
    "Explanation": "symscreen.explain",
    "check_screener": "symscreen.screeners.checks",
    "Comparison": "symscreen.fitting.baselines",
    "classes": "symscreen.screening.class_members",
    "compare_baselines": "symscreen.fitting.baselines",
    "discover_ode": "symscreen.dynamics",
    "find_best_subsets": "symscreen.fitting.best_subsets",
    "fit": "symscreen.fitting.fit",
    "load_bundle": "symscreen.export.bundle",
    "load_grammar": "symscreen.grammar.grammar_files",
    "load_result": "symscreen.screening.stored_screens",
    "plan": "symscreen.screening.plan",
    "power": "symscreen.screening.power",
    "read_ranking": "symscreen.results.ranking_reader",
    "run_study": "symscreen.studies",
    "save_bundle": "symscreen.export.bundle",
    "screen": "symscreen.screening.screen",
    "screen_inputs": "symscreen.screening.input_screening.input_screen",
    "t0": "symscreen.screeners.array_api",
    "t0_interval": "symscreen.screeners.array_api",
    "why": "symscreen.explain",
    "write_report": "symscreen.report.html_page",
    "xi": "symscreen.screeners.array_api",
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
