"""Screens with inputs of categories, from a table to bundles."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from helpers.requirements import require

import symscreen
from symscreen.cli.command import command
from symscreen.results.ranking_files import format_ranking_csv
from symscreen.screening.stored_screens import prepare_from_record

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
    assert done.output == format_ranking_csv(result)
    applied = run(command, ["apply", bundle, path])
    first = [float(line.split(",")[0]) for line in applied.output.splitlines()[1:]]
    assert first == pytest.approx(groups.y.tolist())
    again = prepare_from_record(result.record, groups)
    assert again.dataset.digest == result.record["data"]["digest"]
    assert format_ranking_csv(symscreen.screen(groups.iloc[::-1], categorical=["c"], **SPACE)) == done.output


def test_named_inputs_are_the_ones_that_pass(groups):
    result = symscreen.screen(groups, categorical="c", inputs=["x1", "c"], **SPACE)
    assert result.record["data"]["inputs"] == ["x1", "x1·1[c = p]", "x1·1[c = q]", "x1·1[c = r]"]
    assert result.record["options"]["inputs"] == ["x1", "c"]


def test_fit_finds_a_term_of_one_group_and_its_bundle_and_exports_compute_it(groups, tmp_path):
    found = symscreen.fit(groups, categorical="c", layers="u", operators="ablation", snap=True)
    assert found.formula.equation == "y = x2 + `x1·1[c = p]`"
    assert found.record["options"]["levels"] == {"c": ["p", "q", "r"]}
    np.testing.assert_allclose(found.predict(groups), groups.y, rtol=1e-14)
    assert found.predict(groups.assign(c="new")).tolist() == groups.x2.tolist()
    source: dict = {}
    exec(found.export("numpy"), source)  # noqa: S102  # our own
    columns = {name: groups[name].to_numpy() for name in ("x1", "x2", "c")}
    np.testing.assert_allclose(source["model"](columns), groups.y, rtol=1e-14)
    path, data, run = tmp_path / "m.json", tmp_path / "t.csv", CliRunner().invoke
    groups.to_csv(data, index=False)
    options = ["--categorical", "c", "--layers", "u", "--operators", "ablation", "--snap", "--quiet"]
    done = run(command, ["fit", str(data), *options, "--out", str(path)])
    assert done.output.splitlines()[0] == found.formula.equation
    assert "\"c\" = 'p' THEN 1e0" in run(command, ["export", str(path), "--to", "sql"]).output
    applied = run(command, ["apply", str(path), str(data)]).output.splitlines()[1:]
    np.testing.assert_allclose(list(map(float, applied)), groups.y, rtol=1e-14)


def test_fit_takes_inputs_units_and_one_hot_columns_as_a_screen_does(groups):
    require("pint")
    asked = {"layers": "u", "operators": "ablation", "categorical": "c"}
    narrow = symscreen.fit(groups, inputs=["x1", "c"], **asked)
    assert narrow.record["data"]["inputs"] == ["x1", "x1·1[c = p]", "x1·1[c = q]", "x1·1[c = r]"]
    measured = symscreen.fit(groups, units={"x1": "mm", "x2": "m", "y": "m"}, target_units="m", **asked)
    np.testing.assert_allclose(measured.predict(groups), groups.y, rtol=1e-12)
    coded = symscreen.fit(groups, categorical_as="onehot", **asked)
    assert coded.record["data"]["inputs"] == ["c = p", "c = q", "c = r", "x1", "x2"]


def test_power_plants_a_formula_of_one_group(groups, tmp_path):
    truth = "`x1·1[c = p]` + x2"
    found = symscreen.power(
        groups, truth=truth, categorical="c", noise_ratio=[0], layers="b", binary="add,mul", top=1
    )
    assert found.closest_member == truth
    path = tmp_path / "t.csv"
    groups.to_csv(path, index=False)
    space = ["--categorical", "c", "--layers", "b", "--binary", "add,mul", "--top", "1"]
    asked = ["--truth", truth, "--noise-ratio", "0", "--out", "-"]
    done = CliRunner().invoke(command, ["power", str(path), *asked, *space])
    assert done.exit_code == 0, done.exception
    assert done.output.splitlines()[1].startswith("0.0,1,1,1.0")


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"categorical": "c", "categorical_as": "onehot"}, {"categorical": "c"}]
)
def test_the_default_target_is_the_last_column_of_the_table_and_no_level_of_a_category(rng, options):
    c = rng.choice(["p", "q"], 60)
    frame = pd.DataFrame({"c": c, "x": rng.uniform(1.0, 2.0, 60), "w": rng.normal(size=60)})
    result = symscreen.screen(frame, layers="u", **options)
    assert result.record["data"]["target"] == "w"
    assert symscreen.fit(frame, layers="u", effort="quick", **options).formula.target == "w"
