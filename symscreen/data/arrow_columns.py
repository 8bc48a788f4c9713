"""Convert a column of an Arrow table. Only sources that need pyarrow have such columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.data.column_types import (
    SourceColumn,
    has_float_collisions,
    make_numeric_column,
    make_text_column,
)
from symscreen.data.text_cells import TextCells
from symscreen.data.time_cells import TimeCells

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


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

    types, arrow_type = pa.types, cells.type
    if types.is_dictionary(arrow_type):
        return convert_arrow_column(cells.cast(arrow_type.value_type))
    if cells.null_count == len(cells):
        return make_numeric_column(np.full(len(cells), np.nan))
    if types.is_string(arrow_type) or types.is_large_string(arrow_type) or types.is_string_view(arrow_type):
        return make_text_column(_encode_texts(cells))
    if types.is_date(arrow_type) or types.is_timestamp(arrow_type) or types.is_time(arrow_type):
        return SourceColumn("times", times=_convert_times(cells))
    if types.is_decimal(arrow_type):
        if _has_decimal_collisions(cells):
            return SourceColumn("too fine")
        cells = cells.cast(pa.string())  # Arrow's cast from decimal to float is not correctly rounded
    elif is_number_type(arrow_type):
        if types.is_integer(arrow_type) and _has_integer_collisions(cells):
            return SourceColumn("too fine")
        if not cells.null_count and not types.is_boolean(arrow_type):
            # Faster than a cast, which matters with 100,000 columns.
            return make_numeric_column(cells.to_numpy().astype(np.float64))
    else:
        return SourceColumn("other", detail=_describe_type(arrow_type))
    floats = cells.cast(pa.float64(), safe=False)
    return make_numeric_column(np.asarray(floats.fill_null(np.nan) if floats.null_count else floats))


def is_number_type(arrow_type: pa.DataType) -> bool:
    """Return whether a type is one of integers, floats and booleans."""
    import pyarrow as pa

    types = pa.types
    return bool(types.is_integer(arrow_type) or types.is_floating(arrow_type) or types.is_boolean(arrow_type))


def make_unread_column(arrow_type: pa.DataType) -> SourceColumn:
    """Make a column without its cells, of a type that is not one of `is_number_type`."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(arrow_type):
        return make_unread_column(arrow_type.value_type)
    if types.is_null(arrow_type):
        return SourceColumn("empty")
    if types.is_string(arrow_type) or types.is_large_string(arrow_type) or types.is_string_view(arrow_type):
        return SourceColumn("text")
    if types.is_date(arrow_type) or types.is_timestamp(arrow_type) or types.is_time(arrow_type):
        return SourceColumn("times")
    detail = "decimals" if types.is_decimal(arrow_type) else _describe_type(arrow_type)
    return SourceColumn("other", detail=detail)


def _has_integer_collisions(cells: pa.Array | pa.ChunkedArray) -> bool:
    """Return whether an integer column of length n has distinct values that are equal in float64."""
    values = (cells.drop_null() if cells.null_count else cells).to_numpy()
    return has_float_collisions(values, values.astype(np.float64))


def _has_decimal_collisions(cells: pa.Array | pa.ChunkedArray) -> bool:
    """Return whether a decimal column of length n has distinct values that are equal in float64."""
    import pyarrow.compute as pc

    distinct = pc.unique(cells.drop_null())
    floats = np.array([float(text) for text in distinct.cast("string").to_pylist()])
    return len(np.unique(floats)) < len(distinct)


def _describe_type(arrow_type: pa.DataType) -> str:
    """Describe a type that is not read."""
    import pyarrow as pa

    if pa.types.is_duration(arrow_type):
        return "durations"
    if pa.types.is_nested(arrow_type):
        return "lists or records"
    return f"values of type {getattr(arrow_type, 'extension_name', arrow_type)}"


def _encode_texts(cells: pa.Array | pa.ChunkedArray) -> TextCells:
    """Convert a column of texts of length n."""
    import pyarrow as pa

    encoded = cells.cast(pa.large_string()).dictionary_encode()
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    codes = np.asarray(encoded.indices.fill_null(-1)).astype(np.int64)
    return TextCells(encoded.dictionary.to_pylist(), codes)


def _convert_times(cells: pa.Array | pa.ChunkedArray) -> TimeCells:
    """Convert a column of dates, times or timestamps of length n."""
    import pyarrow as pa
    import pyarrow.compute as pc

    arrow_type = cells.type
    if pa.types.is_date(arrow_type):
        return TimeCells.without_zone(
            _to_ticks(cells, "datetime64[D]" if arrow_type.bit_width == 32 else "datetime64[ms]")
        )
    if pa.types.is_time(arrow_type):
        return TimeCells(_to_ticks(cells, f"timedelta64[{arrow_type.unit}]"), None)
    values = _to_ticks(cells, f"datetime64[{arrow_type.unit}]")
    if arrow_type.tz is None:
        return TimeCells.without_zone(values)
    try:
        return TimeCells(values, _to_ticks(pc.local_timestamp(cells), values.dtype))
    except pa.ArrowException:  # an unknown time zone
        return TimeCells(values, None)


def _to_ticks(cells: pa.Array | pa.ChunkedArray, dtype: Any) -> NDArray[Any]:
    """Convert times to an array of numpy's type, NaT where missing."""
    import pyarrow as pa

    ticks = cells.cast(pa.int32() if cells.type.bit_width == 32 else pa.int64()).cast(pa.int64())
    return np.asarray(ticks.fill_null(np.iinfo(np.int64).min)).astype(dtype)  # this integer is NaT
