"""Formulas that a single round, or a space grown without cuts, does not reach."""

from __future__ import annotations

import numpy as np
import pytest

import symscreen

GRAMMAR = """
unary = ["sinpi", "exp", "square", "abs", "cube"]
binary = ["add", "sub", "mul"]
layers = "ubub"
[define.sinpi]
formula = "sin(pi*x)"
"""


@pytest.fixture
def two_terms(tmp_path):
    """Draw y = 15 (exp(x1) − exp(x2))² + 20 sin(π x3 x4) + N(0, 0.5²) over ten inputs."""
    path = tmp_path / "grammar.toml"
    path.write_text(GRAMMAR)
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(250, 10))
    signal = 15 * (np.exp(x[:, 0]) - np.exp(x[:, 1])) ** 2 + 20 * np.sin(np.pi * x[:, 2] * x[:, 3])
    return x, signal + rng.normal(0, 0.5, 250), path


@pytest.mark.slow
def test_cuts_by_the_union_of_t0_and_xi_keep_both_terms(two_terms):
    x, y, grammar = two_terms
    result = symscreen.screen(x, y, operators=grammar, pool_size=200, top=5)
    assert result.table.expression[0] == "sinpi(x3*x4) + (exp(x1) - exp(x2))**2"
    assert [cut["chosen"] for cut in result.record["pool_pruning"]][1:] == [200, 200]


@pytest.mark.slow
def test_t0_alone_cuts_the_difference_that_is_symmetric(two_terms):
    x, y, grammar = two_terms
    result = symscreen.screen(x, y, operators=grammar, pool_size=200, prune_by="t0", top=20)
    assert not result.table.expression.str.contains("exp(x1) - exp(x2)", regex=False).any()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_weak_term_comes_first_in_the_second_round(seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, size=(200, 3))
    y = 10 * x[:, 0] ** 2 + 0.3 * np.sin(x[:, 1]) + rng.normal(0, 0.1, 200)
    result = symscreen.screen(x, y, layers="ub", unary="id,square,cube,sin", binary="add,mul", rounds=2)
    second = result.table[result.table["round"] == 2].iloc[0]
    assert second.expression == "sin(x2)"
    assert second.place_alone > 20  # one round would not have shown it
    assert result.record["rounds"][1]["model"] == ["x1**2"]


def test_five_screeners_stand_in_one_table_with_their_agreement():
    data = symscreen.datasets.make_additive(n=100, noise_variance=0.01, seed=0)
    names = ["t0", "xi", "lasso", "scad", "stepwise"]
    result = symscreen.screen(
        data.frame, operators="ablation", layers="ub", pool="strict", screener=names, top="all"
    )
    assert len(result) == 42
    assert not result.table[names].isna().any().any()
    assert not result.table[[f"{name}_rank" for name in names]].isna().any().any()
    assert len(result.agreement) == 10
    assert (result.agreement["features"] == 42).all()
