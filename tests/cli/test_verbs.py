from __future__ import annotations

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from helpers.compile_notice import drop_compile_notice
from helpers.interruptible import start_interruptible

import symscreen
from symscreen._resources import find_resource_folder
from symscreen.cli.command import VERBS, run_command
from symscreen.results.ranking_files import format_ranking_csv

SCREEN = [sys.executable, "-m", "symscreen"]


@pytest.fixture
def run(capsys):
    """Run a command line in this process; give status, standard output and standard error."""

    def run(*arguments):
        status = run_command([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return run


@pytest.fixture
def data(frame, tmp_path):
    path = tmp_path / "data.csv"
    frame.assign(x3=frame["x3"] + 1).to_csv(path, index=False)  # no codes of categories
    return path


@pytest.mark.slow
def test_the_main_job(run):
    glider = find_resource_folder("data") / "strogatz" / "glider2.csv"
    status, out, err = run(
        "screen", glider, "--layers", "ubb", "--unary", "cos,id", "--binary", "sub,div", "--top", 5
    )
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    first = next(line for line in out.splitlines() if line.lstrip().startswith("1 "))
    assert "x1 - cos(x2)/x1" in first
    assert first.split("cos(x2)/x1")[1].split()[1] == "1!"  # in the order of the target, and unsafe


@pytest.mark.parametrize("verb", ["screen", "plan", "operators", "screeners"])
def test_each_verb_has_an_example_in_its_help(run, verb):
    status, out, _ = run(verb, "--help")
    assert status == 0
    assert f"symscreen {verb}" in out.split("Example", 1)[1]


@pytest.mark.parametrize("verb", VERBS)
def test_help_fits_80_columns_and_a_screen(run, verb):
    short = run(verb, "--help")[1].splitlines()
    assert max(map(len, short)) <= 80
    assert len(short) <= 45
    if any("--help-all" in line for line in short):
        whole = run(verb, "--help-all")[1].splitlines()
        assert max(map(len, whole)) <= 80
        (line,) = (line for line in short if "--help-all" in line)
        more = re.search(r"List all options: (\d+) more than --help\.", line)
        options = [sum(line.startswith("  -") for line in lines) for lines in (short, whole)]
        assert options[1] - options[0] == int(more[1])


def test_the_list_of_commands_has_whole_sentences(run):
    commands = run("--help")[1].split("Commands:\n")[1].splitlines()
    assert len(commands) >= len(VERBS)
    assert [line for line in commands if not line.endswith(".") or line.endswith("...")] == []


def test_options_have_short_names(run, data, tmp_path):
    out = tmp_path / "ranking.csv"
    assert run("screen", data, "-t", "target", "-l", "u", "-j", "1", "-o", out, "-q")[0] == 0
    long = tmp_path / "long.csv"
    run("screen", data, "--target", "target", "--layers", "u", "--jobs", "1", "--out", long, "--quiet")
    assert out.read_text() == long.read_text()


def test_the_version(run):
    assert run("--version")[1] == f"symscreen {symscreen.__version__}\n"


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_out_writes_the_ranking_and_refuses_to_overwrite(run, data, tmp_path, ending):
    out = tmp_path / f"r.{ending}"
    status, _, err = run("screen", data, "--layers", "u", "--out", out)
    assert status == 0
    assert f"written: {out}" in err
    before = out.read_bytes()
    status, stdout, err = run("screen", data, "--layers", "u", "--out", out)
    assert (status, stdout) == (2, "")
    assert err == f"symscreen: {out} exists and is not overwritten; give another name or --force\n"
    assert run("screen", data, "--layers", "u", "--out", out, "--force", "--quiet")[0] == 0
    assert out.read_bytes() == before


@pytest.mark.slow
def test_the_ranking_file_is_the_same_for_any_jobs_and_chunks(run, data, tmp_path):
    files = []
    for name, options in {
        "a": ["--jobs", 1],
        "b": ["--jobs", 2, "--chunk-size", 5],
        "c": ["--chunk-size", 99],
    }.items():
        asked = ["--layers", "ub", "--unary", "log,square", "--top", 100, *options]
        run("screen", data, *asked, "--out", tmp_path / f"{name}.csv")
        files.append((tmp_path / f"{name}.csv").read_bytes())
    assert len(set(files)) == 1


@pytest.mark.slow
def test_standard_input_and_output(data):
    done = subprocess.run(
        [*SCREEN, "screen", "-", "--layers", "u", "--no-p-values", "--out", "-"],
        input=data.read_bytes(),
        capture_output=True,
        check=True,
    )
    table = pd.read_csv(io.BytesIO(done.stdout))
    assert table["rank"].tolist() == list(range(1, len(table) + 1))
    assert drop_compile_notice(done.stderr) == ""


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_fault(data):
    command = (
        f"{sys.executable} -m symscreen screen {data} --layers ub --top all --no-p-values --out - | head -n 1"
    )
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, check=False)  # noqa: S607
    assert done.stdout.startswith(b"rank,")
    assert drop_compile_notice(done.stderr) == ""
    assert done.returncode == 0


def test_no_verb_shows_the_help(run):
    assert run() == run("--help")


@pytest.mark.slow
def test_an_output_that_cannot_take_it_is_told(data):
    with Path("/dev/full").open("wb") as full:
        arguments = [
            *SCREEN,
            "screen",
            str(data),
            "--layers",
            "u",
            "--top",
            "all",
            "--no-p-values",
            "--out",
            "-",
        ]
        done = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    told = drop_compile_notice(done.stderr)
    assert told.startswith("symscreen: cannot write the output (No space left on device)")


@pytest.mark.slow
def test_a_pipe_that_does_not_know_every_letter_gets_them_escaped():
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    done = subprocess.run([*SCREEN, "screeners"], env=environment, capture_output=True, check=True)
    assert rb"\u0394" in done.stdout
    assert done.stderr == b""


@pytest.mark.slow
def test_a_real_interrupt_ends_a_long_run_soon(tmp_path, rng):
    columns = {f"x{place}": rng.uniform(1, 2, 20_000) for place in range(12)}
    pd.DataFrame(columns | {"y": rng.normal(size=20_000)}).to_parquet(tmp_path / "long.parquet")
    log = tmp_path / "log.json"
    run = [*SCREEN, "screen", str(tmp_path / "long.parquet"), "--layers", "ubb", "--binary", "mul,add"]
    run += ["--search", "exact", "--log-json", str(log)]
    with start_interruptible(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while not log.exists() or not log.read_text():  # until it works, however slow the machine
            time.sleep(0.1)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert drop_compile_notice(err).strip() == "symscreen: interrupted"


def test_with_a_file_the_terminal_shows_no_more_than_twenty(run, data, tmp_path):
    out = run("screen", data, "--layers", "ub", "--top", "all", "--out", tmp_path / "r.csv")[1]
    assert "the best 20 features:" in " ".join(out.split())
    assert len(pd.read_csv(tmp_path / "r.csv")) > 20


# Runs the arguments, and then the same with --quiet.
TWICE = """
import sys
from symscreen.cli.command import run_command
status = run_command(sys.argv[1:])
print("\\nquiet from here", file=sys.stderr, flush=True)
sys.exit(status or run_command([*sys.argv[1:], "--quiet"]))
"""


def _run_twice_at_a_terminal(arguments):
    """Run with standard error at a terminal that is read meanwhile: its buffer is small."""
    leader, follower = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-c", TWICE, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=follower,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            shown += os.read(leader, 1 << 16)
        except OSError:  # the other end was closed, for the run has ended
            break
    os.close(leader)
    assert running.wait() == 0
    return shown.split(b"quiet from here")


@pytest.mark.slow
def test_the_progress_bar_is_for_terminals_only(data):
    arguments = ["screen", str(data), "--layers", "ub", "--chunk-size", "10", "--no-p-values"]
    shown, quiet = _run_twice_at_a_terminal(arguments)
    assert b"generating formulas" in shown
    assert b"scoring" in shown
    assert quiet.strip() == b""


def test_notices_go_to_standard_error(run, frame, tmp_path):
    frame.assign(species="oak").to_csv(tmp_path / "t.csv", index=False)
    status, out, err = run("screen", tmp_path / "t.csv", "--layers", "u", "--target", "target")
    assert status == 0
    first, second = err.splitlines()
    assert first == "symscreen: left out: 'species' (text)"
    assert second.startswith("symscreen: inputs: 'x3' has the integers 1 to 4 only")
    assert second.endswith("say so: --categorical x3")
    assert "species" not in out
    assert run("screen", tmp_path / "t.csv", "--layers", "u", "--target", "target", "--quiet")[2] == ""


def test_names_with_commas_stand_in_backticks(run, frame, tmp_path):
    frame = frame.rename(columns={"x1": "a,b", "x2": "c`d"})
    frame.to_csv(tmp_path / "t.csv", index=False)
    status, out, _ = run(
        "screen", tmp_path / "t.csv", "--inputs", "`a,b`, `c``d`", "--layers", "b", "--binary", "mul"
    )
    assert status == 0
    assert "`a,b`*`c``d`" in out
    status, _, err = run("screen", tmp_path / "t.csv", "--inputs", "`a,b", "--layers", "b")
    assert (status, "cannot split" in err) == (2, True)


def test_plan_runs_nothing_and_counts(run, data):
    status, out, _ = run("plan", data, "--operators", "ablation", "--pool", "strict", "--layers", "ub")
    assert status == 0
    assert "at most 42 features" in out


def test_operators_lists_and_checks(run, tmp_path):
    assert "absdiff" in run("operators")[1]
    assert "never directly in log: exp" in run("operators", "basic")[1]
    bad = tmp_path / "bad.toml"
    bad.write_text('unary = ["sine"]')
    status, _, err = run("operators", bad)
    assert status == 2
    problem = "there is no unary operator 'sine'; did you mean 'sin' or 'sinh' or 'sign'?"
    assert err == f"symscreen: {bad}, unary: {problem}\n"


def test_screeners_says_when_each_fails(run):
    out = run("screeners")[1]
    assert "fails for non-monotone relations" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scren", "x.csv"], "there is no verb 'scren'; did you mean 'screen'"),
        (["screen"], "Missing argument 'DATA'"),
        (["screen", "no.csv"], "no.csv"),
        (["screen", "DATA", "--layer", "u"], "--layers"),
        (["screen", "DATA", "--top", "-1"], "--top is '-1'; give an integer of at least 1, or all"),
        (["screen", "DATA", "--pool", "deep"], "'deep' is not one of 'cumulative', 'strict'"),
        (["screen", "DATA", "--jobs", "two"], "'two' is not a valid integer"),
        (["screen", "DATA", "--screener", "t0,foo"], "there is no screener 'foo'"),
        (
            ["screen", "DATA", "--screener", "lasso[folds=1]"],
            "lasso: folds is '1'; give an integer of at",
        ),
        (["screen", "DATA", "--screener", "lasso[folds=5"], "cannot read the screeners 'lasso[folds=5'"),
        (["screen", "DATA", "--rule", "1se"], "none of the screeners t0 has an option 'rule'; leave it out"),
        (["screen", "DATA", "--screener", "lasso", "--engine", "glmnt"], "did you mean 'glmnet'?"),
        (["screen", "DATA", "--prescreen", "0"], "prescreen is 0; give an integer of at least 1"),
        (["screen", "DATA", "--prescreen", "few"], "'few' is not a valid integer"),
        (["screen", "DATA", "--pool-size", "x:5"], "--pool-size is 'x:5'; write 200, or u:50,b:200"),
        (
            ["screen", "DATA", "--prune-by", "t0"],
            "pruned by t0: say how many features stay, for instance --pool-size 200",
        ),
        (["screen", "DATA", "--rounds", "9"], "rounds is 9; give at most 5"),
        (["screen", "DATA", "--seed", "-1"], "seed is -1; give an integer of at least 0"),
        (["screen", "DATA", "--target", "targt"], "did you mean 'target'"),
        (["screen", "DATA", "--out", "r.xls"], "use one of .csv, .parquet, .json"),
        (["screen", "DATA", "--also", "x1 ^ 2"], "write a power as x**2"),
    ],
)
def test_every_complaint_is_one_line_and_status_2(run, data, arguments, message):
    status, out, err = run(*(data if argument == "DATA" else argument for argument in arguments))
    assert (status, out) == (2, "")
    assert err.startswith("symscreen: ")
    assert err.count("\n") == 1
    assert message in err
    assert "Traceback" not in err


