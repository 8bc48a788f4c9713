"""The types of options: whether a value has the type that its option declares.

A type is known by the text of its annotation: evaluating annotations would import pandas and the screeners
before ``--help`` appears.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from numbers import Real
from typing import Any

from symscreen.errors import OptionError
from symscreen.messages import quote_value

_TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {  # by annotation: the test, and how messages call it
    "str": (lambda value: isinstance(value, str), "a text"),
    "Literal": (lambda value: isinstance(value, str), "a text"),
    "Path": (lambda value: isinstance(value, os.PathLike), "a path"),
    "bool": (lambda value: isinstance(value, bool), "True or False"),
    "int": (lambda value: isinstance(value, Real) and not isinstance(value, bool), "a number"),
    "float": (lambda value: isinstance(value, Real) and not isinstance(value, bool), "a number"),
    "Mapping": (lambda value: isinstance(value, Mapping), "a mapping"),
    "Callable": (callable, "a function"),
    "ProgressCallback": (callable, "a function"),
    "StageWeight": (lambda _: True, ""),  # the target type reads it
}
_LISTS = {"Names": "a text or a list of texts", "ScreenerSpec": "a text or a list of texts or screeners"}


def split_union(annotation: str) -> list[str]:
    """Return the names of the types in a union.

    Examples
    --------
    >>> split_union("str | Mapping[str, int | str] | None")
    ['str', 'Mapping', 'None']
    """
    while "[" in annotation:
        annotation = re.sub(r"\[[^\[\]]*\]", "", annotation)
    return annotation.split(" | ")


def read_value(name: str, value: Any, annotation: str, *, names_column: bool = False) -> Any:
    """Check that a value has the type of its option; write several names as a list.

    Parameters
    ----------
    name : str
        The option's name.
    value : object
        What the user gave.
    annotation : str
        The option's type as its definition writes it.
    names_column : bool
        Whether a text is the name of a column, for the message.

    Returns
    -------
    object
        The value; for names that are not one text a tuple or a list of plain texts.

    Raises
    ------
    OptionError
        If the value has none of the types.

    Examples
    --------
    >>> read_value("inputs", (name for name in "ab"), "Names | None")
    ['a', 'b']
    >>> read_value("weights", [0.5, 2.0], "str | None", names_column=True)
    Traceback (most recent call last):
    ...
    symscreen.errors.OptionError: weights is [0.5, 2.0]; give the name of a column
    """
    types = [each for each in split_union(annotation) if each != "None"]
    for each in types:
        if each in _LISTS:
            return _read_list(name, value, each)
        if _has_type(value, each):
            return str(value) if isinstance(value, str) else value
    expected = [
        "the name of a column" if names_column and each == "str" else _TYPES.get(each, (None, f"a {each}"))[1]
        for each in types
    ]
    raise OptionError(f"{name} is {quote_value(value)}; give {' or '.join(dict.fromkeys(expected))}")


def _has_type(value: Any, expected: str) -> bool:
    """Say whether a value has a type; classes that are not in the table are known by their names."""
    if expected in _TYPES:
        return _TYPES[expected][0](value)
    return any(each.__name__ == expected for each in type(value).__mro__)


def _read_list(name: str, value: Any, expected: str) -> Any:
    """Return one member as it is, or the members of anything that contains some; of a set they are sorted."""
    members = _list_members(value, expected)
    if members is None or not all(_is_member(each, expected) for each in members):
        raise OptionError(f"{name} is {quote_value(value)}; give {_LISTS[expected]}")
    plain = [str(each) if isinstance(each, str) else each for each in members]
    if _is_member(value, expected):
        return plain[0]
    return tuple(plain) if isinstance(value, tuple) else plain


def _list_members(value: Any, expected: str) -> list[Any] | None:
    """List what a value contains; None where it is no list of any kind."""
    if _is_member(value, expected):
        return [value]
    if value is None and expected == "Names":
        return []
    if isinstance(value, Mapping) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) != 1:
        return None
    return sorted(value, key=str) if isinstance(value, AbstractSet) else list(value)


def _is_member(value: Any, expected: str) -> bool:
    """Say whether a value is a text, or a screener where the option takes them."""
    return isinstance(value, str) or (
        expected == "ScreenerSpec" and any(_has_type(value, each) for each in ("Screener", "JointScreener"))
    )
