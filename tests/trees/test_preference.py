from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from symscreen.errors import OptionError
from symscreen.trees import (
    PiecewiseMonotone,
    compute_preference,
    compute_preference_steps,
    compute_split_loss,
    count_preimages,
    find_extreme_preferences,
    refine_intervals,
    shift_above,
)
from symscreen.trees.preference import compute_end_values

# Examples 6 and 7
LINE = PiecewiseMonotone((0.0, 1.0), [lambda x: x + 1.2])
BUMP = PiecewiseMonotone((0.0, 0.5, 1.0), [lambda x: -4 * x**2 + 4 * x])
WAVE = PiecewiseMonotone((0.0, 0.25, 0.75, 1.0), [lambda x: np.sin(2 * np.pi * x)])
SLOPE = PiecewiseMonotone((0.0, 1.0), [lambda x: 2 * x - 1])
PAIRS = [(LINE, BUMP), (BUMP, LINE), (WAVE, SLOPE), (WAVE, BUMP), (SLOPE, BUMP), (LINE, WAVE)]


@pytest.mark.parametrize(
    ("cuts", "counts"),
    [
        ((1.0, 2.0), [[0, 0], [0, 0]]),  # (a)
        ((1.4, 2.0), [[1, 0], [0, 0]]),  # (b)
        ((1.9, 2.0), [[0, 1], [0, 0]]),  # (c), as in Example 6
        ((1.0, 0.5), [[0, 0], [1, 1]]),  # (d)
        ((1.4, 0.5), [[1, 0], [1, 1]]),  # (e)
        ((1.9, 0.5), [[0, 1], [1, 1]]),  # (f)
    ],
)
def test_the_tables_of_figure_3(cuts, counts):
    assert count_preimages(LINE, BUMP, cuts).tolist() == counts


@pytest.mark.parametrize(
    ("cut", "published", "ours"),
    [
        (-0.5, 0.0, 0.0),
        (0.0, None, -1.0),  # not in the table
        (0.5, 1.0, -1.0),  # the table lacks the sign; the text calls it the minimum
        (1.0, 0.0, -0.5),  # the table's [1, 1.2) is (1, 1.2)
        (1.1, 0.0, 0.0),
        (1.2, 0.5, 0.5),
        (1.5, 0.5, 0.5),
        (1.7, 0.5, 0.5),
        (2.2, 0.5, 0.5),
        (2.3, 0.0, 0.0),
    ],
)
def test_the_table_of_example_7(cut, published, ours):
    assert compute_preference(LINE, BUMP, cut) == ours
    if published is not None and cut not in {0.5, 1.0}:
        assert published == ours


def test_the_extremes_of_example_7():
    found = find_extreme_preferences(LINE, BUMP)
    assert (found.max_preference, [str(one) for one in found.max_thresholds]) == (0.5, ["[1.2, 2.2]"])
    assert (found.min_preference, [str(one) for one in found.min_thresholds]) == (-1.0, ["[0, 1)"])


def _by_grid(first, second, cuts):
    """Compute p_{1>2} and the undecided share from sign changes on a fine grid."""
    total = undecided = 0.0
    for interval in refine_intervals(first, second):
        x = np.linspace(interval.low, np.nextafter(interval.high, interval.low), 2001)
        above = [one(x) - c for one, c in zip((first, second), cuts, strict=True)]
        has = [each.min() < 0 < each.max() for each in above]
        total += (interval.high - interval.low) * (int(has[0]) - int(has[1]))
        undecided += (interval.high - interval.low) * all(has)
    return total, undecided


@given(st.sampled_from(PAIRS), st.floats(-1.2, 2.4), st.floats(-1.2, 2.4))
def test_it_is_the_measure_of_where_signs_change(pair, one, two):
    ends = [
        value
        for interval in refine_intervals(*pair)
        for transform in pair
        for value in compute_end_values(transform, interval)[1:]
    ]
    if min(abs(c - end) for c in (one, two) for end in ends) > 1e-3:  # the grid misses a crossing at an end
        for cuts in ((one, two), (one, one)):
            assert compute_preference(*pair, cuts) == pytest.approx(_by_grid(*pair, cuts)[0], abs=1e-9)
        undecided = next(p.undecided for p in compute_preference_steps(*pair) if one in p.thresholds)
        assert undecided == pytest.approx(_by_grid(*pair, (one, one))[1], abs=1e-9)


