from __future__ import annotations

import numpy as np
import pytest
from helpers.tree_cases import columns, loss
from hypothesis import given

from symscreen.trees.decisions import compute_cut_losses, compute_squared_deviation


@given(columns())
def test_every_cut_is_the_definition(y):
    expected = [loss(y, set(range(i))) for i in range(1, len(y))]
    np.testing.assert_allclose(compute_cut_losses(y), expected, rtol=1e-12, atol=1e-10)


def test_nothing_cancels_far_from_zero(rng):
    y = rng.integers(-50, 50, 200).astype(float)
    # 2^40 is added without rounding; the textbook Σy² − (Σy)²/n would lose all digits
    np.testing.assert_allclose(compute_cut_losses(y + 2.0**40), compute_cut_losses(y), rtol=1e-3)
    np.testing.assert_allclose(compute_cut_losses(y + 2.0**20), compute_cut_losses(y), rtol=1e-9)


def test_the_cut_between_two_constants_costs_nothing():
    assert compute_cut_losses(np.array([1.0, 1.0, 7.0, 7.0]))[1] == pytest.approx(0.0, abs=1e-25)


def test_an_empty_part_has_no_squares():
    assert compute_squared_deviation(np.array([])) == 0.0
