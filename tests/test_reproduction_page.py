"""Every figure of docs/reproduction.md that a run produced comes from a stored run."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest

from symscreen.experiments.registry import EXPERIMENTS
from symscreen.experiments.srbench.published_rates import find_best_published

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "reproduction"
PAGE = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
RUNS = sorted(RESULTS.glob("*.json"))


@pytest.fixture
def marks(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("pages.marks")


def test_every_table_of_the_page_comes_from_a_stored_run(marks):
    typed = marks.BLOCK.sub("", PAGE)
    assert not [line for line in typed.splitlines() if line.startswith("|")]
    assert typed.count("<!--begin") == typed.count("<!--end") == 0


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_stored_run_names_its_command_commit_machine_and_date(path):
    found = json.loads(path.read_text(encoding="utf-8"))
    name = path.stem.removesuffix("-units")
    assert found["command"].startswith(f"symscreen reproduce {name} --size medium")
    assert found["command"].endswith(" --units") == (path.stem != name)
    assert name in EXPERIMENTS
    assert re.fullmatch(r"[0-9a-f]{12}", found["commit"])  # a plus sign would mean uncommitted changes
    assert found["machine"]["cores"] >= 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["machine"]["date"])
    assert found["outputs"]
    assert f"reproduction/{path.stem}.run-->" in PAGE


def test_every_experiment_of_the_page_has_a_stored_run():
    assert len(RUNS) >= 10
    stored = {path.stem.removesuffix("-units") for path in RUNS}
    assert {name for name in EXPERIMENTS if f"reproduction/{name}." in PAGE} == stored


def test_the_published_rates_beside_a_run_are_those_that_the_run_stored(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    quotes = importlib.import_module("pages.quotes").QUOTES["reproduction/strogatz"]
    found = json.loads((RESULTS / "strogatz.json").read_text(encoding="utf-8"))
    for row in found["outputs"]["summary"]:
        # a run that was stored before the published rates were corrected would differ
        assert find_best_published("Strogatz", row["noise_ratio"]) == pytest.approx(
            (row["published_percent"], row["published_by"])
        )
        before, row["published_percent"] = quotes(found)["summary"], row["published_percent"] + 1.0
        assert quotes(found)["summary"] != before
