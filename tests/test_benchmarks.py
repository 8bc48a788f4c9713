"""Scripts that measure are run seldom: what they take from symscreen must be there when they are."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
SCRIPTS = sorted(BENCHMARKS.rglob("*.py"))


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
    refusals = importlib.import_module("refusals")
    for name in refusals._LOADED:
        assert importlib.util.find_spec(f"symscreen.{name}"), name
