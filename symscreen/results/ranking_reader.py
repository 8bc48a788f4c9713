"""A ranking read back from its file, with the record that tells how it was made."""

from __future__ import annotations

import csv
import io
import json
import math
import reprlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symscreen._limits import CSV_PARSE_FACTOR, JSON_PARSE_FACTOR, MAX_JSON_BYTES, format_bytes
from symscreen.config.parsing import parse_memory_limit
from symscreen.data import get_max_table_bytes, read_parquet, read_regular_file
from symscreen.errors import DataError, InputError, escape_control_chars
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
    from collections.abc import Callable, Iterator, Mapping

    import pandas as pd

    FieldChecks = dict[str, tuple[Callable[[object], bool], str]]

__all__ = ["StoredRanking", "check_report_record", "read_ranking", "report_damaged_record"]

_TEXT_COLUMNS = ("expression", "direction", "unit")


@dataclass(frozen=True, eq=False)
class StoredRanking:
    """A ranking as its file has it.

    Parameters
    ----------
    table : pandas.DataFrame
        The ranking; formulas are text.
    record : dict
        How it was made.
    """

    table: pd.DataFrame
    record: dict[str, Any]


def read_ranking(path: str | Path, max_ram: str | int | None = None) -> StoredRanking:
    """Read what `symscreen screen --out` wrote.

    Parameters
    ----------
    path : str or Path
        A ``.csv`` with its record beside it (``NAME.csv.json``), a ``.parquet`` or a ``.json``.
    max_ram : str or int, optional
        Memory that reading a text may take, ``"2GB"`` or bytes; by default four fifths of the machine's.

    Returns
    -------
    StoredRanking
        Floats are what they were, to the last bit.

    Raises
    ------
    TableError
        If the file cannot be read, would not fit in the memory allowed, is no ranking, has lost its record,
        or is not as it was written.
    """
    path, allowed = Path(path), parse_memory_limit(max_ram)
    try:
        match path.suffix.lower():
            case ".csv":
                ranking, content = _parse_csv(
                    _read_text(path, allowed, CSV_PARSE_FACTOR),
                    _read_bytes(get_sidecar_path(path), MAX_JSON_BYTES),
                )
            case ".parquet":
                ranking, content = _parse_parquet(_read_bytes(path, get_max_table_bytes()), path)
            case ".json":
                ranking, content = _parse_json(_read_text(path, allowed, JSON_PARSE_FACTOR))
            case _:
                raise DataError(f"{path}: a ranking ends in one of {', '.join(RANKING_SUFFIXES)}")
    except OSError as error:
        raise DataError(f"{error.filename or path}: cannot be read ({error.strerror})") from None
    except (csv.Error, ValueError, LookupError, TypeError, AttributeError, RecursionError, ArithmeticError,
            NotImplementedError) as error:  # fmt: skip
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} is no ranking that symscreen wrote ({_format_first_line(error)})") from None
    _check_ranking(path, ranking)
    return _verify_digest(path, ranking, content)


@contextmanager
def report_damaged_record(path: str | Path) -> Iterator[None]:
    """Say that a record is damaged where reading it fails: not all of it is looked at beforehand.

    Parameters
    ----------
    path : str or Path
        The ranking's file, for the message.

    Raises
    ------
    TableError
        Instead of what Python says of keys and types.
    """
    try:
        yield
    except InputError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        words = f"{type(error).__name__}: {_format_first_line(error)}"
        raise DataError(f"{path}: its record is damaged ({words}); screen again") from None


def _format_first_line(error: Exception) -> str:
    return escape_control_chars((str(error).strip().splitlines() or [type(error).__name__])[0])[:200]


