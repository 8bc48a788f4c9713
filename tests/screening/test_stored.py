"""A stored ranking as a result again, and the report that it gives."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from helpers.requirements import require

import symscreen
from symscreen.cli.command import run_command
from symscreen.errors import DataError
from symscreen.report import html_page
from symscreen.report.html_page import build_report_html
from symscreen.results.ranking_files import write_ranking

N_DRAWN = 1  # kinds whose pictures are drawn

KINDS = {
    "several screeners": {"screener": "t0,xi,lasso[folds=3]", "prescreen": 15, "top": 3},
    "plain": {"top": 5},
    "joint alone": {"screener": "lasso[folds=3]", "prescreen": 15, "top": 4},
    "every feature": {"top": "all", "layers": "b", "binary": "add"},
    "trust": {"fdr": 0.9, "permutations": 19, "stability": 2, "intervals": True, "top": 4},
    "max_correlation": {"max_correlation": 0.99, "class_members": 2, "top": 4},
    "rounds": {"rounds": 2, "top": 3},
    "categories": {"categorical": "c", "top": 4},
    "onehot": {"categorical": ["c"], "categorical_as": "onehot", "top": 4},
    "race": {"search": "race", "top": 3},
    "prune_by": {"pool_size": "u:4", "prune_by": "xi", "layers": "ub", "top": 3},
    "also": {"also": ["x1*x3", "-x1"], "top": 3},
    "units": {"units": {"x1": "mm", "x2": "km/h"}, "top": 3},
    "classes": {"target": "c", "screener": "t0,xi", "top": 3},
    "several targets": {"target": ["target", "x2"], "aggregate": "worst", "top": 3},
    "survival": {"target": "x2", "event": "e", "top": 3},
    "ranking": {"ranking": ["x2", "x3"], "top": 3},
    "stages": {"stages": ["e", "f"], "top": 3},
}
USUAL = {"layers": "ub", "unary": "neg,log", "binary": "sub"}


@pytest.fixture
def data(frame, rng):
    frame["c"] = rng.choice(["p", "it's"], 60)
    frame["e"] = rng.integers(0, 2, 60)
    frame["f"] = np.where(frame.e == 1, rng.integers(0, 2, 60), 0)
    return frame


def asked_for(kind):
    """Leave out the columns that a kind has no use for."""
    options = USUAL | KINDS[kind]
    used = {"categories": "c", "onehot": "c", "classes": "c", "survival": "e", "stages": "ef"}.get(kind, "")
    options["exclude"] = [name for name in "cef" if name not in used]
    return options | ({} if kind != "survival" else {"exclude": ["c", "f", "target"]})


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_report_made_afterwards_is_that_of_the_run(kind, data, tmp_path, monkeypatch):
    if kind == "units":
        require("pint")
    monkeypatch.chdir(tmp_path)
    data.to_csv("d.csv", index=False)
    if list(KINDS).index(kind) >= N_DRAWN:
        # pictures take most of the time of a page; their texts are compared
        monkeypatch.setattr(
            html_page, "draw_inline_svg", lambda *figure, **options: str((figure[1:], options))
        )
    result = symscreen.screen("d.csv", **asked_for(kind))
    endings = ["csv", "parquet", "json"]
    for ending in endings:
        write_ranking(result, f"r.{ending}")
        back = symscreen.load_result(f"r.{ending}", "d.csv")
        pd.testing.assert_frame_equal(back.table, result.table, check_dtype=False)
        assert back.expressions == result.expressions
        assert (back.n_scored, back.scale, back.notices) == (result.n_scored, result.scale, result.notices)
        if ending == endings[list(KINDS).index(kind) % 3]:  # one of them: pages take their time
            assert build_report_html(back, data="d.csv") == build_report_html(result, data="d.csv")
            pd.testing.assert_frame_equal(back.transform(data), result.transform(data))


def test_pi_of_a_grammar_and_a_column_of_that_name_are_told_apart_in_a_stored_ranking(rng, tmp_path):
    frame = pd.DataFrame(rng.uniform(0.5, 2.0, (40, 3)), columns=["pi", "x", "y"])
    grammar = tmp_path / "g.toml"
    grammar.write_text('binary = ["mul", "sub"]\nconstants = [2, "pi"]\nlayers = "b"')
    options = {"target": "y", "operators": grammar, "screener": "pearson", "top": "all"}
    result = symscreen.screen(frame, **options, class_members=2)
    assert {"pi - x", "pi - `pi`"} & set(result.table.expression)
    write_ranking(result, tmp_path / "r.csv")
    back = symscreen.load_result(tmp_path / "r.csv", frame)
    assert back.expressions == result.expressions
    pd.testing.assert_frame_equal(back.transform(frame), result.transform(frame))
    members = symscreen.classes(result)
    grammar.unlink()  # the record has its constants
    assert symscreen.classes(back, frame, class_members=2).equals(members)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with data, others, a ranking and the report of its run."""
    folder = tmp_path_factory.mktemp("written")
    draw = np.random.default_rng(3)
    data = pd.DataFrame(draw.uniform(0.5, 2.0, (40, 3)), columns=["x1", "x2", "target"])
    data.to_csv(folder / "d.csv", index=False)
    data.iloc[1:].to_csv(folder / "other.csv", index=False)
    words = [
        "--layers",
        "b",
        "--binary",
        "add",
        "--screener",
        "t0,xi",
        "--quiet",
        "--out",
        str(folder / "r.csv"),
    ]
    with pytest.MonkeyPatch.context() as moved:
        moved.chdir(folder)
        assert run_command(["screen", "d.csv", *words, "--report", "own.html"]) == 0
    return folder


