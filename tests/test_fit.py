"""From a table to a formula, end to end: `symscreen.fit`, and the verbs `fit` and `apply`."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen import cli
from symscreen.errors import InputError, OptionError, OutputError
from symscreen.expression import evaluate, parse
from symscreen.grammar import load_grammar

SMALL = {"operators": "ablation", "layers": "ub"}
DECAY = """
unary = ["square", "decay"]
binary = ["add", "mul"]
layers = "ub"
[define.decay]
formula = "exp(-a*x)"
parameters = { a = [0.1, 1, 10] }
"""


def _texts(result):
    return sorted(map(str, result.formula.terms))


def _fresh_share(formula, truth, frame, rng):
    """Return 1 − R² of a formula on rows of its own, drawn over the range of a table's inputs."""
    columns = {name: rng.uniform(*np.quantile(frame[name], [0, 1]), 1000) for name in ("x1", "x2")}
    y = evaluate(parse(truth), columns)
    left = formula.predict(columns) - y
    return float((left @ left) / ((y - y.mean()) @ (y - y.mean())))


def _same(one, other):
    assert one.formula == other.formula
    for own, theirs in ((one.terms, other.terms), (one.front, other.front), (one.rivals, other.rivals)):
        pd.testing.assert_frame_equal(own, theirs, check_exact=True)
    assert (one.r2, one.record, one.notices) == (other.r2, other.record, other.notices)


# Formulas that are known


@pytest.mark.parametrize("name", ["barmag1", "glider1", "glider2", "lv1", "lv2", "vdp1", "vdp2"])
def test_an_equation_of_strogatz_is_found_exactly(rng, name):
    data = symscreen.datasets.strogatz(name)
    result = symscreen.fit(data.frame, operators="strogatz", layers="ub")
    assert 1 - result.r2 < 1e-20
    assert _fresh_share(result.formula, data.truth, data.frame, rng) < 1e-20
    assert result.notices == ()


def test_one_deep_term_and_two_simple_ones_are_found_exactly(rng):
    data = symscreen.datasets.strogatz("predprey2")
    result = symscreen.fit(data.frame, operators="strogatz", layers="bub", snap=True)
    assert _fresh_share(result.formula, data.truth, data.frame, rng) < 1e-24
    assert result.formula.text == "x2 - 0.075*x2**2 - x2/(1 + x1)"


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_additive_model_is_found_in_noise(seed):
    data = symscreen.datasets.additive(n=100, noise_variance=0.1, seed=seed)
    result = symscreen.fit(data.frame, operators="ablation", layers="bub")
    assert _texts(result) == ["x1**3", "x3"]
    truth = {"1": 10, "x1**3": 2, "x3": 5}
    for row in result.terms.to_dict("records"):
        assert row["low"] <= truth[row["term"]] <= row["high"]


def test_a_constant_inside_a_formula_is_found(rng, tmp_path):
    (tmp_path / "decay.toml").write_text(DECAY)
    x = rng.uniform(0.0, 5.0, (100, 2))
    y = 3 * np.exp(-0.37 * x[:, 0]) + 2
    exact = symscreen.fit(x, y, operators=tmp_path / "decay.toml", snap=True)
    assert exact.formula.rounded(9).text == "2 + 3*exp(-0.37*x1)"
    noisy = symscreen.fit(x, y + rng.normal(0, 0.01, 100), operators=tmp_path / "decay.toml", layers="ub")
    (term,) = noisy.formula.terms
    (decay,) = [part for part in str(term).replace("*x1)", "").split("exp(-") if part]
    assert float(decay) == pytest.approx(0.37, abs=0.02)
    assert noisy.formula.coefficients[0] == pytest.approx(3, abs=0.1)
    noisy.save(tmp_path / "m.json")
    again = symscreen.load_bundle(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(x), noisy.predict(x))


