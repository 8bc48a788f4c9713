"""The ranking of pairs of formulas is that of a search of all pairs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from symscreen.fitting.laws import pair_ranking
from symscreen.fitting.laws.formula_pool import grow_formula_pool
from symscreen.fitting.laws.pair_ranking import rank_pairs, rank_pairs_again
from symscreen.grammar import load_grammar


def compute_explained(nuisance, terms, target):
    """Return R²/(1 − R²) beside the nuisance columns."""

    def compute_rss(columns):
        design = np.column_stack([each / np.abs(each).max() for each in columns])
        return np.linalg.norm(target - design @ np.linalg.lstsq(design, target, rcond=None)[0]) ** 2

    return compute_rss(nuisance) / compute_rss([*nuisance, *terms]) - 1.0


def make_pool(rng, n, limit):
    columns = {name: rng.uniform(1.0, 4.0, n) for name in "uvw"}
    return grow_formula_pool(columns, load_grammar("basic").add_operators(["sin", "cos"]), limit)


def rank(pool, target, nuisance, n_ranked):
    blocks = [(part, pool.values[part]) for part in np.array_split(np.arange(len(pool)), 3)]
    return rank_pairs(blocks, target, np.column_stack(nuisance), pool.complexity, n_ranked)


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "n"), [(0.01, 30), (0.3, 120)])
def test_the_best_pairs_are_those_of_a_search_of_all_pairs(rng, n, noise):
    pool = make_pool(rng, n, 80)
    first, second = (pool.values[k] / pool.values[k].std() for k in rng.choice(80, 2, replace=False))
    target = first + 0.7 * second + noise * rng.standard_normal(n)
    nuisance = [np.ones(n)]
    singles, pairs = rank(pool, target, nuisance, 20)

    counts = np.bincount(pool.complexity)
    n_pairs = np.cumsum(np.convolve(counts, counts)) / 2.0
    alone = [
        n / 2 * np.log1p(compute_explained(nuisance, [pool.values[k]], target))
        - np.log(n) / 2
        - np.log(np.cumsum(counts)[pool.complexity[k]])
        for k in range(len(pool))
    ]
    scores = {
        pair: n / 2 * np.log1p(compute_explained(nuisance, pool.values[list(pair)], target))
        - np.log(n)
        - np.log(n_pairs[pool.complexity[list(pair)].sum()])
        for pair in combinations(range(len(pool)), 2)
        # the regression of near copies is rounding
        if abs(np.corrcoef(pool.values[list(pair)])[0, 1]) < 1.0 - 1e-10
    }
    assert alone[singles[0]] == pytest.approx(max(alone))
    expected = sorted((score for score in scores.values() if score > max(0.0, *alone)), reverse=True)[:20]
    assert [scores[pair] for pair in pairs] == pytest.approx(expected, rel=1e-5)


def test_pairs_are_ranked_again_in_the_same_order_on_the_same_rows(rng):
    pool = make_pool(rng, 150, 400)
    target = 3.0 + pool.values[100] / pool.values[100].std() + pool.values[350] / pool.values[350].std()
    target += 0.05 * rng.standard_normal(150)
    nuisance = [np.ones(150)]
    _, pairs = rank(pool, target, nuisance, 30)
    shuffled = [pairs[place] for place in rng.permutation(30)]
    block = np.arange(len(pool)), pool.values
    again = rank_pairs_again(shuffled, block, target, np.ones((150, 1)), pool.complexity, 30)
    assert again[0] == pairs[0]
    assert [pairs.index(pair) for pair in again] == pytest.approx(range(30), abs=1)
    few = rank_pairs_again(
        shuffled, (block[0][1:], block[1][1:]), target, np.ones((150, 1)), pool.complexity, 5
    )
    assert few == [pair for pair in again if 0 not in pair][:5]


def test_nuisance_columns_are_free(rng):
    pool = make_pool(rng, 100, 300)
    free = 30.0 * rng.standard_normal(100)
    target = free + pool.values[40] / pool.values[40].std() + pool.values[90] / pool.values[90].std()
    target += 0.01 * rng.standard_normal(100)
    _, pairs = rank(pool, target, [np.ones(100), free], 10)
    assert (40, 90) in pairs
    assert (40, 90) not in rank(pool, target, [np.ones(100)], 10)[1]


def test_nothing_is_ranked_for_a_response_that_is_a_nuisance_column(rng):
    pool = make_pool(rng, 100, 100)
    assert rank(pool, pool.values[0], [np.ones(100), pool.values[0]], 10) == ([], [])


@pytest.mark.parametrize(("draws", "most"), [(4, 1), pytest.param(20, 2, marks=pytest.mark.slow)])
def test_noise_has_no_pairs_that_are_worth_their_number(rng, draws, most):
    pool = make_pool(rng, 200, 300)
    n_found = sum(bool(rank(pool, rng.standard_normal(200), [np.ones(200)], 10)[1]) for _ in range(draws))
    assert n_found <= most


def test_blocks_have_no_effect(rng):
    pool = make_pool(rng, 100, 300)
    target = pool.values[50] / pool.values[50].std() + rng.standard_normal(100)
    whole = rank_pairs(
        [(np.arange(300), pool.values)], target, np.ones((100, 1)), pool.complexity, n_ranked=30
    )
    assert whole == rank(pool, target, [np.ones(100)], 30)


def add_two(pool):
    return pool.values[100] / pool.values[100].std() + pool.values[350] / pool.values[350].std()


def test_small_blocks_and_the_number_of_threads_have_no_effect(rng, monkeypatch):
    pool = make_pool(rng, 60, 400)
    target = add_two(pool) + 0.1 * rng.standard_normal(60)
    blocks, nuisance = [(np.arange(400), pool.values)], np.ones((60, 1))
    whole = rank_pairs(blocks, target, nuisance, pool.complexity, 30)
    assert len(whole[1]) == 30
    monkeypatch.setattr(pair_ranking, "_SCANNED_FORMULAS", 13)
    for jobs in (1, 3):
        assert rank_pairs(blocks, target, nuisance, pool.complexity, 30, jobs) == whole


def test_a_scan_that_ends_early_gives_the_same_pairs_with_any_number_of_threads(rng, monkeypatch):
    pool = make_pool(rng, 60, 400)
    target = add_two(pool) + 0.1 * rng.standard_normal(60)
    monkeypatch.setattr(pair_ranking, "_SCANNED_FORMULAS", 13)
    found = []
    for budget in (200, 1):
        monkeypatch.setattr(pair_ranking, "_BUDGET_PER_FORMULA", budget)
        one, two = (
            pair_ranking.rank_pairs(
                [(np.arange(400), pool.values)], target, np.ones((60, 1)), pool.complexity, 30, jobs
            )
            for jobs in (1, 2)
        )
        assert one == two
        found.append(one)
    assert found[0] != found[1]
