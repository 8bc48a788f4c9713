"""Unions of the target types, and checks for numeric targets."""

from __future__ import annotations

from symscreen.errors import OptionError
from symscreen.messages import escape_control_chars
from symscreen.targets.multiclass import MulticlassTarget
from symscreen.targets.multioutput import MultiOutputTarget
from symscreen.targets.numeric import TARGET_TYPE_DESCRIPTIONS, NumericTarget
from symscreen.targets.ranking import RankingTarget
from symscreen.targets.stages import StagesTarget
from symscreen.targets.survival import SurvivalTarget
from symscreen.targets.weighted import WeightedTarget

BinaryDecomposableTarget = RankingTarget | StagesTarget | MulticlassTarget  # have `binary_targets`
RegressionTarget = NumericTarget | MultiOutputTarget  # `values` has shape (n,) or (K, n)
Target = RegressionTarget | BinaryDecomposableTarget | SurvivalTarget | WeightedTarget


def count_labels(target: Target) -> int:
    """Return the number of labels that a row orders: k for a ranking, 2 for any other target.

    Parameters
    ----------
    target : Target
        The target.

    Returns
    -------
    int
    """
    return len(target.labels) if isinstance(target, RankingTarget) else 2


def require_numeric_target(target: Target, consumer: str) -> NumericTarget:
    """Check that a target is numeric and return it.

    Parameters
    ----------
    target : Target
        The target.
    consumer : str
        What requires a numeric target, for the message.

    Returns
    -------
    NumericTarget

    Raises
    ------
    OptionError
        If the target has another type.
    """
    if isinstance(target, NumericTarget):
        return target
    raise _build_type_error(target, consumer)


def require_regression_target(target: Target, consumer: str) -> RegressionTarget:
    """Check that a target is numeric with one or several outputs and return it.

    Parameters
    ----------
    target : Target
        The target.
    consumer : str
        What requires a numeric target, for the message.

    Returns
    -------
    NumericTarget or MultiOutputTarget

    Raises
    ------
    OptionError
        If the target has another type.
    """
    if isinstance(target, NumericTarget | MultiOutputTarget):
        return target
    raise _build_type_error(target, consumer)


def _build_type_error(target: Target, consumer: str) -> OptionError:
    """Build the error for a target that is not numeric."""
    return OptionError(
        f"{consumer} needs a numeric target, but {escape_control_chars(repr(target.name))} is "
        f"{TARGET_TYPE_DESCRIPTIONS[target.target_type]}: "
        "give a column of numbers as the target"
    )
