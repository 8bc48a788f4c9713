from __future__ import annotations

import cvxpy
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from symscreen.errors import DataError, OptionError
from symscreen.multistage import compute_svm_objective, solve_offset_svm


def _problem(rng, n, d, cost):
    x = rng.normal(size=(n, d)) * rng.uniform(0.2, 1.2, d)
    y = np.where(rng.random(n) < 0.4, 1, -1)
    return x, y, cost * rng.random(n), rng.normal(size=n)


def _by_clarabel(x, y, cost, drift, loss):
    beta = cvxpy.Variable(x.shape[1], nonneg=True)
    margins = cvxpy.multiply(y, x @ beta + drift)
    losses = cvxpy.pos(1 - margins) if loss == "hinge" else cvxpy.logistic(-margins)
    problem = cvxpy.Problem(cvxpy.Minimize(0.5 * cvxpy.sum_squares(beta) + cost @ losses))
    problem.solve(solver=cvxpy.CLARABEL)
    return problem.value


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize(
    ("n", "d", "cost"), [(40, 5, 1.0), (150, 20, 0.1), (150, 20, 5.0), (60, 30, 3.0), (400, 3, 0.01)]
)
def test_it_agrees_with_a_general_solver(rng, loss, n, d, cost):
    problem = _problem(rng, n, d, cost)
    found = solve_offset_svm(*problem, loss=loss)
    assert found.converged
    best = _by_clarabel(*problem, loss)
    assert found.objective == pytest.approx(best, rel=1e-5)
    assert found.objective - found.gap <= best * (1 + 1e-7)  # the gap is a bound
    assert (found.coefficients >= 0).all()


@pytest.mark.parametrize("loss", ["hinge", "psi", "logistic"])
def test_the_objective_told_is_the_one_defined(rng, loss):
    problem = _problem(rng, 80, 6, 0.5)
    found = solve_offset_svm(*problem, loss=loss)
    assert found.objective == pytest.approx(
        compute_svm_objective(found.coefficients, *problem, loss=loss), rel=1e-12
    )
    assert found.objective <= compute_svm_objective(np.zeros(6), *problem, loss=loss)


def test_no_small_step_improves_the_psi_loss(rng):
    problem = _problem(rng, 200, 3, 0.3)
    found = solve_offset_svm(*problem, loss="psi", tolerance=1e-9, max_sweeps=50_000)
    for _ in range(200):
        near = np.maximum(found.coefficients + rng.normal(scale=1e-4, size=3), 0.0)
        assert compute_svm_objective(near, *problem, loss="psi") >= found.objective * (1 - 1e-7)


def test_one_term_is_solved_by_hand():
    # ½β² + 3·max(0, 1 − 2β): at β = ½ the hinge ends; cost 3·2 > ½ pulls all the way
    assert solve_offset_svm([[2.0]], [1], [3.0], [0.0]).coefficients[0] == pytest.approx(0.5)
    # with cost 0.1 the pull 0.2 is met at β = 0.2
    assert solve_offset_svm([[2.0]], [1], [0.1], [0.0]).coefficients[0] == pytest.approx(0.2)
    # a negative coefficient would help, and is not allowed
    assert solve_offset_svm([[2.0]], [-1], [3.0], [0.0]).coefficients[0] == 0.0


def test_terms_of_no_cost_and_of_no_input_change_nothing(rng):
    x, y, cost, drift = _problem(rng, 50, 4, 1.0)
    plain = solve_offset_svm(x, y, cost, drift, tolerance=1e-9)
    more = solve_offset_svm(
        np.vstack([x, x[:1], np.zeros((1, 4))]),
        np.append(y, [1, -1]),
        np.append(cost, [0.0, 2.0]),
        np.append(drift, [0.0, 0.5]),
        tolerance=1e-9,
    )
    assert more.objective == pytest.approx(plain.objective + 2.0 * 1.5, rel=1e-7)
    assert np.allclose(more.coefficients, plain.coefficients, atol=1e-3)


def test_it_goes_on_from_duals(rng):
    problem = _problem(rng, 100, 8, 2.0)
    first = solve_offset_svm(*problem)
    again = solve_offset_svm(*problem, initial_duals=first.duals)
    assert again.n_sweeps < first.n_sweeps
    assert again.objective == pytest.approx(first.objective, rel=1e-5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": [1, 0]}, "term 1: y must be −1 or \\+1"),
        ({"cost": [1.0, -1.0]}, "term 1: costs must be ≥ 0"),
        ({"offsets": [0.0]}, "give \\(N, d\\) for x and \\(N,\\) for the others"),
        ({"x": [[1.0], [np.nan]]}, "NaN or an infinite number"),
    ],
)
def test_what_is_no_problem_is_refused(change, words):
    good = {"x": [[1.0], [2.0]], "y": [1, -1], "cost": [1.0, 1.0], "offsets": [0.0, 0.0]}
    with pytest.raises(DataError, match=words):
        solve_offset_svm(**(good | change))


def test_options_without_meaning_are_refused():
    one = ([[1.0]], [1], [1.0], [0.0])
    with pytest.raises(OptionError, match="did you mean 'hinge'"):
        solve_offset_svm(*one, loss="hing")
    with pytest.raises(OptionError, match="a share in"):
        solve_offset_svm(*one, tolerance=0.0)
    for start in (np.zeros(3), np.array([np.nan])):
        with pytest.raises(DataError, match="one finite dual for each of the 1 terms"):
            solve_offset_svm(*one, initial_duals=start)


@pytest.mark.parametrize(("cost", "loss"), [(10.0, "hinge"), (100.0, "logistic")])
def test_it_agrees_with_a_general_solver_at_large_costs(rng, cost, loss):
    x, y, _, drift = _problem(rng, 100, 8, 1.0)
    problem = (x, y, np.full(100, cost), drift)
    found = solve_offset_svm(*problem, loss=loss)
    assert found.converged
    assert found.objective == pytest.approx(_by_clarabel(*problem, loss), rel=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_it_tells_where_sweeps_were_not_enough(rng, loss):
    x, y, _, drift = _problem(rng, 100, 8, 1.0)
    problem = (x, y, np.full(100, 1000.0), drift)
    with pytest.warns(ConvergenceWarning, match="of the objective: increase max_sweeps"):
        found = solve_offset_svm(*problem, loss=loss, max_sweeps=20)
    assert not found.converged
    best = _by_clarabel(*problem, loss)
    assert found.objective - found.gap <= best * (1 + 1e-7)
    assert found.objective > best * (1 + 1e-5)
