"""What one column holds: numbers, or something else and what."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import quote

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


__all__ = ["SourceColumn", "convert_arrow_column", "convert_python_column", "has_float_collisions"]

_NUMBER_PATTERN = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_COMMA_NUMBER_PATTERN = r"^\s*[+-]?\d+(,\d+)?([eE][+-]?\d+)?\s*$"


@dataclass(frozen=True, eq=False)
class SourceColumn:
    """A column of a source, converted as far as it goes.

    Parameters
    ----------
    holds : str
        ``"numbers"``, ``"no values"``, or what else it holds, in words for people.
    numbers : float64 array of shape (n,), or None
        The values, NaN where one is missing; None where the column is not numeric.
    texts : pyarrow.Array or pyarrow.ChunkedArray of length n, or None
        The cells of a column of text, null where one is missing.
    times : pyarrow.Array or pyarrow.ChunkedArray of length n, or None
        The cells of a column of dates or times, null where one is missing.

    Examples
    --------
    >>> convert_python_column([1, None, 3]).numbers.tolist(), convert_python_column(["a", "b"]).description
    ([1.0, nan, 3.0], 'text')
    """

    description: str
    numbers: NDArray[np.float64] | None = None
    texts: pa.Array | pa.ChunkedArray | None = None
    times: pa.Array | pa.ChunkedArray | None = None

    @property
    def is_numeric(self) -> bool:
        """Whether the column holds numbers, at least one."""
        return self.description == "numbers"


def _make_numeric_column(values: NDArray[np.float64]) -> SourceColumn:
    return SourceColumn("no values" if np.isnan(values).all() else "numbers", values)


_TOO_FINE_DESCRIPTION = (
    "whole numbers or decimals, some of which double precision cannot tell apart (subtract an offset)"
)


def has_float_collisions(exact: NDArray[Any], floats: NDArray[np.float64]) -> bool:
    """Say whether different values are equal in double precision: their ranks would be lost.

    Parameters
    ----------
    exact : array, shape (n,)
        Whole numbers, or anything that can be compared.
    floats : float64 array, shape (n,)
        What they became.

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
    if exact.dtype.kind in "iu" and (exact.dtype.itemsize < 8 or np.abs(floats).max(initial=0.0) <= 2.0**53):
        return False
    order = np.argsort(exact, kind="stable")
    values, rounded = exact[order], floats[order]
    return bool(((values[1:] != values[:-1]) & (rounded[1:] == rounded[:-1])).any())


def convert_arrow_column(cells: pa.Array | pa.ChunkedArray) -> SourceColumn:  # noqa: PLR0911  # one for each kind
    """Convert a column of an Arrow table.

    Parameters
    ----------
    cells : pyarrow.Array or pyarrow.ChunkedArray, length n
        Integers, floats, booleans and decimals become float64, dictionaries what they stand for.

    Returns
    -------
    Column

    Examples
    --------
    >>> import pyarrow as pa
    >>> convert_arrow_column(pa.array([True, False])).numbers.tolist()
    [1.0, 0.0]
    """
    import pyarrow as pa

    kind = cells.type
    if pa.types.is_dictionary(kind):
        return convert_arrow_column(cells.cast(kind.value_type))
    if cells.null_count == len(cells):
        return _make_numeric_column(np.full(len(cells), np.nan))
    if pa.types.is_decimal(kind) and _has_decimal_collisions(cells):
        return SourceColumn(_TOO_FINE_DESCRIPTION)
    if pa.types.is_decimal(kind):
        cells = cells.cast(pa.string())  # Arrow's own decimal -> float is not correctly rounded
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        return SourceColumn(
            _describe_arrow_column(cells),
            texts=cells if _is_text(kind) else None,
            times=cells if _is_time(kind) else None,
        )
    elif pa.types.is_integer(kind) and _has_integer_collisions(cells):
        return SourceColumn(_TOO_FINE_DESCRIPTION)
    elif not cells.null_count and not pa.types.is_boolean(kind):
        return _make_numeric_column(
            cells.to_numpy().astype(np.float64)
        )  # there may be 100,000 of them: casts take longer
    floats = cells.cast(pa.float64(), safe=False)
    return _make_numeric_column(np.asarray(floats.fill_null(np.nan) if floats.null_count else floats))


