"""Columns of categories as numbers: an indicator of each level, or each input where a level holds.

Such a column is named by how it is computed, ``c = level`` or ``x·1[c = level]``. So it can be computed again
from the source's own columns wherever a formula that uses it goes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from symscreen.errors import OptionError, TableError, nearest
from symscreen.table.choose import require
from symscreen.table.column import Column
from symscreen.table.targets import classes_in
from symscreen.table.wording import count, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen.table.source import Frame
    from symscreen.table.targets import Classes

    CategoricalAs = Literal["gate", "onehot"]

__all__ = ["check_categorical", "derived_column", "levels_in", "with_categories"]

_MOST_LEVELS = 50
_WAYS = ("gate", "onehot")
_GATE = re.compile(r"·1\[")


def check_categorical(categorical: Sequence[str], how: str) -> None:
    """Refuse a way to use categories that there is not, before any work.

    Raises
    ------
    OptionError
        With near matches.
    """
    if how not in _WAYS:
        raise OptionError(f"categorical_as is {how!r}{nearest(how, _WAYS)}; there are gate and onehot")
    if how != "gate" and not categorical:
        raise OptionError(f"--categorical-as {how} is given without --categorical: name the columns, too")


def with_categories(
    frame: Frame,
    categorical: Sequence[str],
    how: CategoricalAs,
    inputs: Collection[str],
    taken: Collection[str],
) -> tuple[Frame, list[str]]:
    """Add the columns that categories come to.

    Parameters
    ----------
    frame : Frame
        The source.
    categorical : sequence of str
        Columns of words or numbers whose values are levels.
    how : {"gate", "onehot"}
        Whether a level lets the inputs pass, ``x·1[c = level]``, which is x where c is that level and 0
        elsewhere; or stands by itself, ``c = level``, 1 and 0.
    inputs : collection of str
        The inputs that gates let pass.
    taken : collection of str
        Columns that have another use.

    Returns
    -------
    Frame
        With the new columns behind the others.
    names : list of str
        Theirs. A row in which the category is missing has no value there.

    Raises
    ------
    TableError
        If a column is not there, has another use, holds one level or more than 50, or a name is taken.

    Examples
    --------
    >>> from symscreen.table.source import read_frame
    >>> frame = read_frame({"x": [1.5, 2.5, 3.5], "c": ["p", "q", "p"]})
    >>> new, names = with_categories(frame, ["c"], "gate", ["x"], [])
    >>> names, new.columns["x·1[c = p]"].numbers.tolist()
    (['x·1[c = p]', 'x·1[c = q]'], [1.5, 0.0, 3.5])
    """
    require(frame, categorical, "--categorical")
    new: dict[str, Column] = {}
    for name in categorical:
        if name in taken:
            raise TableError(
                f"{frame.where}: {quoted(name)} is in --categorical and has another use: keep one"
            )
        numbers = frame.columns[name].numbers
        if numbers is not None and np.isinf(numbers).any():
            raise TableError(
                f"{frame.where}: the column {quoted(name)} of --categorical holds an infinity: mend it"
            )
        known = classes_in(frame, name, frame.columns[name], "--categorical")
        if not 2 <= len(known.classes) <= _MOST_LEVELS:
            raise TableError(
                f"{frame.where}: the column {quoted(name)} of --categorical has "
                f"{count(len(known.classes), 'level')}: 2 to {_MOST_LEVELS} can be told apart; leave it out, "
                "or join levels"
            )
        for place, level in enumerate(known.classes):
            own, title = _is(known, place), f"{name} = {level}"
            made = {title: Column("numbers", own)}
            if how == "gate":
                made = {f"{x}·1[{title}]": _gated(frame.columns[x], own) for x in inputs}
            if both := made.keys() & new.keys():
                raise TableError(
                    f"{frame.where}: two levels of --categorical come to one column {quoted(min(both))}: "
                    "rename one"
                )
            new |= made
    for each in new:
        if each in frame.columns:
            raise TableError(f"{frame.where} has a column {quoted(each)} already: rename it")
    return replace(frame, columns=frame.columns | new), list(new)


def levels_in(frame: Frame, categorical: Sequence[str]) -> dict[str, list[str | float]]:
    """List the levels of columns of categories, for a record: words as texts, numbers as numbers.

    Parameters
    ----------
    frame : Frame
        The source.
    categorical : sequence of str
        Columns that `with_categories` took.

    Returns
    -------
    dict of str to list of str or float

    Examples
    --------
    >>> from symscreen.table.source import read_frame
    >>> levels_in(read_frame({"c": ["p", "q"], "n": [2, 0.5]}), ["c", "n"])
    {'c': ['p', 'q'], 'n': [0.5, 2.0]}
    """
    told: dict[str, list[str | float]] = {}
    for name in categorical:
        column = frame.columns[name]
        levels = classes_in(frame, name, column).classes
        told[name] = [float(level) for level in levels] if column.numbers is not None else list(levels)
    return told


def derived_column(frame: Frame, name: str) -> Column | None:
    """Compute a column of that name as `with_categories` does.

    Parameters
    ----------
    frame : Frame
        A source, of the same columns or new rows of them.
    name : str
        ``c = level`` or ``x·1[c = level]``.

    Returns
    -------
    Column or None
        None where the source has no such c, or no such x of numbers. A level that the source lacks is 0 in
        every row.

    Raises
    ------
    TableError
        If the name can be read in several ways, and not one of them alone is of a level that is there.

    Examples
    --------
    >>> from symscreen.table.source import read_frame
    >>> derived_column(read_frame({"c": ["p", None]}), "c = p").numbers.tolist()
    [1.0, nan]
    """
    readings = list(_readings(frame, name))
    there = [column for level_there, column in readings if level_there]
    likely = there or [column for _, column in readings]
    if len(likely) > 1:
        raise TableError(
            f"{frame.where} has no column {quoted(name)}, and what it is made of can be read in "
            f"{len(likely)} ways: rename columns that hold ' = ' or '·1['"
        )
    return likely[0] if likely else None


def _readings(frame: Frame, name: str) -> Iterator[tuple[bool, Column]]:
    """Compute a column in every way that its name can be read, and say whether some row has the level."""
    for there, own in _indicators(frame, name):
        yield there, Column("numbers", own)
    for gate in _GATE.finditer(name) if name.endswith("]") else ():
        x = frame.columns.get(name[: gate.start()])
        if x is not None and x.numbers is not None:
            for there, own in _indicators(frame, name[gate.end() : -1]):
                yield there, _gated(x, own)


def _indicators(frame: Frame, name: str) -> Iterator[tuple[bool, NDArray[np.float64]]]:
    """Compute ``c = level``, whatever signs of equality names and levels hold."""
    for sign in re.finditer(" = ", name):
        column = frame.columns.get(name[: sign.start()])
        if column is not None and (column.texts is not None or column.numbers is not None):
            known, level = classes_in(frame, name[: sign.start()], column), name[sign.end() :]
            there = level in known.classes
            yield there, _is(known, known.classes.index(level) if there else -1)


def _is(known: Classes, place: int) -> NDArray[np.float64]:
    return np.where(np.isnan(known.codes), np.nan, known.codes == place)


def _gated(x: Column, own: NDArray[np.float64]) -> Column:
    assert x.numbers is not None  # noqa: S101  # inputs are numbers
    return Column("numbers", x.numbers * own)
