from __future__ import annotations

import pytest

from symscreen.errors import OptionError
from symscreen.label_ranking.learners.consensus_tree import (
    is_integer,
    is_real,
    parse_max_features,
    parse_row_count,
)


def test_shares_of_rows_are_rounded_up_and_not_beyond():
    assert [parse_row_count("rows", share, 70) for share in (0.1, 0.101, 1.0, 1, 5)] == [7, 8, 70, 1, 5]


def test_features_are_tried_by_number_share_or_word():
    assert [parse_max_features(asked, 10) for asked in (None, "sqrt", "log2", 3, 0.25, 99)] == [
        10,
        3,
        3,
        3,
        3,
        10,
    ]
    assert parse_max_features("log2", 1) == 1


@pytest.mark.parametrize("asked", [0, -1, 0.0, 1.5, float("nan"), True, None, "2"])
def test_invalid_row_counts_are_rejected(asked):
    with pytest.raises(OptionError, match=r"rows is .*: give an integer ≥ 1, or a share"):
        parse_row_count("rows", asked, 10)


def test_truth_values_are_no_numbers():
    assert [is_integer(value) for value in (3, True, 3.0)] == [True, False, False]
    assert [is_real(value) for value in (3, True, 3.5, "3")] == [True, False, True, False]
