"""Responses other than one column of numbers: classes, several targets, and times until an event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from symscreen.errors import OptionError, TableError, nearest
from symscreen.names import names_in
from symscreen.table.choose import choose_target, require, target_named
from symscreen.table.column import python_column
from symscreen.table.rankings import is_ranking
from symscreen.table.wording import count, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from symscreen.response import Kind
    from symscreen.table.column import Column
    from symscreen.table.source import Frame

    Values = NDArray[np.float64]
    TargetKind = Literal["numeric", "classes", "several"]

__all__ = [
    "Classes",
    "Survival",
    "classes_in",
    "events_in",
    "given_targets",
    "kind_of_target",
    "refuse_many_classes",
    "target_names",
    "targets_in",
]

_MOST_CLASSES, _MOST_TARGETS = 100, 100  # each is compared with every feature
_KINDS = ("numeric", "classes", "several")


class Classes(NamedTuple):
    """The class of every row of a source; classes in the order of their names, or of their numbers."""

    name: str
    classes: tuple[str, ...]
    codes: Values  # (n,): places among the classes, NaN where a row has none


class Survival(NamedTuple):
    """Until when every row of a source was seen, and whether it met the event then."""

    name: str
    event: str
    times: Values  # (n,): NaN where a row has none
    events: Values  # (n,): 1 where it was met, 0 where not, NaN where that is missing


def target_names(frame: Frame, target: str | Sequence[str] | None) -> tuple[str, ...]:
    """Read which columns are targets.

    Parameters
    ----------
    frame : Frame
        The source.
    target : str, sequence of str or None
        One name, or several in a list, or as ``"a,b"`` where the source has no column of that name.

    Returns
    -------
    tuple of str
        Empty where none is named.

    Raises
    ------
    OptionError
        If a name is given twice, or the text cannot be split.

    Examples
    --------
    >>> from symscreen.table.source import read_frame
    >>> target_names(read_frame({"a": [1], "b": [2]}), "a,b")
    ('a', 'b')
    """
    if target is None:
        return ()
    if isinstance(target, str):
        lone = target in frame.columns or "," not in target
        names = (target,) if lone else names_in(target, "--target")
    elif isinstance(target, list | tuple):
        names = tuple(str(name) for name in target)
    else:
        names = (str(target),)
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise OptionError(f"--target names {quoted(twice[0])} twice: name it once")
    if not names:
        raise OptionError("--target names no column: name one, or several")
    return names


def kind_of_target(
    frame: Frame, y: Any, target: str | Sequence[str] | None, exclude: Collection[str], asked: str | None
) -> Kind:
    """Tell what a response is that is neither a ranking nor stages nor survival, by what it holds.

    Parameters
    ----------
    frame : Frame
        The source.
    y : object
        A response that comes beside it, or None.
    target : str, sequence of str or None
        The target's name; several names are several targets.
    exclude : collection of str
        Columns that the user leaves out.
    asked : {"numeric", "classes", "several"} or None
        What the user says that it is; None where that is to be seen.

    Returns
    -------
    Kind
        ``"classes"`` for a column of words; never for numbers unless asked for.

    Raises
    ------
    OptionError
        If what is asked is unknown, or is not what is given.
    """
    if asked is not None and asked not in _KINDS:
        raise OptionError(f"target_kind is {asked!r}{nearest(asked, _KINDS)}")
    names = target_names(frame, target)
    if len(names) > 1:
        if asked not in {None, "several"}:
            raise OptionError(f"--target names {len(names)} columns, and --target-kind {asked} takes one")
        return "several"
    if is_ranking(y):
        if asked == "several":
            return "several"
        if asked is not None:
            raise OptionError(
                f"y has several columns, and target_kind={asked!r} takes one: give one, or 'several'"
            )
        return "ranking"
    if asked == "several":
        raise OptionError("--target-kind several needs several targets: name them, --target a,b")
    if asked is not None:
        return "classes" if asked == "classes" else "numeric"
    if y is not None:
        return "classes" if np.ndim(y) == 1 and _of_words(_column_of(y)) else "numeric"
    name, _ = target_named(frame, names[0] if names else None, exclude)
    return "classes" if _of_words(frame.columns[name]) else "numeric"


def _of_words(column: Column) -> bool:
    """Tell a column of words from numbers that were spoilt, which are told of and not guessed at."""
    return column.texts is not None and column.holds == "text"


def _column_of(y: Any) -> Column:
    return python_column(y if hasattr(y, "shape") else np.array(y, dtype=object))


def classes_in(frame: Frame, name: str, column: Column, said: str = "--target") -> Classes:
    """Read the classes of a column.

    Parameters
    ----------
    frame : Frame
        The source, for messages.
    name : str
        What the column is called.
    column : Column
        Of words or numbers; blanks are missing.
    said : str
        Which option named it, for messages.

    Returns
    -------
    Classes

    Raises
    ------
    TableError
        If the column holds neither.

    Examples
    --------
    >>> from symscreen.table.source import read_frame
    >>> frame = read_frame({"mail": ["spam", "ham", None], "grade": [2, 1, 2]})
    >>> classes_in(frame, "mail", frame.columns["mail"])[1:]
    (('ham', 'spam'), array([ 1.,  0., nan]))
    >>> classes_in(frame, "grade", frame.columns["grade"]).classes
    ('1', '2')
    """
    if column.numbers is not None and column.numeric:
        there = ~np.isnan(column.numbers)
        distinct, found = np.unique(column.numbers[there] + 0.0, return_inverse=True)
        classes = tuple(
            f"{number:g}" if float(f"{number:g}") == number else repr(float(number))
            for number in distinct.tolist()
        )
    elif column.texts is not None:
        texts = [text if text and text.strip() else None for text in column.texts.to_pylist()]
        there = np.array([text is not None for text in texts], dtype=np.bool_)
        present = [text for text in texts if text is not None]
        classes = tuple(sorted(set(present)))
        place = {each: code for code, each in enumerate(classes)}
        found = np.array([place[text] for text in present], dtype=np.int64)
    else:
        raise TableError(
            f"{frame.where}: the column {quoted(name)} of {said} holds {column.holds}: words or numbers are "
            "needed; mend it, or choose another"
        )
    codes = np.full(there.size, np.nan)
    codes[there] = found
    return Classes(name, classes, codes)


def refuse_many_classes(frame: Frame, given: Classes) -> None:
    """Refuse a target of more than 100 classes, as a column of names or keys has them.

    Raises
    ------
    TableError
        With their number.
    """
    if len(given.classes) > _MOST_CLASSES:
        rows = count(int((~np.isnan(given.codes)).sum()), "row")
        raise TableError(
            f"{frame.where}: the target {quoted(given.name)} holds {len(given.classes):,} classes in {rows}, "
            f"more than {_MOST_CLASSES}: choose another with --target, or join classes"
        )


def targets_in(frame: Frame, names: Sequence[str], exclude: Collection[str]) -> dict[str, Values]:
    """Read several targets of a source.

    Parameters
    ----------
    frame : Frame
        The source.
    names : sequence of str
        Columns of numbers, at least two.
    exclude : collection of str
        Columns that the user leaves out.

    Returns
    -------
    dict of str to float64 array, each of shape (n,)
        NaN where a value is missing.

    Raises
    ------
    TableError
        If there is no such column, it is excluded or not numeric, or they are too many.
    """
    require(frame, names, "--target")
    _refuse_many(len(names))
    return {name: _numbers(frame, choose_target(frame, name, exclude)[0]) for name in names}


def given_targets(y: Any, frame: Frame, inputs: Collection[str]) -> dict[str, Values]:
    """Check several targets that come beside the source.

    Parameters
    ----------
    y : array or data frame of shape (n, K)
        A frame names them, else they are called y1 to yK, with a mark _ behind a name that an input has.
    frame : Frame
        The source, of n rows.
    inputs : collection of str
        The names that are taken.

    Returns
    -------
    dict of str to float64 array, each of shape (n,)

    Raises
    ------
    TableError
        If it does not have a row for each row of the source, a column is no numbers, or a name is taken.
    """
    cells = y.to_numpy() if hasattr(y, "to_numpy") else y
    cells = cells if hasattr(cells, "shape") else np.array(cells, dtype=object)
    if cells.shape[0] != frame.n:
        raise TableError(
            f"y has shape {cells.shape}: one row is needed for each of the {frame.n} rows of {frame.where}"
        )
    _refuse_many(cells.shape[1])
    names = _names_of(y, cells.shape[1], inputs)
    if twice := [name for name in names if names.count(name) > 1]:
        raise TableError(f"y has more than one column named {quoted(twice[0])}: rename or remove the others")
    if taken := [name for name in names if name in inputs]:
        raise TableError(
            f"{quoted(taken[0])} is the name of a column of y and of {frame.where}: rename one, or leave the "
            "latter out with --exclude"
        )
    found = {}
    for name, own in zip(names, cells.T, strict=True):
        column = python_column(own)
        if column.numbers is None or not column.numeric:
            raise TableError(f"the column {quoted(name)} of y holds {column.holds}: numbers are needed")
        found[name] = column.numbers
    return found


def _names_of(y: Any, targets: int, inputs: Collection[str]) -> list[str]:
    """Return the names that a frame gives its columns; else y1, y2, …, as far as inputs leave them free."""
    if hasattr(y, "columns"):
        return [str(each) for each in y.columns]
    names = []
    for place in range(1, targets + 1):
        name = f"y{place}"
        while name in inputs:
            name += "_"
        names.append(name)
    return names


def events_in(frame: Frame, name: str, target: str | None, exclude: Collection[str]) -> Values:
    """Read the column that tells whether the event was met.

    Parameters
    ----------
    frame : Frame
        The source.
    name : str
        A column of 1 or true (met) and 0 or false (seen no longer).
    target : str or None
        The column of the times.
    exclude : collection of str
        Columns that the user leaves out.

    Returns
    -------
    float64 array, shape (n,)
        1, 0, or NaN where the value is missing.

    Raises
    ------
    TableError
        If there is no such column, it has another use, or holds something else.
    """
    require(frame, [name], "--event")
    for other, option in ((exclude, "--exclude"), ([target], "--target")):
        if name in other:
            raise TableError(f"{frame.where}: {quoted(name)} is in both --event and {option}: keep one")
    meaning = "give 1 where the event was met, 0 where the row was seen no longer"
    column = frame.columns[name]
    if column.numbers is None or not column.numeric:
        raise TableError(
            f"{frame.where}: the column {quoted(name)} of --event holds {column.holds}: {meaning}"
        )
    strange = ~(np.isnan(column.numbers) | np.isin(column.numbers, (0.0, 1.0)))
    if strange.any():
        row = int(np.flatnonzero(strange)[0])
        raise TableError(
            f"{frame.where}: row {row + 1} of {quoted(name)} holds {column.numbers[row]:g}: {meaning}"
        )
    return column.numbers


def _refuse_many(targets: int) -> None:
    if targets > _MOST_TARGETS:
        raise TableError(f"{targets:,} targets are more than {_MOST_TARGETS}: screen them in groups")


def _numbers(frame: Frame, name: str) -> Values:
    numbers = frame.columns[name].numbers
    assert numbers is not None  # noqa: S101  # `choose_target` has refused what is not numeric
    return numbers
