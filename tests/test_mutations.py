"""The tool that mutates the package: what it replaces, which tests it runs, and how it judges them."""

from __future__ import annotations

import ast
import importlib
import json
import os
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"

TOY = '''"""A toy."""

LIMIT = 3


def clip(value: int = 0) -> int:
    """Return 1 of 2."""
    if value < 0:
        raise ValueError("below 0")
    return min(value, LIMIT)


def is_even(value: int) -> bool:
    return not value % 2
'''

TOY_TESTS = """from symscreen.toy import clip, is_even

def test_numbers_within_the_limit_stay():
    assert [clip(value) for value in (1, 2)] == [1, 2]

def test_two_is_even():
    assert is_even(2)
"""


@pytest.fixture(autouse=True)
def _import_benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)


def list_toy_mutations():
    mutants = importlib.import_module("reliability.mutants")
    return [one for place in mutants.list_mutations(TOY, "symscreen/toy.py") for one in place]


def test_operators_comparisons_numbers_and_extremes_are_replaced_and_texts_are_not():
    replaced = Counter((one.text, one.old, one.new) for one in list_toy_mutations())
    assert replaced == Counter(
        [
            ("LIMIT = 3", "3", "4"),
            ("LIMIT = 3", "3", "2"),
            ("def clip(value: int = 0) -> int:", "0", "1"),
            ("def clip(value: int = 0) -> int:", "0", "-1"),
            ("if value < 0:", "<", "<="),
            ("if value < 0:", "<", ">"),
            ("if value < 0:", "0", "1"),
            ("if value < 0:", "0", "-1"),
            ("return min(value, LIMIT)", "min", "max"),
            ("return not value % 2", "not", ""),
            ("return not value % 2", "%", "*"),
            ("return not value % 2", "2", "3"),
            ("return not value % 2", "2", "1"),
        ]
    )


def test_a_mutated_source_differs_in_one_place_and_is_valid():
    for one in list_toy_mutations():
        mutated = one.apply(TOY)
        ast.parse(mutated)
        pairs = zip(TOY.splitlines(), mutated.splitlines(), strict=True)
        assert [line for line, (old, new) in enumerate(pairs, 1) if old != new] == [one.line]


def test_a_mutation_is_found_again_where_lines_were_added_above():
    mutants = importlib.import_module("reliability.mutants")
    for one in list_toy_mutations():
        assert mutants.find_again(one, f"\n{TOY}")["line"] == one.line + 1
        assert mutants.find_again(one, "pass") == {}


def test_the_sample_is_that_of_its_seed_and_in_proportion_to_the_lines(tmp_path):
    mutants = importlib.import_module("reliability.mutants")
    folders = {}
    for name, copies in {"short": 1, "long": 3}.items():
        path = tmp_path / f"{name}.py"
        path.write_text(TOY * copies)
        folders[name] = [path]
    sample = mutants.sample_mutations(folders, tmp_path, 8, seed=0)
    assert Counter(one.path for one in sample) == {"short.py": 2, "long.py": 6}
    assert sample == mutants.sample_mutations(folders, tmp_path, 8, seed=0)
    assert sample != mutants.sample_mutations(folders, tmp_path, 8, seed=1)


