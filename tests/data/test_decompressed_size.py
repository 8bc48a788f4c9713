"""Small files that stand for gigabytes are refused before they are unpacked."""

from __future__ import annotations

import io
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from symscreen.data import read_frame
from symscreen.data.decompressed_size import check_unpacked_size, get_max_table_bytes
from symscreen.data.readers.arrow_files import read_feather
from symscreen.errors import DataError
from symscreen.results.ranking_reader import read_ranking

MILLION = 10**6


def parquet(batches, **options):
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, batches[0].schema, **options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()


def feather(batches, **options):
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, batches[0].schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()


def long_runs():
    return [pa.record_batch({"a": np.zeros(MILLION), "y": np.arange(MILLION) % 2.0})] * 20


def shared_text():
    """A text of a megabyte in each of a hundred thousand rows, which the file holds once."""
    codes = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int32)), pa.array(["x" * MILLION]))
    return [pa.record_batch({"t": codes, "y": np.arange(100_000.0)})]


def nothing():
    return [pa.record_batch([pa.nulls(2**31 - 1)] * 2, names=["a", "y"])]


BOMBS = {
    "runs.parquet": lambda: parquet(long_runs(), compression="zstd"),
    "text.parquet": lambda: parquet(shared_text(), compression="zstd", store_schema=False),
    "runs.feather": lambda: feather(long_runs(), compression="zstd"),
    "text.feather": lambda: feather(shared_text(), compression="lz4"),
    "nulls.feather": lambda: feather(nothing()),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_before_they_are_unpacked(refused_file, name):
    data = BOMBS[name]()
    tracemalloc.start()
    held = pa.total_allocated_bytes()
    message = refused_file(name, data, target="y")
    assert tracemalloc.get_traced_memory()[1] < 10 * len(data) + 10 * MILLION
    assert pa.total_allocated_bytes() <= held + 10 * len(data) + 10 * MILLION
    tracemalloc.stop()
    assert message.startswith(f"{name} has {len(data):,} bytes that unpack to ")


def test_a_ranking_that_is_a_bomb_is_refused_too(tmp_path):
    (tmp_path / "r.parquet").write_bytes(BOMBS["runs.parquet"]())
    with pytest.raises(DataError, match="that unpack to"):
        read_ranking(tmp_path / "r.parquet")


def test_tables_of_few_values_are_read(tmp_path):
    (tmp_path / "t.parquet").write_bytes(
        parquet([pa.record_batch({"a": np.zeros(MILLION), "b": np.ones(MILLION)})])
    )
    assert read_frame(tmp_path / "t.parquet").n == MILLION


def test_the_memory_of_the_machine_is_a_limit():
    with pytest.raises(DataError, match="unpack"):
        check_unpacked_size(get_max_table_bytes() + 1, get_max_table_bytes(), "t.parquet")


@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_a_feather_file_is_read_batch_by_batch(compression, rng):
    table = pa.table(
        {"a": rng.normal(size=500), "t": list("pq") * 250, "d": pa.array(["u"] * 500).dictionary_encode()}
    )
    data = feather(table.to_batches(max_chunksize=70), compression=compression)
    assert read_feather(data, "t.feather").equals(table)


def test_long_texts_are_refused_at_the_first_batch_that_is_too_large():
    texts = pa.record_batch({"t": ["x" * MILLION] * 100})
    data = feather([texts] * 9, compression="zstd")
    held, most = pa.total_allocated_bytes(), pa.default_memory_pool().max_memory()
    with pytest.raises(DataError, match=r"unpack to 0\.3 GB"):
        read_feather(data, "t.feather")
    assert pa.default_memory_pool().max_memory() <= max(most, held + 450 * MILLION)


def test_lists_are_told_without_being_read(tmp_path):
    pq.write_table(
        pa.table({"l": [["x"], [], None], "a.b": [3, 1, 2], "t": ["p", None, "q"]}), tmp_path / "t.parquet"
    )
    frame = read_frame(tmp_path / "t.parquet")
    assert [column.description for column in frame.columns.values()] == [
        "lists or records",
        "numbers",
        "text",
    ]
    assert frame.columns["a.b"].numbers.tolist() == [3, 1, 2]


def test_a_header_of_a_million_delimiters(refused_file):
    message = refused_file("t.csv", "," * MILLION + "\n1\n")
    assert message == "t.csv has 1000001 columns, more than 100000: remove some of them"


def test_a_device_is_no_table(refused, tmp_path):
    (tmp_path / "t.csv").symlink_to("/dev/zero")
    assert (
        refused(tmp_path / "t.csv", folder=tmp_path) == "t.csv is a device, which may never end: name a file"
    )
