"""Where a formula stands in a screen, or why it is not there."""

from symscreen.explain.explain import why
from symscreen.explain.explanation import EXPLANATION_STATUSES, Explanation

__all__ = ["EXPLANATION_STATUSES", "Explanation", "why"]
