"""Run independent steps of a search in threads.

Most of their time is spent in numpy and in kernels, which release the interpreter lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from symscreen.backends.threads import Threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


Task = TypeVar("Task")
Outcome = TypeVar("Outcome")


def map_in_threads(function: Callable[[Task], Outcome], tasks: Sequence[Task], jobs: int) -> list[Outcome]:
    """Return what a function returns for each task, in the order of the tasks.

    The number of threads has no effect on it. Floating-point warnings are ignored.
    """

    def run(task: Task) -> Outcome:
        with np.errstate(all="ignore"):
            return function(task)

    return list(Threads(min(jobs, max(len(tasks), 1))).map(run, tasks))
