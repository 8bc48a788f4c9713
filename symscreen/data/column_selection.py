"""Several names in one text: `a,b`, and those with a comma in backticks.

Which column is the target and which are inputs: as the user says, or else by rules that are told.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import DataError, OptionError, format_names, quote, suggest_column

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from symscreen.data.column_types import SourceColumn
    from symscreen.data.files import SourceFrame


__all__ = [
    "choose_inputs",
    "choose_numeric_target",
    "choose_target_column",
    "parse_name_list",
    "require_columns",
]

_NAME_PATTERN = re.compile(r"\s*(?:`((?:[^`]|``)*)`|([^,`]*))\s*(?:,|$)")


def parse_name_list(text: str, option: str) -> tuple[str, ...]:
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
    >>> parse_name_list("a, `b,c`", "--inputs")
    ('a', 'b,c')
    """
    names, place = [], 0
    while place < len(text):
        match = _NAME_PATTERN.match(text, place)
        if match is None:
            raise OptionError(
                f"{option}: cannot split {text!r} at character {place + 1}; write a,b or `a,b`,c"
            )
        quoted, bare = match.groups()
        if quoted is None and not bare.strip():
            raise OptionError(
                f"{option} is {text!r}, which names nothing between two commas; write a,b, and a column "
                "without a name as ``"
            )
        names.append(bare.strip() if quoted is None else quoted.replace("``", "`"))
        place = match.end()
        if place == len(text) and match.group().endswith(","):
            raise OptionError(
                f"{option} is {text!r}, which names nothing after the last comma; drop the comma"
            )
    return tuple(names)


_DEFAULT_TARGET_NAMES = ("target", "label", "y")
_IDENTIFIER_NAMES = {
    *("", "#", "id", "index", "key", "uuid", "nr", "nr.", "no", "no."),
    *("row", "row id", "rowid", "row nr", "row no", "row number", "rownames"),
}
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls the index of a frame in a file
_MAX_EXACT_INTEGER = (
    2.0**53
)  # integers beyond it are rounded in float64, so that distinct ones may look equal


def require_columns(frame: SourceFrame, names: Collection[str], option: str) -> None:
    """Refuse names that the frame lacks.

    Parameters
    ----------
    frame : Frame
        The source.
    names : collection of str
        The columns asked for.
    said : str
        Who asked, for the message: an option, or a word.

    Raises
    ------
    TableError
        With the columns whose names are near.

    Examples
    --------
    >>> from symscreen.data.files import read_frame
    >>> require(read_frame({"height": [1.0]}), ["hight"], "--target")
    Traceback (most recent call last):
    ...
    symscreen.errors.TableError: the dict has no column 'hight' for --target; did you mean 'height'?
    """
    absent = [name for name in names if name not in frame.columns]
    if absent:
        others = f" (nor {len(absent) - 1} more that it names)" if len(absent) > 1 else ""
        hint = suggest_column(absent[0], frame.columns)
        raise DataError(f"{frame.source} has no column {quote(absent[0])} for {option}{others}{hint}")


def choose_numeric_target(
    frame: SourceFrame, target: str | None, exclude: Collection[str]
) -> tuple[str, list[str]]:
    """Choose the target: the one named, else ``target``, ``label`` or ``y``, else the last column.

    Parameters
    ----------
    frame : Frame
        The source.
    target : str, optional
        The user's choice.
    exclude : collection of str
        Columns that the user leaves out.

    Returns
    -------
    name : str
        A numeric column.
    notices : list of str
        A line where the last column was taken.

    Raises
    ------
    TableError
        If there is no such column, or it is excluded or not numeric.

    Examples
    --------
    >>> from symscreen.data.files import read_frame
    >>> choose_numeric_target(read_frame({"a": [1.0], "b": [2.0]}), None, [])
    ('b', ["target: the last column, 'b'; choose another with --target"])
    """
    target, notices = choose_target_column(frame, target, exclude)
    column = frame.columns[target]
    if not column.is_numeric:
        raise DataError(
            f"{frame.source}: the target {quote(target)} holds {column.description}; "
            "numbers are needed: mend it, or choose another column with --target"
        )
    return target, notices


