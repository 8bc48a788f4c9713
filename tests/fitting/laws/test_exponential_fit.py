from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares

from symscreen.fitting.laws._kernels import fit_exponential


def _fit(design, offset, signs, target, start):
    parameters, residuals = np.array(start, dtype=np.float64), np.empty(len(target))
    is_found = fit_exponential(design, offset, signs, target, parameters, residuals, 30, 1e-12)
    return is_found, parameters, residuals


@pytest.mark.parametrize("k", [1, 2, 4])
def test_parameters_are_those_of_another_least_squares_method(k, rng):
    design = np.column_stack([np.ones(80), rng.normal(size=(80, k - 1))])
    offset, signs = 0.1 * rng.normal(size=80), rng.choice([-1.0, 1.0], 80)
    truth = rng.normal(size=k)
    target = signs * np.exp(offset + design @ truth) + 0.05 * rng.normal(size=80)
    is_found, parameters, residuals = _fit(design, offset, signs, target, truth + 0.2)
    expected = least_squares(lambda b: target - signs * np.exp(offset + design @ b), truth, xtol=1e-14)
    assert is_found
    assert parameters == pytest.approx(expected.x, abs=1e-5)
    assert residuals == pytest.approx(target - signs * np.exp(offset + design @ parameters))


def test_an_exact_law_is_found_to_rounding(rng):
    design = np.column_stack([np.ones(50), rng.normal(size=50)])
    target = np.exp(design @ [0.3, -1.5])
    is_found, parameters, residuals = _fit(design, np.zeros(50), np.ones(50), target, [0.0, -1.0])
    assert is_found
    assert parameters == pytest.approx([0.3, -1.5], abs=1e-12)
    assert np.abs(residuals).max() < 1e-12 * target.max()


def test_equal_columns_and_infinite_predictions_are_reported(rng):
    x = rng.normal(size=40)
    target, ones, zeros = np.exp(x), np.ones(40), np.zeros(40)
    assert not _fit(np.zeros((40, 1)), zeros, ones, target, [0.0])[0]
    assert not _fit(np.column_stack([ones, ones]), zeros, ones, target, [0.0, 0.0])[0]
    assert not _fit(x[:, None] * 1e4, zeros, ones, target, [1.0])[0]
