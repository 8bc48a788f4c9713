from __future__ import annotations

import os

import pytest

from symscreen.cli.command import run_command

SMALL = ("--layers", "u", "--unary", "sin", "--top", "2", "--quiet")


@pytest.fixture
def run(capsys):
    def run(*arguments):
        status = run_command([str(argument) for argument in arguments])
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def data(frame, tmp_path):
    frame.to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "own.toml").write_text('unary = ["sin"]\n')
    (tmp_path / "units.json").write_text("{}")
    return tmp_path / "data.csv"


def _refused(ended, words):
    status, out, err = ended
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert words in err
    return err


@pytest.mark.parametrize("force", [(), ("--force",)])
@pytest.mark.parametrize("way", ["itself", "up and down", "a link", "another name of it"])
def test_the_data_are_never_overwritten(run, data, tmp_path, way, force):
    places = {"itself": data, "up and down": data.parent / "x" / ".." / "data.csv"}
    (tmp_path / "x").mkdir()
    place = places.get(way, tmp_path / "other.csv")
    if way == "a link":
        place.symlink_to(data)
    elif way == "another name of it":
        os.link(data, place)
    before = data.read_bytes()
    for option in ("--out", "--bundle", "--report", "--log-json"):
        _refused(run("screen", data, *SMALL, option, place, *force), "is read by this command")
    for verb in (("fit", data), ("power", data, "--truth", "x1"), ("apply", "b.json", data)):
        _refused(run(*verb, "--out", place, *force), "is read by this command")
    assert data.read_bytes() == before


def test_nor_is_anything_else_that_is_read(run, data, tmp_path):
    out, units = tmp_path / "r.csv", tmp_path / "units.json"
    assert run("screen", data, *SMALL, "--out", out)[0] == 0
    there = {path: path.read_bytes() for path in tmp_path.iterdir()}
    grammar, record = tmp_path / "own.toml", tmp_path / "r.csv.json"
    for given in (
        ("screen", data, *SMALL, "--operators", grammar, "--log-json", grammar),
        ("screen", data, *SMALL, "--units", units, "--bundle", units),
        ("classes", out, "--data", data, "--out", data),
        ("classes", out, "--out", record),
        ("report", out, "--out", out),
        ("export", out, "--to", "sql", "--out", record),
        ("evaluate", out, "--truth", "x1", "--out", out),
        ("evaluate", out, "--truth", "x1", "--picture", record),
        ("evaluate", out, "--truth", "x1", "--operators", grammar, "--out", grammar),
        ("power", data, "--truth", "x1", "--operators", grammar, "--out", grammar),
        ("fit", data, "--operators", grammar, "--out", grammar),
        ("apply", out, data, "--out", out),
    ):
        _refused(run(*given, *(() if "screen" in given else ("--force",))), "is read by this command")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == there


@pytest.mark.parametrize("content", ["precious\n", '{"a": 1}\n', "[" * 99_999, '{"time": 1}\n', "\x00"])
def test_a_log_is_not_added_to_something_else(run, data, tmp_path, content):
    log = tmp_path / "keep.txt"
    log.write_text(content)
    _refused(run("screen", data, *SMALL, "--log-json", log), "holds something else than a log")
    assert log.read_text() == content


def test_a_log_is_added_to_an_empty_file_and_to_a_log(run, data, tmp_path):
    log = tmp_path / "log.jsonl"
    log.touch()
    assert run("screen", data, *SMALL, "--log-json", log)[0] == 0
    once = log.read_text()
    assert run("screen", data, *SMALL, "--log-json", log)[0] == 0
    assert log.read_text().startswith(once)
    assert len(log.read_text().splitlines()) == 2 * len(once.splitlines()) > 0


@pytest.mark.parametrize("other", ["out", "bundle", "report"])
def test_a_log_is_none_of_the_other_outputs(run, data, tmp_path, other):
    place = tmp_path / {"out": "r.json", "bundle": "b.json", "report": "r.html"}[other]
    _refused(run("screen", data, *SMALL, f"--{other}", place, "--log-json", place), f"that --{other} writes")
    assert not place.exists()


@pytest.mark.parametrize("force", [(), ("--force",)])
@pytest.mark.parametrize("way", ["link", "sub/.."])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("--out r.csv", "--log-json r.csv"),
        ("--out r.csv", "--log-json r.csv.json"),
        ("--out r.csv", "--bundle r.csv.json"),
        ("--out r.json", "--bundle r.json"),
        ("--out r.CSV", "--bundle r.CSV.json"),
        ("--bundle b.json", "--log-json b.json"),
        ("--bundle b.html", "--report b.html"),
        ("--report b.html", "--log-json b.html"),
        ("--out r.json", "--checkpoint r.json"),
        ("--out r.csv", "--checkpoint r.csv.json"),
    ],
)
def test_outputs_are_not_one_file_by_another_path(run, data, tmp_path, monkeypatch, one, other, way, force):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(".")
    (tmp_path / "sub").mkdir()
    there = sorted(tmp_path.iterdir())
    option, name = other.split()
    words = f"{option} {way}/{name} is a file that {one.split()[0]} writes too; give it another name"
    _refused(run("screen", data, *SMALL, *one.split(), option, f"{way}/{name}", *force), words)
    assert sorted(tmp_path.iterdir()) == there


@pytest.mark.parametrize("linked", ["symlink", "hard link", "link to what is not there"])
def test_outputs_are_not_one_file_by_a_link_to_it(run, data, tmp_path, linked):
    out, log = tmp_path / "r.csv", tmp_path / "log"
    if linked != "link to what is not there":
        out.touch()
    if linked == "hard link":
        os.link(out, log)
    else:
        log.symlink_to(out)
    there = sorted(tmp_path.iterdir())
    _refused(run("screen", data, *SMALL, "--out", out, "--log-json", log, "--force"), "--out writes too")
    assert sorted(tmp_path.iterdir()) == there


def test_figures_and_their_picture_are_not_one_file(run, data, tmp_path):
    ranking, out = tmp_path / "r.csv", tmp_path / "p.png"
    assert run("screen", data, *SMALL, "--out", ranking)[0] == 0
    given = (
        "evaluate",
        ranking,
        "--truth",
        "x1",
        "--out",
        out,
        "--picture",
        f"{tmp_path}/../{tmp_path.name}/p.png",
    )
    _refused(run(*given), "is a file that --out writes too")
    assert not out.exists()


def test_outputs_that_only_look_alike_are_written(run, data, tmp_path):
    (tmp_path / "sub").mkdir()
    places = ("--out", tmp_path / "r.csv", "--bundle", tmp_path / "sub" / "r.csv.json")
    log = ("--log-json", tmp_path / "sub" / "r.csv")
    assert run("screen", data, *SMALL, *places, *log)[0] == 0
    assert all(place.stat().st_size for place in (*places[1::2], log[1], tmp_path / "r.csv.json"))
