from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.linear_models.best_subset import find_best_subsets

REFERENCE = Path(__file__).parents[1] / "reference"
PLENTY = 10**7


def _standard(values):
    centered = values - values.mean(axis=-1, keepdims=True)
    size = np.sqrt((centered**2).mean(axis=-1, keepdims=True))
    return centered / np.where(size > 1e-12, size, np.inf)


def _best(x, y, most, budget=PLENTY, floor=1e-24):
    return find_best_subsets(x, y, most, np.full(len(x), 1e-7), floor, budget)


def _brute(x, y, size):
    """RSS and members of the best independent subset, and RSS of the second best."""
    models = np.array(list(combinations(range(len(x)), size)))
    gram, inner = x @ x.T / y.size, x @ y / y.size
    blocks = gram[models[:, :, None], models[:, None, :]]
    able = np.linalg.eigvalsh(blocks)[:, 0] > 1e-9
    models, blocks = models[able], blocks[able]
    if not len(models):
        return None
    aims = inner[models]
    gains = (aims * np.linalg.solve(blocks, aims[:, :, None])[:, :, 0]).sum(axis=1)
    order = np.argsort(-gains, kind="stable")
    rss = y @ y / y.size - gains[order]
    return rss[0], models[order[0]], rss[1] if len(rss) > 1 else np.inf


def _agrees(x, y, most):
    found = _best(x, y, most)
    assert found.proven_size == len(found.models) - 1
    for size, model in enumerate(found.models):
        assert model.tolist() == sorted(set(model.tolist()))
        assert model.size == size
        if size == 0:
            assert found.rss[0] == pytest.approx(y @ y / y.size)
            continue
        least, best, second = _brute(x, y, size)
        assert found.rss[size] == pytest.approx(least, abs=1e-9)
        if second > least + 1e-8:
            assert model.tolist() == best.tolist()
    return found


@pytest.mark.parametrize(("q", "n"), [(1, 4), (5, 30), (9, 12), (12, 50), (10, 8)])
@pytest.mark.parametrize("mix", [0.0, 1.0, 5.0])
def test_best_subsets_are_those_of_brute_force(q, n, mix, rng):
    x = _standard(rng.normal(size=(q, n)) + mix * rng.normal(size=(1, n)))
    y = _standard(x[:3].sum(axis=0) + rng.normal(size=n))
    assert len(_agrees(x, y, min(q, n - 2)).models) == min(q, n - 2) + 1


@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.integers(5, 12))
def test_best_subsets_of_whole_numbers_full_of_dependence(seed, q, n):
    rng = np.random.default_rng(seed)
    x = _standard(rng.integers(-1, 2, (q, 3)) @ rng.integers(-2, 3, (3, n)).astype(float))
    y = _standard(rng.normal(size=n))
    found = _agrees(x, y, min(q, n - 2))
    if len(found.models) <= min(q, n - 2) and found.rss[-1] > 1e-20:
        assert _brute(x, y, len(found.models)) is None


def test_best_subsets_of_the_reference_problem():
    x = _standard(np.loadtxt(REFERENCE / "regression_X.csv", delimiter=",").T)
    y = _standard(np.loadtxt(REFERENCE / "regression_y.csv"))
    found = _agrees(x, y, 4)
    assert len(found.models) == 5
    assert found.models[3].tolist() == [3, 10, 20]  # the truth


def test_the_bounds_close_nearly_all_of_the_tree():
    x = _standard(np.loadtxt(REFERENCE / "regression_X.csv", delimiter=",").T)
    y = _standard(np.loadtxt(REFERENCE / "regression_y.csv"))
    found = _best(x, y, 8)
    assert found.proven_size == 8
    assert found.work < 20_000  # of 10⁸ models


def test_the_ablation_grammar_is_full_of_exact_sums(rng):
    u = rng.uniform(0, 1, (3, 60))
    pairs = [(i, j) for i in range(3) for j in range(i, 3)]
    both = [u[i] + u[j] for i, j in pairs] + [u[i] * u[j] for i, j in pairs]
    x = _standard(np.array(both + [one**3 for one in both]))
    assert np.linalg.matrix_rank(x, tol=1e-8) == 21
    y = _standard(2 * u[0] ** 3 + 5 * u[2] + rng.normal(size=60))
    found = _agrees(x, y, 4)
    assert len(_best(x, y, 24).models) == 22
    assert len(found.models) == 5


def test_of_equals_the_first_is_named(rng):
    base = _standard(rng.normal(size=(4, 30)))
    y = _standard(base[2] + base[3] + 0.1 * rng.normal(size=30))
    x = np.concatenate([base, -base[::-1], base])
    once, tripled = _best(base, y, 4), _best(x, y, 4)
    assert [model.tolist() for model in tripled.models] == [model.tolist() for model in once.models]
    assert tripled.work == once.work
    spanning = _standard(np.array([base[2] + base[3], base[2] - base[3], base[2], base[3]]))
    assert _best(spanning, y, 2).models[2].tolist() == [0, 1]


def test_the_search_ends_with_an_exact_fit(rng):
    x = _standard(rng.normal(size=(40, 60)))
    y = _standard(x[5] + x[11] - x[30])
    found = _best(x, y, 20)
    assert found.models[-1].tolist() == [5, 11, 30]
    assert found.proven_size == 3


def test_a_search_cut_short_says_so_and_still_finds_good_models(rng):
    x = _standard(rng.normal(size=(30, 40)))
    y = _standard(rng.normal(size=40))
    full, cut = _best(x, y, 8), _best(x, y, 8, budget=400)
    assert full.proven_size == 8
    assert 0 < cut.proven_size < 8
    assert full.work > cut.work
    assert cut.work < 500
    for size in range(9):
        assert cut.models[size].size == size
        if size <= cut.proven_size:
            assert cut.models[size].tolist() == full.models[size].tolist()
        assert full.rss[size] <= cut.rss[size] + 1e-12 < full.rss[size] * 1.1
    assert (np.diff(cut.rss) < 0).all()
