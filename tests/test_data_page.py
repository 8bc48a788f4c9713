"""What docs/data.md shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

from symscreen.data.readers.compression import COMPRESSED_SUFFIXES
from symscreen.data.readers.file_formats import TABLE_SUFFIXES

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "data.md").read_text()


def test_the_table_of_sources_names_suffixes_that_are_read():
    table = PAGE.split("## Sources")[1].split("Excel, DuckDB and")[0]
    named = set(re.findall(r"\.[a-z]+\d?\b", table)) - {".duckdb", ".md"}
    assert named <= {*TABLE_SUFFIXES, *COMPRESSED_SUFFIXES}
    assert {*COMPRESSED_SUFFIXES} <= named
    assert {*TABLE_SUFFIXES} - named == {".data", ".tab", ".asc"}
