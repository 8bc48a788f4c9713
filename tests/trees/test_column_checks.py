from __future__ import annotations

import numpy as np
import pytest

from symscreen.errors import DataError, OptionError
from symscreen.trees.decisions import check_column, check_features, check_target, check_threshold


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["a", "b"], "not a column of numbers"),
        ([[1.0, 2.0]], "one-dimensional"),
        ([1.0, np.nan], "NaN or infinity"),
        ([1.0, np.inf], "NaN or infinity"),
        ([1.0, 2.0, 3.0], "one value for each row"),
    ],
)
def test_invalid_columns_are_rejected(values, said):
    with pytest.raises(DataError, match=said):
        check_column(values, "z", 2)


@pytest.mark.parametrize("y", [[1.0], [0.0, 1e200], [1.0, 1.0 + 1e-10, -1e151], [0.0, 1e-160]])
def test_responses_whose_squares_leave_float64_are_refused(y):
    with pytest.raises(DataError):
        check_target(y)


def test_a_constant_response_is_one():
    assert check_target([3.0, 3.0]).tolist() == [3.0, 3.0]


@pytest.mark.parametrize("table", [np.ones((2, 2)), np.ones((3, 0)), np.ones((3, 1, 1)), 1.0])
def test_features_of_another_shape_are_refused(table):
    with pytest.raises(DataError, match=r"must have shape \(n, q\)"):
        check_features(table, 3)


def test_one_feature_is_a_table_of_one():
    assert check_features([1, 2, 3], 3).tolist() == [[1, 2, 3]]


def test_a_threshold_is_a_number():
    assert check_threshold(-np.inf) == -np.inf
    with pytest.raises(OptionError, match="NaN"):
        check_threshold(np.nan)
