"""What the README and the how-to pages show is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from helpers.page_examples import run_examples

from symscreen.cli.command import run_command
from symscreen.grammar import list_grammar_names, load_grammar
from symscreen.screeners import SCREENERS

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
TOUR = (ROOT / "docs" / "tour.md").read_text()


def _blocks(text: str, language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [block for name, block in fenced if name == language]


def test_the_table_shown_is_what_the_demo_prints(capsys, monkeypatch):
    recipe = re.search(r"^demo:.*?\n\t(.*?)\n\n", (ROOT / "Makefile").read_text(), re.DOTALL | re.MULTILINE)
    command = shlex.split(recipe[1].replace("\\\n", " "))
    assert command[0].endswith("/symscreen")
    monkeypatch.chdir(ROOT)
    assert run_command(command[1:]) == 0
    assert capsys.readouterr().out == _blocks(README, "")[0]


def test_the_fit_shown_is_what_the_command_prints(capsys, monkeypatch):
    command, *lines = _blocks(README, "console")[0].splitlines()
    monkeypatch.chdir(ROOT)
    assert run_command(shlex.split(command)[2:]) == 0
    assert lines[-1] == "…"
    assert capsys.readouterr().out.splitlines()[: len(lines) - 1] == lines[:-1]


@pytest.mark.slow
def test_the_pipeline_prints_what_is_shown(tmp_path):
    assert run_examples("\n".join(_blocks(README, "python")), tmp_path) == _blocks(README, "text")[0]


@pytest.mark.slow
def test_the_python_example_of_the_tour_runs(tmp_path):
    assert "x1**3" in run_examples("\n".join(_blocks(TOUR, "python")), tmp_path)


def _announce_only(_exploration, *, announce, **_options):
    """Stand in for the server of the local page, which would wait for Ctrl-C."""
    announce("http://127.0.0.1:1/token/")


@pytest.mark.slow
@pytest.mark.parametrize("page", [README, TOUR], ids=["README", "tour"])
def test_each_command_of_a_page_runs(page, frame, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("symscreen.explorer.server.serve", _announce_only)
    frame["target"] = frame.x1**2 + frame.x2 / frame.x3  # a law without noise ends a fit early
    for name in ("data.csv", "new.csv"):
        frame.assign(**{"yield": frame.target}).to_csv(name, index=False)
    lines = re.findall(r"^symscreen .*", "".join(_blocks(page, "sh")), re.MULTILINE)
    assert len(lines) >= 5
    for line in lines:  # in the order of the page, for apply reads what fit has written
        arguments = shlex.split(line, comments=True)[1:]
        smaller = ["--repeats", "2"] if arguments[0] == "power" else []  # 20 take their time
        if "physics" in arguments:
            smaller = ["--layers", "u"]
        assert run_command([*arguments, *smaller]) == 0, line
        told = capsys.readouterr()
        assert told.out or "written: " in told.err, line


def test_every_link_leads_somewhere():
    generated = {"commands.md", "reference/symscreen.md"}  # pages that the build of the site writes
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), ROOT / "CONTRIBUTING.md"]:
        for link in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text()):
            is_generated = page.name == "home.md" and link in generated
            assert is_generated or (page.parent / link).exists(), f"{page.name}: {link}"


def test_every_shipped_grammar_is_named():
    for name in list_grammar_names():
        assert f"`{name}`" in TOUR


def test_every_screener_is_named_where_they_are_listed():
    for page in (TOUR, (ROOT / "docs" / "screeners.md").read_text()):
        assert [name for name in SCREENERS if f"`{name}`" not in page] == []


def test_the_grammar_of_the_how_to_page_is_a_good_one(tmp_path):
    (tmp_path / "waves.toml").write_text(_blocks((ROOT / "docs" / "grammars.md").read_text(), "toml")[0])
    grammar = load_grammar(tmp_path / "waves.toml")
    assert grammar.operators["sinpi"].summary == "sin(pi*x)"
    assert grammar.max_complexity == 9
    assert len(grammar.resolve_layers()) == 3
