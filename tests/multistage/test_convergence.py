"""Where block descent ends: Lemma 3 of Dai, Shen and Pan for losses with and without kinks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from symscreen.multistage import MonotoneChainRecommender

STAGES = ["viewed", "liked", "followed"]
PRECISE = {"tol": 1e-14, "block_tol": 1e-12, "block_sweeps": 100_000, "max_iter": 3000}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(4)
    drawn = pd.DataFrame({"user": rng.choice(list("abc"), 30), "item": rng.choice(list("xy"), 30)})
    liked = rng.random(30) < 0.6
    followed = liked & (rng.random(30) < 0.5)
    return drawn.assign(viewed=1, liked=liked.astype(int), followed=followed.astype(int))


def _fit(table, loss):
    return MonotoneChainRecommender(
        stages=STAGES, n_factors=1, loss=loss, lambda_levels=0.01, random_state=0, **PRECISE
    ).fit(table)


def _compute_loss(model, table, q1, q2):
    """Compute eq. (9) for other values of q_1 and q_2, from its definition."""
    users, items = (
        dict(zip(encoder.names, effects.tables[0][:, 0], strict=True))
        for encoder, effects in ((model.users_, model.factors_.users), (model.items_, model.factors_.items))
    )
    products = table.user.map(users).to_numpy() * table.item.map(items).to_numpy()
    liked, followed = (np.where(table[name] == 1, 1, -1) for name in ("liked", "followed"))
    total = 0.0
    for rows, y, mass in (
        (np.full(len(table), fill_value=True), liked, 1 - q1),
        (np.full(len(table), fill_value=True), followed, 1 - q1 - q2),
        (liked == 1, followed, 1 - q2),
    ):
        margins = (y * products * mass)[rows]
        total += (np.maximum(0, 1 - margins) if model.loss == "hinge" else np.log1p(np.exp(-margins))).sum()
    squares = sum(value**2 for value in (*users.values(), *items.values()))
    return total / len(table) + 0.01 * squares + 0.001 * (q1**2 + q2**2)


@pytest.mark.slow
def test_with_the_hinge_the_descent_ends_where_no_block_but_a_joint_move_lowers_the_loss(table):
    model = _fit(table, "hinge")
    q1, q2 = model.factors_.q[:, 0]
    end = model.trace_[-1].loss
    assert model.converged_
    assert _compute_loss(model, table, q1, q2) == pytest.approx(end, rel=1e-12)
    # no block can lower the loss: neither another round, nor any value of q_1 or of q_2
    last_round = [step.loss for step in model.trace_ if step.iteration >= model.n_iter_ - 1]
    assert max(last_round[-5:]) - min(last_round[-5:]) < 1e-12
    for value in np.linspace(0.0, 3.0, 301):
        assert _compute_loss(model, table, value, q2) > end - 1e-9
        assert _compute_loss(model, table, q1, value) > end - 1e-9
    # yet moving mass from q_1 to q_2 lowers it, for f_{0,2} depends on q_1 + q_2 and sits on a kink
    moved = _compute_loss(model, table, q1 - 0.05, q2 + 0.05)
    assert (round(end, 3), round(moved, 3)) == (2.145, 2.111)  # quoted in docs/multistage.md


def test_with_the_logistic_loss_no_joint_move_of_the_stages_lowers_the_loss(table):
    model = _fit(table, "logistic")
    q1, q2 = model.factors_.q[:, 0]
    end = model.trace_[-1].loss
    assert _compute_loss(model, table, q1, q2) == pytest.approx(end, rel=1e-12)
    for angle in np.linspace(0.0, 2 * np.pi, 60):
        for length in (1e-3, 1e-2, 0.1):
            to1, to2 = q1 + length * np.cos(angle), q2 + length * np.sin(angle)
            if min(to1, to2) >= 0:
                assert _compute_loss(model, table, to1, to2) > end - 1e-8
