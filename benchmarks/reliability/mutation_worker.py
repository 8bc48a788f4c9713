"""Runs the tests of a mutation, in a process that is forked from one with the libraries already imported.

The worker has a copy of the checkout of its own. A mutated file stands in that copy while its tests run.
Compiled kernels come from a cache of the worker. numba decides by a file's size and time whether a cached
kernel is valid, and does not see that a kernel's callee in another file has changed; so each run gets a copy
of the cache without the kernels of the mutated file and of all files that import it.
"""

from __future__ import annotations

import ast
import contextlib
import fcntl
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_MEMORY_LIMIT = 16 << 30  # bytes of address space: a mutation may ask for any size
LIBRARIES = (
    "numpy",
    "numba",
    "scipy.stats",
    "pandas",
    "sympy",
    "pytest",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "matplotlib.figure",
)


@dataclass(slots=True)
class Outcome:
    """How the tests of a mutation ended.

    Parameters
    ----------
    verdict : {"killed", "timeout", "survived"}
        Whether a test failed, the time was over, or all passed.
    killed_by : str
        The first test that failed, ``"import"`` if the tests could not be collected, or the signal that ended
        the process.
    message : str
        The first line of its failure.
    n_run : int
        How many tests ran.
    failed : list of str
        All tests that failed.
    """

    verdict: str
    killed_by: str = ""
    message: str = ""
    n_run: int = 0
    failed: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)  # pytest hashes its plugins
class SelectionPlugin:
    """A plugin of pytest that runs the chosen tests in their order and notes the first failure.

    Parameters
    ----------
    wanted : sequence of str
        Node ids, or files whose tests all run, in the order in which they run.
    """

    wanted: Sequence[str]
    found: dict[str, Any] = field(default_factory=lambda: {"n_run": 0})

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Keep the chosen tests, in their order."""
        places = {name: place for place, name in enumerate(self.wanted)}
        found = [(places.get(one.nodeid, places.get(one.nodeid.partition("::")[0])), one) for one in items]
        items[:] = [one for place, one in sorted(found, key=lambda pair: pair[0] or 0) if place is not None]

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count tests, and note the first failure and the names of all."""
        self.found["n_run"] += report.when == "call"
        if report.failed:
            self.found.setdefault("failed", []).append(report.nodeid)
        if report.failed and "killed_by" not in self.found:
            self.found |= {"killed_by": report.nodeid, "message": _shorten(report)}

    def pytest_collectreport(self, report: Any) -> None:
        """Note a file of tests that cannot be imported."""
        if report.failed and "killed_by" not in self.found:
            self.found |= {"killed_by": "import", "message": _shorten(report)}


def _shorten(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr).strip().splitlines()[-1]
    return str(text).partition("\n")[0][:160]


