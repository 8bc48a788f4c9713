from __future__ import annotations

import numpy as np
import pytest

from symscreen.fitting.lack_of_fit import compute_lack_of_fit


@pytest.mark.parametrize(("n_inputs", "n"), [(1, 60), (3, 300)])
def test_the_p_values_of_noise_are_nearly_uniform(n_inputs, n, rng):
    inputs = rng.uniform(size=(200, n_inputs, n))
    spread = 0.1 + inputs[:, 0]  # the variance of the noise may depend on the inputs
    residuals = spread * rng.normal(size=(200, n))
    p_values = np.array(
        [compute_lack_of_fit(list(columns), noise) for columns, noise in zip(inputs, residuals, strict=True)]
    )
    # 200 uniform p-values: three standard deviations around the expected counts
    assert abs((p_values < 0.1).sum() - 20) <= 13
    assert abs((p_values < 0.5).sum() - 100) <= 21


def test_a_missing_smooth_part_gives_a_small_p_value(rng):
    x, z = rng.uniform(size=(2, 500))
    assert compute_lack_of_fit([x, z], np.sin(4 * x * z) - 0.5 + 0.3 * rng.normal(size=500)) < 1e-6


def test_the_order_of_rows_and_the_scales_of_inputs_have_no_effect(rng):
    columns, residuals = rng.uniform(size=(2, 200)), rng.normal(size=200)
    order = rng.permutation(200)
    p_value = compute_lack_of_fit(list(columns), residuals)
    assert compute_lack_of_fit(list(columns[:, order]), residuals[order]) == p_value
    assert compute_lack_of_fit([np.exp(columns[0]), 1e9 * columns[1]], residuals * 2.0**-900) == p_value


def test_few_rows_and_exact_fits_give_one():
    assert compute_lack_of_fit([np.arange(5.0)], np.ones(5)) == 1.0
    assert compute_lack_of_fit([np.arange(50.0)], np.zeros(50)) == 1.0


def test_rows_with_equal_inputs_are_neighbours_of_each_other(rng):
    # the same inputs with opposite residuals: what is left cannot be explained by the inputs
    x = np.repeat(rng.uniform(size=100), 2)
    assert compute_lack_of_fit([x], np.tile([1.0, -1.0], 100) * rng.uniform(0.5, 1, 200)) > 0.99
