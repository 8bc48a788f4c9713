"""From a table to a formula: formulas that are known, and what may not matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.errors import OptionError
from symscreen.export import load_bundle
from symscreen.expressions.traversal import compute_key, evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.fitting.effort import EFFORTS

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
    y = evaluate_expression(parse_expression(truth), columns)
    left = formula.predict(columns) - y
    return float((left @ left) / ((y - y.mean()) @ (y - y.mean())))


def _same(one, other):
    assert one.formula == other.formula
    for own, theirs in (
        (one.terms, other.terms),
        (one.front, other.front),
        (one.alternatives, other.alternatives),
    ):
        pd.testing.assert_frame_equal(own, theirs, check_exact=True)
    assert (one.r2, one.record, one.notices) == (other.r2, other.record, other.notices)


# Formulas that are known


@pytest.mark.slow
@pytest.mark.parametrize("name", ["barmag1", "glider2", "lv1", "lv2", "vdp1"])
def test_an_equation_of_strogatz_is_found_exactly(rng, name):
    data = symscreen.datasets.load_strogatz(name)
    result = symscreen.fit(data.frame, operators="strogatz", layers="ub", unsafe="keep")
    assert 1 - result.r2 < 1e-20
    assert _fresh_share(result.formula, data.truth, data.frame, rng) < 1e-20
    assert result.notices == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "truth",
    [
        "3*cos(pi*x1) + x2",
        "2*asin(x1)/x2",
        "x1*acos(x2) - 1",
        "5 - tan(x1)",
        "log(2 - x2) + x1**3",
        "x1/(1 + x2)",
    ],
)
def test_the_default_grammar_of_a_fit_has_pi_and_the_inverse_waves(rng, truth, change_effort):
    change_effort("default", pool_formulas=1000, n_law_stages=1, layer_candidates=100_000)
    x1, x2 = rng.uniform(0.05, 0.95, (2, 60))
    y = evaluate_expression(parse_expression(truth), {"x1": x1, "x2": x2})
    result = symscreen.fit({"x1": x1, "x2": x2}, y)
    assert 1 - result.r2 < 1e-20
    assert compute_key(result.formula.round_numbers(9).expression) == compute_key(parse_expression(truth))
    assert not [notice for notice in result.notices if "layers" in notice]


@pytest.mark.slow
def test_the_spaces_of_a_default_fit_hold_what_those_of_a_fit_with_basic_hold(rng, monkeypatch):
    # the searches for laws have a pool of one size, which reaches deeper with fewer operators
    monkeypatch.setattr("symscreen.fitting.search_stages._searches_laws", lambda _: False)
    x = rng.uniform(0.5, 2.0, (2, 40))
    table, y = {"x1": x[0], "x2": x[1]}, np.tan(x[0] * x[1] / 3) + rng.normal(0, 0.1, 40)
    monkeypatch.setitem(EFFORTS, "default", replace(EFFORTS["default"], layer_candidates=5000))
    narrow, broad = (symscreen.fit(table, y, operators=name) for name in ("basic", "standard"))
    for size, r2 in zip(narrow.front.complexity, narrow.front.r2, strict=True):
        assert broad.front.r2[broad.front.complexity <= size].max() >= r2 - 1e-9
    (notice,) = set(broad.notices) - set(narrow.notices)
    assert notice.startswith("the layers ub and bu were searched with the operators of basic alone")


def test_layers_of_the_user_have_every_operator_of_the_default_grammar(rng):
    x = rng.uniform(0.1, 0.9, 50)
    result = symscreen.fit({"x": x}, np.arccos(x), layers="u")
    assert _texts(result) == ["acos(x)"]
    with pytest.raises(OptionError, match="operators"):
        symscreen.fit({"x": x}, np.arccos(x), operators=3)


@pytest.mark.parametrize("given", [{"unary": "square"}, {"binary": "mul,sub"}])
def test_operators_of_the_user_come_without_the_constants_of_the_default_grammar(rng, given):
    x = rng.uniform(0.5, 2.0, (2, 50))
    y = 1 / (1 + x[0]) + x[1]
    pd.testing.assert_frame_equal(
        symscreen.fit(x.T, y, layers="b", **given).front,
        symscreen.fit(x.T, y, layers="b", operators="basic", **given).front,
    )


@pytest.mark.slow
def test_of_two_exact_formulas_the_one_with_fewer_coefficients_is_chosen(rng):
    data = symscreen.datasets.load_strogatz("predprey2")
    result = symscreen.fit(data.frame, operators="strogatz", layers="bub", snap=True)
    assert _fresh_share(result.formula, data.truth, data.frame, rng) < 1e-24
    # the other one is x2 - 0.075*x2**2 - x2/(1 + x1)
    assert result.formula.text == "-0.075*x2**2 + x1*x2/(1 + x1)"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_additive_model_is_found_in_noise(seed):
    data = symscreen.datasets.make_additive(n=100, noise_variance=0.1, seed=seed)
    result = symscreen.fit(data.frame, operators="ablation", layers="bub")
    assert _texts(result) == ["x1**3", "x3"]
    truth = {"1": 10, "x1**3": 2, "x3": 5}
    for row in result.terms.to_dict("records"):
        assert row["low"] <= truth[row["term"]] <= row["high"]


@pytest.mark.slow
def test_a_constant_inside_a_formula_is_found(rng, tmp_path, change_effort):
    change_effort("quick", pool_formulas=1000)
    (tmp_path / "decay.toml").write_text(DECAY)
    x = rng.uniform(0.0, 5.0, (100, 2))
    y = 3 * np.exp(-0.37 * x[:, 0]) + 2
    exact = symscreen.fit(x, y, operators=tmp_path / "decay.toml", effort="quick", snap=True)
    assert exact.formula.round_numbers(9).text == "2 + 3*exp(-0.37*x1)"
    noisy = symscreen.fit(x, y + rng.normal(0, 0.01, 100), operators=tmp_path / "decay.toml", layers="u")
    (term,) = noisy.formula.terms
    (decay,) = [part for part in str(term).replace("*x1)", "").split("exp(-") if part]
    assert float(decay) == pytest.approx(0.37, abs=0.02)
    assert noisy.formula.coefficients[0] == pytest.approx(3, abs=0.1)
    noisy.save(tmp_path / "m.json")
    again = load_bundle(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(x), noisy.predict(x))


@pytest.mark.slow
def test_honest_intervals_cover_as_often_as_they_say(rng):
    # the rows kept: half of 60, and the terms of each fit taken as they come
    covered = []
    for _ in range(25):
        x = rng.uniform(0, 1, (60, 2))
        y = 2 * x[:, 0] ** 3 + 5 * x[:, 1] + 10 + rng.normal(0, 0.2, 60)
        result = symscreen.fit(x, y, operators="ablation", layers="u", split=0.5, level=0.8, jobs=1)
        if _texts(result) == ["x1**3", "x2"]:
            truth = {"1": 10, "x1**3": 2, "x2": 5}
            covered += [r["low"] <= truth[r["term"]] <= r["high"] for r in result.terms.to_dict("records")]
    assert len(covered) > 50
    # three intervals of one fit are dependent: at worst as good as one
    assert np.mean(covered) == pytest.approx(0.8, abs=4 * np.sqrt(0.8 * 0.2 / (len(covered) / 3)))


# What may not matter


@pytest.mark.slow
def test_neither_threads_nor_the_order_of_rows_and_columns_matter(frame):
    one = symscreen.fit(frame, **SMALL, jobs=1)
    _same(one, symscreen.fit(frame, **SMALL, jobs=2))
    mixed = frame.sample(frac=1, random_state=1)[["x3", "target", "x1", "x2"]]
    _same(one, symscreen.fit(mixed, **SMALL, target="target"))


@pytest.mark.slow
def test_the_bundle_is_the_same_bytes(tmp_path, frame):
    for jobs in (1, 2):
        symscreen.fit(frame, criterion="cv", folds=3, max_terms=4, jobs=jobs, split=0.3, **SMALL).save(
            tmp_path / f"{jobs}.json"
        )
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()


@pytest.mark.slow
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
    for noise, near in ((0.0, 1e-12), (0.01, 0.01)):
        y = 2 * x[:, 0] ** 3 + 5 * x[:, 1] + 10 + rng.normal(0, noise, 60)
        formula = symscreen.fit(scale * x, y, snap=True, **SMALL).formula
        found = dict(zip(map(str, formula.terms), formula.coefficients, strict=True))
        assert found["x1**3"] == pytest.approx(2 / scale**3, rel=near)
        assert found["x2"] == pytest.approx(5 / scale, rel=near)
        assert formula.intercept == pytest.approx(10, rel=near)
        assert len(found) == 2


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-310, 1e-170, 1e155, 1e300])
def test_targets_of_any_size_have_their_law(rng, scale):
    x, z = rng.uniform(1, 5, (2, 100))
    fitted = symscreen.fit({"x": x, "z": z}, scale * x * z)
    assert [str(term) for term in fitted.formula.terms] == ["x*z"]
    assert fitted.formula.coefficients[0] == pytest.approx(scale, rel=1e-9)


@pytest.mark.filterwarnings("error")
def test_inputs_that_hardly_vary_do_not_fail(rng):
    x, z = 1e8 + rng.uniform(1, 5, (2, 60))
    assert "no formula" not in symscreen.fit({"x": x, "z": z}, (x - 1e8) * (z - 1e8)).verdict