class Worker:
    """A copy of the checkout with a cache of kernels, in which tests run.

    Parameters
    ----------
    root : Path
        The checkout.
    folder : Path
        Where the copy and the cache stand; a later worker finds the cache again.
    libraries : sequence of str
        What is imported before a process is forked.
    """

    def __init__(self, root: Path, folder: Path, libraries: Sequence[str] = LIBRARIES) -> None:
        self.copy = folder / "copy"
        self._base_cache = folder / "kernels"
        self._run_cache = folder / "kernels-of-a-run"
        self._log = folder / "log.txt"
        self._base_cache.mkdir(parents=True, exist_ok=True)
        self._lock = (folder / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RuntimeError(f"another run uses {folder}") from None
        _copy_checkout(root, self.copy)
        self._importers = _find_importers(self.copy)
        for name in libraries:
            import_module(name)

    def run_mutated(self, path: str, text: str, tests: Sequence[str], limit: float) -> Outcome:
        """Run tests with one file mutated.

        Parameters
        ----------
        path : str
            The file, relative to the checkout.
        text : str
            Its mutated text.
        tests : sequence of str
            Node ids.
        limit : float
            The maximum time in seconds.

        Returns
        -------
        Outcome
            How they ended.
        """
        target = self.copy / path
        original = target.read_text()
        self._remove_bytecode(path)
        cache = self._copy_cache(path)
        try:
            target.write_text(text)
            return self._run(tests, limit, cache)
        finally:
            target.write_text(original)
            self._remove_bytecode(path)

    def run_unchanged(self, tests: Sequence[str], limit: float) -> Outcome:
        """Run all tests with no file mutated."""
        return self._run(tests, limit, self._base_cache, options=())

    def record(
        self, places: Sequence[str], make_plugin: Callable[[Path], Any], options: Sequence[str]
    ) -> None:
        """Run whole files or folders of tests with a plugin."""

        def run() -> None:
            import pytest

            pytest.main([*self._list_options(), *options, *places], plugins=[make_plugin(self.copy)])

        self._fork(run, 3600.0, self._base_cache)

    def _run(
        self, tests: Sequence[str], limit: float, cache: Path, options: Sequence[str] = ("-x",)
    ) -> Outcome:
        target = self.copy.parent / "outcome.json"
        target.unlink(missing_ok=True)

        def run() -> None:
            import pytest

            plugin = SelectionPlugin(tests)
            files = list(dict.fromkeys(name.partition("::")[0] for name in tests))
            sys.dont_write_bytecode = True
            # the option is that of tests/conftest.py, which is not loaded for doctests alone
            slow = ["--slow"] if any(name.startswith("tests/") for name in files) else []
            status = pytest.main([*self._list_options(), *options, *slow, *files], plugins=[plugin])
            target.write_text(json.dumps(plugin.found | {"status": int(status)}))

        ended = self._fork(run, limit, cache)
        if ended is None:
            return Outcome("timeout", message=f"more than {limit:.0f} s")
        if not target.exists():
            return Outcome("killed", f"the process ended with {ended}")
        found = json.loads(target.read_text())
        if found["status"] == 0:
            return Outcome("survived", n_run=found["n_run"])
        if found["status"] in {3, 4}:
            raise RuntimeError(f"pytest itself failed; {self._log} says why")
        if found["status"] == 5:  # no test collected
            return Outcome("killed", "import", "the tests are not there any more")
        by = found.get("killed_by", f"exit status {found['status']} of pytest")
        return Outcome("killed", by, found.get("message", ""), found["n_run"], found.get("failed", []))

    def _list_options(self) -> list[str]:
        return [
            "-q",
            "-p",
            "no:cacheprovider",
            f"--rootdir={self.copy}",
            "-c",
            str(self.copy / "pyproject.toml"),
        ]

    def _fork(self, run: Callable[[], None], limit: float, cache: Path) -> int | None:
        """Run a function in a forked process; return the wait status, or None after the limit."""
        child = os.fork()
        if child == 0:
            try:
                self._prepare_child(cache, limit)
                run()
                sys.stdout.flush()
            except BaseException as error:  # noqa: BLE001 - the child must not go on in the parent's code
                sys.stderr.write(repr(error))
                os._exit(3)
            os._exit(0)
        end = time.monotonic() + limit
        try:
            while time.monotonic() < end:
                done, status = os.waitpid(child, os.WNOHANG)
                if done:
                    return os.waitstatus_to_exitcode(status)
                time.sleep(0.05)
        finally:
            _kill_group(child)  # what tests have started ends with them
        os.waitpid(child, 0)
        return None

    def _prepare_child(self, cache: Path, limit: float) -> None:
        import numba

        os.setsid()
        # a mutation that loops forever ends even if the process that watches it was killed
        seconds = int(limit * (os.cpu_count() or 1)) + 10
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_LIMIT, _MEMORY_LIMIT))
        with self._log.open("w") as log:
            for stream in (1, 2):
                os.dup2(log.fileno(), stream)
        os.chdir(self.copy)
        own = str(Path(__file__).parent.parent)
        sys.path[:] = [str(self.copy), *(one for one in sys.path if one not in {"", own, str(self.copy)})]
        os.environ |= {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join(sys.path[:1])}
        numba.config.CACHE_DIR = str(cache)

    def _copy_cache(self, path: str) -> Path:
        """Copy the cache by links, without the kernels that depend on a file."""
        shutil.rmtree(self._run_cache, ignore_errors=True)
        changed = {Path(one) for one in self._importers.get(path, set()) | {path}}

        def skip(folder: str, names: list[str]) -> list[str]:
            return [
                name
                for name in names
                for one in changed
                if name.startswith(f"{one.stem}.") and Path(folder).name.startswith(f"{one.parent.name}_")
            ]

        shutil.copytree(self._base_cache, self._run_cache, copy_function=os.link, ignore=skip)
        return self._run_cache

    def _remove_bytecode(self, path: str) -> None:
        target = self.copy / path
        for one in (target.parent / "__pycache__").glob(f"{target.stem}.*.pyc"):
            one.unlink()


def _copy_checkout(root: Path, target: Path) -> None:
    """Copy what git tracks or would; the time of an equal file stays, so that its kernels stay valid."""
    listing = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.split("\0")
    names = [name for name in names if name and (root / name).is_file()]
    if target.exists():
        for path in [*target.rglob("*.py")]:
            if path.relative_to(target).as_posix() not in names:
                path.unlink()
    for name in names:
        source, place = root / name, target / name
        if not place.exists() or place.read_bytes() != source.read_bytes():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, place)


def _find_importers(root: Path) -> dict[str, set[str]]:
    """Find for each file the files that import it, directly or not, and compile kernels."""
    files = {
        path.relative_to(root).as_posix(): path.read_text() for path in (root / "symscreen").rglob("*.py")
    }
    imports = {name: set(_list_imports(text, files)) for name, text in files.items()}
    found: dict[str, set[str]] = {}
    for name in files:
        reached = {name}
        while more := {other for other, used in imports.items() if other not in reached and used & reached}:
            reached |= more
        found[name] = {other for other in reached if "@compile_kernel" in files[other]}
    return found


def _list_imports(text: str, files: Iterable[str]) -> Iterable[str]:
    known = set(files)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            stems = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
        elif isinstance(node, ast.Import):
            stems = [one.name for one in node.names]
        else:
            continue
        for stem in stems:
            path = stem.replace(".", "/")
            yield from {f"{path}.py", f"{path}/__init__.py"} & known


def _kill_group(child: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
