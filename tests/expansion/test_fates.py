from __future__ import annotations

import tracemalloc
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from expansion.brute_force import problems
from expansion.judged_by_hand import judged_by_hand, layers
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.backends import Threads
from symscreen.expansion import REASONS, Fate, cases, duplicates, expand, fates, layer
from symscreen.expansion.candidates import candidates_of
from symscreen.expansion.nodes import structure_of
from symscreen.expansion.pool import Pool, first_pool
from symscreen.expression import key
from symscreen.grammar import OPERATORS, load_grammar, parse_layers
from symscreen.grammar.define import define_operator


@contextmanager
def bounded(at_once, bucket, block):
    """Judge in so small portions that every seam is met."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "_PASS", at_once)
        for name in ("_BUCKET", "_SPAN", "_SUSPECTS"):
            patch.setattr(duplicates, name, bucket)
        patch.setattr(cases, "_BLOCK", block)
        patch.setattr(fates, "_SCANNED", 8 * bucket)
        patch.setattr(layer, "_TOGETHER", 8 * bucket)
        yield


@settings(max_examples=200)
@given(layers(), st.integers(1, 50), st.integers(1, 8), st.integers(1, 50), st.sampled_from([1, 1, 1, 2]))
def test_every_candidate_is_judged_as_one_at_a_time(drawn, at_once, bucket, block, jobs):
    expected, replaced_by, winners = judged_by_hand(drawn)
    arguments = drawn.candidates, drawn.structure, drawn.pool, drawn.grammar
    with bounded(at_once, bucket, block):
        found = fates.judge(*arguments, **drawn.options, spread=Threads(jobs).map)
    assert [Fate(fate) for fate in found.fates] == expected
    assert np.flatnonzero(np.unpackbits(found.winners)).tolist() == sorted(winners)
    assert np.maximum(found.replaced_by, -1).tolist() == [max(one, -1) for one in replaced_by]
    whole = fates.judge(*arguments, **drawn.options)
    assert all((getattr(whole, name) == getattr(found, name)).all() for name in vars(whole))


@settings(max_examples=60)
@given(problems(), st.integers(1, 50), st.integers(1, 8), st.integers(1, 50), st.sampled_from([1, 1, 2]))
def test_bounded_passes_and_threads_give_the_same_space(problem, at_once, bucket, block, jobs):
    for columns in (problem.columns, None):
        arguments = replace(problem, columns=columns).arguments
        whole = expand(*arguments, also=problem.also)
        with bounded(at_once, bucket, block):
            found = expand(*arguments, also=problem.also, spread=Threads(jobs).map)
        assert (found.fates == whole.fates).all()
        assert found.counts == whole.counts


@settings(max_examples=60)
@given(problems())
def test_what_is_kept_has_a_key_of_its_own_and_what_is_a_duplicate_has_not(problem):
    space = expand(*problem.arguments, also=problem.also)
    keys = [key(space.expression(number)) for number in range(space.total)]
    kept = keys[: space.at_hand] + [
        keys[space.at_hand + place] for place in np.flatnonzero(space.fates == Fate.KEPT)
    ]
    assert len(set(kept)) == len(kept)
    for place in np.flatnonzero(space.fates == Fate.DUPLICATE):
        assert keys[space.at_hand + place] in kept


def judged(layer, names, values=None, *, known=True, **rules):
    """Judge one layer over the inputs; return what becomes of each candidate, by its number."""
    grammar = replace(load_grammar("basic"), forbid={}, forbid_within={}, **rules)
    layers = parse_layers(layer, (), (), OPERATORS)
    structure = structure_of(names, grammar, layers)
    pool = first_pool(structure, grammar, None if values is None else np.array(values))
    candidates = candidates_of(layers[0], structure, len(pool), {})
    have = pool.features if known else pool.features[:0]
    found = fates.judge(
        candidates,
        structure,
        pool.nodes,
        grammar,
        defined=pool.defined(layers[0].operators),
        known=pool.nodes.keys[have],
        burdens=cases.burden(pool.nodes.complexity[have]),
        grows=False,
        banned={},
    ).fates
    return [Fate(fate) for fate in found]


class TestReasons:
    def test_every_fate_but_kept_has_a_reason(self):
        assert set(REASONS) == set(Fate) - {Fate.KEPT}
        assert len(set(REASONS.values())) == len(REASONS)

    def test_a_rule_comes_before_the_cap(self):
        rules = {"columns": {"sin": frozenset({"x"})}, "max_complexity": 1}
        assert judged("u[sin]", ["x", "y"], **rules) == [Fate.COMPLEX, Fate.FORBIDDEN]

    def test_a_number_may_be_touched_by_every_operator(self):
        rules = {"columns": {"mul": frozenset({"y"})}, "constants": (3,)}
        # 3·3, 3·x, x·x, 3·y, x·y, y·y
        expected = [Fate.CONSTANT, Fate.FORBIDDEN, Fate.FORBIDDEN, Fate.KEPT, Fate.FORBIDDEN, Fate.KEPT]
        assert judged("b[mul]", ["x", "y"], **rules) == expected

    def test_a_quotient_of_equals_is_constant_even_where_it_is_undefined(self):
        assert judged("b[div]", ["x"]) == [Fate.CONSTANT]
        assert judged("b[div]", ["x"], [[0.0, 1.0, 2.0]]) == [Fate.CONSTANT]

    def test_domains_are_told_by_values_alone(self):
        values = [[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]
        assert judged("u[inv,log]", ["x", "y"]) == [Fate.KEPT] * 4
        assert judged("u[inv,log]", ["x", "y"], values) == [Fate.UNDEFINED, Fate.KEPT] * 2

    def test_what_is_undefined_does_not_stand_for_its_equal(self):
        # x/1 is listed before 1·x and stands for it, unless 1 may not be divided by
        everything = judged("b[div,mul]", ["x"], known=False, constants=(1,))
        assert everything[3::2] == [Fate.KEPT, Fate.DUPLICATE]
        barred = {"div": (np.ones(2, dtype=bool), np.zeros(2, dtype=bool))}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Pool, "defined", lambda *_: barred)
            found = judged("b[div,mul]", ["x"], known=False, constants=(1,))
        assert found[3::2] == [Fate.UNDEFINED, Fate.KEPT]

    def test_what_the_pool_has_is_not_made_again(self):
        # 1·1, 1·x, x·x
        expected = [Fate.CONSTANT, Fate.DUPLICATE, Fate.KEPT]
        assert judged("b[mul]", ["x"], constants=(1,)) == expected
        assert judged("b[mul]", ["x"], constants=(1,), known=False)[1] is Fate.KEPT


PREDICTED = ["b[mul]", "b[div,sub]", "b[pow,add,absdiff]", "b[min,max,mul,add,sub]", "b[left,right]"]


@pytest.mark.parametrize("text", PREDICTED)
def test_judging_takes_no_more_memory_than_predicted(text, monkeypatch):
    monkeypatch.setattr(cases, "_BLOCK", 1 << 12)
    monkeypatch.setattr(duplicates, "_PASS", 1 << 15)
    monkeypatch.setattr(duplicates, "_SUSPECTS", 1 << 14)
    names = [f"x{place}" for place in range(200)]
    grammar = replace(load_grammar("basic"), max_complexity=9)
    # of these every candidate but 200 is a duplicate
    own = {
        name: define_operator(name, text, OPERATORS) for name, text in (("left", "x+0*y"), ("right", "y+0*x"))
    }
    parsed = parse_layers(text, (), (), OPERATORS | own)
    structure = structure_of(names, grammar, parsed)
    pool = first_pool(structure, grammar, None)
    candidates, nodes = candidates_of(parsed[0], structure, len(pool), {}), pool.nodes
    tracemalloc.start()
    try:
        known = {"known": nodes.keys, "burdens": cases.burden(nodes.complexity), "grows": True, "banned": {}}
        found = fates.judge(candidates, structure, nodes, grammar, defined={}, **known).fates
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert not ("left" in text and (found != Fate.DUPLICATE).any())
    # half as much again for what does not grow with the candidates
    assert peak <= 1.5 * fates.judging_bytes(candidates.total)
