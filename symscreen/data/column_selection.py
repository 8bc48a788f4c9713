"""Choose the target column and the input columns, by the user's options or by default rules.

Defaults: the target is ``target``, ``label`` or ``y``, else the last column. The inputs are all other
numeric columns except identifiers. Every default choice is reported in a notice.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import DataError
from symscreen.messages import (
    Message,
    escape_control_chars,
    format_count,
    format_names,
    hint_option,
    name_option,
    name_option_column,
    quote,
    suggest,
)
from symscreen.targets.numeric import find_codes

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from symscreen.data.column_types import SourceColumn
    from symscreen.data.source_frame import SourceFrame


_DEFAULT_TARGET_NAMES = ("target", "label", "y")
_IDENTIFIER_NAMES = {
    *("", "#", "id", "index", "key", "uuid", "nr", "nr.", "no", "no."),
    *("row", "row id", "rowid", "row nr", "row no", "row number", "rownames"),
}
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # the name pandas gives to the index of a frame in a file
_MAX_EXACT_INTEGER = 2.0**53  # integer above which distinct integers may be equal in float64
_INPUT_HINT = (
    f"give a column of numbers{hint_option('inputs')}, or {name_option('categorical_as', 'onehot')} for "
    "categories alone"
)
_MAX_NAMED_CODES = 3  # columns of codes named in a notice
_MAX_REASONS = 10  # reasons listed in a notice
MAX_DEFAULT_LEVELS = 6  # levels of a text column that is a category if the user says nothing


def require_columns(frame: SourceFrame, names: Collection[str], option: str) -> None:
    """Check that a frame contains all given columns.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    names : collection of str
        The required columns.
    option : str
        A reference to the option that requires them, or what else requires them, for the message.

    Raises
    ------
    DataError
        If a column is missing. The message suggests a similar name.

    Examples
    --------
    >>> from symscreen.data import read_frame
    >>> require_columns(read_frame({"height": [1.0]}), ["hight"], name_option("target"))
    Traceback (most recent call last):
    ...
    symscreen.errors.DataError: the dict has no column 'hight' for target=; did you mean 'height'?
    """
    missing_names = [name for name in names if name not in frame.columns]
    if missing_names:
        n_more = f" (nor {len(missing_names) - 1} more)" if len(missing_names) > 1 else ""
        hint = escape_control_chars(suggest(missing_names[0], frame.columns))
        raise DataError(f"{frame.source} has no column {quote(missing_names[0])} for {option}{n_more}{hint}")


def choose_numeric_target(
    frame: SourceFrame, target: str | None, exclude: Collection[str]
) -> tuple[str, list[str]]:
    """Choose the target column, which must be numeric.

    The target is the named column, else ``target``, ``label`` or ``y``, else the last column.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    target : str, optional
        The column that the user named.
    exclude : collection of str
        Columns that the user excluded.

    Returns
    -------
    name : str
        Name of a numeric column.
    notices : list of str
        One line if the last column was chosen by default, else empty.

    Raises
    ------
    DataError
        If the column does not exist, is excluded or is not numeric.

    Examples
    --------
    >>> from symscreen.data import read_frame
    >>> choose_numeric_target(read_frame({"a": [1.0], "b": [2.0]}), None, [])
    ('b', ["target: the last column, 'b'; choose another with target="])
    """
    target, notices = choose_target_column(frame, target, exclude)
    column = frame.columns[target]
    if not column.is_numeric:
        raise DataError(
            f"{frame.source}: the target {quote(target)} holds {column.damage or column.description}; "
            f"numbers are needed: correct it, or choose another column{hint_option('target')}"
        )
    return target, notices


def choose_target_column(
    frame: SourceFrame, target: str | None, exclude: Collection[str]
) -> tuple[str, list[str]]:
    """Choose the target column as `choose_numeric_target` does, without checking what it contains.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    target : str, optional
        The column that the user named.
    exclude : collection of str
        Columns that the user excluded.

    Returns
    -------
    name : str
        Name of the column.
    notices : list of str
        One line if the last column was chosen by default, else empty.

    Raises
    ------
    DataError
        If the column does not exist or is excluded.
    """
    notices: list[str] = []
    if target is not None:
        require_columns(frame, [target], name_option("target"))
        if target in exclude:
            raise DataError(
                f"{frame.source}: {quote(target)} is in both {name_option('target')} and "
                f"{name_option('exclude')}: keep one"
            )
    else:
        # columns that are derived from others, such as levels of a category, are no target
        candidates = [
            name
            for name, column in frame.columns.items()
            if name not in exclude and column.part_of is None and column.indicator is None
        ]
        if not candidates:
            raise DataError(
                f"{frame.source}: {name_option('exclude')} leaves no column for a target: exclude fewer"
            )
        target = next((name for name in _DEFAULT_TARGET_NAMES if name in candidates), candidates[-1])
        excluded = [name for name in _DEFAULT_TARGET_NAMES if name in frame.columns and name in exclude]
        if excluded and target not in _DEFAULT_TARGET_NAMES:
            raise DataError(
                f"{frame.source}: {name_option('exclude', excluded[0])} leaves out the target: name another "
                f"{name_option('target')}, or keep {quote(excluded[0])}"
            )
        if target not in _DEFAULT_TARGET_NAMES:
            notices.append(
                Message(
                    f"target: the last column, {quote(target)}; choose another with {name_option('target')}"
                )
            )
    return target, notices


def choose_inputs(
    frame: SourceFrame,
    target: Collection[str],
    inputs: Collection[str] | None,
    exclude: Collection[str],
    *,
    target_option: str = "target",
) -> tuple[list[str], list[str]]:
    """Choose the input columns: the named ones, else all numeric columns except target and identifiers.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    target : collection of str
        The target columns; empty if the target is not part of the frame.
    inputs : collection of str or None
        The columns that the user named; None for the default.
    exclude : collection of str
        Columns that the user excluded.
    target_option : str
        The name of the option that names the target, for messages.

    Returns
    -------
    names : list of str
        At least one numeric column, in the order of the source.
    notices : list of str
        At most one line, with the columns left out by default and the reasons.

    Raises
    ------
    DataError
        If a name is unknown, is used by two options or is not numeric, or if no input is left.

    Examples
    --------
    >>> from symscreen.data import read_frame
    >>> choose_inputs(read_frame({"id": [1, 2], "a": [0, 0], "y": [3, 4]}), ["y"], None, [])
    (['a'], ["left out: 'id' (an identifier)"])
    """
    require_columns(frame, exclude, name_option("exclude"))
    left_out = {}
    if inputs is not None:
        chosen = _check_named_inputs(frame, target, inputs, exclude, target_option)
    else:
        candidates = [name for name in frame.columns if name not in target and name not in exclude]
        unused = {*target, *exclude}
        candidates = [name for name in candidates if _is_usable_part(frame.columns[name], unused)]
        _check_damage(frame, candidates)
        left_out = {
            name: reason for name in candidates if (reason := _explain_unusable(name, frame.columns[name]))
        }
        chosen = [name for name in candidates if name not in left_out]
        with_parts = {frame.columns[name].part_of for name in chosen}
        left_out = {name: reason for name, reason in left_out.items() if name not in with_parts}
    notices: list[str] = [Message(f"left out: {_format_left_out(left_out)}")] if left_out else []
    if not chosen:
        raise DataError(
            f"{frame.source} has no numeric input left: at least one is needed in addition to the target"
            + (f" ({notices[0]})" if notices else f"; {_INPUT_HINT}")
        )
    return chosen, notices


def ask_for_categories(frame: SourceFrame, names: Sequence[str]) -> list[str]:
    """Ask in one line whether inputs that have the first few integers only are categories."""
    coded = {}
    for name in names:
        column = frame.columns[name]
        if column.indicator is None and column.part_of is None and column.numbers is not None:
            codes = find_codes(column.numbers)
            if codes is not None:
                coded[name] = f"{codes[0]:g} to {codes[-1]:g}"
    if not coded:
        return []
    ((first, range_of_first), *others) = coded.items()
    what = f"{quote(first)} has the integers {range_of_first} only, and is read as a number"
    if others:
        what = f"{format_names(list(coded))} have few integers only, and are read as numbers"
    hint = name_option("categorical", list(coded)[:_MAX_NAMED_CODES])
    return [Message(f"inputs: {what}; if they are categories, say so: {hint}")]


def _is_usable_part(column: SourceColumn, unused: Collection[str]) -> bool:
    """Return whether a column is not a part of dates, or adds something to dates that may be used."""
    return column.part_of is None or not (column.is_redundant or column.part_of in unused)


def _check_damage(frame: SourceFrame, names: Collection[str]) -> None:
    """Refuse to go on without a column of numbers in which few cells are something else."""
    for name in names:
        if damage := frame.columns[name].damage:
            raise DataError(
                f"{frame.source}: the column {quote(name)} is not read: {damage}; correct it, or leave "
                f"the column "
                f"out{hint_option('exclude')}"
            )


def _check_named_inputs(
    frame: SourceFrame,
    target: Collection[str],
    inputs: Collection[str],
    exclude: Collection[str],
    target_option: str,
) -> list[str]:
    """Check the columns that the user named as inputs; return them in the order of the source."""
    require_columns(frame, inputs, name_option("inputs"))
    for name in inputs:
        column = frame.columns[name]
        if name in target:
            conflict = (
                f"both the target and in {name_option('inputs')}: name another {name_option('target')}, or"
            )
            if target_option != "target":
                conflict = f"in both {name_option(target_option)} and {name_option('inputs')}:"
            raise DataError(
                f"{frame.source}: {quote(name)} is {conflict} take it out of {name_option('inputs')}"
            )
        if name in exclude:
            raise DataError(
                f"{frame.source}: {quote(name)} is in both {name_option('inputs')} and "
                f"{name_option('exclude')}: keep one"
            )
        if not column.is_numeric:
            is_text = column.kind == "text" and not column.damage
            category = f"use it as a category{hint_option('categorical', [name])}, " if is_text else ""
            raise DataError(
                f"{frame.source}: {name_option_column('inputs', name)} holds "
                f"{column.damage or column.description}; "
                f"numbers are needed: correct it, {category}or take it out of {name_option('inputs')}"
            )
    return [name for name in frame.columns if name in inputs]


def _explain_unusable(name: str, column: SourceColumn) -> str:
    """Return the reason why a column is not an input by default; empty if it is one."""
    if column.numbers is None or not column.is_numeric:
        cells = column.texts if column.kind == "text" else None
        if cells is None or not cells.n_missing or not 2 <= len(cells.distinct) <= MAX_DEFAULT_LEVELS:
            return column.description
        levels = format_count(len(cells.distinct), "level")
        missing_cells = format_count(cells.n_missing, "missing value")
        return f"text of {levels} with {missing_cells}: {name_option('categorical', [name])} uses it"
    return "an identifier" if is_identifier(name, column.numbers) else ""


def is_named_like_identifier(name: str) -> bool:
    """Return whether a column with this name is an identifier if its values are distinct integers."""
    normalized_name = name.strip().casefold()
    return (
        normalized_name in _IDENTIFIER_NAMES
        or normalized_name.endswith(("_id", " id"))
        or normalized_name.startswith("unnamed:")
    )


def is_identifier(name: str, numbers: NDArray[np.float64]) -> bool:
    """Return whether a column holds row numbers or keys: it has such a name and distinct integers."""
    if _PANDAS_INDEX.fullmatch(name.strip().casefold()):
        return True
    if not is_named_like_identifier(name):
        return False
    known_values = numbers[~np.isnan(numbers)]
    if not np.array_equal(known_values, np.floor(known_values)):
        return False
    return np.unique(known_values).size == known_values.size or bool(
        np.abs(known_values).max() >= _MAX_EXACT_INTEGER
    )


def _format_left_out(left_out: dict[str, str]) -> str:
    """List the columns left out, grouped by reason, so that a hundred text columns make one line."""
    names_by_reason: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        names_by_reason.setdefault(reason, []).append(name)
    groups = [
        f"{format_names(names)} ({reason})" for reason, names in list(names_by_reason.items())[:_MAX_REASONS]
    ]
    return ", ".join(groups) + (", …" if len(names_by_reason) > _MAX_REASONS else "")