SMALL = ["--operators", "ablation", "--layers", "ub"]


@pytest.mark.slow
def test_joint_screeners_with_settings_stand_beside_column_ones(run, data, tmp_path):
    asked = ["--screener", "t0, lasso[folds=5],stepwise[direction=backward]", "--rule", "1se"]
    out = tmp_path / "r.csv"
    status, text, _ = run("screen", data, *SMALL, *asked, "--prescreen", 12, "--seed", 3, "--out", out)
    assert status == 0
    assert max(map(len, text.splitlines())) <= 80
    assert "by t0, lasso, stepwise" in " ".join(text.split())
    table = pd.read_csv(out)
    expected = symscreen.screen(
        data,
        operators="ablation",
        layers="ub",
        screener="t0,lasso[folds=5,rule=1se],stepwise[direction=backward]",
        prescreen=12,
        seed=3,
    )
    assert format_ranking_csv(expected) == out.read_text()
    assert {"lasso", "lasso_rank", "lasso_selected", "lasso_entry", "stepwise_step"} <= set(table)
    record = json.loads((tmp_path / "r.csv.json").read_text())
    assert record["joint"]["lasso"]["settings"] == {"engine": "sklearn", "folds": 5, "rule": "1se"}
    assert record["joint"]["stepwise"]["shown"] == 12
    assert record["options"]["seed"] == 3


