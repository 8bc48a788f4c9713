"""`LargeTable`: a table on disk with rows in canonical order, with one column at a time in memory.

The columns of Parquet files are decoded once, batch by batch, into a store on disk. Target, inputs and rows
are chosen by the rules of `symscreen.data.loading`. The rows are then put into canonical order, column by
column. The order of rows and files, and the row groups, therefore have no effect on a result. The digest is
that of the same table in memory.

A sample has one row from each of m equal parts of the target's order, drawn by a seed, and in addition the
rows in which an input is smallest or largest. Its columns therefore have the ranges of the table.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.data.column_selection import (
    choose_inputs,
    choose_numeric_target,
    is_identifier,
    is_named_like_identifier,
)
from symscreen.data.column_types import SourceColumn, make_numeric_column
from symscreen.data.dataset import encode_digest_metadata
from symscreen.data.large_tables.canonical_rows import sort_rows
from symscreen.data.large_tables.parquet_files import stage_columns
from symscreen.data.row_columns import find_complete_rows
from symscreen.data.source_frame import SourceFrame
from symscreen.errors import DataError
from symscreen.messages import format_count
from symscreen.targets import NumericTarget

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from symscreen._typing import Integers, Values
    from symscreen.data.large_tables.column_store import ColumnStore
    from symscreen.data.large_tables.parquet_files import StagedTable, TableSize


_BLOCK_ROWS = 1 << 18  # rows of a column that are moved, or computed, at a time
# Values that stand for those of a column on disk: no identifier holds the first, and any may hold the second.
_PLACEHOLDER, _KEY_PLACEHOLDER = np.array([0.5]), np.array([1.0])

_SAMPLE_STREAM = 3  # random stream of a seed; a search has the others


@dataclass(frozen=True, eq=False)
class LargeTable:
    """A table on disk, in canonical order, with its target in memory.

    Parameters
    ----------
    size : TableSize
        The files, and their numbers of rows and columns.
    names : tuple of str, length d
        Names of the inputs, sorted.
    target : NumericTarget
        The target of all n rows.
    store : ColumnStore
        The inputs, each of shape (n,), without negative zeros.
    digest : str
        The digest that `Dataset` has of the same table.
    n_dropped : int
        Number of rows of the files that are left out.
    notices : tuple of str
        One line for each automatic decision.
    """

    size: TableSize
    names: tuple[str, ...]
    target: NumericTarget
    store: ColumnStore
    digest: str
    n_dropped: int
    notices: tuple[str, ...]

    def iterate_blocks(self, names: Collection[str]) -> Iterator[tuple[slice, dict[str, Values]]]:
        """Yield blocks of rows: their positions, and the values of some inputs."""
        n = self.target.n
        for start in range(0, n, _BLOCK_ROWS):
            rows = slice(start, min(start + _BLOCK_ROWS, n))
            yield rows, {name: self.store.read(name, rows.start, rows.stop) for name in names}

    def draw_sample(self, n_rows: int, seed: int) -> SourceFrame:
        """Draw a sample of rows as this module says.

        Parameters
        ----------
        n_rows : int
            Number of parts of the target's order. A table that has no more rows is its own sample.
        seed : int
            The seed.

        Returns
        -------
        SourceFrame
            The inputs and the target of the sample, in canonical order.
        """
        n = self.target.n
        rows = np.arange(n)
        if n > n_rows:
            rng = np.random.default_rng([seed, _SAMPLE_STREAM])
            edges = np.arange(n_rows + 1) * n // n_rows
            rows = edges[:-1] + (rng.random(n_rows) * np.diff(edges)).astype(np.int64)
            extremes = [row for name in self.names for row in _find_extremes(self.store[name])]
            rows = np.unique(np.concatenate((rows, extremes)))
        columns = {name: make_numeric_column(self.store[name][rows]) for name in self.names}
        columns[self.target.name] = make_numeric_column(self.target.values[rows])
        return SourceFrame(self.size.source, columns, len(rows))

    def close(self) -> None:
        """Remove the columns from the disk."""
        self.store.close()


def _find_extremes(values: Values) -> tuple[int, int]:
    """Return the first rows with the smallest and with the largest value."""
    return int(values.argmin()), int(values.argmax())


def read_large_table(
    size: TableSize,
    *,
    target: str | None = None,
    inputs: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    missing: str | None = None,
) -> LargeTable:
    """Read Parquet files into a store on disk, and put the rows into canonical order.

    Parameters
    ----------
    size : TableSize
        The files.
    target, inputs, exclude : optional
        As for `symscreen.data.read_dataset`. Columns of numbers can be inputs.
    missing : {"refuse", "drop"}, optional
        What to do with rows that have missing values; by default at most a tenth of all rows is dropped.

    Returns
    -------
    LargeTable
        Memory is that of four columns, of six where the target has ties.

    Raises
    ------
    DataError
        As `symscreen.data.read_dataset` raises it.
    """
    staged = stage_columns(size)
    try:
        target_name, names, notices = _choose_columns(
            _describe_columns(staged, size), target, inputs, exclude
        )
        return _order_table(staged, size, target_name, names, notices, missing)
    except BaseException:
        staged.store.close()
        raise


def _describe_columns(staged: StagedTable, size: TableSize) -> SourceFrame:
    """Describe the columns of a staged table by a frame that holds no values of those that can be inputs."""
    columns = {}
    for name in staged.names:
        if name in staged.unread:
            columns[name] = staged.unread[name]
            continue
        is_key = is_named_like_identifier(name) and is_identifier(name, staged.store[name])
        columns[name] = SourceColumn("numbers", _KEY_PLACEHOLDER if is_key else _PLACEHOLDER)
    return SourceFrame(size.source, columns, staged.n_rows)


def _choose_columns(
    frame: SourceFrame, target: str | None, inputs: Sequence[str] | None, exclude: Sequence[str]
) -> tuple[str, list[str], list[str]]:
    """Choose the target and the inputs; return their names, those of the inputs sorted, and notices."""
    target_name, target_notices = choose_numeric_target(frame, target, exclude)
    chosen, input_notices = choose_inputs(frame, [target_name], inputs, exclude)
    return target_name, sorted(chosen), [*target_notices, *input_notices]


def _find_used_rows(
    staged: StagedTable, size: TableSize, names: Sequence[str], missing: str | None
) -> tuple[Integers, list[str]]:
    """Find the rows without missing values, shape (n,), by the rules of a table in memory."""
    with_gaps = [name for name in staged.names if name in names and name in staged.with_gaps]
    frame = SourceFrame(size.source, {}, staged.n_rows)
    is_used, notices = find_complete_rows(frame, staged.store.select(with_gaps), missing)
    return np.flatnonzero(is_used), notices


def _order_table(  # noqa: PLR0917  # what was chosen, in the order in which it was
    staged: StagedTable,
    size: TableSize,
    target_name: str,
    names: Sequence[str],
    notices: Sequence[str],
    missing: str | None,
) -> LargeTable:
    """Put the chosen columns of a staged table into canonical order."""
    store = staged.store
    rows, row_notices = _find_used_rows(staged, size, (target_name, *names), missing)
    values = store[target_name][rows]
    order = sort_rows(store, names, values, rows)
    try:
        numeric_target = NumericTarget(values[order] + 0.0, target_name)
    except DataError as error:
        raise DataError(f"{size.source}: {error.template}") from error
    del values
    rows = rows[order].astype(np.int32 if staged.n_rows < 2**31 else np.int64)
    del order
    digest = _move_rows(store, names, rows, numeric_target)
    n_files = len(size.files)
    return LargeTable(
        size,
        tuple(names),
        numeric_target,
        store,
        digest,
        staged.n_rows - len(rows),
        (
            *([f"{format_count(n_files, 'file')} are read as one table"] if n_files > 1 else []),
            *notices,
            *row_notices,
        ),
    )


def _move_rows(store: ColumnStore, names: Sequence[str], rows: Integers, target: NumericTarget) -> str:
    """Replace columns by some of their rows, in the order given; return the digest of the table."""
    digest = hashlib.sha256(encode_digest_metadata(names, (len(names), len(rows)), target))
    for name in names:
        column = store[name]
        store.remove(name)
        for start in range(0, len(rows), _BLOCK_ROWS):
            part = column[rows[start : start + _BLOCK_ROWS]] + 0.0  # + 0.0 replaces −0.0 by 0.0
            digest.update(np.ascontiguousarray(part, dtype="<f8").data)
            store.append(name, part)
    digest.update(np.ascontiguousarray(target.data, dtype="<f8").data)
    return digest.hexdigest()