@pytest.fixture
def folder(written, tmp_path, monkeypatch):
    shutil.copytree(written, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.mark.slow
def test_without_the_data_what_needs_rows_is_left_out_with_a_word(folder, capsys):
    capsys.readouterr()
    assert run_command(["report", "r.csv", "--data", "d.csv", "--out", "with.html"]) == 0
    assert "symscreen: written: with.html" in capsys.readouterr().err
    assert (folder / "with.html").read_bytes() == (folder / "own.html").read_bytes()
    assert run_command(["report", "r.csv", "--out", "without.html", "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    page = (folder / "without.html").read_text(encoding="utf-8")
    assert "The data were not available: scatter plots and the redundancy map are left out." in page
    assert 'id="agreement"' in page
    assert "Target against the feature" not in page
    assert 'id="redundancy"' not in page


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        (None, ["absent.csv", "--out", "o.html"], "absent.csv"),
        (None, ["r.csv", "--out", "o.pdf"], "give a name that ends in .html"),
        (None, ["r.csv", "--out", "-"], "--out needs a file's name"),
        (None, ["r.csv"], "Missing option '-o' / '--out'"),
        (None, ["r.csv", "--out", "own.html"], "exists and is not overwritten"),
        (
            None,
            ["r.csv", "--data", "other.csv", "--out", "o.html"],
            "not the data that the result was made from",
        ),
        (
            {"layers": [{}]},
            ["r.csv", "--out", "o.html"],
            "its record is damaged, layers: expected a list",
        ),
        ({"grammar": 3}, ["r.csv", "--out", "o.html"], "operators in the record cannot be read"),
        ({"search": {}}, ["r.csv", "--out", "o.html"], "its record is damaged"),
        ({"agreement": [3]}, ["r.csv", "--out", "o.html"], "damaged"),
        ({"partial": 3}, ["r.csv", "--out", "o.html"], "damaged"),
        ({"error_control": {"passing": "x", "fdr": None}}, ["r.csv", "--out", "o.html"], "damaged"),
    ],
)
def test_mistakes_and_damage_are_told_in_one_line(change, arguments, message, folder, capsys):
    if change is not None:
        sidecar = folder / "r.csv.json"
        sidecar.write_text(json.dumps(json.loads(sidecar.read_text()) | change | {"digest": None}))
    capsys.readouterr()
    assert run_command(["report", *arguments]) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert len(shown.err.splitlines()) == 1
    assert not (folder / "o.html").exists()


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("complexity", 3.5, "its column 'complexity' holds"),
        ("t0", "x", "not a ranking of symscreen"),
        ("expression", "q + x1", "is damaged: there is no column 'q'"),
    ],
)
def test_a_table_that_was_changed_is_refused(column, value, message, folder):
    table = pd.read_csv(folder / "r.csv").astype(object)
    table.loc[0, column] = value
    table.to_csv(folder / "r.csv", index=False)
    sidecar = folder / "r.csv.json"
    sidecar.write_text(json.dumps(json.loads(sidecar.read_text()) | {"digest": None}))
    with pytest.raises(DataError, match=message):
        symscreen.load_result(folder / "r.csv")
