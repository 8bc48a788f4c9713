from __future__ import annotations

import math

import numpy as np
import pytest

from symscreen.statistics.nulls.null_table import _MIN_LOG_TAIL, combine_samples, draw_tilted_samples


def test_clusters_on_two_scales_get_their_masses_back(rng):
    # levels 1/4 apart, each of eleven steps of 1e-6: the first tilts part levels, the last ones steps
    at = (0.25 * np.arange(8.0)[:, None] + 1e-6 * np.arange(11.0)).ravel()
    chance = np.outer(0.3 ** np.arange(8), 0.4 ** np.arange(11)).ravel()
    chance /= chance.sum()

    def walk(tilt):
        weights = chance * np.exp(tilt * (at - at[-1]))
        return rng.choice(at, size=20_000, p=weights / weights.sum())

    walks = draw_tilted_samples(walk, first_tilt=2.0)
    assert walks[-1].tilt > 1e6
    z, mass = combine_samples(rng.choice(at, size=100_000, p=chance), walks, 1.0, folded=False)
    found = np.bincount(np.searchsorted(at, z), mass, minlength=len(at))
    assert abs(mass.sum() - 1.0) < 1e-12
    top = slice(77, None)  # the steps of the highest level, from 1e-4 down to 1e-8
    assert np.abs(np.log(found[top] / chance[top])).max() < 0.25
    assert np.abs(found - chance).max() < 0.005


def test_a_symmetric_statistic_is_joined_by_its_magnitude(rng):
    walks = draw_tilted_samples(lambda tilt: rng.normal(tilt, 1.0, 20_000), first_tilt=0.8)
    z, mass = combine_samples(np.abs(rng.normal(size=100_000)), walks, 1.0, folded=True)
    for edge, tail in ((1.959964, 0.05), (3.890592, 1e-4), (5.730729, 1e-8), (7.130, 1.0035e-12)):
        assert abs(np.log(mass[z >= edge].sum() / tail)) < 0.1


@pytest.mark.parametrize(("beyond", "walks"), [(-5e-4, 2), (5e-4, 1)])
def test_walks_end_where_the_tail_is_below_the_smallest_that_is_needed(beyond, walks):
    # a narrow statistic at t has the log tail t²/2 − t² until 2.5 t times its deviation exceeds 1
    tilt = math.sqrt(-2.0 * _MIN_LOG_TAIL + 2.0 * beyond)
    narrow = tilt + np.tile([-1e-3, 1e-3], 50)
    found = draw_tilted_samples(lambda _: narrow, first_tilt=tilt)
    assert len(found) == walks
