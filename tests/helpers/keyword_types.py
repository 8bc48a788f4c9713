"""Write symscreen/config/keyword_types.py: `python tests/helpers/keyword_types.py`."""

from __future__ import annotations

from pathlib import Path

import symscreen
from symscreen.config.classifier_options import list_classifier_options
from symscreen.config.fields import list_options
from symscreen.config.ode_options import OdeOptions
from symscreen.config.screen_options import FitOptions, ScreenerOptions, ScreenOptions

PATH = Path(symscreen.__file__).parent / "config" / "keyword_types.py"

HEAD = '''\
"""The types of keyword arguments for type checkers, written by tests/helpers/keyword_types.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from symscreen._option_values import EffortName, TargetTypeChoice
    from symscreen._typing import Names, ProgressCallback
    from symscreen.config.screen_options import GuessSpec, ScreenerSpec, StageWeight
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
    fit = list_options(FitOptions, verb="fit")
    regressor = list_options(FitOptions, verb="fit", estimator=True)
    return HEAD + "".join(
        (
            _format_class("SharedParameters", "TypedDict", "What a screen and its estimator take.", shared),
            _format_class(
                "ScreenerParameters",
                "SharedParameters",
                "The parameters of `SymbolicScreener`.",
                [field for field in screener if field not in shared],
            ),
            _format_class(
                "ScreenKeywords",
                "SharedParameters",
                "The options of `symscreen.screen`, `plan`, `why` and `power`.",
                [field for field in screen if field.name not in {each.name for each in shared}],
            ),
            _format_class(
                "ClassifierParameters",
                "TypedDict",
                "The parameters of `SymbolicClassifier`.",
                list_classifier_options(),
            ),
            _format_class(
                "RegressorParameters", "TypedDict", "The parameters of `SymbolicRegressor`.", regressor
            ),
            _format_class(
                "FitKeywords",
                "RegressorParameters",
                "The options of `symscreen.fit`.",
                [field for field in fit if field not in regressor],
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
