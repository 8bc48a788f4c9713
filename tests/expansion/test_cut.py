from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import CandidateStatus, PoolPruning, expand
from symscreen.expressions.printing import to_text
from symscreen.grammar import load_grammar


@pytest.fixture
def columns(rng):
    return rng.uniform(0.5, 2.0, size=(3, 12))


def _space(columns, layers, cut=None, pool="cumulative", operators="basic"):
    grammar = load_grammar(operators)
    return expand(
        ["a", "b", "c"],
        columns,
        grammar,
        grammar.resolve_layers(layers),
        pool,
        prune=cut,
        options=SpaceOptions(),
    )


def _features(space):
    """Compute all features of a space: their numbers, and what had no use."""
    numbers, lost = [], Counter()
    for block in space.evaluate_range(0, space.total):
        numbers += block.numbers.tolist()
        lost.update(block.n_invalid)
    return np.array(numbers), lost


def _keep_all(space):
    return PoolPruning(*_features(space))


def _texts(space):
    return {to_text(space.build_expression(number)) for number in _features(space)[0]}


@pytest.mark.slow
@pytest.mark.parametrize("layers", ["ub", "bu", "ubu", "u b[add] u[sin,neg] b[sub]"])
@pytest.mark.parametrize("pool", ["cumulative", "strict"])
def test_a_cut_that_keeps_all_changes_nothing(columns, layers, pool):
    whole = _space(columns, layers, pool=pool, operators="ablation")
    kept = _space(columns, layers, _keep_all, pool=pool, operators="ablation")
    assert _texts(kept) == _texts(whole)
    assert kept.layer_counts[-1] == whole.layer_counts[-1]
    assert [count.n_features for count in kept.layer_counts] == [
        count.n_features for count in whole.layer_counts
    ]
    for own, count in zip(kept.layer_counts, whole.layer_counts, strict=True):
        assert own.n_generated == count.n_generated
        assert +Counter(own.n_excluded) == Counter(count.n_excluded)


def test_the_next_layer_is_applied_to_what_stays_and_to_the_inputs(columns, rng):
    chosen = []

    def some(space):
        numbers, lost = _features(space)
        chosen.append(rng.choice(numbers, 4, replace=False))
        stay = {to_text(space.build_expression(number)) for number in chosen[-1]}
        chosen.append(stay | {"a", "b", "c"})
        return PoolPruning(chosen[-2], lost)

    space = _space(columns, "u b[add]", some)
    stay = chosen[-1]
    assert set(map(to_text, map(space.build_expression, range(len(space.pool_indices))))) == stay
    for number in _features(space)[0][len(space.pool_indices) :]:
        assert {to_text(argument) for argument in space.build_expression(number).arguments} <= stay


def test_what_was_cut_is_counted(columns):
    space = _space(columns, "ubu", lambda space: PoolPruning(_features(space)[0][-2:], _features(space)[1]))
    whole = _space(columns, "u b")
    first = space.layer_counts[1]
    assert (
        first.n_excluded[CandidateStatus.PRUNED] == len(_features(_space(columns, "u"))[0]) - first.n_features
    )
    assert first.n_features == 5
    assert first.n_generated == whole.layer_counts[1].n_generated
    assert (
        sum(first.n_excluded.values()) + first.n_features
        == first.n_generated + space.layer_counts[0].n_features
    )


def test_what_a_cut_left_out_is_not_made_again(columns):
    def cut(space):
        numbers, lost = _features(space)
        return PoolPruning(numbers[:3] if len(space.layer_counts) == 2 else numbers, lost)

    space = _space(columns, "b[add] u[sin] b[add]", cut)
    assert "a + b" not in _texts(space)
    assert "a + sin(b)" in _texts(space)
