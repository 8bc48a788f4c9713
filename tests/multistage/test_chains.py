from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from symscreen.errors import DataError, OptionError
from symscreen.multistage import read_chains, read_stage_columns

STAGES = ["viewed", "liked", "followed"]


def _table(**columns):
    good = {
        "user": ["a", "a", "b"],
        "item": ["x", "y", "x"],
        "viewed": [1, 1, 1],
        "liked": [1, 0, 1],
        "followed": [0, 0, 1],
    }
    return pd.DataFrame(good | columns)


def test_both_forms_say_the_same():
    columns = read_chains(_table(), stages=STAGES)
    last = pd.DataFrame(
        {"user": ["a", "a", "b"], "item": ["x", "y", "x"], "last": ["liked", "viewed", "followed"]}
    )
    for values in (last["last"], [1, 0, 2], [1.0, 0.0, 2.0]):
        reached = read_chains(last.assign(last=values), stages=STAGES, reached="last")
        assert np.array_equal(reached.outcomes, columns.outcomes)
    assert columns.outcomes.tolist() == [[1, 1, -1], [1, -1, -1], [1, 1, 1]]


def test_what_is_missing_stays_missing():
    read = read_chains(_table(liked=[None, 0, 1], followed=[1, None, None]), stages=STAGES)
    assert read.outcomes.tolist() == [[1, 0, 1], [1, -1, 0], [1, 1, 0]]
    last = pd.DataFrame({"user": ["a", "b"], "item": ["x", "x"], "last": [None, -1]})
    assert read_chains(last, stages=STAGES, reached="last").outcomes.tolist() == [[0, 0, 0], [-1, -1, -1]]


@pytest.mark.parametrize("values", [[True, False, True], [1, -1, 1], [1.0, 0.0, 1.0]])
def test_reached_is_written_in_several_ways(values):
    assert read_stage_columns(pd.DataFrame({"viewed": [1, 1, 1], "liked": values})).tolist() == [
        [1, 1],
        [1, -1],
        [1, 1],
    ]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            {"followed": [0, 1, 1]},
            "row 2 \\(user 'a', item 'y'\\): 'followed' is reached but 'liked' is not; each stage requires",
        ),
        ({"viewed": [1, None, 0]}, "row 3 \\(user 'b', item 'x'\\): 'liked' is reached but 'viewed' is not"),
        ({"liked": [1, 2, 3]}, "row 2: 'liked' is 2; give 1 for reached, 0 for not reached"),
        ({"liked": [1, 0, "yes"]}, "row 3: 'liked' is 'yes'; give 1"),
        ({"user": ["a", None, "b"]}, "row 2: 'user' is missing; name it or drop the row"),
    ],
)
def test_the_first_row_at_fault_is_named(columns, words):
    with pytest.raises(DataError, match=words) as caught:
        read_chains(_table(**columns), stages=STAGES)
    assert "\n" not in str(caught.value)


def test_a_break_is_found_across_what_is_missing():
    with pytest.raises(DataError, match=r"row 1 .*'followed' is reached but 'viewed' is not"):
        read_chains(_table(viewed=[0, 1, 1], liked=[None, 0, 1], followed=[1, 0, 1]), stages=STAGES)


def test_unknown_stages_are_refused():
    last = pd.DataFrame({"user": ["a", "b"], "item": ["x", "x"], "last": ["viewed", "likd"]})
    words = "row 2: 'last' is 'likd', which is not a stage; did you mean 'liked'"
    with pytest.raises(DataError, match=words):
        read_chains(last, stages=STAGES, reached="last")
    with pytest.raises(DataError, match="row 1: 'last' is 3, which is not a stage"):
        read_chains(last.assign(last=[3, 0]), stages=STAGES, reached="last")
    with pytest.raises(DataError, match="no column 'folowed'; did you mean 'followed'"):
        read_chains(_table(), stages=["viewed", "liked", "folowed"])
    with pytest.raises(OptionError, match="at least two stages"):
        read_chains(_table(), stages=["viewed"])
    with pytest.raises(OptionError, match="'liked' is given twice"):
        read_chains(_table(), stages=["liked", "liked"])
    with pytest.raises(DataError, match="no rows"):
        read_chains(_table().iloc[:0], stages=STAGES)


def test_columns_that_occur_twice_and_lists_in_cells_are_refused():
    table = _table()
    for name in ("user", "liked"):
        with pytest.raises(DataError, match=f"the table has the column '{name}' 2 times: keep one"):
            read_chains(pd.concat([table, table[[name]]], axis=1), stages=STAGES)
        with pytest.raises(DataError, match=rf"row 2: '{name}' is \[1\]; give"):
            read_chains(_table(**{name: ["a", [1], 1]}), stages=STAGES)
