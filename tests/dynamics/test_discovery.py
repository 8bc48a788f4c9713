import json

import numpy as np
import pytest

import symscreen
from symscreen.cli.command import run_command
from symscreen.dynamics.discovery import split_trajectories
from symscreen.dynamics.trajectories import read_trajectories
from symscreen.errors import DataError, OptionError

RESTRICTED = {"operators": ["mul"], "max_terms": 2, "effort": "quick"}

N_SAMPLES = 45  # of a run


def simulate_runs(rate, starts, times, noise, seed):
    """Return a run of x and y from each start, with a share of each state's standard deviation as noise."""
    from scipy.integrate import solve_ivp

    rng = np.random.default_rng(seed)
    columns = {"t": [], "x": [], "y": [], "run": []}
    for run, start in enumerate(starts):
        solution = solve_ivp(rate, (0, times[-1]), start, t_eval=times, rtol=1e-9, atol=1e-9)
        columns["t"] += times.tolist()
        columns["run"] += [run] * len(times)
        for name, values in zip("xy", solution.y, strict=True):
            columns[name] += (values + noise * values.std() * rng.standard_normal(len(times))).tolist()
    return {name: np.array(values) for name, values in columns.items()}


def simulate_prey(noise, seed=0):
    """Return two runs of x' = x − x·y, y' = −y + x·y with noise."""

    def rate(_, s):
        return [s[0] - s[0] * s[1], -s[1] + s[0] * s[1]]

    return simulate_runs(rate, [(0.6, 0.8), (1.5, 1.2)], np.linspace(0, 8, N_SAMPLES), noise, seed)


@pytest.fixture(scope="module")
def prey():
    return symscreen.discover_ode(
        simulate_prey(0.02), time="t", states=["x", "y"], trajectory="run", **RESTRICTED
    )


def test_a_system_is_found_from_noisy_runs_with_its_constants(prey):
    assert [{str(term) for term in each.terms} for each in prey.formulas] == [{"x", "x*y"}, {"y", "x*y"}]
    values = prey.constants.set_index(["equation", "term"])["value"]
    assert values["dx/dt", "x"] == pytest.approx(1, rel=0.03)
    assert values["dx/dt", "x*y"] == pytest.approx(-1, rel=0.03)
    assert values["dy/dt", "y"] == pytest.approx(-1, rel=0.03)
    assert values["dy/dt", "x*y"] == pytest.approx(1, rel=0.03)
    width = prey.constants["high"] - prey.constants["low"]
    errors = np.sqrt(np.diag(prey.covariance))
    assert (width / 2).tolist() == pytest.approx((1.959964 * errors).tolist(), rel=1e-6)  # 95 % of a normal


def test_the_terms_of_a_clear_system_are_stable(prey):
    shares = prey.constants["stability"]
    assert shares.between(0.8, 1.0).all()


def test_the_residuals_tell_the_size_of_the_noise(prey):
    data = simulate_prey(0.0)
    for name in "xy":
        assert prey.residuals[name] == pytest.approx(0.02 * data[name].std(), rel=0.3)


def test_the_forecast_of_held_out_samples_is_reported(prey):
    # no forecast comes closer to the samples than their noise, which is 0.02 of the standard deviation
    assert all(0.018 < error < 0.1 for error in prey.prediction_errors.values())


def test_neither_the_order_of_rows_nor_that_of_columns_matters(prey):
    data = simulate_prey(0.02)
    order = np.random.default_rng(3).permutation(len(data["t"]))
    shuffled = {name: data[name][order] for name in ("y", "run", "x", "t")}
    other = symscreen.discover_ode(shuffled, time="t", states="x,y", trajectory="run", **RESTRICTED)
    assert other.formulas == prey.formulas
    assert other.constants.equals(prey.constants)


