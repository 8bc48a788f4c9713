from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.errors import DataError, OptionError
from symscreen.trees import (
    PiecewiseMonotone,
    compare_interval_losses,
    compute_log_decision_ratio,
    compute_split_loss,
    find_preimages,
    refine_intervals,
)

LINE = PiecewiseMonotone((0.0, 1.0), [lambda x: x + 1.2])
BUMP = PiecewiseMonotone((0.0, 0.5, 1.0), [lambda x: -4 * x**2 + 4 * x])
WAVE = PiecewiseMonotone((0.0, 0.25, 0.75, 1.0), [lambda x: np.sin(2 * np.pi * x)])
SLOPE = PiecewiseMonotone((0.0, 1.0), [lambda x: 1.2 - 2 * x])
MAPS = st.sampled_from([LINE, BUMP, WAVE, SLOPE])


@st.composite
def tables(draw):
    n = draw(st.integers(2, 12))
    x = draw(st.lists(st.integers(0, 24).map(lambda k: k / 24), min_size=n, max_size=n))
    y = draw(st.lists(st.integers(-5, 5), min_size=n, max_size=n))
    return np.array(x), np.array(y, dtype=float)


def squared(values):
    return sum((value - np.mean(values)) ** 2 for value in values)


CUTS = st.tuples(st.floats(-1.1, 2.4), st.floats(-1.1, 2.4))


@given(MAPS, MAPS, CUTS, tables())
def test_losses_follow_from_the_pre_images(first, second, cuts, table):
    # eq. of Proposition 8 (iii), with x on either side of θ⁻¹(C)
    x, y = table
    intervals = refine_intervals(first, second)
    compared = compare_interval_losses(first, second, cuts, x, y)
    assert [found.interval for found in compared] == list(intervals)
    assert sum(found.n_rows for found in compared) == len(x)
    for rule, (transform, cut) in enumerate(zip((first, second), cuts, strict=True)):
        for found, point in zip(compared, find_preimages(transform, cut, intervals), strict=True):
            inside = np.array([value in found.interval for value in x])
            assert found.preimages[rule] == (not np.isnan(point))
            values, inputs = y[inside], x[inside]
            if np.isnan(point):
                expected = squared(values)
            elif (np.abs(inputs - point) < 1e-9).any():
                continue  # the sides of a row at the pre-image depend on rounding
            else:
                expected = squared(values[inputs < point]) + squared(values[inputs > point])
            assert found.losses[rule] == pytest.approx(expected, abs=1e-9)


@given(MAPS, MAPS, CUTS, tables())
def test_the_cases_are_those_of_the_proposition(first, second, cuts, table):
    for found in compare_interval_losses(first, second, cuts, *table):
        assert found.log_ratio == found.losses[1] - found.losses[0]
        if found.case == "i":
            assert found.preimages == (0, 0)
            assert (found.log_ratio, found.preferred) == (0.0, None)
        elif found.case == "ii":
            splits = found.preimages.index(1)
            assert sum(found.preimages) == 1
            assert found.preferred in {None, splits}
            assert found.losses[splits] <= found.losses[1 - splits] + 1e-9
        else:
            assert found.preimages == (1, 1)
            if found.preferred is not None:
                assert found.losses[found.preferred] == min(found.losses)
                assert (found.log_ratio > 0) == (found.preferred == 0)


@given(tables(), CUTS)
def test_two_monotone_maps_are_compared_over_all_rows(table, cuts):
    # one interval: eq. (9)
    x, y = table
    (found,) = compare_interval_losses(LINE, SLOPE, cuts, x, y)
    expected = compute_log_decision_ratio((LINE(x), cuts[0]), (SLOPE(x), cuts[1]), y)
    assert found.log_ratio == pytest.approx(expected, abs=1e-9)


def test_each_of_the_three_cases_prefers_what_it_says():
    x = np.array([0.05, 0.15, 0.3, 0.4, 0.6, 0.8])
    y = np.array([0.0, 0.0, 4.0, 5.0, 1.0, 2.0])
    none = compare_interval_losses(LINE, BUMP, (3.0, -1.0), x, y)
    assert [found.case for found in none] == ["i", "i"]
    one = compare_interval_losses(LINE, BUMP, (1.4, -1.0), x, y)
    assert [(found.case, found.preferred) for found in one] == [("ii", 0), ("i", None)]
    both = compare_interval_losses(LINE, BUMP, (1.3, 0.8), x, y)  # cuts at 0.1 and 0.28
    assert [(found.case, found.preferred) for found in both] == [("iii", 1), ("ii", 1)]
    assert both[0].losses[1] == 0.5
    late = compare_interval_losses(LINE, BUMP, (1.4, 0.9), x, y)  # at 0.2 and 0.34
    assert (late[0].case, late[0].preferred) == ("iii", 0)


def test_the_losses_of_the_intervals_are_not_that_of_the_node():
    x, y = np.array([0.1, 0.4, 0.6, 0.9]), np.array([1.0, 2.0, 11.0, 12.0])
    compared = compare_interval_losses(LINE, BUMP, (1.3, 0.7), x, y)
    assert sum(found.losses[1] for found in compared) == 0.0
    assert compute_split_loss(BUMP(x), y, 0.7) == pytest.approx(2 * 5.5**2 + 2 * 4.5**2)


def test_the_order_of_the_rows_has_no_effect(rng):
    x, y = rng.random(30), rng.normal(size=30)
    order = rng.permutation(30)
    assert compare_interval_losses(WAVE, BUMP, (0.3, 0.4), x, y) == compare_interval_losses(
        WAVE, BUMP, (0.3, 0.4), x[order], y[order]
    )


def test_an_interval_without_rows_is_undecided():
    found = compare_interval_losses(LINE, BUMP, (1.3, 0.5), [0.1, 0.2], [0.0, 1.0])[1]
    assert (found.n_rows, found.losses, found.preferred) == (0, (0.0, 0.0), None)


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ((LINE, BUMP, (1.0, np.nan), [0.1, 0.2], [0.0, 1.0]), OptionError, "threshold is NaN"),
        ((LINE, BUMP, (1.0, 1.0), [0.1, 1.2], [0.0, 1.0]), DataError, "outside the domain"),
        ((LINE, BUMP, (1.0, 1.0), [0.1], [0.0, 1.0]), DataError, "x has 1 rows"),
        (
            (LINE, PiecewiseMonotone((0.0, 2.0), [np.exp]), (1.0, 1.0), [0.1, 1.2], [0.0, 1.0]),
            OptionError,
            "same domain",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, error, said):
    with pytest.raises(error, match=said):
        compare_interval_losses(*arguments)
