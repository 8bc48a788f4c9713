from __future__ import annotations

import numpy as np
import pytest

from symscreen.errors import OptionError
from symscreen.targets.stages import (
    check_stage_names,
    find_first_violation,
    find_stage_index,
    list_stage_pairs,
    mask_observed_pairs,
    parse_pair_weights,
)

STAGES = ("viewed", "liked", "followed")


def test_rows_count_for_a_pair_where_they_are_at_one_stage_and_the_other_was_observed(rng):
    outcomes = rng.integers(-1, 2, (40, 4)).astype(np.int8)
    expected = [[row[a] == 1 and row[b] != 0 for a, b in list_stage_pairs(3)] for row in outcomes]
    assert mask_observed_pairs(outcomes).tolist() == expected


def test_the_first_row_that_breaks_the_chain_is_found(rng):
    outcomes = rng.integers(-1, 2, (60, 4)).astype(np.int8)
    breaks = [
        (row, a, b)
        for row, chain in enumerate(outcomes)
        for b in range(4)
        for a in range(b)
        if chain[a] == -1 and chain[b] == 1
    ]
    assert find_first_violation(outcomes) == breaks[0]
    obeying = -np.ones((5, 3), dtype=np.int8)
    obeying[np.arange(5) > 1, 0] = 1
    obeying[3, 1], obeying[4, 2] = 0, 0
    assert find_first_violation(obeying) is None


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("all", [1, 1, 1]),
        ("next", [1, 0, 1]),
        ("last", [0, 1, 1]),
        ({("viewed", "liked"): 3, (1, 2): 0.5}, [3, 0, 0.5]),
        ([[0, 1, 2], [0, 0, 3], [0, 0, 0]], [1, 2, 3]),
    ],
)
def test_weights_are_read(asked, expected):
    assert parse_pair_weights(asked, STAGES).tolist() == expected


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("lst", "stage_weight is 'lst'; did you mean 'last'"),
        ({("viewed", "like"): 1}, "stage 'like' is unknown; did you mean 'liked'"),
        ({("liked", "viewed"): 1}, "the first stage must come before the second"),
        ({"liked": 1}, "give pairs of stages"),
        ({("viewed", "liked"): 0}, "not all of them 0"),
        ({("viewed", "liked"): -1}, "give numbers ≥ 0"),
        ([[1, 2], [3, 4]], r"has shape \(2, 2\): give \(3, 3\)"),
    ],
)
def test_weights_without_a_meaning_are_refused(asked, says):
    with pytest.raises(OptionError, match=says):
        parse_pair_weights(asked, STAGES)


def test_stages_are_found_by_name_and_number():
    assert [find_stage_index(one, STAGES) for one in ("viewed", 1, np.int64(2))] == [0, 1, 2]
    with pytest.raises(OptionError, match="stage 3 is unknown"):
        find_stage_index(3, STAGES)


@pytest.mark.parametrize(
    ("stages", "says"),
    [("viewed", "at least two"), (["viewed"], "at least two"), (["a", "b", "a"], "'a' is given twice")],
)
def test_names_that_are_no_chain_are_refused(stages, says):
    with pytest.raises(OptionError, match=says):
        check_stage_names(stages)
