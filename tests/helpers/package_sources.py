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
