from __future__ import annotations

import shutil
import tempfile
import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.data import read_dataset
from symscreen.data.large_tables import parquet_files
from symscreen.data.large_tables.canonical_rows import sort_rows
from symscreen.data.large_tables.column_store import ColumnStore
from symscreen.data.large_tables.large_table import read_large_table
from symscreen.data.large_tables.parquet_files import measure_table
from symscreen.errors import DataError
from symscreen.targets.base import sort_canonically

FEW = st.integers(0, 3).map(float)


def write(frame: pd.DataFrame, folder: Path, *, cuts: tuple[int, ...] = (), group: int = 1000) -> Path:
    """Write a frame as a folder of files, cut at some rows, with row groups of a size."""
    folder.mkdir()
    edges = (0, *cuts, len(frame))
    for place, (start, stop) in enumerate(pairwise(edges)):
        part = frame.iloc[start:stop]
        part.to_parquet(folder / f"{place}.parquet", row_group_size=group, index=False)
    return folder


def read(path: Path, **options):
    size = measure_table(path)
    assert size is not None
    return read_large_table(size, **options)


@pytest.fixture
def frame(rng) -> pd.DataFrame:
    """A table with ties of the target and of whole rows, gaps, a text, an identifier and negative zeros."""
    data = pd.DataFrame(rng.integers(-2, 3, (400, 3)) * 1.0, columns=["b", "a", "c"])
    data["c"] = np.float32(data.c * 0.1)
    data["flag"] = data.a > 0
    data["word"] = "w"
    data["row_id"] = np.arange(400)
    data["y"] = np.round(data.a + data.b)
    data.loc[[3, 99], "b"] = np.nan
    data.loc[data.a == 0, "a"] = -0.0
    return data


def test_a_table_on_disk_is_the_dataset_in_memory(frame, tmp_path):
    table = read(write(frame, tmp_path / "t", cuts=(100, 101), group=17))
    dataset = read_dataset(tmp_path / "t")
    assert (table.digest, table.n_dropped) == (dataset.digest, dataset.n_dropped)
    assert table.notices == dataset.notices
    assert table.names == dataset.names
    assert table.target.data.tolist() == dataset.target.data.tolist()
    for name, column in dataset.columns_by_name.items():
        assert table.store[name].tobytes() == column.tobytes()


def test_rows_files_and_row_groups_have_no_effect(frame, tmp_path):
    one = read(write(frame, tmp_path / "one"))
    shuffled = frame.sample(frac=1, random_state=1)[frame.columns[::-1]]
    other = read(write(shuffled, tmp_path / "other", cuts=(7, 300), group=5), target="y")
    assert one.digest == other.digest
    samples = [
        {name: each.numbers for name, each in t.draw_sample(50, 3).columns.items()} for t in (one, other)
    ]
    assert {name: values.tobytes() for name, values in samples[0].items()} == {
        name: values.tobytes() for name, values in samples[1].items()
    }


