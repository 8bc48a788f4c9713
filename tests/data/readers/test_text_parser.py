import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from symscreen.data.arrow_columns import convert_arrow_column
from symscreen.data.column_types import make_text_column
from symscreen.data.python_columns import convert_python_column
from symscreen.data.readers.cell_types import NULL_TEXTS
from symscreen.data.readers.text_parser import DamagedRowError, TextFormat, parse_text, read_plain_csv
from symscreen.data.text_cells import TextCells

REPEATABLE = settings(deadline=None, derandomize=True, max_examples=150)

# Cells by what they may be; a column has cells of one or two of these rows.
CELLS = [
    ["1", "-4", "007", " 5", "6 ", "0"],
    ["1.5", "-2.25", "3e5", ".5", "7.", " 1.5\t", "1E-3", "+2.5", "0.1"],
    ["9007199254740993", "9007199254740992", "9223372036854775808", "-9223372036854775809", "1e300"],
    ["inf", "-inf", "Infinity", "NAN", "-NAN"],
    ["true", "False", "TRUE", "tRue", "1", "0"],
    ["0x1F", "0X0a", "0x", "7"],
    ["2021-01-02", "1999-02-28", "2021-02-30", "2021-1-2", "2021-01-02 "],
    ["2021-01-02 03:04:05", "2021-01-02T03:04", "2021-01-02", "1999-12-31 23", "2021-01-02 24:00:00"],
    [
        "2021-01-02 03:04:05.123",
        "2021-01-02T03:04:05.123456789",
        "1600-01-01 00:00:00",
        "2021-01-02 03:04:05",
    ],
    ["2021-01-02 03:04:05Z", "2021-01-02 03:04:05+01:00", "2021-01-02T03:04-0530", "2021-01-02 03:04:05"],
    ["12:30", "23:59:59", " 01:02", "24:00", "1:30"],
    ["a", "x\u00e9", "=1+1", " lead", "trail ", '5" pipe', '"a,b"', '"x""y"', '"1"'],
    ["", "NA", '"NA"', " NA", "nan", "<NA>"],
]


@st.composite
def texts_of_columns(draw):
    """Draw a text of one to three columns, each with cells of one kind and perhaps some of another."""
    n, width = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    columns = []
    for _ in range(width):
        kind, other = draw(st.sampled_from(CELLS)), draw(st.sampled_from(CELLS))
        cells = st.sampled_from(kind * 4 + other) if draw(st.booleans()) else st.sampled_from(kind)
        columns.append(draw(st.lists(cells, min_size=n, max_size=n)))
    names = ",".join(f"c{j}" for j in range(width))
    return names + "\n" + "\n".join(",".join(row) for row in zip(*columns, strict=True)) + "\n"


def parse_with_arrow(text):
    return pa.csv.read_csv(
        io.BytesIO(text.encode()),
        parse_options=pa.csv.ParseOptions(newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(strings_can_be_null=True, null_values=list(NULL_TEXTS)),
    )


@REPEATABLE
@given(texts_of_columns())
@example("a\n-1\n18446744073709551615\nNA\n")
@example("a,b\n1,\n\n2,\n")
def test_columns_have_the_types_that_arrow_gives_them(text):
    parsed, table = parse_text(text.encode(), TextFormat(",")), parse_with_arrow(text)
    assert parsed.names == table.column_names
    assert parsed.n == table.num_rows
    for cells, arrow_cells in zip(parsed.columns, table.columns, strict=True):
        expected = convert_arrow_column(arrow_cells)
        found = make_text_column(cells) if isinstance(cells, TextCells) else convert_python_column(cells)
        assert found.description == expected.description
        np.testing.assert_array_equal(found.numbers, expected.numbers)
        assert (found.texts and found.texts.to_list()) == (expected.texts and expected.texts.to_list())
        assert (found.times is None) == (expected.times is None)
        if found.times is not None and not found.times.is_time_of_day:
            np.testing.assert_array_equal(found.times.values, expected.times.values)


@REPEATABLE
@given(st.lists(st.floats(allow_nan=False) | st.floats(-1, 1, width=32), min_size=1))
def test_numbers_are_read_to_the_last_bit(numbers):
    text = "x\n" + "\n".join(map(repr, numbers))
    (column,) = parse_text(text.encode(), TextFormat(",")).columns
    np.testing.assert_array_equal(np.array(column, np.float64), numbers)
    np.testing.assert_array_equal(read_plain_csv(text.encode(), [])["x"], numbers)


@pytest.mark.parametrize(
    "text", ["a,b\n1,\n2\n", "a,b\n1,2\n1,2,3\n", 'a,b\n"1",\n"2"\n', "a,b\n1\n", "a\n1,2\n"]
)
def test_a_row_of_another_width_is_refused_with_its_line(text):
    with pytest.raises(
        DamagedRowError, match=r"line \d: expected \d fields? as in the header, found \d|fields"
    ):
        parse_text(text.encode(), TextFormat(","))


def test_blank_lines_are_left_out_and_cells_of_blanks_are_not():
    parsed = parse_text(b"a\n1\n\n\n2\n", TextFormat(","))
    assert (parsed.n, parsed.columns[0].tolist()) == (2, [1, 2])
    assert parse_text(b"a\n  x\n   \n", TextFormat(",")).columns[0].to_list() == ["  x", "   "]


def test_a_plain_csv_has_its_texts_and_gaps():
    written = pd.DataFrame(
        {"name": ["1", "NA", "a\r\nb", ""], "flag": [True, None, False, None], "n": [1, 2, 3, 4]}
    )
    read = read_plain_csv(written.to_csv(index=False).encode(), ["name"])
    assert read["name"].tolist() == ["1", "NA", "a\r\nb", ""]
    assert [None if pd.isna(cell) else cell for cell in read["flag"]] == [True, None, False, None]
    assert read["n"].tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="differ in their number of fields"):
        read_plain_csv(b"a,b\n1,2\n3\n", [])


def test_a_null_character_is_refused():
    with pytest.raises(ValueError, match="NUL"):
        parse_text(b"a\n1\0\n", TextFormat(","))
