import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.data import read_dataset, replace_target
from symscreen.errors import DataError

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
        and one.target.values.tobytes() == other.target.values.tobytes()
        and one.digest == other.digest
    )


@pytest.mark.slow
@REPEATABLE
@given(tables(), st.data())
def test_permuted_rows_and_columns_give_the_same_bytes(source, data):
    rows = data.draw(st.permutations(range(len(source["target"]))))
    names = data.draw(st.permutations(list(source)))
    permuted = {name: [source[name][row] for row in rows] for name in names}
    assert same(read_dataset(source), read_dataset(permuted))


@REPEATABLE
@given(tables())
def test_order_is_that_of_sorting_rows_as_tuples(source):
    table = read_dataset(source)
    names = sorted(set(source) - {"target"})
    rows = sorted(zip(source["target"], *(source[name] for name in names), strict=True))
    assert table.names == tuple(names)
    assert [table.target.values.tolist(), *table.columns.tolist()] == [
        list(column) for column in zip(*rows, strict=True)
    ]


@REPEATABLE
@given(tables())
def test_rows_point_into_the_source(source):
    table = read_dataset(source)
    assert sorted(table.source_rows.tolist()) == list(range(len(source["target"])))
    assert np.array_equal(np.array(source["target"])[table.source_rows], table.target.values)
    for name, column in zip(table.names, table.columns, strict=True):
        assert np.array_equal(np.array(source[name])[table.source_rows], column)


def test_negative_zeros_are_gone():
    table = read_dataset({"a": [-0.0, 0.0, 1, 2, 3], "y": [-0.0, 0.0, 1, 2, 3]})
    assert not np.signbit(table.columns).any()
    assert not np.signbit(table.target.values).any()


def test_layout():
    table = read_dataset({"b": [1, 2, 3, 4, 5], "a": [True] * 5, "y": [1, 2, 3, 4, 5]})
    assert table.columns.shape == (2, 5)
    assert table.columns.flags.c_contiguous
    assert table.columns.dtype == np.float64
    assert table.source_rows.dtype == np.int64
    assert len(table.digest) == 64
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.n_dropped = 1


def test_names_are_ordered_by_code_point():
    source = {name: [1, 2, 3, 4, 5] for name in ("é", "a", "Z", "z", "10", "9", "λ")}
    assert read_dataset(source, y=[1, 2, 3, 4, 5]).names == ("10", "9", "Z", "a", "z", "é", "λ")


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
    assert read_dataset(other).digest != read_dataset({"a": [1, 2, 3, 4, 5], "y": [1, 2, 3, 4, 5]}).digest


def test_the_table_does_not_share_memory_with_its_source():
    source = np.arange(12.0).reshape(6, 2)
    table = read_dataset(source)
    source[:] = 0
    assert table.columns.tolist() == [[0, 2, 4, 6, 8, 10]]
    assert table.target.values.tolist() == [1, 3, 5, 7, 9, 11]


@REPEATABLE
@given(tables(), st.data())
def test_another_response_stands_as_if_it_had_been_read(source, data):
    table = read_dataset(source)
    n = len(source["target"])
    drawn = data.draw(st.lists(FEW, min_size=n, max_size=n).filter(lambda y: len(set(y)) > 1))
    other = replace_target(table, np.array(drawn))
    read = dict.fromkeys(source)
    for name, column in zip(table.names, table.columns, strict=True):
        read[name] = column.tolist()
    read["target"] = drawn
    assert same(other, read_dataset(read))
    assert np.array_equal(np.array(drawn)[_where(table.source_rows, other.source_rows)], other.target.values)
    for name, column in zip(other.names, other.columns, strict=True):
        assert np.array_equal(np.array(source[name])[other.source_rows], column)


def _where(rows, wanted):
    """Find each wanted row among those of a table."""
    place = {row: k for k, row in enumerate(rows.tolist())}
    return [place[row] for row in wanted.tolist()]


def test_another_response_keeps_what_was_decided_about_the_table():
    source = {"x": [1, 2, None, 4, 5, 6], "t": list("abcdef"), "y": [6, 5, 4, 3, 2, 1]}
    table = read_dataset(source, missing="drop", target="y")
    other = replace_target(table, np.array([1.0, 9.0, 4.0, 5.0, 7.0]))
    assert table.notices
    assert (other.notices, other.n_dropped, other.target.name) == (table.notices, 1, "y")
    assert sorted(other.source_rows.tolist()) == [0, 1, 3, 4, 5]
    assert other.digest != table.digest
    back = replace_target(other, table.target.values[_where(table.source_rows, other.source_rows)])
    assert same(back, table)
    assert back.source_rows.tolist() == table.source_rows.tolist()


def test_another_response_may_not_be_constant():
    table = read_dataset({"x": [1, 2, 3, 4, 5], "y": [1, 2, 3, 4, 5]})
    with pytest.raises(DataError, match="the target 'y' is constant"):
        replace_target(table, np.full(5, 2.0))
