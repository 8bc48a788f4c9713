"""References to options in messages, which each front end writes in its own language.

The core writes ``f"{name_option('top', 'all')} shows every feature"``. The command line prints
``--top all``, Python prints ``top='all'``, and a scikit-learn estimator prints ``y`` for the option
``target``. A reference is kept in the text between private-use characters until it is rendered. No user
text can contain them: messages quote user text with `symscreen.errors.quote`, which escapes them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

_START, _SEPARATOR, _END = "\ue000", "\ue001", "\ue002"
_REFERENCE = re.compile(
    f"{_START}(?P<kind>option|column){_SEPARATOR}(?P<name>[a-z_]+){_SEPARATOR}"
    f"(?P<typed>[^{_END}{_SEPARATOR}]*){_SEPARATOR}(?P<literal>[^{_END}{_SEPARATOR}]*){_END}"
)


@dataclass(frozen=True)
class OptionStyle:
    """How a front end writes an option.

    Attributes
    ----------
    is_command_line : bool
        Write ``--max-ram 2GB``, not ``max_ram='2GB'``.
    arguments : mapping of str to str
        What an option is called that this front end takes as another argument, such as ``y`` for ``target``.
    """

    is_command_line: bool
    arguments: Mapping[str, str] = field(default_factory=dict)


COMMAND_LINE = OptionStyle(is_command_line=True)
KEYWORD = OptionStyle(is_command_line=False)
ESTIMATOR = OptionStyle(
    is_command_line=False,
    arguments={"target": "y", "inputs": "X", "exclude": "X", "weights": "sample_weight", "groups": "groups"},
)


def name_option(name: str, value: object = None) -> str:
    """Refer to an option in a message.

    Parameters
    ----------
    name : str
        The option's name in Python, such as ``max_ram``.
    value : object, optional
        The value that is meant. A list stands for values joined by commas on the command line.

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
    typed, literal = "", ""
    if value is not None:
        values = list(value) if isinstance(value, list | tuple) else None
        typed = "" if value is True else ",".join(map(str, values)) if values is not None else str(value)
        literal = repr(values if values is not None else value)
    return _SEPARATOR.join((f"{_START}option", name, _strip_marks(typed), f"{_strip_marks(literal)}{_END}"))


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
    from symscreen.errors import quote

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
    return _REFERENCE.sub(lambda match: _render_reference(match, style), template)


def find_options(text: str) -> tuple[str, ...]:
    """List the options that a message refers to, each once, in order.

    Examples
    --------
    >>> find_options(f"{name_option('top')} and {name_option('search', 'race')} exclude each other")
    ('top', 'search')
    """
    template = text.template if isinstance(text, Message) else text
    return tuple(dict.fromkeys(match["name"] for match in _REFERENCE.finditer(template)))


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
    name, typed, literal = match["name"], match["typed"], match["literal"]
    argument = style.arguments.get(name)
    if match["kind"] == "column":
        if argument is not None:
            return argument
        return f"the column {typed} of {_render_name(name, style)}"
    if argument is not None:
        return f"{argument} {typed}".rstrip()
    if style.is_command_line:
        return f"{_render_name(name, style)} {typed}".rstrip()
    return _render_name(name, style) + literal


def _render_name(name: str, style: OptionStyle) -> str:
    return f"--{name.replace('_', '-')}" if style.is_command_line else f"{name}="


def _strip_marks(text: str) -> str:
    """Remove the characters that delimit references."""
    return text.translate({ord(mark): "�" for mark in (_START, _SEPARATOR, _END)})
