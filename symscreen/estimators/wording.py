"""Messages in the words of Python: an estimator's parameters in the place of the command line's options."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from symscreen.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["in_python_words", "told_in_python"]

_WORDS = "exact|race|sieve|all|positive|free|onehot|gate|strict|ignore|numeric|classes|several|drop|refuse"
# a text in quotes is the user's own, and stays as it is
_OPTION = re.compile(
    rf"(?P<own>(?<!\w)'[^']*')|--(?P<name>[a-z]+(?:-[a-z]+)*)"
    rf"(?:[ =](?P<value>[\w\[\]=]+(?:,[\w\[\]=]+)+|(?:{_WORDS}|t0|xi)(?![\w-])|\d[\d.e+-]*\d|\d)(?!\w))?"
)
_COLUMNS = {"groups": "groups", "weights": "sample_weight"}
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
    ("; mend --inputs or --exclude", "; give X a column of numbers, or categorical_as='onehot'"),
    (
        'write length (mm) in the header, or give a file of units, with lines such as length = "mm"',
        "call a column of X 'length (mm)', or give units={'length': 'mm'}",
    ),
)
_ARGUMENTS = {"target": "y", "inputs": "X", "exclude": "X", "weights": "sample_weight"}


def in_python_words(text: str, labels: Mapping[str, str] = {}) -> str:
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
    >>> in_python_words("--top all shows every feature, and --search race drops most: use --search exact")
    "top='all' shows every feature, and search='race' drops most: use search='exact'"
    >>> in_python_words("--groups g_ has 3 groups, too few to tell", {"groups": "g_"})
    'groups has 3 groups, too few to tell'
    """
    for option, label in labels.items():
        said = _COLUMNS[option]
        text = text.replace(f"the column {label!r} of --{option}", said)
        text = text.replace(f"--{option} {label}", said)
        text = text.replace(
            f"{option} is {label!r}, but nothing heeds it", f"{said}: nothing heeds what is given"
        )
    for phrase, instead in _PHRASES:
        text = text.replace(phrase, instead)
    return re.sub(r"^the dict\b", "X", _OPTION.sub(_parameter, text))


def _parameter(match: re.Match[str]) -> str:
    if match["own"] is not None:
        return match["own"]
    name, value = match["name"].replace("-", "_"), match["value"]
    if name in _ARGUMENTS:
        return _ARGUMENTS[name] if value is None else f"{_ARGUMENTS[name]} {value}"
    if value is None:
        return name
    return f"{name}={value}" if value[0].isdigit() else f"{name}={value!r}"


@contextmanager
def told_in_python(labels: Mapping[str, str] = {}) -> Iterator[None]:
    """Let mistakes be told in Python's words, as `in_python_words` has them.

    Parameters
    ----------
    labels : mapping of str to str
        As of `in_python_words`.

    Examples
    --------
    >>> from symscreen.errors import OptionError
    >>> with told_in_python():
    ...     raise OptionError("--stability looks at one round, and --rounds is 2")
    Traceback (most recent call last):
    ...
    symscreen.errors.OptionError: stability looks at one round, and rounds is 2
    """
    try:
        yield
    except InputError as error:
        raise type(error)(in_python_words(str(error.args[0]), labels)) from None
