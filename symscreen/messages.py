"""Texts of messages: names and values that users gave, and references to options.

A front end writes the references to options in its own language.

The core writes ``f"{name_option('top', 'all')} shows every feature"``. The command line prints ``--top all``,
Python prints ``top='all'``, and a scikit-learn estimator prints ``y`` for the option ``target``. A reference
is kept in the text between private-use characters until it is rendered. No user text can contain them:
messages quote user text with `quote`, which escapes them.
"""

from __future__ import annotations

import difflib
import re
import reprlib
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

# largest length of a message; with the program's name, a line has fewer than 300 characters
_MAX_MESSAGE_CHARS = 280
_TAIL_CHARS = 130  # the end of a message says how to fix the error
_MAX_QUOTED_CHARS = 60
_LONG_QUOTATION = re.compile(r"'[^'\n]{61,}'|\"[^\"\n]{61,}\"")
_LONG_WORD = re.compile(r"\S{61,}")
_START, _SEPARATOR, _END = "\ue000", "\ue001", "\ue002"
_OPTION_NAME = "[a-zA-Z_]+"
_REFERENCE = re.compile(
    f"{_START}(?P<kind>option|subject|hint|column|source){_SEPARATOR}(?P<name>{_OPTION_NAME}){_SEPARATOR}"
    f"(?P<typed>[^{_END}{_SEPARATOR}]*){_SEPARATOR}(?P<literal>[^{_END}{_SEPARATOR}]*){_END}"
)

_MAX_LISTED = 10


@dataclass(frozen=True)
class OptionStyle:
    """How a front end writes an option.

    Attributes
    ----------
    is_command_line : bool
        Write ``--max-ram 2GB``, not ``max_ram='2GB'``.
    arguments : mapping of str to str
        What an option is called that this front end takes as another argument, such as ``y`` for ``target``;
        an empty text if the front end has nothing like it.
    names : mapping of str to str
        What an option is called that has another name in this front end, such as ``n_jobs`` for ``jobs``.
    """

    is_command_line: bool
    arguments: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)


COMMAND_LINE = OptionStyle(is_command_line=True, names={"X": "data", "with_operators": "with"})
KEYWORD = OptionStyle(is_command_line=False)
ESTIMATOR = OptionStyle(
    is_command_line=False,
    arguments={
        "source": "X",
        "X": "X",
        "target": "y",
        "inputs": "X",
        "exclude": "",
        "weights": "sample_weight",
        "groups": "groups",
    },
)


def name_option(name: str, value: object = None) -> str:
    """Refer to an option in a message.

    Parameters
    ----------
    name : str
        The option's name in Python, such as ``max_ram``.
    value : object, optional
        The value that is meant. The command line joins the values of a list with commas.

    Returns
    -------
    str
        A reference for `render_message`.

    Examples
    --------
    >>> text = f"{name_option('jobs')} is ignored: use {name_option('backend', 'threads')}"
    >>> render_message(text, COMMAND_LINE)
    '--jobs is ignored: use --backend threads'
    >>> render_message(text, KEYWORD)
    "jobs= is ignored: use backend='threads'"
    """
    return _mark_option("option", name, value)


def name_subject(name: str) -> str:
    """Refer to an option as the subject of a sentence, such as "jobs is 0".

    Parameters
    ----------
    name : str
        The option's name in Python, such as ``max_ram``.

    Returns
    -------
    str
        A reference for `render_message`.

    Examples
    --------
    >>> text = f"{name_subject('pool_size')} is 0"
    >>> render_message(text, COMMAND_LINE), render_message(text, KEYWORD)
    ('--pool-size is 0', 'pool_size is 0')
    """
    return _mark_option("subject", name, None)


def hint_option(name: str, value: object = None) -> str:
    """Refer in parentheses, after a space, to an option that would help.

    A front end that has no such option leaves the parentheses out.

    Parameters
    ----------
    name : str
        The option's name in Python, such as ``exclude``.
    value : object, optional
        The value that is meant.

    Returns
    -------
    str
        A reference for `render_message`.

    Examples
    --------
    >>> text = f"leave the column out{hint_option('exclude')}"
    >>> [render_message(text, style) for style in (COMMAND_LINE, KEYWORD, ESTIMATOR)]
    ['leave the column out (--exclude)', 'leave the column out (exclude=)', 'leave the column out']
    """
    return _mark_option("hint", name, value)


def name_source(label: str) -> str:
    """Refer to the data as a whole, which estimators call X.

    Parameters
    ----------
    label : str
        What the other front ends call it.

    Returns
    -------
    str
        A reference for `render_message`.

    Examples
    --------
    >>> text = f"{name_source('the dict')} has no rows"
    >>> render_message(text, KEYWORD), render_message(text, ESTIMATOR)
    ('the dict has no rows', 'X has no rows')
    """
    return _SEPARATOR.join((f"{_START}source", "source", _strip_marks(label), _END))


def _mark_option(kind: str, name: str, value: object) -> str:
    """Write a reference to an option with the texts of its value on the command line and in Python."""
    _check_option_name(name)
    typed, literal = "", ""
    if value is not None:
        values = list(value) if isinstance(value, list | tuple) else None
        text = ",".join(map(str, values)) if values is not None else _format_value(value)
        typed = "" if value is True else shlex.quote(text)
        literal = _format_value(value) if isinstance(value, float) else repr(values or value)
    return _SEPARATOR.join((f"{_START}{kind}", name, _strip_marks(typed), f"{_strip_marks(literal)}{_END}"))


def _check_option_name(name: str) -> None:
    """Raise a ValueError, which is a fault of the program, for a name that cannot be rendered."""
    if not re.fullmatch(_OPTION_NAME, name):
        raise ValueError(f"{name!r} is not the name of an option in Python, such as 'max_ram'")