def test_honest_intervals_cover_as_often_as_they_say(rng):
    # the rows kept: half of 60, and the terms of each fit taken as they come
    covered = []
    for _ in range(60):
        x = rng.uniform(0, 1, (60, 2))
        y = 2 * x[:, 0] ** 3 + 5 * x[:, 1] + 10 + rng.normal(0, 0.2, 60)
        result = symscreen.fit(x, y, operators="ablation", layers="u", split=0.5, level=0.8, jobs=1)
        if _texts(result) == ["x1**3", "x2"]:
            truth = {"1": 10, "x1**3": 2, "x2": 5}
            covered += [r["low"] <= truth[r["term"]] <= r["high"] for r in result.terms.to_dict("records")]
    assert len(covered) > 120
    # three intervals of one fit are dependent: at worst as good as one
    assert np.mean(covered) == pytest.approx(0.8, abs=4 * np.sqrt(0.8 * 0.2 / (len(covered) / 3)))


# What may not matter


def test_neither_threads_nor_the_order_of_rows_and_columns_matter(rng, frame):
    one = symscreen.fit(frame, operators="basic", layers="ub", jobs=1)
    _same(one, symscreen.fit(frame, operators="basic", layers="ub", jobs=2))
    mixed = frame.sample(frac=1, random_state=1)[["x3", "target", "x1", "x2"]]
    _same(one, symscreen.fit(mixed, operators="basic", layers="ub", target="target"))


def test_the_bundle_is_the_same_bytes(tmp_path, frame):
    for jobs in (1, 2):
        symscreen.fit(frame, choose="cv", terms=6, jobs=jobs, split=0.3, **SMALL).save(
            tmp_path / f"{jobs}.json"
        )
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()


@pytest.mark.parametrize("scale", [2.0**-332, 2.0**332])
def test_the_response_may_be_huge_or_tiny(rng, scale):
    x = rng.uniform(0.5, 2.0, (60, 2))
    y = 2 * x[:, 0] ** 3 + 5 * x[:, 1] + 10 + rng.normal(0, 0.1, 60)
    one, other = (symscreen.fit(x, s * y, **SMALL) for s in (1.0, scale))
    assert one.formula.terms == other.formula.terms
    np.testing.assert_allclose(
        other.formula.coefficients, scale * np.array(one.formula.coefficients), rtol=1e-12
    )
    assert other.r2 == pytest.approx(one.r2, rel=1e-12)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_the_inputs_may_be_huge_or_tiny(rng, scale):
    x = rng.uniform(0.5, 2.0, (60, 2))
    for noise in (0.0, 0.1):
        y = 2 * x[:, 0] ** 3 + 5 * x[:, 1] + 10 + rng.normal(0, noise, 60)
        result = symscreen.fit(scale * x, y, snap=True, **SMALL)
        assert _texts(result) == ["x1**3", "x2"]
        np.testing.assert_allclose(
            sorted(result.formula.coefficients), sorted([2 / scale**3, 5 / scale]), rtol=1e-9
        )


# What the data may be like


@pytest.mark.parametrize("n", [5, 6, 8, 12])
def test_a_few_rows_of_noise_give_no_long_formula(n):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        result = symscreen.fit(rng.normal(size=(n, 2)), rng.normal(size=n), **SMALL)
        assert len(result.formula.terms) <= 1
        assert np.isfinite([result.formula.intercept, *result.formula.coefficients]).all()


def test_noise_gives_the_mean(rng):
    # EBIC keeps the chance of a spurious term below one in ten
    results = [symscreen.fit(rng.normal(size=(50, 3)), rng.normal(size=50), **SMALL) for _ in range(20)]
    assert sum(len(result.formula.terms) > 0 for result in results) <= 5
    nothing = next(result for result in results if not result.formula.terms)
    assert nothing.predict(np.zeros((2, 3))).tolist() == [nothing.formula.intercept] * 2


def test_few_rows_of_an_exact_law_are_enough():
    x = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 2.5], [5.5, 1.5], [6.0, 3.0]])
    result = symscreen.fit(x, 3 * x[:, 0] - 2 * x[:, 0] * x[:, 1] + 1, snap=True, **SMALL)
    assert result.formula.text == "1 + 3*x1 - 2*x1*x2"


