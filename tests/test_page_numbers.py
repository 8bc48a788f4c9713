"""A number with a unit in a page has a source: a results file, an example, or a stated reason."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from helpers.page_numbers import REASONS

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["README.md", "benchmarks/README.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
UNIT = (
    r"(?:%|‰|percent|per\scent|ns|[µμ]s|ms|s|sec|mins?|minutes?|h|hours?|days?|weeks?|seconds?|kB|MB|GB|TB|KiB|MiB|GiB|×"
    r"|fold|times)(?![\w·²])(?!\s\d)"
)
NUMBER = re.compile(rf"(?<![\w.])\d[\d.,]*(?:·10[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)?(?:[\s-]|[ ]\n)?{UNIT}")
CELL = re.compile(r"\d\.\d")  # in a row of a table, where the unit is in the head


@pytest.fixture(scope="module")
def marks():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        yield importlib.import_module("pages.marks")


def list_unexplained(page, text, marks):
    """List the numbers, and the lines of tables with one, that neither a mark nor a phrase covers."""
    text = re.sub(r"`[^`\n]*`", "", marks.remove_quotes(text))
    for phrases in REASONS.values():
        for name, phrase in phrases:
            if name == page:
                text = re.sub(r"\s+".join(map(re.escape, phrase.split())), "", text)
    found = [" ".join(match[0].split()) for match in NUMBER.finditer(text)]  # also over the end of a line
    return found + [line for line in text.splitlines() if line.startswith("|") and CELL.search(line)]


@pytest.mark.parametrize("page", PAGES)
def test_each_number_with_a_unit_has_a_source(page, marks):
    assert not list_unexplained(page, (ROOT / page).read_text(encoding="utf-8"), marks)


@pytest.mark.parametrize("reason", REASONS)
def test_each_phrase_stands_in_its_page(reason):
    for page, phrase in REASONS[reason]:
        text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        assert phrase in text, f"{page} has no {phrase!r}"


@pytest.mark.parametrize(
    "text",
    [
        "It takes 0.8 µs.",
        "A screen of 5 s",
        "twice as fast, 37 times",
        "up to 1.5·10⁹ MB",
        "in 98 % of cases",
        "faster by 1,350 ×",
        "within 25\nseconds of tests",
        "a 7-fold gain, 12 per cent",
        "| rows | µs |\n|---|---|\n| 400 | 0.79 |",
    ],
)
def test_a_number_without_a_source_is_found(text, marks):
    assert list_unexplained("README.md", text, marks)


@pytest.mark.parametrize(
    "text",
    [
        "It takes 0.8<!--=million.t0_400--> µs.",
        "```sh\nsleep 5 s\n```",
        "`--time-limit 5 s`",
        "with 400 rows and 2 columns",
        "a table of 100 × 100 pairs",
        "<!--begin=million.two_threads-->\n\n| 400 | 0.79 |\n\n<!--end-->",
    ],
)
def test_marks_and_code_and_counts_pass(text, marks):
    assert not list_unexplained("README.md", text, marks)
