"""The default backend: threads of this process. The compiled kernels release the interpreter lock."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


Task = TypeVar("Task")
Outcome = TypeVar("Outcome")


def count_available_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True)
class Threads:
    """Runs tasks in threads.

    Parameters
    ----------
    jobs : int
        Number of threads. With 1, tasks run in the calling thread.
    """

    jobs: int
    name: str = field(default="threads", init=False, repr=False)

    def map(self, function: Callable[[Task], Outcome], tasks: Sequence[Task]) -> Iterator[Outcome]:
        """Yield the outcomes in the order of the tasks, with at most two tasks per thread in progress."""
        if self.jobs == 1 or len(tasks) <= 1:  # a single task does not pay for a thread
            yield from map(function, tasks)
            return
        queue = iter(tasks)
        with ThreadPoolExecutor(self.jobs, thread_name_prefix="symscreen") as executor:
            try:
                running = deque(executor.submit(function, task) for task in islice(queue, 2 * self.jobs))
                while running:
                    outcome = running.popleft().result()
                    running.extend(executor.submit(function, task) for task in islice(queue, 1))
                    yield outcome
            finally:
                executor.shutdown(wait=True, cancel_futures=True)
