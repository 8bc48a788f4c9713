"""Run a function in another process that has imported symscreen, which saves most of the start of a process.

The processes are forked from a server that computes nothing itself. They share no state with this process.
"""

from __future__ import annotations

from multiprocessing import get_all_start_methods, get_context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_PRELOADED = ["pandas", "scipy.stats", "psutil", "symscreen.cli.command", "symscreen.screening.screen"]


def get_fork_context(*modules: str) -> Any:
    """Return the context of processes that are forked; the server imports the modules if it starts now."""
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload([*modules, *_PRELOADED])
    return context


def run_forked(function: Callable[..., object], *arguments: Any, **options: Any) -> int:
    """Call a function in a process of its own; return the exit status, which is negative for a signal."""
    process = get_fork_context().Process(target=function, args=arguments, kwargs=options)
    process.start()
    process.join()
    status = process.exitcode
    process.close()
    assert status is not None
    return int(status)
