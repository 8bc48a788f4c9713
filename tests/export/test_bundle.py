from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.bundle_cases import FEATURES, MODEL

import symscreen
from symscreen.data import LevelIndicator
from symscreen.errors import FormulaError, OutputError
from symscreen.export import apply_bundle, format_bundle, load_bundle, save_bundle
from symscreen.expressions.traversal import collect_indicators, define_columns
from symscreen.expressions.tree import Column, apply_operator, parse_expression
from symscreen.grammar import OPERATORS


def test_a_file_is_what_was_saved_and_is_not_overwritten(tmp_path):
    path = tmp_path / "m.json"
    save_bundle(MODEL, path, record={"seed": 3, "notes": ["λ", None, True]})
    assert load_bundle(path) == load_bundle(str(path)) == MODEL
    content = json.loads(path.read_text())
    digest = content.pop("digest")
    assert re.fullmatch("[0-9a-f]{64}", digest)
    assert content == {
        "format": 3,
        "symscreen": symscreen.__version__,
        "kind": "model",
        "target": "y",
        "intercept": 1.5,
        "terms": [
            {"coefficient": 2.0, "expression": "x1**3", "tree": ["cube", {"column": "x1"}]},
            {
                "coefficient": -0.1,
                "expression": "`a b`/x1",
                "tree": ["div", {"column": "a b"}, {"column": "x1"}],
            },
        ],
        "inputs": ["a b", "x1"],
        "domains": {"x1": ["nonzero"]},
        "define": {},
        "costs": {},
        "record": {"seed": 3, "notes": ["λ", None, True]},
    }
    with pytest.raises(OutputError, match=r"m\.json exists and is not overwritten"):
        save_bundle(FEATURES, path)
    save_bundle(FEATURES, path, force=True)
    assert load_bundle(path) == FEATURES
    assert [file.name for file in tmp_path.iterdir()] == ["m.json"]


def test_what_was_saved_before_the_release_is_refused_in_one_line(tmp_path):
    path = tmp_path / "m.json"
    old = {"format": 2, "symscreen": "0.1.0", "inputs": ["x1"], "define": {}, "costs": {}}
    path.write_text(json.dumps(old | {"kind": "features", "features": ["x1**3", "1/x1"]}))
    with pytest.raises(FormulaError, match="format: expected 3, found 2; save them again"):
        load_bundle(path)


def test_standard_input_and_output(monkeypatch, capsys):
    save_bundle(MODEL, "-")
    written = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(written.encode())))
    assert load_bundle("-") == MODEL


def test_a_screen_can_be_saved_and_gives_the_same_columns(frame, tmp_path):
    result = symscreen.screen(frame, layers="ub", unary="log,square", binary="sub,div", top=5)
    save_bundle(result.expressions, tmp_path / "f.json", record=result.record)
    pd.testing.assert_frame_equal(apply_bundle(tmp_path / "f.json", frame), result.transform(frame))


def test_what_could_not_be_read_back_is_refused(tmp_path):
    deep = Column("x")
    for _ in range(200):
        deep = apply_operator(OPERATORS["sin"], deep)
    for thing in ([deep], [Column("x" * 10_001)]):
        with pytest.raises(OutputError, match=r"cannot be saved: the bundle, features\[0\]\.expression: "):
            save_bundle(thing, tmp_path / "f.json")
    with pytest.raises(OutputError, match="features: the list is empty"):
        save_bundle([], tmp_path / "f.json")
    for record in ({"a": object()}, {"a": np.int64(1)}, {"a": float("nan")}):
        with pytest.raises(OutputError, match="the record is not valid JSON"):
            save_bundle(FEATURES, tmp_path / "f.json", record=record)
    assert list(tmp_path.iterdir()) == []


