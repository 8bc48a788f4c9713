"""Which tests run, and what a run says about the others: ``--slow``, ``--require-real``, the closing line.

Without ``--slow``, tests marked ``slow`` are deselected. With ``--require-real``, a skip is a failure, except
where its requirement in helpers/requirements.py is optional or ``--allow-missing`` names it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from helpers.requirements import REQUIREMENTS, find_requirement

if TYPE_CHECKING:
    from collections.abc import Iterable

_SLOW_COUNT = pytest.StashKey[int]()


def pytest_addoption(parser):
    group = parser.getgroup("symscreen")
    group.addoption("--slow", action="store_true", help="run the tests that are marked slow, too")
    group.addoption(
        "--require-real",
        action="store_true",
        help="fail instead of skipping where a program, a package or given data are missing",
    )
    group.addoption(
        "--allow-missing",
        default="",
        metavar="NAMES",
        help="what --require-real does not ask for: names in helpers/requirements.py, separated by commas",
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: only `make test-all` and `pytest --slow` run it")
    unknown = _read_allowed(config) - REQUIREMENTS.keys()
    if unknown:
        raise pytest.UsageError(f"--allow-missing names {sorted(unknown)}; known are {sorted(REQUIREMENTS)}")


def _read_allowed(config) -> set[str]:
    return set(filter(None, config.getoption("--allow-missing").split(",")))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if config.getoption("--slow"):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    items[:] = [item for item in items if not item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=slow)
    config.stash[_SLOW_COUNT] = len(slow)


# A skip becomes a failure


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if not hasattr(report, "wasxfail"):
        _refuse_skip(item.config, report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    _refuse_skip(collector.config, report)
    return report


def _refuse_skip(config, report) -> None:
    if not report.skipped or not config.getoption("--require-real"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    name = find_requirement(reason)
    if name is None or not (REQUIREMENTS[name].optional_because or name in _read_allowed(config)):
        report.outcome = "failed"
        report.longrepr = (
            f"{reason.removeprefix('Skipped: ')}; --require-real refuses to skip a test for this"
        )


# The closing line


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    """Take from a process of pytest-xdist how many slow tests it deselected: each deselects the same."""
    del error
    node.config.stash[_SLOW_COUNT] = getattr(node, "workeroutput", {}).get("slow", 0)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session):
    slow = session.config.stash.get(_SLOW_COUNT, 0)
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["slow"] = slow
        return (yield)
    result = yield  # after which the terminal has printed its own last line
    terminal = session.config.pluginmanager.getplugin("terminalreporter")
    if terminal is not None:
        skipped = [report.longrepr[2] for report in terminal.stats.get("skipped", [])]
        line = describe_untested(session.config.stash.get(_SLOW_COUNT, 0), skipped)
        if line:
            terminal.write_line(line)
    return result


def describe_untested(slow: int, skip_reasons: Iterable[str]) -> str:
    """Return one sentence on what a run left out and how to get it, or the empty text."""
    reasons = [reason.removeprefix("Skipped: ") for reason in skip_reasons]
    parts = []
    if slow:
        parts.append(f"{_count_tests(slow, 'slow ')} (pytest --slow)")
    if reasons:
        remedies: dict[str, list[str]] = {}
        for name in sorted({find_requirement(reason) or reason for reason in reasons}):
            one = REQUIREMENTS.get(name)
            remedy, what = (one.remedy, one.what) if one else ("not in helpers/requirements.py", name)
            remedies.setdefault(remedy, []).append(what)
        wanted = ", ".join(f"{' and '.join(what)} ({remedy})" for remedy, what in remedies.items())
        verb = "needs" if len(reasons) == 1 else "need"
        parts.append(f"{_count_tests(len(reasons), '')} that {verb} {wanted}")
    return f"Not tested: {' and '.join(parts)}; make test-all runs everything." if parts else ""


def _count_tests(number: int, adjective: str) -> str:
    return f"{number} {adjective}test{'s' * (number != 1)}"
