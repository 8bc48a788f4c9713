"""Texts and values of options: amounts, integers, names, formulas; read, checked and written."""

from __future__ import annotations

import math
import re
from operator import index
from typing import TYPE_CHECKING, SupportsIndex

from symscreen._limits import compute_max_resident_bytes, find_minimum, get_total_memory, read_resident_bytes
from symscreen.errors import OptionError
from symscreen.messages import name_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen._typing import Names


_MAX_INTEGER = 10**18
_MAX_COUNT_DIGITS = 18  # digits: what 64 bits hold
DEFAULT_PRESCREEN = 1000  # features that joint screeners get
_MEMORY_SHARE = 0.8


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
        If the text is not an amount.

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


def parse_memory_limit(max_ram: str | int | None) -> int | None:
    """Return how many bytes may be used: what was given, else four fifths of what is there; within limits."""
    if max_ram is not None:
        return find_minimum(parse_bytes(max_ram), compute_max_resident_bytes(read_resident_bytes()))
    there = find_minimum(get_total_memory(), compute_max_resident_bytes(read_resident_bytes()))
    return None if there is None else int(_MEMORY_SHARE * there)


def parse_names(names: Names) -> list[str]:
    """Split ``"a, b"`` into names; a list stays as it is."""
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def to_tuple(also: Names) -> tuple[str, ...]:
    """Return one formula, or several, as a tuple."""
    return (also,) if isinstance(also, str) else tuple(also or ())


def check_positive_int(name: str, value: object, alternatives: str = "") -> int:
    """Convert any kind of integer, numpy's included, to int.

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
        raise OptionError(f"{name} is {value!r}; give a whole number of at least 1{alternatives}")
    if whole > _MAX_INTEGER:
        raise OptionError(f"{name} is {value!r}; give at most {_MAX_INTEGER}{alternatives}")
    return whole


def parse_top(top: int | str) -> int | None:
    """Read ``top``: an integer, or None for ``"all"``."""
    return None if top == "all" else check_positive_int("top", top, ", or 'all'")


def check_sign(sign: str) -> None:
    """Refuse any other sign than ``free`` and ``positive``."""
    if sign not in {"free", "positive"}:
        raise OptionError(f"sign is {sign!r}; it must be 'free' or 'positive'")


def is_count_text(text: str) -> bool:
    """Say whether a text is an integer of at least 1 that fits into 64 bits."""
    return text.isascii() and text.isdecimal() and len(text) <= _MAX_COUNT_DIGITS and int(text) > 0


def parse_top_text(text: str, option: str) -> int | str:
    """Read an integer of at least 1, or ``all``."""
    if text == "all":
        return text
    if not is_count_text(text):
        raise OptionError(f"{name_option(option)} is {text!r}; give a whole number of at least 1, or all")
    return int(text)


def parse_level_text(text: str, option: str) -> float:
    """Read a level between 0 and 1."""
    try:
        level = float(text)
    except ValueError:
        level = math.nan
    if not 0.0 < level < 1.0:
        raise OptionError(
            f"{name_option(option)} is {text!r}; give a level between 0 and 1, {name_option(option)}=0.9, "
            f"or none: then put {name_option(option)} after DATA"
        )
    return level


def write_names(names: Names) -> str:
    """Write columns as ``--inputs`` reads them: ``a,b``, names with a comma in backticks.

    Examples
    --------
    >>> write_names(["a,b", "c"]), write_names("a,b")
    ('`a,b`,c', 'a,b')
    """
    return names if isinstance(names, str) else ",".join(map(_quote_column, names))


def _quote_column(name: str) -> str:
    """Put a column's name in backticks where it could be misread."""
    plain = name and name == name.strip() and not re.search("[,`]", name)
    return name if plain else f"`{name.replace('`', '``')}`"


def write_pairs(pairs: Mapping[str, int]) -> str:
    """Write a number for each kind of layer, ``u:50,b:200``."""
    return ",".join(f"{kind}:{number}" for kind, number in pairs.items())


def write_units(units: Mapping[str, str]) -> str:
    """Say where units come from: the headers, or a file that holds those of the record."""
    from_headers = all(unit in name for name, unit in units.items())
    return "strict" if from_headers else "UNITS.json"
