"""Backends: where tasks run."""

from symscreen.backends.base import Backend, Reducing, parts_of
from symscreen.backends.dask import Dask
from symscreen.backends.registry import BACKENDS, backend_named
from symscreen.backends.threads import Threads, available_cores

__all__ = [
    "BACKENDS",
    "Backend",
    "Dask",
    "Reducing",
    "Threads",
    "available_cores",
    "backend_named",
    "parts_of",
]