@given(st.sampled_from(PAIRS), st.floats(-1.2, 2.4))
def test_the_plateaus_tell_it_for_every_cut(pair, cut):
    plateaus = compute_preference_steps(*pair)
    here = [one for one in plateaus if cut in one.thresholds]
    assert len(here) == 1
    assert here[0].preference == compute_preference(*pair, cut)
    extremes = find_extreme_preferences(*pair)
    assert extremes.min_preference <= here[0].preference <= extremes.max_preference
    for value, places in (
        (extremes.max_preference, extremes.max_thresholds),
        (extremes.min_preference, extremes.min_thresholds),
    ):
        assert any(cut in one for one in places) == (here[0].preference == value)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_plateaus_fill_the_line(pair):
    plateaus = compute_preference_steps(*pair)
    assert plateaus[0].thresholds.low == -np.inf
    assert plateaus[-1].thresholds.high == np.inf
    for one, following in pairwise(plateaus):
        assert one.thresholds.high == following.thresholds.low
        assert one.thresholds.includes_high != following.thresholds.includes_low
        assert (one.preference, one.undecided) != (following.preference, following.undecided)


def test_exchanging_the_maps_exchanges_the_sign():
    for first, second in PAIRS:
        ours, theirs = compute_preference_steps(first, second), compute_preference_steps(second, first)
        assert [(p.thresholds, -p.preference, p.undecided) for p in ours] == [
            (p.thresholds, p.preference, p.undecided) for p in theirs
        ]


def test_where_both_have_pre_images_nothing_is_decided_and_apart_decides():
    here = [one for one in compute_preference_steps(SLOPE, BUMP) if 0.5 in one.thresholds]
    # x = 0.75 for the slope: on [0.5, 1] both maps have a pre-image, on [0, 0.5) only the bump
    assert (here[0].preference, here[0].undecided) == (-0.5, 0.5)
    assert {one.undecided for one in compute_preference_steps(shift_above(SLOPE, BUMP), BUMP)} == {0.0}


def test_another_distribution_weighs_the_intervals():
    cdf = stats.beta(2, 5).cdf
    below = cdf(0.5)
    assert compute_preference(LINE, BUMP, 1.5, cdf) == pytest.approx(below, abs=1e-11)
    assert compute_preference(LINE, BUMP, 2.0, cdf) == pytest.approx(1 - below, abs=1e-11)
    found = find_extreme_preferences(LINE, BUMP, cdf)
    assert [str(one) for one in found.max_thresholds] == ["[1.2, 1.7)"]
    assert found.max_preference == pytest.approx(below, abs=1e-11)


@pytest.mark.parametrize("cdf", [lambda x: 1 - x, lambda x: 2 * x, lambda x: np.nan * x])
def test_invalid_distributions_are_rejected(cdf):
    for function in (compute_preference_steps, lambda a, b, c: compute_preference(a, b, 0.5, c)):
        with pytest.raises(OptionError, match="non-decreasing"):
            function(LINE, BUMP, cdf)


def test_one_pre_image_splits_the_rows_of_its_interval_and_none_does_not(rng):
    # Proposition 8 (i) and (ii), with means over the rows of the interval
    x = rng.uniform(size=400)
    y = rng.normal(size=400)
    seen = set()
    for first, second in PAIRS:
        for cuts in rng.uniform(-1.2, 2.4, (20, 2)):
            counts = count_preimages(first, second, tuple(cuts))
            for place, interval in enumerate(refine_intervals(first, second)):
                rows = (x >= interval.low) & (x < interval.high)
                losses = [
                    compute_split_loss(one(x[rows]), y[rows], c)
                    for one, c in zip((first, second), cuts, strict=True)
                ]
                case = tuple(counts[:, place].tolist())
                seen.add(case)
                whole = rows.sum() * y[rows].var()
                if case == (0, 0):
                    assert losses == pytest.approx([whole, whole])
                elif case == (1, 0):
                    assert losses[0] <= losses[1] + 1e-9
                    assert losses[1] == pytest.approx(whole)
                elif case == (0, 1):
                    assert losses[1] <= losses[0] + 1e-9
    assert seen == {(0, 0), (1, 0), (0, 1), (1, 1)}


def test_the_preference_does_not_decide_the_whole_node():
    # The wave has pre-images on a larger set than the slope, but y depends on the slope.
    x = np.linspace(0.001, 0.999, 200)
    y = np.where(x > 0.55, 1.0, 0.0)
    assert compute_preference(WAVE, SLOPE, 0.1) > 0
    assert compute_split_loss(SLOPE(x), y, 0.1) < compute_split_loss(WAVE(x), y, 0.1)