def test_columns_of_categories_are_saved_with_their_definitions(tmp_path):
    indicators = [LevelIndicator("c", "p", "x"), LevelIndicator("n", 2.5)]
    known = {each.name: each for each in indicators}
    feature = define_columns(parse_expression("`x·1[c = p]` + 2*`n = 2.5`"), known)
    path = tmp_path / "b.json"
    save_bundle([feature], path)
    loaded = load_bundle(path)
    assert collect_indicators(loaded) == known
    rows = {"c": ["p", "q", "p"], "n": [2.5, 2.5, 1.0], "x": [3.0, 4.0, 5.0]}
    for bundle in (path, loaded, [feature]):
        assert apply_bundle(bundle, rows).iloc[:, 0].tolist() == [5.0, 2.0, 5.0]
    content = json.loads(path.read_text(encoding="utf-8"))
    content["indicators"]["n = 2.5"]["level"] = 3
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(FormulaError, match=r"indicators: 'n = 2\.5' is not the input that it defines"):
        load_bundle(path)


def test_half_a_surrogate_pair_in_a_name_survives(tmp_path):
    features = (Column("\ud800λ"),)
    save_bundle(features, tmp_path / "f.json")
    assert load_bundle(tmp_path / "f.json") == features


def _term(text, tree):
    return {"coefficient": 1.0, "expression": text, "tree": tree}


def _altered(change):
    content = json.loads(format_bundle(MODEL))
    change(content)
    return json.dumps(content)


