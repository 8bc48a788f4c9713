"""Convert categorical columns to numeric inputs: indicators of levels, or inputs gated by a level.

`encode_categoricals` adds the derived columns before a screen reads its dataset. A derived column carries
its definition, a `LevelIndicator`, and so does each `Column` of a formula. The column is computed from it
when the formula is applied to new rows. The name, ``c = level`` (indicator) or ``x·1[c = level]`` (gated
input), is never parsed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from symscreen.data.column_selection import MAX_DEFAULT_LEVELS, choose_inputs, require_columns
from symscreen.data.column_types import LevelIndicator, SourceColumn
from symscreen.data.sources import read_frame
from symscreen.data.target_source import list_target_columns, to_list
from symscreen.errors import DataError, OptionError
from symscreen.messages import (
    Message,
    format_count,
    format_names,
    hint_option,
    name_option,
    name_option_column,
    quote,
    suggest,
)
from symscreen.targets.multiclass import read_classes

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from symscreen.config.screen_options import ScreenOptions
    from symscreen.data.source_frame import SourceFrame
    from symscreen.targets.multiclass import ClassData

    CategoricalAs = Literal["gate", "onehot"]


_MAX_LEVELS = 50  # levels per categorical column
# A text column is a category by default if it has few levels, each with many rows on average.
_MAX_DEFAULT_COLUMNS = 12  # levels of all such columns together; otherwise none is
_MIN_ROWS_PER_LEVEL = 10
_CATEGORICAL_AS_CHOICES = ("gate", "onehot")


def check_categorical(categorical: Sequence[str], categorical_as: str) -> None:
    """Check the options `categorical` and `categorical_as` before any work is done.

    Parameters
    ----------
    categorical : sequence of str
        Names of the categorical columns.
    categorical_as : str
        ``"gate"`` or ``"onehot"``.

    Raises
    ------
    OptionError
        If `categorical_as` is unknown, or is given without `categorical`.
    """
    if categorical_as not in _CATEGORICAL_AS_CHOICES:
        raise OptionError(
            f"categorical_as is {categorical_as!r}{suggest(categorical_as, _CATEGORICAL_AS_CHOICES)}"
        )
    if categorical_as != "gate" and not categorical:
        raise OptionError(
            f"{name_option('categorical_as', categorical_as)} requires {name_option('categorical')}: "
            "name the columns, too"
        )


def add_categorical_columns(
    frame: SourceFrame,
    categorical: Sequence[str],
    categorical_as: CategoricalAs,
    inputs: Collection[str],
    used_columns: Collection[str],
) -> tuple[SourceFrame, list[str]]:
    """Append the derived columns of categorical columns to a frame.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    categorical : sequence of str
        Columns of text or numbers whose values are the levels (2 to 50 per column).
    categorical_as : {"gate", "onehot"}
        ``"gate"`` derives ``x·1[c = level]`` for each input x, which equals x where c is that level and 0
        elsewhere. ``"onehot"`` derives the indicator ``c = level``, which is 1 or 0.
    inputs : collection of str
        The inputs to gate. Ignored for ``"onehot"``.
    used_columns : collection of str
        Columns with another role, which cannot be categorical.

    Returns
    -------
    frame : SourceFrame
        The frame with the derived columns after the existing ones. A derived column is NaN in rows where
        the category is missing.
    names : list of str
        Names of the derived columns.

    Raises
    ------
    DataError
        If a column does not exist, has another role, contains infinities, or does not have 2 to 50 levels,
        or if a derived name is ambiguous or already in use.

    Examples
    --------
    >>> from symscreen.data import read_frame
    >>> frame = read_frame({"x": [1.5, 2.5, 3.5], "c": ["p", "q", "p"]})
    >>> new, names = add_categorical_columns(frame, ["c"], "gate", ["x"], [])
    >>> names, new.columns["x·1[c = p]"].numbers.tolist()
    (['x·1[c = p]', 'x·1[c = q]'], [1.5, 0.0, 3.5])
    """
    require_columns(frame, categorical, name_option("categorical"))
    derived_columns: dict[str, SourceColumn] = {}
    for name in categorical:
        if name in used_columns:
            raise DataError(
                f"{frame.source}: {quote(name)} is in {name_option('categorical')} and has another role: "
                "keep one"
            )
        numbers = frame.columns[name].numbers
        if numbers is not None and np.isinf(numbers).any():
            raise DataError(
                f"{frame.source}: {name_option_column('categorical', name)} contains an infinity: correct it"
            )
        class_data = read_classes(frame.source, name, frame.columns[name], "categorical")
        if not class_data.classes:
            raise DataError(
                f"{frame.source}: {name_option_column('categorical', name)} holds no values: leave it out"
            )
        if not 2 <= len(class_data.classes) <= _MAX_LEVELS:
            raise DataError(
                f"{frame.source}: {name_option_column('categorical', name)} has "
                f"{format_count(len(class_data.classes), 'level')}: 2 to {_MAX_LEVELS} are supported; leave "
                "it out, or merge levels"
            )
        for code, level in enumerate(class_data.classes):
            indicator = _make_indicator(class_data, code)
            for x in inputs if categorical_as == "gate" else (None,):
                definition = LevelIndicator(name, level if numbers is None else float(level), x)
                if definition.name in frame.columns or definition.name in derived_columns:
                    raise DataError(
                        f"{frame.source}: the level {quote(level)} of {quote(name)} results in the column "
                        f"{quote(definition.name)}, which exists already: rename one"
                    )
                derived_columns[definition.name] = replace(
                    SourceColumn("numbers", indicator)
                    if x is None
                    else _make_gated_column(frame.columns[x], indicator),
                    indicator=definition,
                )
    return replace(frame, columns=frame.columns | derived_columns), list(derived_columns)


def read_levels(frame: SourceFrame, name: str) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Read the levels of a categorical column and the level of each row.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    name : str
        A column of text or numbers.

    Returns
    -------
    levels : tuple of str, length L
        The levels in sorted order.
    codes : float64 array, shape (n,)
        Index of each row's level, NaN where the level is missing.

    Raises
    ------
    DataError
        If the column contains neither text nor numbers.

    Examples
    --------
    >>> from symscreen.data import read_frame
    >>> read_levels(read_frame({"c": ["p", "q", "p"]}), "c")
    (('p', 'q'), array([0., 1., 0.]))
    """
    class_data = read_classes(frame.source, name, frame.columns[name], "categorical")
    return class_data.classes, class_data.codes


