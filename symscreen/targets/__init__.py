"""What a response is, one file for each kind, and what a rank statistic needs of it."""

from symscreen.targets.numeric import TARGET_TYPE_DESCRIPTIONS, NumericTarget, TargetType

__all__ = ["TARGET_TYPE_DESCRIPTIONS", "NumericTarget", "TargetType"]
