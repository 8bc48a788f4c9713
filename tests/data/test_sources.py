"""One table in many kinds of sources: each is read right, with a notice for what is not literal, or refused.

The table has two inputs, a column of words and a target. `SOURCES` lists what is read and `REFUSED` what is
refused, in one line that says what to do.
"""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import io
import json
import lzma
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.requirements import require

from symscreen.data import read_dataset
from symscreen.errors import DataError, InputError

REFERENCE = Path(__file__).parent.parent / "reference"
N = 12
T = [round(20.25 + 1.75 * i, 2) for i in range(N)]
P = [1013, 1250, 980, 1499, 1100, 905, 1321, 1017, 1180, 995, 1402, 1066]
SITE = ["north", "south", "north", "east"] * 3
TARGET = [round(0.5 * t + p / 100, 3) for t, p in zip(T, P, strict=True)]
TABLE = {"T": T, "p": P, "site": SITE, "target": TARGET}
NAMES = list(TABLE)
ROWS = list(zip(*TABLE.values(), strict=True))


def write_text(delimiter=",", names=NAMES, rows=ROWS, *, comma=False):
    def cell(value):
        return str(value).replace(".", ",") if comma and not isinstance(value, str) else str(value)

    lines = [delimiter.join(names)] if names else []
    return "\n".join([*lines, *(delimiter.join(map(cell, row)) for row in rows)]) + "\n"


CSV = write_text()
FRAME = pd.DataFrame(TABLE)


def with_column(name, cells):
    """Write the table as CSV with other texts in a column, all of them quoted."""
    columns = {**TABLE, name: cells}
    rows = zip(*columns.values(), strict=True)
    return write_text(rows=[[f'"{cell}"' if isinstance(cell, str) else cell for cell in row] for row in rows])


def text(name, content):
    def make(folder):
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return folder / name

    return make


def binary(name, write):
    def make(folder):
        write(folder / name)
        return folder / name

    return make


def write_parquet(path, table=None):
    pq.write_table(pa.table(TABLE) if table is None else table, path)


def write_feather(path):
    with pa.ipc.new_file(path, pa.table(TABLE).schema) as writer:
        writer.write_table(pa.table(TABLE))


def write_zip(*names):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name in names:
            file.writestr(name, CSV)
    return archive.getvalue()


def write_workbook(path, rows=None, sheets=()):
    book = require("openpyxl").Workbook()
    book.active.title = "data"
    for row in [NAMES, *ROWS] if rows is None else rows:
        book.active.append(list(row))
    for title, content in sheets:
        sheet = book.create_sheet(title)
        for row in content:
            sheet.append(list(row))
    book.save(path)


