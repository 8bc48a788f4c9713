from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata

from symscreen.statistics.ranks import _kernels


def test_insertion_and_merging_agree(monkeypatch, rng):
    rows, spare = np.arange(20, dtype=np.int32), np.empty(20, dtype=np.int32)
    z = rng.integers(0, 6, 20).astype(float)
    short, long = rows.copy(), rows.copy()
    _kernels.sort_run.py_func(short, z, 0, 20, spare)
    monkeypatch.setattr(_kernels, "_MAX_INSERTION_RUN", 1)
    _kernels.sort_run.py_func(long, z, 0, 20, spare)
    assert np.array_equal(short, np.argsort(z, kind="stable"))
    assert np.array_equal(long, short)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_rows_are_read_off_keys(dtype):
    places, rows = np.array([0, 1, 1, 2, 2, 2]), np.array([5, 0, 3, 1, 2, 4])
    found, same = np.empty(6, dtype=np.int32), np.empty(6, dtype=bool)
    assert _kernels.unpack_rows((places << 3 | rows).astype(dtype), 7, found, same)
    assert np.array_equal(found, rows)
    assert same.tolist() == [False, False, True, False, True, True]
    assert not _kernels.unpack_rows(np.arange(6).astype(dtype) << dtype(3), 7, found, same)
    assert not same.any()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("z", "most", "result"),
    [
        ([2.0, 3.0, 3.5, 1.0, 2.5, 0.0], 3, (_kernels.NO_TIES, 3)),
        ([2.0, 3.0, 3.5, 1.0, 2.5, 0.0], 2, (_kernels.UNDECIDED, 3)),
        ([2.0, 3.0, 3.0, 1.0, 2.5, 0.0], 2, (_kernels.TIED, 2)),
        ([2.0, 3.0, 2.5, 1.0, 3.0, 0.0], 3, (_kernels.TIED, 3)),  # the tied rows are no neighbours at first
        ([1.0, 3.0, 3.0, 1.0, 3.0, 0.0], 0, (_kernels.TIED, 0)),
    ],
)
def test_what_keys_leave_undecided_is_settled_by_values(z, most, result):
    rows = np.array([5, 0, 3, 1, 2, 4], dtype=np.int32)
    same = np.array([False, False, True, False, True, True])
    assert _kernels.resolve_ties(same, rows, np.array(z), np.empty(6, dtype=np.int32), most) == result
    if result[0] != _kernels.UNDECIDED:
        assert np.array_equal(rows, np.argsort(z, kind="stable"))


def test_ranks_of_rows_in_order(rng):
    z = rng.integers(0, 6, 20).astype(float)
    rows, doubled = np.argsort(z, kind="stable").astype(np.int32), np.empty(20, dtype=np.int32)
    assert _kernels.write_doubled_ranks(rows, z, doubled)
    assert np.array_equal(doubled, 2 * rankdata(z))
    apart = rng.permutation(20).astype(float)
    assert not _kernels.write_doubled_ranks(np.argsort(apart).astype(np.int32), apart, doubled)
    assert np.array_equal(doubled, 2 * rankdata(apart))