def test_predict_gives_the_rates_and_simulate_the_states(prey):
    rates = prey.predict({"x": [1.0, 2.0], "y": [1.0, 0.5]})
    assert rates == pytest.approx(np.array([[0.0, 0.0], [1.0, 0.5]]), abs=0.06)
    states = prey.simulate(np.linspace(0, 1, 5), {"x": 0.6, "y": 0.8})
    assert list(states.columns) == ["t", "x", "y"]
    data = simulate_prey(0.0)
    assert states["x"].iloc[-1] == pytest.approx(
        np.interp(1.0, data["t"][:N_SAMPLES], data["x"][:N_SAMPLES]), rel=0.03
    )
    with pytest.raises(OptionError, match="simulate needs values of 'y'"):
        prey.simulate([0, 1], {"x": 1.0})
    with pytest.raises(DataError, match="ascending"):
        prey.simulate([1, 0], {"x": 1.0, "y": 1.0})


def test_the_pictures_show_samples_and_solution(prey):
    import matplotlib as mpl

    mpl.use("Agg")
    data = simulate_prey(0.02)
    samples, solution = prey.plot.trajectories(state="y").get_lines()[:2]
    assert np.asarray(samples.get_ydata()).tolist() == data["y"][:N_SAMPLES].tolist()
    exact = simulate_prey(0.0)["y"][:N_SAMPLES]
    assert np.asarray(solution.get_ydata()) == pytest.approx(exact, abs=0.02)
    (points, line, *_) = prey.plot.phase(states=("y", "x")).get_lines()
    assert np.asarray(points.get_xdata()).tolist() == data["y"][:N_SAMPLES].tolist()
    assert np.asarray(line.get_xdata()).tolist() == np.asarray(solution.get_ydata()).tolist()
    rest = np.concatenate([np.asarray(each.get_ydata()) for each in prey.plot.residuals().get_lines()[:2]])
    assert rest.std() == pytest.approx(prey.residuals["x"], rel=0.1)
    with pytest.raises(OptionError, match="no state 'z'"):
        prey.plot.phase(states=("x", "z"))
    with pytest.raises(OptionError, match="needs two states"):
        prey.plot.phase(states=("x",))
    with pytest.raises(OptionError, match="no measured state 'z'"):
        prey.plot.residuals(state="z")


def test_a_saved_system_predicts_the_runs(prey, tmp_path):
    prey.save_bundle(tmp_path / "law.json")
    data = simulate_prey(0.02)
    predicted = symscreen.dynamics.integrate_runs(tmp_path / "law.json", data)
    exact = simulate_prey(0.0)
    assert predicted["x"].to_numpy() == pytest.approx(exact["x"], abs=0.2)
    assert predicted["x"].to_numpy() == pytest.approx(data["x"], abs=0.25)


def test_the_system_is_written_in_other_languages(prey):
    import sympy

    x, y = sympy.symbols("x y")
    form = prey.to_sympy()["dx/dt"]
    assert sympy.diff(form, x, y) == pytest.approx(-1, rel=0.03)
    assert "\\frac{d x}{d t} = " in prey.to_latex()
    assert "def feature_2(columns)" in prey.export("numpy")
    assert "feature_2" in prey.export("c")


def test_an_angle_alone_gives_an_equation_of_second_order():
    times = np.linspace(0, 10, 100)
    angle = np.exp(-0.1 * times) * np.cos(2.0 * times)  # x'' = −0.2·x' − 4.01·x
    result = symscreen.discover_ode(
        {"t": times, "x": angle}, time="t", states="x", derivative_order=2, **RESTRICTED
    )
    (formula,) = result.formulas
    assert formula.target == "d2x/dt2"
    terms = {str(term): value for term, value in zip(formula.terms, formula.coefficients, strict=True)}
    assert terms == pytest.approx({"x": -4.01, "dx_dt": -0.2}, rel=0.02)


