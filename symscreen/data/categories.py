"""Columns of categories as numbers: an indicator of each level, or each input where a level holds.

Such a column is named by how it is computed, ``c = level`` or ``x·1[c = level]``. So it can be computed again
from the source's own columns wherever a formula that uses it goes.

Columns of categories turned into inputs before a screen reads its table.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from symscreen.data.column_selection import choose_inputs, choose_target_column, require_columns
from symscreen.data.column_types import SourceColumn
from symscreen.data.files import SourceFrame, read_frame
from symscreen.data.target_columns import parse_target_names, read_classes
from symscreen.errors import DataError, OptionError, format_count, quote, suggest

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from symscreen.config.screen_options import ScreenOptions
    from symscreen.data.target_columns import ClassData

    CategoricalAs = Literal["gate", "onehot"]

__all__ = [
    "CategoricalInput",
    "add_categorical_columns",
    "build_category_record",
    "check_categorical",
    "collect_levels",
    "compute_categorical_column",
    "encode_categoricals",
    "find_categorical_features",
    "parse_categorical_name",
    "read_levels",
]

_MAX_LEVELS = 50
_CATEGORICAL_AS_CHOICES = ("gate", "onehot")
_GATE_PATTERN = re.compile(r"·1\[")


class CategoricalInput(NamedTuple):
    """What a column that categories come to is computed from."""

    gated_input: str | None  # the input that a level lets pass; None where the level stands by itself
    category_column: str
    level: str

    @property
    def name(self) -> str:
        """What the column is called."""
        title = f"{self.category_column} = {self.level}"
        return title if self.gated_input is None else f"{self.gated_input}·1[{title}]"


def check_categorical(categorical: Sequence[str], categorical_as: str) -> None:
    """Refuse a way to use categories that there is not, before any work.

    Raises
    ------
    OptionError
        With near matches.
    """
    if categorical_as not in _CATEGORICAL_AS_CHOICES:
        raise OptionError(
            f"categorical_as is {categorical_as!r}{suggest(categorical_as, _CATEGORICAL_AS_CHOICES)}"
        )
    if categorical_as != "gate" and not categorical:
        raise OptionError(
            f"--categorical-as {categorical_as} is given without --categorical: name the columns, too"
        )


def add_categorical_columns(
    frame: SourceFrame,
    categorical: Sequence[str],
    categorical_as: CategoricalAs,
    inputs: Collection[str],
    used_columns: Collection[str],
) -> tuple[SourceFrame, list[str]]:
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
    >>> from symscreen.data.files import read_frame
    >>> frame = read_frame({"x": [1.5, 2.5, 3.5], "c": ["p", "q", "p"]})
    >>> new, names = add_categorical_columns(frame, ["c"], "gate", ["x"], [])
    >>> names, new.columns["x·1[c = p]"].numbers.tolist()
    (['x·1[c = p]', 'x·1[c = q]'], [1.5, 0.0, 3.5])
    """
    require_columns(frame, categorical, "--categorical")
    new: dict[str, SourceColumn] = {}
    for name in categorical:
        if name in used_columns:
            raise DataError(
                f"{frame.source}: {quote(name)} is in --categorical and has another use: keep one"
            )
        numbers = frame.columns[name].numbers
        if numbers is not None and np.isinf(numbers).any():
            raise DataError(
                f"{frame.source}: the column {quote(name)} of --categorical holds an infinity: mend it"
            )
        known = read_classes(frame, name, frame.columns[name], "--categorical")
        if not 2 <= len(known.classes) <= _MAX_LEVELS:
            raise DataError(
                f"{frame.source}: the column {quote(name)} of --categorical has "
                f"{format_count(len(known.classes), 'level')}: 2 to {_MAX_LEVELS} can be told apart; leave "
                "it out, "
                "or join levels"
            )
        for place, level in enumerate(known.classes):
            own = _make_indicator(known, place)
            for x in inputs if categorical_as == "gate" else (None,):
                made = CategoricalInput(x, name, level)
                _check_name_is_free(frame, made)
                new[made.name] = (
                    SourceColumn("numbers", own) if x is None else _make_gated_column(frame.columns[x], own)
                )
    return replace(frame, columns=frame.columns | new), list(new)


