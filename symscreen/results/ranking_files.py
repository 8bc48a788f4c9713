"""Write a ranking to a file: CSV with its record in a second file, Parquet or JSON with the record inside.

The record contains a digest of itself and of the ranking, so that a reader detects accidental changes.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from symscreen._atomic_io import check_writable, write_all_atomically, write_atomically
from symscreen._limits import MAX_JSON_BYTES
from symscreen.data import read_regular_file
from symscreen.data.documents import parse_json
from symscreen.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    import pyarrow as pa

    from symscreen.results.screen_result import ScreenResult


_FORMULA_TRIGGERS = tuple("=+-@\t\r\n＝＋－＠")  # East Asian spreadsheets also accept the full-width forms
RANKING_SUFFIXES = (".csv", ".parquet", ".json")
TABLE_SUFFIXES = (".csv", ".parquet")  # those of rankings alone; a .json may hold a bundle


def compute_ranking_digest(record: Mapping[str, Any], content: bytes) -> str:
    """Compute the digest of a ranking and its record.

    It detects accidental changes, but not changes by someone who recomputes the digest.

    Parameters
    ----------
    record : mapping
        The record. A digest in it is ignored.
    content : bytes
        The ranking, from `serialize_csv`, `serialize_rows` or `serialize_table`.

    Returns
    -------
    str
        Hexadecimal SHA-256 of the record as JSON with sorted keys and no spaces, a newline, and the content.

    Examples
    --------
    >>> compute_ranking_digest({"b": 1, "a": 2}, b"") == compute_ranking_digest({"a": 2, "b": 1,
    ...     "digest": "0"}, b"")
    True
    """
    plain = json.loads(json.dumps({key: value for key, value in record.items() if key != "digest"}))
    return hashlib.sha256(_serialize_json(plain) + b"\n" + content).hexdigest()


def serialize_csv(file: bytes) -> bytes:
    r"""Return the content of a CSV file with normalized line ends, which git may change.

    Examples
    --------
    >>> serialize_csv(b"rank\r\n1\r\n")
    b'rank\n1\n'
    """
    return file.replace(b"\r\n", b"\n")


def serialize_rows(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the content of the rows of a JSON file, independent of its layout.

    Examples
    --------
    >>> serialize_rows([{"rank": 1, "t0": 0.5}])
    b'[{"rank":1,"t0":0.5}]'
    """
    return _serialize_json(rows)


def serialize_table(table: pa.Table) -> bytes:
    r"""Return the content of the columns of a Parquet file, independent of their encoding.

    Examples
    --------
    >>> import pyarrow as pa
    >>> serialize_table(pa.table({"expression": ["x"], "t0": [0.5]}))
    b'"expression"\n["x"]\n"t0"\n\x00\x00\x00\x00\x00\x00\xe0?\n'
    """
    return b"".join(
        _serialize_json(name) + b"\n" + _serialize_column(column) + b"\n"
        for name, column in zip(table.column_names, table.columns, strict=True)
    )


def _serialize_column(column: pa.ChunkedArray) -> bytes:
    """Return numbers as little-endian float64 and other values as JSON."""
    values = column.to_numpy()  # missing numbers are NaN
    if values.dtype.kind in "biuf":
        return bytes(values.astype("<f8").tobytes())
    return _serialize_json([None if value is None else str(value) for value in column.to_pylist()])


def _serialize_json(content: Any) -> bytes:
    """Return canonical JSON in ASCII."""
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def check_output(path: str | Path, *, force: bool = False) -> None:
    """Check before a run that its output can be written afterwards.

    Parameters
    ----------
    path : str or Path
        Name of the ranking's file; ``-`` is standard output.
    force : bool
        Whether existing files may be overwritten.

    Raises
    ------
    OutputError
        If the suffix is unknown, the folder does not exist, a file exists and `force` is not set, or pyarrow,
        which writes .parquet files, is not installed.
    """
    if str(path) == "-":
        return
    path = Path(path)
    if path.suffix.lower() not in RANKING_SUFFIXES:
        raise OutputError(
            f"{path}: the file format is chosen by the suffix; use one of {', '.join(RANKING_SUFFIXES)}"
        )
    if path.suffix.lower() == ".parquet" and find_spec("pyarrow") is None:
        raise OutputError(
            f"{path}: a .parquet file is written by pyarrow, which is not installed: pip install "
            "'symscreen[files]', or write .csv"
        )
    for file in _list_output_files(path):
        check_writable(file, force=force)


def _list_output_files(path: Path) -> list[Path]:
    """Return the files that `write_ranking` writes."""
    return [path, get_sidecar_path(path)] if path.suffix.lower() == ".csv" else [path]


def get_sidecar_path(path: Path) -> Path:
    """Return the path of the record of a CSV ranking."""
    return path.with_name(path.name + ".json")