def test_cuts_and_rounds_reach_the_pipeline(run, data, tmp_path):
    out = tmp_path / "r.csv"
    arguments = [
        "--operators",
        "ablation",
        "--layers",
        "ubu",
        "--pool-size",
        "u:3,b:5",
        "--prune-by",
        "xi,pearson",
    ]
    status, text, _ = run("screen", data, *arguments, "--rounds", 2, "--top", 4, "--out", out)
    assert status == 0
    assert "round: the round that found it" in " ".join(text.split())
    assert set(pd.read_csv(out)["round"]) == {1, 2}
    record = json.loads((tmp_path / "r.csv.json").read_text())
    assert record["options"]["pool_size"] == {"u": 3, "b": 5}
    assert record["options"]["prune_by"] == ["xi", "pearson"]
    assert [(each["layer"], each["chosen"]) for each in record["pool_pruning"]] == [(1, 3), (2, 5)] * 2
    assert len(record["rounds"]) == 2


def test_a_notice_tells_of_rounds_that_were_not_run(run, frame, tmp_path):
    frame.assign(target=frame["x1"] ** 3).to_csv(tmp_path / "t.csv", index=False)
    status, text, err = run("screen", tmp_path / "t.csv", *SMALL, "--rounds", 3)
    assert status == 0
    assert err.splitlines()[-1] == (
        "symscreen: round 2 was not run: the features found leave nothing to explain"
    )
    assert "x1**3" in text


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_scores_that_are_missing_are_written_to_every_kind_of_file(run, data, tmp_path, ending):
    out = tmp_path / f"r.{ending}"
    status, _, err = run(
        "screen",
        data,
        *SMALL,
        "--screener",
        "t0,lasso",
        "--prescreen",
        4,
        "--top",
        12,
        "--max-correlation",
        1,
        "--out",
        out,
    )
    assert (status, err) == (
        0,
        f"symscreen: written: {out}{' and ' + str(out) + '.json' if ending == 'csv' else ''}\n",
    )
    if ending == "json":
        rows = json.loads(out.read_text())["ranking"]
        assert sum(row["lasso"] is None for row in rows) >= 8
        assert sum(row["lasso_selected"] is None for row in rows) >= 8
    else:
        table = pd.read_csv(out) if ending == "csv" else pd.read_parquet(out)
        assert table["lasso"].isna().sum() >= 8


