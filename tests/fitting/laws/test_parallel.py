"""Steps in threads give the outcomes of steps one after the other."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from symscreen.fitting.laws.parallel import map_in_threads


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_outcomes_are_in_the_order_of_the_tasks(jobs):
    assert map_in_threads(lambda k: k * k, range(9), jobs) == [k * k for k in range(9)]
    assert map_in_threads(abs, [], jobs) == []


def test_several_threads_run_if_there_are_several_tasks():
    barrier = threading.Barrier(2, timeout=60)  # passed only if two tasks run at the same time
    assert sorted(map_in_threads(lambda _: barrier.wait(), [0, 1], 2)) == [0, 1]


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.filterwarnings("error")
def test_floating_point_warnings_are_ignored_and_errors_are_raised(jobs):
    assert map_in_threads(lambda x: np.log(np.full(3, x))[0], [0.0, -1.0], jobs)[0] == -np.inf
    with pytest.raises(KeyError):
        map_in_threads(lambda key: {}[key], ["a", "b"], jobs)
