import csv
import io
import math
import os
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from symscreen.data import read_dataset
from symscreen.data.readers import file_bytes
from symscreen.data.written_numbers import parse_written_number
from symscreen.errors import DataError, InputError

REPEATABLE = settings(deadline=None, derandomize=True)

COLUMNS = {"b": [1.5, 2.5, 0.1, 7.0, 1e-300], "a": [1, 2, 3, 4, 5], "y": [5, 1, 4, 2, 3]}
CSV = "b,a,y\n" + "".join(f"{b},{a},{y}\n" for b, a, y in zip(*COLUMNS.values(), strict=True))
AWKWARD = [
    "",
    " ",
    "a b",
    "λ",
    "`x`",
    "two\nlines",
    "a\r\nb",
    "=1+1",
    "lambda",
    "N",
    'a"b',
    "a,b",
    "a;b",
    "\t",
    "\ufeff",
]


def parquet_bytes():
    sink = io.BytesIO()
    pa.parquet.write_table(pa.table(COLUMNS), sink)
    return sink.getvalue()


def write(path):
    table = pa.table(COLUMNS)
    match path.suffix.lower():
        case ".csv":
            path.write_text(CSV)
        case ".tsv":
            path.write_text(CSV.replace(",", "\t"))
        case ".parquet":
            pa.parquet.write_table(table, path)
        case _:
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table)


@pytest.mark.parametrize(
    "name", ["t.csv", "t.tsv", "t.parquet", "t.feather", "t.arrow", "T.CSV", "T.Parquet"]
)
@pytest.mark.parametrize("spell", [str, Path])
def test_every_format_gives_the_same_table(tmp_path, name, spell):
    path = tmp_path / name
    write(path)
    table = read_dataset(spell(path))
    assert table.names == ("a", "b")
    assert table.digest == read_dataset(COLUMNS).digest


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.parquet", "t.feather"])
def test_standard_input_is_recognised(tmp_path, monkeypatch, name):
    path = tmp_path / name
    write(path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert read_dataset("-").digest == read_dataset(COLUMNS).digest


def test_standard_input_is_named_in_errors(monkeypatch, refused):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert refused("-") == "standard input is empty: a header and rows are needed"


def names_and_values():
    name = st.sampled_from(AWKWARD) | st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    )
    value = st.floats(-4e307, 4e307)

    def columns(names):
        return st.fixed_dictionaries({each: st.lists(value, min_size=5, max_size=5) for each in names})

    return st.lists(name, min_size=2, max_size=5, unique=True).flatmap(columns)


def as_given(path, columns):
    """Assert that a file gives the very names and values that were written into it."""
    target, *inputs = columns
    assume(len(set(columns[target])) > 1)
    read, meant = (read_dataset(source, target=target, inputs=inputs) for source in (path, columns))
    assert read.names == meant.names == tuple(sorted(inputs))
    assert read.target.name == target
    assert read.digest == meant.digest


def strip_names(columns):
    """Remove blanks around names, unless one would repeat or names stand in quotes."""
    sink = io.StringIO()
    csv.writer(sink).writerow(columns)
    names = [name.strip(" \t") or name for name in columns]
    if '"' in sink.getvalue() or len(set(names)) < len(names):
        return columns
    return dict(zip(names, columns.values(), strict=True))


@REPEATABLE
@given(names_and_values(), st.sampled_from(["csv,", "csv;", "csv\t", "tsv\t"]))
def test_any_names_and_values_survive_csv(tmp_path_factory, columns, kind):
    assume(any(name.strip() and parse_written_number(name) is None for name in columns))  # a header, not data
    assume(not next(iter(columns)).startswith("\ufeff"))  # at the start of a text it is a mark, not a letter
    path = tmp_path_factory.getbasetemp() / f"names.{kind[:-1]}"
    # a comma in the header is a delimiter unless it is quoted
    quoting = csv.QUOTE_ALL if kind in {"csv;", "csv\t"} else csv.QUOTE_MINIMAL
    with path.open("w", encoding="utf-8-sig", newline="") as sink:
        writer = csv.writer(sink, delimiter=kind[-1], quoting=quoting)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    as_given(path, strip_names(columns) if quoting == csv.QUOTE_MINIMAL else columns)


@pytest.mark.slow
@REPEATABLE
@given(names_and_values(), st.sampled_from(["parquet", "feather"]))
def test_any_names_and_values_survive_binary_formats(tmp_path_factory, columns, ending):
    path = tmp_path_factory.getbasetemp() / f"names.{ending}"
    if ending == "parquet":
        pa.parquet.write_table(pa.table(columns), path)
    else:
        with pa.ipc.new_file(path, pa.table(columns).schema) as writer:
            writer.write_table(pa.table(columns))
    as_given(path, columns)


