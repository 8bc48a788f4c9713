"""The reference has every object of symscreen that the pages of the documentation use."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def public():
    """Return the identities of all objects of the reference."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(ROOT / "docs" / "site")
        pages = importlib.import_module("reference_pages")
        return {id(value) for _, value in pages.list_public_objects()}


def list_used_objects(code):
    """Yield the path and the value of each object that code takes from a module of symscreen."""
    tree = ast.parse(code)
    modules = {"symscreen": importlib.import_module("symscreen")}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "symscreen":
            for alias in node.names:
                path = f"{node.module}.{alias.name}"
                value = getattr(importlib.import_module(node.module), alias.name, None)
                value = importlib.import_module(path) if value is None else value
                if isinstance(value, ModuleType):
                    modules[alias.asname or alias.name] = value
                else:
                    yield path, value
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and re.fullmatch(r"[\w.]+", ast.unparse(node)):
            path = ast.unparse(node).split(".")
            value = modules.get(path[0])
            for name in path[1:]:
                value = getattr(value, name) if isinstance(value, ModuleType) else None
            if value is not None and not isinstance(value, ModuleType):
                yield ".".join(path), value


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_each_object_that_a_page_uses_is_in_the_reference(path, public):
    missing = {
        name
        for code in _BLOCK.findall(path.read_text(encoding="utf-8"))
        for name, value in list_used_objects(code)
        if id(value) not in public
    }
    assert missing == set()


def test_objects_are_found_however_they_are_imported():
    code = (
        "import symscreen\nfrom symscreen import evaluation as e\nfrom symscreen.grammar import OPERATORS\n"
    )
    used = [path for path, _ in list_used_objects(code + "symscreen.fit(1)\ne.pr_auc\n'a'.upper()\n")]
    assert sorted(used) == ["e.pr_auc", "symscreen.fit", "symscreen.grammar.OPERATORS"]
