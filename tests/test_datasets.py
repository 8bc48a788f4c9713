from __future__ import annotations

import ast
import importlib.util
import math
import operator
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.requirements import require

from symscreen.datasets import BenchmarkDataset, list_strogatz_names, load_strogatz, make_additive
from symscreen.errors import OptionError

CHECKOUT = Path(__file__).resolve().parents[1]
SHIPPED = CHECKOUT / "data" / "strogatz"

RATES = {
    "bacres1": lambda x, y: 20 - x - x * y / (1 + 0.5 * x**2),
    "bacres2": lambda x, y: 10 - x * y / (1 + 0.5 * x**2),
    "barmag1": lambda x, y: 0.5 * np.sin(x - y) - np.sin(x),
    "barmag2": lambda x, y: 0.5 * np.sin(y - x) - np.sin(y),
    "glider1": lambda x, y: -0.05 * x**2 - np.sin(y),
    "glider2": lambda x, y: x - np.cos(y) / x,
    "lv1": lambda x, y: 3 * x - 2 * x * y - x**2,
    "lv2": lambda x, y: 2 * y - x * y - y**2,
    "predprey1": lambda x, y: x * (4 - x - y / (1 + x)),
    "predprey2": lambda x, y: y * (x / (1 + x) - 0.075 * y),
    "shearflow1": lambda x, y: np.cos(x) * np.cos(y) / np.sin(y),
    "shearflow2": lambda x, y: (np.cos(y) ** 2 + 0.1 * np.sin(y) ** 2) * np.sin(x),
    "vdp1": lambda x, y: 10 * (y - (x**3 - x) / 3),
    "vdp2": lambda x, _: -x / 10,
}
SYSTEMS = sorted({name[:-1] for name in RATES})

BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
CALLS = {"sin": np.sin, "cos": np.cos, "tan": np.tan}


def value(node, columns):
    """Evaluate a formula's syntax tree: the notation read without symscreen's own parser."""
    match node:
        case ast.Constant(value=number):
            return number
        case ast.Name(id=name):
            return columns[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -value(inner, columns)
        case ast.BinOp(left=left, op=op, right=right):
            return BINARY[type(op)](value(left, columns), value(right, columns))
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]):
            return CALLS[name](value(inner, columns))
    raise AssertionError(f"outside the notation: {ast.dump(node)}")


def truth_values(dataset: BenchmarkDataset):
    columns = {name: dataset.frame[name].to_numpy() for name in dataset.frame if name != dataset.target}
    return value(ast.parse(dataset.truth, mode="eval").body, columns)


def columns_of(name):
    return load_strogatz(name).frame.to_numpy().T


