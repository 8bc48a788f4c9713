"""Target types: what formulas are scored against. Each file has one type."""

from symscreen.targets.base import Target, TargetType
from symscreen.targets.numeric import NumericTarget

__all__ = ["NumericTarget", "Target", "TargetType"]
