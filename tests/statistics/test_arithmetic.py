from __future__ import annotations

import numpy as np
import pytest

from symscreen.statistics.column_arithmetic import ARITHMETIC_UFUNCS, combine_columns


@pytest.mark.parametrize("ufunc", ARITHMETIC_UFUNCS)
@pytest.mark.parametrize("n", [1, 7, 64, 101])
def test_values_are_those_of_numpy_bit_for_bit(ufunc, n, rng):
    pool = rng.normal(size=(9, n)) * 10.0 ** rng.integers(-300, 300, (9, 1))
    pool[3], pool[4, 0], pool[5, n // 2] = 0.0, -0.0, np.nextafter(0.0, 1.0)
    left, right = np.divmod(np.arange(81), 9)
    values, low, high = np.empty((81, n)), np.empty(81), np.empty(81)
    combine_columns(ufunc, pool, (left, right), values, (low, high))
    with np.errstate(all="ignore"):
        expected = ufunc(pool[left], pool[right])
        finite = np.isfinite(expected).all(axis=1)
    assert finite.any()
    assert values[finite].tobytes() == expected[finite].tobytes()
    assert np.array_equal(np.isnan(values), np.isnan(expected))
    assert np.array_equal(np.isfinite(low) & np.isfinite(high), finite)
    assert np.array_equal(low[finite], expected[finite].min(axis=1))
    assert np.array_equal(high[finite], expected[finite].max(axis=1))
