"""Target types: one module per type, with the quantities that rank statistics need."""

from symscreen.targets.numeric import TARGET_TYPE_DESCRIPTIONS, NumericTarget, TargetType

__all__ = ["TARGET_TYPE_DESCRIPTIONS", "NumericTarget", "TargetType"]
