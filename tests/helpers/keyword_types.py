"""Write symscreen/config/keyword_types.py: `python tests/helpers/keyword_types.py`."""

from __future__ import annotations

from pathlib import Path

import symscreen
from symscreen.config.classifier_options import list_classifier_options
from symscreen.config.fields import list_options
from symscreen.config.fit_options import FitOptions, RegressorOptions
from symscreen.config.ode_options import OdeOptions
from symscreen.config.screen_options import ScreenerOptions, ScreenOptions

PATH = Path(symscreen.__file__).parent / "config" / "keyword_types.py"

HEAD = '''\
"""Types of keyword arguments for type checkers, written by tests/helpers/keyword_types.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from symscreen._option_values import EffortName, TargetTypeChoice
    from symscreen._typing import Names, ProgressCallback
    from symscreen.config.data_options import StageWeight
    from symscreen.config.fit_options import GuessSpec
    from symscreen.config.screen_options import ScreenerSpec
    from symscreen.data.categories import CategoricalAs
    from symscreen.data.missing_values import MissingPolicy
    from symscreen.expansion import PoolKind
    from symscreen.grammar import Grammar
    from symscreen.screeners import Sign, TargetAggregation
    from symscreen.screening.run_control import Progress
    from symscreen.screening.search.modes import SearchMode
    from symscreen.statistics.inference.p_value_counts import FdrMethod

__all__ = [
    "ClassifierParameters",
    "FitKeywords",
    "OdeKeywords",
    "RegressorParameters",
    "ScreenKeywords",
    "ScreenerParameters",
]
'''


def _format_class(name, base, title, fields):
    lines = [f"class {name}({base}, total=False):", f'    """{title}"""', ""]
    lines += [f"    {field.name}: {field.type}".replace("'", '"') for field in fields]
    return "\n\n" + "\n".join(lines) + "\n"


def format_keyword_types():
    """Write the module as text."""
    screener, screen = list_options(ScreenerOptions, estimator=True), list_options(ScreenOptions)
    shared = [field for field in screener if field.name in {each.name for each in screen}]
    classifier = list_classifier_options()
    common = [field for field in shared if field.name in {each.name for each in classifier}]
    fit = list_options(FitOptions, verb="fit")
    regressor = list_options(RegressorOptions, verb="fit", estimator=True)
    shared_fit = [field for field in regressor if field.name in {each.name for each in fit}]
    return HEAD + "".join(
        (
            _format_class(
                "CommonParameters", "TypedDict", "What a screen and all estimators that screen take.", common
            ),
            _format_class(
                "SharedParameters",
                "CommonParameters",
                "What a screen and `SymbolicScreener` take.",
                [field for field in shared if field not in common],
            ),
            _format_class(
                "ScreenerParameters",
                "SharedParameters",
                "The parameters of `SymbolicScreener`.",
                [field for field in screener if field not in shared],
            ),
            _format_class(
                "ScreenKeywords",
                "SharedParameters",
                "The options of `symscreen.screen`, `plan`, `why`, `power` and `screen_inputs`.",
                [field for field in screen if field.name not in {each.name for each in shared}],
            ),
            _format_class(
                "ClassifierParameters",
                "CommonParameters",
                "The parameters of `SymbolicClassifier`.",
                [field for field in classifier if field.name not in {each.name for each in common}],
            ),
            _format_class(
                "SharedFitParameters", "TypedDict", "What a fit and its estimator take.", shared_fit
            ),
            _format_class(
                "RegressorParameters",
                "SharedFitParameters",
                "The parameters of `SymbolicRegressor`.",
                [field for field in regressor if field not in shared_fit],
            ),
            _format_class(
                "FitKeywords",
                "SharedFitParameters",
                "The options of `symscreen.fit`.",
                [field for field in fit if field not in shared_fit],
            ),
            _format_class(
                "OdeKeywords",
                "TypedDict",
                "The options of `symscreen.discover_ode`.",
                list_options(OdeOptions),
            ),
        )
    )


if __name__ == "__main__":
    PATH.write_text(format_keyword_types(), encoding="utf-8")
