from __future__ import annotations

import numpy as np
import pandas as pd
from expansion.brute_force import problems
from hypothesis import given, settings

from symscreen.backends import Threads
from symscreen.expansion import expand
from symscreen.expansion.prune import equal_to_rounding
from symscreen.grammar import load_grammar
from symscreen.whereabouts.match import by_key, by_values, simplest_in


@settings(max_examples=30)
@given(problems())
def test_every_feature_is_found_by_its_key_and_by_its_values(problem):
    space = expand(*problem.arguments, also=problem.also)
    blocks = list(space.blocks(0, space.total))
    useful = np.concatenate([np.zeros(0, dtype=np.int64), *(block.numbers for block in blocks)])
    for number in useful[::5].tolist():
        own = tuple(space.features(np.array([number])).keys[0].tolist())
        assert number in by_key(space, own, Threads(2)).kept
        column = space.values(np.array([number]))
        equal, copies = by_values(space, column[0], Threads(2), 16)
        every = space.values(useful)
        same = equal_to_rounding(every, np.broadcast_to(column, every.shape))
        assert sorted(equal.tolist()) == useful[same].tolist()
        assert not set(equal.tolist()) & set(copies.tolist())
        assert simplest_in(space, equal) in equal


def test_affine_copies_are_told_from_others():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.uniform(1, 2, (40, 2)), columns=["a", "b"])
    grammar = load_grammar("basic").altered(unary=["neg", "log"], binary=["sub", "add"])
    space = expand(("a", "b"), np.ascontiguousarray(frame.to_numpy().T), grammar, grammar.parsed_layers("ub"))
    _, copies = by_values(space, 3.0 - 2.0 * frame.a.to_numpy(), Threads(1), 1 << 14)
    texts = {str(space.expression(number)) for number in copies.tolist()}
    assert {"a", "-a", "a + a"} <= texts
    assert all("b" not in text and "log" not in text for text in texts)
