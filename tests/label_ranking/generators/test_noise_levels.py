from __future__ import annotations

import numpy as np
import pytest
from helpers.all_rankings import every_ranking

from symscreen.label_ranking.generators import (
    compute_mallows_mean_distance,
    compute_mallows_probability,
    draw_mallows,
    inconsistency,
    kendall_gap,
)


def test_they_are_what_the_mallows_model_says(rng):
    h = every_ranking(4)[rng.integers(24, size=8000)]
    sigma = draw_mallows(h, 0.8, 8000, rng)
    alpha = 1.0 - compute_mallows_probability(h[:1], h[:1], 0.8)[0]
    beta = 1.0 - 2.0 * compute_mallows_mean_distance(0.8, 4) / 6.0
    assert inconsistency(sigma, h) == pytest.approx(alpha, abs=0.02)
    assert kendall_gap(sigma, h) == pytest.approx(beta, abs=0.02)


def test_the_ends_of_their_ranges():
    h = every_ranking(3)
    assert (inconsistency(h, h), kendall_gap(h, h)) == (0.0, 1.0)
    assert (inconsistency(4.0 - h, h), kendall_gap(4.0 - h, h)) == (1.0, -1.0)
    assert isinstance(inconsistency(h, np.flip(h, axis=0)), float)
