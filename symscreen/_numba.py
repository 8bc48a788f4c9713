"""Compilation of kernels with numba: without the interpreter's lock, cached on disk where possible."""

from __future__ import annotations

import sys
from threading import Lock
from typing import TYPE_CHECKING, Any

import numba
from numba.core import event

if TYPE_CHECKING:
    from collections.abc import Callable


_COMPILE_MESSAGE = "symscreen: compiling for this machine; that takes some seconds, and happens once\n"


def compile_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function with numba when it is first called.

    Parameters
    ----------
    function : callable
        A function of arrays and numbers that changes arrays in place or returns a number.

    Returns
    -------
    callable
        The compiled function, cached on disk. Where neither the package's folder nor the user's home can be
        written, it is compiled again in each run. Division by zero gives infinity or NaN, as in numpy.
    """
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # raised by numba if no cache folder can be written
        return numba.njit(nogil=True, error_model="numpy")(function)


class CompileNotice(event.Listener):
    """Prints one line on a terminal when the first kernel is compiled.

    Parameters
    ----------
    package : str
        The package whose kernels are announced.
    """

    def __init__(self, package: str = "symscreen") -> None:
        self._package = package
        self._lock = Lock()

    def on_start(self, event: Any) -> None:
        """Print the line if a kernel is compiled rather than loaded; called by numba."""
        function = event.data["dispatcher"].py_func
        ours = str(function.__module__).split(".")[0] == self._package
        if ours and sys.stderr.isatty() and self._lock.acquire(blocking=False):
            sys.stderr.write(_COMPILE_MESSAGE)
            sys.stderr.flush()

    def on_end(self, event: Any) -> None:
        """Do nothing."""

    def mute(self) -> None:
        """Print nothing from now on."""
        self._lock.acquire(blocking=False)


COMPILE_NOTICE = CompileNotice()
event.register("numba:compile", COMPILE_NOTICE)  # type: ignore[no-untyped-call]
