from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.cli.command import run_command
from symscreen.data import read_dataset
from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.traversal import evaluate_expression, rebuild_expression
from symscreen.expressions.tree import Constant, parse_expression
from symscreen.fitting.coefficients import estimate_coefficients, get_targets
from symscreen.fitting.fit_verdict import compute_residuals, judge_model, remove_number_errors
from symscreen.fitting.model_selection import ScoredModel
from symscreen.grammar import load_grammar

SMALL = {"operators": "basic", "layers": "u"}


@pytest.fixture
def x(rng):
    return rng.uniform(1.0, 5.0, (2, 300))


def test_a_formula_that_leaves_rounding_is_exact(x):
    result = symscreen.fit({"a": x[0], "b": x[1]}, 2 * x[0] ** 2 + x[1], **SMALL)
    assert result.record["verdict"] == {"kind": "exact", "p_value": None}
    assert result.verdict.startswith("exact: ")
    assert result.record["stage"] == "subsets"


def test_the_verdict_names_coefficients_that_are_multiples_of_pi_or_fractions(x):
    result = symscreen.fit({"a": x[0], "b": x[1]}, x[0] / (2 * np.pi) + x[1] / 3, **SMALL)
    assert [name for _, name in result.record["verdict"]["numbers"]] == ["1/(2*pi)", "1/3"]
    assert result.verdict.endswith("; 0.159155 is 1/(2*pi), 0.333333 is 1/3")


@pytest.mark.slow
def test_a_law_with_noise_is_within_noise(rng, x):
    y = 2 * x[0] ** 2 + x[1] + rng.normal(size=300)
    result = symscreen.fit({"a": x[0], "b": x[1]}, y, **SMALL)
    assert result.record["verdict"]["kind"] == "noise"
    assert result.record["verdict"]["p_value"] > 0.01
    assert result.verdict in repr(result)


@pytest.mark.parametrize(
    "options", [SMALL, SMALL | {"split": 0.5}, pytest.param({"effort": "quick"}, marks=pytest.mark.slow)]
)
def test_a_smooth_function_outside_the_grammar_is_approximated(x, options, change_effort):
    from scipy.special import jv

    change_effort("quick", pool_formulas=1000, n_law_stages=1, layer_candidates=1000)

    result = symscreen.fit({"a": x[0], "b": x[1]}, jv(0, 2 * x[0]) * x[1], **options)
    assert result.record["verdict"]["kind"] == "approximation"
    assert result.verdict.startswith("approximation: ")


def test_noise_has_no_formula(rng, x):
    result = symscreen.fit({"a": x[0], "b": x[1]}, rng.normal(size=300), **SMALL)
    assert result.record["verdict"] == {"kind": "none", "p_value": None}
    assert result.verdict == "no formula: none is better than the mean"
    assert result.record["stage"] is None


def test_of_several_targets_one_may_need_more(x):
    y = np.column_stack([x[0] + x[1], np.sin(7 * x[0]) + x[1]])
    result = symscreen.fit({"a": x[0], "b": x[1]}, y, operators="ablation", layers="u")
    assert result.record["verdict"]["kind"] == "approximation"


