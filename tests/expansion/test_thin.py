"""Thin pools: the space is the same to the byte, and no array of members by rows is ever there."""

from __future__ import annotations

import tracemalloc
from collections import Counter

import numpy as np
import pytest
from helpers.expansion_oracles import problems
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import CandidateStatus, PoolPruning, expand, feature_values
from symscreen.expressions.tree import parse_expression
from symscreen.grammar import load_grammar

SHIPPED = ["basic", "strogatz", "physics", "standard", "ablation"]


def both(*arguments, **options):
    return [
        expand(*arguments, **options, recompute_pool=thin, options=SpaceOptions()) for thin in (False, True)
    ]


def streamed(space, start=0, stop=None):
    blocks = list(space.evaluate_range(start, space.total if stop is None else stop))
    numbers = np.concatenate([np.zeros(0, dtype=np.int64), *(block.numbers for block in blocks)])
    values = np.concatenate([np.zeros((0, space.n_rows)), *(block.values for block in blocks)])
    return numbers, values, sum((Counter(block.n_invalid) for block in blocks), Counter())


def assert_same(held, thin):
    assert thin.pool.values is None
    assert thin.pool.recomputes_values
    assert not held.pool.recomputes_values
    assert thin.n_rows == held.n_rows == held.pool.values.shape[1]
    assert thin.layer_counts == held.layer_counts
    assert thin.statuses.tobytes() == held.statuses.tobytes()
    assert thin.pool_indices.tolist() == held.pool_indices.tolist()
    assert thin.numbers.tolist() == held.numbers.tolist()
    assert thin.pool.member_nodes.tolist() == held.pool.member_nodes.tolist()
    assert thin.pool.nodes.keys.tobytes() == held.pool.nodes.keys.tobytes()
    assert thin.pool.applied_counts == held.pool.applied_counts
    assert thin.pool.max_abs.tobytes() == held.pool.max_abs.tobytes()
    assert thin.pool.compute_at_rows(np.arange(thin.n_rows)).tobytes() == held.pool.values.tobytes()
    (numbers, values, lost), (same_numbers, same_values, same_lost) = streamed(held), streamed(thin)
    assert same_numbers.tolist() == numbers.tolist()
    assert same_values.tobytes() == values.tobytes()
    assert same_lost == lost
    assert [str(thin.build_expression(number)) for number in numbers.tolist()[::7]] == [
        str(held.build_expression(number)) for number in numbers.tolist()[::7]
    ]


def table(rng, n):
    """Columns of every kind: signed, positive, tied with zeros, constant, repeated, and all but repeated."""
    signed, positive = rng.normal(size=n), rng.uniform(0.5, 2.0, n)
    tied = rng.integers(-1, 3, n).astype(float)
    return np.array([signed, positive, tied, np.full(n, 3.7), positive.copy(), signed * (1 + 1e-16)])


@pytest.mark.slow
@pytest.mark.parametrize("pool_kind", ["cumulative", "strict"])
@pytest.mark.parametrize("layers", ["u", "b", "ub", "bub", "ubb"])
@pytest.mark.parametrize("name", SHIPPED)
def test_a_thin_space_is_that_of_held_values(name, layers, pool_kind, rng):
    # a third layer of a large grammar is a million features: two inputs and few operators stand for it
    columns, grammar = table(rng, 9), load_grammar(name)
    if len(layers) > 2:
        columns = columns[[1, 3, 4]]
        grammar = grammar.override(
            unary=[one.name for one in grammar.unary[:3]], binary=[one.name for one in grammar.binary[:2]]
        )
    names = [f"x{place}" for place in range(1, len(columns) + 1)]
    assert_same(*both(names, columns, grammar, grammar.resolve_layers(layers), pool_kind))


@pytest.mark.slow
@settings(max_examples=60)
@given(problems())
def test_a_thin_space_is_that_of_held_values_whatever_the_grammar(problem):
    assert_same(*both(*problem.arguments, also=problem.also))


@settings(max_examples=40)
@given(problems(), st.lists(st.integers(0, 5), min_size=1, unique=True))
def test_members_at_some_rows_are_those_held(problem, rows):
    rows = np.array(sorted(rows))
    for space in both(*problem.arguments):
        found = space.pool.compute_at_rows(rows)
        assert found.flags.c_contiguous
        assert found.dtype == np.float64
        assert (
            found.tobytes()
            == np.ascontiguousarray(space.pool.compute_at_rows(np.arange(space.n_rows))[:, rows]).tobytes()
        )


