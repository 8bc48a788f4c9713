"""Screeners: what one is, those there are, and a registry."""

from symscreen.screeners.base import Screener, Sign
from symscreen.screeners.registry import SCREENERS, screeners_named

__all__ = ["SCREENERS", "Screener", "Sign", "screeners_named"]
