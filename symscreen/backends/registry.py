"""The available backends by name: threads, Dask, and backends of plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.backends.dask import Dask
from symscreen.backends.threads import Threads
from symscreen.errors import OptionError
from symscreen.messages import suggest
from symscreen.plugins import get_plugin, list_available_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from symscreen.backends.base import Backend


BACKENDS: dict[str, Callable[[int], Backend]] = {"threads": Threads, "dask": Dask}


def make_backend(name: str, jobs: int) -> Backend:
    """Make a backend.

    Parameters
    ----------
    name : str
        Name of the backend.
    jobs : int
        Number of threads or processes.

    Returns
    -------
    Backend

    Raises
    ------
    OptionError
        If there is no backend of that name; the message suggests similar names. Also if a plugin's backend
        cannot be used; the message names the plugin.

    Examples
    --------
    >>> make_backend("threads", 2)
    Threads(jobs=2)
    """
    if name in BACKENDS:
        return BACKENDS[name](jobs)
    plugin = get_plugin(name, "backend", BACKENDS)
    if plugin is None:
        raise OptionError(
            f"there is no backend {name!r}{suggest(name, list_available_names('backend', BACKENDS))}"
        )
    factory = plugin.load()
    try:
        backend: Backend = factory(jobs)
        is_valid = (backend.name, backend.jobs, list(backend.map(abs, [-2, 1]))) == (name, jobs, [2, 1])
    except Exception as error:
        raise plugin.build_error(f"fails: {type(error).__name__}: {error}") from error
    if not is_valid:
        raise plugin.build_error(
            "breaks a promise: its name, its jobs, or the outcomes in the order of the tasks"
        )
    return backend
