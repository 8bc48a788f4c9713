"""Target types: what formulas are scored against, one file for each type."""

from symscreen.targets.base import Target, TargetType
from symscreen.targets.numeric import NumericTarget

__all__ = ["NumericTarget", "Target", "TargetType"]
