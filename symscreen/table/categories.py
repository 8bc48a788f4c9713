"""Columns of categories as numbers: an indicator of each level, or each input where a level holds.

Such a column is named by how it is computed, ``c = level`` or ``x·1[c = level]``. So it can be computed again
from the source's own columns wherever a formula that uses it goes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from symscreen.errors import OptionError, TableError, nearest
from symscreen.table.choose import require
from symscreen.table.column import Column
from symscreen.table.targets import classes_in
from symscreen.table.wording import count, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from symscreen.table.source import Frame
    from symscreen.table.targets import Classes

    CategoricalAs = Literal["gate", "onehot"]

__all__ = [
    "Derived",
    "check_categorical",
    "derived_column",
    "derived_from",
    "levels_by_column",
    "levels_in",
    "with_categories",
]

_MOST_LEVELS = 50
_WAYS = ("gate", "onehot")
_GATE = re.compile(r"·1\[")


class Derived(NamedTuple):
    """What a column that categories come to is computed from."""

    x: str | None  # the input that a level lets pass; None where the level stands by itself
    column: str
    level: str

    @property
    def name(self) -> str:
        """What the column is called."""
        title = f"{self.column} = {self.level}"
        return title if self.x is None else f"{self.x}·1[{title}]"


def check_categorical(categorical: Sequence[str], how: str) -> None:
    """Refuse a way to use categories that there is not, before any work.

    Raises
    ------
    OptionError
        With near matches.
    """
    if how not in _WAYS:
        raise OptionError(f"categorical_as is {how!r}{nearest(how, _WAYS)}")
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
            own = _is(known, place)
            for x in inputs if how == "gate" else (None,):
                made = Derived(x, name, level)
                _refuse_taken(frame, made)
                new[made.name] = Column("numbers", own) if x is None else _gated(frame.columns[x], own)
    return replace(frame, columns=frame.columns | new), list(new)


def _refuse_taken(frame: Frame, made: Derived) -> None:
    """Refuse a name that a column has, or that would be read as another column's."""
    if made.name in frame.columns:
        raise TableError(f"{frame.where} has a column {quoted(made.name)} already: rename it")
    if derived_from(made.name, frame.columns) != made:
        raise TableError(
            f"{frame.where}: the level {quoted(made.level)} of {quoted(made.column)} comes to the column "
            f"{quoted(made.name)}, which reads as that of another column, too: rename one"
        )


def levels_in(frame: Frame, name: str) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Read the levels of a column of categories, and which one each row has.

    Parameters
    ----------
    frame : Frame
        The source.
    name : str
        A column of words or numbers.

    Returns
    -------
    levels : tuple of str
    places : float64 array, shape (n,)
        Places among the levels, NaN where a row has none.

    Raises
    ------
    TableError
        If the column holds neither.

    Examples
    --------
    >>> from symscreen.table.source import read_frame
    >>> levels_in(read_frame({"c": ["p", "q", "p"]}), "c")
    (('p', 'q'), array([0., 1., 0.]))
    """
    known = classes_in(frame, name, frame.columns[name], "--categorical")
    return known.classes, known.codes


def levels_by_column(frame: Frame, categorical: Sequence[str]) -> dict[str, list[str | float]]:
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
    >>> levels_by_column(read_frame({"c": ["p", "q"], "n": [2, 0.5]}), ["c", "n"])
    {'c': ['p', 'q'], 'n': [0.5, 2.0]}
    """
    told: dict[str, list[str | float]] = {}
    for name in categorical:
        levels, _ = levels_in(frame, name)
        numbers = frame.columns[name].numbers is not None
        told[name] = [float(level) for level in levels] if numbers else list(levels)
    return told


def derived_from(name: str, columns: Collection[str]) -> Derived | None:
    """Read from its name what a column that categories come to is computed from.

    Parameters
    ----------
    name : str
        ``c = level`` or ``x·1[c = level]``.
    columns : collection of str
        The columns that there are.

    Returns
    -------
    Derived or None
        None where the name does not read so of these columns.

    Examples
    --------
    >>> derived_from("x·1[c = p]", ["x", "c"])
    Derived(x='x', column='c', level='p')
    >>> derived_from("x·1[c = p]", ["x"])
    """
    plain = _level_of(name, columns)
    if plain is not None:
        return Derived(None, *plain)
    for gate in _GATE.finditer(name) if name.endswith("]") else ():
        x, own = name[: gate.start()], _level_of(name[gate.end() : -1], columns)
        if x in columns and own is not None:
            return Derived(x, *own)
    return None


def _level_of(name: str, columns: Collection[str]) -> tuple[str, str] | None:
    """Read ``c = level``, whatever signs of equality names and levels hold."""
    signs = re.finditer(" = ", name)
    found = ((name[: sign.start()], name[sign.end() :]) for sign in signs)
    return next((each for each in found if each[0] in columns), None)


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
    usable = [each for each, own in frame.columns.items() if own.numbers is not None or own.texts is not None]
    made = derived_from(name, usable)
    if made is None:
        return None
    column = frame.columns[made.column]
    known = classes_in(frame, made.column, column)
    own = _is(known, _place_of(made.level, known, column))
    if made.x is None:
        return Column("numbers", own)
    x = frame.columns[made.x]
    return None if x.numbers is None else _gated(x, own)


def _place_of(level: str, known: Classes, column: Column) -> int:
    """Find a level among others, −1 where it is not there.

    A file with fewer levels may be read as numbers: 007 is then found as 7.
    """
    if level in known.classes:
        return known.classes.index(level)
    if column.numbers is None:
        return -1
    return next((place for place, each in enumerate(known.classes) if _equal_numbers(each, level)), -1)


def _equal_numbers(one: str, other: str) -> bool:
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def _is(known: Classes, place: int) -> NDArray[np.float64]:
    return np.where(np.isnan(known.codes), np.nan, known.codes == place)


def _gated(x: Column, own: NDArray[np.float64]) -> Column:
    assert x.numbers is not None  # noqa: S101  # inputs are numbers
    return Column("numbers", x.numbers * own)
