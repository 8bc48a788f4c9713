"""Tests of saved equations that are integrated on new runs, against solutions in closed form."""

import numpy as np
import pandas as pd
import pytest

from symscreen.cli.command import run_command
from symscreen.dynamics import integrate_runs
from symscreen.errors import DataError, FormulaError, OptionError
from symscreen.export import apply_bundle, export_formulas, load_bundle, save_bundle
from symscreen.expressions.linear_formula import Formula, SharedFormula
from symscreen.expressions.system_formula import SystemFormula
from symscreen.expressions.tree import parse_expression


def make_system(equations, states, **details):
    """Make a system from the coefficients of texts of terms, by left side."""
    texts = sorted({text for terms in equations.values() for text in terms})
    coefficients = tuple(tuple(terms.get(text, 0.0) for text in texts) for terms in equations.values())
    rates = SharedFormula(
        tuple(equations), (0.0,) * len(equations), coefficients, tuple(map(parse_expression, texts))
    )
    return SystemFormula(rates, "t", states, **details)


DECAY = make_system({"dx/dt": {"x": -0.5, "u": 1.0}}, ("x",), trajectory="run")
SPRING = make_system({"d2x/dt2": {"x": -4.0}}, ("x",), order=2)


def test_each_run_is_integrated_from_its_first_row_in_any_order_of_rows():
    times = np.linspace(0, 4, 9)
    table = pd.DataFrame(
        {
            "t": np.concatenate((times, times + 1)),
            "x": [2.0, *[np.nan] * 8, 6.0, *[np.nan] * 8],
            "u": 1.5,  # so x tends to 3
            "run": ["a"] * 9 + ["b"] * 9,
        }
    )
    expected = np.concatenate([3 + (start - 3) * np.exp(-0.5 * times) for start in (2, 6)])
    order = np.random.default_rng(0).permutation(18)
    found = integrate_runs(DECAY, table.iloc[order])
    assert found.columns.tolist() == ["x"]
    assert found.index.tolist() == order.tolist()
    assert found["x"].to_numpy() == pytest.approx(expected[order], rel=1e-6)


@pytest.mark.parametrize("has_velocity", [True, False])
def test_an_equation_of_second_order_starts_from_a_measured_or_an_estimated_velocity(has_velocity):
    times = np.linspace(0, 3, 61)
    table = {"t": times, "x": np.sin(2 * times)}
    if has_velocity:
        table |= {"dx_dt": np.full(61, 2.0)}
    tolerance = 1e-6 if has_velocity else 0.02
    assert integrate_runs(SPRING, table)["x"].to_numpy() == pytest.approx(np.sin(2 * times), abs=tolerance)


def test_a_bundle_of_equations_is_read_back_applied_and_exported(tmp_path, capsys):
    path, rows = tmp_path / "law.json", tmp_path / "new.csv"
    save_bundle(DECAY, path, record={"seed": 1})
    assert load_bundle(path) == DECAY
    pd.DataFrame({"t": [0.0, 1.0], "x": [2.0, None], "u": [0.0, 0.0], "run": "a"}).to_csv(rows, index=False)
    assert run_command(["apply", str(path), str(rows)]) == 0
    assert [float(line) for line in capsys.readouterr().out.splitlines()[1:]] == pytest.approx(
        [2.0, 2.0 * np.exp(-0.5)]
    )
    assert run_command(["export", str(path), "--to", "numpy"]) == 0
    assert capsys.readouterr().out == export_formulas(DECAY, "numpy")
    with pytest.raises(OptionError, match="integrate_runs"):
        apply_bundle(path, rows)
    assert run_command(["apply", str(path), str(rows), "--clip"]) == 2


def test_what_is_changed_in_a_bundle_of_equations_is_refused(tmp_path):
    path = tmp_path / "law.json"
    save_bundle(DECAY, path)
    text = path.read_text()
    for old, new in (('"time": "t"', '"time": "x"'), ('"order": 1', '"order": 3'), ('"t"', '"s"')):
        path.write_text(text.replace(old, new))
        with pytest.raises(FormulaError):
            load_bundle(path)


def test_a_solution_that_grows_without_limit_ends_in_missing_values():
    system = make_system({"dx/dt": {"x**2": 1.0}}, ("x",))
    with pytest.warns(UserWarning, match="grows without limit"):
        found = integrate_runs(system, {"t": [0.0, 0.5, 2.0], "x": [1.0, 0.0, 0.0]})
    assert found["x"].to_numpy()[:2] == pytest.approx([1.0, 2.0])
    assert np.isnan(found["x"].iloc[2])


@pytest.mark.parametrize(
    ("system", "change", "message"),
    [
        (DECAY, {"x": [np.nan, 1.0, 1.0]}, "'x' has no value in the first row of the run"),
        (DECAY, {"u": [1.0, np.nan, 1.0]}, "missing or infinite"),
        (DECAY, {"t": [0.0, 0.0, 1.0]}, "twice"),
        (SPRING, {}, "'dx_dt' has no value .* or the states in 8 rows"),
    ],
)
def test_rows_from_which_nothing_can_be_integrated_are_refused(system, change, message):
    table = {"t": [0.0, 1.0, 2.0], "x": [1.0, 1.0, 1.0], "u": [0.0] * 3, "run": ["a"] * 3, **change}
    with pytest.raises(DataError, match=message):
        integrate_runs(system, table)


def test_a_bundle_without_equations_is_not_integrated(tmp_path):
    save_bundle(Formula("y", 1.0, (), ()), tmp_path / "model.json")
    with pytest.raises(OptionError, match="no differential equations"):
        integrate_runs(tmp_path / "model.json", {"t": [0.0]})


@pytest.mark.parametrize(
    ("details", "message"),
    [
        ({"order": 3}, "order 3"),
        ({"trajectory": "t"}, "different names"),
        ({"states": ("x", "y")}, "one for"),
    ],
)
def test_equations_that_mean_nothing_are_refused(details, message):
    with pytest.raises(FormulaError, match=message):
        SystemFormula(**{"rates": DECAY.rates, "time": "t", "states": ("x",), **details})
