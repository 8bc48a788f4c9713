"""Tables that are larger than the memory allows: when a screen samples them, and what it still offers.

A fixed rule decides, from the metadata of the files and the option `max_ram` alone: rows × columns × 8 bytes
are compared with a quarter of `max_ram`, because reading a table into memory makes three copies of it. A
larger table of Parquet files is put onto the disk, column by column. Its formulas are screened on a sample of
the rows, and the best are scored on all rows (`symscreen.screening.scoring.finalists`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from symscreen._limits import format_bytes
from symscreen.config.parsing import parse_bytes, to_tuple
from symscreen.data.large_tables.large_table import read_large_table
from symscreen.data.large_tables.parquet_files import measure_table
from symscreen.errors import MemoryLimitError, OptionError
from symscreen.logs import log_event
from symscreen.messages import Message, format_count, name_option
from symscreen.screeners import Screener, parse_screeners
from symscreen.screening.scoring.finalists import TARGET_ROW_BYTES, THREAD_ROW_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.config.screen_options import ScreenOptions
    from symscreen.data import Dataset, SourceFrame
    from symscreen.data.large_tables.large_table import LargeTable
    from symscreen.data.large_tables.parquet_files import TableSize
    from symscreen.screening.task import ScreeningTask


SAMPLE_ROWS = 1 << 17  # parts of the target's order, each with one row in the sample
_COPIES = 4  # a table in memory may take this share of the memory, because three copies exist
_SUGGESTED_SHARE = 0.999  # share of the memory that is suggested, at which a table is no longer sampled
_LIBRARY_BYTES = 400_000_000  # libraries, compiled code and a batch of rows
_SORTING_ROW_BYTES = 72  # memory per row while rows with tied targets are sorted, which takes the most
_SAMPLE_BYTES = 1_000_000_000  # libraries and a screen of the sample, at least
_TARGET_VALUE_BYTES = 8  # memory per row of the target
# Options that need every row in memory, and their values that do not.
_WHOLE_TABLE_OPTIONS: dict[str, tuple[object, ...]] = {
    "target_type": (None, "numeric"),
    **dict.fromkeys(("ranking", "stages", "event", "weights", "groups", "time", "units"), (None,)),
    "categorical": (None, ()),
    "missing": (None, "refuse", "drop"),
    "search": (None, "sieve", "race"),
    "rounds": (1,),
    **dict.fromkeys(("p_values", "fdr", "permutations", "stability", "class_members"), (None, False)),
    "intervals": (None, False),
    "split": (0.0,),
    "splits": (None,),
    **dict.fromkeys(("time_limit", "checkpoint", "scheduler"), (None,)),
    "backend": (None, "threads"),
}


def measure_source(X: Any, options: ScreenOptions) -> TableSize | None:  # noqa: N803  # as in `screen`
    """Read the size of a table of Parquet files; None for other sources, and without a memory limit."""
    return None if options.max_ram is None else measure_table(X)


def open_large_table(size: TableSize, y: Any, options: ScreenOptions) -> LargeTable | None:
    """Read a table of Parquet files onto the disk if it is larger than the memory allows; None if it is not.

    Raises
    ------
    OptionError
        If an option needs all rows in memory.
    MemoryLimitError
        If the memory is too small for a few columns.
    DataError
        If the files cannot be read.
    """
    assert options.max_ram is not None  # noqa: S101  # the caller checks it
    max_bytes = parse_bytes(options.max_ram)
    if _COPIES * size.n_bytes <= max_bytes:
        return None
    _check_options(y, options, size)
    needed = estimate_least_bytes(size.n_rows)
    if needed > max_bytes:
        raise MemoryLimitError(
            f"{size.source}: {_describe_size(size)}; even a screen of a sample of the rows takes "
            f"{format_bytes(needed)} for a few columns: allow {name_option('max_ram', format_bytes(needed))}"
        )
    log_event("large table", rows=size.n_rows, columns=size.n_columns, files=len(size.files))
    assert options.target is None or isinstance(options.target, str)  # noqa: S101  # just checked
    return read_large_table(
        size,
        target=options.target,
        inputs=None if options.inputs is None else to_tuple(options.inputs),
        exclude=to_tuple(options.exclude),
        missing=options.missing,
    )


def suggest_sampling_limit(size: TableSize, y: Any, options: ScreenOptions) -> int | None:
    """Return a memory limit in bytes with which a table in memory would be sampled; None if it cannot be.

    A screen of the sample needs less memory than one of all rows, for which the limit may be too low.
    """
    limit = int(_SUGGESTED_SHARE * _COPIES * size.n_bytes)
    try:
        _check_options(y, options, size)
    except OptionError:
        return None
    return limit if limit >= estimate_least_bytes(size.n_rows) else None


def estimate_least_bytes(n_rows: int) -> int:
    """Estimate the least memory in which a table with this number of rows can be read, sampled and scored."""
    reading = _LIBRARY_BYTES + _SORTING_ROW_BYTES * n_rows
    scoring = _SAMPLE_BYTES + (_TARGET_VALUE_BYTES + TARGET_ROW_BYTES + THREAD_ROW_BYTES) * n_rows
    return max(reading, scoring)


def _check_options(y: Any, options: ScreenOptions, size: TableSize) -> None:
    """Refuse what needs all rows in memory."""
    refused = [
        name_option(name, getattr(options, name))
        for name, allowed in _WHOLE_TABLE_OPTIONS.items()
        if not any(getattr(options, name) is each or getattr(options, name) == each for each in allowed)
    ]
    if y is not None:
        refused.append("a separate target")
    if options.target is not None and not isinstance(options.target, str):
        refused.append("several targets")
    if not isinstance(options.top, int):
        refused.append(name_option("top", options.top))
    screeners = parse_screeners(options.screener, {"rule": options.rule, "engine": options.engine})
    if len(screeners) > 1 or not all(isinstance(each, Screener) for each in screeners):
        refused.append(name_option("screener", options.screener))
    if refused:
        raise OptionError(
            f"{size.source}: {_describe_size(size)}, more than a quarter of "
            f"{name_option('max_ram', options.max_ram)}; a screen of a sample of the rows does not have "
            f"{refused[0]}: leave it out, or allow more memory"
        )


def _describe_size(size: TableSize) -> str:
    """Describe the size of a table as the rule reads it."""
    return f"{size.n_rows:,} rows × {size.n_columns:,} columns × 8 bytes are {format_bytes(size.n_bytes)}"


def draw_sample(table: LargeTable, options: ScreenOptions) -> tuple[SourceFrame, ScreenOptions]:
    """Draw the sample of a large table; return it with the options that describe its columns."""
    sample = table.draw_sample(SAMPLE_ROWS, options.seed)
    described = replace(options, target=table.target.name, inputs=table.names, exclude=(), missing=None)
    return sample, described


def describe_sample(dataset: Dataset, table: LargeTable, options: ScreenOptions) -> Dataset:
    """Give the dataset of a sample the digest, the counts and the notices of its table."""
    notice = Message(
        f"{_describe_size(table.size)}, more than a quarter of {name_option('max_ram', options.max_ram)}: "
        f"formulas are screened on {dataset.target.n:,} of the rows, and the best are scored on all"
    )
    return replace(
        dataset,
        digest=table.digest,
        n_dropped=table.n_dropped,
        notices=(*table.notices, notice, *dataset.notices),
    )


def reserve_memory(max_bytes: int | None, table: LargeTable) -> int | None:
    """Return the memory that a screen of the sample may take: a finalist needs the rest."""
    if max_bytes is None:
        return None
    return max_bytes - (TARGET_ROW_BYTES + THREAD_ROW_BYTES) * table.target.n


def build_large_table_record(task: ScreeningTask, finalists: Mapping[str, Any] | None) -> dict[str, Any]:
    """Build the record of a screen of a sample: the size of the table, and what was scored on all rows."""
    assert task.large_table is not None  # noqa: S101  # the caller checks it
    size = task.large_table.size
    return {"bytes": size.n_bytes, "sample_rows": task.target.n, **(finalists or {})}


def format_undefined_notice(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Say how many of the best features of a sample are undefined in other rows."""
    n_undefined = record.get("large_table", {}).get("undefined", 0)
    if not n_undefined:
        return ()
    features = format_count(n_undefined, "feature")
    return (f"left out: {features} among the best of the sample, undefined in some of the other rows",)
