"""Several names in one text: `a,b`, and those with a comma in backticks."""

from __future__ import annotations

import re

from symscreen.errors import OptionError

__all__ = ["names_in"]

_NAME = re.compile(r"\s*(?:`((?:[^`]|``)*)`|([^,`]*))\s*(?:,|$)")


def names_in(text: str, said: str) -> tuple[str, ...]:
    """Split ``a,b`` into names; a name with a comma stands in backticks.

    Parameters
    ----------
    text : str
        The names.
    said : str
        Who has them, for the message.

    Returns
    -------
    tuple of str

    Raises
    ------
    OptionError
        If the text cannot be split, or nothing is named between two commas or after the last one.

    Examples
    --------
    >>> names_in("a, `b,c`", "--inputs")
    ('a', 'b,c')
    """
    names, place = [], 0
    while place < len(text):
        match = _NAME.match(text, place)
        if match is None:
            raise OptionError(f"{said}: cannot split {text!r} at character {place + 1}; write a,b or `a,b`,c")
        quoted, bare = match.groups()
        if quoted is None and not bare.strip():
            raise OptionError(
                f"{said} is {text!r}, which names nothing between two commas; write a,b, and a column "
                "without a name as ``"
            )
        names.append(bare.strip() if quoted is None else quoted.replace("``", "`"))
        place = match.end()
        if place == len(text) and match.group().endswith(","):
            raise OptionError(f"{said} is {text!r}, which names nothing after the last comma; drop the comma")
    return tuple(names)
