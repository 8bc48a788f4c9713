"""Names in docstrings exist: identifiers in backticks, and the types of what is returned and raised."""

from __future__ import annotations

import ast
import builtins
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
from helpers.package_sources import PACKAGE, list_package_nodes

OWNERS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
LIBRARIES = {"np", "numpy", "pandas"}.union(*map(dir, (builtins, np, np.ndarray, pd, pd.DataFrame)))
LIBRARY_MODULES = {"functools", "msgspec", "pickle", "sklearn", "sympy", "time", "warnings"}
ALLOWED = {
    "a": "a column of an example, in the quotes of SQL",
    "lambda": "a column of an example, in the notation of formulas",
    "feature_names_in_": "an attribute of scikit-learn's base class",
    "Client": "dask's",
    "LocalCluster": "dask's",
}


def _list_names(nodes):
    """List what a file defines or imports: classes, functions, parameters, attributes and variables."""
    for node in nodes:
        if isinstance(node, OWNERS):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield from (node.asname or node.name).split(".")


def _list_package_names():
    """List what the whole package has, without the variables and parameters of functions."""
    for path, nodes in list_package_nodes().items():
        yield from path.relative_to(PACKAGE.parent).with_suffix("").parts
        for owner in nodes:
            if isinstance(owner, OWNERS):
                yield owner.name
            if isinstance(owner, ast.Attribute) and isinstance(owner.ctx, ast.Store):
                yield owner.attr  # attributes that methods set
            if isinstance(owner, (ast.ClassDef, ast.Module)):
                for statement in owner.body:
                    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.If)):
                        yield from (
                            node.id
                            for node in ast.walk(statement)
                            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
                        )


@cache
def _list_docstrings():
    """List each docstring with its file and the names that it may use."""
    found = []
    package = {*_list_package_names()}
    for path, nodes in list_package_nodes().items():
        known = {*_list_names(nodes)} | package | LIBRARIES | ALLOWED.keys()
        for node in nodes:
            text = ast.get_docstring(node) if isinstance(node, (ast.Module, *OWNERS)) else None
            if text:
                found.append((path.relative_to(PACKAGE), known, text))
    return found


def _list_section_types(text):
    """List the names of classes among the types under Returns, Yields and Raises."""
    pattern = r"^(?:Returns|Yields|Raises)\n-+\n((?:(?!\n\n\w[\w ]*\n-+\n)[\s\S])*)"
    for section in re.findall(pattern, text, re.MULTILINE):
        for line in section.splitlines():
            if line and not line.startswith(" "):
                kind = re.sub(r"\b[a-z_]+\.[\w.]+", "", line.split(" : ", 1)[-1])  # of another library
                yield from re.findall(r"\b[A-Z][a-z]+(?:[A-Z]\w*)?\b", kind)


@pytest.mark.slow
def test_identifiers_in_backticks_exist():
    unknown = []
    for path, known, text in _list_docstrings():
        prose = re.sub(r"``[\s\S]+?``|^ *(>>>|\.\.\.) .*$", "", text, flags=re.MULTILINE)
        for name in re.findall(r"`([A-Za-z_][\w.]*)`", prose):
            parts = name.split(".")
            if parts[0] not in LIBRARY_MODULES and not {*parts} <= known:
                unknown.append(f"{path}: {name}")
    assert unknown == []


def test_types_that_are_returned_and_raised_exist():
    unknown = [
        f"{path}: {name}"
        for path, known, text in _list_docstrings()
        for name in _list_section_types(text)
        if name not in known
    ]
    assert unknown == []