def write_folder(folder, suffix, parts=3):
    folder.mkdir()
    for part in range(parts):
        rows = slice(part * N // parts, (part + 1) * N // parts)
        path = folder / f"part-{part}{suffix}"
        if suffix == ".csv":
            path.write_text(write_text(rows=ROWS[rows]))
        else:
            write_parquet(path, pa.table({name: cells[rows] for name, cells in TABLE.items()}))
    (folder / "_SUCCESS").touch()


def make_folder(suffix, pattern=""):
    def make(folder):
        write_folder(folder / "parts", suffix)
        return f"{folder / 'parts'}/{pattern}" if pattern else folder / "parts"

    return make


def make_database(name, *, view=False):
    def make(folder):
        duckdb = require("duckdb")
        with duckdb.connect(str(folder / "lab.duckdb")) as connection:
            connection.register("frame", pa.table(TABLE))
            connection.execute('CREATE TABLE "my table" AS SELECT * FROM frame')
            if view:
                connection.execute('CREATE VIEW latest AS SELECT * FROM "my table"')
        return f"duckdb:{folder / 'lab.duckdb'}#{name}"

    return make


def copy_old_workbook(folder):
    require("calamine")
    shutil.copy(REFERENCE / "measurements.xls", folder / "t.xls")
    return folder / "t.xls"


def make_object(module, build):
    return lambda _: build(require(module))


def zstandard(content):
    return text("t.csv.zst", require("zstandard").ZstdCompressor().compress(content))


def sheet(reference):
    def make(folder):
        write_workbook(folder / "t.xlsx", rows=[["nothing"], ["here"]], sheets=[("raw", [NAMES, *ROWS])])
        return f"{folder / 't.xlsx'}#{reference}"

    return make


PERCENT = [f"{value} %" for value in T]
DOLLARS = [f"${value:,}" for value in P]
THOUSANDS = [f"{value:,}" for value in P]
SPACES = [f"{value:,}".replace(",", "\u00a0") for value in P]
GAP = 4  # the row of a missing value


def missing(token):
    return write_text(rows=[(*row[:1], token, *row[2:]) if i == GAP else row for i, row in enumerate(ROWS)])


def dated(write):
    days = [dt.datetime(2021, 11, 15, 6, tzinfo=dt.UTC) + dt.timedelta(days=9 * i) for i in range(N)]
    return write_text(
        names=["day", *NAMES], rows=[(write(day), *row) for day, row in zip(days, ROWS, strict=True)]
    )


# name: (what makes the source, what a notice must say; None for no notice about the reading)
SOURCES = {
    "csv": (text("t.csv", CSV), None),
    "upper-case suffix": (text("T.CSV", CSV), None),
    "byte order mark": (text("t.csv", "\ufeff" + CSV), None),
    "windows line ends": (text("t.csv", CSV.replace("\n", "\r\n")), None),
    "tsv": (text("t.tsv", write_text("\t")), None),
    "semicolons": (text("t.csv", write_text(";")), None),
    "vertical bars": (text("t.csv", write_text("|")), None),
    "txt with tabs": (text("t.txt", write_text("\t")), None),
    "dat with blanks": (text("t.dat", write_text("  ")), None),
    "txt in aligned columns": (text("t.txt", FRAME.to_string(index=False)), None),
    "data frame printed with its index": (text("t.txt", FRAME.to_string()), "names of the rows"),
    "R's write.table": (
        text("t.txt", FRAME.to_csv(sep=" ", quoting=0).replace(" T", "T", 1)),
        "names of the rows",
    ),
    "excel's first line sep=;": (text("t.csv", "sep=;\n" + write_text(";")), None),
    "pandas index": (text("t.csv", FRAME.to_csv()), None),
    "gz": (text("t.csv.gz", gzip.compress(CSV.encode())), None),
    "gz without .csv": (text("t.gz", gzip.compress(CSV.encode())), None),
    "bz2": (text("t.csv.bz2", bz2.compress(CSV.encode())), None),
    "xz": (text("t.tsv.xz", lzma.compress(write_text("\t").encode())), None),
    "zst": (zstandard(CSV.encode()), None),
    "zip": (text("t.zip", write_zip("t.csv")), None),
    "zip from a Mac": (text("t.csv.zip", write_zip("t.csv", "__MACOSX/._t.csv")), None),
    "gz of Parquet": (
        lambda folder: text("t.parquet.gz", gzip.compress(write_parquet_bytes(folder)))(folder),
        None,
    ),
    "parquet": (binary("t.parquet", write_parquet), None),
    "pq": (binary("t.pq", write_parquet), None),
    "parquet of pandas with an index": (
        binary("t.parquet", lambda path: FRAME.set_index(pd.Index(range(5, 5 + N))).to_parquet(path)),
        None,
    ),
    "feather": (binary("t.feather", write_feather), None),
    "ipc": (binary("t.ipc", write_feather), None),
    "json records": (text("t.json", FRAME.to_json(orient="records")), None),
    "json columns": (text("t.json", json.dumps(TABLE)), None),
    "json of pandas": (text("t.json", FRAME.to_json()), None),
    "json split": (text("t.json", FRAME.to_json(orient="split")), None),
    "ndjson": (text("t.ndjson", FRAME.to_json(orient="records", lines=True)), None),
    "jsonl": (text("t.jsonl", FRAME.to_json(orient="records", lines=True)), None),
    "xlsx": (binary("t.xlsx", write_workbook), None),
    "xlsx below empty rows": (
        binary(
            "t.xlsx", lambda path: write_workbook(path, [[], [], *([None, *row] for row in [NAMES, *ROWS])])
        ),
        None,
    ),
    "xlsx with two sheets": (
        binary("t.xlsx", lambda path: write_workbook(path, sheets=[("notes", [["made in May"]])])),
        "the sheet 'data' is read; name another as FILE#SHEET: 'notes'",
    ),
    "a sheet by name": (sheet("raw"), None),
    "xls": (copy_old_workbook, None),
    "xlsx with units": (
        binary("t.xlsx", lambda path: write_workbook(path, [NAMES, ["K", "hPa", None, "J"], *ROWS])),
        "read as units: 'K', 'hPa', 'J'",
    ),
    "xlsx without names": (binary("t.xlsx", lambda path: write_workbook(path, ROWS)), "x1 to x4"),
    "folder of Parquet": (make_folder(".parquet"), "3 files are read as one table"),
    "folder of CSV": (make_folder(".csv"), "3 files are read as one table"),
    "pattern of Parquet": (make_folder(".parquet", "part-*.parquet"), "3 files are read as one table"),
    "pattern of CSV": (make_folder(".csv", "part-?.csv"), "3 files are read as one table"),
    "duckdb table": (make_database("my table"), None),
    "duckdb view": (make_database("main.latest", view=True), None),
    "pandas": (lambda _: FRAME, None),
    "polars": (make_object("polars", lambda polars: polars.DataFrame(TABLE)), None),
    "lazy polars": (make_object("polars", lambda polars: polars.DataFrame(TABLE).lazy()), None),
    "arrow table": (lambda _: pa.table(TABLE), None),
    "arrow batch": (lambda _: pa.table(TABLE).to_batches()[0], None),
    "duckdb relation": (
        make_object("duckdb", lambda duckdb: duckdb.connect().from_arrow(pa.table(TABLE))),
        None,
    ),
    "dict": (lambda _: TABLE, None),
    "list of records": (lambda _: FRAME.to_dict("records"), None),
    "list of rows": (lambda _: ROWS, None),
    "decimal commas": (
        text("t.csv", write_text(";", comma=True)),
        "read with decimal commas: 'T' ('20,25' is 20.25)",
    ),
    "decimal commas and tabs": (text("t.txt", write_text("\t", comma=True)), "read with decimal commas"),
    "decimal commas in quotes": (
        text("t.csv", with_column("T", [str(value).replace(".", ",") for value in T])),
        "read with decimal commas: 'T' ('20,25' is 20.25)",
    ),
    "cp1252": (
        text("t.csv", CSV.replace("north", "Zürich").encode("cp1252")),
        "read as Windows-1252, because the text is not UTF-8; it has the letters 'ü'",
    ),
    "utf-16": (text("t.csv", CSV.encode("utf-16")), None),
    "utf-16, big end first": (text("t.csv", b"\xfe\xff" + CSV.encode("utf-16-be")), None),
    "comment lines": (
        text("t.csv", "# made by a machine\n# on a day\n" + CSV),
        "2 comment lines (#) are left out",
    ),
    "comment lines inside": (text("t.csv", "# a\n" + CSV.replace("\n25", "\n# a pause\n25")), "comment"),
    "names in a comment": (
        text("t.txt", "# " + write_text(" ")),
        "names of the columns are read from a comment",
    ),
    "units row": (text("t.csv", CSV.replace("\n", "\nK,hPa,,J\n", 1)), "read as units: 'K', 'hPa', 'J'"),
    "no names": (text("t.csv", write_text(names=())), "the first row ('20.25', '1013', 'north', …) is data"),
    "dollars": (text("t.csv", with_column("p", DOLLARS)), "read as numbers: 'p' ('$1,013' is 1013)"),
    "percent": (text("t.csv", with_column("T", PERCENT)), "read as numbers: 'T' ('20.25 %' is 20.25)"),
    "thousands": (text("t.csv", with_column("p", THOUSANDS)), "read as numbers: 'p' ('1,013' is 1013)"),
    "thousands with spaces": (text("t.csv", with_column("p", SPACES)), "read as numbers: 'p'"),
    "german thousands": (
        text("t.csv", write_text(";", comma=True).replace(";1013;", ";1.013,0;")),
        "read as numbers: 'p' ('1.013,0' is 1013)",
    ),
    "thousands in a frame": (
        lambda _: FRAME.assign(p=THOUSANDS),
        "read as numbers: 'p' ('1,013' is 1013)",
    ),
    "names with blanks": (
        text("t.csv", CSV.replace("T,p,site,target", "T, p, site, target")),
        "blanks around names are left out: 'p', 'site', 'target'",
    ),
}
MISSING = {
    "a hyphen": (missing("-"), "read as missing: '-' in 'p' (1 row)"),
    "a question mark": (missing("?"), "read as missing: '?' in 'p' (1 row)"),
    "n/a": (missing("n/a"), None),
    "n.a.": (missing("n.a."), "read as missing: 'n.a.' in 'p' (1 row)"),
    "nothing": (missing(""), None),
    "an error of Excel": (missing("#DIV/0!"), "read as missing: '#DIV/0!' in 'p' (1 row)"),
}
DATES = {
    "iso dates": (dated(lambda day: day.date().isoformat()), None),
    "dates and times": (dated(lambda day: f"{day:%Y-%m-%d %H:%M:%S}"), None),
    "german dates": (
        dated(lambda day: f"{day:%d.%m.%Y}"),
        "read as dates: 'day' ('15.11.2021' is 2021-11-15)",
    ),
    "american dates": (
        dated(lambda day: f"{day:%m/%d/%Y}"),
        "read as dates: 'day' ('11/15/2021' is 2021-11-15)",
    ),
}
# name: (what makes the source, the message)
REFUSED = {
    "pickle": (text("t.pkl", b"\x80\x04N."), "the suffix '.pkl' is not read: a pickle can run code"),
    "ods": (text("t.ods", b"PK\x03\x04"), "the suffix '.ods' is not read: save it as .xlsx or .csv"),
    "sqlite": (text("t.sqlite", b"SQLite"), "export a table of it as .csv"),
    "address": (
        lambda _: "https://example.com/d.csv",
        "is an address, and nothing is fetched from a network",
    ),
    "bucket": (lambda _: "s3://bucket/d.parquet", "download it (s3), and name the file"),
    "archive of two": (text("t.zip", write_zip("a.csv", "b.csv")), "is an archive of 2 files: unpack it"),
    "gzip called csv": (
        text("t.csv", gzip.compress(CSV.encode() + b"\0")),
        "is not CSV but a gzip archive: rename it to end in .csv.gz",
    ),
    "cut gzip": (text("t.csv.gz", gzip.compress(CSV.encode())[:-20]), "is a truncated or damaged .gz file"),
    "ragged row": (text("t.csv", CSV + "1,2\n"), "line 14: expected 4 fields as in the header, found 2"),
    "names twice": (text("t.csv", CSV.replace("T,p", "p,p")), "has more than one column named 'p'"),
    "japanese": (text("t.csv", CSV.replace("north", "北方").encode("shift-jis")), "is not UTF-8 text"),
    "russian": (text("t.csv", CSV.replace("north", "север").encode("cp1251")), "is not UTF-8 text"),
    "chinese": (text("t.csv", CSV.replace("north", "北方").encode("gbk")), "is not UTF-8 text"),
    "a damaged cell": (
        text("t.csv", missing("12O0")),
        (
            "the column 'p' is not read: 11 of 12 cells are numbers, but row 5 holds '12O0'; correct it, or "
            "leave"
        ),
    ),
    "thousands or decimals": (
        text(
            "t.csv",
            with_column("p", [f"{value / 1000:.3f}".replace(".", ",") for value in range(1001, 1013)])
            .replace(",", ";")
            .replace('"1;', '"1,')
            .replace(".", ""),
        ),
        "'1,001' may be a decimal number or have a separator of thousands, and nothing says which",
    ),
    "two currencies": (
        text("t.csv", with_column("p", [f"{'$' if i % 2 else '€'}{value}" for i, value in enumerate(P)])),
        "its numbers are written with different signs ('$', '€')",
    ),
    "a title above the names": (
        binary("t.xlsx", lambda path: write_workbook(path, [["Measurements", None], NAMES, *ROWS])),
        "the first row holds one cell alone, 'Measurements': remove what stands above the names",
    ),
    "no such sheet": (sheet("row"), "has no sheet 'row'; did you mean 'raw'?"),
    "no such table": (
        make_database("my tabel"),
        "there is no table or view 'my tabel'; did you mean 'my table'?",
    ),
    "SQL for a table": (make_database('x" ; DROP TABLE y'), "there is no table or view"),
    "no pattern": (lambda folder: f"{folder}/*.csv", "no file has a name like this"),
    "series": (lambda _: FRAME["T"], "a Series is one column, not a table"),
    "json that is no table": (
        text("t.json", '{"a": {"b": [1, {"c": 2}]}, "d": 3}'),
        "holds JSON that is not a table",
    ),
    "key twice": (text("t.json", '[{"a": 1, "a": 2}]'), "an object has the key 'a' twice"),
}


def write_parquet_bytes(folder):
    write_parquet(folder / "inner.parquet")
    return (folder / "inner.parquet").read_bytes()


def read(make, folder, **options):
    return read_dataset(make(folder), **options)


def list_reading_notices(dataset):
    usual = ("left out:", "dropped:", "target: the last", "dates as numbers:")
    return [notice for notice in dataset.notices if not notice.startswith(usual)]


def check_values(dataset, rows=range(N)):
    rows = list(rows)
    order = np.argsort(np.array(TARGET)[rows])
    names = dataset.names if set(dataset.names) >= {"T", "p"} else ("x1", "x2")
    inputs = dict(zip(("T", "p") if "T" in names else ("x1", "x2"), (T, P), strict=True))
    for name, values in inputs.items():
        assert dataset.columns_by_name[name].tolist() == np.array(values, float)[rows][order].tolist()
    assert dataset.numeric_target.data.tolist() == np.array(TARGET)[rows][order].tolist()


def check_notice(dataset, notice):
    if notice is None:
        assert list_reading_notices(dataset) == []
    else:
        assert any(notice in each for each in dataset.notices), dataset.notices


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_a_source_gives_the_table(tmp_path, name):
    make, notice = SOURCES[name]
    dataset = read(make, tmp_path)
    check_values(dataset)
    check_notice(dataset, notice)


@pytest.mark.parametrize("name", MISSING)
def test_a_text_for_a_missing_value_is_one(tmp_path, name):
    content, notice = MISSING[name]
    dataset = read(text("t.csv", content), tmp_path, missing="drop")
    check_values(dataset, (i for i in range(N) if i != GAP))
    check_notice(dataset, notice)


@pytest.mark.parametrize("name", DATES)
def test_dates_become_numbers(tmp_path, name):
    content, notice = DATES[name]
    dataset = read(text("t.csv", content), tmp_path)
    check_values(dataset)
    check_notice(dataset, notice)
    days = dataset.columns_by_name["day: days"]
    first = (dt.date(2021, 11, 15) - dt.date(2000, 1, 1)).days
    assert sorted(np.floor(days)) == [first + 9 * i for i in range(N)]
    assert {*dataset.names} == {"T", "p", "day: days", "day: day of year", "day: weekday"}
    assert sorted(dataset.columns_by_name["day: day of year"])[:2] == [8, 17]
    assert set(dataset.columns_by_name["day: weekday"]) == {1, 2, 3, 4, 5, 6, 7}


@pytest.mark.parametrize("name", REFUSED)
def test_a_source_is_refused_in_one_line(tmp_path, name):
    make, message = REFUSED[name]
    source = make(tmp_path)
    with pytest.raises(InputError) as caught:
        read_dataset(source)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 300


def test_at_least_56_sources_of_60_are_read():
    n_read = len(SOURCES) + len(MISSING) + len(DATES)
    assert n_read >= 56
    assert n_read + len(REFUSED) >= 60


def test_a_target_that_is_excluded_is_asked_for(tmp_path):
    with pytest.raises(
        DataError, match=r"exclude='target' leaves out the target: name another target=, or keep"
    ):
        read(text("t.csv", CSV), tmp_path, exclude=["target"])
    assert read(text("t.csv", CSV), tmp_path, exclude=["target"], target="T").target.name == "T"
