from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from symscreen.data import read_frame, read_row_groups
from symscreen.errors import DataError

DAYS = [dt.date(2020, 1, 2), dt.date(2020, 1, 1), dt.date(2020, 1, 2)]


@pytest.mark.parametrize(
    "labels",
    [
        DAYS,
        pd.to_datetime(DAYS),
        pd.to_datetime(DAYS, utc=True),
        [dt.time(5), dt.time(4), dt.time(5)],
        ["b", "a", "b"],
        [2.5, 1.0, 2.5],
    ],
)
def test_equal_labels_are_a_group_in_the_order_of_labels(labels):
    frame = read_frame({"g": labels})
    assert read_row_groups(frame, "g", np.arange(3)).tolist() == [1, 0, 1]
    assert read_row_groups(frame, "g", np.array([1, 0])).tolist() == [0, 1]


def test_a_file_of_dates(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("g,x\n2020-03-01,1\n2020-01-01,2\n2020-03-01,3\n")
    assert read_row_groups(read_frame(str(path)), "g", np.arange(3)).tolist() == [1, 0, 1]


def test_a_missing_date_or_what_is_no_label_is_refused():
    frame = read_frame({"g": [*DAYS, None], "w": [1j, 2j, 3j, 4j]})
    with pytest.raises(DataError, match="has no label in row 4"):
        read_row_groups(frame, "g", np.arange(4))
    assert read_row_groups(frame, "g", np.arange(3)).tolist() == [1, 0, 1]
    with pytest.raises(DataError, match="objects of type complex; give labels: numbers, text or dates"):
        read_row_groups(frame, "w", np.arange(4))
