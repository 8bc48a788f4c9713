"""Read tables in JSON: a list of records, an object of columns, or one record per line (ndjson)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from symscreen._limits import JSON_PARSE_FACTOR
from symscreen.data.decompressed_size import get_max_table_bytes
from symscreen.data.readers.raw_table import RawTable
from symscreen.data.readers.text_encoding import decode_text
from symscreen.errors import DataError
from symscreen.messages import escape_control_chars, quote

if TYPE_CHECKING:
    from collections.abc import Sequence


_MAX_REASON_CHARS = 100
_SHAPES = 'a list of records, [{...}, ...], an object of columns, {"a": [...], ...}, or a record on each line'


def read_json(data: bytes, source: str) -> RawTable:
    """Read a table in JSON, or in JSON lines.

    Parameters
    ----------
    data : bytes
        The whole file: records ``[{"a": 1}, …]``, columns ``{"a": [1, …]}`` or ``{"a": {"0": 1, …}}``, as
        pandas writes them, ``{"columns": […], "data": [[…], …]}``, or a record on each line. NaN and
        infinities are accepted.
    source : str
        The source, for messages.

    Returns
    -------
    RawTable
        A key that a record lacks is a missing value.

    Raises
    ------
    DataError
        If the text is not JSON or has another shape.

    Examples
    --------
    >>> table = read_json(b'[{"a": 1}, {"a": 2, "b": null}]', "t.json")
    >>> table.names, table.columns
    (['a', 'b'], [[1, 2], [None, None]])
    """
    if JSON_PARSE_FACTOR * len(data) > 4 * get_max_table_bytes():
        raise DataError(f"{source} is too large to be read as JSON: write it as CSV or Parquet")
    text, notices = decode_text(data, source)
    if not text or text.isspace():
        raise DataError(f"{source} is empty: {_SHAPES} is needed")
    names, columns = _arrange(_parse(text, source), source)
    n = len(columns[0]) if columns else 0
    return RawTable(source, names, columns, n, notices, holds_text=True)


def _parse(text: bytes, source: str) -> Any:
    """Parse JSON, or one value per line."""
    try:
        return _load(text.decode())
    except (ValueError, RecursionError) as error:
        lines = [line for line in text.decode().split("\n") if line.strip()]
        if len(lines) < 2:
            raise _make_error(error, source) from error
    try:
        return [_load(line) for line in lines]
    except (ValueError, RecursionError) as error:
        raise _make_error(error, source) from error


def _load(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_make_object)


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object; a ValueError if it has a key twice."""
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"an object has the key {next(key for key in keys if keys.count(key) > 1)!r} twice")
    return values


def _make_error(error: Exception, source: str) -> DataError:
    reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
    return DataError(
        f"{source} is not valid JSON ({escape_control_chars(reason)[:_MAX_REASON_CHARS]}): correct it, or "
        f"write CSV"
    )


def _arrange(content: Any, source: str) -> tuple[list[str], list[list[Any]]]:
    """Return names and columns."""
    if isinstance(content, list) and content and all(isinstance(record, dict) for record in content):
        names = list(dict.fromkeys(key for record in content for key in record))
        return names, [[record.get(name) for record in content] for name in names]
    if (
        isinstance(content, dict)
        and set(content) >= {"columns", "data"}
        and isinstance(content["data"], list)
    ):
        return _arrange_rows(content["columns"], content["data"], source)
    if isinstance(content, dict) and content:
        values = list(content.values())
        if all(isinstance(column, list) for column in values):
            if len({len(column) for column in values}) > 1:
                short = min(content, key=lambda name: len(content[name]))
                raise DataError(
                    f"{source}: the column {quote(short)} has fewer values than others: fill it up"
                )
            return list(content), values
        if all(isinstance(column, dict) for column in values):
            keys = list(values[0])
            if all(list(column) == keys for column in values):
                return list(content), [list(column.values()) for column in values]
        if not any(isinstance(column, list | dict) for column in values):
            return list(content), [[value] for value in values]  # a single record on a single line
    if isinstance(content, list) and content and all(isinstance(row, list) for row in content):
        return _arrange_rows(content[0], content[1:], source)
    raise DataError(f"{source} holds JSON that is not a table: write {_SHAPES}")


def _arrange_rows(names: Any, rows: Sequence[Any], source: str) -> tuple[list[str], list[list[Any]]]:
    """Return names and columns of a list of names and a list of rows."""
    is_table = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not is_table or not all(isinstance(row, list) and len(row) == len(names) for row in rows):
        raise DataError(f"{source} holds lists that are no rows of equal length below names: write {_SHAPES}")
    return names, [[row[j] for row in rows] for j in range(len(names))]
