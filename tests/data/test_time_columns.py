from __future__ import annotations

import re
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symscreen
from symscreen.data import read_columns, read_frame
from symscreen.data.column_types import TimeColumn
from symscreen.data.row_order import read_row_order
from symscreen.data.time_operators import parse_time_operator, split_time_column
from symscreen.errors import DataError, GrammarError, OptionError

OPERATORS = ("lag1", "lag2", "lag5", "lag20", "diff", "mean2", "mean4", "mean30")


def compute_by_definition(operator, times, runs, values):
    """Compute an operator of time row by row, from the sorted history of each row."""
    computed = []
    for time, run in zip(times, runs, strict=True):
        history = sorted(
            (t, v) for t, r, v in zip(times, runs, values, strict=True) if r == run and t <= time
        )
        past = [value for _, value in history]
        kind, number = re.fullmatch(r"([a-z]+)(\d*)", operator).groups()
        if kind == "lag":
            computed.append(past[-1 - int(number)] if len(past) > int(number) else np.nan)
        elif kind == "diff":
            computed.append(past[-1] - past[-2] if len(past) > 1 else np.nan)
        else:
            window = past[-int(number) :]
            computed.append(sum(window[1:], window[0]) / int(number) if len(past) >= int(number) else np.nan)
    return computed


def compute_columns(operator, times, runs, values):
    """Compute an operator of time as formulas on new rows do."""
    definition = TimeColumn("x", operator, "t", "run")
    table = {"t": times, "run": runs, "x": values}
    return read_columns(table, [definition.name], {definition.name: definition})[definition.name]


@st.composite
def draw_series(draw):
    n = draw(st.integers(2, 14))
    times = draw(st.lists(st.floats(-1e6, 1e6), min_size=n, max_size=n, unique=True))
    runs = draw(st.lists(st.sampled_from("ab"), min_size=n, max_size=n))
    values = draw(st.lists(st.floats(-1e6, 1e6).map(lambda x: x + 0.0), min_size=n, max_size=n))
    return np.array(times), runs, np.array(values)


@given(series=draw_series(), operator=st.sampled_from(OPERATORS))
def test_operators_agree_with_their_definition_in_any_order_of_rows(series, operator):
    times, runs, values = series
    expected = np.array(compute_by_definition(operator, times, runs, values)) + 0.0
    assert compute_columns(operator, times, runs, values).tobytes() == expected.tobytes()


@given(series=draw_series(), operator=st.sampled_from(OPERATORS), data=st.data())
def test_what_happens_later_or_in_another_run_changes_no_value(series, operator, data):
    times, runs, values = series
    now, run = data.draw(st.sampled_from(times)), data.draw(st.sampled_from(runs))
    is_past = (times <= now) & (np.array(runs) == run)
    changed = np.where(is_past, values, data.draw(st.floats(-1e6, 1e6)))
    # what comes later also moves in time, and some of it never happens
    kept = is_past | np.array(data.draw(st.lists(st.booleans(), min_size=len(times), max_size=len(times))))
    moved = np.where(times > now, times + 1.0, times)
    rows = np.flatnonzero(kept)[::-1]
    try:
        later = compute_columns(operator, moved[rows], [runs[row] for row in rows], changed[rows])
    except DataError:  # two times became equal
        return
    before = compute_columns(operator, times, runs, values)
    np.testing.assert_array_equal(later[is_past[rows]], before[rows][is_past[rows]])


def test_dates_and_labels_of_any_kind_order_the_rows():
    days = [date(2024, 1, 31) + timedelta(days) for days in (2, 0, 1, 0)]
    frame = read_frame({"day": [str(day) for day in days], "run": [7, 7, 7, 8]})
    order = read_row_order(frame, "day", "run")
    assert order.places.tolist() == [2, 0, 1, 0]
    assert [rows.tolist() for rows in order.runs] == [[1, 2, 0], [3]]


@pytest.mark.parametrize(
    ("table", "trajectory", "message"),
    [
        ({"t": [1, 2, 1]}, None, "t='t' has the value 1 twice; name the column of runs with trajectory="),
        (
            {"t": [1, 2, 1], "r": ["a", "b", "a"]},
            "r",
            "has the value 1 twice in a run; keep one row for each",
        ),
        ({"t": [1, None, 3]}, None, "is missing or infinite in row 2; fill these times in"),
        ({"t": ["a", "b", "c"]}, None, "holds text; give numbers or dates"),
        ({"t": ["2024-01-01", None, "2024-01-03"]}, None, "is missing or infinite in row 2"),
        ({"t": ["2024-01-01", "2024-01-01", "2024-01-03"]}, None, "has the value 2024-01-01 twice"),
        ({"t": [1, 2, 3], "r": ["a", None, "b"]}, "r", "'r' of trajectory= has no label in row 2"),
        ({"u": [1, 2, 3]}, None, "has no column 't' for time="),
    ],
)
def test_rows_without_an_order_are_refused(table, trajectory, message):
    message = message.removeprefix("t='t' ")
    with pytest.raises(DataError, match=re.escape(message)):
        read_row_order(read_frame(table), "t", trajectory)


def test_names_of_operators_and_of_their_columns():
    assert [parse_time_operator(name).n_before for name in OPERATORS] == [1, 2, 5, 20, 1, 1, 3, 29]
    assert parse_time_operator("lag") is parse_time_operator("lag-1") is parse_time_operator("mean") is None
    for name in ("lag0", "mean1", "lag01", "lag1001"):
        with pytest.raises(GrammarError, match=f"'{name}' needs a number from [12] to 1000"):
            parse_time_operator(name)
        assert split_time_column(f"{name}(x)") is None
    assert split_time_column("diff(f(x) (m))") == ("diff", "f(x) (m)")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unary": "lag1"}, "lag1 needs the order of the rows: name the column of times with time="),
        ({"trajectory": "r"}, "trajectory='r' needs the order of its rows: give time=, too"),
        ({"time": "t", "trajectory": "t"}, "'t' is in both time= and trajectory=: keep one"),
        ({"time": "y", "target": "y"}, "'y' is in both target= and time=: keep one"),
        ({"time": "t", "p_values": True}, "p_values= cannot be combined with time='t'"),
        ({"time": "t", "stability": 2}, "stability= cannot be combined with time='t'"),
        ({"time": "t", "intervals": True}, "intervals= cannot be combined with time='t'"),
        ({"time": "t", "missing": "impute"}, "missing='impute' cannot be combined with time='t'"),
        (
            {"time": "t", "layers": "u[lag1]"},
            "lag1 acts on columns, before the first layer: name it in unary=",
        ),
        ({"time": "t", "unary": "lag0"}, "the operator 'lag0' needs a number from 1 to 1000"),
        ({"time": "t", "unary": "diff,diff"}, "'diff' is listed twice"),
    ],
)
def test_options_without_a_meaning_are_refused(options, message):
    table = {"t": np.arange(9.0), "r": list("aaabbbccc"), "x": np.arange(9.0) % 4, "y": np.arange(9.0) % 5}
    with pytest.raises((OptionError, GrammarError), match=re.escape(message)):
        symscreen.screen(table, **{"target": "y", **options})