def test_the_verdict_is_the_second_line_of_the_command(rng, x, tmp_path, capsys):
    frame = pd.DataFrame({"a": x[0], "b": x[1], "target": x[0] + rng.normal(size=300)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert run_command(["fit", str(tmp_path / "t.csv"), "--operators", "basic", "--layers", "u"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("target = ")
    assert lines[1].startswith("law within noise: ")


def make_fits(columns, y, text, coefficient=1.0):
    term = parse_expression(text)
    dataset = read_dataset({**columns, "y": y}, target="y")
    values = evaluate_expression(term, dataset.columns_by_name)[None]
    estimates = estimate_coefficients(values, dataset.regression_target.values, has_intercept=False)
    return ((Formula("y", 0.0, (coefficient,), (term,)), estimates, True),), dataset


def judge(columns, y, text):
    fits, dataset = make_fits(columns, y, text)
    _, estimates, _ = fits[0]
    selected = ScoredModel((0,), min(estimates.unexplained_share, 1.0), 1, 0.0)
    return judge_model(selected, fits, dataset, load_grammar("basic"))


@pytest.mark.parametrize("n", [60, 1000])
def test_a_law_whose_rounding_is_large_is_exact(n, rng):
    a, b = rng.uniform(1.0, 2.0, (2, n))
    y = a * a - b * b  # cancels
    assert judge({"a": a, "b": b}, y, "(a + b)*(a - b)")["kind"] == "exact"


@pytest.mark.parametrize("n", [60, 1000])
def test_a_smooth_function_is_not_exact_though_its_error_is_near_rounding(n, rng):
    x, a = rng.uniform(1.0, 2.0, (2, n))
    y = a * x * (1.0 + 1e-13 * np.sin(20.0 * x))
    record = judge({"a": a, "x": x}, y, "a*x")
    assert record["kind"] == "approximation"
    assert record["p_value"] < 1e-4


def test_a_number_that_is_off_by_its_last_digits_leaves_an_exact_law(rng):
    t, z = rng.uniform(0.0, 6.0, (2, 500))
    term = parse_expression("sin(1.7*t)*z")
    fitted = rebuild_expression(term, number=lambda _: Constant(1.7 * (1.0 + 4e-14), fitted=True))
    dataset = read_dataset({"t": t, "z": z, "y": np.sin(1.7 * t) * z}, target="y")
    formula = Formula("y", 0.0, (1.0,), (fitted,))
    residuals = compute_residuals(formula, dataset)
    assert np.abs(residuals).max() > 1e-13
    assert np.abs(remove_number_errors(formula, residuals, dataset)).max() < 1e-14
    # numbers that had to change much are no rounding
    other = Formula("y", 0.0, (1.0,), (parse_expression("sin(1.7*t)*(z + 0.001)"),))
    left = compute_residuals(other, dataset)
    assert np.array_equal(remove_number_errors(other, left, dataset), left)


def test_residuals_along_a_quotient_make_an_approximation(rng):
    columns = dict(zip("ahT", rng.uniform(1.0, 3.0, (3, 1000)), strict=True))
    y = columns["a"] * (1.0 + 1e-5 * np.sin(6.0 * columns["h"] / columns["T"]))
    record = judge(columns, y, "a")
    assert record["kind"] == "approximation"


def test_copied_rows_are_said(rng):
    x, y = rng.uniform(1.0, 2.0, 40), rng.normal(size=40)
    copied = symscreen.fit({"x": np.tile(x, 3)}, np.tile(y, 3), **SMALL)
    assert any("80 rows equal an earlier row" in notice for notice in copied.notices)
    assert not any("equal" in notice for notice in symscreen.fit({"x": x}, y, **SMALL).notices)


def test_a_law_that_magnifies_the_rounding_of_its_argument_is_exact(rng):
    kelvin = rng.uniform(280.0, 350.0, 200)
    y = 3.1e13 * np.exp(-8500.0 / kelvin)
    term = rebuild_expression(
        parse_expression("exp(-8500.5*(1/k))"),
        number=lambda number: Constant(-8499.999999999993, fitted=True) if number.value != 1 else number,
    )
    dataset = read_dataset({"k": kelvin, "y": y}, target="y")
    formula = Formula("y", 0.0, (30999999999999.33,), (term,))
    residuals = compute_residuals(formula, dataset)
    target = get_targets(dataset)["y"]
    assert np.abs(residuals / target).max() > 8 * np.finfo(float).eps
    values = evaluate_expression(term, dataset.columns_by_name)[None]
    estimates = estimate_coefficients(values, target, has_intercept=False)
    record = judge_model(
        ScoredModel((0,), 1e-30, 1, 0.0), ((formula, estimates, True),), dataset, load_grammar("basic")
    )
    assert record["kind"] == "exact"


def test_a_missing_term_of_ten_units_of_rounding_is_seen(rng):
    from scipy.special import j0

    x = rng.uniform(0.0, 0.02, 1000)
    result = symscreen.fit({"x": x}, j0(x), operators="standard", effort="quick")
    assert result.record["verdict"]["kind"] == "approximation"


def test_a_few_huge_residuals_do_not_hide_the_others(rng):
    x = rng.uniform(0.0, 20.0, 300)
    target = np.exp(2 * x) + 1e3 * np.exp(x) * np.cos(x)
    verdict = symscreen.fit({"x": x}, target, **SMALL, effort="quick").record["verdict"]
    assert verdict["kind"] == "approximation"
    assert verdict["p_value"] < 1e-6


def test_a_law_with_heavy_tailed_noise_is_within_noise(rng):
    kinds = []
    for _ in range(8):
        x = rng.uniform(1.0, 5.0, 300)
        target = x**2 + 1e-3 * rng.standard_cauchy(300)
        kinds.append(symscreen.fit({"x": x}, target, **SMALL, effort="quick").record["verdict"]["kind"])
    assert kinds.count("noise") >= 7


def test_a_law_is_exact_if_the_last_digits_of_a_fitted_number_are_wrong(rng):
    stress, temperature = rng.uniform([[0.1], [280.0]], [[5.0], [360.0]], (2, 100))
    rate = 3.2 * stress**4.5 * np.exp(-3000.0 / temperature)
    assert symscreen.fit({"s": stress, "T": temperature}, rate, quiet=True).verdict.startswith("exact")
