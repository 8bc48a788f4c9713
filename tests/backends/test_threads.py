from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from helpers.requirements import needs

import symscreen
from symscreen.backends import Threads, count_available_cores


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
    assert count_available_cores() >= 1


@pytest.mark.slow
@needs("proc")
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_screen_runs_no_more_threads_than_asked_for(rng, jobs):
    x = rng.uniform(0.5, 2.0, (400, 6))
    y = x[:, 0] * x[:, 1] + rng.normal(0, 0.1, 400)
    options = {"layers": "ub", "screener": "t0,xi,pearson,kendall", "chunk_size": 40}
    options |= {"unary": "square,log", "binary": "mul,sub"}
    symscreen.screen(x, y, jobs=1, **options)  # libraries start their own idle threads when they are loaded

    def running():
        return len(list(Path("/proc/self/task").iterdir()))

    before, seen = running(), []
    symscreen.screen(x, y, jobs=jobs, progress=lambda *_: seen.append(running()), **options)
    assert max(seen) <= before + (jobs if jobs > 1 else 0)
