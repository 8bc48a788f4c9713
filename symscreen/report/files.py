"""A result as a file: CSV with its record beside it, Parquet or JSON with the record inside."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from symscreen.errors import OutputError
from symscreen.export.written import check_free, write_together, write_whole
from symscreen.limits import MOST_JSON
from symscreen.report.digest import content_of_csv, content_of_rows, content_of_table, ranking_digest
from symscreen.table import plain_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from symscreen.result import ScreenResult

__all__ = [
    "ENDINGS",
    "check_output",
    "frame_as_csv",
    "half_written",
    "inert",
    "ranking_as_csv",
    "record_beside",
    "write_ranking",
]

_RUN = tuple("=+-@\t\r\n＝＋－＠")  # the wide forms are the same to a spreadsheet in East Asia
ENDINGS = (".csv", ".parquet", ".json")


def check_output(path: str | Path, *, force: bool = False) -> None:
    """Refuse, before any work is done, an output that could not be written after it.

    Parameters
    ----------
    path : str or Path
        Where the ranking is to go; ``-`` is standard output.
    force : bool
        Whether existing files may be overwritten.

    Raises
    ------
    OutputError
        If the ending is unknown, the folder is missing, or a file is there already.
    """
    if str(path) == "-":
        return
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise OutputError(f"{path}: the ending says how to write it; use one of {', '.join(ENDINGS)}")
    for file in _files(path):
        check_free(file, force=force)


def _files(path: Path) -> list[Path]:
    return [path, record_beside(path)] if path.suffix.lower() == ".csv" else [path]


def record_beside(path: Path) -> Path:
    """Return where the record of a CSV ranking stands."""
    return path.with_name(path.name + ".json")


def half_written(path: str | Path) -> bool:
    """Say whether a run was killed between the record of a CSV ranking and the ranking itself.

    Parameters
    ----------
    path : str or Path
        Where the ranking is to go.

    Returns
    -------
    bool
        Whether a record of ours stands there alone.
    """
    path = Path(path)
    record = record_beside(path)
    if path.suffix.lower() != ".csv" or path.exists() or not record.is_file():
        return False
    try:
        content = json.loads(plain_bytes(record, MOST_JSON)[:MOST_JSON])
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and {"format", "symscreen", "options", "data"} <= content.keys()


def write_ranking(result: ScreenResult, path: str | Path, *, force: bool = False) -> list[Path]:
    """Write a ranking with its record, all of it or nothing.

    Parameters
    ----------
    result : ScreenResult
        What `symscreen.screen` returned.
    path : str or Path
        A name that ends in ``.csv`` (the record goes to ``NAME.csv.json``), ``.parquet`` or ``.json``.
    force : bool
        Whether existing files may be overwritten.

    Returns
    -------
    list of Path
        The files written.

    Raises
    ------
    OutputError
        If a file exists and `force` is not given, or cannot be written.
    """
    check_output(path, force=force)
    path = Path(path)
    match path.suffix.lower():
        case ".csv":
            ranking = _utf8(ranking_as_csv(result))
            record = json.dumps(_sealed(result, content_of_csv(ranking)), ensure_ascii=False, indent=2) + "\n"
            # a ranking never stands there without its record: that is renamed first
            write_together({record_beside(path): _utf8(record), path: ranking}, force=force)
        case ".json":
            rows = [_plain(row) for row in result.table.to_dict("records")]
            content = {"record": _sealed(result, content_of_rows(rows)), "ranking": rows}
            text = json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
            write_whole(path, _utf8(text), force=force)
        case _:
            write_whole(path, _parquet(result), force=force)
    return _files(path)


def _sealed(result: ScreenResult, content: bytes) -> dict[str, Any]:
    """Return the record with the digest of both."""
    return result.record | {"digest": ranking_digest(result.record, content)}


def _utf8(text: str) -> bytes:
    """Encode a text; half a surrogate pair, as in a file's name that is no text, as JSON escapes it."""
    return text.encode(errors="backslashreplace")


def _plain(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a row as JSON has it: null where a figure is missing or not finite."""
    import pandas as pd

    def plain(value: Any) -> Any:
        missing = bool(pd.isna(value)) or (isinstance(value, float) and math.isinf(value))
        return None if missing else value

    return {str(name): plain(value) for name, value in row.items()}


def ranking_as_csv(result: ScreenResult) -> str:
    """Return the ranking as CSV text; floats are written so that they read back exactly.

    A spreadsheet would run a cell that begins with a minus sign, so such a formula stands in parentheses.
    """
    expressions = [inert(text) for text in result.table["expression"]]
    return frame_as_csv(result.table.assign(expression=expressions))


def inert(text: str) -> str:
    """Put what a spreadsheet would run, by its first character, into parentheses.

    Examples
    --------
    >>> inert("-x1"), inert("x1 - x2"), inert("=1+1")
    ('(-x1)', 'x1 - x2', '(=1+1)')
    """
    return f"({text})" if text.startswith(_RUN) else text


def frame_as_csv(frame: pd.DataFrame) -> str:
    """Return a frame as CSV text, its headings made inert for spreadsheets.

    Parameters
    ----------
    frame : pandas.DataFrame
        Numbers, and texts that are inert already.

    Returns
    -------
    str
        Floats are written so that they read back exactly.
    """
    frame = frame.rename(columns=lambda name: inert(str(name)))
    texts = [text for name in frame.select_dtypes(include=["object", "string"]) for text in frame[name]]
    # a bare carriage return ends a line for most readers, but Python's writer does not quote it
    returns = any("\r" in str(text) for text in [*texts, *frame.columns])
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
    return str(frame.to_csv(index=False, lineterminator="\n", quoting=quoting))


def _parquet(result: ScreenResult) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(result.table, preserve_index=False)
    record = _utf8(json.dumps(_sealed(result, content_of_table(table)), ensure_ascii=False))
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, b"symscreen": record}), sink)
    return bytes(sink.getvalue())
