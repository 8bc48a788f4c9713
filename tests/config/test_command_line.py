"""The command on a page makes the result again."""

from __future__ import annotations

import json
import shlex
import subprocess

import numpy as np
import pandas as pd
import pytest
from helpers.requirements import require

import symscreen
from symscreen.cli.command import run_command
from symscreen.config.option_record import format_command, format_study_command, quote_shell_word

RUNS = [
    {"layers": "u", "unary": "log", "fdr": 0.9, "max_correlation": 0.99, "class_members": 3, "top": 4},
    {"layers": "u", "unary": "sqrt", "top": 3},
    {"screener": "t0,lasso[folds=3]", "prescreen": 20, "layers": "b", "binary": "mul", "sign": "positive"},
    {
        "layers": "ub",
        "unary": "log",
        "binary": "sub",
        "pool_size": "u:4,b:9",
        "prune_by": "xi",
        "top": "all",
        "seed": 3,
    },
    {"also": ["x1*x3", "-x1"], "exclude": ["x2"], "layers": "u[sqrt]", "max_complexity": 9},
    {"layers": "ub", "with_operators": "sin", "unsafe": "drop", "ranges": {"x1": (-1, 3)}, "top": 5},
]


@pytest.mark.slow
@pytest.mark.parametrize("options", RUNS, ids=["trust", "plain", "joint", "prune_by", "also", "safe"])
def test_the_command_makes_the_same_result(options, frame, tmp_path, capsys):
    data, out = tmp_path / "my data.csv", tmp_path / "again.json"
    frame.to_csv(data, index=False)
    result = symscreen.screen(data, **options)
    words = shlex.split(format_command(result.record, str(data)))
    assert words[:3] == ["symscreen", "screen", str(data)]
    assert run_command([*words[1:], "--out", str(out), "--quiet"]) == 0
    capsys.readouterr()
    assert symscreen.read_ranking(out).record == json.loads(json.dumps(result.record))


def test_the_command_of_a_study_writes_lists_names_and_ranges_as_its_options_read_them():
    given = {
        "also": ["x1*x3", "-x1"],
        "inputs": ["a,b", "c"],
        "ranges": {"c": [0.0, 2.0]},
        "report": "r.html",
    }
    command = format_study_command(
        {"study": {"given": given | {"baselines": False, "layers": None}}}, "d.csv"
    )
    assert shlex.split(command) == [
        *("symscreen", "d.csv", "--also", "x1*x3", "--also=-x1", "--inputs", "`a,b`,c"),
        *("--ranges", "c=0.0:2.0", "--report", "r.html", "--no-baselines"),
    ]


RESPONSES = {
    "gates": {"categorical": ["c, d"], "target": "target"},
    "onehot": {"categorical": "c, d", "categorical_as": "onehot", "target": "target"},
    "classes": {"target": "c, d"},
    "numbers as classes": {"target": "e", "target_type": "classes"},
    "targets": {"target": ["target", "x, 3"], "aggregate": "worst"},
    "survival": {"target": "x, 3", "event": "e"},
    "stages": {"stages": ["e", "f"], "stage_weight": "next"},
    "ranking": {"ranking": ["x, 3", "x2"]},
    "trust": {"target": "target", "groups": "x, 3", "stability": 2, "intervals": 0.9, "permutations": 9},
    "p-values": {"target": "target", "p_values": True, "fdr": 0.5, "fdr_method": "by"},
    "units": {"target": "target", "units": "strict", "target_units": "m"},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", RESPONSES)
def test_the_command_makes_the_same_result_for_every_response(kind, frame, rng, tmp_path, capsys):
    frame = frame.rename(columns={"x3": "x, 3"})
    frame["c, d"], frame["e"] = rng.choice(["p", "it's"], 60), rng.integers(0, 2, 60)
    frame["f"] = np.where(frame.e == 1, rng.integers(0, 2, 60), 0)
    if kind == "units":
        require("pint")
        frame = frame.rename(columns={"x1": "x1 (mm)", "x2": "x2 [s]"})
    data, out = tmp_path / "d.csv", tmp_path / "again.json"
    frame.to_csv(data, index=False)
    options = {"layers": "u[neg]", "top": 3} | RESPONSES[kind]
    given = np.hstack([np.ravel(value) for value in RESPONSES[kind].values()])
    options["exclude"] = [name for name in ("c, d", "e", "f") if name not in given]
    result = symscreen.screen(data, **options)
    words = shlex.split(format_command(result.record, str(data)))
    assert run_command([*words[1:], "--out", str(out), "--quiet"]) == 0, words
    capsys.readouterr()
    assert symscreen.read_ranking(out).record == json.loads(json.dumps(result.record))


def test_columns_of_any_name_are_read_back(frame, tmp_path, capsys):
    frame = frame.rename(columns={"x1": "a,b", "x2": "`c` d", "target": "-y's"})
    data, out = tmp_path / "d.csv", tmp_path / "again.json"
    frame.to_csv(data, index=False)
    result = symscreen.screen(data, target="-y's", inputs=["a,b", "`c` d"], layers="b", binary="mul")
    words = shlex.split(format_command(result.record, str(data)))
    assert run_command([*words[1:], "--out", str(out), "--quiet"]) == 0
    capsys.readouterr()
    assert symscreen.read_ranking(out).record == json.loads(json.dumps(result.record))


def test_what_is_not_usual_is_written():
    options = {
        "rounds": 2,
        "prescreen": 50,
        "stage_weight": "next",
        "fdr": 0.05,
        "p_values": True,
        "jobs": 4,
        "run": {"chunks": 2},
    }
    options |= {"units": {"v (m)": "m", "w": ""}, "target_units": "J"}
    command = format_command({"options": {"screener": ["t0"], **options}}, "-d.csv")
    asked = "--screener t0 --rounds 2 --prescreen 50 --stage-weight next --fdr 0.05 --p-values --units strict"
    asked += " --target-units J"
    given = {"units": {"v": "m"}, "screener": ["t0"]}
    assert format_command({"options": given}).endswith("--units UNITS.json --screener t0")
    assert command == f"symscreen screen ./-d.csv {asked}"


def test_a_ranking_is_asked_for_as_it_was(rng):
    ranks = pd.DataFrame({"x": rng.normal(size=30), "r": ["a>b", "b>a"] * 15})
    result = symscreen.screen(ranks, ranking="r", layers="u", unary="cube")
    words = shlex.split(format_command(result.record))
    assert words[words.index("--ranking") + 1] == "r"
    assert "--target" not in words


@pytest.mark.parametrize(
    "text", ["plain", "two words", "it's", "a\nb\t'\\", "\u202eabc", "$(rm -r x)", "λ", ""]
)
def test_a_shell_reads_a_word_as_it_was(text):
    done = subprocess.run(
        ["/bin/bash", "-c", f"printf %s {quote_shell_word(text)}"],
        capture_output=True, check=True, env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.stdout.decode() == text
    assert quote_shell_word(text).isprintable()
