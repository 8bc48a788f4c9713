"""Numerics see arrays: they name no target, not even for type checkers."""

from pathlib import Path

import pytest

import symscreen

ROOT = Path(symscreen.__file__).parent


@pytest.mark.parametrize("package", ["statistics", "linear_models"])
def test_numerics_do_not_know_targets(package):
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / package).rglob("*.py")}
    assert sources
    assert [path.name for path, text in sources.items() if "symscreen.targets" in text] == []
