"""The exceptions of symscreen, and helpers that format names and values for their messages.

A message says what came, why it is wrong, and how to fix it. The user can fix an `InputError`: the command
line prints it as one line and exits with status 2. Any other exception is a bug in symscreen.
"""

from __future__ import annotations

import difflib
import re
import reprlib
from typing import TYPE_CHECKING

from symscreen.messages import KEYWORD, OptionStyle, find_options, render_message

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    import numpy as np
    from numpy.typing import NDArray


_MAX_MESSAGE_CHARS = 280  # with the program's name, a line has fewer than 300 characters
_TAIL_CHARS = 130  # the end of a message says how to fix the error
_MAX_QUOTED_CHARS = 60
_LONG_QUOTATION = re.compile(r"'[^'\n]{61,}'|\"[^\"\n]{61,}\"")
_LONG_WORD = re.compile(r"\S{61,}")


class SymscreenError(Exception):
    """The base class of all errors that symscreen raises on purpose.

    Its message is short, even if it quotes long values.

    Examples
    --------
    >>> text = str(SymscreenError(f"there is no column {'x' * 10**6}; give another one"))
    >>> len(text), text[-24:]
    (96, 'xxxxxx; give another one')
    >>> error = OptionError(f"{name_option('jobs', 0)} starts no worker; give at least 1")
    >>> error.options, str(error)
    (('jobs',), 'jobs=0 starts no worker; give at least 1')
    >>> error.render(COMMAND_LINE)
    '--jobs 0 starts no worker; give at least 1'
    """

    option_style: OptionStyle = KEYWORD

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options that the message refers to."""
        return find_options(super().__str__())

    def render(self, style: OptionStyle) -> str:
        """Write the message for a front end, in at most 280 characters."""
        return truncate_message(render_message(super().__str__(), style))

    def __str__(self) -> str:
        return self.render(self.option_style)


class InputError(SymscreenError, ValueError):
    """An input of the user cannot be used."""


class DataError(InputError):
    """The data: a file that cannot be read, a column that is missing, values that cannot be ranked."""


class GrammarError(InputError):
    """A grammar or an operator: an unknown name, a bad rule, a definition that does not parse."""


class FormulaError(InputError):
    """A formula that the one notation cannot read."""


class OptionError(InputError):
    """An option whose value has no meaning."""


class OutputError(InputError):
    """A result that cannot be written where it was asked for."""


class BackendError(InputError):
    """Workers that were lost, or that cannot do what they are asked to."""


class MemoryLimitError(InputError):
    """A space of formulas that does not fit into the memory allowed."""


def truncate_message(text: str) -> str:
    """Cut the middle out of what a message quotes, and then out of itself, until it is short.

    Parameters
    ----------
    text : str
        A message.

    Returns
    -------
    str
        At most 280 characters. The end, which says how to fix the error, is kept.

    Examples
    --------
    >>> truncate_message(f"top is {'9' * 10**6!r}; give an integer of at least 1")[-37:]
    "99999'; give an integer of at least 1"
    >>> len(truncate_message("word " * 10**5)), truncate_message("as it stands")
    (280, 'as it stands')
    """
    if len(text) <= _MAX_MESSAGE_CHARS:
        return text
    for long in (_LONG_QUOTATION, _LONG_WORD):
        text = long.sub(lambda found: _truncate_middle(found[0]), text)
    return (
        text
        if len(text) <= _MAX_MESSAGE_CHARS
        else f"{text[: _MAX_MESSAGE_CHARS - _TAIL_CHARS - 3]} … {text[-_TAIL_CHARS:]}"
    )


def _truncate_middle(text: str, max_length: int = _MAX_QUOTED_CHARS) -> str:
    half = (max_length - 1) // 2
    return text if len(text) <= max_length else f"{text[: max_length - 1 - half]}…{text[-half:]}"


def quote_value(value: object) -> str:
    r"""Quote what a user gave, for a message: on one line, and shortened.

    Parameters
    ----------
    value : object
        A text as a rule; of anything else its `repr`, shortened.

    Returns
    -------
    str
        At most 60 characters and the quotes; both ends are seen.

    Examples
    --------
    >>> print(quote_value("two\nlines, λ"))
    'two\nlines, λ'
    >>> len(quote_value("9" * 10**6)), quote_value(7)
    (62, '7')
    """
    if isinstance(value, str):
        text = repr(
            value
            if len(value) <= 4 * _MAX_QUOTED_CHARS
            else value[: 2 * _MAX_QUOTED_CHARS] + value[-2 * _MAX_QUOTED_CHARS :]
        )
    else:
        text = reprlib.repr(value)
    return _truncate_middle(escape_control_chars(text), _MAX_QUOTED_CHARS + 2)


def escape_control_chars(text: str) -> str:
    r"""Show the control characters of a text, which would break a line or steer a terminal.

    Parameters
    ----------
    text : str
        Any text, such as a column's name.

    Returns
    -------
    str
        On one line.

    Examples
    --------
    >>> print(escape_control_chars("two\nlines, λ"))
    two\nlines, λ
    """
    return "".join(mark if mark.isprintable() else repr(mark)[1:-1] for mark in text)


def suggest(word: str, known_names: Iterable[str]) -> str:
    """Say which known names are close to a word, for the end of an error message.

    Parameters
    ----------
    word : str
        What the user wrote.
    known_names : iterable of str
        The names that would have been right.

    Returns
    -------
    str
        ``"; did you mean 'a' or 'b'?"``, or ``"; known: a, b, c"`` where nothing is close.

    Examples
    --------
    >>> suggest("sine", ["sin", "cos", "exp"])
    "; did you mean 'sin'?"
    >>> suggest("qqq", ["sin", "cos"])
    '; known: sin, cos'
    """
    names = list(known_names)
    folded: dict[str, str] = {}
    for name in names:
        folded.setdefault(name.strip().casefold(), name)
    close = difflib.get_close_matches(word.strip().casefold(), list(folded), n=3, cutoff=0.6)
    if close:
        return "; did you mean " + " or ".join(repr(folded[name]) for name in close) + "?"
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f"; known: {shown}" if shown else ""


_MAX_LISTED = 10


def quote(text: object) -> str:
    """Quote a name or a cell, shortened in its middle if it is long.

    Examples
    --------
    >>> print(quote("a b"))
    'a b'
    """
    whole = repr(str(text))
    return whole if len(whole) <= 60 else f"{whole[:40]}…{whole[-15:]}"


def format_names(names: Collection[str]) -> str:
    """Quote the first names of many.

    Examples
    --------
    >>> format_names(["a", "b"])
    "'a', 'b'"
    """
    shown = ", ".join(quote(name) for name in list(names)[:_MAX_LISTED])
    return shown + (f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else "")


def format_count(number: int, noun: str) -> str:
    """Count things in words.

    Examples
    --------
    >>> format_count(1, "row"), format_count(3, "row")
    ('1 row', '3 rows')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def format_rows(row_mask: NDArray[np.bool_]) -> str:
    """Name the rows where a mask holds; the first data row is row 1.

    Examples
    --------
    >>> import numpy as np
    >>> format_rows(np.array([False, True, True]))
    'rows 2, 3'
    """
    import numpy as np  # errors must not load numpy at startup

    numbers = np.flatnonzero(row_mask) + 1
    shown = ", ".join(str(number) for number in numbers[:_MAX_LISTED])
    return f"row{'' if numbers.size == 1 else 's'} {shown}" + (", …" if numbers.size > _MAX_LISTED else "")


def suggest_column(word: str, known_names: Collection[str]) -> str:
    """Say which known names are close to a word, on one line; see `symscreen.errors.suggest`.

    Examples
    --------
    >>> suggest_column("hight", ["height", "width"])
    "; did you mean 'height'?"
    """
    return escape_control_chars(suggest(word, known_names))
