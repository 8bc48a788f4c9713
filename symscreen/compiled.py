"""How kernels are compiled: without the interpreter's lock, and kept for the next run where there is room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["kernel"]


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
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