@pytest.fixture
def make(monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # data/ is packed into the wheel as it stands
    spec = importlib.util.spec_from_file_location("make_strogatz", SHIPPED / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_names_are_the_fourteen_in_a_fixed_order():
    assert list_strogatz_names() == tuple(RATES)


@pytest.mark.parametrize("name", list_strogatz_names())
def test_table_has_its_columns_and_rows(name):
    dataset = load_strogatz(name)
    assert (dataset.name, dataset.target) == (name, "target")
    assert list(dataset.frame) == ["x1", "x2", "target"]
    assert dataset.frame.shape == (400, 3)
    assert (dataset.frame.dtypes == np.float64).all()
    assert np.isfinite(dataset.frame.to_numpy()).all()


@pytest.mark.parametrize("name", list_strogatz_names())
def test_table_agrees_with_the_benchmark(name):
    published = require("ode-strogatz")
    label, x, y = np.loadtxt(published / f"d_{name}.txt", delimiter=",", skiprows=1).T
    deviation = np.abs(load_strogatz(name).frame.to_numpy() - np.column_stack([x, y, label]))
    assert deviation.max() <= 1e-9


@pytest.mark.slow
def test_script_makes_the_shipped_bytes(make, tmp_path):
    written = make.write_all(tmp_path)
    assert sorted(path.name for path in written) == sorted(path.name for path in SHIPPED.glob("*.csv"))
    assert {path.stem for path in written} == set(list_strogatz_names())
    for path in written:
        assert path.read_bytes() == (SHIPPED / path.name).read_bytes(), path.name


def test_script_s_sine_and_cosine_are_right_to_the_last_digit_but_one(make):
    for angle in [0.0, -1e-9, *np.random.default_rng(1).uniform(-15, 15, size=500).tolist()]:
        assert make.sin(angle) == pytest.approx(math.sin(angle), rel=3e-16, abs=0)
        assert make.cos(angle) == pytest.approx(math.cos(angle), rel=3e-16, abs=0)


@pytest.mark.parametrize("name", list_strogatz_names())
def test_reading_loses_no_bit(name):
    lines = (SHIPPED / f"{name}.csv").read_bytes().decode("ascii").split("\n")
    assert lines[0] == "x1,x2,target"
    assert lines[-1] == ""
    assert [",".join(map(repr, row)) for row in load_strogatz(name).frame.to_numpy().tolist()] == lines[1:-1]


@pytest.mark.parametrize("name", list_strogatz_names())
def test_target_is_the_rate_at_the_state(name):
    x, y, target = columns_of(name)
    np.testing.assert_allclose(RATES[name](x, y), target, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", list_strogatz_names())
def test_truth_is_the_formula_of_the_target(name):
    dataset = load_strogatz(name)
    np.testing.assert_allclose(truth_values(dataset), dataset.frame["target"], rtol=0, atol=1e-9)


@pytest.mark.parametrize("system", SYSTEMS)
def test_each_state_follows_from_the_one_before_by_the_coarse_rule(system):
    x, y, f = (column.reshape(4, 100) for column in columns_of(f"{system}1"))
    g = RATES[f"{system}2"]
    h = 0.1
    k1 = g(x, y)
    k2 = g(x + h * f / 2, y + h * k1 / 2)
    k3 = g(x + 3 * h * f / 4, y + 3 * h * k2 / 4)
    following_x, following_y = x + h * f, y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
    np.testing.assert_allclose(x[:, 1:], following_x[:, :-1], rtol=0, atol=1e-12)
    np.testing.assert_allclose(y[:, 1:], following_y[:, :-1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("system", SYSTEMS)
def test_both_tables_of_a_system_hold_the_same_states(system):
    first, second = load_strogatz(f"{system}1").frame, load_strogatz(f"{system}2").frame
    assert first[["x1", "x2"]].equals(second[["x1", "x2"]])


def test_a_table_that_is_changed_does_not_change_the_next():
    frame = load_strogatz("lv1").frame
    frame.loc[0, "x1"] = 99.0
    assert load_strogatz("lv1").frame.loc[0, "x1"] == 1.0


def test_unknown_table_is_refused_with_the_nearest():
    with pytest.raises(OptionError) as near:
        load_strogatz("glidr2")
    assert str(near.value).startswith("no ODE-Strogatz table is called 'glidr2'; did you mean 'glider2'")
    with pytest.raises(OptionError) as system:
        load_strogatz("vdp")
    assert "'vdp1'" in str(system.value)
    assert "'vdp2'" in str(system.value)
    with pytest.raises(OptionError) as far:
        load_strogatz("???")
    assert str(far.value).startswith("no ODE-Strogatz table is called '???'; known: bacres1, bacres2")


@pytest.mark.parametrize("name", ["../strogatz/lv1", "lv1.csv", "", "LV1"])
def test_only_a_listed_name_reaches_a_file(name):
    with pytest.raises(OptionError) as caught:
        load_strogatz(name)
    assert f"is called {name!r}" in str(caught.value)


def test_additive_columns_and_name():
    dataset = make_additive()
    assert (dataset.name, dataset.target) == ("additive", "target")
    assert list(dataset.frame) == ["x1", "x2", "x3", "target"]
    assert dataset.frame.shape == (100, 4)
    assert (dataset.frame.dtypes == np.float64).all()
    assert dataset.truth == "2*x1**3 + 5*x3 + 10"


@pytest.mark.parametrize("n", [1, 2, 500])
def test_additive_without_noise_is_its_truth(n):
    dataset = make_additive(n=n, noise_variance=0.0, seed=3)
    np.testing.assert_allclose(truth_values(dataset), dataset.frame["target"], rtol=1e-15)


def test_additive_inputs_are_uniform_and_independent():
    n = 200_000
    inputs = make_additive(n=n, seed=11).frame[["x1", "x2", "x3"]].to_numpy()
    assert inputs.min() >= 0
    assert inputs.max() < 1
    five_sigma = 5 / math.sqrt(n)
    for power in (1, 2, 3):
        spread = math.sqrt(1 / (2 * power + 1) - 1 / (power + 1) ** 2)
        assert np.abs((inputs**power).mean(axis=0) - 1 / (power + 1)).max() < five_sigma * spread
    assert np.abs(np.corrcoef(inputs.T) - np.eye(3)).max() < five_sigma


@pytest.mark.parametrize("variance", [0.01, 0.1, 4.0])
def test_additive_noise_is_normal_of_the_variance_asked_for(variance):
    n = 200_000
    dataset = make_additive(n=n, noise_variance=variance, seed=12)
    noise = (dataset.frame["target"].to_numpy() - truth_values(dataset)) / math.sqrt(variance)
    five_sigma = 5 / math.sqrt(n)
    # E z^k of a standard normal, and the standard deviation of z^k
    for power, moment, spread in [
        (1, 0, 1),
        (2, 1, math.sqrt(2)),
        (3, 0, math.sqrt(15)),
        (4, 3, math.sqrt(96)),
    ]:
        assert abs((noise**power).mean() - moment) < five_sigma * spread
    for name in ("x1", "x2", "x3"):
        assert abs(np.corrcoef(dataset.frame[name], noise)[0, 1]) < five_sigma


def test_additive_of_another_variance_has_the_same_inputs_and_scaled_noise():
    tables = {
        variance: make_additive(n=50, noise_variance=variance, seed=5) for variance in (0.0, 0.01, 0.04)
    }
    inputs = ["x1", "x2", "x3"]
    quiet = tables[0.0].frame
    assert all(table.frame[inputs].equals(quiet[inputs]) for table in tables.values())
    noise = tables[0.01].frame["target"] - quiet["target"]
    louder = tables[0.04].frame["target"] - quiet["target"]
    assert (noise != 0).all()
    np.testing.assert_allclose(louder, 2 * noise, rtol=0, atol=1e-13)


def test_additive_depends_on_its_seed_alone():
    assert make_additive(seed=7).frame.equals(make_additive(seed=7).frame)
    np.random.default_rng().random()
    assert make_additive(seed=7).frame.equals(make_additive(seed=7).frame)
    assert not make_additive(seed=7).frame.equals(make_additive(seed=8).frame)


@pytest.mark.parametrize("n", [0, -4])
def test_additive_refuses_a_table_without_rows(n):
    with pytest.raises(OptionError) as caught:
        make_additive(n=n)
    assert str(caught.value) == f"n is {n}, but a table has rows: give 1 or more"


@pytest.mark.parametrize("variance", [-0.01, math.nan, math.inf, -math.inf])
def test_additive_refuses_what_is_no_variance(variance):
    with pytest.raises(OptionError) as caught:
        make_additive(noise_variance=variance)
    assert str(caught.value) == (
        f"noise_variance is {variance}, but a variance is finite and not negative: give 0 or more"
    )


def test_additive_refuses_a_negative_seed():
    with pytest.raises(OptionError) as caught:
        make_additive(seed=-1)
    assert str(caught.value) == "seed is -1, but numpy's seeds are not negative: give 0 or more"
