"""Backends: where tasks run."""

from symscreen.backends.base import Backend
from symscreen.backends.threads import Threads, available_cores

__all__ = ["Backend", "Threads", "available_cores"]
