import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from symscreen.data.arrow_columns import convert_arrow_column
from symscreen.data.python_columns import convert_python_column
from symscreen.data.time_cells import convert_to_microseconds

BERLIN = ZoneInfo("Europe/Berlin")
NAIVE = dt.datetime.fromisoformat("2020-01-01T03:04:05.000006")
SUMMER = dt.datetime(2020, 7, 1, 3, tzinfo=BERLIN)


@pytest.mark.parametrize(
    "cells",
    [
        [dt.date(2020, 1, 31), None, dt.date(1, 1, 1)],
        [NAIVE, None],
        [SUMMER, None, NAIVE],
        [SUMMER, dt.datetime(2020, 1, 1, tzinfo=dt.UTC)],
        [dt.datetime(2020, 1, 1, 3, tzinfo=dt.timezone(dt.timedelta(hours=2)))],
        [None, dt.time(3, 4, 5, 6)],
        np.array(["2020-01-31", "NaT"], "datetime64[D]"),
        np.array(["2020-01-31T01:02:03.5", "NaT"], "datetime64[ns]"),
        pd.Series(pd.to_datetime(["2020-07-01 12:00", None]).tz_localize("Europe/Berlin")),
    ],
    ids=str,
)
def test_times_are_those_that_arrow_reads(cells):
    found = convert_python_column(cells).times
    expected = convert_arrow_column(pa.array(cells, from_pandas=True)).times
    np.testing.assert_array_equal(found.values, expected.values)
    assert (found.local is None) == (expected.local is None)
    if found.local is not None:
        np.testing.assert_array_equal(found.local, expected.local)


def test_a_date_with_a_time_among_dates_is_its_day():
    times = convert_python_column([dt.date(2020, 1, 1), NAIVE + dt.timedelta(1)]).times
    days = times.values  # noqa: PD011  # an array, not a frame
    assert days.tolist() == [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]


@pytest.mark.parametrize(("unit", "limit"), [("D", 86_400 * 10**6), ("s", 10**6), ("ms", 1000), ("us", 1)])
def test_times_out_of_range_have_no_microseconds(unit, limit):
    last = np.iinfo(np.int64).max // limit
    assert convert_to_microseconds(np.array([last, -last], f"datetime64[{unit}]")).astype(
        np.int64
    ).tolist() == [
        last * limit,
        -last * limit,
    ]
    if unit != "us":
        assert convert_to_microseconds(np.array([last + 1], f"datetime64[{unit}]")) is None


def test_an_unknown_time_zone_has_no_local_times():
    cells = pa.array([0], pa.timestamp("s", tz="Nowhere/City"))
    assert convert_arrow_column(cells).times.local is None
