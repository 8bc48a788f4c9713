"""Which test reaches which line: one recorded run of the tests, and what to run for a mutation.

Lines are recorded by coverage.py (``pip install coverage``). It sees no compiled kernel, so a line of a
kernel counts as reached by the tests that execute a line of Python that names the kernel, or another kernel
that calls it, and by the tests of a file that names it. A line at the level of a module or class (a constant,
a default) is executed by the import: it counts as reached by the tests that execute a function naming that
constant, or any function of the module.
"""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from reliability.mutants import Mutation

_KERNEL_DECORATOR = "compile_kernel"


@dataclass(frozen=True, slots=True)
class TestRecord:
    """What a test executed.

    Parameters
    ----------
    name : str
        Its node id.
    seconds : float
        The time of its recorded run, with what it set up.
    slow : bool
        Whether it is marked `slow`.
    lines : dict of str to frozenset of int
        The lines of each file, relative to the checkout.
    """

    name: str
    seconds: float
    slow: bool
    lines: dict[str, frozenset[int]]

    @property
    def file(self) -> str:
        """The file of the test."""
        return self.name.partition("::")[0]


class RecordingPlugin:
    """A plugin of pytest that notes the lines, the time and the mark of each test that passes.

    Parameters
    ----------
    root : Path
        The checkout whose package is recorded.
    target : Path
        The file to which the record is appended.
    slow_only : bool
        Whether to run the tests marked `slow` and no others.
    """

    def __init__(self, root: Path, target: Path, *, slow_only: bool) -> None:
        import coverage

        self._root = root
        self._target = target
        self._slow_only = slow_only
        self._coverage = coverage.Coverage(
            data_file=None, config_file=False, source=[str(root / "symscreen")], branch=False
        )
        self._seconds: dict[str, float] = defaultdict(float)
        self._failed: set[str] = set()
        self._passed: dict[str, bool] = {}
        self._coverage.start()

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Keep the slow tests alone, if they are asked for."""
        if self._slow_only:
            items[:] = [item for item in items if item.get_closest_marker("slow")]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Count lines for this test."""
        self._coverage.switch_context(nodeid)

    def pytest_runtest_logfinish(self) -> None:
        """Count lines for no test."""
        self._coverage.switch_context("")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note how a test ended, and its time."""
        self._seconds[report.nodeid] += report.duration
        if report.when == "call" and report.passed:
            self._passed[report.nodeid] = "slow" in report.keywords
        elif not report.passed:
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write the record."""
        self._coverage.stop()
        data = self._coverage.get_data()
        lines: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for path in data.measured_files():
            name = path.removeprefix(f"{self._root}/")
            for line, contexts in data.contexts_by_lineno(path).items():
                for context in contexts:
                    lines[context][name].append(line)
        with self._target.open("a") as stream:
            for test, slow in self._passed.items():
                if test not in self._failed:
                    seconds = round(self._seconds[test], 4)
                    found = {"name": test, "seconds": seconds, "slow": slow, "lines": lines[test]}
                    stream.write(json.dumps(found) + "\n")


def read_records(path: Path) -> list[TestRecord]:
    """Read what `RecordingPlugin` wrote; of a test that is recorded twice, the last record."""
    found: dict[str, TestRecord] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        record = json.loads(line)
        lines = {name: frozenset(numbers) for name, numbers in record["lines"].items()}
        found[record["name"]] = TestRecord(record["name"], record["seconds"], record["slow"], lines)
    return list(found.values())


