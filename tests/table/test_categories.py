"""Columns that categories come to."""

from __future__ import annotations

import numpy as np
import pytest

from symscreen.errors import OptionError, TableError
from symscreen.table import check_categorical, frame_columns, read_frame, with_categories

ROWS = {"x": [1.0, 2.0, 4.0], "a = b": ["p = q", None, "r·1[s]"], "n": [1, 2, 2], "x·1[n = 9]": [0, 0, 0]}


@pytest.mark.parametrize("how", ["gate", "onehot"])
@pytest.mark.parametrize("name", ["a = b", "n"])
def test_they_are_computed_again_from_their_names(name, how):
    frame, names = with_categories(read_frame(ROWS), [name], how, ["x"], [])
    found = frame_columns(ROWS, names)
    for each in names:
        assert found[each].tolist() == pytest.approx(frame.columns[each].numbers.tolist(), nan_ok=True)


def test_a_level_that_new_rows_lack_is_nowhere_and_a_missing_one_is_missing():
    found = frame_columns({"c": ["q", None], "x": [3.0, 4.0]}, ["c = p", "x·1[c = q]"])
    assert found["c = p"].tolist() == pytest.approx([0.0, np.nan], nan_ok=True)
    assert found["x·1[c = q]"].tolist() == pytest.approx([3.0, np.nan], nan_ok=True)


def test_of_two_readings_the_one_whose_level_is_there_counts():
    rows = {"a": ["b = q", "r", "r"], "a = b": ["s", "q", "s"], "x": [1.0, 2.0, 3.0]}
    assert frame_columns(rows | {"a": ["r", "r", "r"]}, ["a = b = q"])["a = b = q"].tolist() == [0, 1, 0]
    assert frame_columns(rows | {"a = b": ["s", "s", "s"]}, ["a = b = q"])["a = b = q"].tolist() == [1, 0, 0]
    for name in ("a = b = q", "x·1[a = b = q]"):  # both have it
        with pytest.raises(TableError, match="can be read in 2 ways: rename columns"):
            frame_columns(rows, [name])
    with pytest.raises(TableError, match="can be read in 2 ways"):  # neither has it
        frame_columns(rows, ["a = b = t"])


def test_levels_that_come_to_one_column_and_infinities_are_refused():
    rows = {"a": ["b = q", "r"], "a = b": ["q", "s"], "n": [1.0, np.inf], "x": [1.0, 2.0]}
    for how in ("gate", "onehot"):
        with pytest.raises(TableError, match="two levels of --categorical come to one column"):
            with_categories(read_frame(rows), ["a", "a = b"], how, ["x"], [])
    with pytest.raises(TableError, match="'n' of --categorical holds an infinity"):
        with_categories(read_frame(rows), ["n"], "onehot", [], [])


@pytest.mark.parametrize("name", ["d = p", "z·1[c = p]", "c=p"])
def test_a_column_that_cannot_be_computed_is_missed(name):
    with pytest.raises(TableError, match="has no column"):
        frame_columns({"c": ["p", "q"], "x": [1, 2]}, [name])


@pytest.mark.parametrize(
    ("names", "taken", "says"),
    [
        (["m"], [], "no column 'm' for --categorical"),
        (["n"], ["n"], "'n' is in --categorical and has another use"),
        (["one"], [], "'one' of --categorical has 1 level"),
        (["many"], [], "'many' of --categorical has 60 levels: 2 to 50"),
        (["lists"], [], "'lists' of --categorical holds lists or records: words or numbers"),
        (["n2"], [], "has a column 'x·1\\[n2 = 1\\]' already: rename it"),
    ],
)
def test_what_cannot_be_used_is_told(names, taken, says):
    columns = {"x": [1.0] * 60, "n": [1, 2] * 30, "n2": [1, 2] * 30, "x·1[n2 = 1]": [0.0] * 60}
    columns |= {"one": ["p"] * 60, "many": list(range(60)), "lists": [[1]] * 60}
    with pytest.raises(TableError, match=says):
        with_categories(read_frame(columns), names, "gate", ["x"], taken)


def test_ways_are_checked():
    with pytest.raises(OptionError, match="categorical_as is 'gates'; did you mean 'gate'"):
        check_categorical(["c"], "gates")
    with pytest.raises(OptionError, match="--categorical-as onehot is given without --categorical"):
        check_categorical([], "onehot")
