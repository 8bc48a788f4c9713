"""Decide by suffix and content which reader reads a file, and read it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from symscreen.data.decompressed_size import read_bounded
from symscreen.data.readers.arrow_files import read_arrow_file
from symscreen.data.readers.compression import COMPRESSED_SUFFIXES, unpack
from symscreen.data.readers.delimited_text import read_delimited
from symscreen.data.readers.file_bytes import check_table_bytes, read_table_bytes
from symscreen.data.readers.json_tables import read_json
from symscreen.data.readers.text_encoding import has_byte_order_mark
from symscreen.data.readers.workbooks import read_workbook
from symscreen.errors import DataError
from symscreen.messages import escape_control_chars, quote

if TYPE_CHECKING:
    from symscreen.data.readers.raw_table import RawTable


PARQUET_SUFFIXES = (".parquet", ".pq", ".parq")
_FORMAT_BY_SUFFIX = {
    ".csv": "CSV",
    ".tsv": "TSV",
    **dict.fromkeys((".txt", ".dat", ".data", ".tab", ".asc"), "text"),
    **dict.fromkeys(PARQUET_SUFFIXES, "Parquet"),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), "Feather"),
    **dict.fromkeys((".json", ".ndjson", ".jsonl"), "JSON"),
    **dict.fromkeys((".xlsx", ".xlsm"), "Excel"),
    ".xls": "old Excel",
}
TABLE_SUFFIXES = tuple(_FORMAT_BY_SUFFIX)
_SUFFIX_LIST = ".csv, .tsv, .txt, .parquet, .feather, .json, .xlsx"
# What to do with files that are tables of other programs.
_REMEDIES = {
    **dict.fromkeys(
        (".pkl", ".pickle", ".joblib"), "a pickle can run code when it is read; write it as .parquet"
    ),
    **dict.fromkeys((".ods", ".xlsb", ".numbers", ".gsheet"), "save it as .xlsx or .csv"),
    **dict.fromkeys((".rds", ".rda", ".rdata"), "write it in R with write.csv"),
    **dict.fromkeys((".dta", ".sav", ".sas7bdat", ".xpt", ".por"), "export it as .csv"),
    **dict.fromkeys(
        (".npy", ".npz", ".mat", ".h5", ".hdf5", ".nc"), "load it in Python, and write it as .csv"
    ),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3"), "export a table of it as .csv"),
    **dict.fromkeys((".duckdb", ".ddb"), "write duckdb:FILE#TABLE"),
    **dict.fromkeys((".7z", ".rar", ".tar", ".tgz"), "unpack it, and name a file in it"),
    **dict.fromkeys((".html", ".htm", ".xml", ".pdf", ".doc", ".docx"), "save its table as .csv"),
}
PARQUET_MAGIC = b"PAR1"
_BINARY_MAGIC = {
    "Parquet": PARQUET_MAGIC,
    "Feather": b"ARROW1",
    "old Excel": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
}
_OTHER_MAGIC = {
    "a Feather file of the old version 1": b"FEA1",
    "a zip archive or an Excel workbook": b"PK\x03\x04",
    "a gzip archive": b"\x1f\x8b",
    "a bzip2 archive": b"BZh9",
    "an xz archive": b"\xfd7zXZ\0",
    "a Zstandard archive": b"\x28\xb5\x2f\xfd",
}
_SUFFIX_BY_CONTENT = {
    "Parquet": ".parquet",
    "Feather": ".feather",
    "old Excel": ".xls",
    "a gzip archive": ".csv.gz",
    "a bzip2 archive": ".csv.bz2",
    "an xz archive": ".csv.xz",
    "a Zstandard archive": ".csv.zst",
}


@dataclass(frozen=True)
class FileContent:
    """The unpacked content of a file, with the format that its name says and the sheet that was asked for."""

    data: bytes
    source: str
    file_format: str
    sheet: str | None = None


def load_file(path: Path, sheet: str | None = None) -> FileContent:
    """Read the bytes of a file, and unpack them.

    Parameters
    ----------
    path : Path
        A path whose suffix, in any case, is one of `TABLE_SUFFIXES`, or that of a compressed file.
    sheet : str, optional
        The sheet of a workbook.

    Returns
    -------
    FileContent

    Raises
    ------
    DataError
        If the file cannot be read, is too large, or its suffix is unknown.

    Examples
    --------
    >>> from pathlib import Path
    >>> load_file(Path("absent.csv"))
    Traceback (most recent call last):
    ...
    symscreen.errors.DataError: absent.csv: the file does not exist; check its name and its folder
    """
    source = escape_control_chars(str(path))
    suffix = path.suffix.lower()
    if suffix not in COMPRESSED_SUFFIXES:
        data_format = _find_format(path, source) if path.exists() else ""
        return FileContent(read_table_bytes(path), source, data_format, sheet)
    data, name = unpack(read_table_bytes(path), suffix, source)
    check_table_bytes(data, source)
    inner = PurePath(name) if name else path.with_suffix("")
    if not name and not inner.suffix:
        return FileContent(data, source, _guess_format(data), sheet)
    return FileContent(data, source, _find_format(inner, source), sheet)


def load_standard_input() -> FileContent:
    """Read standard input, which may be Parquet, Feather, JSON, or text.

    Raises
    ------
    DataError
        If standard input is closed or empty.
    """
    if sys.stdin is None:
        raise DataError("standard input is closed: open it, or name a file")
    data = read_bounded(sys.stdin.buffer, 0)
    check_table_bytes(data, "standard input")
    return FileContent(data, "standard input", _guess_format(data))


def parse_content(content: FileContent) -> RawTable:
    """Check that a content has the format that its name says, and parse it.

    Raises
    ------
    DataError
        If it has another format, or is damaged.
    """
    data, source, file_format = content.data, content.source, content.file_format
    if not _has_expected_content(data, file_format):
        _refuse_other_content(_detect_content(data), file_format, source)
    if content.sheet is not None and file_format not in {"Excel", "old Excel"}:
        raise DataError(f"{source} has no sheets: leave #{content.sheet} out")
    match file_format:
        case "Excel" | "old Excel":
            return read_workbook(data, source, is_old=file_format == "old Excel", sheet=content.sheet)
        case "JSON":
            return read_json(data, source)
        case "Parquet" | "Feather":
            return read_arrow_file(data, source, file_format)
        case _:
            return read_delimited(data, source, delimiter="\t" if file_format == "TSV" else None)


def _find_format(path: PurePath, source: str) -> str:
    """Return the format that a suffix means; DataError if it is unknown."""
    suffix = path.suffix.lower()
    if (file_format := _FORMAT_BY_SUFFIX.get(suffix)) is not None:
        return file_format
    remedy = _REMEDIES.get(suffix, f"rename it or convert it to {_SUFFIX_LIST}")
    what = "is unknown" if suffix not in _REMEDIES else "is not read"
    raise DataError(f"{source}: the suffix {quote(path.suffix)} {what}: {remedy}")


def _has_expected_content(data: bytes, file_format: str) -> bool:
    """Return whether a content starts as its format does."""
    if file_format == "Excel":
        return data.startswith(b"PK\x03\x04")
    if file_format in _BINARY_MAGIC:
        return data.startswith(_BINARY_MAGIC[file_format])
    return _detect_content(data) == "text"


def _detect_content(data: bytes) -> str:
    """Return the name of a binary format, ``"text"``, or a description of the content."""
    for name, magic in (_BINARY_MAGIC | _OTHER_MAGIC).items():
        if data.startswith(magic) and b"\0" in data:  # all of these formats contain zero bytes, text does not
            return name
    return "text" if b"\0" not in data or has_byte_order_mark(data) else "binary data"


def _guess_format(data: bytes) -> str:
    """Guess the format of a content that has no name."""
    found = _detect_content(data)
    if found in _BINARY_MAGIC:
        return found
    return "JSON" if data.lstrip()[:1] in {b"[", b"{"} else "CSV"


def _refuse_other_content(found: str, file_format: str, source: str) -> None:
    """Refuse a file whose content is not what its suffix says."""
    name = {"old Excel": "an .xls workbook", "Excel": "an .xlsx workbook"}.get(file_format, file_format)
    content = {"text": "plain text", "old Excel": "an .xls workbook"}.get(found, found)
    if found == "a zip archive or an Excel workbook":
        remedy = "rename it to end in .zip or .xlsx"
    elif found in _SUFFIX_BY_CONTENT:
        remedy = f"rename it to end in {_SUFFIX_BY_CONTENT[found]}"
    elif found == "text":
        remedy = "convert it, or change its suffix"
    else:
        remedy = "save it as CSV in UTF-8"
    raise DataError(f"{source} is not {name} but {content}: {remedy}")
