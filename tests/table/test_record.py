import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.errors import TableError
from symscreen.table import read_table, with_response

REPEATABLE = settings(deadline=None, derandomize=True)

FEW = st.sampled_from([-1.0, -0.0, 0.0, 1.0, 2.5])  # so few that responses tie and whole rows repeat


@st.composite
def tables(draw):
    n, d = draw(st.integers(5, 12)), draw(st.integers(1, 4))
    names = draw(st.lists(st.text(max_size=3).map("f".__add__), min_size=d, max_size=d, unique=True))
    columns = {name: draw(st.lists(FEW, min_size=n, max_size=n)) for name in names}
    response = draw(st.lists(FEW, min_size=n, max_size=n).filter(lambda y: len(set(y)) > 1))
    return columns | {"target": response}


def same(one, other):
    return (
        one.names == other.names
        and one.columns.tobytes() == other.columns.tobytes()
        and one.response.values.tobytes() == other.response.values.tobytes()
        and one.digest == other.digest
    )


@REPEATABLE
@given(tables(), st.data())
def test_permuted_rows_and_columns_give_the_same_bytes(source, data):
    rows = data.draw(st.permutations(range(len(source["target"]))))
    names = data.draw(st.permutations(list(source)))
    permuted = {name: [source[name][row] for row in rows] for name in names}
    assert same(read_table(source), read_table(permuted))


@REPEATABLE
@given(tables())
def test_order_is_that_of_sorting_rows_as_tuples(source):
    table = read_table(source)
    names = sorted(set(source) - {"target"})
    rows = sorted(zip(source["target"], *(source[name] for name in names), strict=True))
    assert table.names == tuple(names)
    assert [table.response.values.tolist(), *table.columns.tolist()] == [
        list(column) for column in zip(*rows, strict=True)
    ]


@REPEATABLE
@given(tables())
def test_rows_point_into_the_source(source):
    table = read_table(source)
    assert sorted(table.rows.tolist()) == list(range(len(source["target"])))
    assert np.array_equal(np.array(source["target"])[table.rows], table.response.values)
    for name, column in zip(table.names, table.columns, strict=True):
        assert np.array_equal(np.array(source[name])[table.rows], column)


def test_negative_zeros_are_gone():
    table = read_table({"a": [-0.0, 0.0, 1, 2, 3], "y": [-0.0, 0.0, 1, 2, 3]})
    assert not np.signbit(table.columns).any()
    assert not np.signbit(table.response.values).any()


def test_layout():
    table = read_table({"b": [1, 2, 3, 4, 5], "a": [True] * 5, "y": [1, 2, 3, 4, 5]})
    assert table.columns.shape == (2, 5)
    assert table.columns.flags.c_contiguous
    assert table.columns.dtype == np.float64
    assert table.rows.dtype == np.int64
    assert len(table.digest) == 64
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.dropped = 1


def test_names_are_ordered_by_code_point():
    source = {name: [1, 2, 3, 4, 5] for name in ("é", "a", "Z", "z", "10", "9", "λ")}
    assert read_table(source, y=[1, 2, 3, 4, 5]).names == ("10", "9", "Z", "a", "z", "é", "λ")


@pytest.mark.parametrize(
    "other",
    [
        {"a": [1, 2, 3, 4, 6], "y": [1, 2, 3, 4, 5]},
        {"a": [1, 2, 3, 4, 5], "y": [1, 2, 3, 4, 6]},
        {"b": [1, 2, 3, 4, 5], "y": [1, 2, 3, 4, 5]},
        {"a": [1, 2, 3, 4, 5], "z": [1, 2, 3, 4, 5]},
        {"a": [1, 2, 3, 4, 5], "b": [1, 2, 3, 4, 5], "y": [1, 2, 3, 4, 5]},
    ],
)
def test_digest_follows_names_and_values(other):
    assert read_table(other).digest != read_table({"a": [1, 2, 3, 4, 5], "y": [1, 2, 3, 4, 5]}).digest


def test_the_table_does_not_share_memory_with_its_source():
    source = np.arange(12.0).reshape(6, 2)
    table = read_table(source)
    source[:] = 0
    assert table.columns.tolist() == [[0, 2, 4, 6, 8, 10]]
    assert table.response.values.tolist() == [1, 3, 5, 7, 9, 11]


@REPEATABLE
@given(tables(), st.data())
def test_another_response_stands_as_if_it_had_been_read(source, data):
    table = read_table(source)
    n = len(source["target"])
    drawn = data.draw(st.lists(FEW, min_size=n, max_size=n).filter(lambda y: len(set(y)) > 1))
    other = with_response(table, np.array(drawn))
    read = dict.fromkeys(source)
    for name, column in zip(table.names, table.columns, strict=True):
        read[name] = column.tolist()
    read["target"] = drawn
    assert same(other, read_table(read))
    assert np.array_equal(np.array(drawn)[_where(table.rows, other.rows)], other.response.values)
    for name, column in zip(other.names, other.columns, strict=True):
        assert np.array_equal(np.array(source[name])[other.rows], column)


def _where(rows, wanted):
    """Find each wanted row among those of a table."""
    place = {row: k for k, row in enumerate(rows.tolist())}
    return [place[row] for row in wanted.tolist()]


def test_another_response_keeps_what_was_decided_about_the_table():
    source = {"x": [1, 2, None, 4, 5, 6], "t": list("abcdef"), "y": [6, 5, 4, 3, 2, 1]}
    table = read_table(source, missing="drop", target="y")
    other = with_response(table, np.array([1.0, 9.0, 4.0, 5.0, 7.0]))
    assert table.notices
    assert (other.notices, other.dropped, other.response.name) == (table.notices, 1, "y")
    assert sorted(other.rows.tolist()) == [0, 1, 3, 4, 5]
    assert other.digest != table.digest
    back = with_response(other, table.response.values[_where(table.rows, other.rows)])
    assert same(back, table)
    assert back.rows.tolist() == table.rows.tolist()


def test_another_response_may_not_be_constant():
    table = read_table({"x": [1, 2, 3, 4, 5], "y": [1, 2, 3, 4, 5]})
    with pytest.raises(TableError, match="the response 'y' is constant"):
        with_response(table, np.full(5, 2.0))
