from __future__ import annotations

import numpy as np

from symscreen.statistics.linear_rank import draw, linear_rank


def test_heavy_rows_are_the_farthest_from_the_bulk_even_beside_a_gross_one(rng):
    y = rng.normal(size=300)
    y[:3] = 1e9, -40.0, 30.0
    law = linear_rank(y, light=0.02, most=32)
    ratios = law.heavy[:3] / law.heavy[0]
    assert np.abs(ratios * 1e9 - y[:3]).max() < 0.2


def test_draws_have_unit_variance_whatever_the_light_rows(rng):
    for y in (rng.normal(size=200), np.r_[1e6, rng.normal(size=199)], (np.arange(200) < 20).astype(float)):
        law = linear_rank(y, light=0.02, most=32)
        assert abs(np.mean(draw(law, 40_000, (0, 1)) ** 2) - 1.0) < 0.04
