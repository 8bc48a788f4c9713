from __future__ import annotations

import pytest
from helpers.requirements import require

from symscreen.cli.command import run_command


@pytest.fixture
def run(capsys):
    def run(*arguments):
        status = run_command([str(argument) for argument in arguments])
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def data(frame, tmp_path):
    frame.assign(x3=frame["x3"] + 1).to_csv(tmp_path / "data.csv", index=False)  # no codes of categories
    return tmp_path / "data.csv"


SMALL = ("--layers", "ub", "--unary", "cube", "--binary", "mul", "--repeats", 8)


@pytest.mark.slow
def test_the_table_fits_and_is_written(run, data, tmp_path):
    out = tmp_path / "power.csv"
    status, text, err = run(
        "power", data, "--truth", "x2*x1**3", "--noise-ratio", "0,0.1,50", "--top", 2, *SMALL, "--out", out
    )
    assert (status, err) == (0, f"symscreen: written: {out}\n")
    assert max(map(len, text.splitlines())) <= 80
    assert "lost at a noise ratio of about" in text
    assert "certain" in text
    assert out.read_text().startswith(
        "noise_ratio,repeats,found,probability,low,high,represented,median_rank,mean_rank\n"
    )
    status, _, err = run("power", data, "--truth", "x1", *SMALL, "--out", out)
    assert (status, "exists" in err) == (2, True)
    status, text, _ = run("power", data, "--truth", "x1", *SMALL, "--noise-ratio", "0", "--out", "-")
    assert text.splitlines()[1].startswith("0.0,1,1,1.0")


def test_words_for_each_end(run, data):
    text = run("power", data, "--truth", "x1", "--noise-ratio", "0,1e5", "--top", 1, *SMALL)[1]
    assert "lost between the noise ratios 0 and 100000" in text
    assert "not lost" in run("power", data, "--truth", "x1", "--noise-ratio", "0", *SMALL)[1]
    text = run("power", data, "--truth", "x1", "--noise-ratio", "1e5", "--top", 1, *SMALL)[1]
    assert "lost at every noise ratio tried" in text


@pytest.mark.slow
def test_what_noise_alone_finds_is_not_lost_at_a_noise(run, data):
    options = (*SMALL, "--top", 3, "--noise-ratio", "0,0.01,1e3")
    text = run("power", data, "--truth", "x1**3*x2", "--feature", "x3", *options)[1]
    assert "not found even without noise" in text
    assert "lost at" not in text
    wide = (*SMALL, "--top", 8, "--noise-ratio", "0,1e9", "--repeats", 12)
    text = " ".join(run("power", data, "--truth", "x1**3*x2", "--feature", "x3", *wide)[1].split())
    assert "not found even without noise" in text


@pytest.mark.slow
def test_units_are_taken_as_by_a_screen(run, frame, tmp_path):
    require("pint")
    measured = frame.set_axis(["x1 (m)", "x2 (s)", *frame.columns[2:]], axis=1)
    measured.to_csv(tmp_path / "units.csv", index=False)
    command = ("power", tmp_path / "units.csv", "--truth", "`x1 (m)`/`x2 (s)`", "--noise-ratio", 0)
    options = ("--layers", "b", "--binary", "add,div", "--units", "strict", "--quiet")
    status, plain, _ = run(*command, *options[:4])
    assert status == 0
    status, strict, err = run(*command, *options)
    assert (status, err) == (0, "")
    assert plain != strict
    status, _, err = run(*command, *options, "--target-units", "kg")
    assert status == 2


def test_mistakes_are_told_in_one_line(run, data):
    for arguments, word in (
        (("--truth", "x1 + x2"), "symscreen why DATA"),
        (("--truth", "x1", "--noise-ratio", "1e308"), "--noise-ratio 1e+308 is too large"),
        (("--truth", "x1", "--noise-ratio", "-1"), "--noise-ratio is '-1'"),
        (("--truth", "x1", "--top", "all"), "--top is 'all': power asks"),
        (("--truth", "x1", "--ranking", "x1,x2"), "needs a numeric target, and --ranking"),
        (("--truth", "x1", "--stages", "x1,x2"), "needs a numeric target, and --stages"),
    ):
        status, _, err = run("power", data, *arguments, *SMALL)
        assert (status, err.count("\n"), word in err) == (2, 1, True), err
    assert "symscreen power" in run("power", "--help")[1]
