from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers.ranking_cases import rankings
from hypothesis import given
from scipy.stats import rankdata

from symscreen.errors import DataError
from symscreen.targets.ranking_ranks import to_float_array, to_mid_ranks, to_orders


@given(rankings())
def test_ranks_are_mid_ranks_of_the_labels_shown(rows):
    assert np.array_equal(to_mid_ranks(rows), rankdata(rows, axis=1, nan_policy="omit"), equal_nan=True)


@given(rankings())
def test_ranks_stay_as_they_are(rows):
    once = to_mid_ranks(rows)
    assert np.array_equal(to_mid_ranks(once), once, equal_nan=True)


def test_what_was_given_is_not_changed():
    given_ranks = np.array([[5.0, 1.0]])
    ranks = to_mid_ranks(given_ranks)
    ranks[:] = 0.0
    assert given_ranks.tolist() == [[5.0, 1.0]]


@pytest.mark.parametrize("kind", ["float64", "Float64", "Int64", object])
def test_frames_are_read_with_what_is_missing_in_them(kind):
    frame = pd.DataFrame({"a": [3, None], "b": [1, 2]}, dtype=kind)
    assert np.array_equal(to_mid_ranks(frame), [[2.0, 1.0], [np.nan, 1.0]], equal_nan=True)


def test_one_label_is_a_ranking():
    assert to_mid_ranks([[7.0], [0.0]]).tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, 2], "have shape \\(2,\\): one row per ranking"),
        (np.empty((0, 3)), "have shape \\(0, 3\\)"),
        (np.empty((3, 0)), "have shape \\(3, 0\\)"),
        ([["a>b", "b>a"]], "hold a value that is not a number.*parse_rankings"),
        (np.array([[1j, 2.0]]), "complex numbers"),
        ([[1, 2], [1, -np.inf]], "row 1 of the rankings holds an infinite rank"),
        ([[1, 2], [np.nan, np.nan]], "row 1 of the rankings ranks no label"),
    ],
)
def test_what_is_no_ranking_is_refused(values, words):
    with pytest.raises(DataError, match=words):
        to_mid_ranks(values)


def test_incomplete_rankings_are_refused_where_complete_ones_are_needed():
    rows = [[1, 2, 3], [1, np.nan, np.nan], [1, 2, np.nan]]
    with pytest.raises(DataError, match=r"row 1 of the rankings lacks 2 of 3 labels \(2 such rows\)"):
        to_mid_ranks(rows, require_complete=True)
    assert to_mid_ranks([[1, 1, 2]], require_complete=True).tolist() == [[1.5, 1.5, 3.0]]


@given(rankings(ties=False))
def test_an_order_lists_every_label_shown_at_its_rank(rows):
    ranks = to_mid_ranks(rows)
    for row, order in zip(ranks, to_orders(rows), strict=True):
        shown = order[order >= 0]
        assert row[shown].tolist() == list(range(1, len(shown) + 1))
        assert len(shown) == (~np.isnan(row)).sum()
        assert (order[len(shown) :] == -1).all()


def test_tied_labels_are_listed_by_index():
    assert to_orders([[2, 1, 2, 1]]).tolist() == [[1, 3, 0, 2]]


def test_a_column_is_read_as_a_table_is():
    assert to_float_array(pd.Series([1, None], dtype="Int64"))[0] == 1.0
    with pytest.raises(DataError, match="not a number"):
        to_float_array(["x"])


def test_rows_of_different_lengths_are_refused():
    with pytest.raises(DataError, match="rows of the rankings have different lengths"):
        to_mid_ranks([[1, 2], [1]])
