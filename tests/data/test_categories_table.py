"""Columns that categories come to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from symscreen.data import (
    LevelIndicator,
    add_categorical_columns,
    check_categorical,
    read_columns,
    read_frame,
    read_levels,
)
from symscreen.errors import DataError, OptionError

ROWS = {"x": [1.0, 2.0, 4.0], "a = b": ["p = q", None, "r·1[s]"], "n": [1, 2, 2], "x·1[n = 9]": [0, 0, 0]}


def definitions(frame, names):
    """Return the definitions that derived columns carry."""
    return {name: frame.columns[name].indicator for name in names}


@pytest.mark.parametrize("how", ["gate", "onehot"])
@pytest.mark.parametrize("name", ["a = b", "n"])
def test_they_are_computed_again_from_their_definitions(name, how):
    frame, names = add_categorical_columns(read_frame(ROWS), [name], how, ["x"], [])
    found = read_columns(ROWS, names, definitions(frame, names))
    for each in names:
        assert found[each].tolist() == pytest.approx(frame.columns[each].numbers.tolist(), nan_ok=True)


def test_a_level_that_new_rows_lack_is_nowhere_and_a_missing_one_is_missing():
    indicators = [LevelIndicator("c", "p"), LevelIndicator("c", "q", "x")]
    rows = {"c": ["q", None], "x": [3.0, 4.0]}
    found = read_columns(rows, ["c = p", "x·1[c = q]"], {each.name: each for each in indicators})
    assert found["c = p"].tolist() == pytest.approx([0.0, np.nan], nan_ok=True)
    assert found["x·1[c = q]"].tolist() == pytest.approx([3.0, np.nan], nan_ok=True)


def test_infinities_are_no_levels():
    rows = {"n": [1.0, np.inf], "x": [1.0, 2.0]}
    with pytest.raises(DataError, match="'n' of categorical= contains an infinity"):
        add_categorical_columns(read_frame(rows), ["n"], "onehot", [], [])


@pytest.mark.parametrize(
    "indicator", [LevelIndicator("d", "p"), LevelIndicator("c", "p", "z"), LevelIndicator("c", "p", "t")]
)
def test_a_column_that_cannot_be_computed_is_missed(indicator):
    rows = {"c": ["p", "q"], "x": [1, 2], "t": ["a", "b"]}
    with pytest.raises(DataError, match="has no column"):
        read_columns(rows, [indicator.name], {indicator.name: indicator})


def test_a_name_alone_is_no_definition():
    with pytest.raises(DataError, match="has no column 'c = p'"):
        read_columns({"c": ["p", "q"]}, ["c = p"])


@pytest.mark.parametrize(
    ("names", "taken", "says"),
    [
        (["m"], [], "no column 'm' for categorical="),
        (["n"], ["n"], "'n' is in categorical= and has another role"),
        (["one"], [], "'one' of categorical= has 1 level"),
        (["many"], [], "'many' of categorical= has 60 levels: 2 to 50"),
        (["lists"], [], "'lists' of categorical= holds lists or records: words or numbers"),
        (["n2"], [], "results in the column 'x·1\\[n2 = 1\\]', which exists already: rename one"),
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
    names=st.lists(ODD, min_size=3, max_size=3, unique=True),
    cells=st.lists(ODD, min_size=4, max_size=4),
    onehot=st.booleans(),
)
@example(names=["a", "b", "ab"], cells=[" "] * 4, onehot=False)
def test_a_name_that_two_columns_share_is_refused_and_all_others_are_computed(names, cells, onehot):
    x, *categorical = names
    rows = {x: [1.0, 2.0, 3.0, 4.0], categorical[0]: cells, categorical[1]: cells[::-1]}
    how = "onehot" if onehot else "gate"
    told, made = "", []
    try:
        frame, made = add_categorical_columns(read_frame(rows), categorical, how, [x], [])
    except DataError as error:
        told = str(error)
    refused = ("which exists already: rename one", "has 1 level", "holds no values")
    assert any(each in told for each in refused) == (not made)
    if not made:
        return
    indicators = definitions(frame, made)
    found = read_columns(rows, made, indicators)
    expected = [frame.columns[each].numbers for each in made]
    np.testing.assert_array_equal(list(found.values()), expected)
    assert all(indicator.name == name for name, indicator in indicators.items())


def test_a_name_of_two_readings_has_one_definition():
    rows = {"x": [1.0, 2.0], "a": ["b = p", "q"], "a = b": ["q", "p"]}
    for categorical, expected in (("a", [1.0, 0.0]), ("a = b", [0.0, 1.0])):
        frame, names = add_categorical_columns(read_frame(rows), [categorical], "onehot", ["x"], [])
        found = read_columns(rows, ["a = b = p"], definitions(frame, names))
        assert found["a = b = p"].tolist() == expected
    with pytest.raises(DataError, match="'p' of 'a = b' results in the column 'a = b = p', which exists"):
        add_categorical_columns(read_frame(rows), ["a", "a = b"], "onehot", ["x"], [])


def test_a_level_of_digits_is_found_where_a_file_has_only_such(tmp_path):
    (tmp_path / "all.csv").write_text("c,x\n007,1\n7b,2\n12,3\n")
    (tmp_path / "some.csv").write_text("c,x\n007,1\n12,3\n13,4\n")
    frame, names = add_categorical_columns(read_frame(tmp_path / "all.csv"), ["c"], "onehot", ["x"], [])
    assert names == ["c = 007", "c = 12", "c = 7b"]
    found = read_columns(str(tmp_path / "some.csv"), names, definitions(frame, names))
    assert [column.tolist() for column in found.values()] == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert read_levels(frame, "c")[0] == ("007", "12", "7b")
