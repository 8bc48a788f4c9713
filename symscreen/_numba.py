"""How kernels are compiled: without the interpreter's lock, and kept for the next run where there is room."""

from __future__ import annotations

import sys
from threading import Lock
from typing import TYPE_CHECKING, Any

import numba
from numba.core import event

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = ["COMPILE_NOTICE", "CompileNotice", "compile_kernel"]

_COMPILE_MESSAGE = "symscreen: compiling for this machine; that takes some seconds, and happens once\n"


def compile_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function with numba when it is first called.

    Parameters
    ----------
    function : callable
        Arrays and numbers in, arrays changed in place or a number out.

    Returns
    -------
    callable
        Cached on disk; where neither the package's folder nor the user's home can be written, compiled anew
        in each run. A quotient by zero is infinite or NaN, as numpy's is.
    """
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # numba's word for having no place to cache
        return numba.njit(nogil=True, error_model="numpy")(function)


class CompileNotice(event.Listener):
    """Say once, to who sits at a terminal, that kernels are being compiled.

    Parameters
    ----------
    package : str
        Whose kernels are meant.
    """

    def __init__(self, package: str = "symscreen") -> None:
        self._package = package
        self._lock = Lock()

    def on_start(self, event: Any) -> None:
        """Speak up when the first kernel is compiled, not loaded; numba calls this."""
        function = event.data["dispatcher"].py_func
        ours = str(function.__module__).split(".")[0] == self._package
        if ours and sys.stderr.isatty() and self._lock.acquire(blocking=False):
            sys.stderr.write(_COMPILE_MESSAGE)
            sys.stderr.flush()

    def on_end(self, event: Any) -> None:
        """Do nothing."""

    def mute(self) -> None:
        """Say nothing from now on."""
        self._lock.acquire(blocking=False)


COMPILE_NOTICE = CompileNotice()
event.register("numba:compile", COMPILE_NOTICE)  # type: ignore[no-untyped-call]
