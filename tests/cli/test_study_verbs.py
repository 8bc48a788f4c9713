"""The verbs `init` and `run`, and files in the place of a verb."""

from __future__ import annotations

import pytest

from symscreen.cli.command import run_command
from symscreen.studies import read_study

QUICK = ["--layers", "u", "--unary", "square", "--top", "3", "--max-terms", "1"]


@pytest.fixture
def run(frame, tmp_path, monkeypatch, capsys):
    frame.to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.chdir(tmp_path)

    def _run(*arguments):
        status = run_command([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return _run


@pytest.mark.slow
def test_a_study_is_written_and_run(run, tmp_path, monkeypatch):
    monkeypatch.setattr("symscreen.report.html_page.draw_inline_svg", lambda *_, **__: "")  # it takes long
    status, out, err = run("init", "data.csv", *QUICK)
    assert (status, out) == (0, "")
    assert err.splitlines()[-1] == "symscreen: written: study.toml"
    study = read_study("study.toml")
    assert study.options["screen"]["unary"] == "square"
    status, out, err = run("study.toml", "--quiet")
    assert (status, err) == (0, "")
    assert "the best 3 distinct features" in " ".join(out.split())
    assert "target = " in out
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == ["data.csv", "data.report.html", "study.toml"]
    page = (tmp_path / "data.report.html").read_text(encoding="utf-8")
    assert "study.toml" in page
    assert run("run", "study.toml", "--report", "other.html", "--top", "1") == (
        0,
        *run("study.toml", "--force", "--top", "1", "--report", "other.html")[1:],
    )


def test_an_existing_study_is_kept_without_force(run, tmp_path):
    assert run("init", "data.csv", *QUICK)[0] == 0
    before = (tmp_path / "study.toml").read_text()
    status, _, err = run("init", "data.csv", "--top", "9")
    assert status == 2
    assert "study.toml exists and is not overwritten; give another name or --force" in err
    assert (tmp_path / "study.toml").read_text() == before
    assert run("init", "data.csv", "--top", "9", "--force")[0] == 0
    assert read_study("study.toml").options["screen"]["top"] == 9


def test_a_study_in_another_folder_names_its_files_from_there(run, tmp_path):
    (tmp_path / "in").mkdir()
    assert run("init", "data.csv", "--out", "in/study.toml", *QUICK)[0] == 0
    study = read_study("in/study.toml")
    assert study.data == "../data.csv"
    assert study.outputs == {"report": "../data.report.html"}
    assert run("init", "data.csv", "--out", "-")[1].startswith("# A study of data.csv")


@pytest.mark.slow
def test_a_table_alone_is_screened_fitted_and_reported(run, tmp_path):
    status, out, err = run("data.csv", *QUICK)
    assert status == 0
    assert "the best 3 distinct features" in " ".join(out.split())
    assert "target = " in out
    assert err.endswith("symscreen: written: data.report.html\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "data.report.html"]
    (tmp_path / "data.report.html").write_text("mine")
    status, out, err = run("data.csv", *QUICK)
    assert (status, out) == (2, "")
    assert "data.report.html exists and is not overwritten" in err
    assert (tmp_path / "data.report.html").read_text() == "mine"


@pytest.mark.slow
def test_columns_that_are_left_out_are_named_once(run, frame):
    frame.assign(site=[f"s{row}" for row in range(60)]).to_csv("data.csv", index=False)
    status, _, err = run("data.csv", *QUICK)
    assert status == 0
    assert err.count("left out: 'site' (text)") == 1
    assert run("init", "data.csv")[2].count("left out: 'site' (text)") == 1


def test_a_verb_wins_over_a_file_of_its_name(run, tmp_path):
    (tmp_path / "operators").write_text("no table")
    status, out, _ = run("operators")
    assert status == 0
    assert "grammars:" in out
    (tmp_path / "table").write_text("a,b\n")
    assert "the suffix '' is unknown" in run("table")[2] or run("table")[0] == 2


def test_a_word_that_is_neither_a_verb_nor_a_file_is_refused(run):
    assert run("scren", "data.csv")[2].startswith(
        "symscreen: there is no verb 'scren'; did you mean 'screen'"
    )
    assert "none.csv: the file does not exist" in run("none.csv")[2]
    assert "none.toml: the file does not exist; symscreen init DATA writes one" in run("none.toml")[2]


def test_a_fault_in_a_study_is_one_line_with_file_and_key(run, tmp_path):
    (tmp_path / "study.toml").write_text('[data]\nfile = "data.csv"\n[screen]\ntop = "many"\n')
    status, out, err = run("study.toml")
    assert (status, out) == (2, "")
    assert err == ("symscreen: study.toml, screen.top is 'many'; give an integer of at least 1, or 'all'\n")
