"""TOML that somebody else wrote, read in bounded time and memory."""

from __future__ import annotations

import tomllib
from typing import Any

__all__ = ["bounded_toml"]

_MAX_DOTS = 200


def bounded_toml(data: bytes) -> dict[str, Any]:
    """Read TOML.

    Parameters
    ----------
    data : bytes
        UTF-8, with or without a byte order mark; how long it may be, the caller says.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If it is no TOML, nested too deeply, or has a line with more than 200 dots.

    Examples
    --------
    >>> bounded_toml(b'length = "mm"')
    {'length': 'mm'}
    >>> bounded_toml(b"a." * 999 + b"a = 1")
    Traceback (most recent call last):
    ...
    ValueError: a line has more than 200 dots
    """
    # tomllib takes memory that grows as the square of the length of a dotted key
    if any(line.count(b".") > _MAX_DOTS for line in data.splitlines()):
        raise ValueError(f"a line has more than {_MAX_DOTS} dots")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
