"""A fitted model on the page: its formula, its predictions and its exports."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.explorer_cases import open_client

import symscreen
from symscreen.errors import DataError, FormulaError, OptionError
from symscreen.explorer.exploration import open_exploration
from symscreen.export import export_formulas, save_bundle
from symscreen.expressions.linear_formula import Formula, build_shared_formula
from symscreen.expressions.tree import parse_expression


@pytest.fixture(scope="module")
def model(stored):
    return open_exploration(stored.model, stored.data)


def test_the_model_is_shown_beside_the_target(model, stored):
    frame = pd.read_csv(stored.data)
    points = model.trace(0)
    rows = [row - 1 for row in points["rows"]]
    assert points["y"] == pytest.approx(frame["y"].iloc[rows].tolist(), rel=1e-5)
    assert points["x"] == pytest.approx(stored.fitted.predict(stored.data)[rows].tolist(), rel=1e-5)
    assert points["curve"] == points["x"]
    assert {each["name"] for each in points["inputs"]} == {"x1", "x2", "a b"}
    assert [each["used"] for each in points["inputs"]][-1] is False


def test_the_quality_of_the_model_is_that_of_the_fit(model, stored):
    (formula,) = model.describe()["formulas"]
    facts = {fact["name"]: fact["value"] for fact in formula["facts"]}
    assert float(facts["R²"]) == pytest.approx(stored.fitted.r2, abs=1e-5)
    assert formula["loss"] == pytest.approx(1 - stored.fitted.r2, abs=1e-9)
    assert formula["complexity"] == stored.fitted.formula.complexity
    assert formula["text"] == stored.fitted.formula.round_numbers(6).equation


def test_the_verdict_is_that_of_the_fit_and_a_damaged_record_has_none(model, stored, tmp_path):
    assert model.describe()["verdict"] == stored.fitted.verdict
    for verdict in (
        {},
        {"kind": "noise"},
        {"kind": "noise", "p_value": "x"},
        {"kind": "x", "p_value": None},
        1,
    ):
        path = tmp_path / "damaged.json"
        save_bundle(stored.fitted.formula, path, record={"verdict": verdict}, force=True)
        assert open_exploration(str(path)).describe()["verdict"] == ""


@pytest.mark.parametrize("format_name", ["numpy", "sql", "excel", "latex"])
def test_the_model_is_exported(model, stored, format_name):
    assert model.export(format_name, 0).text == export_formulas(stored.fitted.formula, format_name)


def test_a_model_has_no_list_for_a_typed_formula(model):
    client = open_client(model)
    assert client.get("formulas").json()["can_explain"] is False
    answer = client.post("why", content="x1")
    assert answer.status_code == 422
    assert "looked up in a ranking" in answer.json()["error"]
    assert client.get("export?format=csv&formula=0").status_code == 422


def test_without_data_the_formula_remains(stored):
    model = open_exploration(stored.model)
    content = model.describe()
    assert content["has_rows"] is False
    assert content["formulas"][0]["loss"] is None
    assert model.trace(0) is None


def test_models_of_several_targets_are_a_list(tmp_path):
    x = parse_expression("x**2")
    shared = build_shared_formula([Formula("p", 1.0, (2.0,), (x,)), Formula("q", 0.0, (-1.0,), (x,))])
    save_bundle(shared, tmp_path / "m.json")
    rows = pd.DataFrame({"x": [1.0, 2.0, 3.0], "p": [3.0, 9.0, 19.0], "q": [-1.0, np.nan, -9.0]})
    model = open_exploration(str(tmp_path / "m.json"), rows)
    assert [formula["text"] for formula in model.describe()["formulas"]] == ["p = 1 + 2*x**2", "q = -x**2"]
    assert [formula["loss"] for formula in model.describe()["formulas"]] == [0.0, 0.0]
    points = model.trace(1)
    assert points["rows"] == [3, 1]
    assert points["remarks"] == ["1 rows without a value are left out."]
    assert json.dumps(points, allow_nan=False)


def test_a_target_that_is_missing_is_named(stored, tmp_path):
    pd.read_csv(stored.data).drop(columns="y").to_csv(tmp_path / "n.csv", index=False)
    with pytest.raises(DataError, match="the data have no column of numbers 'y', the target of the model"):
        open_exploration(stored.model, str(tmp_path / "n.csv"))


def test_a_bundle_of_features_is_refused(stored, tmp_path):
    save_bundle(stored.result.expressions, tmp_path / "f.json")
    with pytest.raises(OptionError, match="holds no model of a target"):
        open_exploration(str(tmp_path / "f.json"))


def test_a_damaged_model_is_refused(stored, tmp_path):
    content = json.loads(Path(stored.model).read_text())
    content["intercept"] += 1.0
    (tmp_path / "m.json").write_text(json.dumps(content))
    with pytest.raises(FormulaError):
        open_exploration(str(tmp_path / "m.json"))


def test_constants_by_group_have_a_formula_with_their_names(tmp_path):
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({"x": rng.uniform(1, 2, 60), "material": ["p", "q", "r"] * 20})
    rows["y"] = rows.x**2 * rows.material.map({"p": 1.0, "q": 2.0, "r": 5.0})
    fitted = symscreen.fit(rows, target="y", per="material", effort="quick", jobs=1)
    fitted.save(tmp_path / "g.json")
    model = open_exploration(str(tmp_path / "g.json"), rows)
    (formula,) = model.describe()["formulas"]
    assert "material" in formula["text"]
    assert formula["loss"] < 1e-6
    assert [each["name"] for each in model.describe()["exports"]] == ["latex"]
    assert model.export("latex", 0).text
