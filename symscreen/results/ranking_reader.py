"""Read a ranking and its record from a file, and check both before use.

The file may be truncated, damaged, or written by someone else, so nothing in it is trusted. The digest in the
record detects accidental changes; the fields that readers need are checked by type.
"""

from __future__ import annotations

import reprlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct

from symscreen._limits import CSV_PARSE_FACTOR, JSON_PARSE_FACTOR, MAX_JSON_BYTES, format_bytes
from symscreen.config.parsing import parse_memory_limit
from symscreen.data import (
    get_max_table_bytes,
    import_package,
    read_parquet,
    read_plain_csv,
    read_regular_file,
)
from symscreen.data.documents import Count, PositiveNumber, convert_document, parse_json
from symscreen.errors import DataError, InputError
from symscreen.messages import escape_control_chars
from symscreen.results.ranking_files import (
    RANKING_SUFFIXES,
    compute_ranking_digest,
    get_sidecar_path,
    serialize_csv,
    serialize_rows,
    serialize_table,
)
from symscreen.results.record import RECORD_FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

TEXT_COLUMNS = ("expression", "direction", "unit", "unsafe")


_Names = Annotated[list[str], Meta(min_length=1, description="a list of names")]


class _Options(Struct):
    """The options in a record that readers need."""

    screener: _Names
    sign: Annotated[Literal["free", "positive"], Meta(description="free or positive")]
    top: Annotated[Literal["all"] | Count, Meta(description="a number of classes, or all")]
    rounds: Count


class _Data(Struct):
    """The data in a record that readers need."""

    inputs: _Names
    gini_mean_difference: PositiveNumber


class _Record(Struct):
    """The fields of a record that readers need."""

    shown: Count
    scored: Count
    options: _Options
    data: _Data


class _ReportData(Struct):
    """The data in a record that a report needs as well."""

    target: str
    rows: Count
    digest: str


class _Layer(Struct):
    """The record of a layer, see `build_layer_record`."""

    layer: Count
    kind: str
    generated: Count
    features: Count
    pruned: dict[str, Count]


class _ReportRecord(Struct):
    """The fields of a record that a report needs as well."""

    data: _ReportData
    layers: Annotated[list[_Layer], Meta(min_length=1, description="a list of layers with their counts")]


@dataclass(frozen=True, eq=False)
class StoredRanking:
    """A ranking that was read from a file.

    Parameters
    ----------
    table : pandas.DataFrame
        The ranking. Formulas are text.
    record : dict
        How it was computed.
    """

    table: pd.DataFrame
    record: dict[str, Any]


def read_ranking(path: str | Path, max_ram: str | int | None = None) -> StoredRanking:
    """Read a ranking that ``symscreen screen --out`` wrote.

    Parameters
    ----------
    path : str or Path
        A ``.csv`` file with its record in ``NAME.csv.json``, a ``.parquet`` file or a ``.json`` file.
    max_ram : str or int, optional
        Maximum memory for parsing a text file, ``"2GB"`` or bytes. The default is four fifths of the
        machine's memory.

    Returns
    -------
    StoredRanking
        Floats are equal to the written ones to the last bit.

    Raises
    ------
    DataError
        If the file cannot be read, exceeds the memory limit, is not a ranking, has lost its record, or was
        changed.
    """
    path, memory_limit = Path(path), parse_memory_limit(max_ram)
    try:
        match path.suffix.lower():
            case ".csv":
                ranking, content = _parse_csv(
                    _read_text(path, memory_limit, CSV_PARSE_FACTOR),
                    _read_bytes(get_sidecar_path(path), MAX_JSON_BYTES),
                )
            case ".parquet":
                ranking, content = _parse_parquet(_read_bytes(path, get_max_table_bytes()), path)
            case ".json":
                ranking, content = _parse_json(_read_text(path, memory_limit, JSON_PARSE_FACTOR))
            case _:
                raise DataError(f"{path}: the file name of a ranking ends in {', '.join(RANKING_SUFFIXES)}")
    except OSError as error:
        raise DataError(f"{error.filename or path}: cannot be read ({error.strerror})") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, ArithmeticError,
            NotImplementedError) as error:  # fmt: skip
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} is not a ranking of symscreen ({_format_first_line(error)})") from None
    _check_ranking(path, ranking)
    return _verify_digest(path, ranking, content)


@contextmanager
def report_damaged_record(path: str | Path) -> Iterator[None]:
    """Report a failure inside the block as a damaged record. Not all of a record is checked beforehand.

    Parameters
    ----------
    path : str or Path
        The ranking's file, for the message.

    Raises
    ------
    DataError
        Instead of Python's errors about keys, types and values.
    """
    try:
        yield
    except InputError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {_format_first_line(error)}"
        raise DataError(f"{path}: its record is damaged ({reason}); screen again") from None


def _format_first_line(error: Exception) -> str:
    """Return the first line of an error message, at most 200 characters."""
    return escape_control_chars((str(error).strip().splitlines() or [type(error).__name__])[0])[:200]


