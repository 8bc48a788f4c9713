"""Fill in what README and the pages of docs/ quote from the results files; --check only compares.

Pages keep the texts, so that they read well without a build. See "Figures in pages" in CONTRIBUTING.md.
"""

from __future__ import annotations

import argparse
import json
from functools import cache
from typing import TYPE_CHECKING, Any

from measurement import BENCHMARKS, RESULTS, format_table
from pages.marks import MarkError, fill_page, list_quotes
from pages.quotes import QUOTES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ROOT = BENCHMARKS.parent


def main(arguments: Sequence[str]) -> None:
    """Refresh the pages, or list where they differ from the results files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if a page differs")
    options = parser.parse_args(arguments)
    differences = 0
    for path in list_pages():
        page = path.read_text(encoding="utf-8")
        found = find_differences(page)
        differences += len(found)
        for one in found:
            print(f"{path.relative_to(ROOT)}: {one}")
        if found and not options.check:
            path.write_text(fill_page(page, look_up_quote), encoding="utf-8")
    if options.check and differences:
        raise SystemExit(1)


def list_pages(root: Path = ROOT) -> list[Path]:
    """List the pages whose figures come from results files."""
    return [root / "README.md", root / "benchmarks" / "README.md", *sorted((root / "docs").glob("*.md"))]


def find_differences(page: str, results: Path = RESULTS) -> list[str]:
    """Say for each quote of a page that differs from its results file what either says."""
    fill_page(page, lambda key: look_up_quote(key, results))  # refuses marks that are incomplete
    return [
        f"{key} is {due!r} in the results file, {value!r} in the page"
        for key, values in list_quotes(page).items()
        for value in sorted(values)
        if value != (due := look_up_quote(key, results))
    ]


def look_up_quote(key: str, results: Path = RESULTS) -> str:
    """Look up a quote by its key, ``million.t0_400``."""
    stem, _, name = key.rpartition(".")
    quotes = _read_quotes(results / f"{stem}.json", stem)
    if name not in quotes:
        raise MarkError(f"{stem}.json has no quote {name!r}; it has {', '.join(quotes)}")
    return quotes[name]


@cache
def _read_quotes(path: Path, stem: str) -> dict[str, str]:
    """Read the quotes of a results file: computed by its function, or held by the file itself."""
    if not path.exists():
        raise MarkError(f"there is no results file {stem}.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if stem in QUOTES:
        return QUOTES[stem](found)
    tables = {
        name: format_table(table["columns"], table["rows"]) for name, table in found.get("tables", {}).items()
    }
    return {name: str(value) for name, value in found.get("figures", {}).items()} | tables
