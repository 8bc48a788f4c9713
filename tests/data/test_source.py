import numpy as np
import pandas as pd
import pytest

from symscreen.data import read_columns, read_dataset, read_frame
from symscreen.errors import DataError

X = [[1.0, 9.0], [2.0, 8.0], [3.0, 5.0], [4.0, 7.0], [5.0, 6.0]]
A, B = [row[0] for row in X], [row[1] for row in X]


@pytest.mark.parametrize(
    "source",
    [
        {"x1": A, "x2": B},
        {"x1": np.array(A), "x2": pd.Series(B)},
        pd.DataFrame({"x1": A, "x2": B}),
        pd.DataFrame({"x2": B, "x1": A}, index=[4, 4, 1, 0, 7]),
        X,
        [tuple(row) for row in X],
        [{"x1": a, "x2": b} for a, b in X],
        np.array(X),
        np.array(X, order="F"),
        np.array(X, dtype=np.float32),
        np.array(X, dtype=object),
        np.ma.array(X),
        np.array(X).view(np.matrix),
    ],
    ids=lambda source: type(source).__name__,
)
def test_every_source_gives_the_same_table(source):
    table = read_dataset(source, y=[5, 4, 3, 2, 1])
    assert table.names == ("x1", "x2")
    assert table.columns.tolist() == [A[::-1], B[::-1]]


def test_labels_become_text():
    frame = pd.DataFrame(np.ones((2, 3)), columns=[1, None, ("a", 2)])
    assert list(read_frame(frame).columns) == ["1", "None", "('a', 2)"]
    assert read_dataset(np.array(X), target="x2").names == ("x1",)
    assert read_dataset(pd.DataFrame(X), target=1, inputs=[0]).names == ("0",)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (pd.DataFrame([[1, 2]], columns=[0, "0"]), "the frame has more than one column named '0': rename or"),
        (
            pd.DataFrame([[1, 2]], columns=["a\n", "a\n"]),
            r"the frame has more than one column named 'a\n': rename or",
        ),
        (pd.DataFrame(), "the frame has no columns: a target and at least one input are needed"),
        (pd.DataFrame({"a": [], "y": []}), "the frame has a header but no rows: at least 5 are needed"),
        ({}, "the dict has no columns: a target and at least one input are needed"),
        ({"a": [1, 2], "b": [1]}, "the dict: the column 'b' has 1 value, others have 2"),
        ({"a": "text"}, "the dict: the column 'a' is not a sequence of one value for each row"),
        ({"a": 1.0}, "the dict: the column 'a' is not a sequence of one value for each row"),
        ({"a": np.eye(3)}, "the dict: the column 'a' is not a sequence of one value for each row"),
        (np.ones(3), "the array has shape (3,): two dimensions are needed, (rows, columns)"),
        (np.ones((2, 2, 2)), "the array has shape (2, 2, 2): two dimensions are needed, (rows, columns)"),
        (np.ones((5, 0)), "the array has no columns: a target and at least one input are needed"),
        ([1, 2], "a table cannot be read from a list that is not a list of rows: give a path, a data frame"),
        ([[1, 2], [3]], "the rows of the list have 1 to 2 values: equally many are needed"),
        (pd.Series(A), "a Series is one column, not a table: give the data as a data frame"),
        (
            None,
            (
                "a table cannot be read from an object of type NoneType: give a path, a data frame (pandas, "
                "polars"
            ),
        ),
        (
            {number: [1] for number in range(100_001)},
            "the dict has 100001 columns, more than 100000: remove some of them",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_sources_that_are_refused(refused, source, message):
    assert refused(source).startswith(message)


def test_frame_columns_keep_the_order_of_rows_and_the_gaps():
    rows = {"text": ["p", "q"], "b": [3, -0.0], "a": [None, 1]}
    columns = read_columns(rows, ["b", "a"])
    assert list(columns) == ["b", "a"]
    assert columns["b"].tolist() == [3, 0]
    assert not np.signbit(columns["b"]).any()
    np.testing.assert_array_equal(columns["a"], [np.nan, 1])
    assert {values.dtype for values in columns.values()} == {np.dtype(np.float64)}


def test_frame_columns_are_copies():
    rows = np.array(X)
    read_columns(rows, ["x1"])["x1"][:] = 0
    assert rows.tolist() == X


def test_frame_columns_of_a_file_and_of_few_rows(tmp_path):
    (tmp_path / "new.csv").write_text("b,a\n1,\n")
    columns = read_columns(tmp_path / "new.csv", ["a", "b"])
    np.testing.assert_array_equal(columns["a"], [np.nan])
    assert columns["b"].tolist() == [1]
    (tmp_path / "none.csv").write_text("b,a\n")
    assert read_columns(tmp_path / "none.csv", ["a"])["a"].shape == (0,)


@pytest.mark.parametrize(
    ("rows", "names", "message"),
    [
        (
            {"height": [1]},
            ["hight"],
            "the dict has no column 'hight' for the formulas; did you mean 'height'?",
        ),
        (
            {"q": [1]},
            ["a", "q", "b"],
            "the dict has no column 'a' for the formulas (nor 1 more); known: q",
        ),
        (np.ones((2, 2)), ["speed"], "the array has no column 'speed' for the formulas; known: x1, x2"),
        ({"a": ["p"]}, ["a"], "the dict: the column 'a' holds text; numbers are needed"),
    ],
)
def test_frame_columns_refused(rows, names, message):
    with pytest.raises(DataError) as caught:
        read_columns(rows, names)
    assert str(caught.value) == message