def _read_text(path: Path, memory_limit: int | None, memory_factor: int) -> bytes:
    """Read a text file whose parsing takes `memory_factor` times its size."""
    max_bytes = get_max_table_bytes()
    if memory_limit is not None:
        max_bytes = min(max_bytes, memory_limit // memory_factor)
    return _read_bytes(path, max_bytes)


def _read_bytes(path: Path, max_bytes: int) -> bytes:
    """Read a regular file of at most `max_bytes` bytes."""
    data = read_regular_file(path, max_bytes)
    if len(data) > max_bytes:
        raise ValueError(f"it has more than {format_bytes(max_bytes)}, the maximum that may be read here")
    return data


def _parse_csv(content: bytes, record: bytes) -> tuple[StoredRanking, bytes]:
    """Return the ranking and the content for the digest."""
    return StoredRanking(_parse_frame(content), _parse_record(record)), serialize_csv(content)


def _parse_frame(content: bytes) -> pd.DataFrame:
    """Parse the output of `format_csv`."""
    table = read_plain_csv(content, TEXT_COLUMNS)
    for name, cells in table.items():
        if name not in TEXT_COLUMNS and cells.dtype.kind not in "biuf" and not _are_booleans(cells):
            raise ValueError(f"its column {name!r} holds other values than numbers")
    return table


def _are_booleans(cells: pd.Series[Any]) -> bool:
    """Return whether all cells are True, False or missing."""
    return all(isinstance(cell, bool) for cell in cells.dropna())


def _parse_record(content: bytes) -> dict[str, Any]:
    """Parse a record."""
    return _check_object(parse_json(content))


def _check_object(record: Any) -> dict[str, Any]:
    """Return the record if it is a JSON object."""
    if not isinstance(record, dict):
        raise TypeError("its record is not a JSON object")
    return record


def _parse_parquet(content: bytes, path: Path) -> tuple[StoredRanking, bytes]:
    """Return the ranking and the content for the digest."""
    pa = import_package("pyarrow", "a .parquet file")
    try:
        table = read_parquet(content, str(path))
        types = [type_.value_type if pa.types.is_dictionary(type_) else type_ for type_ in table.schema.types]
        fields = list(zip(table.column_names, types, strict=True))
        table = table.cast(pa.schema(fields, metadata=table.schema.metadata))
        table.validate(full=True)  # a damaged offset would crash the process later
    except pa.ArrowException as error:
        raise ValueError(str(error)) from None
    record = (table.schema.metadata or {})[b"symscreen"]
    if len(record) > MAX_JSON_BYTES:
        raise ValueError(f"its record has more than {format_bytes(MAX_JSON_BYTES)}")
    # pandas metadata affects how a file is read; it is not needed, and anyone may have written it
    ranking = StoredRanking(table.to_pandas(ignore_metadata=True), _parse_record(record))
    return ranking, serialize_table(table)


def _parse_json(content: bytes) -> tuple[StoredRanking, bytes]:
    """Return the ranking and the content for the digest."""
    import pandas as pd

    parsed = _parse_record(content)
    ranking = StoredRanking(pd.DataFrame(parsed["ranking"]), _check_object(parsed["record"]))
    return ranking, serialize_rows(parsed["ranking"])


def _check_ranking(path: Path, ranking: StoredRanking) -> None:
    """Check that the record has the fields that readers need, and that the table fits the record."""
    record, table = ranking.record, ranking.table
    version = record.get("format")
    if type(version) is not int or version != RECORD_FORMAT:
        raise DataError(
            f"{path}: its record has the format {escape_control_chars(reprlib.repr(version))}, but this "
            f"version of symscreen reads {RECORD_FORMAT}; screen again"
        )
    convert_document(record, _Record, f"{path}: its record is damaged", DataError)
    for name in ("rank", "expression", *record["options"]["screener"]):
        if name not in table:
            raise DataError(f"{path} is damaged: it has no column {name!r}")
    if not all(isinstance(text, str) for text in table["expression"]):
        raise DataError(f"{path} is damaged: a formula is missing or is not text")
    if len(table) != record["shown"]:
        raise DataError(
            f"{path} has {len(table)} rows, but its record reports {record['shown']}: it was changed, or the "
            "record belongs to another ranking; screen again"
        )


def check_report_record(path: str | Path, record: Mapping[str, Any]) -> None:
    """Check that a record has the additional fields that a report or a result needs.

    Raises
    ------
    DataError
        With the field and its value.
    """
    convert_document(record, _ReportRecord, f"{path}: its record is damaged", DataError)


def _verify_digest(path: Path, ranking: StoredRanking, content: bytes) -> StoredRanking:
    """Compare the digest, and remove it from the record, because it belongs to the file."""
    record = dict(ranking.record)
    digest = record.pop("digest", "")
    # an accidental change cannot produce null: someone changed the file on purpose
    if digest is not None and digest != compute_ranking_digest(record, content):
        record_path = {".csv": get_sidecar_path(path), ".json": path}.get(path.suffix.lower())
        remedy = ""
        if record_path is not None:
            remedy = f', or if you changed it on purpose, write "digest": null in {record_path}'
        raise DataError(
            f"{path} or its record was changed after it was written: the digest differs; screen again{remedy}"
        )
    return StoredRanking(ranking.table, record)
