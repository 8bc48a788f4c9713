from __future__ import annotations

import csv
import io
import shutil

import pandas as pd
import pytest

import symscreen
from symscreen.cli.command import run_command
from symscreen.experiments import base
from symscreen.experiments.base import Experiment, ExperimentOutcome, ExperimentSettings
from symscreen.experiments.figure4 import SIZES

TRUTH = "2*x1**3 + 5*x3 + 10"


@pytest.fixture
def run(capsys):
    """Run a command line in this process; give status, standard output and standard error."""

    def run(*arguments):
        status = run_command([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return run


@pytest.fixture(scope="module")
def rankings(tmp_path_factory):
    """Write the ranking of all 24 features, and of the first four classes."""
    folder = tmp_path_factory.mktemp("rankings")
    data = folder / "data.csv"
    symscreen.datasets.make_additive(n=60, seed=3).frame.to_csv(data, index=False)
    for name, *shown in (("all", "--top", "all"), ("four", "--top", "4", "--max-correlation", "1")):
        status = run_command([
            "screen", str(data), "--operators", "ablation", "--layers", "bu", "--pool", "strict",
            "--screener", "t0,lasso", *shown, "--out", str(folder / f"{name}.csv"), "--quiet",
        ])  # fmt: skip
        assert status == 0
    return folder


@pytest.fixture
def ranking(rankings, tmp_path, capsys):
    """Give a copy of the rankings."""
    capsys.readouterr()
    return shutil.copytree(rankings, tmp_path / "rankings")


@pytest.mark.slow
def test_a_ranking_is_measured(run, ranking):
    status, out, err = run("evaluate", ranking / "all.csv", "--truth", TRUTH, "--recall", "5")
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert "12 of 24 features are correct (0.5 of all)" in out
    assert "terms: x3, x1**3" in out
    table = [line.split() for line in out.splitlines() if line.startswith(("screener", "t0", "lasso"))]
    assert table[0] == ["screener", "AP", "PR-AUC", "ROC-AUC", "R@5", "first"]
    assert [row[0] for row in table[1:]] == ["t0", "lasso"]
    assert "R@K" in out


@pytest.mark.slow
def test_figures_and_a_picture_are_written(run, ranking):
    out = ranking / "figures.csv"
    picture = ranking / "curves.svg"
    arguments = ("evaluate", ranking / "all.csv", "--truth", TRUTH, "--out", out, "--picture", picture)
    assert run(*arguments)[0] == 0
    figures = pd.read_csv(out).set_index("screener")
    whole = symscreen.evaluation.evaluate(symscreen.read_ranking(ranking / "all.csv"), TRUTH).table
    assert figures.average_precision.tolist() == pytest.approx(whole.average_precision.tolist())
    assert picture.read_text().startswith("<?xml")
    status, _, err = run(*arguments)
    assert status == 2
    assert "figures.csv exists" in err
    assert run(*arguments, "--force")[0] == 0
    status, printed, _ = run("evaluate", ranking / "all.csv", "--truth", TRUTH, "--out", "-")
    assert status == 0
    assert [row["screener"] for row in csv.DictReader(io.StringIO(printed))] == ["t0", "lasso"]


@pytest.mark.slow
def test_a_truncated_ranking_is_refused_or_bounded(run, ranking):
    status, out, err = run("evaluate", ranking / "four.csv", "--truth", TRUTH)
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "--top all" in err
    assert "--outside" in err
    status, out, err = run("evaluate", ranking / "four.csv", "--truth", TRUTH, "--outside", 8)
    assert (status, err) == (0, "")
    low, high = (line.split() for line in out.splitlines() if line.startswith("t0, at"))
    assert low[:3] == ["t0,", "at", "least"]
    assert high[:3] == ["t0,", "at", "most"]
    known = run("evaluate", ranking / "four.csv", "--truth", TRUTH, "--outside", 8, "--out", "-")[1]
    row = next(csv.DictReader(io.StringIO(known)))
    assert float(low[3]) == pytest.approx(float(row["average_precision_low"]), rel=1e-3)
    assert float(high[3]) == pytest.approx(float(row["average_precision_high"]), rel=1e-3)
    assert "lasso" not in out
    status, _, err = run(
        "evaluate", ranking / "four.csv", "--truth", TRUTH, "--outside", 8, "--picture", ranking / "p.png"
    )
    assert status == 2
    assert "bounds" in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--criterion", "activ"], "did you mean 'active'"),
        (["--recall", "0"], "at least 1"),
        (["--recall", "a,b"], "at least 1"),
        (["--picture", "p.jpg"], ".png, .svg"),
        (["--operators", "nonsense"], "nonsense"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(run, ranking, arguments, word):
    status, out, err = run("evaluate", ranking / "all.csv", "--truth", TRUTH, *arguments)
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert word in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("truth", "word"),
    [("x9", "no column 'x9'"), ("3", "contains no column"), ("x1 +", "x1 +"), ("__import__", "no column")],
)
def test_a_truth_that_is_none_is_refused(run, ranking, truth, word):
    status, out, err = run("evaluate", ranking / "all.csv", "--truth", truth)
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert word in err


def test_reproduce_lists_its_experiments(run):
    status, out, _ = run("reproduce")
    assert status == 0
    assert max(map(len, out.splitlines())) <= 80
    for name in ("figure4", "table1", "figure5", "figure6", "table3", "strogatz", "srbench",
                 "lr-noise", "lr-benchmarks", "rmr-simulated", "gss", "multistage"):  # fmt: skip
        assert name in out


@pytest.fixture
def toy(monkeypatch):
    """Stand an experiment of two numbers in for figure 4."""
    from symscreen.experiments.registry import EXPERIMENTS

    def run(settings: ExperimentSettings) -> ExperimentOutcome:
        settings.report_progress(1, 1)
        frame = pd.DataFrame({"screener": ["t0"], "published": [1.0], "ours": [settings.seed + 0.5]})
        return ExperimentOutcome({"both": frame}, {"line": _picture}, ("They differ.",))

    experiment = Experiment("figure4", "A toy.", "Nobody", run, SIZES, supported_settings=("repeats",))
    monkeypatch.setitem(EXPERIMENTS, "figure4", experiment)


def _picture():
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1, 1))
    figure.add_subplot().plot([0, 1])
    return figure


