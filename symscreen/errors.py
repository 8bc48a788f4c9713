"""One small tree of errors: what came, why it is wrong, how to mend it.

Everything below `InputError` is the user's to mend; the command line prints it as one line and exits with
status 2. Anything else that escapes is a fault of symscreen's own.
"""

from __future__ import annotations

import difflib
import re
import reprlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "BackendError",
    "FormulaError",
    "GrammarError",
    "InputError",
    "OptionError",
    "OutputError",
    "SpaceError",
    "SymscreenError",
    "TableError",
    "nearest",
    "printable",
    "quoted",
    "short",
]


_LONGEST = 280  # with the name of the program before it, a line has fewer than 300
_TAIL = 130  # how to mend it stands at the end
_QUOTED = 60
_LONG_QUOTATION = re.compile(r"'[^'\n]{61,}'|\"[^\"\n]{61,}\"")
_LONG_WORD = re.compile(r"\S{61,}")


class SymscreenError(Exception):
    """The root: catch it to catch everything that symscreen raises on purpose.

    Its text is short, whatever it quotes.

    Examples
    --------
    >>> text = str(SymscreenError(f"there is no column {'x' * 10**6}; give another one"))
    >>> len(text), text[-24:]
    (96, 'xxxxxx; give another one')
    """

    def __str__(self) -> str:
        return short(super().__str__())


class InputError(SymscreenError, ValueError):
    """What the user gave cannot be used as it is."""


class TableError(InputError):
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


class SpaceError(InputError):
    """A space of formulas that does not fit into the memory allowed."""


def short(text: str) -> str:
    """Cut the middle out of what a message quotes, and then out of itself, until it is short.

    Parameters
    ----------
    text : str
        A message.

    Returns
    -------
    str
        At most 280 characters; the end, which says how to mend it, stays.

    Examples
    --------
    >>> short(f"top is {'9' * 10**6!r}; give a whole number of at least 1")[-41:]
    "99999'; give a whole number of at least 1"
    >>> len(short("word " * 10**5)), short("as it stands")
    (280, 'as it stands')
    """
    if len(text) <= _LONGEST:
        return text
    for long in (_LONG_QUOTATION, _LONG_WORD):
        text = long.sub(lambda found: _both_ends(found[0]), text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - _TAIL - 3]} … {text[-_TAIL:]}"


def _both_ends(text: str, most: int = _QUOTED) -> str:
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - half]}…{text[-half:]}"


def quoted(value: object) -> str:
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
    >>> print(quoted("two\nlines, λ"))
    'two\nlines, λ'
    >>> len(quoted("9" * 10**6)), quoted(7)
    (62, '7')
    """
    if isinstance(value, str):
        text = repr(value if len(value) <= 4 * _QUOTED else value[: 2 * _QUOTED] + value[-2 * _QUOTED :])
    else:
        text = reprlib.repr(value)
    return _both_ends(printable(text), _QUOTED + 2)


def printable(text: str) -> str:
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
    >>> print(printable("two\nlines, λ"))
    two\nlines, λ
    """
    return "".join(mark if mark.isprintable() else repr(mark)[1:-1] for mark in text)


def nearest(word: str, known: Iterable[str]) -> str:
    """Say which known names are close to a word, for the end of an error message.

    Parameters
    ----------
    word : str
        What the user wrote.
    known : iterable of str
        The names that would have been right.

    Returns
    -------
    str
        ``"; did you mean 'a' or 'b'?"``, or ``"; known: a, b, c"`` where nothing is close.

    Examples
    --------
    >>> nearest("sine", ["sin", "cos", "exp"])
    "; did you mean 'sin'?"
    >>> nearest("qqq", ["sin", "cos"])
    '; known: sin, cos'
    """
    names = list(known)
    folded: dict[str, str] = {}
    for name in names:
        folded.setdefault(name.strip().casefold(), name)
    close = difflib.get_close_matches(word.strip().casefold(), list(folded), n=3, cutoff=0.6)
    if close:
        return "; did you mean " + " or ".join(repr(folded[name]) for name in close) + "?"
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f"; known: {shown}" if shown else ""