def _read_text(path: Path, memory_limit: int | None, memory_factor: int) -> bytes:
    """Read a text that takes so many times its size while it is parsed."""
    return _read_bytes(
        path,
        get_max_table_bytes()
        if memory_limit is None
        else min(get_max_table_bytes(), memory_limit // memory_factor),
    )


def _read_bytes(path: Path, max_bytes: int) -> bytes:
    data = read_regular_file(path, max_bytes)
    if len(data) > max_bytes:
        raise ValueError(f"it has more than {format_bytes(max_bytes)}, as much as may be read here")
    return data


def _parse_csv(content: bytes, record: bytes) -> tuple[StoredRanking, bytes]:
    return StoredRanking(_parse_frame(content), _parse_record(record)), serialize_csv(content)


def _parse_frame(content: bytes) -> pd.DataFrame:
    """Read what `format_csv` wrote; pandas' own reader may miss the last bit of a float."""
    import pandas as pd

    lines = list(csv.reader(io.StringIO(content.decode(), newline="")))
    if not lines:
        raise ValueError("it is empty")
    head, *rows = lines
    if any(len(row) != len(head) for row in rows):
        raise ValueError("its rows differ in length")
    columns = dict(zip(head, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(head, ())
    return pd.DataFrame(
        {
            name: cells if name in _TEXT_COLUMNS else list(map(_parse_cell, cells))
            for name, cells in columns.items()
        }
    )


def _parse_cell(cell: str) -> float | bool | None:
    if cell in {"True", "False"}:
        return cell == "True"
    return float(cell) if cell else None


def _parse_record(content: bytes) -> dict[str, Any]:
    return _check_object(json.loads(content))


def _check_object(record: Any) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise TypeError("its record is no object")
    return record


def _parse_parquet(content: bytes, path: Path) -> tuple[StoredRanking, bytes]:
    import pyarrow as pa

    try:
        table = read_parquet(content, str(path))
        kinds = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in table.schema.types]
        names = zip(table.column_names, kinds, strict=True)
        table = table.cast(pa.schema(list(names), metadata=table.schema.metadata))
        table.validate(full=True)  # a damaged offset would crash the process later
    except pa.ArrowException as error:
        raise ValueError(str(error)) from None
    told = (table.schema.metadata or {})[b"symscreen"]
    if len(told) > MAX_JSON_BYTES:
        raise ValueError(f"its record has more than {format_bytes(MAX_JSON_BYTES)}")
    record = _parse_record(told)
    # what pandas notes in a file steers how it is read: it is not needed, and anybody may have written it
    return StoredRanking(table.to_pandas(ignore_metadata=True), record), serialize_table(table)


def _parse_json(content: bytes) -> tuple[StoredRanking, bytes]:
    import pandas as pd

    whole = _parse_record(content)
    ranking = StoredRanking(pd.DataFrame(whole["ranking"]), _check_object(whole["record"]))
    return ranking, serialize_rows(whole["ranking"])


def _check_ranking(path: Path, ranking: StoredRanking) -> None:
    """Refuse a record that lacks what readers need, and a table that is another's."""
    record, table = ranking.record, ranking.table
    found = record.get("format")
    if not _is_count(found) or found not in range(1, RECORD_FORMAT + 1):
        raise DataError(
            f"{path}: its record has the format {escape_control_chars(reprlib.repr(found))}, and this "
            "symscreen reads 1 "
            f"to {RECORD_FORMAT}; screen again"
        )
    _check_fields(path, record, _RECORD_CHECKS)
    for name in ("rank", "expression", *record["options"]["screener"]):
        if name not in table:
            raise DataError(f"{path} is damaged: it has no column {name!r}")
    if not all(isinstance(text, str) for text in table["expression"]):
        raise DataError(f"{path} is damaged: a formula is missing, or is no text")
    if len(table) != record["shown"]:
        raise DataError(
            f"{path} has {len(table)} rows, but its record tells of {record['shown']}: it was changed, or "
            "the record is another's; screen again"
        )


def check_report_record(path: str | Path, record: Mapping[str, Any]) -> None:
    """Refuse a record that lacks what a report or a result needs beside what every reader does.

    Raises
    ------
    TableError
        With the part and what it holds.
    """
    _check_fields(path, record, _REPORT_CHECKS)


def _check_fields(path: str | Path, record: Mapping[str, Any], checks: FieldChecks) -> None:
    for place, (fits, meaning) in checks.items():
        value: Any = record
        for step in place.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        if not fits(value):
            raise DataError(
                f"{path}: its record is damaged: {place} is {escape_control_chars(reprlib.repr(value))}, "
                f"not {meaning}"
            )


def _verify_digest(path: Path, ranking: StoredRanking, content: bytes) -> StoredRanking:
    """Compare the digest, and leave it out of the record: it is the file's."""
    record = dict(ranking.record)
    if record["format"] == 1:
        return ranking
    digest = record.pop("digest", "")
    # null cannot come of a bit that changed: it is the word of somebody who changed the file
    if digest is not None and digest != compute_ranking_digest(record, content):
        where = {".csv": get_sidecar_path(path), ".json": path}.get(path.suffix.lower())
        way = "" if where is None else f', or if you changed it on purpose, write "digest": null in {where}'
        raise DataError(
            f"{path} with its record is not as it was written: the digest differs; screen again{way}"
        )
    return StoredRanking(ranking.table, record)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_name_list(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(word, str) for word in value)


def _is_positive(value: object) -> bool:
    return isinstance(value, float) and 0.0 < value < math.inf


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_layer_list(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_layer, value))


def _is_layer(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    pruned = value.get("pruned")
    return (
        all(_is_count(value.get(name)) for name in ("layer", "generated", "features"))
        and _is_text(value.get("kind"))
        and isinstance(pruned, dict)
        and all(map(_is_count, pruned.values()))
    )


_RECORD_CHECKS: FieldChecks = {
    "shown": (_is_count, "a number of features"),
    "scored": (_is_count, "a number of features"),
    "options.screener": (_is_name_list, "a list of names"),
    "options.sign": (lambda value: value in ("free", "positive"), "free or positive"),
    "options.top": (lambda value: value == "all" or _is_count(value), "a number of classes, or all"),
    "options.rounds": (_is_count, "a number of rounds"),
    "data.inputs": (_is_name_list, "a list of names"),
    "data.gini_mean_difference": (_is_positive, "a positive number"),
}
_REPORT_CHECKS: FieldChecks = {
    "data.target": (_is_text, "a name"),
    "data.rows": (_is_count, "a number of rows"),
    "data.digest": (_is_text, "a text"),
    "layers": (_is_layer_list, "a list of layers with their counts"),
}
