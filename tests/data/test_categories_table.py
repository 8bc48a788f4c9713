"""Columns that categories come to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.data import (
    add_categorical_columns,
    check_categorical,
    parse_categorical_name,
    read_columns,
    read_frame,
    read_levels,
)
from symscreen.errors import DataError, OptionError

ROWS = {"x": [1.0, 2.0, 4.0], "a = b": ["p = q", None, "r·1[s]"], "n": [1, 2, 2], "x·1[n = 9]": [0, 0, 0]}


@pytest.mark.parametrize("how", ["gate", "onehot"])
@pytest.mark.parametrize("name", ["a = b", "n"])
def test_they_are_computed_again_from_their_names(name, how):
    frame, names = add_categorical_columns(read_frame(ROWS), [name], how, ["x"], [])
    found = read_columns(ROWS, names)
    for each in names:
        assert found[each].tolist() == pytest.approx(frame.columns[each].numbers.tolist(), nan_ok=True)


def test_a_level_that_new_rows_lack_is_nowhere_and_a_missing_one_is_missing():
    found = read_columns({"c": ["q", None], "x": [3.0, 4.0]}, ["c = p", "x·1[c = q]"])
    assert found["c = p"].tolist() == pytest.approx([0.0, np.nan], nan_ok=True)
    assert found["x·1[c = q]"].tolist() == pytest.approx([3.0, np.nan], nan_ok=True)


def test_infinities_are_no_levels():
    rows = {"n": [1.0, np.inf], "x": [1.0, 2.0]}
    with pytest.raises(DataError, match="'n' of categorical= contains an infinity"):
        add_categorical_columns(read_frame(rows), ["n"], "onehot", [], [])


@pytest.mark.parametrize("name", ["d = p", "z·1[c = p]", "c=p"])
def test_a_column_that_cannot_be_computed_is_missed(name):
    with pytest.raises(DataError, match="has no column"):
        read_columns({"c": ["p", "q"], "x": [1, 2]}, [name])


@pytest.mark.parametrize(
    ("names", "taken", "says"),
    [
        (["m"], [], "no column 'm' for categorical="),
        (["n"], ["n"], "'n' is in categorical= and has another role"),
        (["one"], [], "'one' of categorical= has 1 level"),
        (["many"], [], "'many' of categorical= has 60 levels: 2 to 50"),
        (["lists"], [], "'lists' of categorical= holds lists or records: words or numbers"),
        (["n2"], [], "has a column 'x·1\\[n2 = 1\\]' already: rename it"),
    ],
)
def test_what_cannot_be_used_is_told(names, taken, says):
    columns = {"x": [1.0] * 60, "n": [1, 2] * 30, "n2": [1, 2] * 30, "x·1[n2 = 1]": [0.0] * 60}
    columns |= {"one": ["p"] * 60, "many": list(range(60)), "lists": [[1]] * 60}
    with pytest.raises(DataError, match=says):
        add_categorical_columns(read_frame(columns), names, "gate", ["x"], taken)


def test_ways_are_checked():
    with pytest.raises(OptionError, match="categorical_as is 'gates'; did you mean 'gate'"):
        check_categorical(["c"], "gates")
    with pytest.raises(OptionError, match="categorical_as='onehot' requires categorical="):
        check_categorical([], "onehot")


ODD = st.text("ab =·1[]", min_size=1, max_size=7)


@given(
    st.lists(ODD, min_size=3, max_size=3, unique=True), st.lists(ODD, min_size=4, max_size=4), st.booleans()
)
def test_a_name_that_reads_as_another_columns_is_refused_and_all_others_are_computed(names, cells, onehot):
    x, *categorical = names
    rows = {x: [1.0, 2.0, 3.0, 4.0], categorical[0]: cells, categorical[1]: cells[::-1]}
    how = "onehot" if onehot else "gate"
    told, made = "", []
    try:
        frame, made = add_categorical_columns(read_frame(rows), categorical, how, [x], [])
    except DataError as error:
        told = str(error)
    refused = ("reads as that of another column", "already: rename it", "has 1 level", "holds no values")
    assert any(each in told for each in refused) == (not made)
    if not made:
        return
    found = read_columns(rows, made)
    expected = [frame.columns[each].numbers for each in made]
    np.testing.assert_array_equal(list(found.values()), expected)
    assert all(parse_categorical_name(each, rows).name == each for each in made)


def test_a_name_of_two_readings_is_refused():
    rows = {"x": [1.0, 2.0], "a": ["b = p", "q"], "a = b": ["p", "q"]}
    with pytest.raises(
        DataError, match="'p' of 'a = b' results in the column 'a = b = p', a name that another"
    ):
        add_categorical_columns(read_frame(rows), ["a = b"], "onehot", ["x"], [])


def test_a_level_of_digits_is_found_where_a_file_has_only_such(tmp_path):
    (tmp_path / "all.csv").write_text("c,x\n007,1\n7b,2\n12,3\n")
    (tmp_path / "some.csv").write_text("c,x\n007,1\n12,3\n13,4\n")
    frame, names = add_categorical_columns(read_frame(tmp_path / "all.csv"), ["c"], "onehot", ["x"], [])
    assert names == ["c = 007", "c = 12", "c = 7b"]
    found = read_columns(str(tmp_path / "some.csv"), names)
    assert [column.tolist() for column in found.values()] == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert read_levels(frame, "c")[0] == ("007", "12", "7b")
