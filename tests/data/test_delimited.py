import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.data.readers.delimited_text import read_delimited
from symscreen.data.text_cells import TextCells
from symscreen.errors import DataError

REPEATABLE = settings(deadline=None, derandomize=True)


def read_table(text, source="data.csv", **options):
    return read_delimited(text if isinstance(text, bytes) else text.encode(), source, **options)


def list_cells(column):
    """List the cells of a column, None where missing."""
    cells = column.to_list() if isinstance(column, TextCells) else column.tolist()
    return [None if isinstance(cell, float) and math.isnan(cell) else cell for cell in cells]


def rows(text, **options):
    table = read_table(text, **options)
    cells = zip(*map(list_cells, table.columns), strict=True)
    return [dict(zip(table.names, row, strict=True)) for row in cells]


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2.5\n",
        "a,b\n1,2.5",
        "\ufeffa,b\n1,2.5\n",
        "a,b\r\n1,2.5\r\n",
        "a,b\r1,2.5\r",
        "\n\na,b\n\n1,2.5\n\n",
        "a;b\n1;2.5\n",
        "a\tb\n1\t2.5\n",
        '"a";"b"\n"1";"2.5"\n',
        "a,b\n1, 2.5\n",
        "a,b\n+1,+2.5\n",
    ],
)
def test_spellings_of_one_table(text):
    assert rows(text) == [{"a": 1, "b": 2.5}]


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("a;b,c", ["a;b", "c"]),
        ('"a,b";c', ["a,b", "c"]),
        ('a;"b,c"', ["a", "b,c"]),
        ('"a;b"\tc', ["a;b", "c"]),
        ('"a ""x, y""";c', ['a "x, y"', "c"]),
        ('"a\n,b";c', ["a\n,b", "c"]),
        ('5" pipe;c', ['5" pipe', "c"]),
        ("a;b;c\td", ["a", "b", "c\td"]),
        ("a", ["a"]),
    ],
)
def test_delimiter_is_what_the_header_has_outside_quotes(header, names):
    assert read_table(header).names == names


def test_a_tsv_takes_tabs_only():
    assert rows("a,b\tc\n1,2,5\t3\n", delimiter="\t") == [{"a,b": "1,2,5", "c": 3}]


@pytest.mark.parametrize("null", ["", '""', "NA", "NaN", "nan", "NULL", "null", "N/A", "None", "<NA>"])
def test_missing_values(null):
    assert rows(f"a,b\n1,2\n{null},3\n")[1]["a"] is None


def test_types_follow_all_rows_however_late():
    text = "a,b\n" + "1,1\n" * 300_000 + "1.5,x\n"  # past the usual block of one megabyte
    table = read_table(text)
    assert table.columns[0][-1] == 1.5
    assert table.columns[1].distinct == ["1", "x"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n", "line 3: expected 2 fields as in the header, found 1; correct this"),
        ("a,b\n1,2\n3,4,5\n", "line 3: expected 2 fields as in the header, found 3; correct this"),
        ('"a\nb",c\n\n1,"2\n3"\n4\n', "line 6: expected 2 fields as in the header, found 1; correct this"),
        ("a,b\n1,2\n  \n", "line 3: expected 2 fields as in the header, found 1; correct this"),
        ('a,b\n1,"2\n3,4\n5,6\n', "line 2: a quote is opened and never closed"),
        ("a,b\n1,2\n,\n3\n", "line 4: expected 2 fields as in the header, found 1; correct this"),
        ('a,b\n"1",2\n"3"\n', "line 3: expected 2 fields as in the header, found 1; correct this"),
        ('a,b\n5" pipe,2\n"3', "line 3: a quote is opened and never closed"),
        ('a,"b\n1,2\n', "line 1: a quote is opened and never closed"),
        ('a,b\n1,2\n3,"4', "line 3: a quote is opened and never closed"),
        ('a,b\n"x"z,2\n"3,4\n', "line 2: a closing quote is followed by more text"),
    ],
)
def test_damage_names_its_line(text, message):
    with pytest.raises(DataError) as caught:
        rows(text)
    assert str(caught.value).startswith(f"data.csv, {message}")
    assert "\n" not in str(caught.value)


def test_a_lone_quote_inside_a_field_is_text():
    assert rows('a,b\n5" pipe,1\n') == [{"a": '5" pipe', "b": 1}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "data.csv is empty: a header line and rows are needed"),
        ("\r\n\n ", "data.csv is empty: a header line and rows are needed"),
        ("\ufeff", "data.csv is empty: a header line and rows are needed"),
        (
            "a,温\n1,2\n".encode("shift-jis"),
            "data.csv is not UTF-8 text: line 1 has the byte 0x89; save it as UTF-8",
        ),
        (b"a,b\n1,2\n3,\x81\n", "data.csv is not UTF-8 text: line 3 has the byte 0x81; save it as UTF-8"),
    ],
)
def test_text_that_is_no_table(text, message):
    with pytest.raises(DataError) as caught:
        rows(text)
    assert str(caught.value) == message


@REPEATABLE
@given(st.text('a1,;"\t\n\r .\ufeff\0é') | st.binary())
def test_any_text_is_read_or_refused_in_one_line(text):
    message = ""
    try:
        rows(text)
    except DataError as error:
        message = str(error)
    assert len(message.splitlines()) <= 1
