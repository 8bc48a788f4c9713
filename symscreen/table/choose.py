"""Which column is the target and which are inputs: as the user says, or else by rules that are told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import TableError
from symscreen.table.wording import listed, near, quoted

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from symscreen.table.column import Column
    from symscreen.table.source import Frame

__all__ = ["choose_inputs", "choose_target", "require", "target_named"]

_TARGETS = ("target", "label", "y")
_IDENTIFIERS = {
    *("", "#", "id", "index", "key", "uuid", "nr", "nr.", "no", "no."),
    *("row", "row id", "rowid", "row nr", "row no", "row number", "rownames"),
}
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls the index of a frame in a file
_EXACT = 2.0**53  # integers beyond it are rounded in float64, so that distinct ones may look equal


def require(frame: Frame, names: Collection[str], said: str) -> None:
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
    >>> from symscreen.table.source import read_frame
    >>> require(read_frame({"height": [1.0]}), ["hight"], "--target")
    Traceback (most recent call last):
    ...
    symscreen.errors.TableError: the dict has no column 'hight' for --target; did you mean 'height'?
    """
    absent = [name for name in names if name not in frame.columns]
    if absent:
        others = f" (nor {len(absent) - 1} more that it names)" if len(absent) > 1 else ""
        hint = near(absent[0], frame.columns)
        raise TableError(f"{frame.where} has no column {quoted(absent[0])} for {said}{others}{hint}")


def choose_target(frame: Frame, target: str | None, exclude: Collection[str]) -> tuple[str, list[str]]:
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
    >>> from symscreen.table.source import read_frame
    >>> choose_target(read_frame({"a": [1.0], "b": [2.0]}), None, [])
    ('b', ["target: the last column, 'b'; choose another with --target"])
    """
    target, notices = target_named(frame, target, exclude)
    column = frame.columns[target]
    if not column.numeric:
        raise TableError(
            f"{frame.where}: the target {quoted(target)} holds {column.holds}; "
            "numbers are needed: mend it, or choose another column with --target"
        )
    return target, notices


def target_named(frame: Frame, target: str | None, exclude: Collection[str]) -> tuple[str, list[str]]:
    """Choose the target as `choose_target` does, whatever it holds.

    Parameters
    ----------
    frame, target, exclude
        As of `choose_target`.

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
        require(frame, [target], "--target")
        if target in exclude:
            raise TableError(f"{frame.where}: {quoted(target)} is in both --target and --exclude: keep one")
    else:
        offered = [name for name in frame.columns if name not in exclude]
        if not offered:
            raise TableError(f"{frame.where}: --exclude leaves no column for a target: exclude fewer")
        target = next((name for name in _TARGETS if name in offered), offered[-1])
        if target not in _TARGETS:
            notices.append(f"target: the last column, {quoted(target)}; choose another with --target")
    return target, notices


def choose_inputs(
    frame: Frame,
    target: Collection[str],
    inputs: Collection[str] | None,
    exclude: Collection[str],
    *,
    said: str = "--target",
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
    >>> from symscreen.table.source import read_frame
    >>> choose_inputs(read_frame({"id": [1, 2], "a": [0, 0], "y": [3, 4]}), ["y"], None, [])
    (['a'], ["left out: 'id' (an identifier)"])
    """
    require(frame, exclude, "--exclude")
    left_out = {}
    if inputs is not None:
        chosen = _named_inputs(frame, target, inputs, exclude, said)
    else:
        others = [name for name in frame.columns if name not in target and name not in exclude]
        left_out = {name: reason for name in others if (reason := _unusable(name, frame.columns[name]))}
        chosen = [name for name in others if name not in left_out]
    notices = [f"left out: {_with_reasons(left_out)}"] if left_out else []
    if not chosen:
        raise TableError(
            f"{frame.where} has no numeric input left: at least one is needed beside the target"
            + (f" ({notices[0]})" if notices else "; mend --inputs or --exclude")
        )
    return chosen, notices


def _named_inputs(
    frame: Frame, target: Collection[str], inputs: Collection[str], exclude: Collection[str], said: str
) -> list[str]:
    require(frame, inputs, "--inputs")
    for name in inputs:
        column = frame.columns[name]
        if name in target:
            what = "both the target and in --inputs: name another --target, or"
            if said != "--target":
                what = f"in both {said} and --inputs:"
            raise TableError(f"{frame.where}: {quoted(name)} is {what} take it out of --inputs")
        if name in exclude:
            raise TableError(f"{frame.where}: {quoted(name)} is in both --inputs and --exclude: keep one")
        if not column.numeric:
            raise TableError(
                f"{frame.where}: the column {quoted(name)} of --inputs holds {column.holds}; "
                "numbers are needed: mend it, or take it out of --inputs"
            )
    return [name for name in frame.columns if name in inputs]


def _unusable(name: str, column: Column) -> str:
    """Say why a column is no input of its own accord; empty if it is one."""
    if column.numbers is None or not column.numeric:
        return column.holds
    return "an identifier" if _is_identifier(name, column.numbers) else ""


def _is_identifier(name: str, numbers: NDArray[np.float64]) -> bool:
    """Tell row numbers and keys by their name and by being distinct integers, in whatever order."""
    word = name.strip().casefold()
    if _PANDAS_INDEX.fullmatch(word):
        return True
    if not (word in _IDENTIFIERS or word.endswith(("_id", " id")) or word.startswith("unnamed:")):
        return False
    present = numbers[~np.isnan(numbers)]
    if not np.array_equal(present, np.floor(present)):
        return False
    return np.unique(present).size == present.size or bool(np.abs(present).max() >= _EXACT)


def _with_reasons(left_out: dict[str, str]) -> str:
    """Group the columns left out by reason, so that a hundred text columns make one line."""
    reasons: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        reasons.setdefault(reason, []).append(name)
    shown = [f"{listed(names)} ({reason})" for reason, names in list(reasons.items())[:10]]
    return ", ".join(shown) + (", …" if len(reasons) > 10 else "")
