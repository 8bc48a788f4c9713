"""docs/comparison.md compares the versions that the benchmarks ran."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "comparison.md").read_text()
NAMED = {"autofeat": "autofeat", "gplearn": "gplearn", "tsfresh": "tsfresh", "boruta": "Boruta"}


def _list_versions(found):
    """List the packages and versions of all runs in a results file."""
    if isinstance(found, dict):
        versions = found.get("versions")
        yield from versions.items() if isinstance(versions, dict) else ()
    for part in found.values() if isinstance(found, dict) else found if isinstance(found, list) else ():
        yield from _list_versions(part)


def test_the_versions_of_the_page_are_those_that_were_timed():
    results = json.loads((ROOT / "benchmarks" / "results" / "peers.json").read_text())
    # a question mark stands for the version of a run that failed
    timed = {name: version for name, version in _list_versions(results) if name in NAMED and version != "?"}
    assert set(timed) == set(NAMED)
    for name, version in timed.items():
        assert re.search(rf"{NAMED[name]}\s{re.escape(version)}\b", PAGE), f"{name} {version}"


def test_the_page_says_when_the_versions_were_the_newest():
    assert re.search(r"On 20\d\d-\d\d-\d\d those of the Python packages were the newest", PAGE)
