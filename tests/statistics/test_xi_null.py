from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from symscreen.response import Response
from symscreen.statistics.order import order_features
from symscreen.statistics.xi import xi_of
from symscreen.statistics.xi_null import moments, xi_null


@pytest.mark.parametrize("r", [[1, 2, 3, 4, 5], [2, 2, 3, 5, 5], [1, 2], [3, 3, 3]])
def test_mean_and_variance_are_those_of_all_orders(r):
    sums = [np.abs(np.diff(order)).sum() for order in permutations(r)]
    mean, variance = moments(np.array(r))
    assert abs(mean - np.mean(sums)) < 1e-12
    assert abs(variance - np.var(sums)) < 1e-11


def test_variance_without_ties_is_the_published_one():
    n = 30
    variance = moments(np.arange(1, n + 1))[1] * (3.0 / (n * n - 1.0)) ** 2
    assert abs(variance - (n - 2) * (4 * n - 7) / (10 * (n - 1) ** 2 * (n + 1))) < 1e-12


@pytest.mark.parametrize(("n", "levels"), [(40, 0), (40, 3), (150, 0), (150, 4)])
def test_rates_are_nominal_or_below(n, levels, rng):
    response = Response(np.sort(np.arange(n) % levels if levels else np.arange(n)).astype(float))
    null = xi_null(response, 0)
    for ties in (0, 12):
        values = rng.random((20_000, n))
        ordered = order_features(np.floor(values * ties) if ties else values)
        p = null(ordered, xi_of(ordered, response), "free")
        for level in (0.05, 0.01):
            rate, error = (p <= level).mean(), np.sqrt(level / len(p))
            assert rate <= level + 4.0 * error
            assert ties or levels or rate >= level - 4.0 * error
