"""Order statistics of prediction bands, against their definitions, and the coverage that they promise."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.statistics.inference import prediction_bands
from symscreen.statistics.inference.prediction_bands import (
    compute_band_rank,
    compute_cv_plus_band,
    compute_cv_plus_guarantee,
    compute_half_width,
    count_needed_rows,
)

LEVELS = [f"{place / 100:g}" for place in range(1, 100)]
levels = st.sampled_from(LEVELS)
few_values = st.sampled_from([0.0, 0.5, 1.0, 1.5, 4.0, math.inf])  # many are equal


def find_smallest(values, share):
    """Return the smallest value v such that at least `share` of all values are at most v, else infinity."""
    return min((v for v in values if sum(other <= v for other in values) >= share), default=math.inf)


@given(st.lists(few_values, min_size=1, max_size=40), levels)
def test_the_half_width_is_the_smallest_that_holds_enough_residuals(residuals, level):
    needed = Decimal(level) * (len(residuals) + 1)  # residuals at most the half width
    assert compute_half_width(np.array(residuals), float(level)) == find_smallest(residuals, needed)


@given(
    st.lists(st.lists(few_values, min_size=1, max_size=5), min_size=2, max_size=6),
    st.lists(st.sampled_from([-1.0, 0.0, 0.25, 2.0, math.nan]), min_size=6, max_size=6),
    st.lists(st.sampled_from([0.25, 0.5, 1.0, 4.0]), min_size=6, max_size=6) | st.none(),
    levels,
)
def test_a_cv_plus_band_ends_at_the_order_statistics_of_its_definition(
    residuals, predictions, deviations, level
):
    predictions = np.array(predictions[: len(residuals)])[:, None]
    scales = [1.0] * len(residuals) if deviations is None else deviations[: len(residuals)]
    given_scales = None if deviations is None else np.array(scales)[:, None]
    low, high = compute_cv_plus_band(predictions, list(map(np.array, residuals)), float(level), given_scales)
    pairs = [
        (p, r * scale)
        for (p,), scale, fold in zip(predictions.tolist(), scales, residuals, strict=True)
        for r in fold
    ]
    lower = sorted(-math.inf if math.isnan(p) else p - r for p, r in pairs)
    upper = sorted(math.inf if math.isnan(p) else p + r for p, r in pairs)
    n = len(pairs)
    below = int(((1 - Decimal(level)) * (n + 1)).to_integral_value(ROUND_FLOOR))
    above = int((Decimal(level) * (n + 1)).to_integral_value(ROUND_CEILING))
    assert low.tolist() == [lower[below - 1] if below else -math.inf]
    assert high.tolist() == [upper[above - 1] if above <= n else math.inf]


def test_a_band_of_many_rows_does_not_depend_on_how_they_are_split_into_blocks(rng, monkeypatch):
    predictions = rng.normal(size=(3, 50))
    residuals = [rng.exponential(size=size) for size in (5, 6, 4)]
    whole = compute_cv_plus_band(predictions, residuals, 0.8)
    monkeypatch.setattr(prediction_bands, "_MAX_BLOCK_VALUES", 40)
    parts = compute_cv_plus_band(predictions, residuals, 0.8)
    assert [each.tobytes() for each in whole] == [each.tobytes() for each in parts]


@pytest.mark.parametrize("level", LEVELS)
def test_as_many_rows_as_needed_give_a_finite_band_and_one_fewer_does_not(level):
    needed = count_needed_rows(float(level))
    assert compute_band_rank(needed, float(level)) <= needed
    assert needed == 1 or compute_band_rank(needed - 1, float(level)) > needed - 1


def test_a_level_is_the_decimal_number_that_is_written():
    assert [compute_band_rank(99, float(level)) for level in LEVELS] == list(range(1, 100))


@given(st.integers(2, 500), st.data(), st.sampled_from(["0.8", "0.9", "0.95"]))
def test_the_guarantee_of_cv_plus_lies_between_the_bounds_of_the_paper(n, data, level):
    n_folds = data.draw(st.integers(2, n))
    found, level = compute_cv_plus_guarantee(n, n_folds, float(level)), float(level)
    assert max(0.0, 2 * level - 1 - math.sqrt(2 / n)) - 1e-12 <= found <= 2 * level - 1 + 1e-12
    if n_folds == n:  # the jackknife+, theorem 1
        assert found == pytest.approx(2 * level - 1)


@pytest.mark.parametrize("has_ties", [False, True])
def test_a_new_residual_is_within_the_half_width_as_often_as_promised(rng, has_ties):
    # 20,000 draws of 30 residuals and a new one; four standard errors of a share
    draws = rng.exponential(size=(20_000, 31))
    draws = np.ceil(draws) if has_ties else draws
    covered = np.mean([new[30] <= compute_half_width(new[:30], 0.9) for new in draws])
    error = 4 * math.sqrt(0.9 * 0.1 / 20_000)
    assert covered >= 0.9 - error
    assert has_ties or covered <= 0.9 + 1 / 31 + error
    assert has_ties or covered == pytest.approx(28 / 31, abs=error)  # rank 28 of 31 equally likely ones
