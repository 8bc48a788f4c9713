"""Names, cells and rows as messages show them: short, and on one line whatever they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import nearest, printable

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

__all__ = ["count", "first_rows", "listed", "near", "quoted"]

_SHOWN = 10


def quoted(text: object) -> str:
    """Quote a name or a cell, shortened in its middle if it is long.

    Examples
    --------
    >>> print(quoted("a b"))
    'a b'
    """
    whole = repr(str(text))
    return whole if len(whole) <= 60 else f"{whole[:40]}…{whole[-15:]}"


def listed(names: Collection[str]) -> str:
    """Quote the first names of many.

    Examples
    --------
    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    shown = ", ".join(quoted(name) for name in list(names)[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def count(number: int, thing: str) -> str:
    """Count things in words.

    Examples
    --------
    >>> count(1, "row"), count(3, "row")
    ('1 row', '3 rows')
    """
    return f"{number} {thing}{'' if number == 1 else 's'}"


def first_rows(chosen: NDArray[np.bool_]) -> str:
    """Name the rows where a mask holds; the first data row is row 1.

    Examples
    --------
    >>> first_rows(np.array([False, True, True]))
    'rows 2, 3'
    """
    numbers = np.flatnonzero(chosen) + 1
    shown = ", ".join(str(number) for number in numbers[:_SHOWN])
    return f"row{'' if numbers.size == 1 else 's'} {shown}" + (", …" if numbers.size > _SHOWN else "")


def near(word: str, known: Collection[str]) -> str:
    """Say which known names are close to a word, on one line; see `symscreen.errors.nearest`.

    Examples
    --------
    >>> near("hight", ["height", "width"])
    "; did you mean 'height'?"
    """
    return printable(nearest(word, known))
