"""Compressed files, workbooks and databases that stand for gigabytes are refused in time."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tracemalloc
import zipfile

import pytest
from helpers.requirements import require

from symscreen.data.decompressed_size import get_max_table_bytes
from symscreen.data.readers import compression, workbooks
from symscreen.data.readers.compression import COMPRESSED_SUFFIXES, unpack
from symscreen.errors import DataError

MEBIBYTE = 1 << 20


def write_zip(*contents):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for number, content in enumerate(contents):
            file.writestr(f"part{number}.csv", content)
    return archive.getvalue()


COMPRESS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zip": write_zip,
    ".zst": lambda content: require("zstandard").ZstdCompressor().compress(content),
}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", COMPRESSED_SUFFIXES)
def test_a_bomb_is_refused_while_it_is_unpacked(suffix, monkeypatch):
    data = COMPRESS[suffix](bytes(24 * MEBIBYTE))
    monkeypatch.setattr("symscreen.data.decompressed_size._ALWAYS_ALLOWED_BYTES", 2 * MEBIBYTE)
    tracemalloc.start()
    with pytest.raises(DataError, match="bytes that unpack to"):
        unpack(data, suffix, f"t.csv{suffix}")
    assert tracemalloc.get_traced_memory()[1] < 18 * MEBIBYTE
    tracemalloc.stop()


@pytest.mark.parametrize("suffix", COMPRESSED_SUFFIXES)
def test_damage_anywhere_is_refused_in_one_line(suffix):
    whole = COMPRESS[suffix](b"a,y\n" + b"1,2\n" * 50)
    for position in range(0, len(whole), 3):
        changed = whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :]
        for data in (changed, whole[:position]):
            message = ""
            try:
                unpack(data, suffix, f"t.csv{suffix}")
            except DataError as error:
                message = str(error)
            assert len(message.splitlines()) <= 1


def test_a_zip_archive_that_lies_about_its_sizes_is_damaged():
    data = write_zip(bytes(1000))
    lie = data.replace((1000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    assert lie != data
    with pytest.raises(DataError, match="truncated or damaged"):
        unpack(lie, ".zip", "t.zip")
    with pytest.raises((zipfile.BadZipFile, EOFError, OSError)):
        compression.check_archive_size(lie, "t.xlsx")


@pytest.mark.slow
def test_a_workbook_with_two_cells_far_apart_is_no_bomb(tmp_path):
    book = require("openpyxl").Workbook()
    book.active["A1"], book.active["XFD1048576"] = 1.0, 2.0
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(DataError, match="the first row holds one cell alone"):
        workbooks.read_workbook((tmp_path / "t.xlsx").read_bytes(), "t.xlsx", is_old=False)


def test_a_workbook_of_zeros_is_refused_before_it_is_parsed(monkeypatch):
    require("openpyxl")
    monkeypatch.setattr("symscreen.data.decompressed_size._ALWAYS_ALLOWED_BYTES", MEBIBYTE)
    with pytest.raises(DataError, match="bytes that unpack to"):
        workbooks.read_workbook(write_zip(bytes(8 * MEBIBYTE)), "t.xlsx", is_old=False)


def test_a_view_of_a_database_is_fetched_until_it_is_too_large(tmp_path, monkeypatch):
    duckdb = require("duckdb")
    from symscreen.data import read_frame

    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE VIEW endless AS SELECT range AS a FROM range(1000000000000)")
        connection.execute("CREATE VIEW other AS SELECT * FROM read_text('/etc/hostname')")
    monkeypatch.setattr("symscreen.data.readers.duckdb_tables.get_max_table_bytes", lambda: 64 * MEBIBYTE)
    assert get_max_table_bytes() > 64 * MEBIBYTE
    with pytest.raises(DataError, match=r"is larger than 0\.1 GB, a quarter of the memory"):
        read_frame(f"duckdb:{tmp_path / 'd.duckdb'}#endless")
    with pytest.raises(DataError, match="file system operations are disabled"):
        read_frame(f"duckdb:{tmp_path / 'd.duckdb'}#other")
