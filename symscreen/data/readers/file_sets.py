"""Read several files of one table: a folder, or a pattern such as ``part-*.parquet``."""

from __future__ import annotations

from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING

from symscreen.data.decompressed_size import get_max_table_bytes
from symscreen.data.readers.arrow_files import load_arrow_table
from symscreen.data.readers.compression import COMPRESSED_SUFFIXES
from symscreen.data.readers.file_formats import TABLE_SUFFIXES, FileContent, load_file, parse_content
from symscreen.data.readers.raw_table import RawTable
from symscreen.data.readers.text_encoding import decode_text
from symscreen.data.readers.text_layout import HEADER_PATTERN
from symscreen.errors import DataError
from symscreen.messages import escape_control_chars, format_count, hint_option, quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa


_MAX_FILES = 10_000
_JOINED_FORMATS = ("CSV", "TSV", "text", "Parquet", "Feather")


def is_pattern(path: str) -> bool:
    """Return whether a path is a pattern with ``*``, ``?`` or ``[``, and not the name of a file."""
    return has_magic(path) and not Path(path).exists()


def list_files(path: str) -> list[Path]:
    """List the files of a folder or of a pattern, in the order of their names.

    Parameters
    ----------
    path : str
        A folder whose files are tables of one format, or a pattern. In a folder, files whose names start with
        ``.`` or ``_`` are left out.

    Returns
    -------
    list of Path
        At least one file.

    Raises
    ------
    DataError
        If there is no file, or the folder holds files of several formats or other folders.
    """
    source = escape_control_chars(path)
    if is_pattern(path):
        files = sorted(Path(name) for name in glob(path) if Path(name).is_file())  # noqa: PTH207  # any root
        if not files:
            raise DataError(f"{source}: no file has a name like this; check the pattern and its folder")
    else:
        entries = sorted(each for each in Path(path).iterdir() if not each.name.startswith((".", "_")))
        files = [each for each in entries if each.is_file() and _get_table_suffix(each) is not None]
        if any(each.is_dir() for each in entries):
            raise DataError(
                f"{source} holds folders: name the files with a pattern, such as '{source}/*/*.parquet'"
            )
        if not files:
            raise DataError(f"{source} is a folder without tables: name a file (.csv, .parquet, .xlsx, …)")
        suffixes = sorted({_get_table_suffix(each) or "" for each in files})
        if len(suffixes) > 1:
            raise DataError(
                f"{source} holds files of several formats ({', '.join(suffixes)}): name those of one table "
                f"with a pattern, such as '{source}/*{suffixes[0]}'"
            )
    if len(files) > _MAX_FILES:
        raise DataError(f"{source} stands for {len(files)} files, more than {_MAX_FILES}: join them first")
    return files


def _get_table_suffix(path: Path) -> str | None:
    """Return the suffix of a table, such as .csv or .csv.gz; None for other files."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED_SUFFIXES:
        return "".join(suffixes[-2:])
    return suffixes[-1] if suffixes and suffixes[-1] in TABLE_SUFFIXES else None


def read_files(files: Sequence[Path], source: str) -> RawTable:
    """Read files of equal columns as one table, file below file.

    Parameters
    ----------
    files : sequence of Path
        At least one file.
    source : str
        The source, for messages.

    Returns
    -------
    RawTable

    Raises
    ------
    DataError
        If a file cannot be read, the files differ in format or columns, or are too large together.
    """
    contents, n_bytes = [], 0
    for path in files:
        contents.append(load_file(path))
        n_bytes += len(contents[-1].data)
        if n_bytes > get_max_table_bytes():
            raise DataError(
                f"{source}: the files are larger than a quarter of the memory together: name fewer, or let a "
                f"screen of Parquet files sample the rows{hint_option('max_ram', '2GB')}"
            )
    if len(contents) == 1:
        return parse_content(contents[0])
    formats = {content.file_format for content in contents}
    if len(formats) > 1 or not formats <= set(_JOINED_FORMATS):
        raise DataError(
            f"{source}: only CSV files, or Parquet files, are read as one table: name a single file"
        )
    notice = f"{format_count(len(files), 'file')} are read as one table"
    if formats <= {"Parquet", "Feather"}:
        return _join_arrow_files(contents, source, notice)
    return _join_texts(contents, source, notice)


def _join_arrow_files(contents: Sequence[FileContent], source: str, notice: str) -> RawTable:
    """Join Parquet or Feather files."""
    import pyarrow as pa

    tables = [load_arrow_table(content.data, content.source, content.file_format) for content in contents]
    names = tables[0].column_names
    for content, table in zip(contents, tables, strict=True):
        check_equal_names(table.column_names, names, content.source, contents[0].source)
    try:
        joined = pa.concat_tables(
            [_decode(table).select(names) for table in tables], promote_options="permissive"
        )
    except (pa.ArrowException, KeyError) as error:
        reason = escape_control_chars(str(error))[:100]
        raise DataError(
            f"{source}: the files have columns of different types ({reason}): convert them"
        ) from error
    return RawTable.from_arrow(joined, source, (notice,))


def _decode(table: pa.Table) -> pa.Table:
    """Write out dictionary-encoded columns, which differ from file to file."""
    import pyarrow as pa

    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def check_equal_names(names: Sequence[str], expected: Sequence[str], source: str, first_source: str) -> None:
    """Check that a file has the columns of the first one.

    Raises
    ------
    DataError
        If one of both lacks a column that the other one has.
    """
    for name in (*expected, *names):
        if (name in expected) != (name in names):
            with_it, without = (first_source, source) if name in expected else (source, first_source)
            raise DataError(
                f"{without} has no column {quote(name)}, which {with_it} has: make the columns equal"
            )


def _join_texts(contents: Sequence[FileContent], source: str, notice: str) -> RawTable:
    """Join texts below the header of the first, so that a column has one type in all of them."""
    parts: list[bytes] = []
    header = b""
    for content in contents:
        text, _ = decode_text(content.data, content.source)
        match = HEADER_PATTERN.match(text)
        own = match[1] if match else b""
        if not parts:
            header = own
            parts.append(text)
        elif match is None or own.strip() != header.strip():
            raise DataError(
                f"{content.source} does not start with the same names as {contents[0].source}: make the "
                f"columns equal"
            )
        else:
            parts.append(text[match.end() :].lstrip(b"\r\n"))
    joined = b"\n".join(part.rstrip(b"\r\n") for part in parts if part.strip()) + b"\n"
    table = parse_content(FileContent(joined, source, contents[0].file_format))
    return RawTable(
        source,
        table.names,
        table.columns,
        table.n,
        (notice, *table.notices),
        table.decimal_mark,
        table.holds_text,
    )
