"""Tests of the parts of a search for differential equations, each against what is known of it."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from symscreen.dynamics.choice import SystemChoice, lengthen_segments, refine_steps
from symscreen.dynamics.equations import Equation, System
from symscreen.dynamics.linearization import build_linearized_problem
from symscreen.dynamics.programs import write_program
from symscreen.dynamics.proposals import propose_shared_terms
from symscreen.dynamics.shooting import Shooting, build_segments, compute_fitted_states, fit_by_shooting
from symscreen.dynamics.smoothing import compute_spreads, estimate_noise, smooth_trajectories
from symscreen.dynamics.term_library import build_term_library, list_basic_terms
from symscreen.dynamics.term_search import search_sums
from symscreen.dynamics.term_stability import compute_stability, count_wins
from symscreen.dynamics.trajectories import read_trajectories
from symscreen.dynamics.weak_form import (
    RegressionProblem,
    build_derivative_problem,
    build_test_functions,
    build_weak_form,
)
from symscreen.errors import DataError, OptionError
from symscreen.expressions.tree import Call, Column, Constant, parse_expression
from symscreen.grammar import OPERATORS, load_grammar


def read_decay(noise=0.0, n=80, rate=0.7):
    times = np.sort(np.random.default_rng(1).uniform(0, 4, n))
    values = np.exp(-rate * times) + noise * np.random.default_rng(2).standard_normal(n)
    return read_trajectories({"t": times, "x": values}, time="t", states=["x"])


def test_rows_of_runs_are_sorted_by_time_and_runs_by_their_labels():
    table = {"t": [2.0, 0.0, 1.0] * 8, "x": np.arange(24.0), "run": ["b", "a", "b"] * 8}
    table["t"] = np.arange(24.0)[::-1]
    trajectories = read_trajectories(table, time="t", states=["x"], trajectory="run")
    assert [run.name for run in trajectories.runs] == ["a", "b"]
    assert all((np.diff(run.times) > 0).all() for run in trajectories.runs)
    assert trajectories.runs[0].states.tolist() == [np.arange(1.0, 24.0, 3.0)[::-1].tolist()]


@pytest.mark.parametrize("labels", [[1.0, np.nan] * 12, ["a", None] * 12])
def test_rows_without_the_label_of_a_run_are_refused(labels):
    table = {"t": np.arange(24.0), "x": np.arange(24.0) ** 2, "run": labels}
    with pytest.raises(DataError, match=r"'run' .* is missing in rows 2, 4, .* fill these labels in"):
        read_trajectories(table, time="t", states=["x"], trajectory="run")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t": np.zeros(12)}, "twice"),
        ({"x": [np.nan, *range(11)]}, "missing or infinite"),
        ({"x": ["a"] * 12}, "give numbers"),
        ({"x": np.ones(12)}, "never changes"),
    ],
)
def test_trajectories_that_cannot_be_used_are_refused(change, message):
    table = {"t": np.arange(12.0), "x": np.arange(12.0), **change}
    with pytest.raises(DataError, match=message):
        read_trajectories(table, time="t", states=["x"])


def test_a_short_run_is_refused():
    with pytest.raises(DataError, match="at least 8"):
        read_trajectories({"t": np.arange(5.0), "x": np.arange(5.0)}, time="t", states=["x"])


def test_the_noise_of_smooth_runs_is_estimated():
    assert estimate_noise(read_decay(noise=0.01, n=400))[0] == pytest.approx(0.01, rel=0.15)


def test_test_functions_vanish_at_the_ends_and_are_bumps():
    tests = build_test_functions(np.linspace(0, 1, 12))
    assert (tests >= 0).all()
    assert tests.max(axis=1) == pytest.approx(np.full(len(tests), tests.max()))
    assert (np.count_nonzero(tests, axis=1) == 6).all()


@pytest.mark.parametrize("build", [build_weak_form, build_derivative_problem])
def test_the_rows_of_the_right_term_are_the_left_side(build):
    trajectories = read_decay()
    problem = build(trajectories, smooth_trajectories(trajectories))
    rows = problem.project("x", problem.columns["x"][None])[0]
    target = problem.targets["x"]
    assert rows @ target / (rows @ rows) == pytest.approx(-0.7, rel=0.01)
    assert np.linalg.norm(target + 0.7 * rows) < 0.03 * np.linalg.norm(target)


def test_measured_derivatives_take_the_place_of_smooth_ones():
    times = np.linspace(0, 4, 60)
    noise = 0.01 * np.random.default_rng(3).standard_normal(60)
    table = {"t": times, "x": np.exp(-0.7 * times), "speed": -0.7 * np.exp(-0.7 * times) + noise}
    trajectories = read_trajectories(table, time="t", states=["x"], derivatives=["speed"])
    problem = build_derivative_problem(trajectories, smooth_trajectories(trajectories))
    assert problem.name == "measured derivatives"
    rest = problem.targets["x"] + 0.7 * problem.project("x", problem.columns["x"][None])[0]
    assert rest.std() == pytest.approx(1.0, rel=0.3)  # in units of their noise, which is estimated
    assert rest == pytest.approx(noise * (rest[0] / noise[0]), abs=0.05)


def test_derivatives_of_some_states_only_are_refused():
    table = {"t": np.arange(12.0), "x": np.arange(12.0), "y": np.arange(12.0), "v": np.ones(12)}
    with pytest.raises(OptionError, match="has 1 columns for 2 states"):
        read_trajectories(table, time="t", states=["x", "y"], derivatives=["v"])


def test_wins_on_half_samples_are_those_of_the_better_term():
    rng = np.random.default_rng(8)
    columns = {"x": rng.normal(size=40), "y": rng.normal(size=40)}
    target = 2 * columns["x"] + 0.5 * rng.normal(size=40)
    problem = RegressionProblem("rows", columns, {"x": (np.eye(40),)}, {"x": target})
    equations = [Equation("x", (Column(name),), (1.0,), (0.0,)) for name in "yx"]
    assert count_wins(problem, equations) == [0, 50]
    assert count_wins(problem, [equations[1], equations[1]]) == [50, 0]  # the first wins a tie
    both = compute_stability(problem, {"x": [(0.0, equations[1])]}, System((equations[0],), ("x",)))
    assert both == ((0.0,),)


def test_the_beam_finds_the_best_pair_of_all():
    rng = np.random.default_rng(5)
    rows, target = rng.normal(size=(12, 30)), rng.normal(size=30)
    costs, complexities = np.zeros(12), np.ones(12, dtype=np.int64)

    def compute_share(members):
        chosen = rows[list(members)].T
        residual = target - chosen @ np.linalg.lstsq(chosen, target, rcond=None)[0]
        return residual @ residual / (target @ target)

    best = min(combinations(range(12), 2), key=compute_share)
    found = [each for each in search_sums(rows, target, costs, complexities, 2) if len(each.members) == 2]
    assert found[0].members == best
    assert found[0].share == pytest.approx(compute_share(best))


def test_sums_of_basic_terms_are_extended_whatever_the_beam_holds():
    rng = np.random.default_rng(6)
    basic = rng.normal(size=(3, 60))
    target = basic.sum(axis=0)
    # each of the other terms is nearer to the target than any pair of basic terms
    others = target + 0.3 * rng.normal(size=(300, 60))
    rows = np.concatenate((basic, others))
    found = search_sums(rows, target, np.zeros(303), np.ones(303, dtype=np.int64), 3, [0, 1, 2])
    assert found[0].members == (0, 1, 2)
    assert found[0].share < 1e-12


def test_terms_are_no_sums_and_no_multiples_of_each_other():
    columns = {name: np.random.default_rng(0).uniform(1, 2, 100) for name in "xy"}
    columns["y"] = columns["y"][::-1] ** 2
    library = build_term_library(columns, load_grammar("dynamics"), 300)
    texts = list(map(str, library.expressions))
    assert texts[0] == "1"
    assert {"x", "y", "x*y", "x/y", "sin(x)"} <= set(texts)
    assert not {"x + y", "x - y", "x + x", "(x + y)**2", "x*(x - y)", "(x + y)/x"} & set(texts)
    assert "sin(x - y)" in texts  # this does not expand
    basic = [texts[place] for place in list_basic_terms(library)]
    assert basic[:3] == ["1", "x", "y"]
    assert {"x*y", "x**2", "sin(x)", "x*y**2"} <= set(basic)
    assert not {"x/y", "exp(x)", "sin(x*y)"} & set(basic)
    assert any("/(" in text and text.startswith("x*y") for text in texts)
    unit = library.values / np.linalg.norm(library.values, axis=1, keepdims=True)
    cosines = np.abs(unit @ unit.T) - np.eye(len(unit))
    assert cosines.max() < 1.0 - 1e-15


def make_equation(*terms, coefficients):
    return Equation("x", tuple(terms), coefficients, (0.0,) * len(terms))


def test_an_equation_is_evaluated_with_its_constants_for_any_shape():
    term = parse_expression("x/y")
    inner = type(term)(term.operator, (Column("x"), Constant(2.0, fitted=True)))
    equation = make_equation(Constant(1), inner, coefficients=(3.0, 4.0))
    assert equation.constants.tolist() == [3.0, 4.0, 2.0]
    values = equation.compile()({"x": np.ones((2, 3))}, [1.0, 10.0, 5.0])
    assert values == pytest.approx(np.full((2, 3), 3.0))
    other = equation.replace_constants([1.0, 2.0, 8.0])
    assert other.constants.tolist() == [1.0, 2.0, 8.0]
    assert other.build_formula("dx/dt").intercept == 1.0


def test_an_equation_without_a_term_has_neither_its_coefficient_nor_its_cost():
    equation = Equation("x", (Column("x"), Column("y")), (3.0, 4.0), (1.0, 2.0))
    dropped = equation.drop_term(0)
    assert (dropped.terms, dropped.coefficients, dropped.search_cost) == ((Column("y"),), (4.0,), 2.0)


def make_saturation(constant):
    quotient, total = parse_expression("x/y"), parse_expression("x + y")
    denominator = Call(total.operator, (Constant(constant, fitted=True), Column("x")))
    return Call(quotient.operator, (Column("y"), denominator))


def test_a_term_that_two_equations_have_is_searched_once():
    first = Equation("x", (Column("x"), make_saturation(2.0)), (1.0, 1.0), (1.0, 7.0))
    second = Equation("y", (make_saturation(3.0), Column("y")), (1.0, 1.0), (8.0, 1.5))
    expected = 1.0 + 8.0 + np.log(3) + 1.5  # three forms of terms
    assert System((first, second), ("x", "y")).search_cost == pytest.approx(expected)
    assert System((first,), ("x",)).search_cost == pytest.approx(8.0)


def test_a_term_of_another_equation_gets_its_own_coefficient():
    trajectories = read_decay()
    problem = build_weak_form(trajectories, smooth_trajectories(trajectories))  # x' = −0.7·x
    equation = Equation("x", (parse_expression("x**3"),), (5.0,), (3.0,))
    giver = Equation("y", (parse_expression("x**3"), Column("x")), (1.0, 1.0), (3.0, 1.0))
    ((_, found),) = propose_shared_terms(problem, equation, giver)
    assert found.terms == (Column("x"),)
    assert found.coefficients == pytest.approx([-0.7], rel=0.01)
    assert found.search_costs == (1.0,)


@pytest.fixture(scope="module")
def logistic():
    times = np.linspace(0, 8, 60)
    exact = 4.0 / (1.0 + 7.0 * np.exp(-times))  # x' = x − x²/4
    noisy = exact + 0.02 * np.random.default_rng(4).standard_normal(60)
    return read_trajectories({"t": times, "x": noisy}, time="t", states=["x"])


@pytest.mark.parametrize("length", [12, 60])
def test_shooting_fits_the_constants_and_their_errors(logistic, length):
    smooth = smooth_trajectories(logistic)
    noise, spreads = estimate_noise(logistic), compute_spreads(smooth)
    segments = build_segments(logistic, smooth, noise, spreads, length=length, n_parts=2)
    terms = (parse_expression("x"), parse_expression("x**2"))
    start = System((make_equation(*terms, coefficients=(0.8, -0.15)),), ("x",))
    fit = fit_by_shooting(start, segments, 60)
    errors = np.sqrt(np.diag(fit.covariance))
    assert (np.abs(fit.system.constants - [1.0, -0.25]) < 4.0 * errors).all()
    assert (errors < 0.1).all()
    assert np.sqrt(fit.squares[0]) == pytest.approx(0.02, rel=0.35)
    fixed = fit_by_shooting(fit.system, segments, 60, has_free_constants=False)
    assert fixed.system.constants.tolist() == fit.system.constants.tolist()
    assert fixed.squares == pytest.approx(fit.squares, rel=1e-3)


def test_the_integration_of_segments_converges_with_its_steps(logistic):
    smooth = smooth_trajectories(logistic)
    noise, spreads = estimate_noise(logistic), compute_spreads(smooth)
    system = System(
        (make_equation(parse_expression("x"), parse_expression("x**2"), coefficients=(1.0, -0.25)),), ("x",)
    )
    segments = build_segments(logistic, smooth, noise, spreads, length=60, n_parts=8)
    start = np.array([[[0.5]]])
    states = Shooting(segments, system).integrate(start, system.constants[:, None])[0, 0, :, 0]
    assert states == pytest.approx(4.0 / (1.0 + 7.0 * np.exp(-np.linspace(0, 8, 60))), rel=1e-7)


def test_the_kernel_and_numpy_integrate_alike():
    times = np.linspace(0, 4, 30)
    table = {"t": times, "x": np.sin(times) + 2, "y": np.cos(times) + 2, "u": np.sin(3 * times)}
    trajectories = read_trajectories(table, time="t", states=["x", "y"], inputs=["u"])
    smooth = smooth_trajectories(trajectories)
    segments = build_segments(trajectories, smooth, np.ones(2), np.ones(2), length=15, n_parts=2)
    saturation = parse_expression("x/y")
    saturation = type(saturation)(saturation.operator, (Column("x"), Constant(3.0, fitted=True)))
    texts = ["sin(x*y)/(1 + x**2)", "exp(-y)", "log(x) + u", "abs(y)**1.5", "tanh(x) - cbrt(y)", "max(x, u)"]
    terms = [*map(parse_expression, texts), saturation]
    first = make_equation(*terms, coefficients=(0.1, 0.2, 0.3, -0.1, 0.2, -0.1, 0.1))
    second = replace(make_equation(Constant(1), terms[-1], coefficients=(0.3, -0.2)), state="y")
    shooting = Shooting(segments, System((first, second), ("x", "y")))
    starts = segments.starts[:, :, None] * np.linspace(0.9, 1.0, 3)
    constants = shooting.system.constants[:, None] * np.linspace(1.0, 1.1, 3)
    assert shooting.program is not None
    assert shooting.integrate(starts, constants) == pytest.approx(
        shooting._integrate_slowly(starts, constants), rel=1e-12
    )


def test_an_operator_of_the_user_is_integrated_by_numpy():
    sine = OPERATORS["sin"]
    other = replace(sine, numeric=lambda x: 2.0 * np.sin(x))
    equation = make_equation(Call(other, (Column("x"),)), coefficients=(1.0,))
    assert write_program(System((equation,), ("x",)), ["x"]) is None


def test_linearised_samples_give_the_true_constants_from_a_wrong_system():
    times = np.linspace(0, 6, 50)
    trajectories = read_trajectories(
        {"t": times, "x": 4.0 / (1.0 + 7.0 * np.exp(-times))}, time="t", states=["x"]
    )  # x' = x − x²/4
    smooth = smooth_trajectories(trajectories)
    noise, spreads = estimate_noise(trajectories), compute_spreads(smooth)
    segments = build_segments(trajectories, smooth, noise, spreads, length=25, n_parts=4)
    terms = (parse_expression("x"), parse_expression("x**2"))
    wrong = System((make_equation(*terms, coefficients=(1.02, -0.26)),), ("x",))
    fit = fit_by_shooting(wrong, segments, 50, max_steps=0)
    problem = build_linearized_problem(trajectories, fit, noise, spreads, 4)
    values = problem.columns["x"]
    rows = problem.project("x", np.array([values, values**2]))
    found = np.linalg.lstsq(rows.T, problem.targets["x"], rcond=None)[0]
    assert found == pytest.approx([1.0, -0.25], rel=2e-3)
    assert len(problem.targets["x"]) == 48  # a start state of each segment is eliminated


def test_long_segments_give_the_constants_of_a_chaotic_system():
    from scipy.integrate import solve_ivp

    def rate(_, s):
        return [10 * (s[1] - s[0]), 28 * s[0] - s[1] - s[0] * s[2], s[0] * s[1] - 8 / 3 * s[2]]

    times = np.linspace(0, 6, 400)
    states = solve_ivp(rate, (0, 6), [-8, 7, 27], t_eval=times, rtol=1e-9, atol=1e-9).y
    states += 0.01 * states.std(axis=1, keepdims=True) * np.random.default_rng(0).standard_normal((3, 400))
    trajectories = read_trajectories(
        {"t": times, **dict(zip("xyz", states, strict=True))}, time="t", states="xyz"
    )
    truth = {"x": {"x": -10, "y": 10}, "y": {"x": 28, "y": -1, "x*z": -1}, "z": {"z": -8 / 3, "x*y": 1}}
    equations = tuple(
        Equation(
            state,
            tuple(map(parse_expression, terms)),
            tuple(1.02 * value for value in terms.values()),
            (0.0,) * len(terms),
        )
        for state, terms in truth.items()
    )
    choice = SystemChoice(trajectories, smooth_trajectories(trajectories))
    n_samples, expected = trajectories.n_samples, [v for terms in truth.values() for v in terms.values()]
    first = fit_by_shooting(System(equations, ("x", "y", "z")), choice.build_segments(12, 2), n_samples)
    errors = [np.abs(first.system.constants / expected - 1).max()]
    fit, length = lengthen_segments(choice, first, 2, keeps_states=True)
    errors.append(np.abs(fit.system.constants / expected - 1).max())
    assert length == 400
    assert errors[1] < min(errors[0], 0.02)
    finer, segments = refine_steps(choice, fit, length, 2)
    assert np.abs(finer.system.constants / expected - 1).max() < 0.02
    (fitted,) = compute_fitted_states(finer, segments)
    assert fitted - states == pytest.approx(np.zeros((3, 400)), abs=0.5)
