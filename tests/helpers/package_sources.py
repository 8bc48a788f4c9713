"""The parsed files of the package, for the tests that read its code."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import symscreen

PACKAGE = Path(symscreen.__file__).parent


@cache
def parse_package() -> dict[Path, ast.Module]:
    """Parse each file of the package once in a process."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def list_package_nodes() -> dict[Path, list[ast.AST]]:
    """List the nodes of each file, the module first: to walk takes longer than to parse."""
    return {path: list(ast.walk(tree)) for path, tree in parse_package().items()}