def _check_name_is_free(frame: SourceFrame, categorical_input: CategoricalInput) -> None:
    """Refuse a name that a column has, or that would be read as another column's."""
    if categorical_input.name in frame.columns:
        raise DataError(f"{frame.source} has a column {quote(categorical_input.name)} already: rename it")
    if parse_categorical_name(categorical_input.name, frame.columns) != categorical_input:
        raise DataError(
            f"{frame.source}: the level {quote(categorical_input.level)} of "
            f"{quote(categorical_input.category_column)} comes to the column "
            f"{quote(categorical_input.name)}, which reads as that of another column, too: rename one"
        )


def read_levels(frame: SourceFrame, name: str) -> tuple[tuple[str, ...], NDArray[np.float64]]:
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
    >>> from symscreen.data.files import read_frame
    >>> read_levels(read_frame({"c": ["p", "q", "p"]}), "c")
    (('p', 'q'), array([0., 1., 0.]))
    """
    known = read_classes(frame, name, frame.columns[name], "--categorical")
    return known.classes, known.codes


def collect_levels(frame: SourceFrame, categorical: Sequence[str]) -> dict[str, list[str | float]]:
    """List the levels of columns of categories, for a record: words as texts, numbers as numbers.

    Parameters
    ----------
    frame : Frame
        The source.
    categorical : sequence of str
        Columns that `add_categorical_columns` took.

    Returns
    -------
    dict of str to list of str or float

    Examples
    --------
    >>> from symscreen.data.files import read_frame
    >>> collect_levels(read_frame({"c": ["p", "q"], "n": [2, 0.5]}), ["c", "n"])
    {'c': ['p', 'q'], 'n': [0.5, 2.0]}
    """
    told: dict[str, list[str | float]] = {}
    for name in categorical:
        levels, _ = read_levels(frame, name)
        numbers = frame.columns[name].numbers is not None
        told[name] = [float(level) for level in levels] if numbers else list(levels)
    return told


def parse_categorical_name(name: str, columns: Collection[str]) -> CategoricalInput | None:
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
    >>> parse_categorical_name("x·1[c = p]", ["x", "c"])
    Derived(x='x', column='c', level='p')
    >>> parse_categorical_name("x·1[c = p]", ["x"])
    """
    plain = _parse_level(name, columns)
    if plain is not None:
        return CategoricalInput(None, *plain)
    for gate in _GATE_PATTERN.finditer(name) if name.endswith("]") else ():
        x, own = name[: gate.start()], _parse_level(name[gate.end() : -1], columns)
        if x in columns and own is not None:
            return CategoricalInput(x, *own)
    return None


def _parse_level(name: str, columns: Collection[str]) -> tuple[str, str] | None:
    """Read ``c = level``, whatever signs of equality names and levels hold."""
    signs = re.finditer(" = ", name)
    found = ((name[: sign.start()], name[sign.end() :]) for sign in signs)
    return next((each for each in found if each[0] in columns), None)


def compute_categorical_column(frame: SourceFrame, name: str) -> SourceColumn | None:
    """Compute a column of that name as `add_categorical_columns` does.

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
    >>> from symscreen.data.files import read_frame
    >>> compute_categorical_column(read_frame({"c": ["p", None]}), "c = p").numbers.tolist()
    [1.0, nan]
    """
    usable = [each for each, own in frame.columns.items() if own.numbers is not None or own.texts is not None]
    made = parse_categorical_name(name, usable)
    if made is None:
        return None
    column = frame.columns[made.category_column]
    known = read_classes(frame, made.category_column, column)
    own = _make_indicator(known, _find_level_code(made.level, known, column))
    if made.gated_input is None:
        return SourceColumn("numbers", own)
    x = frame.columns[made.gated_input]
    return None if x.numbers is None else _make_gated_column(x, own)


