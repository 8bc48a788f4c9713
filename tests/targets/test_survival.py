"""Responses that are times until an event."""

from __future__ import annotations

import numpy as np
import pytest

from symscreen.errors import DataError
from symscreen.targets.survival import SurvivalTarget


def pairs_by_definition(times, events):
    """Yield i, j where it is known that row i met the event before row j did."""
    n = len(times)
    for i in range(n):
        for j in range(n):
            later = times[j] > times[i] or (times[j] == times[i] and not events[j])
            if events[i] and later:
                yield i, j


@pytest.mark.parametrize("ties", [False, True])
def test_comparable_pairs_are_those_of_the_rule(rng, ties):
    for _ in range(20):
        times = rng.integers(1, 6, 12).astype(float) if ties else rng.random(12)
        events = rng.random(12) < 0.6
        order = np.lexsort((~events, times))
        times, events = times[order], events[order]
        expected = len(list(pairs_by_definition(times, events)))
        if expected:
            assert SurvivalTarget(times, events).n_comparable_pairs == expected


def test_rows_that_cannot_be_compared_are_refused():
    with pytest.raises(
        DataError, match="no two of 3 rows can be compared by 'time': 0 of them have the event 'event'"
    ):
        SurvivalTarget(np.array([1.0, 2.0, 3.0]), np.zeros(3, dtype=bool))
