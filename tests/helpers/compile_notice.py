"""The line about compiling, which the first process on a machine writes and later ones do not."""

from __future__ import annotations

from symscreen._numba import COMPILE_MESSAGE


def drop_compile_notice(text: str | bytes) -> str:
    """Return what a process wrote on standard error, without the line about compiling."""
    return (text.decode() if isinstance(text, bytes) else text).replace(COMPILE_MESSAGE, "")