def test_the_index_that_pandas_writes_is_left_out(tmp_path):
    frame = pd.DataFrame(COLUMNS, index=[3, 3, 1, 7, 2])
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_dataset(tmp_path / "t.parquet", target="y")
    assert table.names == ("a", "b")
    assert table.notices == ("left out: '__index_level_0__' (an identifier)",)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "", "t.csv is empty: a header and rows are needed"),
        ("t.parquet", "", "t.parquet is empty: a header and rows are needed"),
        ("t.csv", "a,y\n", "t.csv has a header but no rows: at least 5 are needed"),
        ("t.csv", "a,y", "t.csv has a header but no rows: at least 5 are needed"),
        ("t.csv", parquet_bytes(), "t.csv is not CSV but Parquet: rename it to end in .parquet"),
        (
            "t.feather",
            parquet_bytes(),
            "t.feather is not Feather but Parquet: rename it to end in .parquet",
        ),
        ("t.parquet", CSV, "t.parquet is not Parquet but plain text: convert it, or change its suffix"),
        ("t.csv", bytes(range(256)), "t.csv is not CSV but binary data: save it as CSV in UTF-8"),
        ("t.tsv", CSV.encode("utf-16-le"), "t.tsv is not TSV but binary data: save it as CSV in UTF-8"),
        ("t.csv", b"\xff\xfea", "t.csv is damaged UTF-16 text: save it as UTF-8"),
        (
            "t.csv",
            b"PK\x03\x04\x14\0",
            "t.csv is not CSV but a zip archive or an Excel workbook: rename it to end in .zip or .xlsx",
        ),
        (
            "t.csv",
            "a,a,b,b,y\n1,2,3,4,5\n",
            "t.csv has more than one column named 'a', 'b': rename or remove the others",
        ),
        (
            "t.xlsx",
            b"PK\x03\x04",
            (
                "t.xlsx is a truncated or damaged workbook (File is not a zip file): save it again, or save "
                "it as CSV"
            ),
        ),
        (
            "plain",
            CSV,
            (
                "plain: the suffix '' is unknown: "
                "rename it or convert it to .csv, .tsv, .txt, .parquet, .feather, .json, .xlsx"
            ),
        ),
        (
            "t.csv",
            CSV[: CSV.rindex(",")],
            (
                "t.csv, line 6: expected 3 fields as in the header, found 2; "
                "correct this line (a quote or a delimiter may be missing, or the file is truncated)"
            ),
        ),
    ],
)
def test_files_that_are_refused(refused_file, name, content, message):
    assert refused_file(name, content) == message


def test_parquet_cut_short_anywhere(tmp_path):
    whole = parquet_bytes()
    for length in range(4, len(whole), math.ceil(len(whole) / 60)):
        (tmp_path / "cut.parquet").write_bytes(whole[:length])
        with pytest.raises(
            DataError, match=r"cut.parquet is a truncated or damaged Parquet file \(.+\): write"
        ) as caught:
            read_dataset(tmp_path / "cut.parquet")
        assert len(str(caught.value).splitlines()) == 1


def test_parquet_with_duplicate_names(tmp_path, refused):
    table = pa.Table.from_arrays([pa.array(range(6))] * 3, names=["a", "a", "y"])
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    message = refused(tmp_path / "t.parquet", folder=tmp_path)
    assert message == "t.parquet has more than one column named 'a': rename or remove the others"


def test_no_file(tmp_path, refused):
    message = refused(tmp_path / "absent.csv", folder=tmp_path)
    assert message == "absent.csv: the file does not exist; check its name and its folder"


def test_a_folder(tmp_path, refused):
    (tmp_path / "t.csv").mkdir()
    message = refused(tmp_path / "t.csv", folder=tmp_path)
    assert message == "t.csv is a folder without tables: name a file (.csv, .parquet, .xlsx, …)"


def test_no_permission(tmp_path, refused, monkeypatch):
    def denied(*_):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "t.csv").write_text(CSV)
    monkeypatch.setattr(Path, "open", denied)
    message = refused(tmp_path / "t.csv", folder=tmp_path)
    assert message == "t.csv cannot be read (Permission denied): check the file and its permissions"


@pytest.mark.parametrize("change", ["longer", "other"])
def test_a_file_that_is_written_while_it_is_read(tmp_path, refused, monkeypatch, change):
    path = tmp_path / "t.csv"
    path.write_text(CSV)
    own = file_bytes.read_bounded

    def read(file, size):
        content = own(file, size)
        path.write_text(CSV + "1,2,3\n" * (change == "longer"))
        if change == "other":
            os.utime(path, ns=(1, 1))
        return content

    monkeypatch.setattr(file_bytes, "read_bounded", read)
    message = refused(path, folder=tmp_path)
    assert message == "t.csv was written while it was read: wait until it is complete, or read a copy"


def test_odd_paths_stay_on_one_line(refused):
    assert refused("a\nb.csv") == r"a\nb.csv: the file does not exist; check its name and its folder"
    assert refused("a\0b.csv") == r"a\x00b.csv: the file does not exist; check its name and its folder"


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_damage_is_read_or_refused_but_never_crashes(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    table = pa.table(COLUMNS | {"text": list("pqrst")})
    if ending == "parquet":
        pa.parquet.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    whole = path.read_bytes()
    for position in range(0, len(whole), 7):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :])
        message = ""
        try:
            read_dataset(path)
        except InputError as error:
            message = str(error)
        assert len(message.splitlines()) <= 1
