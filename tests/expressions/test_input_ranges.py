"""Ranges of the inputs in the training rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.errors import ExtrapolationWarning
from symscreen.expressions.input_ranges import (
    clip_to_box,
    compute_input_ranges,
    format_range_warning,
    warn_outside_ranges,
    widen_ranges,
)


def test_ranges_are_the_ends_by_name(rng):
    columns = {name: rng.normal(size=50) for name in "cab"}
    ranges = compute_input_ranges(columns)
    assert list(ranges) == ["a", "b", "c"]
    for name, values in columns.items():
        assert ranges[name] == [min(values), max(values)]


def test_rows_within_the_range_and_missing_values_are_not_outside(rng):
    x = rng.normal(size=30)
    assert format_range_warning({"x": x}, compute_input_ranges({"x": x})) is None
    assert format_range_warning({"x": np.array([np.nan, 0.5])}, {"x": [0.0, 1.0]}) is None
    assert format_range_warning({"x": np.array([5.0])}, {"z": [0.0, 1.0]}) is None
    assert format_range_warning({"x": np.zeros(0)}, {"x": [0.0, 1.0]}) is None


def test_each_row_counts_once_and_each_input_is_named(rng):
    columns = {name: rng.uniform(-2.0, 2.0, 200) for name in ("a", "b", "c")}
    ranges = {"a": [-1.0, 1.0], "b": [-9.0, 9.0], "c": [-9.0, 1.5]}
    n_outside = sum(abs(a) > 1 or c > 1.5 for a, c in zip(columns["a"], columns["c"], strict=True))
    message = format_range_warning(columns, ranges)
    assert message.startswith(f"{n_outside} of 200 rows are outside")
    assert "(a: -1 to 1, c: -9 to 1.5)" in message


def test_the_warning_is_one_line_of_the_packages_category():
    columns = {f"x\n{i}": np.array([3.0]) for i in range(9)}
    with pytest.warns(ExtrapolationWarning, match="and 4 more") as caught:
        warn_outside_ranges(columns, {name: [0.0, 1.0] for name in columns}, 1)
    assert "\n" not in str(caught[0].message)
    assert caught[0].filename == __file__


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_a_box_holds_the_range_and_keeps_the_sign_of_its_ends(first, second):
    low, high = sorted((first, second))
    ((wide_low, wide_high),) = widen_ranges({"x": [low, high]}).values()
    assert wide_low <= low <= high <= wide_high
    assert wide_high - wide_low <= 1.2 * (high - low) * (1 + 1e-12) + 1e-300
    if low >= 0:
        assert wide_low >= 0
        assert (wide_low > 0) == (low > 0)
    if high <= 0:
        assert wide_high <= 0
        assert (wide_high < 0) == (high < 0)


def test_clipping_moves_only_what_is_outside():
    columns = {"x": np.array([-5.0, 0.2, np.nan, 9.0]), "z": np.array([9.0])}
    clipped = clip_to_box(columns, {"x": [0.0, 1.0]})
    np.testing.assert_array_equal(clipped["x"], [0.0, 0.2, np.nan, 1.0])
    assert clipped["z"] is columns["z"]
