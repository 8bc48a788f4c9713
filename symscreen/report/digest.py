"""What a ranking's file says of itself, so that a bit that changed in it is noticed when it is read."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

__all__ = ["content_of_csv", "content_of_rows", "content_of_table", "ranking_digest"]


def ranking_digest(record: Mapping[str, Any], content: bytes) -> str:
    """Return the digest of a ranking and of its record.

    It tells what was changed by a fault, not by somebody who computes it again.

    Parameters
    ----------
    record : mapping
        The record; a digest in it is left out.
    content : bytes
        The ranking, as one of the functions below has it.

    Returns
    -------
    str
        SHA-256 in hexadecimal: of the record as JSON with sorted keys and no spaces, a line's end, and the
        content.

    Examples
    --------
    >>> ranking_digest({"b": 1, "a": 2}, b"") == ranking_digest({"a": 2, "b": 1, "digest": "0"}, b"")
    True
    """
    plain = json.loads(json.dumps({key: value for key, value in record.items() if key != "digest"}))
    return hashlib.sha256(_json(plain) + b"\n" + content).hexdigest()


def content_of_csv(file: bytes) -> bytes:
    r"""Return what a CSV file holds, whatever ends its lines: git may change that.

    Examples
    --------
    >>> content_of_csv(b"rank\r\n1\r\n")
    b'rank\n1\n'
    """
    return file.replace(b"\r\n", b"\n")


def content_of_rows(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Return what the rows of a JSON file hold, however it is laid out.

    Examples
    --------
    >>> content_of_rows([{"rank": 1, "t0": 0.5}])
    b'[{"rank":1,"t0":0.5}]'
    """
    return _json(rows)


def content_of_table(table: pa.Table) -> bytes:
    r"""Return what the columns of a Parquet file hold, however they are coded.

    Examples
    --------
    >>> import pyarrow as pa
    >>> content_of_table(pa.table({"expression": ["x"], "t0": [0.5]}))
    b'"expression"\n["x"]\n"t0"\n\x00\x00\x00\x00\x00\x00\xe0?\n'
    """
    return b"".join(
        _json(name) + b"\n" + _column(column) + b"\n"
        for name, column in zip(table.column_names, table.columns, strict=True)
    )


def _column(column: pa.ChunkedArray) -> bytes:
    values = column.to_numpy()  # what is missing in a column of numbers is NaN
    if values.dtype.kind in "biuf":
        return bytes(values.astype("<f8").tobytes())
    return _json([None if value is None else str(value) for value in column.to_pylist()])


def _json(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()  # ASCII, whatever the names
