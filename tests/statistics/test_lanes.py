from __future__ import annotations

import numba
import numpy as np
import pytest

from symscreen.statistics.column_arithmetic import N_LANES, compute_simd_dot


@numba.njit
def _dot(a, b, start, stop):
    return compute_simd_dot(a, b, start, stop)


def _by_hand(a, b, start, stop):
    sums = [0.0] * N_LANES
    whole = start + (stop - start) // N_LANES * N_LANES
    for i in range(start, stop):
        sums[(i - start) % N_LANES if i < whole else 0] += float(a[i]) * float(b[i])
    halves = [sums[j] + sums[j + 4] for j in range(4)]
    return (halves[0] + halves[1]) + (halves[2] + halves[3])


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_the_sum_is_taken_in_a_fixed_order(dtype, rng):
    a, b = rng.normal(size=100), (1000 * rng.normal(size=100)).astype(dtype)
    for start in (0, 1, 5):
        for stop in (start, start + 1, start + 7, start + 8, start + 9, start + 24, 100):
            assert _dot(a, b, start, stop) == _by_hand(a, b, start, stop)
