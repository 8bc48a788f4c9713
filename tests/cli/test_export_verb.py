from __future__ import annotations

import json
import sqlite3
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.cli.command import run_command
from symscreen.expressions.traversal import collect_inputs

SCREEN = [
    "screen",
    "data.csv",
    "--layers",
    "ub",
    "--unary",
    "square,log",
    "--binary",
    "sub,div",
    "--top",
    "5",
    "--quiet",
]


@pytest.fixture
def folder(tmp_path, monkeypatch, frame):
    monkeypatch.chdir(tmp_path)
    frame.to_csv("data.csv", index=False)
    frame.to_csv("other.csv", index=False)
    assert run_command([*SCREEN, "--bundle", "features.json", "--out", "ranking.csv"]) == 0
    return tmp_path


def run(capsys, *arguments):
    capsys.readouterr()
    status = run_command(list(arguments))
    return (status, *capsys.readouterr())


def test_a_screens_bundle_is_applied_to_new_data(folder, frame, capsys):
    result = symscreen.screen(frame, layers="ub", unary="square,log", binary="sub,div", top=5)
    assert symscreen.load_bundle("features.json") == result.expressions
    content = json.loads((folder / "features.json").read_text())
    assert content["format"] == 3
    assert content["record"]["options"]["top"] == 5
    assert content["record"]["data"]["digest"] == result.record["data"]["digest"]
    status, out, _ = run(capsys, "apply", "features.json", "other.csv")
    assert status == 0
    assert out.startswith(result.table["expression"][0].join(("", ",")))
    table = symscreen.apply_bundle("features.json", frame)
    pd.testing.assert_frame_equal(table, result.transform(frame))


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_rankings_and_bundles_of_every_kind_give_the_same_export(frame, capsys):
    for out in ("ranking.json", "ranking.parquet"):
        assert run_command([*SCREEN, "--out", out]) == 0
    texts = {
        name: run(capsys, "export", name, "--to", "sqlite")
        for name in ("ranking.csv", "ranking.json", "ranking.parquet", "features.json")
    }
    assert {status for status, _, _ in texts.values()} == {0}
    assert len({out for _, out, _ in texts.values()}) == 1
    with sqlite3.connect(":memory:") as database:
        frame.to_sql("t", database, index=False)
        found = pd.read_sql(f"SELECT {texts['features.json'][1]} FROM t", database)  # noqa: S608
    ours = symscreen.apply_bundle("features.json", frame)
    pd.testing.assert_frame_equal(found, ours, rtol=1e-12)


@pytest.mark.slow
def test_one_feature_to_a_file_that_runs(folder, frame, capsys):
    assert run(capsys, "export", "ranking.csv", "--to", "numpy", "--rank", "2", "--out", "one.py") == (
        0,
        "",
        "",
    )
    code = "import one, pandas as pd; print(*one.feature(pd.read_csv('data.csv')).tolist())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    ours = symscreen.apply_bundle("features.json", frame).iloc[:, 1]
    np.testing.assert_allclose(np.array(done.stdout.split(), dtype=float), ours, rtol=1e-12)
    status, _, err = run(capsys, "export", "ranking.csv", "--to", "numpy", "--out", "one.py")
    assert (status, err) == (
        2,
        "symscreen: one.py exists and is not overwritten; give another name or --force\n",
    )


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_a_fits_bundle_with_cells(capsys):
    options = ["--layers", "b", "--binary", "div", "--quiet", "--out", "m.json"]
    assert run_command(["fit", "data.csv", *options]) == 0
    inputs = collect_inputs(symscreen.load_bundle("m.json").terms)
    cells = [word for place, name in enumerate(inputs) for word in ("--name", f"{name}={'FGH'[place]}7")]
    status, out, _ = run(capsys, "export", "m.json", "--to", "excel", *cells)
    assert status == 0
    assert out.startswith(f"=IF(COUNT({','.join(cell[-2:] for cell in cells[1::2])})<")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["features.json", "--to", "pascal"], "there is no format 'pascal'"),
        (["features.json"], "Missing option '--to'"),
        (["features.json", "--to", "c", "--rank", "9"], "--rank is 9, and features.json holds 5 features"),
        (["ranking.csv", "--to", "c", "--rank", "9"], "--rank is 9, and ranking.csv holds 5 features"),
        (["features.json", "--to", "c", "--name", "x1"], "--name is 'x1'; write COLUMN=NAME, such as x1=B2"),
        (["features.json", "--to", "c", "--name", "x1=a", "--name", "x1=b"], "--name names 'x1' twice"),
        (["features.json", "--to", "excel", "--name", "x1==1+1"], "no formula needs a column 'x1='"),
        (["features.json", "--to", "excel", "--name", "x1=B"], "'B' is not a cell reference (column 'x1')"),
        (["absent.json", "--to", "c"], "absent.json: there is no such file"),
        (["data.csv", "--to", "c"], "data.csv.json: cannot be read"),
        (["ranking.csv.json", "--to", "c"], "ranking.csv.json"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_mistakes_are_told_in_one_line(capsys, arguments, message):
    status, out, err = run(capsys, "export", *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.startswith("symscreen: ")
    assert err.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bundle", "out", "message"),
    [
        ("-", "x.csv", "--bundle needs a file's name"),
        ("x.json", "x.json", "--bundle x.json is a file that --out writes too"),
        ("x.csv.json", "x.csv", "--bundle x.csv.json is a file that --out writes too"),
        ("no/such/x.json", "x.csv", "there is no folder no/such"),
        ("features.json", "x.csv", "features.json exists and is not overwritten"),
    ],
)
def test_a_bundle_that_could_not_be_written_is_refused_before_the_work(folder, capsys, bundle, out, message):
    before = sorted(folder.iterdir())
    status, _, err = run(capsys, "screen", "data.csv", "--layers", "b", "--out", out, "--bundle", bundle)
    assert status == 2
    assert message in err
    assert sorted(folder.iterdir()) == before
