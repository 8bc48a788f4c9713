from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from symscreen.data import read_dataset
from symscreen.data.target_source import is_two_dimensional
from symscreen.errors import DataError, OptionError

X = {"x": [1.0, 2.0, 3.0, 4.0, 5.0], "w": [2.0, 1.0, 2.0, 1.0, 0.0]}
TEXTS = ["a>b>c", "b>a", "a=c>b", "c>b>a", "c>a"]
RANKS = {"a": [1, 2, 1, 3, 2], "b": [2, 1, 3, 2, None], "c": [3, None, 1, 1, 1]}


def test_texts_columns_and_arrays_are_one_table():
    of_texts = read_dataset({**X, "pref": TEXTS}, ranking="pref")
    of_columns = read_dataset({**X, **RANKS}, ranking=["c", "a", "b"])
    of_scores = read_dataset({**X, **RANKS}, ranking=["a", "b", "c"])
    beside = read_dataset(X, y=pd.DataFrame(RANKS))
    unnamed = read_dataset(X, y=np.array(pd.DataFrame(RANKS), dtype=float))
    for table in (of_columns, of_scores, beside, unnamed):
        assert np.array_equal(table.target.ranks, of_texts.target.ranks, equal_nan=True)
        assert np.array_equal(table.columns, of_texts.columns)
    assert of_texts.target.labels == of_columns.target.labels == beside.target.labels == ("a", "b", "c")
    assert unnamed.target.labels == ("1", "2", "3")
    assert [of_texts.target.name, of_columns.target.name, beside.target.name] == ["pref", "a,b,c", "y"]
    assert of_texts.names == ("w", "x")


def test_the_order_of_rows_and_columns_changes_nothing(rng):
    frame = pd.DataFrame({"x": rng.integers(0, 3, 30), "w": rng.integers(0, 2, 30)})
    frame["pref"] = [">".join(rng.permutation(list("abc"))[: rng.integers(1, 4)]) for _ in range(30)]
    expected = read_dataset(frame, ranking="pref")
    for _ in range(3):
        moved = frame.sample(frac=1, random_state=int(rng.integers(1 << 30)))[
            list(rng.permutation(frame.columns))
        ]
        table = read_dataset(moved, ranking="pref")
        assert table.digest == expected.digest
        assert table.columns.tobytes() == expected.columns.tobytes()
        assert table.target.ranks.tobytes() == expected.target.ranks.tobytes()


def test_rows_stand_in_the_order_of_the_inputs():
    table = read_dataset({**X, "pref": TEXTS}, ranking="pref")
    assert table.columns.tolist() == [[0.0, 1.0, 1.0, 2.0, 2.0], [5.0, 2.0, 4.0, 1.0, 3.0]]
    assert table.source_rows.tolist() == [4, 1, 3, 0, 2]


def test_other_labels_leave_rows_and_pairs_as_they_are():
    renamed = [text.translate(str.maketrans("abc", "zyx")) for text in TEXTS]
    one, other = (read_dataset({**X, "p": texts}, ranking="p") for texts in (TEXTS, renamed))
    assert one.source_rows.tolist() == other.source_rows.tolist()
    assert one.target.completeness_counts == other.target.completeness_counts
    assert one.digest != other.digest


def test_a_row_that_ranks_nothing_is_a_missing_value_and_a_missing_label_is_none():
    cells = [*TEXTS, None, " "]
    columns = {"x": list(range(7)), "pref": cells}
    with pytest.raises(DataError, match=r"2 rows of 7 with missing values \(rows 6, 7; in 'pref'\)"):
        read_dataset(columns, ranking="pref")
    table = read_dataset(columns, ranking="pref", missing="drop")
    assert (table.n_dropped, table.target.n) == (2, 5)
    gappy = {"x": list(range(6)), "a": [1, 2, 1, 2, 1, None], "b": [2, 1, 2, 1, None, None]}
    assert (
        read_dataset(gappy, ranking=["a", "b"], missing="drop").target.completeness_counts["incomplete"] == 1
    )