def collect_levels(frame: SourceFrame, categorical: Sequence[str]) -> dict[str, list[str | float]]:
    """List the levels of categorical columns for a record: text as strings, numbers as floats.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    categorical : sequence of str
        Columns accepted by `add_categorical_columns`.

    Returns
    -------
    dict of str to list of str or float
        The levels of each column.

    Examples
    --------
    >>> from symscreen.data import read_frame
    >>> collect_levels(read_frame({"c": ["p", "q"], "n": [2, 0.5]}), ["c", "n"])
    {'c': ['p', 'q'], 'n': [0.5, 2.0]}
    """
    levels_by_column: dict[str, list[str | float]] = {}
    for name in categorical:
        levels, _ = read_levels(frame, name)
        is_numeric = frame.columns[name].numbers is not None
        levels_by_column[name] = [float(level) for level in levels] if is_numeric else list(levels)
    return levels_by_column


def compute_categorical_column(frame: SourceFrame, indicator: LevelIndicator) -> SourceColumn | None:
    """Compute a derived column, as `add_categorical_columns` does.

    Parameters
    ----------
    frame : SourceFrame
        A source with the same columns; it may have other rows.
    indicator : LevelIndicator
        How the column is defined.

    Returns
    -------
    SourceColumn or None
        None if the source has no such categorical column, or no such numeric column to multiply. The column
        is 0 in every row if the source does not contain the level.

    Raises
    ------
    DataError
        If the categorical column cannot be read as levels.

    Examples
    --------
    >>> from symscreen.data import read_frame
    >>> frame = read_frame({"c": ["p", None]})
    >>> compute_categorical_column(frame, LevelIndicator("c", "p")).numbers.tolist()
    [1.0, nan]
    """
    column = frame.columns.get(indicator.column)
    if column is None or (column.numbers is None and column.texts is None):
        return None
    class_data = read_classes(frame.source, indicator.column, column)
    values = _make_indicator(class_data, _find_level_code(indicator.level_text, class_data, column))
    if indicator.gated_column is None:
        return SourceColumn("numbers", values)
    gated_column = frame.columns.get(indicator.gated_column)
    if gated_column is None or gated_column.numbers is None:
        return None
    return _make_gated_column(gated_column, values, indicator.fill)


def _find_level_code(level: str, class_data: ClassData, column: SourceColumn) -> int:
    """Return the index of a level, −1 if it is absent.

    A source with fewer levels may be read as numbers, so 007 must also match 7.
    """
    if level in class_data.classes:
        return class_data.classes.index(level)
    if column.numbers is None:
        return -1
    return next((code for code, other in enumerate(class_data.classes) if _is_same_number(other, level)), -1)


def _is_same_number(first: str, other: str) -> bool:
    """Return whether two texts are equal as numbers."""
    try:
        return float(first) == float(other)
    except ValueError:
        return False


def _make_indicator(class_data: ClassData, code: int) -> NDArray[np.float64]:
    """Return 1 in rows of the given code, 0 in others and NaN in rows without a code; shape (n,)."""
    return np.where(np.isnan(class_data.codes), np.nan, class_data.codes == code)


def _make_gated_column(
    column: SourceColumn, indicator: NDArray[np.float64], fill: float | None = None
) -> SourceColumn:
    """Multiply a numeric column, whose missing values may be filled, by an indicator of shape (n,)."""
    numbers = column.numbers
    assert numbers is not None  # noqa: S101  # inputs are numbers
    if fill is not None:
        numbers = np.where(np.isnan(numbers), fill, numbers)
    return SourceColumn("numbers", numbers * indicator)


