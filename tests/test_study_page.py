"""The page on studies shows what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import symscreen
from symscreen.cli.command import run_command

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "study.md").read_text()


def _blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # the drawing of pictures, of which no test here reads any, takes much of the time
    monkeypatch.setattr("symscreen.report.html_page.draw_inline_svg", lambda *_, **__: "")
    data = symscreen.datasets.make_additive(n=60, noise_variance=0.1, seed=0)
    data.frame.to_csv("data.csv", index=False)
    return tmp_path


@pytest.mark.slow
def test_the_study_of_the_page_runs_from_the_command_line_and_from_python(folder, capsys):
    (toml,), (code,) = _blocks("toml"), _blocks("python")
    (folder / "study.toml").write_text(toml)
    assert run_command(["run", "study.toml"]) == 0
    assert capsys.readouterr().out
    written = sorted(path.name for path in folder.iterdir())
    assert written == [
        *("data.csv", "data.report.html", "model.json", "ranking.csv", "ranking.csv.json", "study.toml"),
    ]
    exec(compile(code, "study.md", "exec"), {})  # noqa: S102  # our own page
    assert "x1**3" in capsys.readouterr().out


@pytest.mark.slow
def test_each_command_of_the_page_runs(folder, capsys):
    lines = re.findall(r"^symscreen .*", "".join(_blocks("sh")), re.MULTILINE)
    assert len(lines) == 4
    for line in lines:
        arguments = shlex.split(line)[1:]
        quick = [] if "init" in arguments else ["--effort", "quick", "--layers", "u", "--force"]
        assert run_command([*arguments, *quick]) == 0, line
    assert {path.name for path in folder.iterdir()} == {
        *("data.csv", "data.report.html", "best50.html", "study.toml"),
    }
    capsys.readouterr()


def test_the_fault_that_the_page_shows_is_told_so(folder, capsys):
    (folder / "study.toml").write_text('[data]\nfile = "data.csv"\n[screen]\ntop = 0\n')
    assert run_command(["study.toml"]) == 2
    assert capsys.readouterr().err == _blocks("text")[0]
