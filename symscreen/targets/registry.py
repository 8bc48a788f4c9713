"""All target types, and checks for targets that are numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symscreen.errors import OptionError
from symscreen.messages import escape_control_chars
from symscreen.targets.multiclass import MulticlassTarget
from symscreen.targets.multioutput import MultiOutputTarget
from symscreen.targets.numeric import NumericTarget
from symscreen.targets.ranking import RankingTarget
from symscreen.targets.stages import StagesTarget
from symscreen.targets.survival import SurvivalTarget
from symscreen.targets.weighted import WeightedTarget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.targets.base import Target


TARGET_TYPES: dict[str, type[Target]] = {
    "numeric": NumericTarget,
    "ranking": RankingTarget,
    "stages": StagesTarget,
    "classes": MulticlassTarget,
    "several": MultiOutputTarget,
    "survival": SurvivalTarget,
    "weighted": WeightedTarget,
}
RegressionTarget = NumericTarget | MultiOutputTarget  # `values` has shape (n,) or (K, n)


def list_types_with_method(method: str) -> tuple[str, ...]:
    """List the target types that have a method, for screeners whose statistic is a method of the target.

    Raises
    ------
    ValueError
        If no target type has it.

    Examples
    --------
    >>> list_types_with_method("compute_xi")
    ('numeric', 'classes')
    """
    names = tuple(name for name, target in TARGET_TYPES.items() if hasattr(target, method))
    if not names:
        raise ValueError(
            f"no target type has a method {method!r}; write the target types as a tuple of names"
        )
    return names


def find_recorded_type(data: Mapping[str, Any]) -> type[Target]:
    """Find the target type of a run from the entry ``data`` of its record."""
    return next((target for name, target in TARGET_TYPES.items() if name in data), NumericTarget)


def require_numeric_target(target: Target, consumer: str) -> NumericTarget:
    """Return a target that must be numeric; OptionError names the consumer otherwise."""
    if isinstance(target, NumericTarget):
        return target
    raise _build_type_error(target, consumer)


def require_regression_target(target: Target, consumer: str) -> RegressionTarget:
    """Return a target that must be numeric with one or several outputs; OptionError otherwise."""
    if isinstance(target, NumericTarget | MultiOutputTarget):
        return target
    raise _build_type_error(target, consumer)


def _build_type_error(target: Target, consumer: str) -> OptionError:
    """Build the error for a target that is not numeric."""
    return OptionError(
        f"{consumer} needs a numeric target, but {escape_control_chars(repr(target.name))} is "
        f"{target.description}: give a column of numbers as the target"
    )
