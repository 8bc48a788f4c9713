"""What pages quote from a run is what its results file says."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGES = [ROOT / "README.md", ROOT / "benchmarks" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FILES = sorted(RESULTS.rglob("*.json"))


def name_page(path):
    return path.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def figures():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        yield importlib.import_module("pages.figures")


@pytest.fixture(scope="module")
def marks(figures):
    return importlib.import_module(figures.fill_page.__module__)


def change_digit(text):
    """Change the last digit of a text."""
    return re.sub(r"\d(?=\D*$)", lambda digit: str((int(digit[0]) + 1) % 10), text)


def change_digits(value):
    """Change every number of a results file by a tenth."""
    if isinstance(value, dict):
        return {name: change_digits(one) for name, one in value.items()}
    if isinstance(value, list):
        return [change_digits(one) for one in value]
    return value * 1.1 if isinstance(value, float) else value


@pytest.mark.parametrize("path", PAGES, ids=name_page)
def test_a_page_says_what_the_results_files_say(figures, path):
    page = path.read_text(encoding="utf-8")
    assert not figures.find_differences(page), "run `python benchmarks/run.py figures`"


def test_a_changed_digit_of_a_page_is_found_at_each_mark(figures, marks):
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        for match in (*marks.FIGURE.finditer(page), *marks.BLOCK.finditer(page)):
            start, end = match.span("value")
            changed = page[:start] + change_digit(page[start:end]) + page[end:]
            assert figures.find_differences(changed), f"{name_page(path)}, {match['key']}"


def test_a_changed_number_of_a_results_file_is_found(figures, marks, tmp_path):
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    stems = {key.rpartition(".")[0] for key in marks.list_quotes(page)}
    assert "million" in stems
    for stem in stems:
        found = json.loads((RESULTS / f"{stem}.json").read_text(encoding="utf-8"))
        (tmp_path / f"{stem}.json").write_text(json.dumps(found))
    assert not figures.find_differences(page, tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    for stem in stems:
        found = json.loads((tmp_path / f"{stem}.json").read_text())
        (other / f"{stem}.json").write_text(json.dumps(change_digits(found) if stem == "million" else found))
    found = figures.find_differences(page, other)
    assert found
    assert all(one.startswith("million.") for one in found)


def test_filling_a_page_writes_what_the_files_say_and_nothing_else(marks):
    page = "It takes 5<!--=run.t--> µs (1.2<!--=run.u-->).\n\n<!--begin=run.table-->\n\nold\n\n<!--end-->\n"
    filled = marks.fill_page(page, {"run.t": "0.8", "run.u": "1,000", "run.table": "| a |\n| --- |"}.get)
    assert filled == (
        "It takes 0.8<!--=run.t--> µs (1,000<!--=run.u-->).\n\n"
        "<!--begin=run.table-->\n\n| a |\n| --- |\n\n<!--end-->\n"
    )


@pytest.mark.parametrize(
    "page",
    [
        "It takes <!--=run.t--> µs.",
        "<!--begin=run.table-->\n\n| a |\n",
        "<!--begin=run.table-->\n| a |\n<!--end-->\n",
        "one\n\n<!--end-->\n",
    ],
)
def test_an_incomplete_mark_is_refused(marks, page):
    with pytest.raises(marks.MarkError, match="no complete mark"):
        marks.fill_page(page, lambda key: key)


def test_a_key_that_no_file_has_is_refused(figures):
    with pytest.raises(Exception, match=r"there is no results file trillion\.json"):
        figures.look_up_quote("trillion.t0")
    with pytest.raises(Exception, match=r"million\.json has no quote 't1'; it has two_threads"):
        figures.look_up_quote("million.t1")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(RESULTS).as_posix())
def test_a_results_file_has_its_command_commit_machine_and_date(path):
    found = json.loads(path.read_text(encoding="utf-8"))
    assert re.match(r"(python benchmarks/run\.py|symscreen) \w+", found["command"])
    assert re.fullmatch(r"[0-9a-f]{7,40}\+?", found["commit"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["machine"]["date"])
    assert found["machine"]["cpu"]
    assert found["machine"]["cores"] > 0
