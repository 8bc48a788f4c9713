"""Backends: run tasks in threads or in Dask worker processes."""

from symscreen.backends.base import Backend, ReducingBackend, map_reduce
from symscreen.backends.dask import Dask
from symscreen.backends.registry import BACKENDS, make_backend
from symscreen.backends.threads import Threads, count_available_cores

__all__ = [
    "BACKENDS",
    "Backend",
    "Dask",
    "ReducingBackend",
    "Threads",
    "count_available_cores",
    "make_backend",
    "map_reduce",
]