def _find_level_code(level: str, class_data: ClassData, column: SourceColumn) -> int:
    """Find a level among others, −1 where it is not there.

    A file with fewer levels may be read as numbers: 007 is then found as 7.
    """
    if level in class_data.classes:
        return class_data.classes.index(level)
    if column.numbers is None:
        return -1
    return next((place for place, each in enumerate(class_data.classes) if _is_same_number(each, level)), -1)


def _is_same_number(one: str, other: str) -> bool:
    try:
        return float(one) == float(other)
    except ValueError:
        return False


def _make_indicator(class_data: ClassData, code: int) -> NDArray[np.float64]:
    return np.where(np.isnan(class_data.codes), np.nan, class_data.codes == code)


def _make_gated_column(column: SourceColumn, indicator: NDArray[np.float64]) -> SourceColumn:
    assert column.numbers is not None  # noqa: S101  # inputs are numbers
    return SourceColumn("numbers", column.numbers * indicator)


def encode_categoricals(X: Any, y: object, options: ScreenOptions) -> tuple[Any, ScreenOptions]:  # noqa: N803
    """Add the columns that categories come to, and leave their own columns out.

    Parameters
    ----------
    X, y
        As of `symscreen.screen`.
    options : ScreenOptions
        The options as given.

    Returns
    -------
    X : object
        A Frame with more columns, or what was given where no column is categorical.
    options : ScreenOptions
        With the inputs and exclusions that this comes to.

    Raises
    ------
    InputError
        If a column cannot be used as categories.
    """
    categorical, how = _to_list(options.categorical), options.categorical_as
    check_categorical(categorical, how)
    if not categorical:
        return X, options
    frame, exclude = read_frame(X), _to_list(options.exclude)
    taken = [
        *parse_target_names(frame, options.target),
        *_to_list(options.ranking),
        *_to_list(options.stages),
    ]
    if y is None and not taken:
        taken = [choose_target_column(frame, None, exclude)[0]]
    taken += [] if options.event is None else [options.event]
    apart = [name for name in (options.groups, options.weights) if name is not None]
    left_out = [*exclude, *categorical, *apart]
    picked = None if options.inputs is None else [x for x in _to_list(options.inputs) if x not in categorical]
    passing: list[str] = []
    if how == "gate":
        passing, _ = choose_inputs(frame, taken, picked, left_out)
    frame, names = add_categorical_columns(frame, categorical, how, passing, [*taken, *exclude])
    inputs = None if picked is None else [*picked, *names]
    return frame, replace(options, inputs=inputs, exclude=[*exclude, *categorical])


def build_category_record(frame: SourceFrame, options: ScreenOptions) -> dict[str, Any]:
    """Return what the record tells of categories beside the options: the levels, which exports need.

    Parameters
    ----------
    frame : Frame
        What `encode_categoricals` gave.
    options : ScreenOptions
        The options as given.

    Returns
    -------
    dict
        Empty where no column is categorical.
    """
    categorical = _to_list(options.categorical)
    return {"levels": collect_levels(frame, categorical)} if categorical else {}


def find_categorical_features(
    X: Any,  # noqa: N803  # as in `encode_categoricals`
    names: Sequence[str],
    categorical: str | Sequence[str] | None,
) -> dict[str, CategoricalInput]:
    """Say what inputs that categories came to are computed from.

    Parameters
    ----------
    X : object
        What `encode_categoricals` returned.
    names : sequence of str
        The inputs of a table made of it.
    categorical : str or sequence of str or None
        The option, as given.

    Returns
    -------
    dict of str to Derived
        By the input's name.
    """
    own = set(_to_list(categorical))
    if not own or not isinstance(X, SourceFrame):
        return {}
    found = {name: parse_categorical_name(name, X.columns) for name in names}
    return {name: made for name, made in found.items() if made is not None and made.category_column in own}


def _to_list(names: str | Sequence[str] | None) -> list[str]:
    return [] if names is None else [names] if isinstance(names, str) else [str(name) for name in names]