def test_a_response_that_is_an_input(rng):
    x = rng.normal(size=(30, 2))
    result = symscreen.fit(x, x[:, 1], **SMALL)
    assert result.formula.equation == "y = x2"
    assert result.terms["low"][1] == pytest.approx(1.0)


def test_one_input_a_constant_input_and_copies_of_columns(rng):
    x = rng.normal(size=50)
    y = x**3 + 0.1 * rng.normal(size=50)
    alone = symscreen.fit({"a": x}, y, **SMALL)
    assert _texts(alone) == ["a**3"]
    more = symscreen.fit({"a": x, "b": np.ones(50), "c": x, "d": 2 * x}, y, **SMALL)
    assert len(more.formula.terms) == 1
    assert more.r2 == pytest.approx(alone.r2, abs=1e-9)
    with pytest.raises(InputError, match="every input is constant"):
        symscreen.fit({"b": np.ones(50)}, y, **SMALL)


def test_near_copies_of_a_column_make_no_wild_coefficients(rng):
    x = rng.normal(size=(60, 2))
    near = x[:, 0] + 1e-10 * rng.normal(size=60)
    y = 2 * x[:, 0] - x[:, 1] + 0.1 * rng.normal(size=60)
    result = symscreen.fit({"a": x[:, 0], "b": near, "c": x[:, 1]}, y, **SMALL)
    assert len(result.formula.terms) == 2
    assert np.abs(result.formula.coefficients).max() < 3


def test_a_response_of_few_values(rng):
    x = rng.integers(0, 3, (60, 2)).astype(float)
    result = symscreen.fit(x, x[:, 0] + 2 * x[:, 1], operators="basic", layers="ub", split=0.5)
    assert _texts(result) == ["x1", "x2"]


def test_a_response_far_from_zero_is_still_exact(rng):
    x = rng.uniform(0.5, 2.0, (60, 2))
    result = symscreen.fit(x, 1e7 + 3 * x[:, 0] ** 3 + x[:, 1], snap=True, **SMALL)
    assert result.formula.text == "10000000 + x2 + 3*x1**3"


# Options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"terms": 0}, "terms is 0"),
        ({"terms": 21}, "at most 20"),
        ({"choose": "ebik"}, "did you mean 'ebic'"),
        ({"split": 0.95}, "split is 0.95"),
        ({"split": -0.1}, "split is -0.1"),
        ({"level": 1.0}, "level is 1.0"),
        ({"level": 0.0}, "level is 0.0"),
        ({"folds": 0}, "folds is 0"),
        ({"preset": "x"}, "preset is 'x'"),
    ],
)
def test_options_without_meaning_are_refused(frame, options, words):
    with pytest.raises(OptionError, match=words):
        symscreen.fit(frame, **SMALL, **options)


def test_cross_validation_and_longer_formulas(rng):
    x = rng.normal(size=(100, 3))
    y = (
        1
        + 2 * x[:, 0]
        - x[:, 1]
        + x[:, 2] ** 3
        + x[:, 0] * x[:, 1]
        + 3 * x[:, 1] * x[:, 2]
        + 0.1 * rng.normal(size=100)
    )
    result = symscreen.fit(x, y, terms=6, choose="cv", folds=4, jobs=2, **SMALL)
    assert {"x1", "x2", "x3**3", "x1*x2", "x2*x3"} <= set(_texts(result))
    assert len(result.record["cv_error"]) == 7
    assert result.record["cv_error"][5] < 0.1 * result.record["cv_error"][4]


def test_the_pool_may_be_strict(rng):
    x = rng.uniform(0.5, 2.0, (60, 2))
    y = (x[:, 0] * x[:, 1]) ** 3 + 0.01 * rng.normal(size=60)
    result = symscreen.fit(x, y, operators="ablation", layers="bu", pool="strict")
    assert _texts(result) == ["(x1*x2)**3"]


