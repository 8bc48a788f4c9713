"""What the rows of a text tell of its layout, and what they do not."""

from __future__ import annotations

import pytest

from symscreen.data.readers.text_layout import has_units_row, recognize_layout

ROWS = [(3, 41, 1, 5), (2, 37, 4, 2), (3, 52, 2, 8)]


def write(first_cells):
    rows = (",".join(map(str, (first, *row[1:]))) for first, row in zip(first_cells, ROWS, strict=True))
    return ("a,b,target\n" + "\n".join(rows) + "\n").encode()


@pytest.mark.parametrize("first_cells", [["r1", "r2", "r2"], [1, 2, 3], [30, 10, 20]])
def test_texts_and_different_whole_numbers_are_names_of_rows(first_cells):
    layout = recognize_layout(write(first_cells))
    assert layout.notices == ("the first column has no name and is read as names of the rows",)


@pytest.mark.parametrize("first_cells", [[3, 2, 3], [3.5, 2.5, 1.5], [3, "", 2]])
def test_other_numbers_in_rows_that_are_too_long_are_no_names(first_cells):
    layout = recognize_layout(write(first_cells))
    assert layout.notices == ()
    assert layout.text.startswith(b"a,b,target")


def test_a_row_that_names_the_target_holds_no_units():
    assert has_units_row([["T", "p"], ["K", "Pa"], ["280", "1"], ["290", "2"]])
    assert not has_units_row([["T", "p"], ["Target", "Pa"], ["280", "1"], ["290", "2"]])
