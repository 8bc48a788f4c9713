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

from symscreen.errors import InputError, TableError, printable
from symscreen.limits import CSV_GROWS, JSON_GROWS, MOST_JSON, amount
from symscreen.options import read_memory
from symscreen.report.digest import content_of_csv, content_of_rows, content_of_table, ranking_digest
from symscreen.report.files import ENDINGS, record_beside
from symscreen.result.record import RECORD_FORMAT
from symscreen.table import most_bytes, parquet_table, plain_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pandas as pd

    Parts = dict[str, tuple[Callable[[object], bool], str]]

__all__ = ["StoredRanking", "check_reported", "read_ranking", "read_undamaged"]

_TEXTS = ("expression", "direction", "unit")


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
    path, allowed = Path(path), read_memory(max_ram)
    try:
        match path.suffix.lower():
            case ".csv":
                ranking, content = _csv(
                    _text_of(path, allowed, CSV_GROWS), _bytes(record_beside(path), MOST_JSON)
                )
            case ".parquet":
                ranking, content = _parquet(_bytes(path, most_bytes()), path)
            case ".json":
                ranking, content = _json(_text_of(path, allowed, JSON_GROWS))
            case _:
                raise TableError(f"{path}: a ranking ends in one of {', '.join(ENDINGS)}")
    except OSError as error:
        raise TableError(f"{error.filename or path}: cannot be read ({error.strerror})") from None
    except (csv.Error, ValueError, LookupError, TypeError, AttributeError, RecursionError, ArithmeticError,
            NotImplementedError) as error:  # fmt: skip
        if isinstance(error, TableError):
            raise
        raise TableError(f"{path} is no ranking that symscreen wrote ({_first_line(error)})") from None
    _check(path, ranking)
    return _unsealed(path, ranking, content)


@contextmanager
def read_undamaged(path: str | Path) -> Iterator[None]:
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
        words = f"{type(error).__name__}: {_first_line(error)}"
        raise TableError(f"{path}: its record is damaged ({words}); screen again") from None


def _first_line(error: Exception) -> str:
    return printable((str(error).strip().splitlines() or [type(error).__name__])[0])[:200]


