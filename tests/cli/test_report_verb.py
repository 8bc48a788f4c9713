from __future__ import annotations

import pytest

from symscreen.cli.command import run_command


@pytest.fixture
def data(frame, tmp_path):
    path = tmp_path / "d.csv"
    frame.to_csv(path, index=False)
    return str(path)


@pytest.mark.slow
def test_screen_writes_a_report_beside_the_ranking(data, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("symscreen.report.html_page.draw_inline_svg", lambda *_, **__: "")  # it takes long
    report = tmp_path / "r.html"
    words = ["screen", data, "--layers", "u", "--unary", "log", "--top", "3", "--report", str(report)]
    assert run_command(words) == 0
    shown = capsys.readouterr()
    assert f"symscreen: written: {report}" in shown.err
    assert "the best 3 distinct features" in " ".join(shown.out.split())
    assert report.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert data in report.read_text(encoding="utf-8")
    assert run_command(words) == 2
    assert "exists and is not overwritten; give another name or --force" in capsys.readouterr().err
    assert run_command([*words, "--force", "--quiet"]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--report", "-"], "--report needs a file's name"),
        (["--report", "r.txt"], "a report is an HTML page; give a name that ends in .html"),
        (["--report", "no/folder/r.html"], "there is no folder"),
        (["--report", "b.html", "--bundle", "b.html"], "--report b.html is a file that --bundle writes too"),
    ],
)
def test_a_report_that_could_not_be_written_is_refused_in_one_line(data, more, message, capsys):
    assert run_command(["screen", data, *more]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
