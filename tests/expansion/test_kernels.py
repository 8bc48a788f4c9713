"""Kernels of the expansion, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from symscreen.expansion._kernels import CONSTANT_TOLERANCE, CandidateStatus, filter_by_range


def filter_ranges(low, high, magnitude, *, cancels):
    valid, suspect = np.empty((2, len(low)), dtype=bool)
    arrays = (np.array(each, dtype=float) for each in (low, high, magnitude))
    return filter_by_range(*arrays, cancels, valid, suspect), valid.tolist(), suspect.tolist()


@pytest.mark.parametrize("cancels", [False, True])
def test_features_are_undefined_constant_suspect_or_neither(cancels):
    counts, valid, suspect = filter_ranges(
        [1.0, 2.0, -np.inf, 0.0, 0.0, 0.0],
        [1.0, 3.0, 0.0, np.nan, 1e-3, 1e-3],
        [9, 9, 9, 9, 1e12, 1e10],
        cancels=cancels,
    )
    assert valid == [False, True, False, False, True, True]
    assert suspect == [False, False, False, False, cancels, False]
    assert counts == (2, 1, int(cancels))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_feature_is_constant_up_to_the_tolerance_of_its_larger_end(sign):
    assert CONSTANT_TOLERANCE == 2.0**-46
    # 65 units are the tolerance of 65·2⁴⁶ units
    for smaller, is_constant in ((65 * 2**46 - 30, True), (65 * 2**46 - 66, False)):
        ends = sorted(sign * units * 2.0**-52 for units in (smaller, smaller + 65))
        counts, valid, _ = filter_ranges([ends[0]], [ends[1]], [9.0], cancels=False)
        assert (counts[1], valid[0]) == (int(is_constant), not is_constant)


def test_a_feature_is_suspect_up_to_the_tolerance_of_its_terms():
    limit = 8.0 * CONSTANT_TOLERANCE
    _, valid, suspect = filter_ranges([0.0, 0.0], [limit, np.nextafter(limit, 1.0)], [8.0, 8.0], cancels=True)
    assert valid == [True, True]
    assert suspect == [True, False]


def test_statuses_have_numbers_of_their_own_which_stay():
    assert {name: status.value for name, status in CandidateStatus.__members__.items()} == {
        "KEPT": 0,
        "FORBIDDEN": 1,
        "TOO_COMPLEX": 2,
        "CONSTANT": 3,
        "UNDEFINED": 4,
        "DUPLICATE": 5,
        "NUMERIC_DUPLICATE": 6,
        "PRUNED": 7,
        "NO_UNIT": 8,
        "OTHER_UNITS": 9,
        "WIDE_RANGE": 10,
    }