@pytest.mark.usefixtures("toy")
def test_an_experiment_is_printed_and_written(run, tmp_path):
    folder = tmp_path / "results"
    status, out, err = run("reproduce", "figure4", "--size", "small", "--seed", 2, "--out", folder)
    assert status == 0
    assert "written: 3 files" in err
    assert "size small: repeats 10" in err
    assert "For another size: --size medium or --size full." in err
    assert "They differ." in out
    assert "2.5" in out
    assert sorted(path.name for path in folder.iterdir()) == [
        "figure4-both.csv", "figure4-line.png", "figure4-remarks.txt",
    ]  # fmt: skip
    assert pd.read_csv(folder / "figure4-both.csv").ours.tolist() == [2.5]
    status, _, err = run("reproduce", "figure4", "--out", folder)
    assert status == 2
    assert "not empty" in err
    assert run("reproduce", "figure4", "--out", folder, "--force", "--quiet")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["figur4"], "did you mean 'figure4'"),
        (["figure4", "--noise-ratio", "0.1"], "does not support --noise-ratio"),
        (["figure4", "--noise-ratio", "-1"], "at least 0"),
        (["figure4", "--noise-ratio", "nan"], "at least 0"),
        (["figure4", "--data", "."], "does not support --data"),
        (["figure4", "--problems", "I_34_8"], "does not support --problems"),
        (["figure4", "--units"], "does not support --units"),
        (["figure4", "--checkpoint", "rows"], "does not support --checkpoint"),
        (["gss"], "gss needs a folder (--data) with gss_job_rankings.csv"),
        (["gss", "--data", "no/such/folder"], "no such folder"),
        (["figure4", "--seeds", "0"], "--seeds"),
        (["figure4", "--seed", "-1"], "--seed"),
        (["figure4", "--out", "no/such/folder"], "no folder"),
    ],
)
@pytest.mark.usefixtures("toy")
def test_what_an_experiment_cannot_take_is_refused(run, arguments, word):
    status, out, err = run("reproduce", *arguments)
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert word in err


@pytest.mark.usefixtures("toy")
def test_a_missing_extra_is_named_before_any_work(run, monkeypatch):
    from symscreen.experiments.registry import EXPERIMENTS

    monkeypatch.setattr(base, "find_spec", lambda _: None)
    needy = Experiment("figure4", "A toy.", "Nobody", EXPERIMENTS["figure4"].run, SIZES, extras=("bart",))
    monkeypatch.setitem(EXPERIMENTS, "figure4", needy)
    status, _, err = run("reproduce", "figure4")
    assert status == 2
    assert "pip install 'symscreen[bart]'" in err
