"""Messages in the words of Python: an estimator's parameters in the place of the command line's options."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from symscreen.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_OPTION_VALUES = (
    "exact|race|sieve|all|positive|free|onehot|gate|strict|ignore|numeric|classes|several|drop|refuse"
)
# a text in quotes is the user's own, and stays as it is
_OPTION_PATTERN = re.compile(
    rf"(?P<own>(?<!\w)'[^']*')|--(?P<name>[a-z]+(?:-[a-z]+)*)"
    rf"(?:[ "
    rf"=](?P<value>[\w\[\]=]+(?:,[\w\[\]=]+)+|(?:{_OPTION_VALUES}|t0|xi)(?![\w-])|\d[\d.e+-]*\d|\d)(?!\w))?"
)
_COLUMN_PARAMETERS = {"groups": "groups", "weights": "sample_weight"}
# what an estimator has no parameter for: the response is y, and what is given of X is used
_PHRASES = (
    (", or choose another column with --target", ""),
    ("choose another with --target", "give another y"),
    ("choose others with --inputs", "give others"),
    ("--target names", "y has"),
    ("name them, --target a,b", "give a y of several columns"),
    (
        ", leave columns out with --exclude, or drop these rows with --missing drop",
        ", or leave these rows out",
    ),
    (", or leave the column out with --exclude", ", or leave the column out"),
    ("; correct --inputs or --exclude", "; give X a column of numbers, or categorical_as='onehot'"),
    (
        'write length (mm) in the header, or give a file of units, with lines such as length = "mm"',
        "call a column of X 'length (mm)', or give units={'length': 'mm'}",
    ),
)
_ARGUMENTS = {"target": "y", "inputs": "X", "exclude": "X", "weights": "sample_weight"}


def translate_message(text: str, labels: Mapping[str, str] = {}) -> str:
    """Write the options in a message as an estimator's parameters.

    Parameters
    ----------
    text : str
        A message that names options of the command line.
    labels : mapping of str to str
        By option, ``groups`` or ``weights``, what the column is called that stands for an argument of `fit`.

    Returns
    -------
    str

    Examples
    --------
    >>> translate_message("--top all shows every feature, and --search race drops most: use --search exact")
    "top='all' shows every feature, and search='race' drops most: use search='exact'"
    >>> translate_message("--groups g_ has 3 groups, too few to tell", {"groups": "g_"})
    'groups has 3 groups, too few to tell'
    """
    for option, label in labels.items():
        said = _COLUMN_PARAMETERS[option]
        text = text.replace(f"the column {label!r} of --{option}", said)
        text = text.replace(f"--{option} {label}", said)
        text = text.replace(
            f"{option} is {label!r}, but nothing heeds it", f"{said}: nothing heeds what is given"
        )
    for phrase, instead in _PHRASES:
        text = text.replace(phrase, instead)
    return re.sub(r"^the dict\b", "X", _OPTION_PATTERN.sub(_format_parameter, text))


def _format_parameter(match: re.Match[str]) -> str:
    if match["own"] is not None:
        return match["own"]
    name, value = match["name"].replace("-", "_"), match["value"]
    if name in _ARGUMENTS:
        return _ARGUMENTS[name] if value is None else f"{_ARGUMENTS[name]} {value}"
    if value is None:
        return name
    return f"{name}={value}" if value[0].isdigit() else f"{name}={value!r}"


@contextmanager
def translate_errors(labels: Mapping[str, str] = {}) -> Iterator[None]:
    """Let mistakes be told in Python's words, as `translate_message` has them.

    Parameters
    ----------
    labels : mapping of str to str
        As of `translate_message`.

    Examples
    --------
    >>> from symscreen.errors import OptionError
    >>> with translate_errors():
    ...     raise OptionError("--stability looks at one round, and --rounds is 2")
    Traceback (most recent call last):
    ...
    symscreen.errors.OptionError: stability looks at one round, and rounds is 2
    """
    try:
        yield
    except InputError as error:
        raise type(error)(translate_message(str(error.args[0]), labels)) from None
