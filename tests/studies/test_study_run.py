"""Running a study: its steps, its files and its record."""

from __future__ import annotations

import hashlib
import shlex

import pandas as pd
import pytest

import symscreen
from symscreen.cli.command import run_command
from symscreen.config.option_record import format_study_command
from symscreen.errors import OptionError, OutputError
from symscreen.studies import read_study

TEXT = """
[data]
file = "data.csv"
target = "target"
[screen]
layers = "b"
top = 4
[fit]
layers = "u"
unary = "square"
max_terms = 1
[output]
table = "r.csv"
model = "m.json"
"""


@pytest.fixture
def study(frame, tmp_path):
    frame.to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "study.toml").write_text(TEXT)
    return tmp_path / "study.toml"


def test_a_study_gives_what_its_steps_give_alone(study, tmp_path, frame):
    result = symscreen.run_study(study)
    alone = symscreen.screen(frame, target="target", layers="b", top=4)
    pd.testing.assert_frame_equal(result.screen.table, alone.table)
    fitted = symscreen.fit(frame, target="target", layers="u", unary="square", max_terms=1)
    assert result.fit.formula.equation == fitted.formula.equation
    assert [path.name for path in result.written] == ["r.csv", "r.csv.json", "m.json"]
    assert len(symscreen.load_result(tmp_path / "r.csv", frame)) == 4
    assert symscreen.load_bundle(tmp_path / "m.json")


def test_the_record_names_the_file_and_the_options_given_in_its_place(study):
    result = symscreen.run_study(study, top=2, jobs=1)
    record = result.screen.record["study"]
    assert record == result.fit.record["study"]
    assert record["file"] == "study.toml"
    assert record["sha256"] == hashlib.sha256(study.read_bytes()).hexdigest()
    assert record["options"] == {"data": {"file": "data.csv", "target": "target"}} | {
        step: read_study(study).options[step] for step in ("screen", "fit")
    }
    assert record["given"] == {"top": 2, "jobs": 1}
    assert result.screen.record["options"]["top"] == len(result.screen) == 2
    assert symscreen.load_result(result.written[0]).record["study"] == record


def test_the_same_study_writes_the_same_bytes(study, tmp_path):
    symscreen.run_study(study)
    before = [(tmp_path / name).read_bytes() for name in ("r.csv", "r.csv.json", "m.json")]
    symscreen.run_study(study, force=True)
    assert before == [(tmp_path / name).read_bytes() for name in ("r.csv", "r.csv.json", "m.json")]


def test_an_existing_output_stops_a_study_before_it_starts(study, tmp_path):
    (tmp_path / "m.json").write_text("mine")
    with pytest.raises(OutputError, match="exists and is not overwritten"):
        symscreen.run_study(study)
    assert (tmp_path / "m.json").read_text() == "mine"
    assert not (tmp_path / "r.csv").exists()


@pytest.mark.parametrize("output", ['table = "data.csv"', 'model = "study.toml"'])
def test_a_study_never_overwrites_what_it_reads(study, output):
    kind = output.split(" ")[0]
    text = "\n".join(line for line in TEXT.splitlines() if not line.startswith(kind))
    study.write_text(f"{text}\n{output}\n")
    with pytest.raises(OutputError, match="is read by this command and never overwritten by it"):
        symscreen.run_study(study, force=True)
    with pytest.raises(OptionError, match="a study has no option"):
        symscreen.run_study(study, lyers="u")


def test_a_step_whose_table_is_missing_does_not_run(study):
    study.write_text('[data]\nfile = "data.csv"\n[fit]\nlayers = "u"\nunary = "square"\nmax_terms = 1\n')
    result = symscreen.run_study(study)
    assert result.screen is None
    assert result.fit.formula.terms
    assert result.written == ()


@pytest.mark.parametrize("names_study", [True, False])
def test_the_command_of_a_result_repeats_the_study(study, tmp_path, monkeypatch, capsys, names_study):
    monkeypatch.chdir(tmp_path)
    source = study.name if names_study else "data.csv"
    options = {"layers": "u", "unary": ["square", "sqrt"], "exclude": "x2", "effort": "quick"}
    words = ["--layers", "u", "--unary", "square,sqrt", "--exclude", "x2", "--effort", "quick"]
    assert run_command([source, *words, "--report", "first.html"]) == 0
    printed = capsys.readouterr().out
    result = symscreen.run_study(source, **options, force=True)
    command = shlex.split(format_study_command(result.screen.record, "data.csv"))
    assert command[0] == "symscreen"
    assert run_command([*command[1:], "--force", "--report", "again.html"]) == 0
    assert capsys.readouterr().out == printed
