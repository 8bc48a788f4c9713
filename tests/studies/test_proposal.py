"""What a study proposes of a table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from symscreen.errors import DataError
from symscreen.studies import format_study, propose_study
from symscreen.studies.proposal import name_report
from symscreen.studies.study_file import parse_study


@pytest.fixture
def data(frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sites = [f"s{row}" for row in range(60)]
    frame.assign(site=sites, row=range(60)).rename(columns={"x3": "x3 (mm)"}).to_csv("data.csv", index=False)
    return "data.csv"


def test_a_study_names_the_target_the_inputs_and_what_a_screen_would_do(data):
    study, notes, frame = propose_study(data)
    assert study.data == "data.csv"
    assert study.options["data"]["target"] == "target"
    assert study.options["data"]["inputs"] == ["x1", "x2", "x3 (mm)"]
    assert {name: study.options["screen"][name] for name in ("operators", "layers", "screener")} == {
        "operators": "basic",
        "layers": "ub",
        "screener": "t0",
    }
    assert study.options["fit"] == {"effort": "default"}
    assert frame.n == 60
    text = format_study(study, notes)
    assert "# left out: 'site' (text), 'row' (an identifier)" in text
    assert "# Headers with a unit: 'x3 (mm)'." in text
    assert '# units = "strict"' in text
    read = parse_study(text, "study.toml", Path("study.toml"))
    assert (read.data, read.options, read.outputs) == (study.data, study.options, study.outputs)


def test_given_options_are_written_into_the_study(data):
    study, _, _ = propose_study(data, {"target": "x1", "inputs": ["x2"], "top": 7, "max_terms": 2})
    assert study.options["data"]["target"] == "x1"
    assert study.options["data"]["inputs"] == ["x2"]
    assert study.options["screen"]["top"] == 7
    assert study.options["fit"] == {"effort": "default", "max_terms": 2}


@pytest.mark.parametrize(
    "given",
    [{"target": "site"}, {"stages": ["seen", "liked"]}, {"target": "x1", "groups": "site", "stability": 2}],
)
def test_a_target_that_no_fit_takes_is_screened_alone(frame, tmp_path, given):
    frame = frame.assign(site=list("abcdef") * 10, seen=1, liked=[0, 1] * 30)
    frame.to_csv(tmp_path / "data.csv", index=False)
    study, _, _ = propose_study(str(tmp_path / "data.csv"), given)
    assert study.steps == ("screen",)
    assert any("no formula is fitted" in notice for notice in study.notices)


def test_a_table_of_many_inputs_names_none(tmp_path):
    wide = pd.DataFrame({f"x{place}": range(place, place + 6) for place in range(250)})
    wide.to_csv(tmp_path / "wide.csv", index=False)
    study, _, _ = propose_study(str(tmp_path / "wide.csv"))
    assert "inputs" not in study.options["data"]


def test_without_the_packages_of_a_report_none_is_written_and_said(data, monkeypatch):
    monkeypatch.setattr("symscreen.studies.proposal.find_spec", {}.get)
    study, _, _ = propose_study(data)
    assert study.outputs == {}
    assert any("pip install 'symscreen[report]'" in notice for notice in study.notices)


def test_a_table_that_cannot_be_screened_is_refused(tmp_path):
    (tmp_path / "words.csv").write_text("a,b\np,q\n")
    with pytest.raises(DataError):
        propose_study(str(tmp_path / "words.csv"))


@pytest.mark.parametrize(
    ("data", "report"),
    [
        ("a.b.csv", "a.b.report.html"),
        ("in/data.parquet", "data.report.html"),
        ("data.tsv.gz", "data.report.html"),
        ("data", "data.report.html"),
        ("days/*.csv", "data.report.html"),
        ("my data.csv", "my_data.report.html"),
        ("duckdb:all.db#trips", "trips.report.html"),
        ("-", "data.report.html"),
    ],
)
def test_the_report_is_named_like_the_table(data, report):
    assert name_report(data) == report
