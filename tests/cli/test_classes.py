from __future__ import annotations

import csv
import io
import json

import pytest

from symscreen.cli.command import run_command


@pytest.fixture
def run(capsys):
    def run(*arguments):
        status = run_command([str(argument) for argument in arguments])
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def data(frame, tmp_path):
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


SMALL = ("--layers", "ub", "--unary", "neg,cube", "--binary", "sub", "--top", 5)


def test_classes_are_listed_from_the_file_or_the_data(run, data, tmp_path):
    out = tmp_path / "r.json"
    assert run("screen", data, *SMALL, "--class-members", 2, "--out", out)[0] == 0
    status, listed, err = run("classes", out)
    assert (status, err) == (0, "")
    assert max(map(len, listed.splitlines())) <= 80
    assert "affine copy: a*shown + b on these rows." in listed
    status, again, _ = run("classes", out, "--data", data, "--class-members", 2)
    assert (status, again) == (0, listed)
    status, one, _ = run("classes", out, "--rank", 2, "--out", "-")
    rows = list(csv.DictReader(io.StringIO(one)))
    assert {row["rank"] for row in rows} == {"2"}
    assert not any(row["expression"].startswith("-") for row in rows)


def test_of_a_list_of_all_features_a_member_leads_to_its_class(run, data, tmp_path):
    out, options = tmp_path / "all.json", ("--layers", "u", "--unary", "cube", "--top", "all")
    assert run("screen", data, *options, "--out", out)[0] == 0
    first = run("classes", out, "--data", data, "--rank", 1)
    status, listed, err = run("classes", out, "--data", data, "--rank", 2)
    assert (status, listed) == (0, first[1])
    assert "is equivalent to rank 1" in err
    status, listed, err = run("classes", out, "--data", data, "--rank", 2, "--class-members", 1)
    assert (status, listed) == (2, "")
    assert "give a larger --class-members" in err


def test_members_are_written_and_not_over_others(run, data, tmp_path):
    out, members = tmp_path / "r.csv", tmp_path / "members.csv"
    assert run("screen", data, *SMALL, "--class-members", 9, "--out", out)[0] == 0
    assert run("classes", out, "--out", members)[0] == 0
    assert members.read_text().startswith("rank,class_size,member,expression")
    status, _, err = run("classes", out, "--out", members)
    assert (status, err.count("\n")) == (2, 1)
    assert "exists" in err


def test_other_ways_of_writing_are_listed_on_demand(run, data, tmp_path):
    out = tmp_path / "r.json"
    assert run("screen", data, "--layers", "bb", "--binary", "mul", "--top", 3, "--out", out)[0] == 0
    listed = run("classes", out, "--data", data, "--equivalent-forms", 2)[1]
    assert "an equivalent form" in listed
    assert max(map(len, listed.splitlines())) <= 80
    written = run("classes", out, "--data", data, "--equivalent-forms", 2, "--out", "-")[1]
    assert written.splitlines()[0].endswith(",relation,equivalent_forms")


def test_mistakes_are_told_in_one_line(run, data, tmp_path):
    out = tmp_path / "r.csv"
    assert run("screen", data, *SMALL, "--out", out, "--quiet")[0] == 0
    status, _, err = run("classes", out)
    assert (status, err.count("\n")) == (2, 1)
    assert "pass the data that were screened (--data)" in err
    status, _, err = run("classes", out, "--rank", 6)
    assert (status, err) == (2, "symscreen: --rank is 6; the ranking has 5 entries\n")
    assert run("classes", out, "--help")[1].count("symscreen classes") >= 2


@pytest.mark.parametrize("change", [{"grammar": 1}, {"options": {"inputs": 1}}, {"options": {"pool": {}}}])
def test_a_record_that_was_altered_is_told_in_a_line(change, run, data, tmp_path):
    ranking = tmp_path / "ranking.json"
    assert run("screen", data, "--layers", "u", "--top", "2", "--out", ranking)[0] == 0
    told = json.loads(ranking.read_text())
    told["record"]["digest"] = None
    for name, value in change.items():
        told["record"][name] = told["record"][name] | value if isinstance(value, dict) else value
    ranking.write_text(json.dumps(told))
    status, _, words = run("classes", ranking, "--data", data)
    assert status == 2
    assert "its record is damaged" in words
    assert len(words.splitlines()) == 1