def test_an_input_that_acts_from_outside_takes_part():
    times = np.linspace(0, 10, 120)
    drive = np.sin(times)
    state = 0.5 * (np.sin(times) - np.cos(times)) + 1.5 * np.exp(-times)  # x' = −x + u
    result = symscreen.discover_ode(
        {"t": times, "x": state, "u": drive}, time="t", states="x", inputs="u", **RESTRICTED
    )
    (formula,) = result.formulas
    terms = {str(term): value for term, value in zip(formula.terms, formula.coefficients, strict=True)}
    assert terms == pytest.approx({"x": -1.0, "u": 1.0}, rel=0.02)


@pytest.mark.slow
def test_a_saturation_is_found_with_its_constant_from_noisy_runs():
    def rate(_, s):
        eaten = s[0] * s[1] / (1 + s[0])
        return [s[0] - 0.2 * s[0] ** 2 - eaten, eaten - 0.5 * s[1]]

    columns = simulate_runs(rate, [(0.5, 1.0), (3.0, 0.4)], np.linspace(0, 12, 50), 0.01, seed=1)
    result = symscreen.discover_ode(
        columns, time="t", states="x,y", trajectory="run", operators="mul,div", max_terms=3, effort="quick"
    )
    rates = result.predict({"x": [0.5, 1.0, 2.0, 3.0], "y": [1.0, 0.5, 1.5, 0.5]})
    x, y = np.array([0.5, 1.0, 2.0, 3.0]), np.array([1.0, 0.5, 1.5, 0.5])
    eaten = x * y / (1 + x)
    assert rates[:, 0] == pytest.approx(x - 0.2 * x**2 - eaten, abs=0.03)
    assert rates[:, 1] == pytest.approx(eaten - 0.5 * y, abs=0.03)
    assert [len(each.terms) for each in result.system.equations] == [3, 2]


def test_the_ends_of_runs_are_held_out_where_they_are_long_enough():
    table = {"t": np.arange(50.0), "x": np.sin(np.arange(50.0))}
    trajectories = read_trajectories(table, time="t", states=["x"])
    kept, held_out = split_trajectories(trajectories, 0.2)
    assert [len(run.times) for run in (*kept.runs, *held_out.runs)] == [40, 10]
    assert split_trajectories(trajectories, 0.0) == (trajectories, None)
    assert split_trajectories(trajectories, 0.1)[1] is None


def test_the_command_prints_one_line_a_state_first(tmp_path, capsys):
    import pandas as pd

    path, out, bundle, page = (
        tmp_path / name for name in ("runs.csv", "system.json", "law.json", "law.html")
    )
    table = pd.DataFrame(simulate_prey(0.0))
    table.to_csv(path, index=False)
    arguments = ["ode", str(path), "--states", "x,y", "--trajectory", "run", "--operators", "mul"]
    arguments += ["--max-terms", "2", "--effort", "quick", "--out", str(out), "--bundle", str(bundle)]
    arguments += ["--report", str(page)]
    assert run_command(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("dx/dt = ")
    assert lines[1].startswith("dy/dt = ")
    record = json.loads(out.read_text())
    assert set(record["equations"]) == {"dx/dt", "dy/dt"}
    assert record["options"]["states"] == ["x", "y"]
    # each state: trajectories, computed values, residuals, its rate on two columns; then phases and systems
    assert page.read_text().count("<svg") == 2 * (3 + 2) + 2
    assert run_command(["apply", str(bundle), str(path)]) == 0
    predicted = np.genfromtxt(capsys.readouterr().out.splitlines(), delimiter=",", names=True)
    assert predicted["x"] == pytest.approx(table["x"].to_numpy(), abs=1e-3)
    assert predicted["y"] == pytest.approx(table["y"].to_numpy(), abs=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "states= is missing"),
        ({"states": "x", "derivative_order": 3}, "derivative_order is 3; give 1 or 2"),
        ({"states": "x", "time": "x"}, "has two roles"),
        ({"states": "z"}, "'z'"),
        ({"states": "x", "unary": "lag1"}, "lag1 has no place in a differential equation"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, message):
    table = {"t": np.arange(20.0), "x": np.arange(20.0)}
    with pytest.raises(symscreen.SymscreenError, match=message):
        symscreen.discover_ode(table, **options)