def convert_python_column(cells: Any) -> SourceColumn:
    """Convert a column of a frame, a dict or an array.

    Parameters
    ----------
    cells : array, pandas Series or sequence, shape (n,)
        None, NaN and pandas' NA count as missing.

    Returns
    -------
    Column

    Examples
    --------
    >>> convert_python_column([1, 2.5, 3, "n/a"]).description
    "a mix of Python objects (float, int, str): 3 of 4 cells are numbers, but row 4 holds 'n/a'"
    """
    import pyarrow as pa

    if not hasattr(cells, "dtype"):
        listed = list(cells)
        cells = np.empty(len(listed), dtype=object)  # np.array([1, "a"]) would make the 1 a text
        cells[:] = listed
    kind = cells.dtype.kind if isinstance(cells.dtype, np.dtype) else "O"
    if kind in "biuf":
        masked = isinstance(cells, np.ma.MaskedArray)
        whole = cells.compressed() if masked else np.asarray(cells)
        if kind in "iu" and has_float_collisions(whole, whole.astype(np.float64)):
            return SourceColumn(_TOO_FINE_DESCRIPTION)
        return _make_numeric_column(
            cells.astype(np.float64).filled(np.nan) if masked else np.asarray(cells, np.float64)
        )
    if kind == "c":
        return SourceColumn("complex numbers")
    try:
        return convert_arrow_column(pa.array(cells, from_pandas=True))
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return _convert_mixed(cells)


def _has_integer_collisions(cells: pa.Array | pa.ChunkedArray) -> bool:
    values = (cells.drop_null() if cells.null_count else cells).to_numpy()
    return has_float_collisions(values, values.astype(np.float64))


def _has_decimal_collisions(cells: pa.Array | pa.ChunkedArray) -> bool:
    import pyarrow.compute as pc

    different = pc.unique(cells.drop_null())
    floats = np.array([float(text) for text in different.cast("string").to_pylist()])
    return len(np.unique(floats)) < len(different)


def _describe_arrow_column(cells: pa.Array | pa.ChunkedArray) -> str:
    """Say what an Arrow column holds that is neither numeric nor empty."""
    import pyarrow as pa

    kinds = pa.types
    kind = cells.type
    if _is_text(kind):
        return _describe_text(cells.cast(pa.large_string()))
    for matches, words in (
        (_is_time(kind), "dates or times"),
        (kinds.is_duration(kind), "durations"),
        (kinds.is_nested(kind), "lists or records"),
    ):
        if matches:
            return words
    return f"values of type {getattr(kind, 'extension_name', kind)}"


def _is_text(arrow_type: pa.DataType) -> bool:
    import pyarrow as pa

    kinds = pa.types
    return bool(
        kinds.is_string(arrow_type) or kinds.is_large_string(arrow_type) or kinds.is_string_view(arrow_type)
    )


def _is_time(arrow_type: pa.DataType) -> bool:
    import pyarrow as pa

    kinds = pa.types
    return bool(kinds.is_date(arrow_type) or kinds.is_timestamp(arrow_type) or kinds.is_time(arrow_type))


def _describe_text(cells: pa.Array | pa.ChunkedArray) -> str:
    """Tell words from numbers that one bad cell or a decimal comma turned into text."""
    import pyarrow.compute as pc

    present = len(cells) - cells.null_count
    looks = pc.match_substring_regex(cells, _NUMBER_PATTERN)
    good = pc.sum(looks).as_py()
    if good == present:
        return "numbers stored as text"
    bad = pc.index(looks, value=False).as_py()
    if pc.all(pc.match_substring_regex(cells, _COMMA_NUMBER_PATTERN)).as_py():
        return f"text: numbers with a decimal comma, such as {quote(cells[bad])} in row {bad + 1}"
    return _describe_flaw("text", good, present, bad, cells[bad])


def _convert_mixed(cells: Any) -> SourceColumn:
    """Convert or describe a column that no single Arrow type holds."""
    import pandas as pd

    values = np.asarray(cells, dtype=object)
    present = ~pd.isna(values)
    is_number = np.array([isinstance(value, numbers.Real | Decimal) for value in values])
    bad = np.flatnonzero(present & ~is_number)
    if not bad.size:
        try:
            floats = [float(value) if here else np.nan for value, here in zip(values, present, strict=True)]
            return _make_numeric_column(np.array(floats))
        except OverflowError:
            return SourceColumn("integers beyond the range of floating point")
    kinds = sorted({type(value).__name__ for value, here in zip(values, present, strict=True) if here})
    words = (
        f"a mix of Python objects ({', '.join(kinds)})" if len(kinds) > 1 else f"objects of type {kinds[0]}"
    )
    first = int(bad[0])
    return SourceColumn(
        _describe_flaw(words, int((present & is_number).sum()), int(present.sum()), first, values[first])
    )


def _describe_flaw(description: str, n_numbers: int, n_present: int, row: int, cell: object) -> str:
    """Name the first bad cell of a column of which most cells are numbers."""
    if 2 * n_numbers <= n_present:
        return description
    return (
        f"{description}: {n_numbers} of {n_present} cells are numbers, but row {row + 1} holds {quote(cell)}"
    )
