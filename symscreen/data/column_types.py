"""Convert one column of a source to float64, or describe why it is not numeric.

Conversion keeps ranks: a column whose distinct exact values (integers, decimals) become equal in double
precision is not converted.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.messages import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from numpy.typing import NDArray


_MAX_EXACT_INTEGER = 2.0**53  # all integers up to it are exact in float64
_NUMBER_PATTERN = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_COMMA_NUMBER_PATTERN = r"^\s*[+-]?\d+(,\d+)?([eE][+-]?\d+)?\s*$"
_TOO_FINE_DESCRIPTION = (
    "distinct integers or decimals that are equal in double precision (subtract an offset)"
)


@dataclass(frozen=True, slots=True)
class LevelIndicator:
    """A column derived from a categorical column: ``1[column = level]``, optionally times a numeric column.

    Parameters
    ----------
    column : str
        The categorical column.
    level : str or float
        The level: an exact text, or a number.
    gated_column : str or None
        The numeric column that the indicator multiplies; None for a plain 0/1 indicator.

    Examples
    --------
    >>> LevelIndicator("c", "p").name, LevelIndicator("n", 2.0, "x").name
    ('c = p', 'x·1[n = 2]')
    """

    column: str
    level: str | float
    gated_column: str | None = None

    @property
    def level_text(self) -> str:
        """The level as a text; numbers are written in the shortest exact form."""
        if isinstance(self.level, str):
            return self.level
        short = f"{self.level:g}"
        return short if float(short) == self.level else repr(float(self.level))

    @property
    def name(self) -> str:
        """The name of the derived column: ``c = level`` or ``x·1[c = level]``."""
        condition = f"{self.column} = {self.level_text}"
        return condition if self.gated_column is None else f"{self.gated_column}·1[{condition}]"


@dataclass(frozen=True, slots=True)
class FilledColumn:
    """A column of numbers whose missing values are replaced by a number.

    Parameters
    ----------
    column : str
        The column.
    fill : float
        What replaces missing values: the median of the training rows.

    Examples
    --------
    >>> FilledColumn("x", 2.5).name
    'x'
    """

    column: str
    fill: float

    @property
    def name(self) -> str:
        """The name, which is that of the column."""
        return self.column

    @property
    def gated_column(self) -> None:
        """None: no other column is needed."""


@dataclass(frozen=True, slots=True)
class MissingIndicator:
    """A column that is 1 where another one is missing, and 0 elsewhere.

    Parameters
    ----------
    column : str
        The other column.

    Examples
    --------
    >>> MissingIndicator("x").name
    'x is missing'
    """

    column: str

    @property
    def name(self) -> str:
        """The name of the derived column: ``x is missing``."""
        return f"{self.column} is missing"

    @property
    def gated_column(self) -> None:
        """None: no other column is needed."""


DerivedColumn = LevelIndicator | FilledColumn | MissingIndicator

NO_INDICATORS: Mapping[str, DerivedColumn] = {}  # a plain dict, which can be pickled


@dataclass(frozen=True, eq=False)
class SourceColumn:
    """A column of a source: its values if numeric, else its cells and a description.

    Parameters
    ----------
    description : str
        ``"numbers"``, ``"no values"``, or a description of other content for messages.
    numbers : float64 array of shape (n,), or None
        The values, NaN where missing; None if the column is not numeric.
    texts : pyarrow.Array or pyarrow.ChunkedArray of length n, or None
        The cells of a text column, null where missing.
    times : pyarrow.Array or pyarrow.ChunkedArray of length n, or None
        The cells of a column of dates or times, null where missing.
    indicator : LevelIndicator or None
        How the column is derived from a categorical one; None for a column of the source.
    mixed_texts : pyarrow.Array of length n, or None
        The cells of a column of Python numbers and texts, each as text.
    damage : str
        What a few cells of a column of numbers hold instead; empty for other columns.
    part_of : str or None
        The column of dates that the column is computed from.
    is_redundant : bool
        Whether a part of dates adds nothing to the other parts, and is not an input by default.

    Examples
    --------
    >>> convert_python_column([1, None, 3]).numbers.tolist(), convert_python_column(["a", "b"]).description
    ([1.0, nan, 3.0], 'text')
    """

    description: str
    numbers: NDArray[np.float64] | None = None
    texts: pa.Array | pa.ChunkedArray | None = None
    times: pa.Array | pa.ChunkedArray | None = None
    indicator: LevelIndicator | None = None
    mixed_texts: pa.Array | None = None
    damage: str = ""
    part_of: str | None = None
    is_redundant: bool = False

    @property
    def cells(self) -> pa.Array | pa.ChunkedArray | None:
        """The cells as text, if some of them are text."""
        return self.mixed_texts if self.texts is None else self.texts

    @property
    def is_numeric(self) -> bool:
        """Whether the column contains at least one number and nothing else."""
        return self.description == "numbers"


def _make_numeric_column(values: NDArray[np.float64]) -> SourceColumn:
    """Wrap float64 values of shape (n,), NaN where missing."""
    return SourceColumn("no values" if np.isnan(values).all() else "numbers", values)


def has_float_collisions(exact: NDArray[Any], floats: NDArray[np.float64]) -> bool:
    """Check whether distinct values become equal in double precision, which would lose their ranks.

    Parameters
    ----------
    exact : array, shape (n,)
        The exact values; any dtype with an order.
    floats : float64 array, shape (n,)
        The same values converted to float64.

    Returns
    -------
    bool

    Examples
    --------
    >>> whole = np.array([2**60, 2**60 + 1])
    >>> has_float_collisions(whole, whole.astype(np.float64)), has_float_collisions(whole // 256,
    ...     (whole // 256).astype(np.float64))
    (True, False)
    """
    if exact.dtype.kind in "iu" and (
        exact.dtype.itemsize < 8 or np.abs(floats).max(initial=0.0) <= _MAX_EXACT_INTEGER
    ):
        return False
    order = np.argsort(exact, kind="stable")
    values, rounded = exact[order], floats[order]
    return bool(((values[1:] != values[:-1]) & (rounded[1:] == rounded[:-1])).any())


def convert_arrow_column(cells: pa.Array | pa.ChunkedArray) -> SourceColumn:  # noqa: PLR0911  # one return for each type
    """Convert a column of an Arrow table.

    Parameters
    ----------
    cells : pyarrow.Array or pyarrow.ChunkedArray, length n
        Integers, floats, booleans and decimals are converted to float64. A dictionary-encoded column is
        decoded first.

    Returns
    -------
    SourceColumn

    Examples
    --------
    >>> import pyarrow as pa
    >>> convert_arrow_column(pa.array([True, False])).numbers.tolist()
    [1.0, 0.0]
    """
    import pyarrow as pa

    arrow_type = cells.type
    if pa.types.is_dictionary(arrow_type):
        return convert_arrow_column(cells.cast(arrow_type.value_type))
    if cells.null_count == len(cells):
        return _make_numeric_column(np.full(len(cells), np.nan))
    if pa.types.is_decimal(arrow_type) and _has_decimal_collisions(cells):
        return SourceColumn(_TOO_FINE_DESCRIPTION)
    if pa.types.is_decimal(arrow_type):
        cells = cells.cast(pa.string())  # Arrow's cast from decimal to float is not correctly rounded
    elif not (
        pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type) or pa.types.is_boolean(arrow_type)
    ):
        return SourceColumn(
            _describe_arrow_column(cells),
            texts=cells if _is_text(arrow_type) else None,
            times=cells if _is_time(arrow_type) else None,
        )
    elif pa.types.is_integer(arrow_type) and _has_integer_collisions(cells):
        return SourceColumn(_TOO_FINE_DESCRIPTION)
    elif not cells.null_count and not pa.types.is_boolean(arrow_type):
        # Faster than a cast, which matters with 100,000 columns.
        return _make_numeric_column(cells.to_numpy().astype(np.float64))
    floats = cells.cast(pa.float64(), safe=False)
    return _make_numeric_column(np.asarray(floats.fill_null(np.nan) if floats.null_count else floats))


def convert_python_column(cells: Any) -> SourceColumn:
    """Convert a column of a data frame, a dict or an array.

    Parameters
    ----------
    cells : array, pandas Series or sequence, shape (n,)
        The cells. None, NaN and pandas.NA count as missing.

    Returns
    -------
    SourceColumn

    Examples
    --------
    >>> convert_python_column([1, 2.5, 3, "n/a"]).description
    "a mix of Python objects (float, int, str): 3 of 4 cells are numbers, but row 4 holds 'n/a'"
    """
    import pyarrow as pa

    if not hasattr(cells, "dtype"):
        cell_list = list(cells)
        cells = np.empty(len(cell_list), dtype=object)  # np.array([1, "a"]) would turn 1 into text
        cells[:] = cell_list
    kind = cells.dtype.kind if isinstance(cells.dtype, np.dtype) else "O"
    if kind in "biuf":
        is_masked = isinstance(cells, np.ma.MaskedArray)
        known_cells = cells.compressed() if is_masked else np.asarray(cells)
        if kind in "iu" and has_float_collisions(known_cells, known_cells.astype(np.float64)):
            return SourceColumn(_TOO_FINE_DESCRIPTION)
        return _make_numeric_column(
            cells.astype(np.float64).filled(np.nan) if is_masked else np.asarray(cells, np.float64)
        )
    if kind == "c":
        return SourceColumn("complex numbers")
    try:
        return convert_arrow_column(pa.array(cells, from_pandas=True))
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return _convert_mixed(cells)


def _has_integer_collisions(cells: pa.Array | pa.ChunkedArray) -> bool:
    """Check an integer column of length n for values that are equal in float64."""
    values = (cells.drop_null() if cells.null_count else cells).to_numpy()
    return has_float_collisions(values, values.astype(np.float64))


def _has_decimal_collisions(cells: pa.Array | pa.ChunkedArray) -> bool:
    """Check a decimal column of length n for values that are equal in float64."""
    import pyarrow.compute as pc

    distinct = pc.unique(cells.drop_null())
    floats = np.array([float(text) for text in distinct.cast("string").to_pylist()])
    return len(np.unique(floats)) < len(distinct)


def _describe_arrow_column(cells: pa.Array | pa.ChunkedArray) -> str:
    """Describe the content of an Arrow column that is neither numeric nor empty."""
    import pyarrow as pa

    types = pa.types
    arrow_type = cells.type
    if _is_text(arrow_type):
        return _describe_text(cells.cast(pa.large_string()))
    for matches, description in (
        (_is_time(arrow_type), "dates or times"),
        (types.is_duration(arrow_type), "durations"),
        (types.is_nested(arrow_type), "lists or records"),
    ):
        if matches:
            return description
    return f"values of type {getattr(arrow_type, 'extension_name', arrow_type)}"


def _is_text(arrow_type: pa.DataType) -> bool:
    """Check whether an Arrow type is text."""
    import pyarrow as pa

    types = pa.types
    return bool(
        types.is_string(arrow_type) or types.is_large_string(arrow_type) or types.is_string_view(arrow_type)
    )


def _is_time(arrow_type: pa.DataType) -> bool:
    """Check whether an Arrow type is a date, a time or a timestamp."""
    import pyarrow as pa

    types = pa.types
    return bool(types.is_date(arrow_type) or types.is_timestamp(arrow_type) or types.is_time(arrow_type))


def _describe_text(cells: pa.Array | pa.ChunkedArray) -> str:
    """Describe a text column; point out numbers with a bad cell or a decimal comma."""
    import pyarrow.compute as pc

    n_present = len(cells) - cells.null_count
    is_number = pc.match_substring_regex(cells, _NUMBER_PATTERN)
    n_numbers = pc.sum(is_number).as_py()
    if n_numbers == n_present:
        return "numbers stored as text"
    row = pc.index(is_number, value=False).as_py()
    if pc.all(pc.match_substring_regex(cells, _COMMA_NUMBER_PATTERN)).as_py():
        return f"text: numbers with a decimal comma, such as {quote(cells[row].as_py())} in row {row + 1}"
    return _describe_flaw("text", n_numbers, n_present, row, cells[row].as_py())


def _convert_mixed(cells: Any) -> SourceColumn:
    """Convert or describe a column of Python objects that has no single Arrow type."""
    import pandas as pd

    values = np.asarray(cells, dtype=object)
    is_present_mask = ~pd.isna(values)
    is_number = np.array([isinstance(value, numbers.Real | Decimal) for value in values])
    bad_rows = np.flatnonzero(is_present_mask & ~is_number)
    if not bad_rows.size:
        try:
            floats = [
                float(value) if is_present else np.nan
                for value, is_present in zip(values, is_present_mask, strict=True)
            ]
            return _make_numeric_column(np.array(floats))
        except OverflowError:
            return SourceColumn("integers beyond the range of floating point")
    type_names = sorted(
        {
            type(value).__name__
            for value, is_present in zip(values, is_present_mask, strict=True)
            if is_present
        }
    )
    description = (
        f"a mix of Python objects ({', '.join(type_names)})"
        if len(type_names) > 1
        else f"objects of type {type_names[0]}"
    )
    row = int(bad_rows[0])
    return SourceColumn(
        _describe_flaw(
            description,
            int((is_present_mask & is_number).sum()),
            int(is_present_mask.sum()),
            row,
            values[row],
        ),
        mixed_texts=_write_mixed_cells(values, is_present_mask),
    )


def _write_mixed_cells(values: NDArray[Any], is_present_mask: NDArray[np.bool_]) -> pa.Array | None:
    """Write numbers and texts of shape (n,) as texts; None if there is anything else."""
    import pyarrow as pa

    texts: list[str | None] = []
    for value, is_present in zip(values, is_present_mask, strict=True):
        if not is_present:
            texts.append(None)
        elif isinstance(value, str):
            texts.append(str(value))
        elif isinstance(value, int | float | Decimal | np.integer | np.floating) and not isinstance(
            value, bool
        ):
            texts.append(str(value.item() if isinstance(value, np.generic) else value))
        else:
            return None
    try:
        return pa.array(texts, pa.large_string())
    except pa.ArrowException:  # a text that is not valid Unicode
        return None


def _describe_flaw(description: str, n_numbers: int, n_present: int, row: int, cell: object) -> str:
    """Append the first bad cell to the description if more than half of the cells are numbers."""
    if 2 * n_numbers <= n_present:
        return description
    return (
        f"{description}: {n_numbers} of {n_present} cells are numbers, but row {row + 1} holds {quote(cell)}"
    )
