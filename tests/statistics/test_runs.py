from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata

from symscreen.statistics import runs


def test_insertion_and_merging_agree(monkeypatch, rng):
    rows, spare = np.arange(20, dtype=np.int32), np.empty(20, dtype=np.int32)
    z = rng.integers(0, 6, 20).astype(float)
    short, long = rows.copy(), rows.copy()
    assert runs.sort_run.py_func(short, z, 0, 20, spare, 20)
    monkeypatch.setattr(runs, "_RUN", 1)
    assert runs.sort_run.py_func(long, z, 0, 20, spare, 20)
    assert np.array_equal(short, np.argsort(z, kind="stable"))
    assert np.array_equal(long, short)


def test_a_run_that_is_too_long_is_left_unless_it_is_in_order():
    rows, spare = np.arange(20, dtype=np.int32), np.empty(20, dtype=np.int32)
    assert not runs.sort_run(rows, np.arange(20)[::-1] + 0.0, 0, 20, spare, 19)
    assert runs.sort_run(rows, np.arange(20) // 3 + 0.0, 0, 20, spare, 19)
    assert np.array_equal(rows, np.arange(20))


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_what_keys_leave_undecided_is_settled_by_values(dtype):
    places, rows = np.array([0, 1, 1, 2, 2, 2]), np.array([5, 0, 3, 1, 2, 4])
    keys = (places << 3 | rows).astype(dtype)
    z, spare = np.array([2.0, 3.0, 3.0, 1.0, 2.5, 0.0]), np.empty(6, dtype=np.int32)
    found = np.empty(6, dtype=np.int32)
    assert runs.read(keys, 7, found)
    assert np.array_equal(found, rows)
    assert runs.settle(keys, 7, found, z, spare, 2) == runs.TOO_LONG
    assert runs.read(keys, 7, found)
    assert runs.settle(keys, 7, found, z, spare, 3) == runs.TIED - (z[1] != z[2])
    assert np.array_equal(found, np.argsort(z, kind="stable"))
    assert not runs.read(np.arange(6).astype(dtype) << dtype(3), 7, found)


def test_ranks_of_rows_in_order(rng):
    z = rng.integers(0, 6, 20).astype(float)
    rows, doubled = np.argsort(z, kind="stable").astype(np.int32), np.empty(20, dtype=np.int32)
    assert runs.rank(rows, z, doubled)
    assert np.array_equal(doubled, 2 * rankdata(z))
    apart = rng.permutation(20).astype(float)
    assert not runs.rank(np.argsort(apart).astype(np.int32), apart, doubled)
    assert np.array_equal(doubled, 2 * rankdata(apart))
