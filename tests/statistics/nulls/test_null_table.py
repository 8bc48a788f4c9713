from __future__ import annotations

import numpy as np

from symscreen.statistics.nulls.null_table import (
    LOG_TAIL_RESOLUTION,
    _compute_bias,
    _compute_log_sums,
    _group_body,
    _partition_cells,
    build_null_table,
)


def clusters(rng):
    """Statistics on scales from 1 to 1e-7, and atoms, ascending."""
    even = np.arange(3000) / 3000
    return np.sort(
        np.concatenate([rng.normal(size=3000) ** 2, 5 + 1e-4 * even, 9 + 1e-7 * even, [3.0] * 1000])
    )


def test_an_exact_table_has_every_tail(rng):
    z = clusters(rng)
    table = build_null_table(z, np.ones(len(z)))
    exact = 1.0 - np.searchsorted(z, z) / len(z)
    assert np.abs(table.compute_sf(z) - exact).max() < 1e-12
    above = 1.0 - np.searchsorted(z, z, side="right") / len(z)
    assert np.abs(table.compute_sf_lower_bound(-z) - above).max() < 1e-12
    means = np.array([z[z >= one].mean() for one in z[::500]])
    assert np.abs(table.compute_tied_sf_bound(means + 1e-9) - exact[::500]).max() < 1e-3


def test_a_coarser_table_is_never_below_and_within_its_resolution(rng):
    z = clusters(rng)
    mass = rng.random(len(z))
    table = build_null_table(z, mass, tail_slope=2.0, resolution=LOG_TAIL_RESOLUTION)
    exact = (np.cumsum(mass[::-1])[::-1] / mass.sum())[np.searchsorted(z, z)]
    ratio = table.compute_sf(z) / exact
    assert ratio.min() > 1 - 1e-12
    assert ratio[exact > 0.1].max() < 1.005
    assert (np.diff(table.compute_sf(np.linspace(0.0, 12.0, 5000))) <= 0).all()
    assert table.compute_sf(np.array([z[-1] + 1.0]))[0] < 0.2 * table.compute_sf(z[-1:])[0]


def test_a_statistic_that_rounding_moved_keeps_its_atom():
    z = np.repeat([0.0, 1.0, 2.0], 100) + np.tile(np.linspace(-1e-15, 1e-15, 100), 3)
    z = np.sort(np.abs(z))
    for resolution in (0.0, LOG_TAIL_RESOLUTION):
        table = build_null_table(np.repeat(z, 10), np.ones(3000), resolution=resolution)
        for off in (-1e-15, 0.0, 1e-15):
            found = table.compute_sf(np.array([0.0, 1.0, 2.0]) + off)
            assert np.abs(found - [1.0, 2 / 3, 1 / 3]).max() < 1e-12


def test_a_log_sum_is_that_of_exponentials_or_hyperbolic_cosines(rng):
    tilts, shifts, z = rng.uniform(0.0, 3.0, 4), rng.normal(size=4), np.array([0.0, 0.01, 0.7, 5.0])
    for function, folded in ((np.cosh, True), (np.exp, False)):
        terms = np.exp(shifts)[:, None] * function(tilts[:, None] * z)
        log_sums, shares = _compute_log_sums(_compute_bias(tilts, z, folded=folded), shifts)
        np.testing.assert_allclose(log_sums, np.log(terms.sum(axis=0)), atol=1e-13)
        np.testing.assert_allclose(shares, terms / terms.sum(axis=0), atol=1e-13)


def test_cells_are_narrow_for_every_tilt_that_reached_them(rng):
    z = np.sort(rng.exponential(size=3000))
    tilts = rng.choice([0.0, 2.0, 1e3], size=3000) * (z > 1.0)
    starts = _partition_cells(z, tilts)
    for cell in np.split(np.arange(3000), starts[1:]):
        assert len(cell) <= 2
        assert (z[cell[-1]] - z[cell[0]]) * tilts[cell].max() <= 0.05


def test_a_grouped_body_keeps_the_tail_from_below(rng):
    plain = np.sort(rng.normal(size=100_001))
    z, weights = _group_body(plain)
    assert len(z) < 40_000
    assert weights.sum() == len(plain)
    at = rng.choice(plain, 300)
    tail = np.array([[weights[z >= one].sum(), (plain >= one).sum()] for one in at])
    assert (tail[:, 0] >= tail[:, 1]).all()
    assert (tail[:, 0] <= tail[:, 1] * 1.0005).all()


def test_beyond_the_last_knot_a_sampled_tail_goes_on_and_an_enumerated_one_ends():
    z = np.arange(1.0, 101.0)
    ended = build_null_table(z, np.ones(100))
    assert ended.compute_exact_sf(np.array([100.0, 100.5])).tolist() == [0.01, 0.0]
    sampled = build_null_table(z, np.ones(100), tail_slope=2.0, resolution=0.01, keep_jumps=True)
    last = sampled.tail_probabilities[-1]
    found = sampled.compute_exact_sf(np.array([99.0, 100.0, 101.0]))
    np.testing.assert_allclose(found, [last, last, last * np.exp(-2.0)], rtol=1e-9)