def test_tests_are_chosen_by_the_lines_that_they_execute(tmp_path):
    coverage = importlib.import_module("reliability.mutation_coverage")
    kernel = (
        "STEP = 2\n\n\n@compile_kernel\ndef add(a, b):\n    return a + b * STEP\n\n\n"
        "def call(a):\n    return add(a, 1)\n"
    )
    files = {
        "symscreen/toy.py": TOY,
        "symscreen/fast.py": kernel,
        "tests/test_toy.py": "",
        "tests/test_fast.py": "assert add(1, 1) == 3",
        "symscreen/deep/sizes.py": "SIZES = (1, 2)\n",
        "tests/deep/test_tables.py": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
    executed = {
        "clips": ("symscreen/toy.py", 8),
        "returns": ("symscreen/toy.py", 10),
        "evens": ("symscreen/toy.py", 14),
        "calls": ("symscreen/fast.py", 10),
    }
    records = [
        coverage.TestRecord(f"tests/test_toy.py::{name}", 0.1, False, {path: frozenset({line})})  # noqa: FBT003
        for name, (path, line) in executed.items()
    ]
    # A test that calls a kernel itself, or reads a table of a module, executes no function of the package.
    records += [
        coverage.TestRecord(name, 0.1, False, {})  # noqa: FBT003
        for name in ("tests/test_fast.py::adds", "tests/deep/test_tables.py::reads")
    ]
    selector = coverage.TestSelector(tmp_path, records)
    chosen = {
        one.text: {test.name.rpartition("::")[2] for test in selector.choose(one)[0]}
        for one in list_toy_mutations()
    }
    assert chosen["if value < 0:"] == {"clips"}
    assert chosen["return not value % 2"] == {"evens"}
    assert chosen["LIMIT = 3"] == {"clips", "returns", "evens"}
    mutants = importlib.import_module("reliability.mutants")
    step, plus, *_ = mutants.list_mutations(kernel, "symscreen/fast.py")
    for mutation in (step[0], plus[0]):
        names = {one.name for one in selector.choose(mutation)[0]}
        assert names == {"tests/test_toy.py::calls", "tests/test_fast.py::adds"}
    (size, *_), *_ = mutants.list_mutations(files["symscreen/deep/sizes.py"], "symscreen/deep/sizes.py")
    assert [one.name for one in selector.choose(size)[0]] == ["tests/deep/test_tables.py::reads"]


@pytest.mark.slow
def test_a_mutation_is_killed_by_the_test_that_fails_and_survives_where_all_pass(tmp_path):
    checkout = tmp_path / "checkout"
    files = {
        "symscreen/__init__.py": "",
        "symscreen/toy.py": TOY,
        "tests/test_toy.py": TOY_TESTS,
        "conftest.py": 'def pytest_addoption(parser):\n    parser.addoption("--slow", action="store_true")\n',
        "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "--import-mode=importlib"\n',
    }
    for name, text in files.items():
        path = checkout / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    subprocess.run(["git", "init", "-q", checkout], check=True)  # noqa: S607 - git of the machine
    script = (
        "import json, sys\n"
        "import numba, pytest\n"  # what each process of the worker would import again
        "from pathlib import Path\n"
        "from reliability.mutants import list_mutations\n"
        "from reliability.mutation_worker import Worker\n"
        "checkout = Path(sys.argv[1])\n"
        "worker = Worker(checkout, checkout.parent / 'state', libraries=())\n"
        "names = sys.argv[2:]\n"
        "source = (checkout / 'symscreen/toy.py').read_text()\n"
        "ends = {}\n"
        "for one in [one for place in list_mutations(source, 'symscreen/toy.py') for one in place]:\n"
        "    if (one.old, one.new) in {('min', 'max'), ('3', '4'), ('not', '')}:\n"
        "        outcome = worker.run_mutated(one.path, one.apply(source), names, 60.0)\n"
        "        ends[one.old] = (outcome.verdict, outcome.killed_by, outcome.n_run)\n"
        "loop = source.replace('return min(value, LIMIT)', 'while True: pass')\n"
        "ends['loop'] = (worker.run_mutated('symscreen/toy.py', loop, names, 1.0).verdict,)\n"
        "ends['none'] = (worker.run_unchanged(names, 60.0).verdict,)\n"
        "print(json.dumps(ends))\n"
    )
    stay, even = (
        f"tests/test_toy.py::{name}" for name in ("test_numbers_within_the_limit_stay", "test_two_is_even")
    )
    command = [sys.executable, "-c", script, str(checkout), stay, even]
    no_plugins = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=BENCHMARKS, env=no_plugins, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {
        "3": ["survived", "", 2],
        "min": ["killed", stay, 1],
        "not": ["killed", even, 2],
        "loop": ["timeout"],
        "none": ["survived"],
    }
    assert (tmp_path / "state" / "copy" / "symscreen" / "toy.py").read_text() == TOY


@pytest.mark.slow
def test_every_proof_of_equivalence_is_one_line_and_belongs_to_a_mutation_of_the_package():
    mutants = importlib.import_module("reliability.mutants")
    listed = tomllib.loads((BENCHMARKS / "reliability" / "equivalent_mutants.toml").read_text())["mutation"]
    known = {}
    for one in listed:
        path = one["file"]
        if path not in known:
            places = mutants.list_mutations((BENCHMARKS.parent / path).read_text(), path)
            known[path] = {mutation.key for place in places for mutation in place}
        assert mutants.name_mutation(path, one["place"], one["line"], one["becomes"]) in known[path]
        assert one["proof"].endswith(".")
        assert "\n" not in one["proof"]