@pytest.mark.slow
@pytest.mark.parametrize("tile", [8, 5000, 1 << 20])
@pytest.mark.parametrize("n", [37, 400])
def test_members_at_some_rows_do_not_depend_on_the_rows_or_the_tile(n, tile, rng, monkeypatch):
    columns = np.exp(6 * rng.normal(size=(3, n))) * rng.choice([-1.0, 1.0, 1.0], size=(3, 1))
    grammar = load_grammar("basic").override(unary=["id", "exp", "sin", "tan", "cbrt", "tanh", "log"])
    held, thin = both(["a", "b", "c"], columns, grammar, grammar.resolve_layers("ubu"))
    monkeypatch.setattr(feature_values, "_TILE_BYTES", tile)
    monkeypatch.setattr(feature_values, "_MIN_ROWS", 1)
    monkeypatch.setattr(feature_values, "_BATCH_NODES", 40)
    for size in (1, 3, 8, 20, n):
        rows = np.sort(rng.choice(n, size, replace=False))
        assert thin.pool.compute_at_rows(rows).tobytes() == held.pool.compute_at_rows(rows).tobytes()


@pytest.mark.parametrize("thin", [False, True])
def test_values_of_scattered_features_are_those_streamed(thin, rng, monkeypatch):
    monkeypatch.setattr(feature_values, "_BLOCK_BYTES", 8 * 30 * 5)
    grammar = load_grammar("basic")
    space = expand(
        ["a", "b"],
        rng.uniform(0.5, 2.0, (2, 30)),
        grammar,
        grammar.resolve_layers("ub"),
        also=[parse_expression("3*a - b/7")],
        recompute_pool=thin,
        options=SpaceOptions(),
    )
    numbers, values, _ = streamed(space)
    chosen = rng.choice(len(numbers), 200)  # in any order, some of them twice
    chosen[:5] = [0, 0, space.n_materialized - 1, len(numbers) - 1, space.n_materialized]
    assert space.compute_values(numbers[chosen]).tobytes() == values[chosen].tobytes()
    assert space.compute_values(numbers[:0]).shape == (0, 30)
    few = np.unique(chosen)
    blocks = list(space.evaluate_features(numbers[few]))
    assert np.concatenate([block.numbers for block in blocks]).tolist() == numbers[few].tolist()
    assert np.concatenate([block.values for block in blocks]).tobytes() == values[few].tobytes()
    assert max(len(block.numbers) for block in blocks) <= 16
    assert len(blocks) < len(few)


@pytest.mark.parametrize("pool_kind", ["cumulative", "strict"])
def test_cuts_between_layers_leave_the_same(pool_kind, rng):
    def cut(space):
        numbers, _, lost = streamed(space)
        return PoolPruning(numbers[::3], lost)

    grammar, columns = load_grammar("basic"), table(rng, 12)[:3]
    layers = grammar.resolve_layers("u[sin,square] b[add,mul] u[neg,cube] b[sub]")
    held, thin = both(["a", "b", "c"], columns, grammar, layers, pool_kind, prune=cut)
    assert held.layer_counts[2].n_excluded[CandidateStatus.PRUNED] > 0
    assert_same(held, thin)


def test_copies_by_value_are_found_without_held_values(rng):
    grammar = load_grammar("basic")
    layers = grammar.resolve_layers("u[log] b[add,mul] u[log] b[sub]")
    held, thin = both(["x", "y"], rng.uniform(1.5, 4.0, (2, 50)), grammar, layers)
    assert held.layer_counts[3].n_excluded[CandidateStatus.NUMERIC_DUPLICATE] >= 1
    assert_same(held, thin)


@pytest.mark.slow
def test_a_thin_pool_is_grown_and_streamed_in_little_memory(rng):
    n = 20_000
    columns, grammar = rng.uniform(0.5, 2.0, (5, n)), load_grammar("basic")
    layers = grammar.resolve_layers("u[sin,square,exp] b[add,sub,mul,div] u[sin]")
    tracemalloc.start()
    try:
        space = expand(
            [f"x{place}" for place in range(5)],
            columns,
            grammar,
            layers,
            recompute_pool=True,
            options=SpaceOptions(),
        )
        grown = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        for block in space.evaluate_range(space.total - 300, space.total):
            assert len(block.numbers)
        told = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    whole = len(space.pool) * n * 8
    assert whole > 110_000_000
    assert grown < 24_000_000
    assert told < 24_000_000
