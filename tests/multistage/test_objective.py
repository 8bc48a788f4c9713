"""The objective, eq. (9), and the scores, eq. (8), compared with direct implementations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from symscreen.multistage import MonotoneChainRecommender, compute_error_rates, read_chains
from symscreen.targets.stages import list_stage_pairs

STAGES = ["s0", "s1", "s2", "s3"]
LAMBDAS = {"lambda_features": 0.003, "lambda_levels": 0.002, "lambda_stages": 0.01}
TABLE = np.array([[0, 0.4, 0, 1.5], [0, 0, 2.0, 0.7], [0, 0, 0, 0.3], [0, 0, 0, 0]])


def tables(rng, missing):
    """Rows drawn with replacement, numerical and categorical features per side, missing outcomes."""
    n = 200
    table = pd.DataFrame({"user": rng.choice(list("abcdefghij"), n), "item": rng.choice(list("vwxyz"), n)})
    reached = np.ones(n, dtype=bool)
    for name, share in zip(STAGES, (0.95, 0.6, 0.6, 0.5), strict=True):
        reached &= rng.random(n) < share
        table[name] = np.where(rng.random(n) < missing, np.nan, reached)
    users = pd.DataFrame({"user": sorted(set(table.user))})
    users = users.assign(age=rng.integers(10, 80, len(users)), region=rng.choice(list("NS"), len(users)))
    items = pd.DataFrame({"item": sorted(set(table.item))})
    return (
        table,
        users,
        items.assign(price=rng.lognormal(size=len(items)), flag=[True, False, True] + [False] * 2),
    )


def embedded(effects, names, features, number, level):
    """Compute a_i or b_j by name: the number, then the level of the name, then the other level."""
    x = features[number].to_numpy(float)
    x = (x - x.min()) / (x.max() - x.min())
    known = sorted({str(one) for one in features[level]})
    found = {}
    for place, name in enumerate(names):
        at = known.index(str(features[level].iloc[place]))
        found[name] = effects.matrix[:, 0] * x[place] + effects.tables[0][place] + effects.tables[1][at]
    return found


def scores(model, table, users, items):
    a = embedded(model.factors_.users, users.user, users, "age", "region")
    b = embedded(model.factors_.items, items.item, items, "price", "flag")
    return np.array(
        [
            [
                sum(
                    a[i][k] * b[j][k] * (1 - sum(model.factors_.q[r][k] for r in range(start, end)))
                    for k in range(model.n_factors)
                )
                for start, end in list_stage_pairs(3)
            ]
            for i, j in zip(table.user, table.item, strict=True)
        ]
    )


def objective(model, f, table, users, items, weights):
    total, is_counted = 0.0, np.zeros(len(table), dtype=bool)
    for p, (present, later) in enumerate(list_stage_pairs(3)):
        rows = (table[STAGES[present]] == 1) & table[STAGES[later]].notna()
        y = np.where(table[STAGES[later]][rows] == 1, 1, -1)
        u = y * f[rows, p]
        losses = {
            "hinge": np.maximum(0, 1 - u),
            "psi": np.minimum(1, np.maximum(0, 1 - u)),
            "logistic": np.log1p(np.exp(-u)),
        }[model.loss]
        if model.class_weight == "balanced":
            losses = losses * np.where(y == 1, len(y) / (2 * (y == 1).sum()), len(y) / (2 * (y == -1).sum()))
        total += weights[p] * losses.sum()
        is_counted |= rows.to_numpy() & (weights[p] > 0)
    divisor = len(users) * len(items) if model.normalization == "grid" else is_counted.sum()
    squares = [[(side.matrix**2).sum(), sum((t**2).sum() for t in side.tables)]
               for side in (model.factors_.users, model.factors_.items)]  # fmt: skip
    matrices, levels = np.sum(squares, axis=0)
    penalty = 0.003 * matrices + 0.002 * levels + 0.01 * (model.factors_.q**2).sum()
    return total / divisor + penalty


@pytest.mark.parametrize(
    ("loss", "asked", "weights", "balanced", "divided", "missing"),
    [
        ("hinge", "all", [1] * 6, None, "grid", 0.2),
        ("hinge", TABLE, [0.4, 0, 1.5, 2.0, 0.7, 0.3], "balanced", "observed", 0.2),
        ("psi", "next", [1, 0, 0, 1, 0, 1], "balanced", "grid", 0.0),
        ("logistic", "last", [0, 0, 1, 0, 1, 1], None, "observed", 0.3),
    ],
)
def test_the_loss_and_the_scores_are_those_defined(rng, loss, asked, weights, balanced, divided, missing):
    table, users, items = tables(rng, missing)
    options = {"loss": loss, "stage_weight": asked, "class_weight": balanced, "normalization": divided}
    model = MonotoneChainRecommender(STAGES, n_factors=3, random_state=0, max_iter=5, **LAMBDAS, **options)
    model.fit(table, user_features=users, item_features=items)
    f = scores(model, table, users, items)
    assert np.allclose(model.decision_function(table), f, rtol=1e-12, atol=1e-13)
    assert np.abs(f).max() > 0.1
    want = objective(model, f, table, users, items, weights)
    assert model.trace_[-1].loss == pytest.approx(want, rel=1e-10)


@pytest.mark.parametrize("weight", [None, "balanced"])
def test_the_score_is_balanced_where_the_fit_was(rng, weight):
    table, _, _ = tables(rng, 0.1)
    model = MonotoneChainRecommender(STAGES, n_factors=3, random_state=0, max_iter=3, class_weight=weight)
    model.fit(table)
    errors = compute_error_rates(model.predict(table), read_chains(table, stages=STAGES).outcomes)
    assert errors.balanced != pytest.approx(errors.overall, abs=1e-3)
    assert model.score(table) == 1 - (errors.balanced if weight else errors.overall)
