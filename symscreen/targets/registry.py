"""A response of any kind, and what to do where only numbers will do."""

from __future__ import annotations

from symscreen.errors import OptionError, escape_control_chars
from symscreen.targets.multiclass import MulticlassTarget
from symscreen.targets.multioutput import MultiOutputTarget
from symscreen.targets.numeric import TARGET_TYPE_DESCRIPTIONS, NumericTarget
from symscreen.targets.ranking import RankingTarget
from symscreen.targets.stages import StagesTarget
from symscreen.targets.survival import SurvivalTarget
from symscreen.targets.weighted import WeightedTarget

__all__ = [
    "BinaryDecomposableTarget",
    "RegressionTarget",
    "Target",
    "count_labels",
    "require_numeric_target",
    "require_regression_target",
]

BinaryDecomposableTarget = RankingTarget | StagesTarget | MulticlassTarget  # what comes to binary responses
RegressionTarget = NumericTarget | MultiOutputTarget  # `values` of shape (n,) or (K, n), by row
Target = RegressionTarget | BinaryDecomposableTarget | SurvivalTarget | WeightedTarget


def count_labels(target: Target) -> int:
    """Count what each row of a response orders: the labels of a ranking, else the two sides of a number."""
    return len(target.labels) if isinstance(target, RankingTarget) else 2


def require_numeric_target(target: Target, consumer: str) -> NumericTarget:
    """Return a response that must be numeric.

    Parameters
    ----------
    response : AnyResponse
        The response.
    who : str
        What needs numbers, for the message.

    Returns
    -------
    Response

    Raises
    ------
    OptionError
        If it is of another kind.
    """
    if isinstance(target, NumericTarget):
        return target
    raise _build_type_error(target, consumer)


def require_regression_target(target: Target, consumer: str) -> RegressionTarget:
    """Return a response that must be numbers, one or several for each row; errors are those of `numeric`."""
    if isinstance(target, NumericTarget | MultiOutputTarget):
        return target
    raise _build_type_error(target, consumer)


def _build_type_error(target: Target, consumer: str) -> OptionError:
    return OptionError(
        f"{consumer} needs a numeric response, and {escape_control_chars(repr(target.name))} is "
        f"{TARGET_TYPE_DESCRIPTIONS[target.target_type]}: "
        "give a column of numbers as the target"
    )