def test_a_sample_has_a_row_of_each_part_and_the_extremes(rng, tmp_path):
    data = pd.DataFrame(rng.normal(size=(1000, 2)), columns=["a", "b"])
    data["y"] = rng.normal(size=1000)
    table = read(write(data, tmp_path / "t"))
    columns = table.draw_sample(100, 0).columns
    places = np.searchsorted(np.sort(data.y), columns["y"].numbers)
    assert set(range(100)) == set((places // 10).tolist())
    assert 100 <= len(places) <= 104
    for name in "ab":
        assert columns[name].numbers.min() == data[name].min()
        assert columns[name].numbers.max() == data[name].max()
    assert table.draw_sample(1000, 0).n == 1000
    assert (table.draw_sample(100, 1).columns["y"].numbers[:50] != columns["y"].numbers[:50]).any()


@settings(max_examples=30, deadline=None)
@given(rows=st.lists(st.tuples(FEW, FEW, FEW), min_size=1, max_size=12))
def test_ties_are_broken_as_in_memory(rows):
    y, a, b = np.array(rows).T
    found = sort_rows({"a": a, "b": b}, ["a", "b"], y, np.arange(len(y)))
    assert found.tolist() == sort_canonically([a, b], y).tolist()


def test_an_input_that_is_named_may_be_an_identifier(frame, tmp_path):
    folder = write(frame, tmp_path / "t")
    table, dataset = (each(folder, inputs=["row_id", "a"]) for each in (read, read_dataset))
    assert table.names == dataset.names == ("a", "row_id")
    assert table.digest == dataset.digest


@pytest.mark.parametrize("missing", ["refuse", None])
def test_gaps_are_refused_as_in_memory(frame, tmp_path, missing):
    frame.loc[:60, "c"] = np.nan
    folder = write(frame, tmp_path / "t", cuts=(50,))
    with pytest.raises(DataError) as on_disk:
        read(folder, missing=missing)
    with pytest.raises(DataError) as in_memory:
        read_dataset(folder, missing=missing)
    assert str(on_disk.value) == str(in_memory.value)


def test_integers_that_are_not_exact_are_left_out(rng, tmp_path):
    data = pd.DataFrame({"big": 2**60 + np.arange(50), "a": rng.normal(size=50), "y": rng.normal(size=50)})
    table = read(write(data, tmp_path / "t", group=20))
    assert table.names == ("a",)
    assert "equal in double precision" in table.notices[0]


def test_files_of_other_columns_are_refused(frame, tmp_path):
    folder = write(frame, tmp_path / "t")
    frame.rename(columns={"c": "d"}).to_parquet(folder / "1.parquet")
    with pytest.raises(DataError, match=r"1\.parquet has no column 'c', which .*0\.parquet has"):
        read(folder)
    frame.assign(c="text").to_parquet(folder / "1.parquet")
    with pytest.raises(DataError, match=r"1\.parquet has no numbers in the column 'c'"):
        read(folder)


def test_a_damaged_file_is_refused_and_leaves_nothing_behind(frame, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = write(frame, tmp_path / "t")
    content = bytearray((folder / "0.parquet").read_bytes())
    content[100:4000] = b"\xff" * 3900
    (folder / "1.parquet").write_bytes(content)
    with pytest.raises(DataError, match="truncated or damaged Parquet file"):
        read(folder)
    assert [each.name for each in tmp_path.iterdir()] == ["t"]


def test_a_disk_that_is_too_small_is_named(frame, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_files.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9, 8, 1000))
    with pytest.raises(DataError, match="set TMPDIR to a larger disk"):
        read(write(frame, tmp_path / "t"))


@pytest.mark.parametrize(
    "source", ["table.csv", "text.parquet", "absent.parquet", pd.DataFrame({"a": [1]}), "-"]
)
def test_other_sources_have_no_size(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("table.csv", "text.parquet"):
        Path(name).write_text("a,b\n1,2\n")
    assert measure_table(source) is None


def test_memory_is_that_of_a_few_columns(rng, tmp_path):
    data = pd.DataFrame(rng.normal(size=(50_000, 60)), columns=[f"x{place}" for place in range(60)])
    data["y"] = np.round(data.x0, 1)  # ties, whose order takes the most memory
    folder = write(data, tmp_path / "t", group=10_000)
    n_bytes = data.size * 8
    del data
    tracemalloc.start()
    try:
        table = read(folder)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 72 * table.target.n + 2_000_000 < n_bytes / 4


def test_a_store_reads_parts_and_removes_its_folder():
    store = ColumnStore()
    for part in ([1.0, 2.0], [3.0]):
        store.append("x", np.array(part))
    store.append("y", np.array([4.0]))
    assert dict(store.select(["y"])).keys() == {"y"}
    assert store.read("x", 1, 3).tolist() == [2.0, 3.0]
    store.remove("x")
    store.append("x", np.array([5.0]))
    assert {name: values.tolist() for name, values in store.items()} == {"x": [5.0], "y": [4.0]}
    folder = store._folder
    store.close()
    assert not folder.exists()
