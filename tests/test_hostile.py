"""Hostile inputs through the command line: a result or one line, and nothing that others would run."""

from __future__ import annotations

import csv
import io
import os
import re
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.hostile_cases import FILES, FORMULAS, GRAMMARS, NAMES, OPTIONS
from helpers.hostile_places import ENVIRONMENTS, PLACES, ended_in, furnish, surrounded
from helpers.requirements import needs

import symscreen
from symscreen._atomic_io import check_writable, write_all_atomically, write_atomically
from symscreen.cli.command import run_command
from symscreen.errors import OutputError
from symscreen.results.ranking_files import escape_spreadsheet, format_ranking_csv

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
RUN = tuple("=+-@\t\r＝")


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    """Run a command line in an empty folder; it may leave nothing there."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def run(*arguments):
        status = run_command([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        assert not list((tmp_path / "here").iterdir())
        assert "Traceback" not in err
        assert not CONTROL.search(out + err)
        return status, out, err

    return run


def ended(run, *arguments):
    status, _, err = run(*arguments)
    if status == 2:
        assert len(err.splitlines()) == 1
        assert len(err) <= 300
    return {0: "kept", 2: "refused"}[status]


def test_there_are_a_hundred():
    assert sum(map(len, (NAMES, FORMULAS, GRAMMARS, FILES, OPTIONS, PLACES, ENVIRONMENTS))) >= 100


@pytest.fixture(scope="module")
def hostile():
    draw = np.random.default_rng(0)
    columns = {name: draw.normal(size=12) for name in NAMES if "\0" not in name}
    return pd.DataFrame(columns | {"y": draw.normal(size=12)})


@pytest.fixture(scope="module")
def screened(hostile):
    return symscreen.screen(hostile, target="y", layers="u", unary="neg,sin", top="all")


OURS = {
    *("div", "p", "strong", "style", "table", "thead", "tbody", "tr", "th", "td", "span", "code"),
    *(
        "math",
        "mrow",
        "mi",
        "mn",
        "mo",
        "mtext",
        "mfrac",
        "msup",
        "msqrt",
        "mroot",
        "mspace",
        "mfenced",
        "mstyle",
    ),
}


class _Seen(HTMLParser):
    """What a browser would take for elements and attributes."""

    def __init__(self):
        super().__init__()
        self.elements, self.attributes, self.links = set(), set(), []

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value for name, value in attrs if name in {"src", "href"}]


def test_names_are_no_markup(screened):
    page = _Seen()
    page.feed(screened._repr_html_())
    assert page.elements <= OURS | {"div", "svg", "defs", "g", "path", "use", "text", "tspan"}
    assert not {name for name in page.attributes if name.startswith("on")}
    assert all(link.startswith("#") for link in page.links)  # parts of the picture that repeat


def test_names_are_no_cells_that_a_spreadsheet_runs(screened):
    rows = list(csv.reader(io.StringIO(format_ranking_csv(screened), newline="")))
    place = rows[0].index("expression")
    assert not [row[place] for row in rows if row[place].startswith(RUN)]


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith(RUN)])
def test_headings_are_no_cells_that_a_spreadsheet_runs(name):
    assert not escape_spreadsheet(name).startswith(RUN)


def test_names_steer_no_terminal(run, hostile, tmp_path):
    hostile.to_parquet(tmp_path / "t.parquet")
    status, out, err = run(
        "screen", tmp_path / "t.parquet", "--target", "y", "--layers", "u", "--unary", "neg", "--top", "all"
    )
    assert status == 0, err
    assert "alert(1)" in out


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_name_as_an_option_and_a_formula(run, name, tmp_path):
    pd.DataFrame({"x1": range(6), "y": [3, 1, 2, 5, 4, 6]}).to_csv(tmp_path / "t.csv", index=False)
    assert ended(run, "screen", tmp_path / "t.csv", "--target", name) == "refused"
    assert (
        ended(run, "why", tmp_path / "t.csv", "--quiet", "--", "`" + name.replace("`", "``") + "`")
        == "refused"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("formula", "ending"), FORMULAS.items(), ids=range(len(FORMULAS)))
def test_formulas(run, formula, ending, tmp_path):
    draw = np.random.default_rng(0)
    pd.DataFrame(draw.uniform(1, 2, (9, 3)), columns=["x1", "x2", "y"]).to_csv(
        tmp_path / "t.csv", index=False
    )
    assert ended(run, "why", tmp_path / "t.csv", "--layers", "u", "--quiet", "--", formula) == ending


@pytest.mark.parametrize("name", GRAMMARS)
def test_grammars(run, name, tmp_path):
    content = GRAMMARS[name]
    (tmp_path / "g.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert ended(run, "operators", tmp_path / "g.toml") == "refused"


@pytest.mark.parametrize("name", FILES)
def test_files(run, name, tmp_path):
    content = FILES[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert ended(run, "screen", tmp_path / name, "--layers", "u", "--quiet") == "refused"
    assert ended(run, "export", tmp_path / name, "--to", "numpy") == "refused"
    assert ended(run, "apply", tmp_path / name, tmp_path / name) == "refused"


@pytest.fixture
def small(tmp_path):
    draw = np.random.default_rng(0)
    table = pd.DataFrame(draw.uniform(1, 2, (9, 3)), columns=["x1", "λ", "y"])
    table.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path


SCREEN = ("screen", "t.csv", "--layers", "u", "--unary", "sin", "--quiet")


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_options(capfd, small, monkeypatch, name):
    monkeypatch.chdir(small)
    arguments, ending = OPTIONS[name]
    status = run_command([*SCREEN, *arguments])
    out, err = capfd.readouterr()
    assert not CONTROL.search(out + err)
    assert {0: "kept", 2: "refused"}.get(status) == ending, err
    assert len(err.splitlines()) == (ending == "refused")
    assert len(err) <= 300


@pytest.mark.slow
@needs("posix")
@pytest.mark.parametrize("name", PLACES)
def test_places_of_output(capfd, small, monkeypatch, name):
    monkeypatch.chdir(small)
    furnish(small)
    before = {path: path.lstat().st_mode for path in small.iterdir()}
    arguments, ending = PLACES[name]
    given = arguments if arguments[0].startswith("--out=") else ["--out", *arguments]
    status = run_command([*SCREEN, *given])
    out, err = capfd.readouterr()
    assert not CONTROL.search(out + err)
    assert {0: "kept", 2: "refused"}.get(status) == ending, err
    after = {path: path.lstat().st_mode for path in small.iterdir()}
    assert before.items() <= after.items()
    assert (small / "there.csv").read_text() == "kept\n"
    if ending == "refused":
        assert before == after
        assert len(err.splitlines()) == 1


def test_a_device_is_never_replaced(tmp_path):
    with pytest.raises(OutputError, match="is a device"):
        check_writable(Path("/dev/null"), force=True)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OutputError, match="a pipe"):
        write_atomically(tmp_path / "pipe", b"")
    assert (tmp_path / "pipe").is_fifo()


def test_what_came_meanwhile_is_not_overwritten(tmp_path):
    path = tmp_path / "r.csv"
    check_writable(path)
    path.write_text("another's")
    with pytest.raises(OutputError, match="not overwritten"):
        write_atomically(path, b"ours", force=False)
    assert path.read_text() == "another's"
    assert [one.name for one in tmp_path.iterdir()] == ["r.csv"]


def test_two_writers_leave_the_files_of_one(tmp_path):
    both = [tmp_path / "r.csv.json", tmp_path / "r.csv"]
    left = []
    with ThreadPoolExecutor(2) as writers:
        for _ in range(40):
            list(writers.map(lambda own: write_all_atomically(dict.fromkeys(both, own)), (b"1", b"2")))
            left.append({path.read_bytes() for path in both})
    assert {len(one) for one in left} == {1}


_TESTED = (
    "no home, no temporary files, a folder that is gone",
    "standard input closed",
    "standard output closed",
    "standard error closed",
    "one file of two runs",
)


@pytest.mark.slow
@needs("posix")
@pytest.mark.parametrize("name", _TESTED)
def test_surroundings(small, name):
    line, ending = ENVIRONMENTS[name]
    done = surrounded(line, small)
    assert ended_in(done) == ending, done.stderr
    assert not CONTROL.search(done.stdout + done.stderr)