@pytest.mark.parametrize(
    ("columns", "ranking", "says"),
    [
        ({"p": TEXTS}, "q", "no column 'q' for ranking="),
        ({"p": [1, 2, 3, 4, 5]}, "p", "'p' of ranking= holds numbers: name a column of texts such as a>b>c"),
        ({"p": list("abcde")}, "p", "'p' of ranking= holds no '>'"),
        ({"p": ["a>b", "b>a", "a>", "a>b", "b>a"]}, "p", "row 3 of 'p', 'a>', lacks a name before or after"),
        ({"p": ["a>b", "b>a", "a>b>a", "a>b", "b>a"]}, "p", "row 3 of 'p' names 'a' twice"),
        ({"p": ["a>b"] * 5}, "p", "the ranking 'p' orders no pair of labels both ways"),
        ({"p": TEXTS, "q": TEXTS}, ["p", "q"], "'p' of ranking= holds text: several columns hold ranks"),
        ({"a": [1, 2, 1, 2, np.inf], "b": [2, 1, 2, 1, 1]}, ["a", "b"], r"infinite in row 5 \('a'\)"),
        ({f"l{j}": [1, 2, 1, 2, j] for j in range(101)}, [f"l{j}" for j in range(101)], "has 101 labels"),
    ],
)
def test_what_is_no_ranking_is_refused_with_its_place(columns, ranking, says):
    with pytest.raises(DataError, match=says):
        read_dataset({**X, **columns}, ranking=ranking)


def test_many_words_are_refused_before_they_are_counted_in_pairs():
    texts = [f"l{row}>m{row}" for row in range(60)]
    with pytest.raises(DataError, match="the ranking has 120 labels"):
        read_dataset({"x": list(range(60)), "p": texts}, ranking="p")


def test_the_response_is_given_once():
    columns = {**X, "p": TEXTS}
    with pytest.raises(OptionError, match="both ranking= and target="):
        read_dataset(columns, ranking="p", target="x")
    with pytest.raises(OptionError, match="both ranking= and y"):
        read_dataset(columns, ranking="p", y=[1, 2, 3, 4, 5])
    with pytest.raises(OptionError, match="names no column"):
        read_dataset(columns, ranking=[])
    for option in ("inputs", "exclude"):
        with pytest.raises(DataError, match=re.escape("'p'")):
            read_dataset(columns, ranking="p", **{option: ["p"]})
    with pytest.raises(
        DataError, match=r"y has shape \(4, 2\): one ranking is needed for each of the 5 rows"
    ):
        read_dataset(X, y=[[1, 2]] * 4)


def test_a_numeric_column_beside_a_ranking_is_an_input():
    assert read_dataset({**X, "y": [1, 2, 3, 4, 9], "p": TEXTS}, ranking="p").names == ("w", "x", "y")


@pytest.mark.parametrize(
    ("y", "ranks"),
    [
        (None, False),
        ([1, 2], False),
        ([[1, 2], [2, 1]], True),
        (np.ones((3, 1)), False),
        ([[1, 2], [1]], False),
        (pd.DataFrame(RANKS), True),
        (pd.Series([1, 2]), False),
    ],
)
def test_a_response_of_several_columns_is_a_ranking(y, ranks):
    assert is_two_dimensional(y) == ranks


def test_labels_in_very_few_rows_that_differ_by_case_are_told_of():
    texts = ["cof>tea"] * 30 + ["tea>cof"] * 10 + ["Cof>tea"] * 2 + ["tea>COF"] + ["milk>Milk"] * 20
    frame = {"x": np.arange(63.0), "pref": texts}
    told = "'pref': the label {} and differs from 'cof', in 40 rows, only by case: one label, or two?"
    assert read_dataset(frame, ranking="pref").notices == (
        told.format("'COF' is in 1 row"),
        told.format("'Cof' is in 2 rows"),
    )
    columns = {"x": np.arange(6.0), "A": [1, 2, 1, 2, 1, None], "a": [2, 1, 2, 1, 2, 1]}
    assert not read_dataset(columns, ranking=["A", "a"]).notices


def test_a_column_named_twice_or_to_two_options_is_refused_in_the_words_of_its_option():
    with pytest.raises(OptionError, match="ranking= names 'a' twice: name every column once"):
        read_dataset({**X, **RANKS}, ranking=("a", "b", "a"))
    with pytest.raises(DataError, match="'a' is in both ranking= and inputs=: take it out of inputs="):
        read_dataset({**X, **RANKS}, ranking=["a", "b", "c"], inputs=["x", "a"])
    with pytest.raises(DataError, match="'w' is both the target and in inputs=: name another target="):
        read_dataset(X, target="w", inputs=["x", "w"])
    with pytest.raises(DataError, match="'s' is in both stages= and inputs=: take it out of inputs="):
        read_dataset(
            {**X, "s": [1, 1, 0, 1, 0], "t": [1, 0, None, 0, None]}, stages=["s", "t"], inputs=["x", "s"]
        )
