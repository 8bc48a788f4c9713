"""Kernels of null distributions, against their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from symscreen.statistics._kernels import draw_integer, draw_uniform, seed_stream
from symscreen.statistics.nulls._kernels import (
    count_knots_below,
    fill_rotated_sums,
    run_metropolis,
    walk_by_swaps,
)


def test_the_sums_of_rotations_are_those_of_rotated_orders(rng):
    scores, orders, out = rng.normal(size=5), rng.normal(size=(3, 5)), np.empty((3, 5))
    fill_rotated_sums(scores, np.tile(orders, 2), out)
    expected = np.stack([np.roll(orders, -j, axis=1) @ scores for j in range(5)], axis=1)
    np.testing.assert_allclose(out, expected, rtol=1e-12)


def test_the_light_rows_of_a_walk_have_their_mean_under_the_tilt():
    n, tilt, light_sum_squares = 30, 0.8, 0.05
    # With this kurtosis the light part has no variance left, and is its mean to third order.
    excess = -3.0 / (tilt * tilt * light_sum_squares * 60.0)
    middle = (n + 1) / 2
    variances = []
    for rank in range(1, n + 1):
        others = np.array([one - middle for one in range(1, n + 1) if one != rank])
        variances.append(light_sum_squares * others.var(ddof=1))
    variances = np.array(variances)
    fourth = excess * variances**2
    assert (variances + 0.5 * fourth * tilt**2 < 0).all()
    means = tilt * variances + fourth * tilt**3 / 6
    ranks, owners = np.array([1], dtype=np.int32), np.full(n + 1, -1, dtype=np.int32)
    owners[1] = 0
    out = np.empty(300)
    run_metropolis(
        np.zeros(1), n, light_sum_squares, excess, tilt, 300, 1, ranks, owners, seed_stream(0), out
    )
    assert len(np.unique(np.round(out, 9))) > 5
    assert np.abs(out[:, None] - means).min(axis=1).max() < 1e-12


def find_worse_swap(r):
    """Find a stream whose first swap of `r` makes the steps longer: its gain, and the strength for a tie."""
    for seed in range(1000):
        state = seed_stream(seed)
        i, j = draw_integer(state, r.size), draw_integer(state, r.size)
        swapped = r.copy()
        swapped[[i, j]] = swapped[[j, i]]
        gain = int(np.abs(np.diff(r)).sum() - np.abs(np.diff(swapped)).sum())
        uniform = draw_uniform(state)
        if gain < 0 and uniform > 0.5:
            near = math.log(uniform) / gain
            for strength in near * (1.0 + np.arange(-8, 9) * 2.0**-53):
                if math.exp(strength * gain) == uniform:
                    return seed, gain, strength
    raise AssertionError


def test_a_worse_swap_is_made_if_the_random_number_is_below_its_probability_and_not_at_it():
    r = np.array([1, 2, 3, 4, 5], dtype=np.int64)
    seed, gain, tie = find_worse_swap(r)
    for strength, change in ((tie * 0.999, -gain), (tie, 0), (tie * 1.001, 0)):
        order, out = r.copy(), np.empty(1, dtype=np.int64)
        walk_by_swaps(order, strength, 1, seed_stream(seed), out)
        assert out[0] == 4 + change
        assert np.abs(np.diff(order)).sum() == out[0]


@pytest.mark.parametrize("n_cells", [1, 7, 100])
def test_knots_are_counted_as_by_a_binary_search(n_cells, rng):
    knots = np.sort(np.concatenate(([0.0, 1.0, 1.0], rng.exponential(size=60) ** 3)))
    starts = np.searchsorted(knots, np.linspace(0, knots[-1], n_cells + 1)[:-1], side="right")
    near = np.concatenate([np.nextafter(knots, side) for side in (-np.inf, np.inf)])
    values = np.concatenate((knots, near, rng.normal(size=500), [-1.0, 1e300, np.inf]))
    counts = np.empty(len(values), dtype=np.int64)
    count_knots_below(knots, starts, values, counts)
    assert np.array_equal(counts, np.searchsorted(knots, values, side="right"))


def test_a_table_of_one_knot_counts_it():
    counts = np.empty(3, dtype=np.int64)
    count_knots_below(np.zeros(1), np.ones(4, dtype=np.int64), np.array([-1.0, 0.0, 2.0]), counts)
    assert counts.tolist() == [0, 1, 1]
