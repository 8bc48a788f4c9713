"""A result as a file: CSV with its record beside it, Parquet or JSON with the record inside."""

from __future__ import annotations

import csv
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from symscreen.errors import OutputError

if TYPE_CHECKING:
    from symscreen.result import ScreenResult

__all__ = ["check_output", "ranking_as_csv", "write_ranking"]

_ENDINGS = (".csv", ".parquet", ".json")


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
    if path.suffix.lower() not in _ENDINGS:
        raise OutputError(f"{path}: the ending says how to write it; use one of {', '.join(_ENDINGS)}")
    if not path.parent.is_dir():
        raise OutputError(f"{path}: there is no folder {path.parent}; make it first")
    for file in _files(path):
        if file.is_dir():
            raise OutputError(f"{file} is a folder; give a file's name")
        if file.exists() and not force:
            raise OutputError(f"{file} exists and is not overwritten; give another name or --force")


def _files(path: Path) -> list[Path]:
    return [path, _record_of(path)] if path.suffix.lower() == ".csv" else [path]


def _record_of(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def write_ranking(result: ScreenResult, path: str | Path, *, force: bool = False) -> list[Path]:
    """Write a ranking with its record, each file at once or not at all.

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
    record = json.dumps(result.record, ensure_ascii=False, indent=2) + "\n"
    match path.suffix.lower():
        case ".csv":
            _write(_record_of(path), record.encode())
            _write(path, ranking_as_csv(result).encode())
        case ".json":
            rows = result.table.to_dict("records")
            content = {"record": result.record, "ranking": rows}
            _write(path, (json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False) + "\n").encode())
        case _:
            _write(path, _parquet(result))
    return _files(path)


def ranking_as_csv(result: ScreenResult) -> str:
    """Return the ranking as CSV text; floats are written so that they read back exactly.

    A spreadsheet would run a cell that begins with a minus sign, so such a formula stands in parentheses.
    """
    expressions = [f"({text})" if text.startswith("-") else text for text in result.table["expression"]]
    table = result.table.assign(expression=expressions)
    # a bare carriage return ends a line for most readers, but Python's writer does not quote it
    returns = any("\r" in text for text in expressions)
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
    return str(table.to_csv(index=False, lineterminator="\n", quoting=quoting))


def _parquet(result: ScreenResult) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(result.table, preserve_index=False)
    record = json.dumps(result.record, ensure_ascii=False).encode()
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, b"symscreen": record}), sink)
    return bytes(sink.getvalue())


def _write(path: Path, content: bytes) -> None:
    """Write beside the target and rename, so that no reader ever sees half a file."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            umask = os.umask(0)
            os.umask(umask)
            Path(name).chmod(0o666 & ~umask)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from None
