"""Units in fits: formulas in base units, coefficients with units, and exports in the units that came in."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from helpers.requirements import require

import symscreen
from symscreen.cli.command import command
from symscreen.data import read_dataset
from symscreen.errors import OptionError
from symscreen.export import load_bundle
from symscreen.expressions.tree import parse_expression
from symscreen.messages import COMMAND_LINE
from symscreen.results.fit_result import to_original_units
from symscreen.units import (
    Units,
    compute_unit,
    convert_targets_to_base_units,
    format_coefficient_units,
    parse_unit,
    read_units,
)

require("pint")

OPTIONS = {"layers": "ub", "unary": ["square", "sin", "sqrt"], "binary": ["add", "mul"]}


@pytest.fixture
def moving(rng):
    """Bodies of which the energy is known: E = m·v²/2 + 3 N·h, in kJ, g, km/h and mm."""
    mass, speed, height = rng.uniform(1, 5, (3, 60)) * [[1000.0], [20.0], [800.0]]
    joules = mass / 1000 * (speed / 3.6) ** 2 / 2 + 3 * height / 1000
    return pd.DataFrame({
        "mass (g)": mass, "speed (km/h)": speed, "height [mm]": height, "share": rng.uniform(0, 1, 60),
        "energy (kJ)": joules / 1000,
    })  # fmt: skip


def _units(result):
    columns = result.record["units"]["columns"]
    return Units({name: parse_unit(told["given"]) for name, told in columns.items()})


# One target


def test_a_law_is_found_in_base_units_and_its_numbers_have_theirs(moving):
    result = symscreen.fit(moving, units="strict", snap=True, **OPTIONS)
    assert result.formula.text == "3*`height [mm]` + 0.5*`mass (g)`*`speed (km/h)`**2"
    told = dict(zip(result.terms["term"], result.terms["unit"], strict=True))
    assert told == {"1": "kg*m**2/s**2", "`height [mm]`": "kg*m/s**2", "`mass (g)`*`speed (km/h)`**2": "1"}
    assert result.record["units"]["targets"]["energy (kJ)"]["base"] == "kg*m**2/s**2"
    assert "the target 'energy (kJ)' is converted from kJ to kg*m**2/s**2" in result.notices
    assert result.claims[1] == (
        "the formula is for base units: 'energy (kJ)' in kg*m**2/s**2, 'height [mm]' in m, 'mass (g)' in kg, "
        "'speed (km/h)' in m/s"
    )


def test_predictions_are_in_the_units_that_came(moving):
    result = symscreen.fit(moving, units="strict", **OPTIONS)
    np.testing.assert_allclose(result.predict(moving), moving["energy (kJ)"], rtol=1e-9)
    np.testing.assert_allclose(
        result.formula_in_original_units.predict(moving), moving["energy (kJ)"], rtol=1e-9
    )


@pytest.mark.slow
def test_only_terms_with_a_unit_are_used(moving, rng):
    """The response is the sine of a mass and a sum of unlike things, which without units would be found."""
    columns = moving.assign(y=np.sin(moving["mass (g)"]) + 1e-6 * rng.normal(size=60))
    free = symscreen.fit(columns, target="y", exclude=["energy (kJ)"], **OPTIONS)
    assert "sin(`mass (g)`)" in free.formula.text
    strict = symscreen.fit(columns, target="y", exclude=["energy (kJ)"], units="strict", **OPTIONS)
    assert "sin(`mass" not in " ".join(strict.front["formula"])
    assert "no unit given for the target 'y', taken as a pure number" in strict.notices
    units = _units(strict)
    for text in [*strict.front["formula"], *strict.alternatives["formula"]]:
        for term in _summands(parse_expression(text)):
            assert compute_unit(term, units) is not None
    assert strict.record["searched"] < free.record["searched"]


def _summands(expression):
    operator = getattr(expression, "operator", None)
    if operator is not None and operator.name in {"add", "sub"}:
        return [one for argument in expression.arguments for one in _summands(argument)]
    return [expression]


def test_terms_may_be_asked_for_in_the_targets_unit(moving):
    result = symscreen.fit(moving, units="strict", target_units="J", snap=True, **OPTIONS)
    assert set(result.terms["unit"][1:]) <= {"1"}
    units = _units(result)
    assert {compute_unit(term, units) for term in result.formula.terms} <= {"kg*m**2/s**2"}
    assert "`mass (g)`*`speed (km/h)`**2" in list(result.terms["term"])
    free = symscreen.fit(moving, units="strict", **OPTIONS)
    assert result.record["searched"] < free.record["searched"]


def test_a_unit_that_no_term_has_leaves_the_mean(moving):
    result = symscreen.fit(moving, units="strict", target_units="candela", **OPTIONS)
    assert result.formula.terms == ()
    assert result.formula.intercept == pytest.approx(1000 * moving["energy (kJ)"].mean())
    np.testing.assert_allclose(result.predict(moving), moving["energy (kJ)"].mean())


@pytest.mark.slow
def test_a_unit_that_no_term_has_leaves_the_mean_with_default_layers(moving):
    result = symscreen.fit(moving, units="strict", target_units="candela", unary="square", binary="mul")
    assert result.formula.terms == ()


def test_a_law_whose_constant_has_a_unit(rng):
    n, t, v = rng.uniform(1, 5, (3, 50)) * [[1.0], [20.0], [1.0]]
    frame = pd.DataFrame({"n (mol)": n, "t (degC)": t, "v (l)": v})
    frame["p (bar)"] = n * 8.314462618 * (t + 273.15) / v * 1e-2
    result = symscreen.fit(frame, units="strict", layers="bb", unary="square", binary="mul,div", max_terms=1)
    assert result.r2 > 1 - 1e-12
    (term,) = result.formula.terms
    assert str(term) in {
        "`n (mol)`*(`t (degC)`/`v (l)`)",
        "`n (mol)`*`t (degC)`/`v (l)`",
        "`t (degC)`*(`n (mol)`/`v (l)`)",
    }
    assert result.formula.coefficients[0] == pytest.approx(8.314462618)
    assert result.terms["unit"][1] == "kg*m**2/K/mol/s**2"
    np.testing.assert_allclose(result.predict(frame), frame["p (bar)"], rtol=1e-9)


def test_a_target_with_an_offset_comes_back_in_its_own_degrees(rng):
    x = rng.uniform(1, 5, 40)
    frame = pd.DataFrame({"x (m)": x, "t (degF)": 50 + 9 * x})
    result = symscreen.fit(frame, units="strict", layers="u", unary="square", snap=True)
    assert result.formula.coefficients == (5.0,)
    assert result.terms["unit"].tolist() == ["K", "K/m"]
    assert result.formula_in_original_units.coefficients[0] == pytest.approx(9.0)
    assert result.formula_in_original_units.intercept == pytest.approx(50.0, abs=1e-9)
    np.testing.assert_allclose(result.predict(frame), frame["t (degF)"], rtol=1e-12)


def test_prefixes_make_no_difference(moving):
    result = symscreen.fit(moving, units="strict", **OPTIONS)
    other = moving.assign(**{"mass (g)": moving["mass (g)"] / 1000}).rename(columns={"mass (g)": "mass (kg)"})
    other = other.assign(**{"energy (kJ)": other["energy (kJ)"] * 1000}).rename(
        columns={"energy (kJ)": "e (J)"}
    )
    same = symscreen.fit(other, units="strict", **OPTIONS)
    assert [str(term).replace("(kg)", "(g)") for term in same.formula.terms] == list(
        map(str, result.formula.terms)
    )
    assert same.formula.coefficients == pytest.approx(result.formula.coefficients, rel=1e-9)
    assert same.terms["unit"].tolist() == result.terms["unit"].tolist()


@pytest.mark.slow
def test_no_exponent_is_fitted_that_leaves_no_unit(rng, tmp_path):
    grammar = tmp_path / "powers.toml"
    grammar.write_text(
        'unary = ["power", "decay"]\nbinary = ["mul"]\n'
        '[define.power]\nformula = "x**a"\nparameters = { a = [0.5, 2] }\n'
        '[define.decay]\nformula = "exp(-a*x)"\nparameters = { a = [0.1, 1] }\n'
    )
    x, s = rng.uniform(1, 3, (2, 50))
    y = 3 * x**2 + 9 * np.exp(-1.7 * s) + 0.01 * rng.normal(size=50)
    frame = pd.DataFrame({"l (m)": x, "s": s, "y (N)": y})
    options = {"operators": grammar, "layers": "u", "max_terms": 2}
    free = symscreen.fit(frame.rename(columns={"l (m)": "l"}), **options)
    assert any(str(term).startswith(("l**1.9", "l**2.0")) for term in free.formula.terms)
    strict = symscreen.fit(frame, units="strict", **options)
    assert all(compute_unit(term, _units(strict)) is not None for term in strict.formula.terms)
    power, decay = sorted(map(str, strict.formula.terms), key=len)
    assert power == "power_2(`l (m)`)"  # whose exponent stays 2
    assert decay.startswith(("exp(-1.6", "exp(-1.7"))
    assert strict.terms["unit"].tolist()[1:] == ["kg/m/s**2", "kg*m/s**2"]


def test_without_units_nothing_is_told_of_them(moving):
    result = symscreen.fit(moving, units="ignore", **OPTIONS)
    assert "unit" not in result.terms
    assert "units" not in result.record
    assert result.formula_in_original_units == result.formula


@pytest.mark.slow
def test_cuts_and_cross_validation_keep_to_units(moving):
    for options in ({"pool_size": 5}, {"criterion": "cv", "folds": 3, "max_terms": 2}, {"split": 0.5}):
        result = symscreen.fit(moving, units="strict", **OPTIONS, **options)
        units = _units(result)
        assert all(compute_unit(term, units) is not None for term in result.formula.terms)
        assert result.r2 > 0.9


# What goes elsewhere


def test_bundles_and_sources_take_columns_as_they_came(moving, tmp_path):
    result = symscreen.fit(moving, units="strict", **OPTIONS)
    result.save(tmp_path / "m.json")
    assert load_bundle(tmp_path / "m.json") == result.formula_in_original_units
    applied = symscreen.apply_bundle(tmp_path / "m.json", moving)
    np.testing.assert_allclose(applied["energy (kJ)"], moving["energy (kJ)"], rtol=1e-9)
    kept = json.loads((tmp_path / "m.json").read_text())["record"]["units"]
    assert kept["columns"]["mass (g)"]["factor"] == "1/1000"
    assert kept["targets"]["energy (kJ)"]["given"] == "kJ"
    space: dict = {}
    exec(compile(result.export("numpy"), "m", "exec"), space)  # noqa: S102  # our own text
    inputs = sorted(
        {name for name in moving if name in result.formula_in_original_units.text.replace("`", "")}
    )
    computed = space["model"]({name: moving[name].to_numpy() for name in inputs})
    np.testing.assert_allclose(computed, moving["energy (kJ)"], rtol=1e-9)


def test_the_command_line_tells_the_units_of_coefficients(moving, tmp_path):
    data, units = tmp_path / "moving.csv", tmp_path / "units.toml"
    moving.to_csv(data, index=False)
    units.write_text('share = "m"\n')
    common = ["fit", data, "--layers", "ub", "--unary", "square", "--binary", "mul"]
    done = CliRunner().invoke(
        command, [str(one) for one in (*common, "--units", units)], standalone_mode=False
    )
    assert done.exception is None
    assert "unit" in next(line for line in done.output.splitlines() if line.startswith("term "))
    assert "kg*m**2/s**2" in done.output
    assert "'share' in m" in done.output
    refused = CliRunner().invoke(command, [*map(str, common), "--target-units", "J"], standalone_mode=False)
    assert isinstance(refused.exception, OptionError)
    assert "--target-units requires units" in refused.exception.render(COMMAND_LINE)


def test_the_regressor_takes_units(moving):
    x, y = moving.drop(columns="energy (kJ)"), moving["energy (kJ)"]
    model = symscreen.SymbolicRegressor(units="strict", target_units="kJ", **OPTIONS).fit(x, y)
    assert model.score(x, y) > 0.999
    np.testing.assert_array_equal(model.predict(x), model.result_.predict(x))
    assert model.result_.record["units"]["target_units"]["given"] == "kJ"


# Several targets


def test_several_targets_have_units_of_their_own(moving):
    frame = moving.assign(**{"heat (cal)": moving["energy (kJ)"] * 1000 / 4.184 / 2, "ratio": 7.0})
    frame["ratio"] = moving["mass (g)"] * moving["speed (km/h)"] ** 2
    result = symscreen.fit(
        frame, target=["heat (cal)", "ratio"], exclude=["energy (kJ)"], units="strict", **OPTIONS
    )
    by_term = result.terms.set_index("term")
    term = "`mass (g)`*`speed (km/h)`**2"
    assert by_term.loc[term, "unit[heat (cal)]"] == "1"
    assert by_term.loc[term, "unit[ratio]"] == "s**2/kg/m**2"
    assert by_term.loc[term, "coefficient[heat (cal)]"] == pytest.approx(0.25)
    predicted = result.predict(frame)
    np.testing.assert_allclose(predicted, frame[list(result.targets)], rtol=1e-8)


def test_units_of_coefficients_are_the_targets_over_the_terms(moving):
    table, units = read_units(read_dataset(moving), "strict", None)
    terms = [
        parse_expression(text, column_names=table.names)
        for text in ("`mass (g)`", "sqrt(`height [mm]`)", "share")
    ]
    found = format_coefficient_units(terms, "energy (kJ)", units)
    assert found == ["kg*m**2/s**2", "m**2/s**2", "kg*m**(3/2)/s**2", "kg*m**2/s**2"]
    assert format_coefficient_units(terms[2:], "unknown", units) == ["1", "1"]
    moved, record = convert_targets_to_base_units(table, units)
    joules = moved.numeric_target.values  # noqa: PD011  # no frame
    np.testing.assert_allclose(joules, np.sort(1000 * moving["energy (kJ)"]), rtol=1e-15)
    assert record["energy (kJ)"]["factor"] == "1000"
    assert moved.digest == table.digest


def test_as_given_undoes_what_brought_values_into_base_units(rng):
    record = {
        "columns": {"x": {"factor": "1/1000", "offset": "0"}},
        "targets": {"y": {"factor": "5/9", "offset": "255.37"}},
    }
    formula = symscreen.expressions.linear_formula.Formula(
        "y", 280.0, (3.0, -2.0), (parse_expression("x**2"), parse_expression("sin(z)"))
    )
    rows = {"x": rng.uniform(1, 2, 9), "z": rng.uniform(0, 1, 9)}
    base = formula.predict({"x": rows["x"] / 1000, "z": rows["z"]})
    np.testing.assert_allclose(
        to_original_units(formula, record).predict(rows) * 5 / 9 + 255.37, base, rtol=1e-13
    )


@pytest.mark.slow
@pytest.mark.parametrize("effort", ["quick", "default"])
def test_a_fit_whose_units_leave_no_factor_products_goes_on(effort, rng, change_effort, run_only_stages):
    change_effort(effort, pool_formulas=2000, layer_candidates=1000)
    run_only_stages("power products", "single index", "factor products", "matched pairs")
    u, v = rng.uniform(1.0, 4.0, (2, 80))
    table = pd.DataFrame({"u (m)": u, "v (s)": v, "y (m/s)": u / v * (1 + 0.02 * rng.normal(size=80))})
    options = {"target": "y (m/s)", "units": "strict", "operators": "basic"}
    result = symscreen.fit(table, effort=effort, **options)
    assert "`u (m)`/`v (s)`" in map(str, result.formula.terms)
    assert result.r2 > 0.9