def _text_of(path: Path, allowed: int | None, grows: int) -> bytes:
    """Read a text that takes so many times its size while it is parsed."""
    return _bytes(path, most_bytes() if allowed is None else min(most_bytes(), allowed // grows))


def _bytes(path: Path, most: int) -> bytes:
    data = plain_bytes(path, most)
    if len(data) > most:
        raise ValueError(f"it has more than {amount(most)}, as much as may be read here")
    return data


def _csv(content: bytes, record: bytes) -> tuple[StoredRanking, bytes]:
    return StoredRanking(_frame(content), _record(record)), content_of_csv(content)


def _frame(content: bytes) -> pd.DataFrame:
    """Read what `frame_as_csv` wrote; pandas' own reader may miss the last bit of a float."""
    import pandas as pd

    lines = list(csv.reader(io.StringIO(content.decode(), newline="")))
    if not lines:
        raise ValueError("it is empty")
    head, *rows = lines
    if any(len(row) != len(head) for row in rows):
        raise ValueError("its rows differ in length")
    columns = dict(zip(head, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(head, ())
    return pd.DataFrame(
        {name: cells if name in _TEXTS else list(map(_value, cells)) for name, cells in columns.items()}
    )


def _value(cell: str) -> float | bool | None:
    if cell in {"True", "False"}:
        return cell == "True"
    return float(cell) if cell else None


def _record(content: bytes) -> dict[str, Any]:
    return _object(json.loads(content))


def _object(record: Any) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise TypeError("its record is no object")
    return record


def _parquet(content: bytes, path: Path) -> tuple[StoredRanking, bytes]:
    import pyarrow as pa

    try:
        table = parquet_table(content, str(path))
        kinds = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in table.schema.types]
        names = zip(table.column_names, kinds, strict=True)
        table = table.cast(pa.schema(list(names), metadata=table.schema.metadata))
        table.validate(full=True)  # a damaged offset would crash the process later
    except pa.ArrowException as error:
        raise ValueError(str(error)) from None
    told = (table.schema.metadata or {})[b"symscreen"]
    if len(told) > MOST_JSON:
        raise ValueError(f"its record has more than {amount(MOST_JSON)}")
    record = _record(told)
    # what pandas notes in a file steers how it is read: it is not needed, and anybody may have written it
    return StoredRanking(table.to_pandas(ignore_metadata=True), record), content_of_table(table)


def _json(content: bytes) -> tuple[StoredRanking, bytes]:
    import pandas as pd

    whole = _record(content)
    ranking = StoredRanking(pd.DataFrame(whole["ranking"]), _object(whole["record"]))
    return ranking, content_of_rows(whole["ranking"])


def _check(path: Path, ranking: StoredRanking) -> None:
    """Refuse a record that lacks what readers need, and a table that is another's."""
    record, table = ranking.record, ranking.table
    found = record.get("format")
    if not _whole(found) or found not in range(1, RECORD_FORMAT + 1):
        raise TableError(
            f"{path}: its record has the format {printable(reprlib.repr(found))}, and this symscreen reads 1 "
            f"to {RECORD_FORMAT}; screen again"
        )
    _check_parts(path, record, _RECORD)
    for name in ("rank", "expression", *record["options"]["screener"]):
        if name not in table:
            raise TableError(f"{path} is damaged: it has no column {name!r}")
    if not all(isinstance(text, str) for text in table["expression"]):
        raise TableError(f"{path} is damaged: a formula is missing, or is no text")
    if len(table) != record["shown"]:
        raise TableError(
            f"{path} has {len(table)} rows, but its record tells of {record['shown']}: it was changed, or "
            "the record is another's; screen again"
        )


def check_reported(path: str | Path, record: Mapping[str, Any]) -> None:
    """Refuse a record that lacks what a report or a result needs beside what every reader does.

    Raises
    ------
    TableError
        With the part and what it holds.
    """
    _check_parts(path, record, _REPORTED)


def _check_parts(path: str | Path, record: Mapping[str, Any], parts: Parts) -> None:
    for place, (fits, meaning) in parts.items():
        value: Any = record
        for step in place.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        if not fits(value):
            raise TableError(
                f"{path}: its record is damaged: {place} is {printable(reprlib.repr(value))}, not {meaning}"
            )


def _unsealed(path: Path, ranking: StoredRanking, content: bytes) -> StoredRanking:
    """Compare the digest, and leave it out of the record: it is the file's."""
    record = dict(ranking.record)
    if record["format"] == 1:
        return ranking
    digest = record.pop("digest", "")
    # null cannot come of a bit that changed: it is the word of somebody who changed the file
    if digest is not None and digest != ranking_digest(record, content):
        where = {".csv": record_beside(path), ".json": path}.get(path.suffix.lower())
        way = "" if where is None else f', or if you changed it on purpose, write "digest": null in {where}'
        raise TableError(
            f"{path} with its record is not as it was written: the digest differs; screen again{way}"
        )
    return StoredRanking(ranking.table, record)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _words(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(word, str) for word in value)


def _positive(value: object) -> bool:
    return isinstance(value, float) and 0.0 < value < math.inf


def _text(value: object) -> bool:
    return isinstance(value, str)


def _layers(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_layer, value))


def _layer(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    pruned = value.get("pruned")
    return (
        all(_whole(value.get(name)) for name in ("layer", "generated", "features"))
        and _text(value.get("kind"))
        and isinstance(pruned, dict)
        and all(map(_whole, pruned.values()))
    )


_RECORD: Parts = {
    "shown": (_whole, "a number of features"),
    "scored": (_whole, "a number of features"),
    "options.screener": (_words, "a list of names"),
    "options.sign": (lambda value: value in ("free", "positive"), "free or positive"),
    "options.top": (lambda value: value == "all" or _whole(value), "a number of classes, or all"),
    "options.rounds": (_whole, "a number of rounds"),
    "data.inputs": (_words, "a list of names"),
    "data.gini_mean_difference": (_positive, "a positive number"),
}
_REPORTED: Parts = {
    "data.target": (_text, "a name"),
    "data.rows": (_whole, "a number of rows"),
    "data.digest": (_text, "a text"),
    "layers": (_layers, "a list of layers with their counts"),
}
