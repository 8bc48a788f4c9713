from __future__ import annotations

import numpy as np

from symscreen.statistics.nulls.linear_rank_table import draw_abs_statistics, standardize_scores


def test_heavy_rows_are_the_farthest_from_the_bulk_even_beside_a_gross_one(rng):
    y = rng.normal(size=300)
    y[:3] = 1e9, -40.0, 30.0
    statistic = standardize_scores(y, max_light_share=0.02, max_heavy=32)
    ratios = statistic.heavy_scores[:3] / statistic.heavy_scores[0]
    assert np.abs(ratios * 1e9 - y[:3]).max() < 0.2


def test_draws_have_unit_variance_whatever_the_light_rows(rng):
    for y in (rng.normal(size=200), np.r_[1e6, rng.normal(size=199)], (np.arange(200) < 20).astype(float)):
        statistic = standardize_scores(y, max_light_share=0.02, max_heavy=32)
        assert abs(np.mean(draw_abs_statistics(statistic, 40_000, (0, 1)) ** 2) - 1.0) < 0.04
