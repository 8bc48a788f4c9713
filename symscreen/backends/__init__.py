"""Backends: where tasks run."""

from symscreen.backends.base import Backend
from symscreen.backends.registry import BACKENDS, backend_named
from symscreen.backends.threads import Threads, available_cores

__all__ = ["BACKENDS", "Backend", "Threads", "available_cores", "backend_named"]
