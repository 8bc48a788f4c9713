"""Numbers are read as they were written, whatever the notation, or not at all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.data.python_columns import convert_python_column
from symscreen.data.written_numbers import (
    convert_written_number,
    parse_written_number,
    read_written_numbers,
)

NUMBERS = st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=1)


def read(cells, mark=None, *, holds_text=True):
    columns, notices = read_written_numbers({"c": convert_python_column(cells)}, mark, holds_text=holds_text)
    return columns["c"], notices


def write_american(number):
    return f"{'-' if number < 0 else ''}${abs(number):,.2f}"


def write_german(number):
    return f"{number:,.2f} €".translate(str.maketrans(",.", ".,"))


def write_french(number):
    return f"{number:,.2f}".translate(str.maketrans(",.", "\u202f,"))


def write_swiss(number):
    return f"{number:,.2f}".replace(",", "'")


def write_bookkeeping(number):
    return f"({abs(number):,.2f})" if number < 0 else f"{number:,.2f}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "write", [write_american, write_german, write_french, write_swiss, write_bookkeeping]
)
@given(NUMBERS)
def test_every_notation_with_decimals_gives_the_number(write, numbers):
    column, _ = read([write(number) for number in numbers])
    assert column.numbers.tolist() == [float(number) for number in numbers]


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1), st.sampled_from(["point", "comma"]))
def test_the_mark_of_the_source_decides_what_separates_thousands(numbers, mark):
    separator = "," if mark == "point" else "."
    column, _ = read([f"{number:,}".replace(",", separator) for number in numbers] + ["?"], mark)
    assert column.numbers[:-1].tolist() == numbers
    assert np.isnan(column.numbers[-1])


@given(st.lists(st.integers(1, 999), min_size=1, max_size=4, unique=True))
def test_thousands_without_evidence_are_not_read(numbers):
    column, notices = read([f"{number},{number:03}" for number in numbers])
    assert column.numbers is None
    assert "may be a decimal number or have a separator of thousands" in column.damage
    assert notices == []


@given(st.lists(st.text(max_size=8), min_size=1))
def test_any_texts_are_read_as_floats_of_their_digits_or_left_alone(texts):
    column, _ = read(texts)
    assert column.numbers is None or len(column.numbers) == len(texts)


@pytest.mark.parametrize(
    ("cells", "damage"),
    [
        (["1.5"] * 9 + ["1,5x"], "9 of 10 cells are numbers, but row 10 holds '1,5x'"),
        (["1.5", "2,5"], "some of its numbers have decimal points, others decimal commas"),
        (["5 %", "6"], "its numbers are written with different signs ('%', no sign)"),
        (["9007199254740992.0", "9007199254740993.0"], "distinct numbers of its many digits"),
        (["1.5"] * 8 + ["a", "b"], ""),
        (["north", "-"], ""),
    ],
)
def test_what_is_no_column_of_numbers_stays_as_it_is(cells, damage):
    column, notices = read(cells)
    assert column.numbers is None
    assert column.damage.startswith(damage)
    assert bool(column.damage) == bool(damage)
    assert notices == []


def test_plain_numbers_stored_as_text_stay_text_where_the_source_has_numbers():
    assert read(["007", "008"], holds_text=False)[0].numbers is None
    assert read(["007", "008"])[0].numbers.tolist() == [7, 8]
    assert read([1, 2.5, "?", "$3"], holds_text=False)[0].numbers[3] == 3


def test_points_of_thousands_beside_decimal_commas_are_said():
    columns = {
        "price": convert_python_column(["1,5", "2,5"]),
        "stock": convert_python_column(["4.210", "1.250"]),
    }
    columns, notices = read_written_numbers(columns, "comma", holds_text=True)
    assert columns["stock"].numbers.tolist() == [4210, 1250]
    assert "read as numbers: 'stock' ('4.210' is 4210)" in notices


def test_an_exponent_without_a_number_is_text():
    assert parse_written_number(".e999") is None
    assert np.isnan(convert_written_number("1,5 .e9", "comma"))
    assert convert_written_number(".5e2", "point") == 50.0