def encode_categoricals(X: Any, y: object, options: ScreenOptions) -> tuple[Any, ScreenOptions]:  # noqa: N803
    """Append the derived columns of all categorical columns and exclude the originals.

    Parameters
    ----------
    X : object
        The source, as for `symscreen.screen`.
    y : object
        A target that is passed separately, or None.
    options : ScreenOptions
        The options of the screen.

    Returns
    -------
    X : object
        A SourceFrame with the derived columns, if a column is categorical.
    options : ScreenOptions
        The options with updated `inputs` and `exclude`, and with the categories that are used.

    Raises
    ------
    DataError
        If a column cannot be used as a categorical column.
    OptionError
        If `categorical_as` is unknown or given without `categorical`.
    """
    categorical, categorical_as = to_list(options.categorical), options.categorical_as
    check_categorical(categorical, categorical_as)
    frame, exclude = read_frame(X), to_list(options.exclude)
    named = None if options.inputs is None else to_list(options.inputs)
    if not categorical and not find_few_levels(frame, exclude):
        return frame, options
    target_columns = list_target_columns(frame, y, options, exclude)
    row_columns = [name for name in (options.groups, options.weights) if name is not None]
    if not categorical:
        few = find_few_levels(frame, {*target_columns, *exclude, *row_columns})
        categorical = few if named is None else _choose_named(frame, few, named)
        if not categorical:
            return frame, options
        frame, categorical_as = _announce_categories(frame, categorical), "onehot"
    not_gated = [*exclude, *categorical, *row_columns]
    has_derived = named is not None and any(name not in frame.columns for name in named)
    numeric_inputs = (
        None if named is None or has_derived else [name for name in named if name not in categorical]
    )
    gated_inputs: list[str] = []
    require_columns(frame, categorical, name_option("categorical"))
    if categorical_as == "gate":
        gated_inputs, _ = choose_inputs(frame, target_columns, numeric_inputs, not_gated)
    frame, derived_names = add_categorical_columns(
        frame, categorical, categorical_as, gated_inputs, [*target_columns, *exclude]
    )
    inputs = named if has_derived else None if numeric_inputs is None else [*numeric_inputs, *derived_names]
    return frame, replace(
        options,
        inputs=inputs,
        exclude=[*exclude, *categorical],
        categorical=categorical,
        categorical_as=categorical_as,
    )


def _choose_named(frame: SourceFrame, categorical: Sequence[str], named: Collection[str]) -> list[str]:
    """Return the categories that are named as inputs, themselves or by one of their levels."""
    chosen = []
    for name in categorical:
        _, levels = add_categorical_columns(frame, [name], "onehot", [], [])
        if name in named or any(level in named for level in levels):
            chosen.append(name)
    return chosen


def find_few_levels(frame: SourceFrame, used_columns: Collection[str]) -> list[str]:
    """Find the text columns that are categories if the user says nothing.

    A column has 2 to 6 levels, no missing values, and 10 rows for each level on average. If all of them
    together have more than 12 levels, none is a category, because the space of formulas would be too large.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    used_columns : collection of str
        Columns with another role.

    Returns
    -------
    list of str

    Examples
    --------
    >>> frame = read_frame({"c": ["p", "q"] * 10, "name": [f"row {i}" for i in range(20)]})
    >>> find_few_levels(frame, [])
    ['c']
    """
    n_levels = {
        name: len(column.texts.distinct)
        for name, column in frame.columns.items()
        if name not in used_columns
        and column.texts is not None
        and column.kind == "text"
        and not column.damage
        and not column.texts.n_missing
    }
    few = {
        name: n
        for name, n in n_levels.items()
        if 2 <= n <= MAX_DEFAULT_LEVELS and frame.n >= _MIN_ROWS_PER_LEVEL * n
    }
    return list(few) if sum(few.values()) <= _MAX_DEFAULT_COLUMNS else []


def _announce_categories(frame: SourceFrame, names: Sequence[str]) -> SourceFrame:
    """Add the notice that columns are used as categories."""
    notice = Message(
        f"categories: {format_names(names)} as columns of 0 and 1, one for each level; leave them "
        f"out{hint_option('exclude')}, or let levels multiply inputs{hint_option('categorical', list(names))}"
    )
    return replace(frame, notices=(*frame.notices, notice))


def build_category_record(frame: SourceFrame, options: ScreenOptions) -> dict[str, Any]:
    """Build the part of the record that describes categorical columns, which exports need.

    Parameters
    ----------
    frame : SourceFrame
        The frame returned by `encode_categoricals`.
    options : ScreenOptions
        The options that `encode_categoricals` returned.

    Returns
    -------
    dict
        The columns, how they are used, and their levels; empty if no column is categorical.
    """
    categorical = to_list(options.categorical)
    if not categorical:
        return {}
    return {
        "categorical": categorical,
        "categorical_as": options.categorical_as,
        "levels": collect_levels(frame, categorical),
    }