def test_the_screeners_listing_shows_options_of_joint_ones(run):
    out = " ".join(run("screeners")[1].split())
    assert "sees many features together" in out
    assert "lasso[folds=10]: folds of the cross-validation" in out


def test_a_fault_of_ours_is_called_so(run, data, monkeypatch):
    monkeypatch.setattr("symscreen.screening.screen.screen", lambda *_, **__: 1 / 0)
    status, _, err = run("screen", data)
    assert status == 1
    assert "ZeroDivisionError" in err
    assert "a fault of symscreen's own" in err


def test_interrupting_ends_in_order(run, data, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("symscreen.screening.screen.screen", interrupt)
    status, out, err = run("screen", data)
    assert (status, out, err) == (130, "", "\nsymscreen: interrupted\n")


def test_the_record_repeats_the_run(run, data, tmp_path):
    run(
        "screen", data, "--layers", "u[log,sin] b", "--binary", "mul", "--top", 7, "--out", tmp_path / "r.csv"
    )
    record = json.loads((tmp_path / "r.csv.json").read_text())
    options = {
        key: record["options"][key]
        for key in ("layers", "operators", "pool", "screener", "sign", "top", "target")
    }
    again = symscreen.screen(data, **options)
    assert format_ranking_csv(again) == (tmp_path / "r.csv").read_text()


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(12, "Cannot allocate memory"),
        ImportError("libx.so: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
    ],
)
def test_a_lack_of_memory_is_told_in_one_line(run, monkeypatch, error):
    def lacking(*_, **__):
        raise ValueError from error

    monkeypatch.setattr("symscreen.screening.screen.screen", lacking)
    status, out, err = run("screen", "data.csv")
    assert (status, out) == (2, "")
    assert err == "symscreen: memory ran out; lower --max-ram or --jobs, or let the process have more\n"
