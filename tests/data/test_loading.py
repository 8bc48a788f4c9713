import numpy as np
import pandas as pd
import pytest

from symscreen.data import read_dataset
from symscreen.errors import OptionError

INF, NAN = float("inf"), float("nan")
Y = [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "y", [Y, tuple(Y), np.array(Y), pd.Series(Y), pd.Series(Y, dtype="Int64"), np.array(Y, object)]
)
def test_a_response_beside_the_source(y):
    table = read_dataset({"a": Y, "b": Y[::-1]}, y=y)
    assert table.names == ("a", "b")
    assert table.target.name == "y"
    assert table.columns.tolist() == [Y, Y[::-1]]
    assert table.notices == ()


def test_a_series_keeps_its_name():
    assert read_dataset({"a": Y}, y=pd.Series(Y, name="speed")).target.name == "speed"
    assert read_dataset({"a": Y}, y=pd.Series(Y, name=0)).target.name == "0"


def test_a_nameless_response_makes_way_for_an_input_called_y():
    table = read_dataset({"x": Y, "y": Y[::-1]}, y=Y)
    assert (table.names, table.target.name) == (("x", "y"), "y_")


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 2], "y has shape (2,): one value is needed for each of the 6 rows of the dict"),
        (np.ones((6, 1)), "y has shape (6, 1): one value is needed for each of the 6 rows of the dict"),
        (
            pd.DataFrame({"y": Y}),
            "y has shape (6, 1): one value is needed for each of the 6 rows of the dict",
        ),
        ([[1]] * 6, "y has shape (6, 1): one value is needed for each of the 6 rows of the dict"),
        (3.0, "y has shape (): one value is needed for each of the 6 rows of the dict"),
        (list("pqrstu"), "y holds text: numbers are needed"),
        ([None] * 6, "y holds no values: numbers are needed"),
        (
            pd.Series(Y, name="a"),
            (
                "'a' is the name of y and of a column of the dict: "
                "leave that column out (exclude=), or rename one"
            ),
        ),
        (
            [7] * 6,
            (
                "the dict: the target 'y' is constant (7 in all 6 rows): nothing can be ranked against it; "
                "choose another (target=)"
            ),
        ),
        (
            [1, 2, 3, 4, 5, NAN],
            (
                "the dict has 1 row of 6 with missing values (row 6; in 'y'): fill them in, leave "
                "columns out (exclude=), or drop these rows (missing='drop')"
            ),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_responses_that_are_refused(refused, y, message):
    assert refused({"a": Y}, y=y, target_type="numeric", missing="refuse") == message


def test_missing_values_are_refused_with_their_rows(refused):
    gappy = {"a": [1, NAN, 3, 4, 5, 6], "b": [1, 2, None, 4, 5, 6], "c": [NAN] * 5 + [1], "y": Y}
    assert refused(gappy, exclude=["c"], missing="refuse") == (
        "the dict has 2 rows of 6 with missing values (rows 2, 3; in 'a', 'b'): fill them in, leave "
        "columns out (exclude=), or drop these rows (missing='drop')"
    )


def test_many_missing_rows_are_not_all_listed(refused):
    source = {"a": [NAN] * 40 + [1] * 10, "y": range(50)}
    assert "40 rows of 50 with missing values (rows 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …; in 'a')" in refused(
        source
    )


def test_missing_values_are_dropped_when_asked():
    source = {"a": [1, NAN, 3, 4, 5, 6, 7], "unused": [NAN] * 7, "y": [7, 6, None, 4, 3, 2, 1]}
    table = read_dataset(source, inputs=["a"], missing="drop")
    assert table.n_dropped == 2
    assert table.source_rows.tolist() == [6, 5, 4, 3, 0]
    assert table.columns.tolist() == [[7, 6, 5, 4, 1]]
    assert table.notices == ("dropped: 2 rows of 7 with missing values (rows 2, 3; in 'y', 'a')",)


def test_values_in_unused_columns_never_matter():
    plain = {"a": Y, "y": Y[::-1]}
    wild = plain | {"gaps": [NAN, 1, INF, 2, 3, 4], "text": list("pqrstu"), "id": [*Y[:5], NAN]}
    assert read_dataset(wild, inputs=["a"]).digest == read_dataset(plain).digest
    assert read_dataset(wild, exclude=["gaps"]).digest == read_dataset(plain).digest


@pytest.mark.parametrize("missing", ["refuse", "drop"])
@pytest.mark.parametrize("name", ["a", "y"])
def test_infinity_is_always_refused(refused, missing, name):
    source = {"a": [1, 2, 3, 4, 5, NAN], "y": Y} | {name: [1, INF, 3, 4, -INF, 6]}
    assert refused(source, missing=missing) == (
        f"the dict: the column {name!r} is infinite in rows 2, 5; "
        "correct these values, or leave the column out (exclude=)"
    )


def test_too_few_rows(refused):
    assert refused({"a": [1, 2, 3, 4], "y": [1, 2, 3, 4]}) == "the dict has 4 rows: at least 5 are needed"
    assert refused({"a": [1], "y": [1]}) == "the dict has 1 row: at least 5 are needed"
    assert refused({"a": [1, NAN, NAN, 4, 5, 6], "y": Y}, missing="drop") == (
        "the dict has 4 rows after dropping 2 rows of 6 with missing values (rows 2, 3; in 'a'): "
        "at least 5 are needed"
    )


def test_a_constant_target_is_named_with_its_file(refused_file):
    message = refused_file("t.csv", "a,y\n" + "".join(f"{each},2\n" for each in Y))
    assert message == (
        "t.csv: the target 'y' is constant (2 in all 6 rows): nothing can be ranked against it; "
        "choose another (target=)"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"missing": "ignore"}, "missing='ignore' is unknown: choose refuse, drop, impute or indicator"),
        (
            {"target": "a", "y": Y},
            "both target= and y are given: the target is one of them, not both",
        ),
    ],
)
def test_options_that_contradict(options, message):
    with pytest.raises(OptionError) as caught:
        read_dataset({"a": Y, "b": Y}, **options)
    assert str(caught.value) == message