def choose_target_column(
    frame: SourceFrame, target: str | None, exclude: Collection[str]
) -> tuple[str, list[str]]:
    """Choose the target as `choose_numeric_target` does, whatever it holds.

    Parameters
    ----------
    frame, target, exclude
        As of `choose_numeric_target`.

    Returns
    -------
    name : str
    notices : list of str

    Raises
    ------
    TableError
        If there is no such column, or it is excluded.
    """
    notices = []
    if target is not None:
        require_columns(frame, [target], "--target")
        if target in exclude:
            raise DataError(f"{frame.source}: {quote(target)} is in both --target and --exclude: keep one")
    else:
        offered = [name for name in frame.columns if name not in exclude]
        if not offered:
            raise DataError(f"{frame.source}: --exclude leaves no column for a target: exclude fewer")
        target = next((name for name in _DEFAULT_TARGET_NAMES if name in offered), offered[-1])
        if target not in _DEFAULT_TARGET_NAMES:
            notices.append(f"target: the last column, {quote(target)}; choose another with --target")
    return target, notices


def choose_inputs(
    frame: SourceFrame,
    target: Collection[str],
    inputs: Collection[str] | None,
    exclude: Collection[str],
    *,
    target_option: str = "--target",
) -> tuple[list[str], list[str]]:
    """Choose the inputs: the ones named, else all numeric columns but the target and identifiers.

    Parameters
    ----------
    frame : Frame
        The source.
    target : collection of str
        The columns of the response, empty where it does not come from the frame.
    inputs, exclude : collection of str
        The user's choices; `inputs` may be None.
    said : str
        The option that names the response, for messages.

    Returns
    -------
    names : list of str
        Numeric columns, in the source's order, at least one.
    notices : list of str
        At most one line, which tells the columns left out unasked and why.

    Raises
    ------
    TableError
        If a name is unknown, given to two options, or not numeric, or no input is left.

    Examples
    --------
    >>> from symscreen.data.files import read_frame
    >>> choose_inputs(read_frame({"id": [1, 2], "a": [0, 0], "y": [3, 4]}), ["y"], None, [])
    (['a'], ["left out: 'id' (an identifier)"])
    """
    require_columns(frame, exclude, "--exclude")
    left_out = {}
    if inputs is not None:
        chosen = _check_named_inputs(frame, target, inputs, exclude, target_option)
    else:
        others = [name for name in frame.columns if name not in target and name not in exclude]
        left_out = {
            name: reason for name in others if (reason := _explain_unusable(name, frame.columns[name]))
        }
        chosen = [name for name in others if name not in left_out]
    notices = [f"left out: {_format_left_out(left_out)}"] if left_out else []
    if not chosen:
        raise DataError(
            f"{frame.source} has no numeric input left: at least one is needed beside the target"
            + (f" ({notices[0]})" if notices else "; mend --inputs or --exclude")
        )
    return chosen, notices


def _check_named_inputs(
    frame: SourceFrame,
    target: Collection[str],
    inputs: Collection[str],
    exclude: Collection[str],
    target_option: str,
) -> list[str]:
    require_columns(frame, inputs, "--inputs")
    for name in inputs:
        column = frame.columns[name]
        if name in target:
            what = "both the target and in --inputs: name another --target, or"
            if target_option != "--target":
                what = f"in both {target_option} and --inputs:"
            raise DataError(f"{frame.source}: {quote(name)} is {what} take it out of --inputs")
        if name in exclude:
            raise DataError(f"{frame.source}: {quote(name)} is in both --inputs and --exclude: keep one")
        if not column.is_numeric:
            raise DataError(
                f"{frame.source}: the column {quote(name)} of --inputs holds {column.description}; "
                "numbers are needed: mend it, or take it out of --inputs"
            )
    return [name for name in frame.columns if name in inputs]


def _explain_unusable(name: str, column: SourceColumn) -> str:
    """Say why a column is no input of its own accord; empty if it is one."""
    if column.numbers is None or not column.is_numeric:
        return column.description
    return "an identifier" if _is_identifier(name, column.numbers) else ""


def _is_identifier(name: str, numbers: NDArray[np.float64]) -> bool:
    """Tell row numbers and keys by their name and by being distinct integers, in whatever order."""
    word = name.strip().casefold()
    if _PANDAS_INDEX.fullmatch(word):
        return True
    if not (word in _IDENTIFIER_NAMES or word.endswith(("_id", " id")) or word.startswith("unnamed:")):
        return False
    present = numbers[~np.isnan(numbers)]
    if not np.array_equal(present, np.floor(present)):
        return False
    return np.unique(present).size == present.size or bool(np.abs(present).max() >= _MAX_EXACT_INTEGER)


def _format_left_out(left_out: dict[str, str]) -> str:
    """Group the columns left out by reason, so that a hundred text columns make one line."""
    reasons: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        reasons.setdefault(reason, []).append(name)
    shown = [f"{format_names(names)} ({reason})" for reason, names in list(reasons.items())[:10]]
    return ", ".join(shown) + (", …" if len(reasons) > 10 else "")