def is_partial_write(path: str | Path) -> bool:
    """Return whether a run was killed after writing the record of a CSV ranking, before the ranking itself.

    Parameters
    ----------
    path : str or Path
        Name of the ranking's file.

    Returns
    -------
    bool
        Whether a record of symscreen exists without its ranking.
    """
    path = Path(path)
    record = get_sidecar_path(path)
    if path.suffix.lower() != ".csv" or path.exists() or not record.is_file():
        return False
    try:
        content = parse_json(read_regular_file(record, MAX_JSON_BYTES)[:MAX_JSON_BYTES])
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and {"format", "symscreen", "options", "data"} <= content.keys()


def write_ranking(result: ScreenResult, path: str | Path, *, force: bool = False) -> list[Path]:
    """Write a ranking with its record, either completely or not at all.

    Parameters
    ----------
    result : ScreenResult
        Output of `symscreen.screen`.
    path : str or Path
        File name that ends in ``.csv`` (the record is written to ``NAME.csv.json``), ``.parquet`` or
        ``.json``.
    force : bool
        Whether existing files may be overwritten.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    OutputError
        If a file cannot be written, or exists and `force` is not set.
    """
    check_output(path, force=force)
    path = Path(path)
    match path.suffix.lower():
        case ".csv":
            ranking = _encode_utf8(format_ranking_csv(result))
            record = (
                json.dumps(_add_digest(result, serialize_csv(ranking)), ensure_ascii=False, indent=2) + "\n"
            )
            # the record is renamed first, so that a ranking never exists without it
            write_all_atomically({get_sidecar_path(path): _encode_utf8(record), path: ranking}, force=force)
        case ".json":
            rows = [_to_json_row(row) for row in result.table.to_dict("records")]
            content = {"record": _add_digest(result, serialize_rows(rows)), "ranking": rows}
            text = json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
            write_atomically(path, _encode_utf8(text), force=force)
        case _:
            write_atomically(path, _encode_parquet(result), force=force)
    return _list_output_files(path)


def _add_digest(result: ScreenResult, content: bytes) -> dict[str, Any]:
    """Return the record with the digest of record and content."""
    return result.record | {"digest": compute_ranking_digest(result.record, content)}


def _encode_utf8(text: str) -> bytes:
    """Encode a text as UTF-8; lone surrogates, as in undecodable file names, become escapes."""
    return text.encode(errors="backslashreplace")


def _to_json_row(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Convert a row for JSON: missing and infinite values become null."""
    import pandas as pd

    def to_json_value(value: Any) -> Any:
        is_null = bool(pd.isna(value)) or (isinstance(value, float) and math.isinf(value))
        return None if is_null else value

    return {str(name): to_json_value(value) for name, value in row.items()}


def format_ranking_csv(result: ScreenResult) -> str:
    """Format the ranking as CSV; floats are written so that they read back exactly.

    Spreadsheets evaluate cells that start with a minus sign. Such formulas are enclosed in parentheses.
    """
    expressions = [escape_spreadsheet(text) for text in result.table["expression"]]
    return format_csv(result.table.assign(expression=expressions))


def escape_spreadsheet(text: str) -> str:
    """Enclose a text in parentheses if a spreadsheet would evaluate it because of its first character.

    Examples
    --------
    >>> escape_spreadsheet("-x1"), escape_spreadsheet("x1 - x2"), escape_spreadsheet("=1+1")
    ('(-x1)', 'x1 - x2', '(=1+1)')
    """
    return f"({text})" if text.startswith(_FORMULA_TRIGGERS) else text


def format_csv(frame: pd.DataFrame) -> str:
    """Format a table as CSV, with headings that spreadsheets do not evaluate.

    Parameters
    ----------
    frame : pandas.DataFrame
        Numbers, and texts that are escaped already.

    Returns
    -------
    str
        Floats are written so that they read back exactly.
    """
    frame = frame.rename(columns=lambda name: escape_spreadsheet(str(name)))
    texts = [text for name in frame.select_dtypes(include=["object", "string"]) for text in frame[name]]
    # most readers end a line at a bare carriage return, but Python's writer does not quote it
    has_carriage_return = any("\r" in str(text) for text in [*texts, *frame.columns])
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if has_carriage_return else csv.QUOTE_MINIMAL
    return str(frame.to_csv(index=False, lineterminator="\n", quoting=quoting))


def _encode_parquet(result: ScreenResult) -> bytes:
    """Encode the ranking as Parquet with the record in its metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(result.table, preserve_index=False)
    record = _encode_utf8(json.dumps(_add_digest(result, serialize_table(table)), ensure_ascii=False))
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, b"symscreen": record}), sink)
    return bytes(sink.getvalue())
