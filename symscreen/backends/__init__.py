"""Backends: where tasks run."""

from symscreen.backends.base import Backend, Reducing, parts_of
from symscreen.backends.dask import Dask
from symscreen.backends.threads import Threads, available_cores

__all__ = ["Backend", "Dask", "Reducing", "Threads", "available_cores", "parts_of"]
