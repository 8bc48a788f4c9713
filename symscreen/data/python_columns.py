"""Convert a column of a data frame, a dict, an array or a list of Python objects."""

from __future__ import annotations

import datetime as dt
import numbers
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.data.arrow_columns import convert_arrow_column
from symscreen.data.column_types import (
    SourceColumn,
    describe_flaw,
    has_float_collisions,
    make_numeric_column,
    make_text_column,
)
from symscreen.data.text_cells import TextCells
from symscreen.data.time_cells import TIME_UNITS, TimeCells

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

_LIST_TYPES = (list, tuple, set, frozenset, np.ndarray)


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
    >>> convert_python_column([1, None, 3]).numbers.tolist(), convert_python_column(["a", "b"]).description
    ([1.0, nan, 3.0], 'text')
    >>> convert_python_column([1, 2.5, 3, "n/a"]).description
    "a mix of Python objects (float, int, str): 3 of 4 cells are numbers, but row 4 holds 'n/a'"
    """
    if not hasattr(cells, "dtype"):
        cell_list = list(cells)
        cells = np.empty(len(cell_list), dtype=object)  # np.array([1, "a"]) would turn 1 into text
        cells[:] = cell_list
    if not isinstance(cells.dtype, np.dtype):
        return _convert_extension_column(cells)
    values = cells if isinstance(cells, np.ma.MaskedArray) else np.asarray(cells)
    if values.dtype.kind in "biuf":
        return _convert_number_array(values)
    if values.dtype.kind == "c":
        return SourceColumn("other", detail="complex numbers")
    unit = np.datetime_data(values.dtype)[0] if values.dtype.kind in "mM" else ""
    if unit in TIME_UNITS and (values.dtype.kind, unit) != ("m", "D"):
        return _convert_time_array(values)
    objects = np.asarray(values).astype(object)
    if isinstance(values, np.ma.MaskedArray):
        objects[np.ma.getmaskarray(values)] = None
    return _convert_objects(objects)


def _convert_number_array(values: NDArray[Any]) -> SourceColumn:
    """Convert an array of booleans, integers or floats, which may be masked."""
    is_masked = isinstance(values, np.ma.MaskedArray)
    known = values.compressed() if isinstance(values, np.ma.MaskedArray) else values
    if values.dtype.kind in "iu" and has_float_collisions(known, known.astype(np.float64)):
        return SourceColumn("too fine")
    floats: Any = values.astype(np.float64)
    return make_numeric_column(floats.filled(np.nan) if is_masked else floats)


def _convert_time_array(values: NDArray[Any]) -> SourceColumn:
    """Convert an array of dates, times or durations, which may be masked."""
    if isinstance(values, np.ma.MaskedArray):
        known = values.data.copy()
        known[np.ma.getmaskarray(values)] = "NaT"
        values = known
    if np.isnat(values).all():
        return make_numeric_column(np.full(len(values), np.nan))
    if values.dtype.kind == "m":
        return SourceColumn("other", detail="durations")
    return SourceColumn("times", times=TimeCells.without_zone(values))


def _convert_extension_column(cells: Any) -> SourceColumn:  # noqa: PLR0911  # one return for each type
    """Convert a pandas column whose type numpy does not have."""
    import pandas as pd

    column, dtype = pd.Series(cells), cells.dtype
    if isinstance(dtype, pd.ArrowDtype):
        import pyarrow as pa

        return convert_arrow_column(pa.array(column, from_pandas=True))
    if isinstance(dtype, pd.SparseDtype):
        return convert_python_column(np.asarray(column))
    if column.isna().all():
        return make_numeric_column(np.full(len(column), np.nan))
    if isinstance(dtype, pd.DatetimeTZDtype):
        local = column.dt.tz_localize(None).to_numpy()
        instants = column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
        return SourceColumn("times", times=TimeCells(instants, local))
    if isinstance(dtype, pd.PeriodDtype | pd.IntervalDtype):
        name = type(dtype).__name__.removesuffix("Dtype").lower()
        return SourceColumn("other", detail=f"values of type pandas.{name}")
    if dtype.kind in "biuf" and hasattr(dtype, "numpy_dtype"):
        return _convert_nullable_numbers(column, dtype.numpy_dtype)
    return _convert_objects(column.to_numpy(dtype=object))


def _convert_nullable_numbers(column: pd.Series[Any], dtype: np.dtype[Any]) -> SourceColumn:
    """Convert a pandas column of numbers that may be missing; `dtype` is the type of the others."""
    known = column.dropna().to_numpy(dtype=dtype)
    if dtype.kind in "iu" and has_float_collisions(known, known.astype(np.float64)):
        return SourceColumn("too fine")
    return make_numeric_column(column.to_numpy(dtype=np.float64, na_value=np.nan))


def _convert_objects(values: NDArray[Any]) -> SourceColumn:  # noqa: PLR0911  # one return for each type
    """Convert n Python objects."""
    import pandas as pd

    is_missing = np.asarray(pd.isna(values))
    known = values[~is_missing]
    types = set(map(type, known))
    if not types:
        return make_numeric_column(np.full(len(values), np.nan))
    if _are_all(types, str):
        return make_text_column(TextCells.from_objects(values))
    if _are_all(types, (str, bytes, bytearray)):
        return SourceColumn("other", detail="values of type binary")
    if _are_all(types, (bool, np.bool_)):
        return make_numeric_column(np.where(is_missing, np.nan, values).astype(np.float64))
    if _are_all(types, (dt.timedelta, np.timedelta64)):  # numpy calls the latter an integer
        return SourceColumn("other", detail="durations")
    if _have_collisions(known, types):
        return SourceColumn("too fine")
    if (times := _read_times(values, is_missing, types)) is not None:
        return SourceColumn("times", times=times)
    if _are_all(types, _LIST_TYPES) or _are_all(types, dict):
        return SourceColumn("other", detail="lists or records")
    return _convert_mixed(values, is_missing, types)


def _are_all(types: set[type], classes: type | tuple[type, ...]) -> bool:
    """Return whether all types are subclasses of the given ones."""
    return all(issubclass(each, classes) for each in types)


def _have_collisions(known: NDArray[Any], types: set[type]) -> bool:
    """Return whether integers of 64 bits, or decimals, have distinct values that are equal in float64."""
    if bool in types:
        return False
    if _are_all(types, (int, np.integer)):
        try:
            exact = known.astype(np.int64)
        except OverflowError:
            return False
        return has_float_collisions(exact, exact.astype(np.float64))
    if Decimal in types and _are_all(types, (int, Decimal)):
        distinct = {Decimal(value) for value in known.tolist()}
        return len(set(map(float, distinct))) < len(distinct)
    return False


def _read_times(values: NDArray[Any], is_missing: NDArray[np.bool_], types: set[type]) -> TimeCells | None:
    """Read objects that are all dates, times of the day, or dates with times; None for others."""
    if _are_all(types, np.datetime64):
        known_times = np.array(list(values[~is_missing]))
        times = np.full(len(values), "NaT", dtype=known_times.dtype)
        times[~is_missing] = known_times
        return TimeCells.without_zone(times)
    objects = values.copy()
    objects[is_missing] = None
    cells: list[Any] = objects.tolist()
    if _are_all(types, dt.time):
        return TimeCells.from_times_of_day(cells)
    if _are_all(types, dt.datetime):
        return TimeCells.from_datetimes(cells)
    if _are_all(types, dt.date) and type(next(each for each in cells if each is not None)) is dt.date:
        days = [each and dt.date(each.year, each.month, each.day) for each in cells]
        return TimeCells.without_zone(np.array(days, dtype="datetime64[D]"))
    return None


def _convert_mixed(values: NDArray[Any], is_missing: NDArray[np.bool_], types: set[type]) -> SourceColumn:
    """Convert or describe n objects of several types, or of a type that is not read."""
    is_number = np.array([isinstance(value, numbers.Real | Decimal) for value in values])
    bad_rows = np.flatnonzero(~is_missing & ~is_number)
    if not bad_rows.size:
        try:
            return make_numeric_column(
                np.array(
                    [np.nan if gap else float(value) for value, gap in zip(values, is_missing, strict=True)]
                )
            )
        except OverflowError:
            return SourceColumn("other", detail="integers beyond the range of floating point")
    type_names = sorted({each.__name__ for each in types})
    description = (
        f"a mix of Python objects ({', '.join(type_names)})"
        if len(type_names) > 1
        else f"objects of type {type_names[0]}"
    )
    row = int(bad_rows[0])
    flaw = describe_flaw(int((~is_missing & is_number).sum()), int((~is_missing).sum()), row, values[row])
    return SourceColumn(
        "other",
        detail=f"{description}: {flaw}" if flaw else description,
        mixed_texts=_write_mixed_cells(values, is_missing),
    )


def _write_mixed_cells(values: NDArray[Any], is_missing: NDArray[np.bool_]) -> TextCells | None:
    """Write numbers and texts of shape (n,) as texts; None if there is anything else."""
    texts: list[str | None] = []
    for value, gap in zip(values, is_missing, strict=True):
        if gap:
            texts.append(None)
        elif isinstance(value, str):
            texts.append(str(value))
        elif isinstance(value, int | float | Decimal | np.integer | np.floating) and not isinstance(
            value, bool
        ):
            texts.append(str(value.item() if isinstance(value, np.generic) else value))
        else:
            return None
    return TextCells.from_objects(texts)
