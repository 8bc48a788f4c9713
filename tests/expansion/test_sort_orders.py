from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import estimate_order_bytes, expand, presort_pool
from symscreen.expansion.sort_orders import count_monotone_children, is_monotone
from symscreen.grammar import OPERATORS, Monotonicity, load_grammar
from symscreen.statistics.ranks.sorted_block import sort_block

UNARY = [operator for operator in OPERATORS.values() if operator.arity == 1]


def grown(columns, layers, pool="cumulative"):
    grammar = replace(load_grammar("basic"), forbid={}, forbid_within={}, max_range={})
    names = [f"x{place}" for place in range(len(columns))]
    return expand(names, columns, grammar, grammar.resolve_layers(layers), pool, options=SpaceOptions())


@pytest.mark.parametrize("operator", UNARY, ids=lambda operator: operator.name)
def test_an_operator_that_keeps_the_order_rises_or_falls(operator, rng):
    x = np.sort(np.concatenate((rng.uniform(0.01, 1, (4, 30)), rng.uniform(-1, -0.01, (4, 30)))), axis=1)
    x = np.concatenate((x, np.sort(rng.uniform(-1, 1, (4, 30)), axis=1)))
    with np.errstate(all="ignore"):
        steps = np.diff(operator.numeric(x), axis=1)
    defined = np.isfinite(steps).all(axis=1)
    one_way = (steps > 0).all(axis=1) | (steps < 0).all(axis=1)
    kept = is_monotone(operator, x[:, 0], x[:, -1])
    assert not (kept & defined & ~one_way).any()
    assert operator.monotone == Monotonicity.NONE or kept.any()


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["cumulative", "strict"])
def test_what_follows_is_ordered_as_if_sorted(pool, rng):
    columns = np.concatenate((rng.uniform(0.5, 2.0, (2, 40)), np.round(rng.normal(size=(1, 40)), 1)))
    plain = grown(columns, "b[add,mul] u[exp,log,square,inv,sin,neg]", pool)
    ordered = presort_pool(plain, map)
    assert plain.pool.sort_orders is None
    followers = 0
    for one, other in zip(
        plain.evaluate_range(0, plain.total), ordered.evaluate_range(0, ordered.total), strict=True
    ):
        assert one.numbers.tobytes() == other.numbers.tobytes()
        assert one.values.tobytes() == other.values.tobytes()
        assert one.monotone_parents is None
        if other.monotone_parents is not None:
            followers += int((other.monotone_parents.parent_indices >= 0).sum())
        known = sort_block(other.values, parents=other.monotone_parents)
        for name in ("order", "tied", "doubled_ranks"):
            assert getattr(known, name).tobytes() == getattr(sort_block(one.values), name).tobytes()
    assert followers > len(plain.pool)


def test_orders_are_worth_their_while_where_several_functions_follow(rng):
    columns = rng.uniform(0.5, 2.0, (3, 50))
    several, one = grown(columns, "b[add,mul] u[exp,log,sqrt]"), grown(columns, "b[add,mul] u[sin,cos]")
    assert estimate_order_bytes(several, 1000) == len(several.pool) * 4001
    assert estimate_order_bytes(several, 512) == 0  # these are sorted as fast
    assert estimate_order_bytes(one, 1000) == 0
    assert estimate_order_bytes(grown(columns, "u[exp] b[add,mul]"), 1000) == 0


def test_the_inverse_keeps_the_order_of_one_side_and_of_no_other():
    low, high = np.array([0.5, -2.0, -1.0, 0.0, -1.0]), np.array([2.0, -0.5, 1.0, 1.0, 0.0])
    assert OPERATORS["inv"].monotone == Monotonicity.DECREASING_EACH_SIDE
    assert is_monotone(OPERATORS["inv"], low, high).tolist() == [True, True, False, False, False]


def test_the_followers_of_the_pool_are_its_members_and_their_monotone_functions(rng):
    space = grown(rng.uniform(0.5, 2.0, (3, 50)), "b[add,mul] u[exp,log,sin,neg]")
    monotone = {
        name for name, one in OPERATORS.items() if one.arity == 1 and one.monotone != Monotonicity.NONE
    }
    trees = [space.build_expression(int(number)) for number in space.numbers[len(space.pool_indices) :]]
    followers = sum(tree.operator.name in monotone for tree in trees)
    assert followers > 10
    assert count_monotone_children(space) == len(space.pool_indices) + followers
