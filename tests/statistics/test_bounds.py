from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from symscreen.statistics.column_arithmetic import compute_bounds

shapes = array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=40)


def _bounds(values):
    low, high = np.empty(len(values)), np.empty(len(values))
    compute_bounds(values, low, high)
    return low, high


@given(arrays(np.float64, shapes, elements=st.floats(allow_nan=False)))
def test_they_are_the_least_and_the_largest_value(values):
    low, high = _bounds(values)
    assert np.array_equal(low, values.min(axis=1))
    assert np.array_equal(high, values.max(axis=1))


@pytest.mark.parametrize("bad", [np.nan, -np.nan, np.copysign(np.nan, -1.0)])
def test_one_of_them_tells_that_a_value_is_undefined(bad, rng):
    values = rng.normal(size=(3, 20))
    values[1, 7] = bad
    low, high = _bounds(values)
    assert (np.isnan(low) | np.isnan(high)).tolist() == [False, True, False]
