from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from symscreen.multistage import simulate_chains
from symscreen.multistage.baselines import OrdinalStageSVM, make_linear_svm
from symscreen.multistage.baselines.stagewise_classifiers import encode_one_hot


def test_it_is_the_optimum_of_the_problem_as_stated():
    """Compare w and b of the first stage with a general convex solver."""
    made = simulate_chains(n_users=6, n_items=5, random_state=2)
    model = OrdinalStageSVM(made.stages, cost=0.5, random_state=0).fit(made.table)
    x = np.hstack(
        [
            encode_one_hot(side, side.encoded).toarray()[
                side.find_name_indices(made.table[side.kind].to_numpy(object))
            ]
            for side in (model.users_, model.items_)
        ]
    )
    y = made.outcomes

    def value(w, b):
        terms = [np.maximum(0, 1 - y[:, t] * (x @ w - b[:t].sum())).sum() for t in (1, 2)]
        return 0.5 * (w @ w + b @ b) + 0.5 * sum(terms)

    w, b = cp.Variable(x.shape[1]), cp.Variable(2)
    terms = [cp.sum(cp.pos(1 - cp.multiply(y[:, t], x @ w - cp.sum(b[:t])))) for t in (1, 2)]
    problem = cp.Problem(
        cp.Minimize(0.5 * (cp.sum_squares(w) + cp.sum_squares(b)) + 0.5 * sum(terms)), [b[1] >= 0]
    )
    problem.solve(solver=cp.CLARABEL)
    steps = np.diff(model.thresholds_[:2], prepend=0.0)
    assert value(model.weights_[0], steps) == pytest.approx(problem.value, rel=1e-3)


def test_it_falls_with_the_later_stage_even_where_much_is_missing(rng):
    made = simulate_chains(n_users=20, n_items=20, n_stages=3, random_state=0)
    table = made.table.astype(object)
    for name in made.stages[1:]:
        table.loc[rng.random(len(table)) < 0.6, name] = None
    f = OrdinalStageSVM(made.stages, cost=10.0, random_state=0).fit(table).decision_function(table)
    assert (np.diff(f[:, :3], axis=1) <= 0).all()
    assert (np.diff(f[:, 3:5], axis=1) <= 0).all()


def test_the_cost_is_the_svms():
    assert make_linear_svm(3.0).C == 3.0