def _format_value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def name_option_column(name: str, column: str) -> str:
    """Refer to a column that an option names, such as the column of weights.

    Parameters
    ----------
    name : str
        The option's name in Python, such as ``weights``.
    column : str
        The column's name.

    Returns
    -------
    str
        A reference for `render_message`.

    Examples
    --------
    >>> text = f"{name_option_column('weights', 'w')} contains a negative value"
    >>> render_message(text, COMMAND_LINE)
    "the column 'w' of --weights contains a negative value"
    >>> render_message(text, ESTIMATOR)
    'sample_weight contains a negative value'
    """
    _check_option_name(name)
    return _SEPARATOR.join((f"{_START}column", name, _strip_marks(quote(column)), _END))


def render_message(text: str, style: OptionStyle) -> str:
    """Write the options of a message as a front end does.

    Parameters
    ----------
    text : str
        A message. A `Message` is rendered from its template.
    style : OptionStyle
        The front end's style.

    Returns
    -------
    str
    """
    template = text.template if isinstance(text, Message) else text
    return _strip_marks(_REFERENCE.sub(lambda match: _render_reference(match, style), template))


def find_options(text: str) -> tuple[str, ...]:
    """List the options that a message refers to, each once, in order.

    Examples
    --------
    >>> find_options(f"{name_option('top')} and {name_option('search', 'race')} exclude each other")
    ('top', 'search')
    """
    template = text.template if isinstance(text, Message) else text
    references = _REFERENCE.finditer(template)
    return tuple(dict.fromkeys(match["name"] for match in references if match["kind"] != "source"))


class Message(str):
    """A text of a result, such as a notice: Python reads it with keyword arguments.

    Parameters
    ----------
    template : str
        A text with references to options.

    Attributes
    ----------
    template : str
        The text as it was given; a front end renders it with `render_message`.

    Examples
    --------
    >>> notice = Message(f"give a longer {name_option('time_limit')}")
    >>> str(notice), render_message(notice, COMMAND_LINE)
    ('give a longer time_limit=', 'give a longer --time-limit')
    """

    __slots__ = ("template",)
    template: str

    def __new__(cls, template: str) -> Self:
        """Render the template for Python."""
        message = super().__new__(cls, render_message(template, KEYWORD))
        message.template = template
        return message

    def __reduce__(self) -> tuple[Any, ...]:
        return Message, (self.template,)


def _render_reference(match: re.Match[str], style: OptionStyle) -> str:
    """Render one reference."""
    kind, name, typed, literal = match["kind"], match["name"], match["typed"], match["literal"]
    argument = style.arguments.get(name)
    if kind == "source":
        return typed if argument is None else argument
    if kind == "hint" and argument == "":
        return ""
    name = style.names.get(name, name)
    plain = f"--{name.replace('_', '-')}" if style.is_command_line else name
    option = plain if style.is_command_line else f"{name}="
    if kind == "subject":
        return plain
    if argument:
        text = argument
    elif kind == "column":
        text = f"the column {typed} of {option}"
    else:
        text = f"{option} {typed}".rstrip() if style.is_command_line else option + literal
        if style.is_command_line and literal == "False":
            text = f"--no-{name.replace('_', '-')}"
    return f" ({text})" if kind == "hint" else text


def _strip_marks(text: str) -> str:
    """Remove the characters that delimit references."""
    return text.translate({ord(mark): "�" for mark in (_START, _SEPARATOR, _END)})


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


def quote(value: object) -> str:
    r"""Quote what a user gave, such as a name, a cell or the value of an option, for a message.

    Parameters
    ----------
    value : object
        A text as a rule. Anything else is written as its `repr`.

    Returns
    -------
    str
        One line of at most 60 characters besides the quotes; a long text shows both ends.

    Examples
    --------
    >>> print(quote("two\nlines, λ"))
    'two\nlines, λ'
    >>> len(quote("9" * 10**6)), quote(7)
    (62, '7')
    """
    if isinstance(value, str):
        whole, end = str(value), 2 * _MAX_QUOTED_CHARS  # numpy writes its texts in another way
        text = repr(whole if len(whole) <= 2 * end else whole[:end] + whole[-end:])
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


def describe_missing_attribute(instance: object, name: str, hints: Mapping[str, str]) -> str:
    """Say that an object has no such attribute, and what to use instead if a hint is known.

    Examples
    --------
    >>> describe_missing_attribute([], "predict", {"predict": "a list holds values"})
    "'list' object has no attribute 'predict': a list holds values"
    """
    message = f"{type(instance).__name__!r} object has no attribute {name!r}"
    return f"{message}: {hints[name]}" if name in hints else message


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
    if close := find_close_names(word, names):
        return suggest_names(close)
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f"; known: {shown}" if shown else ""


def suggest_names(names: Collection[str]) -> str:
    """Ask whether one of a few names was meant, for the end of an error message; empty without names.

    Examples
    --------
    >>> suggest_names(["sin", "sinh"]), suggest_names([])
    ("; did you mean 'sin' or 'sinh'?", '')
    """
    return "; did you mean " + " or ".join(repr(name) for name in names) + "?" if names else ""


def find_close_names(word: str, known_names: Iterable[str]) -> list[str]:
    """Find at most three known names that are close to a word, the closest first, in any case.

    Examples
    --------
    >>> find_close_names("Sine", ["sin", "cos", "exp"]), find_close_names("qqq", ["sin", "cos"])
    (['sin'], [])
    """
    folded: dict[str, str] = {}
    for name in known_names:
        folded.setdefault(name.strip().casefold(), name)
    close = difflib.get_close_matches(word.strip().casefold(), list(folded), n=3, cutoff=0.6)
    return [folded[name] for name in close]


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
