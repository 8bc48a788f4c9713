from __future__ import annotations

import threading
import time

import pytest

from symscreen.backends import Threads, available_cores


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_outcomes_come_in_the_order_of_the_tasks(jobs):
    def slow_first(task):
        time.sleep(0.002 * (task % 3 == 0))
        return task * task

    assert list(Threads(jobs).map(slow_first, range(40))) == [task * task for task in range(40)]


def test_no_tasks_give_no_outcomes():
    assert list(Threads(3).map(str, [])) == []


def test_only_a_few_tasks_are_under_way():
    started = []

    def task(number):
        started.append(number)
        return number

    outcomes = Threads(2).map(task, range(1000))
    next(outcomes)
    time.sleep(0.05)
    assert len(started) <= 5
    outcomes.close()


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failing_task_ends_the_map_and_leaves_no_thread(jobs):
    def fail(number):
        if number == 3:
            raise ZeroDivisionError
        return number

    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        list(Threads(jobs).map(fail, range(100)))
    assert threading.active_count() == before


def test_there_is_a_core():
    assert available_cores() >= 1
