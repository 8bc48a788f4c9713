from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.errors import DataError, OptionError
from symscreen.trees import PiecewiseMonotone, find_preimages, refine_intervals, shift_above

LINE = PiecewiseMonotone((0.0, 1.0), [lambda x: x])
BUMP = PiecewiseMonotone((0.0, 0.5, 1.0), [lambda x: -4 * x**2 + 4 * x])
# the fourth map of Figure 4
TURNS = PiecewiseMonotone(
    (-1.0, -0.5, 0.0, 0.5, 1.0), [lambda x: x + 1, lambda x: -x, lambda x: x, lambda x: -x + 1]
)


def test_a_map_is_its_pieces():
    x = np.array([-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0])
    expected = np.select([x < -0.5, x < 0, x < 0.5], [x + 1, -x, x], -x + 1)
    assert TURNS(x).tolist() == expected.tolist()
    assert float(BUMP(0.5)) == 1.0
    assert BUMP(np.array([[0.25], [1.0]])).tolist() == [[0.75], [0.0]]


def test_outside_its_domain_a_map_has_no_value():
    for x in (-0.1, 1.1, np.nan, np.inf):
        with pytest.raises(DataError, match="outside the domain"):
            BUMP(x)


@pytest.mark.parametrize(
    ("breakpoints", "pieces", "said"),
    [
        ((0.0,), [np.exp], "at least two"),
        ((1.0, 0.0), [np.exp], "ascending"),
        ((0.0, np.inf), [np.exp], "finite"),
        ((0.0, 1.0, 2.0), [np.exp] * 3, "give one per interval"),
        ((0.0, 1.0), [lambda x: -4 * x**2 + 4 * x], "not strictly monotone"),
        ((0.0, 1.0), [np.ones_like], "not strictly monotone"),
        ((0.0, 1.0), [lambda x: 1.0], "array of finite values"),  # noqa: ARG005
        ((-1.0, 0.0, 1.0), [np.exp], "neither turns nor jumps"),
        ((-1.0, 1.0), [lambda x: np.where(x < 0, x, np.nan)], "array of finite values"),
    ],
)
def test_invalid_piecewise_monotone_maps_are_rejected(breakpoints, pieces, said):
    with pytest.raises(OptionError, match=said):
        PiecewiseMonotone(breakpoints, pieces)


def test_a_jump_on_the_way_is_a_breakpoint():
    step = PiecewiseMonotone((0.0, 1.0, 2.0), [lambda x: x, lambda x: x + 5])
    assert len(step.intervals) == 2
    assert step([0.0, 1.0, 2.0]).tolist() == [0.0, 6.0, 7.0]
    assert find_preimages(step, 3.0).tolist() == pytest.approx([np.nan, np.nan], nan_ok=True)
    assert np.isfinite(find_preimages(step, 1.0)).tolist() == [False, False]  # 1 is a limit, not a value
    assert find_preimages(step, 6.0).tolist() == pytest.approx([np.nan, 1.0], nan_ok=True)


def test_refine_intervals_are_the_intersections():
    # Definition 5
    other = PiecewiseMonotone((-1.0, -0.25, 1.0), [lambda x: (x + 0.25) ** 2])
    found = refine_intervals(TURNS, other)
    pieces = {(max(a.low, b.low), min(a.high, b.high)) for a in TURNS.intervals for b in other.intervals}
    assert [(one.low, one.high) for one in found] == sorted(p for p in pieces if p[0] < p[1])
    for x in np.linspace(-1, 1, 33):
        assert sum(x in one for one in found) == 1


def test_maps_of_two_domains_are_refused():
    with pytest.raises(OptionError, match="the same domain"):
        refine_intervals(LINE, TURNS)


@given(st.sampled_from([LINE, BUMP, TURNS]), st.floats(0, 1))
def test_where_a_map_takes_a_value_is_its_pre_image(transform, share):
    low, high = transform.breakpoints[0], transform.breakpoints[-1]
    t = low + share * (high - low)
    found = find_preimages(transform, float(transform(t)))
    place = next(k for k, interval in enumerate(transform.intervals) if t in interval)
    # near a turn θ is flat and determines t only to the square root of its precision
    assert found[place] == pytest.approx(t, abs=1e-7)


@given(st.sampled_from([LINE, BUMP, TURNS]), st.floats(-1.5, 1.5))
def test_every_pre_image_takes_the_value_and_no_sign_change_is_missed(transform, value):
    # Corollary 6: 0 or 1 on each interval
    for interval, t in zip(transform.intervals, find_preimages(transform, value), strict=True):
        # just below an open end the map has the values of its piece
        grid = np.linspace(interval.low, np.nextafter(interval.high, -np.inf), 1001)
        above = transform(grid) - value
        if np.isnan(t):
            assert (above >= 0).all() or (above <= 0).all()
        else:
            assert t in interval
            assert float(transform(t)) == pytest.approx(value, abs=1e-14)


def test_pre_images_on_refine_intervals():
    found = find_preimages(LINE, 0.75, refine_intervals(LINE, BUMP))
    assert found.tolist() == pytest.approx([np.nan, 0.75], nan_ok=True)
    with pytest.raises(OptionError, match="refine_intervals"):
        find_preimages(BUMP, 0.75, LINE.intervals)
    with pytest.raises(OptionError, match="NaN"):
        find_preimages(BUMP, np.nan)


def test_a_flat_root_is_found():
    cube = PiecewiseMonotone((-1.0, 1.0), [lambda x: x**3])
    assert abs(find_preimages(cube, 0.0)[0]) < 1e-5
    assert find_preimages(cube, 1e-30)[0] == pytest.approx(1e-10, abs=1e-5)


def test_apart_no_value_is_shared():
    lifted = shift_above(BUMP, TURNS)
    x = np.linspace(0, 1, 101)
    assert lifted(x).min() > TURNS(np.linspace(-1, 1, 1001)).max()
    np.testing.assert_allclose(lifted(x) - lifted(0.0), BUMP(x) - BUMP(0.0), atol=1e-14)
    assert shift_above(lifted, TURNS).constant == pytest.approx(lifted.constant)  # not higher than necessary
