"""symscreen: grow a space of formulas from a table, score every one, keep the few worth modelling.

Names are loaded when they are first used, so that importing the package stays fast.
"""

from __future__ import annotations

from importlib import import_module, metadata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symscreen import datasets, evaluation, trees
    from symscreen.errors import SymscreenError
    from symscreen.grammar.load import load_grammar
    from symscreen.models.fit_result import FitResult
    from symscreen.pipeline import plan, screen
    from symscreen.pipeline_classes import classes
    from symscreen.pipeline_fit import fit
    from symscreen.pipeline_power import power
    from symscreen.report.stored import read_ranking
    from symscreen.result.screen_result import ScreenResult
    from symscreen.screeners.checks import check_screener
    from symscreen.sklearn_api import SymbolicRegressor
    from symscreen.statistics.columns import t0, xi

__all__ = [
    "FitResult",
    "ScreenResult",
    "SymbolicRegressor",
    "SymscreenError",
    "__version__",
    "check_screener",
    "classes",
    "datasets",
    "evaluation",
    "fit",
    "load_grammar",
    "plan",
    "power",
    "read_ranking",
    "screen",
    "t0",
    "trees",
    "xi",
]

_MODULES = ("datasets", "evaluation", "trees")

_HOMES = {
    "SymbolicRegressor": "symscreen.sklearn_api",
    "FitResult": "symscreen.models.fit_result",
    "ScreenResult": "symscreen.result.screen_result",
    "SymscreenError": "symscreen.errors",
    "check_screener": "symscreen.screeners.checks",
    "classes": "symscreen.pipeline_classes",
    "fit": "symscreen.pipeline_fit",
    "load_grammar": "symscreen.grammar.load",
    "plan": "symscreen.pipeline",
    "power": "symscreen.pipeline_power",
    "read_ranking": "symscreen.report.stored",
    "screen": "symscreen.pipeline",
    "t0": "symscreen.statistics.columns",
    "xi": "symscreen.statistics.columns",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
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
