"""Values of options that data, targets and options share. The module imports nothing large.

The command line reads its options from here, so that its help appears without numpy.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from symscreen.errors import OptionError
from symscreen.messages import name_option

if TYPE_CHECKING:
    from collections.abc import Sequence

TargetTypeChoice = Literal["numeric", "classes", "several"]  # the target types that users may ask for by name
ExperimentSize = Literal["small", "medium", "full"]  # how much of an experiment of a paper is run
EffortName = Literal["quick", "default", "thorough"]  # how much a fit searches, see `fitting/effort.py`

_NAME_PATTERN = re.compile(r"\s*(?:`((?:[^`]|``)*)`|([^,`]*))\s*(?:,|$)")


def split_column_names(names: str | Sequence[str] | None, option: str) -> tuple[str, ...]:
    """Return the columns that an option names: a text is split, a list stays as it is, None names no column.

    Raises
    ------
    OptionError
        If a text cannot be split, see `parse_name_list`.

    Examples
    --------
    >>> split_column_names("viewed,`liked, or shared`", "stages"), split_column_names(["a,b"], "stages")
    (('viewed', 'liked, or shared'), ('a,b',))
    """
    if isinstance(names, str):
        return parse_name_list(names, option)
    return tuple(map(str, names or ()))


def parse_name_list(text: str, option: str) -> tuple[str, ...]:
    """Split a text such as ``a,b`` into column names.

    Parameters
    ----------
    text : str
        Names separated by commas. A name that contains a comma is written in backticks.
    option : str
        The name of the option that the text belongs to, for messages.

    Returns
    -------
    tuple of str

    Raises
    ------
    OptionError
        If the text cannot be split or a name is empty.

    Examples
    --------
    >>> parse_name_list("a, `b,c`", "inputs")
    ('a', 'b,c')
    """
    names, position = [], 0
    while position < len(text):
        match = _NAME_PATTERN.match(text, position)
        if match is None:
            raise OptionError(
                f"{name_option(option)}: cannot split {text!r} at character {position + 1}; write a,b or "
                "`a,b`,c"
            )
        quoted, bare = match.groups()
        if quoted is None and not bare.strip():
            raise OptionError(
                f"{name_option(option)} is {text!r}, which has no name between two commas; write a,b, "
                "and a column without a name as ``"
            )
        names.append(bare.strip() if quoted is None else quoted.replace("``", "`"))
        position = match.end()
        if position == len(text) and match.group().endswith(","):
            raise OptionError(
                f"{name_option(option)} is {text!r}, which has no name after the last comma; drop the comma"
            )
    return tuple(names)
