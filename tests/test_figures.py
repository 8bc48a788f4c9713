"""What pages quote from a run is what its results file says."""

from __future__ import annotations

import importlib
import itertools
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


LABELS = {
    "rows",
    "n",
    "jobs",
    "level",
    "levels",
    "machine",
    "noise_variance",
    "block",
    "figure",
    "parameter",
}  # numbers that name a measurement


def change_measurements(value, counter):
    """Change the measurements of a results file, each number by another factor."""
    if isinstance(value, dict):
        return {
            name: one if name in LABELS else change_measurements(one, counter) for name, one in value.items()
        }
    if isinstance(value, list):
        return [change_measurements(one, counter) for one in value]
    if isinstance(value, float):
        return value * (1.1 + 0.1 * next(counter))
    if isinstance(value, str):
        return "lost" if value == "kept" else value
    return value if isinstance(value, bool) or value is None else value + 1


@pytest.mark.parametrize("path", PAGES, ids=name_page)
def test_a_page_says_what_the_results_files_say(figures, path):
    page = path.read_text(encoding="utf-8")
    assert not figures.find_differences(page), "run `python benchmarks/run.py figures`"


@pytest.mark.slow
def test_a_changed_digit_of_a_page_is_found_at_each_mark(figures, marks):
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        for match in (*marks.FIGURE.finditer(page), *marks.BLOCK.finditer(page)):
            start, end = match.span("value")
            changed = page[match.start() : start] + change_digit(page[start:end]) + page[end : match.end()]
            assert figures.find_differences(changed), f"{name_page(path)}, {match['key']}"


STEMS = sorted(
    stem
    for stem in (path.relative_to(RESULTS).with_suffix("").as_posix() for path in FILES)
    if any(f"={stem}." in page.read_text() for page in PAGES)
)


@pytest.mark.slow
@pytest.mark.parametrize("stem", STEMS)
def test_changed_numbers_of_a_results_file_are_found_in_the_pages_that_quote_it(
    figures, marks, stem, tmp_path
):
    found = json.loads((RESULTS / f"{stem}.json").read_text(encoding="utf-8"))
    counter = itertools.count()
    # "rows" is also the list of measurements
    changed = {
        name: one if name in LABELS - {"rows"} else change_measurements(one, counter)
        for name, one in found.items()
    }
    target = tmp_path / f"{stem}.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(changed))
    keys = {key for page in PAGES for key in marks.list_quotes(page.read_text(encoding="utf-8"))}
    own = {key for key in keys if key.startswith(f"{stem}.")}
    assert own
    assert [key for key in own if figures.look_up_quote(key) != figures.look_up_quote(key, tmp_path)]


def test_a_changed_digit_of_a_results_file_is_found(figures, tmp_path):
    page = (ROOT / "docs" / "fit.md").read_text(encoding="utf-8")
    text = (RESULTS / "shared_terms.json").read_text(encoding="utf-8")
    for path, content in ((tmp_path / "same", text), (tmp_path / "other", text.replace("0.66", "0.67", 1))):
        path.mkdir()
        (path / "shared_terms.json").write_text(content)
        for other in ("law_claims.json", "comparison.json"):
            (path / other).write_text((RESULTS / other).read_text(encoding="utf-8"))
    assert not figures.find_differences(page, tmp_path / "same")
    differences = figures.find_differences(page, tmp_path / "other")
    assert len(differences) == 1
    assert differences[0].startswith("shared_terms.rates is")


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


@pytest.fixture(scope="module")
def measurement(figures):
    return importlib.import_module(figures.format_table.__module__)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(RESULTS).as_posix())
def test_a_results_file_and_its_table_are_as_the_run_saved_them(measurement, path):
    found = json.loads(path.read_text(encoding="utf-8"))
    table = path.with_suffix(".md").read_text(encoding="utf-8")
    digest = measurement.compute_digest(found, table)
    assert found.get("sha256") == digest, "edit no results by hand; run the benchmark again"


def test_a_digit_changed_by_hand_in_what_a_run_saved_is_found(measurement, tmp_path, monkeypatch):
    monkeypatch.setattr(measurement, "describe_run", lambda: {"command": "run", "commit": "c0"})
    measurement.save_rows("run", [{"rows": 400, "µs": 0.791}], tmp_path)
    data, table = ((tmp_path / name).read_text() for name in ("run.json", "run.md"))
    digest = json.loads(data)["sha256"]
    assert measurement.compute_digest(json.loads(data), table) == digest
    assert measurement.compute_digest(json.loads(data.replace("0.791", "0.792")), table) != digest
    assert measurement.compute_digest(json.loads(data), change_digit(table)) != digest


PICTURES = {
    "pictures": ("overview", "overview-narrow", "speed", "recovery"),
    "search_pictures": ("search-stages",),
    "trust_pictures": tuple(
        f"trust-{name}"
        for name in ("verdict", "family", "intervals", "split", "stability", "new-rows", "band", "rounding")
    ),
}


@pytest.mark.usefixtures("figures")  # benchmarks/ is on the path
@pytest.mark.parametrize(
    ("script", "name"), [(script, name) for script, names in PICTURES.items() for name in names]
)
def test_a_picture_shows_what_its_sources_say(script, name):
    drawers = importlib.import_module(f"pages.{script}").DRAWERS
    compute_digest = importlib.import_module("pages.pictures").compute_digest
    assert tuple(drawers) == PICTURES[script]
    _, shown = drawers[name]()
    stored = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text()
    assert f"data {compute_digest(shown)}" in stored, f"run: python benchmarks/run.py {script}"
    assert "prefers-color-scheme: dark" in stored


def test_each_picture_is_in_a_page_with_a_text_for_those_who_cannot_see_it():
    text = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
    texts = {
        Path(path).stem: alt for alt, path in re.findall(r"!\[([^\]]+)\]\((\S*pictures/\S+\.svg)\)", text)
    }
    assert set(texts) == {path.stem for path in (ROOT / "docs" / "pictures").glob("*.svg")}
    assert all(len(alt.split()) >= 10 for alt in texts.values())
