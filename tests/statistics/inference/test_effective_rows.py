from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import rankdata

from symscreen.statistics.inference.effective_rows import estimate_effective_rows


def _draw(phi, n, rng):
    """Draw the ranks of a stationary autoregression."""
    return rankdata(lfilter([1.0], [1.0, -phi], rng.normal(size=n + 500))[500:])


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_an_autoregression_has_the_effective_rows_of_theory(phi, rng):
    n = 5_000
    found = estimate_effective_rows(_draw(phi, n, rng), _draw(phi, n, rng), [np.arange(n)])
    assert found == pytest.approx(n * (1 - phi**2) / (1 + phi**2), rel=0.25)


def test_the_correlation_of_independent_series_varies_as_that_of_the_effective_rows(rng):
    n = 300
    pairs = [(_draw(0.8, n, rng), _draw(0.8, n, rng)) for _ in range(400)]
    r = [np.corrcoef(x, y)[0, 1] for x, y in pairs]
    effective = [estimate_effective_rows(x, y, [np.arange(n)]) for x, y in pairs]
    assert 1 / np.var(r) == pytest.approx(np.median(effective), rel=0.3)


def test_rows_in_any_order_and_runs_of_one_row_are_independent(rng):
    x, y = _draw(0.9, 200, rng), _draw(0.9, 200, rng)
    assert estimate_effective_rows(x, y, [np.array([row]) for row in range(200)]) == 200.0


def test_the_end_of_one_run_is_no_neighbour_of_the_start_of_the_next():
    x = np.repeat([0.0, 1.0], 50) + np.tile([0.0, 0.01], 50)
    whole = estimate_effective_rows(x, x, [np.arange(100)])
    parts = estimate_effective_rows(x, x, np.split(np.arange(100), 50))
    assert whole < parts < 100.0
