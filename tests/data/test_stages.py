from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from symscreen.data import read_dataset
from symscreen.errors import DataError, OptionError

STAGES = ["viewed", "liked", "followed"]


def _frame(**changed):
    columns = {
        "x": [3.0, 1.0, 2.0, 5.0, 4.0, 0.0, 6.0],
        "viewed": [1, 1, 1, 1, 1, 1, 0],
        "liked": [1, 0, 0, 1, 1, None, 0],
        "followed": [1, 0, None, 0, 1, None, 0],
    }
    return pd.DataFrame(columns | changed)


def test_rows_stand_in_the_order_of_the_inputs_without_those_that_tell_nothing():
    table = read_dataset(_frame(), stages=STAGES)
    assert table.names == ("x",)
    assert table.columns.tolist() == [[1, 2, 3, 4, 5]]
    assert table.source_rows.tolist() == [1, 2, 0, 4, 3]
    assert table.target.outcomes.tolist() == [[1, -1, -1], [1, -1, 0], [1, 1, 1], [1, 1, 1], [1, 1, -1]]
    assert table.target.stages == tuple(STAGES)
    assert table.n_dropped == 2
    assert table.notices == ("left out: 2 rows of 7 without an observed transition between stages",)


@pytest.mark.parametrize(
    "same",
    [
        {"viewed": [True, True, True, True, True, True, False]},
        {"viewed": [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0]},
        {"liked": [1, -1, -1, 1, 1, None, -1]},
    ],
)
def test_reached_may_be_written_in_several_ways(same):
    assert read_dataset(_frame(**same), stages=STAGES).digest == read_dataset(_frame(), stages=STAGES).digest


def test_the_order_of_rows_does_not_matter_and_that_of_stages_does():
    frame = _frame()
    turned = read_dataset(frame.iloc[::-1], stages=STAGES)
    assert turned.digest == read_dataset(frame, stages=STAGES).digest
    obeying = frame.assign(followed=frame.liked)
    first = read_dataset(obeying, stages=STAGES).digest
    assert read_dataset(obeying, stages=["viewed", "followed", "liked"]).digest != first
    assert read_dataset(obeying, stages=STAGES, stage_weight="last").digest != first


def test_a_pair_that_all_go_is_told():
    followed = [1, 0, None, 1, 1, None, 0]
    table = read_dataset(_frame(followed=followed), stages=STAGES)
    words = "the pairs of stages in which all rows advance, or none: 'liked' to 'followed'"
    assert words in table.notices[-1]


def test_weights_choose_the_rows_that_count():
    table = read_dataset(_frame(liked=[1, None, 0, 1, 1, 1, 0]), stages=STAGES, stage_weight="next")
    assert 1 not in table.source_rows  # viewed and not followed, but of liking nothing is known


@pytest.mark.parametrize(
    ("changed", "options", "says"),
    [
        ({}, {"stages": ["viewed", "like"]}, "no column 'like' for stages=; did you mean 'liked'"),
        ({}, {"exclude": ["liked"]}, "'liked' is in both stages= and exclude="),
        ({}, {"inputs": ["x", "liked"]}, "'liked' is in both stages= and inputs="),
        ({"followed": [1, 0, None, 0, 1, 1, 1]}, {}, "row 7 reaches 'followed' but not 'viewed'"),
        ({"liked": [1, 0, 2, 1, 1, 0.5, 0]}, {}, "row 3 of 'liked' holds 2, which is not an outcome"),
        ({"liked": list("yynnyyn")}, {}, "the column 'liked' of stages= holds text: give 1 for reached"),
        ({"followed": [None] * 7}, {}, "the stage 'followed' is observed in none of 7 rows"),
        ({"followed": [0] * 7}, {}, "none of the 6 rows that are at a stage before 'followed' reach it"),
        (
            {"viewed": 0, "liked": 0, "followed": 0},
            {},
            "has 0 rows after leaving out 7 rows of 7",
        ),
        ({"x": [None, 1, 2, 3, 4, 5, 6]}, {}, "1 row of 7 with missing values"),
    ],
)
def test_what_is_no_chain_gets_one_line(changed, options, says):
    with pytest.raises(DataError, match=says) as caught:
        read_dataset(_frame(**changed), **{"stages": STAGES, **options})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"stages": ["viewed"]}, "give the names of at least two"),
        ({"stages": ["viewed", "viewed"]}, "'viewed' is given twice"),
        ({"stages": STAGES, "target": "x"}, "both stages= and target= are given"),
        ({"stages": STAGES, "ranking": "x"}, "both ranking= and stages= are given"),
        ({"stages": STAGES, "y": np.arange(7)}, "both stages= and y are given"),
        ({"stage_weight": "next"}, "stage_weight= requires stages="),
        ({"stages": STAGES, "stage_weight": "nxt"}, "stage_weight is 'nxt'; did you mean 'next'"),
    ],
)
def test_options_are_refused_before_the_source_is_read(options, says):
    with pytest.raises(OptionError, match=says):
        read_dataset("no such file", **options)
