"""The verbs `fit` and `apply` of the command line."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.cli.command import run_command
from symscreen.errors import ExtrapolationWarning
from symscreen.export import load_bundle
from symscreen.expressions.tree import parse_expression
from symscreen.grammar import load_grammar

SMALL = {"operators": "ablation", "layers": "ub"}


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command line in this process; give status, standard output and standard error."""

    def run(*arguments, stdin=None):
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        status = run_command([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return status, out, err

    return run


@pytest.fixture
def data(rng, tmp_path):
    x = rng.uniform(0.5, 2.0, (2, 60))
    frame = pd.DataFrame(
        {"a b": x[0], "x2": x[1], "target": 2 * x[0] ** 3 + 5 * x[1] + rng.normal(0, 0.1, 60)}
    )
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    return path


ASK = ("--operators", "ablation", "--layers", "ub")


@pytest.mark.slow
def test_the_first_line_is_the_formula_and_the_rest_fits_80_columns(run, data):
    status, out, err = run("fit", data, *ASK)
    assert status == 0
    first, *rest = out.splitlines()
    result = symscreen.fit(data, **SMALL)
    assert first == result.formula.round_numbers(6).equation
    assert parse_expression(
        first.removeprefix("target = "), load_grammar("ablation").operators, ["a b", "x2"]
    )
    assert max(map(len, rest)) <= 80
    assert err.count("\n") == 1
    assert "too narrow" in err
    assert run("fit", data, *ASK, "--quiet")[1:] == (out, "")


def test_a_long_formula_stays_on_its_line(run, data):
    out = run("fit", data, *ASK, "--criterion", "aic", "--max-terms", 12, "--quiet")[1]
    result = symscreen.fit(data, criterion="aic", max_terms=12, **SMALL)
    assert out.splitlines()[0] == result.formula.round_numbers(6).equation


def test_a_saved_formula_is_applied(run, data, tmp_path):
    bundle, predicted = tmp_path / "m.json", tmp_path / "p.csv"
    status, out, err = run("fit", data, *ASK, "--split", 0.5, "--snap", "--out", bundle)
    assert status == 0
    assert err == f"symscreen: written: {bundle}\n"
    result = symscreen.fit(data, split=0.5, snap=True, **SMALL)
    assert run("apply", bundle, data, "--out", predicted)[:2] == (0, "")
    np.testing.assert_array_equal(
        pd.read_csv(predicted, dtype=str)["target"].map(float), result.predict(data)
    )
    status, out, _ = run("apply", bundle, data)
    assert (status, out) == (0, predicted.read_text())
    record = json.loads(bundle.read_text())["record"]
    assert (record["split"], record["rows_choosing"] + record["rows_estimating"]) == (0.5, 60)


def test_apply_tells_of_rows_outside_the_training_range_in_a_notice(run, data, tmp_path):
    bundle, new = tmp_path / "m.json", tmp_path / "new.csv"
    assert run("fit", data, *ASK, "--out", bundle)[0] == 0
    name = json.loads(bundle.read_text())["inputs"][0]
    frame = pd.read_csv(data)
    frame.loc[3, name] = frame[name].max() + 1
    frame.to_csv(new, index=False)
    status, out, err = run("apply", bundle, new)
    assert status == 0
    assert err.startswith("symscreen: 1 of 60 rows is outside the range of the training rows")
    assert err.count("\n") == 1
    with pytest.warns(ExtrapolationWarning):
        expected = symscreen.apply_bundle(bundle, new)
    assert out.split() == ["target", *map(repr, expected["target"].tolist())]


def test_weights_guesses_and_required_inputs_are_options(run, data, tmp_path):
    frame = pd.read_csv(data)
    names = [name for name in frame.columns if name != "target"]
    weighted = tmp_path / "weighted.csv"
    frame.assign(w=np.linspace(1.0, 3.0, len(frame))).to_csv(weighted, index=False)
    options = ["--weights", "w", "--must-use", f"`{names[-1]}`", "--also", "tanh(x2)", "--also", "x2*`a b`"]
    status, out, err = run("fit", weighted, "--target", "target", *ASK, *options)
    assert status == 0
    result = symscreen.fit(
        weighted, target="target", weights="w", must_use=[names[-1]], also=["tanh(x2)", "x2*`a b`"], **SMALL
    )
    assert out.splitlines()[0] == result.formula.round_numbers(6).equation
    assert result.record["also"] == ["tanh(x2)", "x2*`a b`"]
    status, _, err = run("fit", weighted, "--target", "target", *ASK, "--must-use", "x22")
    assert status == 2
    assert err == "symscreen: there is no input 'x22' for --must-use; did you mean 'x2'?\n"


def test_a_bundle_on_standard_output_stands_alone(run, data, tmp_path):
    status, out, _ = run("fit", data, *ASK, "--out", "-")
    assert status == 0
    (tmp_path / "m.json").write_text(out)
    assert load_bundle(tmp_path / "m.json") == symscreen.fit(data, **SMALL).formula


def test_an_operator_of_the_users_own_is_saved_with_what_it_calls(run, data, tmp_path):
    grammar = tmp_path / "own.toml"
    grammar.write_text(
        'unary = ["more"]\n[define.less]\nformula = "x**3"\n[define.more]\nformula = "less(x) + x"\n'
    )
    status, out, _ = run("fit", data, "--operators", grammar, "--layers", "u", "--out", tmp_path / "m.json")
    assert status == 0
    assert "more(`a b`)" in out.splitlines()[0]
    assert run("apply", tmp_path / "m.json", data)[0] == 0


@pytest.mark.slow
def test_data_may_come_from_standard_input(run, data):
    status, out, err = run("fit", "-", *ASK, "--quiet", stdin=data.read_bytes())
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == symscreen.fit(data, **SMALL).formula.round_numbers(6).equation


@pytest.mark.parametrize(
    "arguments",
    [
        ("--max-terms", "0"),
        ("--criterion", "best"),
        ("--split", "1"),
        ("--split", "nan"),
        ("--level", "0"),
        ("--folds", "0"),
        ("--layers", "xx"),
        ("--operators", "nope"),
        ("--target", "nope"),
        ("--max-ram", "1KB"),
        ("--out", "no/such/folder/m.json"),
        ("--jobs", "0"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(run, data, arguments):
    status, out, err = run("fit", data, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("symscreen: ")
    assert err.count("\n") == 1


def test_a_bundle_is_not_overwritten_and_what_is_none_is_not_read(run, data, tmp_path):
    bundle = tmp_path / "m.json"
    assert run("fit", data, *ASK, "--out", bundle)[0] == 0
    before = bundle.read_bytes()
    status, out, err = run("fit", data, *ASK, "--out", bundle)
    assert (status, out) == (2, "")
    assert "exists and is not overwritten" in err
    assert run("fit", data, *ASK, "--out", bundle, "--force")[0] == 0
    assert bundle.read_bytes() == before
    for wrong in (
        ("apply", data, data),
        ("apply", tmp_path / "nope.json", data),
        ("apply", bundle, "nope.csv"),
    ):
        status, out, err = run(*wrong)
        assert (status, out, err.count("\n")) == (2, "", 1)
