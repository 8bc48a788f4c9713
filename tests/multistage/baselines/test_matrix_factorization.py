from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from symscreen.multistage import simulate_chains
from symscreen.multistage.baselines import StagePairFactors
from symscreen.multistage.baselines.matrix_factorization import _fit_factors


def test_a_complete_matrix_is_thresholded_as_the_svd_says(rng):
    """With negligible effects, the solution is known: the singular values minus λ."""
    n, m, strength = 8, 6, 0.7
    full = rng.normal(size=(n, m))
    full -= full.mean(axis=0)
    full -= full.mean(axis=1, keepdims=True)
    cells = tuple(one.ravel() for one in np.indices((n, m)))
    found = _fit_factors(cells, full.ravel(), (n, m), 5, strength, 200, 1e-10)
    left, sizes, right = np.linalg.svd(full)
    want = (left[:, :5] * np.maximum(sizes[:5] - strength, 0.0)) @ right[:5]
    assert np.allclose(found.left @ found.right, want, atol=1e-6)


def _objective(found, cells, ratings, strength):
    rest = ratings - found.predict_ratings(*cells)
    nuclear = np.linalg.svd(found.left @ found.right, compute_uv=False).sum()
    half = 0.5 * strength * ((found.users**2).sum() + (found.items**2).sum())
    return 0.5 * (rest**2).sum() + half + strength * nuclear


@pytest.mark.slow
@pytest.mark.parametrize("repeated", [False, True])
def test_the_objective_falls_and_no_small_step_improves_it(rng, repeated):
    shape, strength = (9, 8), 0.3
    chosen = rng.integers(20, size=50) if repeated else rng.permutation(72)[:50]
    assert (np.bincount(chosen).max() > 2) == repeated
    cells, ratings = (chosen // 8, chosen % 8), (rng.random(50) < 0.5).astype(float)
    fits = [_fit_factors(cells, ratings, shape, 7, strength, rounds, 1e-14) for rounds in (1, 3, 10, 800)]
    values = [_objective(one, cells, ratings, strength) for one in fits]
    assert values == sorted(values, reverse=True)
    best = fits[-1]
    for _ in range(30):
        step = 1e-3 * rng.normal(size=shape)
        left, sizes, right = np.linalg.svd(best.left @ best.right + step)
        moved = best._replace(left=left[:, :8] * sizes, right=right)
        assert _objective(moved, cells, ratings, strength) >= values[-1] - 1e-5
        moved = best._replace(users=best.users + step[:, 0], items=best.items + step[0])
        assert _objective(moved, cells, ratings, strength) >= values[-1] - 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("times", [4])
def test_a_table_told_several_times_asks_for_as_much_more_strength(times):
    """The objective of `times` copies with `times` λ is `times` that of one copy with λ."""
    made = simulate_chains(n_users=20, n_items=20, random_state=0)
    table, precise = made.table[made.part == "test"], {"tol": 1e-6, "max_iter": 2000}
    one = StagePairFactors(made.stages, strength=0.5, **precise).fit(table)
    many = StagePairFactors(made.stages, strength=0.5 * times, **precise).fit(pd.concat([table] * times))
    assert max(one.n_iter_ + many.n_iter_) < 2000
    f = [model.decision_function(made.table) for model in (one, many)]
    assert np.abs(f[0]).max() < 1.5
    assert np.allclose(*f, atol=1e-3)


@pytest.mark.slow
def test_rounds_are_made_until_it_has_converged():
    """Rows are drawn with replacement, so cells repeat. Compare the defaults with a smaller tolerance."""
    made = simulate_chains(n_users=25, n_items=25, n_rows=2500, random_state=1)
    training = made.select_part("test")
    quick, careful = (
        StagePairFactors(made.stages, strength=1.0, **options).fit(training)
        for options in ({}, {"tol": 1e-6, "max_iter": 3000})
    )
    assert max(quick.n_iter_) < 300
    f = [model.decision_function(made.table) for model in (quick, careful)]
    assert np.allclose(*f, atol=0.02)
    assert quick.score(training) == pytest.approx(careful.score(training), abs=0.005)


def test_effects_are_best_where_nothing_is_left_of_the_product(rng):
    """With a strong penalty M = 0, and c and d solve a ridge regression."""
    user, item, ratings, strength = rng.integers(7, size=90), rng.integers(6, size=90), rng.random(90), 8.0
    found = _fit_factors((user, item), ratings, (7, 6), 3, strength, 500, 1e-10)
    x = np.hstack([np.eye(7)[user], np.eye(6)[item]])
    want = np.linalg.solve(x.T @ x + strength * np.eye(13), x.T @ (ratings - ratings.mean()))
    assert not (found.left @ found.right).any()
    assert np.allclose(np.concatenate([found.users, found.items]), want, atol=1e-8)


def test_a_planted_low_rank_is_found(rng):
    """Unobserved cells are predicted from the observed ones."""
    r = np.sign(np.outer(rng.normal(size=30), rng.normal(size=25)))
    table = pd.DataFrame([(i, j, 1, int(r[i, j] > 0)) for i in range(30) for j in range(25)])
    table.columns = ["user", "item", "s", "t"]
    seen = rng.random(len(table)) < 0.5
    model = StagePairFactors(["s", "t"], strength=0.5, n_factors=3).fit(table[seen])
    assert model.score(table[~seen]) > 0.95


@pytest.mark.parametrize("people", [1, 2])
def test_few_people_are_no_trouble(people):
    table = pd.DataFrame({"user": range(people), "item": "x", "s": 1, "t": [1, 0][:people]})
    assert StagePairFactors(["s", "t"]).fit(table).predict(table).shape == (people, 1)
