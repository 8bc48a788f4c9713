"""Amounts, whole numbers, names and formulas as users give them."""

from __future__ import annotations

import re
from operator import index
from typing import TYPE_CHECKING, SupportsIndex

from symscreen.errors import OptionError
from symscreen.expansion import resident
from symscreen.limits import least, may_hold, whole_memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    Names = str | Sequence[str]

__all__ = [
    "at_least_1",
    "check_sign",
    "formula_texts",
    "list_of_names",
    "parse_bytes",
    "read_limit",
    "read_memory",
]

_MOST = 10**18
_SHARE_OF_MEMORY = 0.8


def parse_bytes(text: str | int) -> int:
    """Read an amount of memory.

    Parameters
    ----------
    text : str or int
        ``"2GB"``, ``"500 MB"``, or bytes; steps of 1000, whether an ``i`` is written or not.

    Returns
    -------
    int

    Raises
    ------
    OptionError
        If the text is no amount.

    Examples
    --------
    >>> parse_bytes("1.5GB")
    1500000000
    """
    match = re.fullmatch(
        r"\s*(\d{1,18}(?:\.\d{1,18})?)\s*([kmgt]?)i?b?\s*", str(text), re.IGNORECASE | re.ASCII
    )
    if match is None or float(match[1]) == 0:
        raise OptionError(f"max_ram is {text!r}; give an amount such as 2GB or 500MB")
    return int(float(match[1]) * 1000 ** " kmgt".index(match[2].lower() or " "))


def read_memory(max_ram: str | int | None) -> int | None:
    """Return how many bytes may be used: what was given, else four fifths of what is there; within limits."""
    if max_ram is not None:
        return least(parse_bytes(max_ram), may_hold(resident()))
    there = least(whole_memory(), may_hold(resident()))
    return None if there is None else int(_SHARE_OF_MEMORY * there)


def list_of_names(names: Names) -> list[str]:
    """Split ``"a, b"`` into names; a list stays as it is."""
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def formula_texts(also: Names) -> tuple[str, ...]:
    """Return one formula, or several, as a tuple."""
    return (also,) if isinstance(also, str) else tuple(also or ())


def at_least_1(name: str, value: object, other: str = "") -> int:
    """Take any kind of whole number, numpy's included.

    Raises
    ------
    OptionError
        If it is none, below 1, or more than 64 bits hold.
    """
    try:
        whole = 0 if isinstance(value, bool) or not isinstance(value, SupportsIndex) else index(value)
    except TypeError:  # an array of several numbers
        whole = 0
    if whole < 1:
        raise OptionError(f"{name} is {value!r}; give a whole number of at least 1{other}")
    if whole > _MOST:
        raise OptionError(f"{name} is {value!r}; give at most {_MOST}{other}")
    return whole


def read_limit(top: int | str) -> int | None:
    """Read ``top``: a whole number, or None for ``"all"``."""
    return None if top == "all" else at_least_1("top", top, ", or 'all'")


def check_sign(sign: str) -> None:
    """Refuse any other sign than ``free`` and ``positive``."""
    if sign not in {"free", "positive"}:
        raise OptionError(f"sign is {sign!r}; it must be 'free' or 'positive'")