class TestSelector:
    """Chooses the tests that reach a mutation, those most likely to notice it first.

    Parameters
    ----------
    root : Path
        The checkout.
    records : iterable of TestRecord
        What the tests executed.
    """

    def __init__(self, root: Path, records: Iterable[TestRecord]) -> None:
        self._records = list(records)
        self._files = {
            path.relative_to(root).as_posix(): ast.parse(path.read_text())
            for path in sorted((root / "symscreen").rglob("*.py"))
        }
        self._texts = {
            path.relative_to(root).as_posix(): path.read_text()
            for path in (root / "tests").rglob("test_*.py")
        }
        self._sharing = {name for name, text in self._texts.items() if "scope=" in text or "cache" in text}

    def choose(self, mutation: Mutation) -> tuple[list[TestRecord], int]:
        """Choose the tests for a mutation.

        Parameters
        ----------
        mutation : Mutation
            The mutation.

        Returns
        -------
        tests : list of TestRecord
            The tests that reach it; after them the others of their files, if a file shares what its tests
            compute, so that only the first of them executes the line. A statement of a module is executed on
            import: all tests in the mirrored folders count as reaching it, since a test that reads what it
            defines may execute no function of the module. Mirrored tests stand first, slow ones last, quick
            files before long ones.
        n_reaching : int
            How many reach it.
        """
        names = self._find_assigned_names(mutation)
        kernels = self._find_calling_kernels(names) - names if names else self._find_kernels(mutation)
        wanted = self._find_uses(mutation, names) if names else self._find_lines(mutation, kernels)
        direct = {name for name, text in self._texts.items() if any(kernel in text for kernel in kernels)}
        if _is_outside_functions(self._files[mutation.path], mutation):
            direct |= {name for name in self._texts if _is_in_mirrored_folder(name, mutation.path)}
        reaching = [
            one
            for one in self._records
            if one.file in direct
            or any(
                not numbers.isdisjoint(one.lines.get(name, frozenset())) for name, numbers in wanted.items()
            )
        ]
        chosen = {one.name for one in reaching}
        shared = {one.file for one in reaching} & self._sharing
        others = [one for one in self._records if one.file in shared and one.name not in chosen]
        return [*_sort_tests(reaching, mutation), *_sort_tests(others, mutation)], len(reaching)

    def _find_kernels(self, mutation: Mutation) -> set[str]:
        """Find the kernel that has the line, and all that call it."""
        own = {
            one.name
            for one in _list_functions(self._files[mutation.path])
            if one.lineno <= mutation.line <= _get_end(one) and _is_kernel(one)
        }
        return self._find_calling_kernels(own) if own else set()

    def _find_lines(self, mutation: Mutation, kernels: set[str]) -> dict[str, set[int]]:
        """Find the lines of which a test must execute one, by file."""
        if kernels:
            return self._find_named_lines(kernels)
        if _is_outside_functions(self._files[mutation.path], mutation):
            return self._find_uses(mutation, set())
        return {mutation.path: set(range(mutation.first, mutation.last + 1))}

    def _find_assigned_names(self, mutation: Mutation) -> set[str]:
        """Find the names that a statement of a module or class assigns; none inside a function."""
        tree = self._files[mutation.path]
        names: set[str] = set()
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Assign | ast.AnnAssign)
                and node.lineno <= mutation.line <= _get_end(node)
                and not any(one.lineno <= node.lineno <= _get_end(one) for one in _list_functions(tree))
            ):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names |= {
                    one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)
                }
        return names

    def _find_uses(self, mutation: Mutation, names: set[str]) -> dict[str, set[int]]:
        """Find the lines that use names which a statement of a module or class assigns, and its functions."""
        tree = self._files[mutation.path]
        found = self._find_named_lines(self._find_calling_kernels(names)) if names else {}
        own = found.setdefault(mutation.path, set())
        for function in _list_functions(tree):
            own |= set(range(function.body[0].lineno, _get_end(function) + 1))
        return found

    def _find_calling_kernels(self, names: set[str]) -> set[str]:
        """Add the names of all kernels that use one of these names, directly or not."""
        uses = {
            one.name: _list_names(one)
            for tree in self._files.values()
            for one in _list_functions(tree)
            if _is_kernel(one)
        }
        found = set(names)
        while more := {name for name, used in uses.items() if name not in found and used & found}:
            found |= more
        return found

    def _find_named_lines(self, names: set[str]) -> dict[str, set[int]]:
        """Find the lines of functions in Python that use one of these names."""
        found: dict[str, set[int]] = defaultdict(set)
        for path, tree in self._files.items():
            for function in _list_functions(tree):
                if _is_kernel(function):
                    continue
                for statement in function.body:
                    for node in ast.walk(statement):
                        if _get_name(node) in names:
                            found[path].add(node.lineno)  # type: ignore[attr-defined]
        return found


def _sort_tests(tests: list[TestRecord], mutation: Mutation) -> list[TestRecord]:
    """Sort tests; those of a file stand together, since they share what the file sets up."""
    totals: dict[tuple[str, bool], float] = defaultdict(float)
    for one in tests:
        totals[one.file, one.slow] += one.seconds
    folders = mutation.path.split("/")[1:-1]

    def compute_key(one: TestRecord) -> tuple[Any, ...]:
        parts = one.file.split("/")[1:-1]
        common = sum(1 for _ in _take_common(folders, parts))
        return one.slow, one.file != mutation.path, -common, totals[one.file, one.slow], one.file, one.seconds

    return sorted(tests, key=compute_key)


def _is_in_mirrored_folder(file: str, path: str) -> bool:
    """Return whether a file of tests is in the folder that mirrors the one of a module, or above it."""
    parts, folders = file.split("/")[1:-1], path.split("/")[1:-1]
    return bool(parts) and parts == folders[: len(parts)]


def _take_common(first: list[str], second: list[str]) -> Iterator[str]:
    for one, other in zip(first, second, strict=False):
        if one != other:
            return
        yield one


def _list_functions(tree: ast.AST) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def _is_kernel(function: ast.FunctionDef) -> bool:
    return any(_get_name(one) == _KERNEL_DECORATOR for one in function.decorator_list)


def _is_outside_functions(tree: ast.AST, mutation: Mutation) -> bool:
    """Say whether the line is in no function's body."""
    return not any(one.body[0].lineno <= mutation.line <= _get_end(one) for one in _list_functions(tree))


def _list_names(node: ast.AST) -> set[str]:
    return {name for one in ast.walk(node) if (name := _get_name(one))}


def _get_name(node: ast.AST) -> str:
    return str(getattr(node, "id", "") or getattr(node, "attr", ""))


def _get_end(node: ast.AST) -> int:
    return int(getattr(node, "end_lineno", None) or node.lineno)  # type: ignore[attr-defined]
