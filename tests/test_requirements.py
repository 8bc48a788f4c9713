"""Why tests may be skipped, and how --slow, --require-real and the closing line treat them."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.requirements import DATA_VARIABLE, REQUIREMENTS
from helpers.selection import describe_untested

from symscreen.screeners import SCREENERS

TESTS = Path(__file__).resolve().parent
CHECKOUT = TESTS.parent
SKIPPING = ("skip", "skipif", "importorskip", "skipIf", "skipUnless", "SkipTest", "xfail")


def list_nodes(*words):
    """Return the path and the syntax of what stands in the tests' files that contain one of the words."""
    for path in sorted(TESTS.rglob("*.py")):
        text = path.read_text()
        if any(word in text for word in words):
            for node in ast.walk(ast.parse(text)):
                yield path.relative_to(TESTS).as_posix(), node


@pytest.mark.slow
def test_no_test_is_skipped_but_through_the_list():
    found = {
        (path, name)
        for path, node in list_nodes(*SKIPPING)
        if (name := getattr(node, "attr", getattr(node, "id", None))) in SKIPPING
    }
    assert found == {("helpers/requirements.py", "skip"), ("helpers/requirements.py", "skipif")}


def test_no_doctest_is_skipped():
    assert not [path for path in (CHECKOUT / "symscreen").rglob("*.py") if "+SKIP" in path.read_text()]


@pytest.mark.slow
def test_tests_ask_for_what_the_list_has_and_nothing_in_it_is_unused():
    asked = {
        node.args[0].value
        for _, node in list_nodes("require(", "needs(")
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", None) in {"require", "needs"}
        and isinstance(node.args[0], ast.Constant)
    }
    of_screeners = {one.requirement[0] for one in SCREENERS.values() if getattr(one, "requirement", None)}
    assert asked | of_screeners == REQUIREMENTS.keys()


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_each_can_be_installed_or_has_a_reason_why_it_is_optional(name):
    one = REQUIREMENTS[name]
    is_data = DATA_VARIABLE in one.remedy
    assert bool(one.apt or one.pip) + is_data + ("Linux" in one.remedy) == 1
    assert bool(one.optional_because) == (
        (is_data and DATA_VARIABLE not in os.environ) or "Linux" in one.remedy
    )


def test_tests_look_for_no_file_beside_the_checkout():
    climbs = [
        (path, node.slice.value)
        for path, node in list_nodes(".parents[")
        if isinstance(node, ast.Subscript)
        and getattr(node.value, "attr", None) == "parents"
        and isinstance(node.slice, ast.Constant)
    ]
    assert climbs
    assert not [(path, steps) for path, steps in climbs if steps > path.count("/") + 1]


def test_the_closing_line_is_one_sentence_or_none():
    assert describe_untested(0, []) == ""
    octave, polars = (f"Skipped: {REQUIREMENTS[name].skip_reason}" for name in ("octave", "polars"))
    assert (
        describe_untested(1, []) == "Not tested: 1 slow test (pytest --slow); make test-all runs everything."
    )
    assert describe_untested(7, [octave, polars, octave]) == (
        "Not tested: 7 slow tests (pytest --slow) and 3 tests that need Octave (apt-get install octave), "
        "the package polars (pip install 'polars'); make test-all runs everything."
    )
    assert describe_untested(0, [polars]).startswith("Not tested: 1 test that needs the package polars (")


# Runs of pytest over a file of their own

CASES = """
import pytest
from helpers.requirements import needs, require

@pytest.mark.slow
def test_slow(): pass

@needs("octave")
def test_marked(): pass

def test_program(): require("octave")

def test_data(): require("gss-jobs")

def test_other(): pytest.skip("because")

@pytest.mark.xfail
def test_expected_failure(): assert False

def test_plain(): pass
"""


@pytest.fixture
def run_pytest(tmp_path):
    """Run pytest where there are no programs, and return its exit status, outcomes and last line."""
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["helpers.selection"]\n')
    (tmp_path / "test_cases.py").write_text(CASES)
    (tmp_path / "empty").mkdir()
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    surroundings = {key: value for key, value in os.environ.items() if key != DATA_VARIABLE}
    surroundings |= {"PATH": str(tmp_path / "empty"), "PYTHONPATH": path, "COLUMNS": "200"}
    surroundings["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"

    def run(*options, data=None):
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *options, tmp_path]
        given = surroundings | ({} if data is None else {DATA_VARIABLE: str(data)})
        done = subprocess.run(command, env=given, cwd=tmp_path, capture_output=True, text=True, check=False)
        outcomes = re.findall(r"^(PASSED|FAILED|ERROR|XFAIL) \S+::test_(\w+)", done.stdout, re.MULTILINE)
        lines = (done.stdout.strip() or done.stderr.strip()).splitlines()
        return done.returncode, {name: outcome.lower() for outcome, name in outcomes}, lines[-1]

    return run


@pytest.mark.slow
@pytest.mark.parametrize("processes", [(), ("-p", "xdist", "-n", "2")], ids=["one process", "two processes"])
def test_without_options_slow_tests_are_left_out_and_missing_parts_skipped(run_pytest, processes):
    status, outcomes, last = run_pytest(*processes)
    assert status == 0
    assert outcomes == {"plain": "passed", "expected_failure": "xfail"}
    assert last.startswith("Not tested: 1 slow test (pytest --slow) and 4 tests that need ")
    assert "Octave (apt-get install octave)" in last
    assert f"the survey of jobs (GSS), gss-jobs/ (set {DATA_VARIABLE}" in last
    assert last.endswith("; make test-all runs everything.")


@pytest.mark.slow
def test_what_is_missing_fails_where_the_real_parts_are_required(run_pytest, tmp_path):
    status, outcomes, last = run_pytest("--slow", "--require-real")
    fine = {"plain": "passed", "expected_failure": "xfail", "slow": "passed"}
    missing = {"marked": "error", "program": "failed", "other": "failed"}
    assert (status, outcomes) == (1, fine | missing)
    assert last.startswith("Not tested: 1 test that needs the survey of jobs")  # the variable is not set
    status, outcomes, last = run_pytest("--slow", "--require-real", data=tmp_path)
    assert (status, outcomes) == (1, fine | missing | {"data": "failed"})
    (tmp_path / "gss-jobs").mkdir()
    status, outcomes, last = run_pytest(
        "--slow", "--require-real", "--allow-missing", "octave", data=tmp_path
    )
    assert (status, outcomes) == (1, fine | {"other": "failed", "data": "passed"})
    assert last.startswith("Not tested: 2 tests that need Octave")


@pytest.mark.slow
def test_a_module_that_is_skipped_fails_too(run_pytest, tmp_path):
    (tmp_path / "test_cases.py").write_text('from helpers.requirements import require\nrequire("octave")\n')
    assert run_pytest()[0] == 5  # pytest's status where no test ran
    assert run_pytest("--require-real")[0] == 2
    assert run_pytest("--require-real", "--allow-missing", "octave")[0] == 5


def test_a_requirement_that_nobody_knows_is_refused(run_pytest):
    status, _, message = run_pytest("--allow-missing", "octave,matlab")
    assert status == 4
    assert "--allow-missing names ['matlab']; known are [" in message
