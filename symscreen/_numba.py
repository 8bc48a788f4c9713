"""Compile kernels: functions that numba compiles for this machine, cached on disk where possible."""

from __future__ import annotations

import functools
import sys
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Any

import numba
from numba.core import event, types
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys

if TYPE_CHECKING:
    from collections.abc import Callable


COMPILE_MESSAGE = "symscreen: compiling a part for this machine; it takes some seconds, once for each part\n"
_DISPATCHER_LOCK = Lock()
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_INNER_OPTIONS = _OPTIONS | {"no_cpython_wrapper": True}


class Kernel:
    """A function that numba compiles when it is first called.

    Numba's own objects for it are made at the first use, because a run uses few of all kernels. What other
    kernels call is a second object, without the wrapper for calls from Python, which takes long to compile.

    Parameters
    ----------
    function : callable
        See `compile_kernel`.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._dispatcher: Any = None
        self._inner_dispatcher: Any = None

    @property
    def dispatcher(self) -> Any:
        """Numba's object, which compiles and calls the function."""
        if self._dispatcher is None:
            with _DISPATCHER_LOCK:
                if self._dispatcher is None:
                    self._dispatcher = _make_dispatcher(self.py_func)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """What numba takes a kernel for that another kernel calls, or that calls itself."""
        if self._dispatcher is not None and self._dispatcher.is_compiling:
            return types.Dispatcher(self._dispatcher)  # a recursive kernel calls what is being compiled
        if self._inner_dispatcher is None:
            with _DISPATCHER_LOCK:
                if self._inner_dispatcher is None:
                    self._inner_dispatcher = numba.njit(**_INNER_OPTIONS)(self.py_func)
        return types.Dispatcher(self._inner_dispatcher)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.dispatcher(*arguments, **keywords)

    def __reduce__(self) -> str:
        return str(self.py_func.__qualname__)  # pickled by its name, as a function is


def compile_kernel(function: Callable[..., Any]) -> Kernel:
    """Compile a function with numba when it is first called.

    Parameters
    ----------
    function : callable
        A function of arrays and numbers that changes arrays in place or returns a number.

    Returns
    -------
    Kernel
        The compiled function, cached on disk. Where neither the package's folder nor the user's home can be
        written, it is compiled again in each run. Division by zero gives infinity or NaN, as in numpy.
    """
    return Kernel(function)


def _make_dispatcher(function: Callable[..., Any]) -> Any:
    """Let numba compile a function at its first call; without a wrapper for C, which nothing here calls."""
    dispatcher: Any = numba.njit(**_OPTIONS)(function)
    with suppress(RuntimeError):  # raised by numba if no cache folder can be written
        # as numba's own `enable_caching` does
        dispatcher._cache = _KernelCache(function)  # type: ignore[no-untyped-call]  # noqa: SLF001
    return dispatcher


class _KernelCache(FunctionCache):
    """Numba's cache of a function, which loads what was compiled without what only compiling needs.

    Numba's own class first imports the definitions of all functions that kernels may call, and scipy's
    linear algebra among them. That takes longer than loading the kernels of a small screen. Compiling imports
    the definitions itself; a kernel from the cache needs the functions of numba's runtime only.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load the function compiled for the given types; None if the cache does not contain it."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]


class CompileNotice(event.Listener):
    """Prints one line on standard error when the first kernel is compiled, on a terminal or not.

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
        if ours and sys.stderr is not None and self._lock.acquire(blocking=False):
            sys.stderr.write(COMPILE_MESSAGE)
            sys.stderr.flush()

    def on_end(self, event: Any) -> None:
        """Do nothing."""

    def mute(self) -> None:
        """Print nothing from now on."""
        self._lock.acquire(blocking=False)


COMPILE_NOTICE = CompileNotice()
event.register("numba:compile", COMPILE_NOTICE)  # type: ignore[no-untyped-call]
