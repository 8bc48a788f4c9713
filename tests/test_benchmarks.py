"""Scripts that measure are run seldom: what they take from symscreen must be there when they are."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from symscreen.errors import FormulaError
from symscreen.export import load_bundle
from symscreen.results.ranking_reader import read_ranking

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
SCRIPTS = sorted(BENCHMARKS.rglob("*.py"))
RESULTS = sorted((BENCHMARKS / "results").rglob("*.json"))


@pytest.mark.slow
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.relative_to(BENCHMARKS).as_posix())
def test_what_a_script_imports_is_there(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "symscreen":
            module = importlib.import_module(node.module)
            for one in node.names:
                there = hasattr(module, one.name) or importlib.util.find_spec(f"{node.module}.{one.name}")
                assert there, f"{node.module} has no {one.name}"


def test_what_is_loaded_before_refusals_are_measured_is_there(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    refusals = importlib.import_module("reliability.refusals")
    for name in refusals.LOADED_MODULES:
        assert importlib.util.find_spec(f"symscreen.{name}"), name


def test_the_long_formulas_of_the_refusals_stand_in_files_of_this_version(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(BENCHMARKS)
    files = importlib.import_module("reliability.refusal_files")
    monkeypatch.setattr(files, "FORMULAS", {"long": "x1 + " * 3000 + "x1", "short": "9**9**9*x1"})
    files._formula_files(tmp_path, pd.DataFrame({"x1": range(9), "y": [1, 3, 2, 4, 9, 5, 6, 8, 7]}))
    assert [str(each) for each in load_bundle(tmp_path / "f1.json")] == ["9**9**9*x1"]
    with pytest.raises(FormulaError, match="too deep"):
        load_bundle(tmp_path / "f0.json")
    assert read_ranking(tmp_path / "f0.csv").table["expression"][0] == "x1 + " * 3000 + "x1"


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.name)
def test_each_results_file_has_its_table_beside_it(path):
    assert path.with_suffix(".md").exists()


def test_the_runner_lists_every_benchmark_and_knows_its_options():
    runner = [sys.executable, BENCHMARKS / "run.py"]
    listed = subprocess.run(runner, capture_output=True, text=True, check=True).stdout.splitlines()
    names = {line.split()[1] for line in listed}
    assert {"million", "peers", "strogatz", "coverage", "faults"} <= names
    described = (BENCHMARKS / "README.md").read_text()
    assert not [name for name in names if f"`{name}`" not in described and f"run.py {name}" not in described]
    done = subprocess.run([*runner, "million", "--help"], capture_output=True, text=True, check=True)
    assert "--repeats" in done.stdout
    done = subprocess.run([*runner, "trillion"], capture_output=True, text=True, check=False)
    assert "there is no benchmark 'trillion'" in done.stderr


def test_rows_computed_by_two_processes_keep_the_order_of_the_keys_and_a_file_of_them(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(BENCHMARKS)
    measurement = importlib.import_module("measurement")
    keys, file = [{"number": number} for number in (3, 1, 2)], tmp_path / "rows.jsonl"
    measurement.collect_rows(keys[:1], lambda key: {"square": key["number"] ** 2}, file)
    rows = measurement.collect_rows(keys, dict.copy, file, processes=2)
    assert rows == [{"number": 3, "square": 9}, {"number": 1}, {"number": 2}]
    assert len(file.read_text().splitlines()) == 3
