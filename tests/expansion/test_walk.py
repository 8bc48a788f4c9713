from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.expansion import CandidateStatus, _kernels
from symscreen.expansion.candidates import OperatorRange
from symscreen.grammar import fingerprint as fp

P = fp.PRIME
PAIRS = {"one": _kernels.ONE, "unordered": _kernels.UNORDERED, "ordered": _kernels.ORDERED}
large = st.integers(0, 50) | st.integers(0, 10**6) | st.integers(0, 10**9)


def test_kernels_have_the_numbers_of_the_statuses():
    numbers = {name: getattr(_kernels, name, None) for name in CandidateStatus.__members__}
    assert {name: number for name, number in numbers.items() if number is not None} == {
        "KEPT": CandidateStatus.KEPT, "FORBIDDEN": CandidateStatus.FORBIDDEN,
        "TOO_COMPLEX": CandidateStatus.TOO_COMPLEX, "CONSTANT": CandidateStatus.CONSTANT,
        "UNDEFINED": CandidateStatus.UNDEFINED, "NO_UNIT": CandidateStatus.NO_UNIT,
        "OTHER_UNITS": CandidateStatus.OTHER_UNITS,
        "WIDE_RANGE": CandidateStatus.WIDE_RANGE,
    }  # fmt: skip


@pytest.mark.slow
@given(st.sampled_from(sorted(PAIRS)), large, st.integers(-3, 3), st.data())
def test_a_run_goes_through_the_pairs_in_their_order(pairs, later, near, data):
    first = later * (later + 1) // 2 if pairs == "unordered" else later**2 if pairs == "ordered" else later
    t = max(0, first + near)
    side, moving, staying, left = _kernels.locate_run(PAIRS[pairs], t)
    assert left >= 1
    steps = {0, left - 1, data.draw(st.integers(0, left - 1))}
    for step in sorted(steps):
        decoded = OperatorRange(0, pairs, 0, 0, 0).decode(np.array([t + step]))
        pair = [staying, staying]
        pair[side] = moving + step
        assert [int(place[0]) for place in decoded] == pair
    if pairs != "one":  # what follows is another run
        assert _kernels.locate_run(PAIRS[pairs], t + left)[:1] + _kernels.locate_run(PAIRS[pairs], t + left)[
            2:3
        ] != (
            side,
            staying,
        )


@pytest.mark.parametrize(("source", "exact"), [(_kernels.SUM, fp.add), (_kernels.PRODUCT, fp.multiply)])
@pytest.mark.parametrize("pairs", sorted(PAIRS))
def test_keys_are_combined_as_fingerprints_are_and_gathered_by_their_bits(source, exact, pairs, rng):
    q, shift, name_bits = 50, 58, 20
    words = rng.integers(0, P, (2, 2, q), dtype=np.uint64)
    words[:, :, :3] = [0, 1, P - 1]
    count = {"one": q, "unordered": q * (q + 1) // 2, "ordered": q * q}[pairs]
    left, right = OperatorRange(0, pairs, 0, count, 0).decode(np.arange(7, count))
    keys = exact(words[0, :, left], words[1, :, right])
    costs, flags = np.ones((2, q), dtype=np.int32), np.zeros((2, q), dtype=np.uint8)
    fates, counts = np.zeros(count - 7, dtype=np.uint8), np.zeros(8, dtype=np.int32)
    none, all_words = np.empty((0, 2), dtype=np.uint64), np.empty((2, 2, 0), dtype=np.uint64)
    _kernels.apply_rules(7, count, PAIRS[pairs], source, words, none, costs, 9, flags, fates, shift, counts)
    assert (fates == np.where(keys[:, 0] == keys[:, 1], _kernels.CONSTANT, _kernels.KEPT)).all()
    kept = np.flatnonzero(fates == _kernels.KEPT)
    leading = (keys[kept, 0] >> np.uint64(shift)).astype(np.int64)
    assert counts.tolist() == np.bincount(leading, minlength=8).tolist()
    ends = np.concatenate(([0], np.cumsum(counts[2:6])))
    for given_keys, from_words in ((none, (source, words)), (keys, (_kernels.PRECOMPUTED, all_words))):
        entries, at = np.empty(ends[-1], dtype=np.uint64), ends[:-1].copy()
        _kernels.fill_buckets(
            7, count, PAIRS[pairs], *from_words, np.ascontiguousarray(given_keys), fates, 100, name_bits,
            shift, 2, at, entries,
        )  # fmt: skip
        assert (at == ends[1:]).all()
        expected = []
        for bucket in range(2, 6):
            for place in kept[leading == bucket].tolist():
                following = (int(keys[place, 0]) << (64 - shift)) % (1 << 64) >> name_bits
                expected.append((following << name_bits) | (100 + place))
        assert entries.tolist() == expected
