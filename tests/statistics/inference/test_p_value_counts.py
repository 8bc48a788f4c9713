from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers.statistic_oracles import q_in_memory
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from symscreen.statistics.inference.p_value_counts import (
    compute_harmonic_number,
    compute_q_values,
    count_p_values,
    count_p_values_per_bin,
    count_rejections,
    decode_p_values,
    encode_p_values,
    merge_p_value_counts,
)

P_VALUES = st.lists(
    st.floats(1e-310, 1.0, exclude_min=True) | st.sampled_from([1.0, 0.5, 0.1, 1e-3, 1e-22, 1e-23, 1e-299]),
    max_size=60,
).map(np.array)


@given(P_VALUES)
def test_four_digits_never_make_a_p_value_smaller(p):
    written = decode_p_values(encode_p_values(p))
    assert (written >= np.maximum(p, 1e-300) * (1 - 2e-12)).all()
    assert (written <= np.maximum(p, 1e-300) * 1.001 * (1 + 1e-12)).all()
    assert (written <= 1.0).all()
    assert all(float(f"{value:.3e}") == value for value in written.tolist())


@given(P_VALUES)
def test_keys_stand_in_the_order_of_p_values_and_read_back(p):
    keys = encode_p_values(p)
    assert (np.diff(keys[np.argsort(p)]) >= 0).all()
    assert encode_p_values(decode_p_values(keys)).tolist() == keys.tolist()


def test_numbers_of_four_digits_stay_as_they_are():
    digits = np.arange(1000, 10_000)
    for power in (4, 7, 15, 22, 26, 27, 150, 303):
        p = np.array([float(f"{digit}e-{power}") for digit in digits])
        assert decode_p_values(encode_p_values(p)).tolist() == p.tolist()


@settings(max_examples=20)
@given(st.lists(P_VALUES, max_size=5), st.randoms(use_true_random=False))
def test_tallies_add_up_however_p_values_are_shared_out(parts, random):
    whole = count_p_values(np.concatenate([np.zeros(0), *parts]))
    tallies = [count_p_values(part) for part in parts]
    random.shuffle(tallies)
    left = merge_p_value_counts([merge_p_value_counts(tallies[:2]), merge_p_value_counts(tallies[2:])])
    right = merge_p_value_counts([*tallies[:1], merge_p_value_counts(tallies[1:])])
    for found in (merge_p_value_counts(tallies), left, right):
        assert (found.keys.dtype, found.counts.dtype) == (np.int32, np.int64)
        assert found.keys.tolist() == whole.keys.tolist()
        assert found.counts.tolist() == whole.counts.tolist()
    assert whole.total == sum(map(len, parts))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["bh", "by"])
@given(p=P_VALUES.filter(len))
def test_q_values_of_a_tally_are_those_of_all_p_values_to_the_last_bit(method, p):
    p = decode_p_values(encode_p_values(p))
    tally = count_p_values(p)
    q = compute_q_values(tally, method)[np.searchsorted(tally.keys, encode_p_values(p))]
    assert q.tobytes() == q_in_memory(p, method).tobytes()
    assert np.allclose(q, false_discovery_control(p, method=method), rtol=1e-12)
    assert (np.diff(compute_q_values(tally, method)) >= 0).all()


@settings(max_examples=5)
@given(st.integers(0, 2**32 - 1))
def test_q_values_of_many_are_exact_too(seed):
    rng = np.random.default_rng(seed)
    p = decode_p_values(encode_p_values(rng.uniform(size=50_000) ** rng.choice([1, 1, 1, 30], 50_000)))
    tally = merge_p_value_counts([count_p_values(part) for part in np.array_split(p, 13)])
    for method in ("bh", "by"):
        q = q_in_memory(p, method)
        assert (
            compute_q_values(tally, method)[np.searchsorted(tally.keys, encode_p_values(p))].tobytes()
            == q.tobytes()
        )
        assert count_rejections(tally, method, 0.05) == int((q <= 0.05).sum()) > 0


@given(P_VALUES.filter(len), st.integers(2**31, 2**40))
def test_counts_beyond_four_billion_give_the_q_values_of_one_copy(p, copies):
    """Each p-value repeated equally often leaves the rule of Benjamini and Hochberg as it was."""
    once = count_p_values(p)
    parts = [replace(once, counts=once.counts * copies), replace(once, counts=once.counts * 3)]
    merged = merge_p_value_counts(parts)
    assert merged.total == (copies + 3) * len(p)
    assert np.allclose(compute_q_values(merged, "bh"), compute_q_values(once, "bh"), rtol=1e-12)
    rejected = count_rejections(merged, "bh", 0.05)
    assert rejected == merged.counts[compute_q_values(merged, "bh") <= 0.05].sum()
    assert count_p_values_per_bin(merged).sum() == merged.total


def test_of_nothing_there_is_nothing():
    assert compute_q_values(merge_p_value_counts([]), "bh").tolist() == []
    assert count_rejections(count_p_values(np.zeros(0)), "by", 0.5) == merge_p_value_counts([]).total == 0


@pytest.mark.parametrize("many", [0, 1, 2, 10, 12345])
def test_harmonic_numbers_are_sums(many):
    assert compute_harmonic_number(many) == pytest.approx(
        math.fsum(1 / k for k in range(1, many + 1)), rel=1e-14, abs=1e-14
    )
