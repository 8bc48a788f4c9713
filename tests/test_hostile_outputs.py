"""Hostile names in every output: notebooks, LaTeX, cells that a spreadsheet reads, terminals, logs."""

from __future__ import annotations

import csv
import io
import json
import logging
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from helpers.hostile_cases import NAMES

import symscreen
from symscreen.cli.command import run_command
from symscreen.cli.output import print_notices, write_stdout
from symscreen.config.screen_options import ScreenOptions
from symscreen.errors import OutputError
from symscreen.export import format_bundle
from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.printing import format_column_latex, to_latex
from symscreen.expressions.tree import Call, Column
from symscreen.grammar import OPERATORS
from symscreen.logs import JsonLines
from symscreen.screening.run_control import Progress, build_run_control

STEERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
RUN = tuple("=+-@\t\r\n＝")
COMMANDS = {
    r"\mathrm",
    r"\text",
    r"\textbackslash",
    r"\textasciitilde",
    r"\textasciicircum",
    r"\langle",
    r"\rangle",
}


class Elements(HTMLParser):
    """What a browser would take for elements, their attributes and their text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.seen, self.text = [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def hostile():
    draw = np.random.default_rng(1)
    frame = pd.DataFrame({name: draw.normal(size=40) for name in NAMES})
    first, second = NAMES[0], "\x1b[2J\x1b[31m"
    return frame.assign(**{"=target\x9b": 2 * frame[first] - 3 * frame[second] + draw.normal(0, 1e-3, 40)})


@pytest.fixture(scope="module")
def fitted(hostile):
    few = hostile[[NAMES[0], "\x1b[2J\x1b[31m", "\u202eabc", "=target\x9b"]]
    return symscreen.fit(few, target="=target\x9b", layers="u", unary="square", max_terms=2)


@pytest.fixture(scope="module")
def screened(hostile):
    return symscreen.screen(
        hostile, target="=target\x9b", layers="u", unary="neg", top="all", class_members=2
    )


def test_a_fit_in_a_notebook_is_text_and_whole(fitted):
    page = Elements(fitted._repr_html_())
    ours = [
        "p",
        "code",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "math",
        "mrow",
        "mi",
        "mn",
        "mo",
        "mtext",
        "msup",
        "msub",
        "mfrac",
    ]
    picture = ["div", "svg", "defs", "g", "path", "use", "text", "tspan"]
    assert {tag for tag, _ in page.seen} <= {*ours, *picture}
    assert not [name for _, attributes in page.seen for name in attributes if name.startswith("on")]
    assert NAMES[0] in page.text
    assert not STEERS.search(page.text)
    assert "…" not in page.text
    assert "..." not in page.text
    assert not STEERS.search(fitted._repr_latex_())
    assert not STEERS.search(repr(fitted))


def test_a_long_term_is_not_cut_short_in_a_notebook():
    from dataclasses import replace

    frame = pd.DataFrame({"x" * 90: np.arange(20.0), "y": np.arange(20.0) ** 2})
    found = symscreen.fit(frame, layers="u", unary="square", max_terms=1)
    assert "x" * 90 in Elements(found._repr_html_()).text.replace(found.formula.round_numbers(6).equation, "")
    assert replace(found, notices=("<b>\x1b",))._repr_html_().count("&lt;b&gt;") == 1


@pytest.mark.parametrize(
    "name", [*NAMES, "}\\end{document}", "\\href{javascript:x}{y}", "^^5cinput", "$$", "\\"]
)
def test_a_name_in_latex_calls_nothing(name):
    text = format_column_latex(name)
    assert set(re.findall(r"\\[A-Za-z]+", text)) <= COMMANDS
    bare = re.sub(r"\\[^A-Za-z]", "", text)
    assert not set(bare) & set("$%#&~")
    depth = np.cumsum([{"{": 1, "}": -1}.get(mark, 0) for mark in bare])
    assert depth.min(initial=0) >= 0
    assert depth[-1] == 0
    assert not STEERS.search(text)
    assert to_latex(Call(OPERATORS["sin"], (Column(name),))).count("\\sin") == 1


def cells_of(text):
    return [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]


def runs(cell):
    """Tell a cell that a spreadsheet would run from numbers and the marks of directions."""
    return cell.startswith(RUN) and not re.fullmatch(r"[+-]|-?[0-9.]+(e[+-]?[0-9]+)?", cell)


@pytest.mark.slow
def test_no_cell_of_any_file_is_run(hostile, screened, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hostile.drop(columns="\x00x").to_parquet("d.parquet")
    words = ["d.parquet", "--target", "=target\x9b", "--layers", "u", "--unary", "neg", "--quiet"]
    assert run_command(["screen", *words, "--top", "all", "--out", "r.csv", "--bundle", "b.json"]) == 0
    assert run_command(["screen", *words, "--class-members", "2", "--top", "5", "--out", "m.csv"]) == 0
    assert run_command(["apply", "b.json", "d.parquet", "--out", "applied.csv"]) == 0
    assert run_command(["classes", "m.csv", "--out", "members.csv", "--quiet"]) == 0
    truth = "`" + NAMES[0] + "`"
    assert run_command(["evaluate", "r.csv", "--truth", truth, "--out", "evaluated.csv"]) == 0
    for name in ("r.csv", "m.csv", "applied.csv", "members.csv", "evaluated.csv"):
        cells = cells_of((tmp_path / name).read_bytes().decode())
        assert len(cells) > 9
        assert [cell for cell in cells if runs(cell)] == [], name
    shown = capsys.readouterr()
    assert not STEERS.search(shown.out + shown.err)
    assert "alert(1)" in shown.out
    del screened


class Terminal(io.StringIO):
    """A standard output that is a terminal."""

    def isatty(self):
        return True


def test_what_programs_read_is_not_sent_to_a_terminal_that_it_would_steer(monkeypatch):
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    write_stdout("a,b\n1,λ\n")
    assert terminal.getvalue() == "a,b\n1,λ\n"
    with pytest.raises(OutputError, match="control characters, which would steer this terminal"):
        write_stdout("a,\x1b[2J\n")
    monkeypatch.setattr(sys, "stdout", pipe := io.StringIO())
    write_stdout("a,\x1b[2J\n")
    assert pipe.getvalue() == "a,\x1b[2J\n"


def test_prompts_notices_bundles_logs_and_progress_steer_nothing(screened, capsys, fitted):
    assert not STEERS.search(repr(screened))
    assert not STEERS.search(screened._repr_html_() + screened._repr_latex_())
    print_notices(("column '\x1b[2J'\u202e",), quiet=False)
    assert capsys.readouterr().err == "symscreen: column '\\x1b[2J'\\u202e\n"
    for thing in (fitted.formula, screened.expressions[:9], Formula("\x9b", 1.0, (), ())):
        text = format_bundle(thing)
        assert not STEERS.search(text)
        assert json.loads(text)
    record = logging.makeLogRecord({"levelname": "INFO", "stage": "\x9b", "figures": {"name": "\u202e\n"}})
    line = JsonLines().format(record)
    assert not STEERS.search(line)
    assert json.loads(line)["name"] == "\u202e\n"
    tell = build_run_control(ScreenOptions(progress=True)).on_progress
    tell(Progress(5, 5, 5, 1.0, 5.0, 0.0, "\x1b[2J" + "x" * 500, 0.5, "t0"))
    told = capsys.readouterr().err
    assert not STEERS.search(told.removeprefix("\r"))
    assert told.endswith("\n")
    assert len(told) < 250
