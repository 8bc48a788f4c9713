"""Fits of one form to groups: what is found, printed, saved, predicted and adapted."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import symscreen
from symscreen.cli.command import command
from symscreen.errors import DataError, FormulaError, OptionError, OutputError
from symscreen.expressions.grouped_formula import GroupConstant, GroupedFormula
from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.traversal import iterate_constants
from symscreen.expressions.tree import parse_expression
from symscreen.results.fit_result import GroupedFitResult

OPTIONS = {"per": "ore", "unary": "square", "binary": "mul", "layers": "b", "jobs": 1}


def make_frame(seed=0, n_groups=6, n_rows=12, noise=0.02):
    """Make rows of y = a_g·x·z + 3·w, where a_g differs by group; return them with the a_g."""
    rng = np.random.default_rng(seed)
    x, z, w = rng.uniform(0.5, 2.0, (3, n_groups * n_rows))
    slopes = rng.uniform(-3.0, 3.0, n_groups)
    codes = np.repeat(np.arange(n_groups), n_rows)
    signal = slopes[codes] * x * z + 3.0 * w
    frame = pd.DataFrame({"x": x, "z": z, "w": w, "ore": [f"ore {code}" for code in codes]})
    return frame.assign(y=signal + noise * signal.std() * rng.normal(size=len(x))), slopes


@pytest.fixture(scope="module")
def fitted():
    frame, slopes = make_frame()
    return frame, slopes, symscreen.fit(frame, target="y", **OPTIONS)


def test_the_form_is_found_and_the_criterion_shares_what_does_not_differ(fitted):
    _, slopes, result = fitted
    assert isinstance(result, GroupedFitResult)
    assert result.formula.round_numbers(2).equation == "y = a[ore]*x*z + 3*w"
    assert result.formula.constants[0].values == pytest.approx(slopes, abs=0.2)  # noqa: PD011  # no series
    shared = result.terms[result.terms.constant == ""].iloc[0]
    assert shared.low < 3.0 < shared.high
    assert result.record["verdict"]["kind"] == "noise"


def test_a_fit_that_ignores_the_groups_does_not_find_the_form(fitted):
    frame, _, result = fitted
    ignoring = symscreen.fit(frame.drop(columns="ore"), target="y", **(OPTIONS | {"per": None}))
    assert ignoring.r2 < 0.9 < result.r2 - 0.05


def test_each_group_has_a_row_with_its_constants_errors_and_intervals(fitted):
    frame, slopes, result = fitted
    table = result.constants
    assert list(table) == ["ore", "rows", "a", "a_se", "a_low", "a_high"]
    assert table.ore.tolist() == sorted(frame.ore.unique())
    assert (table.rows == 12).all()
    assert ((table.a_low < table.a) & (table.a < table.a_high)).all()
    assert ((table.a_low <= slopes) & (slopes <= table.a_high)).mean() >= 0.8


def test_no_result_depends_on_the_order_of_rows_and_columns(fitted):
    frame, _, result = fitted
    mixed = frame.sample(frac=1.0, random_state=1)[["ore", "y", "w", "x", "z"]]
    other = symscreen.fit(mixed, target="y", **OPTIONS)
    assert other.formula == result.formula
    assert other.record == result.record


def test_equal_rows_of_two_groups_do_not_depend_on_their_order():
    frame, _ = make_frame(n_groups=2)
    twins = pd.concat([frame, frame.assign(ore=frame.ore.map({"ore 0": "ore 1", "ore 1": "ore 0"}))])
    first, second = (symscreen.fit(each, target="y", **OPTIONS).formula for each in (twins, twins.iloc[::-1]))
    assert first == second


def test_predictions_are_those_of_the_formula_of_each_group(fitted):
    frame, _, result = fitted
    predicted = result.predict(frame)
    for group, own in frame.groupby("ore"):
        expected = result.formula.get_formula(group).predict(own)
        assert predicted[own.index] == pytest.approx(expected, rel=1e-12)
    with pytest.warns(UserWarning, match="no constants for 1 of 1 rows \\(ore: 'ore 9'\\)"):
        assert np.isnan(result.predict(frame.head(1).assign(ore="ore 9"))).all()
    with pytest.raises(FormulaError, match="no group 'ore 9'"):
        result.formula.get_formula("ore 9")


def test_a_saved_model_predicts_the_same_and_adapts_to_a_new_group(fitted, tmp_path):
    frame, _, result = fitted
    path = tmp_path / "model.json"
    result.save(path)
    applied = symscreen.apply_bundle(path, frame)["y"]
    assert applied.tolist() == result.predict(frame).tolist()
    few = pd.DataFrame({"x": [1.0, 1.5, 2.0], "z": [1.0, 2.0, 0.5], "w": [1.0, 0.5, 2.0], "ore": "new"})
    few = few.assign(y=2.5 * few.x * few.z + 3.0 * few.w)
    for model in (path, result):
        formula = symscreen.adapt(model, few)
        assert formula.groups == (*result.formula.groups, "new")
        assert formula.predict(few) == pytest.approx(few.y, abs=0.1)
        assert formula.predict(frame).tolist() == result.predict(frame).tolist()


def test_one_row_of_a_new_group_is_shrunk_by_the_rule_of_the_fit(fitted):
    frame, _, result = fitted
    row = frame.head(1).assign(ore="new")
    shrinkage, std = result.record["groups"]["shrinkage"], result.record["groups"]["residual_std"]
    (shared,) = result.formula.form.coefficients[1:]
    slope, product = (row.y - shared * row.w).iloc[0], (row.x * row.z).iloc[0]
    variance = shrinkage["variances"][0] + shrinkage["mean_variances"][0]
    weight = product**2 / std**2
    expected = (slope * product / std**2 + shrinkage["means"][0] / variance) / (weight + 1.0 / variance)
    found = symscreen.adapt(result, row).constants[0].values[-1]  # noqa: PD011  # no series
    assert found == pytest.approx(expected, rel=1e-6)


def test_rows_that_do_not_determine_a_new_group_are_refused():
    frame, _ = make_frame(n_groups=3)  # too few groups to shrink
    result = symscreen.fit(frame, target="y", **OPTIONS)
    assert result.record["groups"]["shrinkage"] is None
    rows = pd.DataFrame({"x": [0.0], "z": [1.0], "w": [1.0], "y": [3.0], "ore": ["new"]})
    with pytest.raises(DataError, match="the group 'new' do not determine its constants"):
        symscreen.adapt(result, rows)
    with pytest.raises(DataError, match="the group 'new' has rows with missing or undefined values"):
        symscreen.adapt(result, rows.assign(x=np.nan))


def test_an_exact_law_is_exact_and_its_inner_constant_is_a_simple_number():
    frame, slopes = make_frame(n_groups=3, n_rows=10)
    frame = frame.assign(y=np.repeat(slopes, 10) * frame.x * np.exp(-0.5 * frame.z)).drop(columns="w")
    result = symscreen.fit(frame, target="y", per="ore", effort="quick", jobs=1)
    assert result.formula.equation == "y = a[ore]*x*exp(-0.5*z)"
    assert result.verdict.startswith("exact")
    assert result.constants.a.tolist() == pytest.approx(slopes, rel=1e-9)


@pytest.mark.parametrize(
    ("seed", "unit", "input_unit", "equation"),
    [
        (2, 1.0, 1.0, "y = a[ore]*x + z"),
        (3, 1.0, 1e9, "y = a[ore]*x + z"),
        (4, 1e45, 1e-45, "y = a[ore]*x + 1e+45*z"),
        (5, 1e-45, 1e30, "y = a[ore]*x + 1e-45*z"),
    ],
)
def test_an_exact_law_is_the_simplest_of_those_that_are_equal_in_any_units(seed, unit, input_unit, equation):
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(0.5, 3.0, 60), rng.normal(size=60)
    slopes = np.repeat(rng.normal(3.0, 1.0, 4), 15)
    frame = pd.DataFrame({"x": input_unit * x, "z": z, "ore": np.repeat([*"pqrs"], 15)})
    result = symscreen.fit(frame.assign(y=unit * (slopes * x + z)), target="y", per="ore", jobs=1)
    assert result.formula.round_numbers(3).equation == equation
    constants = result.formula.constants[0].values  # noqa: PD011  # no series
    assert np.array(constants) * input_unit / unit == pytest.approx(slopes[::15], rel=1e-6)


@pytest.mark.parametrize("unit", [1e-20, 1e12, 1e30])
def test_the_inner_constant_of_a_column_in_a_far_unit_is_found(rng, unit):
    x, z = rng.uniform(0.5, 3.0, (2, 60))
    slopes = np.repeat([1.0, -2.0, 0.7], 20)
    frame = pd.DataFrame({"x": x, "z": unit * z, "ore": np.repeat([*"pqr"], 20)})
    frame["y"] = slopes * x * np.exp(-0.7 * z) + 0.01 * rng.normal(size=60)
    (term,) = symscreen.fit(frame, target="y", per="ore", binary="mul", unary="exp", jobs=1).formula.terms
    constants = [each.value for each in iterate_constants(term) if each.value != 1.0]
    assert np.abs(constants) * unit == pytest.approx([0.7], abs=0.05)


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize("equation", ["y = 2*m + 3*x", "y = 2*m*x", "y = a[ore] + 2*m*x"])
def test_a_column_that_is_constant_within_groups_takes_the_place_of_constants(rng, noise, equation):
    groups = np.repeat(np.arange(12), 12)
    m, x = rng.uniform(0.5, 3.0, 12)[groups], rng.uniform(0.5, 3.0, 144)
    y = 2.0 * m + 3.0 * x if "3" in equation else 2.0 * m * x
    y = y + ("a" in equation) * rng.normal(size=12)[groups] + noise * rng.normal(size=144)
    frame = pd.DataFrame({"x": x, "m": m, "y": y, "ore": [f"ore {group}" for group in groups]})
    result = symscreen.fit(frame, target="y", per="ore", binary="mul", unary="square", layers="b", jobs=1)
    assert result.formula.round_numbers(1).equation == equation


@pytest.mark.slow
def test_inner_constants_of_each_group_are_found_for_a_decay(rng):
    groups = np.repeat(np.arange(6), 40)
    x, heights, rates = rng.uniform(0.0, 4.0, 240), rng.uniform(1.0, 3.0, 6), rng.uniform(0.2, 2.0, 6)
    y = heights[groups] * np.exp(-rates[groups] * x) + 0.003 * rng.normal(size=240)
    frame = pd.DataFrame({"x": x, "y": y, "ore": [f"ore {group}" for group in groups]})
    options = {"unary": "exp,square", "binary": "mul", "layers": "u", "jobs": 1}
    result = symscreen.fit(frame, target="y", per="ore", per_inner=True, **options)
    assert result.formula.equation == "y = a[ore]*exp(b[ore]*x)"
    assert -result.constants.b.to_numpy() == pytest.approx(rates, abs=0.05)


def test_a_constant_that_a_group_determines_has_an_error_where_another_is_open(rng):
    groups = np.repeat(np.arange(3), 20)
    x, z = rng.uniform(0.5, 3.0, (2, 60))
    z[groups == 2] = 0.0
    y = np.array([2.7, 1.5, 1.2])[groups] * x**2 + np.array([-0.8, 0.2, 9.0])[groups] * z
    frame = pd.DataFrame({"x": x, "z": z, "y": y + 0.02 * rng.normal(size=60), "ore": groups.astype(str)})
    result = symscreen.fit(frame, target="y", **(OPTIONS | {"layers": "u"}))
    assert result.formula.equation == "y = a[ore]*x**2 + b[ore]*z"
    assert np.isnan(result.constants.b_se).tolist() == [False, False, True]
    assert result.constants.a_se.between(1e-4, 0.01).all()
    assert any(notice.startswith("1 of 3 groups do not determine all") for notice in result.notices)


def test_a_formula_with_inner_constants_adapts_to_a_new_group(tmp_path):
    form = Formula("y", 0.0, (1.0,), (parse_expression("`a[ore]`*x*exp(`b[ore]`*z)"),))
    constants = (GroupConstant("a", "ore", (1.0, 2.0)), GroupConstant("b", "ore", (-0.5, -0.7)))
    formula = GroupedFormula(form, "ore", ("p", "q"), constants)
    symscreen.save_bundle(formula, tmp_path / "model.json", record={})
    few = pd.DataFrame({"x": [1.0, 1.5, 2.0, 1.2], "z": [1.0, 2.0, 0.5, 1.5], "ore": "new"})
    few = few.assign(y=3.0 * few.x * np.exp(-0.9 * few.z))
    adapted = symscreen.adapt(tmp_path / "model.json", few)
    assert adapted.get_formula("new").round_numbers(6).equation == "y = 3*x*exp(-0.9*z)"
    assert adapted.get_formula("q") == formula.get_formula("q")


def test_noise_has_no_formula():
    frame, _ = make_frame()
    noise = frame.assign(y=np.random.default_rng(3).normal(size=len(frame)))
    result = symscreen.fit(noise, target="y", **OPTIONS)
    assert not result.formula.inputs
    assert result.verdict.startswith("no formula")


def test_groups_that_do_not_differ_share_all_constants():
    frame, _ = make_frame()
    same = frame.assign(y=2.0 * frame.x * frame.z + 0.01 * np.random.default_rng(4).normal(size=len(frame)))
    result = symscreen.fit(same, target="y", **OPTIONS)
    assert result.formula.round_numbers(2).equation == "y = 2*x*z"
    assert any("one formula fits all groups" in notice for notice in result.notices)
    assert np.isfinite(result.predict(same)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": 0.5}, "per= cannot be combined with split=0.5"),
        ({"criterion": "cv"}, "per= cannot be combined with criterion='cv'"),
        ({"must_use": "x"}, "per= cannot be combined with must_use='x'"),
        ({"weights": "w"}, "per= cannot be combined with weights='w'"),
        ({"target": "y,w"}, "per= takes one target"),
        ({"per": None, "per_inner": True}, "per_inner= needs groups: give per="),
    ],
)
def test_what_a_fit_of_groups_does_not_have_is_refused(options, message):
    frame, _ = make_frame(n_groups=2, n_rows=5)
    with pytest.raises(OptionError) as refused:
        symscreen.fit(frame, **({"target": "y"} | OPTIONS | options))
    assert message in str(refused.value)


def test_rows_without_a_group_are_refused():
    frame, _ = make_frame(n_groups=2, n_rows=5)
    labels = [None, *["p"] * 4, *["q"] * 5]
    with pytest.raises(DataError, match="names no group in 1 of 10 rows"):
        symscreen.fit(frame.assign(ore=labels), target="y", **OPTIONS)


def test_one_group_has_no_constants_of_its_own():
    frame, _ = make_frame(n_groups=1, n_rows=30)
    result = symscreen.fit(frame, target="y", **OPTIONS)
    assert result.formula.constants == ()
    assert result.r2 > 0.99


def test_the_first_line_printed_is_the_shared_form_and_a_table_of_groups_follows(tmp_path, fitted):
    frame, _, result = fitted
    data, model, few = (tmp_path / name for name in ("data.csv", "model.json", "few.csv"))
    frame.to_csv(data, index=False)
    frame.head(3).assign(ore="new").to_csv(few, index=False)
    arguments = ["--target", "y", "--per", "ore", "--unary", "square", "--binary", "mul", "--layers", "b"]
    run = CliRunner().invoke(command, ["fit", str(data), *arguments, "--out", str(model), "--quiet"])
    lines = run.stdout.splitlines()
    assert lines[0] == result.formula.round_numbers(6).equation
    assert sum(line.startswith("ore ") and "±" in line for line in lines) == 6
    assert json.loads(model.read_text())["kind"] == "grouped model"
    run = CliRunner().invoke(command, ["apply", str(model), str(few), "--adapt", str(few)])
    predicted = [float(line) for line in run.stdout.splitlines()[1:4]]
    assert predicted == pytest.approx(frame.y.head(3).tolist(), abs=0.3)
    run = CliRunner().invoke(command, ["export", str(model), "--to", "excel", "--group", "ore 2"])
    assert run.stdout.startswith("=IF(COUNT(A2,B2,C2)<3")
    with pytest.raises(OptionError, match="excel has no constants by group: choose one with --group"):
        CliRunner().invoke(command, ["export", str(model), "--to", "excel"], catch_exceptions=False)


def test_a_column_of_groups_that_does_not_exist_is_named_with_its_option(rng):
    with pytest.raises(DataError, match="has no column 'material' for per=; did you mean 'materials'"):
        symscreen.fit(
            {"x": rng.normal(size=20), "y": np.arange(20.0), "materials": ["a", "b"] * 10}, per="material"
        )


def test_the_regressor_takes_the_column_of_the_groups_in_x(fitted):
    frame, _, result = fitted
    options = OPTIONS | {"n_jobs": OPTIONS["jobs"]}
    del options["jobs"]
    model = symscreen.SymbolicRegressor(**options).fit(frame.drop(columns="y"), frame.y)
    assert model.formula_ == result.formula
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict(frame.drop(columns="y")).tolist() == result.predict(frame).tolist()


def test_texts_and_markup_show_the_form(fitted):
    _, _, result = fitted
    assert "a_{\\mathrm{ore}}" in result._repr_latex_()
    assert "ore 3" in result._repr_html_()
    assert "a[ore]" in result.summary()
    assert str(result.formula.to_sympy()).count("a[ore]") == 1
    with pytest.raises(OutputError, match="constants that differ by group cannot be written"):
        result.export("sql")
    with pytest.raises(OptionError, match=r"only a result of symscreen\.fit has plots"):
        result.plot.predictions()
