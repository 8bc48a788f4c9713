from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers.expansion_oracles import problems
from hypothesis import given, settings

from symscreen.backends import Threads
from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import expand
from symscreen.expansion.validity import is_equal_to_rounding
from symscreen.explain.feature_lookup import find_by_key, find_by_values, pick_simplest
from symscreen.grammar import load_grammar


@pytest.mark.slow
@settings(max_examples=30)
@given(problems())
def test_every_feature_is_found_by_its_key_and_by_its_values(problem):
    space = expand(*problem.arguments, also=problem.also, options=SpaceOptions())
    blocks = list(space.evaluate_range(0, space.total))
    useful = np.concatenate([np.zeros(0, dtype=np.int64), *(block.numbers for block in blocks)])
    for number in useful[::5].tolist():
        own = tuple(space.get_metadata(np.array([number])).keys[0].tolist())
        assert number in find_by_key(space, own, Threads(2)).features
        column = space.compute_values(np.array([number]))
        equal, copies = find_by_values(space, column[0], Threads(2), 16)
        every = space.compute_values(useful)
        same = is_equal_to_rounding(every, np.broadcast_to(column, every.shape))
        assert sorted(equal.tolist()) == useful[same].tolist()
        assert not set(equal.tolist()) & set(copies.tolist())
        assert pick_simplest(space, equal) in equal


def test_affine_copies_are_told_from_others():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.uniform(1, 2, (40, 2)), columns=["a", "b"])
    grammar = load_grammar("basic").override(unary=["neg", "log"], binary=["sub", "add"])
    space = expand(
        ("a", "b"),
        np.ascontiguousarray(frame.to_numpy().T),
        grammar,
        grammar.resolve_layers("ub"),
        options=SpaceOptions(),
    )
    _, copies = find_by_values(space, 3.0 - 2.0 * frame.a.to_numpy(), Threads(1), 1 << 14)
    texts = {str(space.build_expression(number)) for number in copies.tolist()}
    assert {"a", "-a", "a + a"} <= texts
    assert all("b" not in text and "log" not in text for text in texts)
