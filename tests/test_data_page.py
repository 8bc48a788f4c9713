"""What docs/data.md shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

from symscreen.data.readers.compression import COMPRESSED_SUFFIXES
from symscreen.data.readers.file_formats import TABLE_SUFFIXES

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "data.md").read_text()


def test_the_example_prints_a_notice_for_each_reading(tmp_path, monkeypatch, capsys):
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    exec(block, {})  # noqa: S102  # our own page
    assert capsys.readouterr().out.splitlines() == [
        "the row below the names is read as units: 'K', 'hPa'",
        "blanks around names are left out: 'p'",
        "read with decimal commas: 'T' ('20,25' is 20.25)",
        "read as numbers: 'p' ('1.013,5' is 1013.5)",
        "read as missing: '-' in 'p' (1 row)",
        "target: the last column, 'p'; choose another with target=",
        "dropped: 1 row of 6 with missing values (row 5; in 'p')",
    ]


def test_the_table_of_sources_names_suffixes_that_are_read():
    table = PAGE.split("## Sources")[1].split("Excel, DuckDB and")[0]
    named = set(re.findall(r"\.[a-z]+\d?\b", table)) - {".duckdb", ".md"}
    assert named <= {*TABLE_SUFFIXES, *COMPRESSED_SUFFIXES}
    assert {*COMPRESSED_SUFFIXES} <= named
    assert {*TABLE_SUFFIXES} - named == {".data", ".tab", ".asc"}
