"""Screeners: one file for each, and a registry."""

from symscreen.screeners.base import Screener, Sign
from symscreen.screeners.registry import SCREENERS, screeners_named

__all__ = ["SCREENERS", "Screener", "Sign", "screeners_named"]
