from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from symscreen.expansion import Cut, Fate, expand
from symscreen.expression import to_text
from symscreen.grammar import load_grammar


@pytest.fixture
def columns(rng):
    return rng.uniform(0.5, 2.0, size=(3, 12))


def _space(columns, layers, cut=None, pool="cumulative", operators="basic"):
    grammar = load_grammar(operators)
    return expand(["a", "b", "c"], columns, grammar, grammar.parsed_layers(layers), pool, cut=cut)


def _features(space):
    """Compute all features of a space: their numbers, and what had no use."""
    numbers, lost = [], Counter()
    for block in space.blocks(0, space.total):
        numbers += block.numbers.tolist()
        lost.update(block.lost)
    return np.array(numbers), lost


def _keep_all(space):
    return Cut(*_features(space))


def _texts(space):
    return {to_text(space.expression(number)) for number in _features(space)[0]}


@pytest.mark.parametrize("layers", ["ub", "bu", "ubu", "u b[add] u[sin,neg] b[sub]"])
@pytest.mark.parametrize("pool", ["cumulative", "strict"])
def test_a_cut_that_keeps_all_changes_nothing(columns, layers, pool):
    whole = _space(columns, layers, pool=pool, operators="ablation")
    kept = _space(columns, layers, _keep_all, pool=pool, operators="ablation")
    assert _texts(kept) == _texts(whole)
    assert kept.counts[-1] == whole.counts[-1]
    assert [count.features for count in kept.counts] == [count.features for count in whole.counts]


def test_the_next_layer_is_applied_to_what_stays_and_to_the_inputs(columns, rng):
    chosen = []

    def some(space):
        numbers, lost = _features(space)
        chosen.append(rng.choice(numbers, 4, replace=False))
        stay = {to_text(space.expression(number)) for number in chosen[-1]}
        chosen.append(stay | {"a", "b", "c"})
        return Cut(chosen[-2], lost)

    space = _space(columns, "u b[add]", some)
    stay = chosen[-1]
    assert set(map(to_text, map(space.expression, range(len(space.base))))) == stay
    for number in _features(space)[0][len(space.base) :]:
        assert {to_text(argument) for argument in space.expression(number).arguments} <= stay


def test_what_was_cut_is_counted(columns):
    space = _space(columns, "ubu", lambda space: Cut(_features(space)[0][-2:], _features(space)[1]))
    whole = _space(columns, "u b")
    first = space.counts[1]
    assert first.pruned[Fate.CUT] == len(_features(_space(columns, "u"))[0]) - first.features
    assert first.features == 5
    assert first.generated == whole.counts[1].generated
    assert sum(first.pruned.values()) + first.features == first.generated + space.counts[0].features


def test_what_a_cut_left_out_is_not_made_again(columns):
    def cut(space):
        numbers, lost = _features(space)
        return Cut(numbers[:3] if len(space.counts) == 2 else numbers, lost)

    space = _space(columns, "b[add] u[sin] b[add]", cut)
    assert "a + b" not in _texts(space)
    assert "a + sin(b)" in _texts(space)