def test_an_operator_that_calls_another_of_the_grammar_can_be_saved(rng, tmp_path):
    (tmp_path / "own.toml").write_text(
        'unary = ["twice"]\n[define.half]\nformula = "sin(x)/2"\n[define.twice]\nformula = "half(x) + x**2"\n'
    )
    x = rng.uniform(0.5, 2.0, (40, 1))
    result = symscreen.fit(
        x, 3 * (np.sin(x[:, 0]) / 2 + x[:, 0] ** 2), operators=tmp_path / "own.toml", layers="u"
    )
    assert _texts(result) == ["twice(x1)"]
    result.save(tmp_path / "m.json")
    np.testing.assert_array_equal(symscreen.load_bundle(tmp_path / "m.json").predict(x), result.predict(x))
    with pytest.raises(OutputError):
        result.save(tmp_path / "m.json")
    result.save(tmp_path / "m.json", force=True)


# The command line


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command line in this process; give status, standard output and standard error."""

    def run(*arguments, stdin=None):
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        status = cli._run([str(argument) for argument in arguments])
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


def test_the_first_line_is_the_formula_and_the_rest_fits_80_columns(run, data):
    status, out, err = run("fit", data, *ASK)
    assert status == 0
    first, *rest = out.splitlines()
    result = symscreen.fit(data, **SMALL)
    assert first == result.formula.rounded(6).equation
    assert parse(first.removeprefix("target = "), load_grammar("ablation").operators, ["a b", "x2"])
    assert max(map(len, rest)) <= 80
    assert err.count("\n") == 1
    assert "too narrow" in err
    assert run("fit", data, *ASK, "--quiet")[1:] == (out, "")


def test_a_long_formula_stays_on_its_line(run, data):
    out = run("fit", data, *ASK, "--choose", "aic", "--terms", 12, "--quiet")[1]
    result = symscreen.fit(data, choose="aic", terms=12, **SMALL)
    assert out.splitlines()[0] == result.formula.rounded(6).equation


def test_a_saved_formula_is_applied(run, data, tmp_path):
    bundle, predicted = tmp_path / "m.json", tmp_path / "p.csv"
    status, out, err = run("fit", data, *ASK, "--split", 0.5, "--snap", "--out", bundle)
    assert status == 0
    assert err == f"symscreen: written: {bundle}\n"
    result = symscreen.fit(data, split=0.5, snap=True, **SMALL)
    assert run("apply", bundle, data, "--out", predicted)[:2] == (0, "")
    np.testing.assert_array_equal(pd.read_csv(predicted)["target"], result.predict(data))
    status, out, _ = run("apply", bundle, data)
    assert (status, out) == (0, predicted.read_text())
    record = json.loads(bundle.read_text())["record"]
    assert (record["split"], record["rows_choosing"] + record["rows_estimating"]) == (0.5, 60)


def test_a_bundle_on_standard_output_stands_alone(run, data, tmp_path):
    status, out, _ = run("fit", data, *ASK, "--out", "-")
    assert status == 0
    (tmp_path / "m.json").write_text(out)
    assert symscreen.load_bundle(tmp_path / "m.json") == symscreen.fit(data, **SMALL).formula


def test_an_operator_of_the_users_own_is_saved_with_what_it_calls(run, data, tmp_path):
    grammar = tmp_path / "own.toml"
    grammar.write_text(
        'unary = ["more"]\n[define.less]\nformula = "x**3"\n[define.more]\nformula = "less(x) + x"\n'
    )
    status, out, _ = run("fit", data, "--operators", grammar, "--layers", "u", "--out", tmp_path / "m.json")
    assert status == 0
    assert "more(`a b`)" in out.splitlines()[0]
    assert run("apply", tmp_path / "m.json", data)[0] == 0


def test_data_may_come_from_standard_input(data):
    command = [sys.executable, "-m", "symscreen", "fit", "-", *ASK, "--quiet"]
    piped = subprocess.run(command, input=data.read_bytes(), capture_output=True, check=True)
    assert piped.stdout.decode().splitlines()[0] == symscreen.fit(data, **SMALL).formula.rounded(6).equation
    assert piped.stderr == b""


@pytest.mark.parametrize(
    "arguments",
    [
        ("--terms", "0"),
        ("--choose", "best"),
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
