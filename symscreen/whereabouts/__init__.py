"""Where a formula stands in a screen, or why it is not there."""

from symscreen.whereabouts.answer import ANSWERS, Why
from symscreen.whereabouts.question import why

__all__ = ["ANSWERS", "Why", "why"]