def _set(*path_and_value):
    *path, last, value = path_and_value

    def change(content):
        for step in path:
            content = content[step]
        content[last] = value

    return change


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("format", 4), "m.json, format: format 4 is newer than symscreen"),
        (_set("format", 0), "format: expected 3, found 0"),
        (lambda content: content.update(format=True), "format: expected 3, found True"),
        (lambda content: content.update(intercept=True), "intercept: expected a finite number, found True"),
        (_set("format", 3.0), "format: expected 3, found 3.0"),
        (_set("format", "1"), "format: expected 3, found '1'"),
        (_set("symscreen", None), "symscreen: expected a text"),
        (_set("kind", "modle"), "kind: 'modle' is unknown; did you mean 'model'"),
        (_set("kind", "features"), "m.json, target: this key is unknown"),
        (_set("kind", ["model"]), "kind: expected a text"),
        (_set("target", 3), "target: expected a text, found 3"),
        (_set("targets", "y"), "targets: this key is unknown; did you mean 'target'"),
        (lambda content: content.pop("target"), "target: missing"),
        (_set("intercept", "1"), "intercept: expected a finite number, found '1'"),
        (_set("intercept", 10**400), "intercept: expected a finite number"),
        (_set("terms", {}), "terms: expected a list, found {}"),
        (_set("terms", 0, "x1"), r"terms\[0\]: expected an object, found 'x1'"),
        (_set("terms", 1, "coefficient", None), r"terms\[1\].coefficient: expected a finite number"),
        (_set("terms", 1, "power", 2), r"terms\[1\].power: this key is unknown"),
        (_set("terms", 1, "expression", 2), r"terms\[1\].expression: expected a text"),
        (_set("terms", 1, "expression", "x1 +"), r"terms\[1\].expression: formula 'x1 \+', character 5"),
        (_set("terms", 1, "expression", "__import__('os')"), r"terms\[1\].expression: formula"),
        (_set("terms", 1, "expression", "evil(x1)"), "there is no operator 'evil'"),
        (_set("terms", 1, "expression", "x1*" * 5000 + "x1"), r"terms\[1\].expression: .* is too long"),
        (_set("terms", 1, "expression", "(" * 500 + "x1"), r"terms\[1\].expression: .* nested more than"),
        (
            _set("terms", [_term("x1*`a b`", ["mul", {"column": "x1"}, {"column": "a b"}])] * 500),
            "500 terms is too long",
        ),
        (
            _set("terms", 0, _term("x1**3", ["cube", {"column": "a b"}])),
            r"terms\[0\].tree: the tree and the expression differ",
        ),
        (
            _set("terms", 0, _term("x1**3", ["square", {"column": "x1"}])),
            r"terms\[0\].tree: the tree and the expression differ",
        ),
        (_set("domains", {}), "domains: expected the domains of the formulas, found"),
        (
            _set("digest", "0" * 64),
            "digest: the formulas were changed after they were saved; save them again",
        ),
        (_set("intercept", 2.5), "digest: the formulas were changed after they were saved"),
        (lambda content: content.pop("digest"), "digest: missing"),
        (_set("inputs", ["x1"]), "inputs: expected the inputs of the formulas, .'a b', 'x1'.*, found"),
        (_set("inputs", "x1"), "inputs: expected a list of texts"),
        (_set("define", []), "define: expected an object"),
        (_set("define", "f", "sin(x)"), "define.f: expected an object"),
        (_set("define", "f", {"formula": "sin(x)"}), "define.f.cost: missing"),
        (_set("define", "f", {"formula": "sin(x)", "cost": -1}), "define.f.cost: expected an integer"),
        (
            _set("define", "f", {"formula": "sin(x)", "cost": 1, "code": ""}),
            "define.f.code: this key",
        ),
        (_set("define", "f", {"formula": "sin(q)", "cost": 1}), "define: 'f' is defined with 'q'"),
        (_set("define", "f", {"formula": "sin(", "cost": 1}), "define: formula 'sin.'"),
        (
            _set("define", "sin", {"formula": "cos(x)", "cost": 1}),
            "the operator 'sin' is built in or defined twice",
        ),
        (_set("define", "a\nb", {"formula": "cos(x)", "cost": 1}), r"'a\\nb' is not an operator name"),
        (
            _set("define", {f"f{i}": {"formula": "x", "cost": 0} for i in range(401)}),
            "define: 401 operators; the limit is 400",
        ),
        (_set("costs", {"sine": 1}), "there is no operator 'sine'; did you mean 'sin'"),
        (_set("costs", {"sin": 1.5}), "costs.sin: expected an integer"),
        (_set("record", 3), "record: expected an object"),
        (_set("dige\ud800st", "0"), "m.json: expected an object"),
        (_set("define", "f", {"formula": "x", "cost": 1, "\ud800": 1}), "define.f.*this key is unknown"),
    ],
)
def test_anything_that_was_not_so_written_is_refused_in_one_line(change, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("m.json").write_text(_altered(change))
    with pytest.raises(FormulaError, match=message) as caught:
        load_bundle("m.json")
    assert str(caught.value).startswith(("m.json, ", "m.json: "))
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not valid JSON"),
        (b"rank,expression\n1,x\n", "not valid JSON"),
        (b"\x80\x04\x95", "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[1]", "JSON, but not a bundle"),
        (b'{"record": {}, "ranking": []}', "JSON, but not a bundle"),
        (b'{"format": 1, "format": 1}', "contains a key twice"),
        (b'{"format": NaN}', "NaN is not a finite number"),
        (b'{"format": ' + b"9" * 10_000 + b"}", "not valid JSON"),
    ],
)
def test_other_files_are_refused(data, message, tmp_path):
    path = tmp_path / "m.json"
    path.write_bytes(data)
    with pytest.raises(FormulaError, match=message) as caught:
        load_bundle(path)
    assert str(caught.value).isprintable()


def test_files_that_cannot_be_read_are_told(tmp_path, monkeypatch):
    for path, message in [
        (tmp_path / "no.json", "no such file"),
        (tmp_path, "cannot be read"),
        ("a\0b", "cannot be"),
    ]:
        with pytest.raises(FormulaError, match=message):
            load_bundle(path)
    monkeypatch.setattr("symscreen.export.bundle_documents.MAX_JSON_BYTES", 100)
    save = tmp_path / "m.json"
    save.write_text(" " * 101)
    with pytest.raises(FormulaError, match="larger than"):
        load_bundle(save)
    with pytest.raises(OutputError, match="too many for one file"):
        format_bundle(FEATURES)
