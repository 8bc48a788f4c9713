"""The options of `SymbolicClassifier`: those of a screen of classes, and those of its model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from symscreen.config.fields import list_options, option
from symscreen.config.parsing import check_positive_int
from symscreen.config.screen_options import ScreenOptions, make_unsafe_option

if TYPE_CHECKING:
    from dataclasses import Field


_MAX_TERMS = 400  # largest number of terms of a formula
_OTHER_TARGETS = ("target_type", "event", "aggregate", "ranking", "stages", "stage_weight")


@dataclass(frozen=True, kw_only=True)
class ClassifierOptions(ScreenOptions):
    """The options of a screen, and those of its logistic model."""

    group: ClassVar[str] = "Model"

    unsafe: Literal["keep", "mark", "drop"] = make_unsafe_option("drop")
    max_terms: int = option(
        10,
        check=partial(check_positive_int, most=_MAX_TERMS),
        help="The largest number of terms.",
        doc="The largest number of terms of the formula. Several classes share their terms.",
        verbs=(),
        record="never",
    )
    folds: int = option(
        5,
        check=partial(check_positive_int, least=2),
        help="The number of folds that choose the number of terms.",
        doc="The number of folds of the cross-validation that chooses how many terms the formula has.",
        verbs=(),
        record="never",
    )


def list_classifier_options() -> tuple[Field[Any], ...]:
    """List the parameters of `SymbolicClassifier`: without those of targets that are no classes."""
    return tuple(
        each for each in list_options(ClassifierOptions, estimator=True) if each.name not in _OTHER_TARGETS
    )
