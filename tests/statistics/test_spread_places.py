from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from symscreen.statistics.spread_places import select_spread_places


@given(st.integers(0, 5000), st.integers(0, 6000))
@example(0, 3)
@example(1, 1)
@example(7, 7)
@example(7, 8)
def test_places_are_distinct_and_at_about_equal_distances(n, limit):
    places = select_spread_places(n, limit)
    assert places.dtype == np.int64
    assert len(places) == min(n, limit)
    if n <= limit:
        assert places.tolist() == list(range(n))
    if len(places) > 1:
        assert (places[0], places[-1]) == (0, n - 1)
        steps = np.diff(places)
        assert steps.max() - steps.min() <= 1
        assert steps.min() >= 1
