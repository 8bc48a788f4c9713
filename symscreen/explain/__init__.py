"""Explain the rank of a formula in a screen, or why it is missing."""

from symscreen.explain.explain import why
from symscreen.explain.explanation import EXPLANATION_STATUSES, Explanation

__all__ = ["EXPLANATION_STATUSES", "Explanation", "why"]
