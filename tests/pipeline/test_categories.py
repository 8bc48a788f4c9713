"""Screens with inputs of categories, from a table to bundles."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import symscreen
from symscreen.cli.verbs import command
from symscreen.pipeline.again import prepared_again
from symscreen.report import ranking_as_csv

SPACE = {"layers": "b", "binary": "add,mul", "top": 5}


@pytest.fixture
def groups(rng) -> pd.DataFrame:
    """In group p the response is x1 + x2, in the others x2 alone."""
    frame = pd.DataFrame(rng.uniform(0.5, 2.0, (90, 2)), columns=["x1", "x2"])
    frame["c"] = rng.choice(["p", "q", "r"], 90)
    return frame.assign(y=np.where(frame.c == "p", frame.x1 + frame.x2, frame.x2))


def test_gates_let_a_formula_hold_in_one_group_alone(groups):
    result = symscreen.screen(groups, categorical="c", **SPACE)
    assert result.table.expression[0] == "`x1·1[c = p]` + x2"
    assert result.table.t0[0] == 0.0
    assert result.transform(groups).iloc[:, 0].tolist() == pytest.approx(groups.y.tolist())


def test_onehot_columns_are_inputs(groups):
    result = symscreen.screen(groups, categorical=["c"], categorical_as="onehot", **SPACE | {"layers": "bb"})
    assert result.record["data"]["inputs"] == ["c = p", "c = q", "c = r", "x1", "x2"]
    assert result.table.expression[0] in {"x2 + `c = p`*x1", "`c = p`*x1 + x2"}


def test_bundles_records_and_the_command_line_keep_them(groups, tmp_path):
    groups.to_csv(tmp_path / "t.csv", index=False)
    path = str(tmp_path / "t.csv")
    options = ["--layers", "b", "--binary", "add,mul", "--top", "5", "--quiet", "--categorical", "c"]
    bundle = str(tmp_path / "b.json")
    run = CliRunner().invoke
    done = run(command, ["screen", path, *options, "--out", "-", "--bundle", bundle])
    result = symscreen.screen(groups, categorical=["c"], **SPACE)
    assert done.output == ranking_as_csv(result)
    applied = run(command, ["apply", bundle, path])
    first = [float(line.split(",")[0]) for line in applied.output.splitlines()[1:]]
    assert first == pytest.approx(groups.y.tolist())
    again = prepared_again(result.record, groups)
    assert again.table.digest == result.record["data"]["digest"]
    assert ranking_as_csv(symscreen.screen(groups.iloc[::-1], categorical=["c"], **SPACE)) == done.output


def test_named_inputs_are_the_ones_that_pass(groups):
    result = symscreen.screen(groups, categorical="c", inputs=["x1", "c"], **SPACE)
    assert result.record["data"]["inputs"] == ["x1", "x1·1[c = p]", "x1·1[c = q]", "x1·1[c = r]"]
    assert result.record["options"]["inputs"] == ["x1", "c"]
