from __future__ import annotations

import tracemalloc
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from helpers.candidate_filter_oracle import judged_by_hand, layers
from helpers.expansion_oracles import problems
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.backends import Threads
from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import (
    EXCLUSION_REASONS,
    CandidateStatus,
    candidate_filter,
    expand,
    generation,
    operator_tasks,
)
from symscreen.expansion.candidates import enumerate_candidates
from symscreen.expansion.nodes import build_symbol_table
from symscreen.expansion.pool import Pool, build_first_pool
from symscreen.expressions.traversal import compute_key
from symscreen.grammar import OPERATORS, load_grammar, parse_layers
from symscreen.grammar.custom_operators import define_operator


@contextmanager
def bounded(at_once, bucket, block):
    """Judge in so small portions that every seam is met."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidate_filter, "_PASS_ENTRIES", at_once)
        for name in ("_BUCKET_ENTRIES", "_MIN_TASK_SIZE", "_MAX_COLLISIONS"):
            patch.setattr(candidate_filter, name, bucket)
        patch.setattr(operator_tasks, "_KEY_BLOCK_SIZE", block)
        patch.setattr(candidate_filter, "_SCAN_SIZE", 8 * bucket)
        patch.setattr(generation, "_BATCH_CANDIDATES", 8 * bucket)
        yield


@pytest.mark.slow
@settings(max_examples=100)
@given(layers(), st.integers(1, 50), st.integers(1, 8), st.integers(1, 50), st.sampled_from([1, 1, 1, 2]))
def test_every_candidate_is_judged_as_one_at_a_time(drawn, at_once, bucket, block, jobs):
    expected, replaced_by, winners = judged_by_hand(drawn)
    arguments = drawn.candidates, drawn.structure, drawn.pool, drawn.grammar
    with bounded(at_once, bucket, block):
        found = candidate_filter.filter_candidates(
            *arguments, **drawn.options, map_function=Threads(jobs).map
        )
    assert [CandidateStatus(fate) for fate in found.statuses] == expected
    assert np.flatnonzero(np.unpackbits(found.representatives)).tolist() == sorted(winners)
    assert np.maximum(found.replaced_by, -1).tolist() == [max(one, -1) for one in replaced_by]
    whole = candidate_filter.filter_candidates(*arguments, **drawn.options)
    assert all((getattr(whole, name) == getattr(found, name)).all() for name in vars(whole))


@pytest.mark.slow
@settings(max_examples=30)
@given(problems(), st.integers(1, 50), st.integers(1, 8), st.integers(1, 50), st.sampled_from([1, 1, 2]))
def test_bounded_passes_and_threads_give_the_same_space(problem, at_once, bucket, block, jobs):
    for columns in (problem.columns, None):
        arguments = replace(problem, columns=columns).arguments
        whole = expand(*arguments, also=problem.also, options=SpaceOptions())
        with bounded(at_once, bucket, block):
            found = expand(
                *arguments, also=problem.also, map_function=Threads(jobs).map, options=SpaceOptions()
            )
        assert (found.statuses == whole.statuses).all()
        assert found.layer_counts == whole.layer_counts


@settings(max_examples=60)
@given(problems())
def test_what_is_kept_has_a_key_of_its_own_and_what_is_a_duplicate_has_not(problem):
    space = expand(*problem.arguments, also=problem.also, options=SpaceOptions())
    keys = [compute_key(space.build_expression(number)) for number in range(space.total)]
    kept = keys[: space.n_materialized] + [
        keys[space.n_materialized + place] for place in np.flatnonzero(space.statuses == CandidateStatus.KEPT)
    ]
    assert len(set(kept)) == len(kept)
    for place in np.flatnonzero(space.statuses == CandidateStatus.DUPLICATE):
        assert keys[space.n_materialized + place] in kept


def judged(layer, names, values=None, *, known=True, **rules):
    """Judge one layer over the inputs; return what becomes of each candidate, by its number."""
    no_rules = {"forbid": {}, "forbid_within": {}, "max_range": {}}
    grammar = replace(load_grammar("basic"), **(no_rules | rules))
    layers = parse_layers(layer, (), (), OPERATORS)
    structure = build_symbol_table(names, grammar, layers)
    pool = build_first_pool(structure, grammar, None if values is None else np.array(values))
    candidates = enumerate_candidates(layers[0], structure, len(pool), {})
    have = pool.feature_indices if known else pool.feature_indices[:0]
    found = candidate_filter.filter_candidates(
        candidates,
        structure,
        pool.nodes,
        grammar,
        domain_masks=pool.compute_domain_masks(layers[0].operators),
        range_masks=pool.compute_range_masks(grammar.max_range),
        existing_keys=pool.nodes.keys[have],
        tie_break_ranks=operator_tasks.compute_tie_break_rank(pool.nodes.complexity[have]),
        has_next_layer=False,
        excluded={},
    ).statuses
    return [CandidateStatus(fate) for fate in found]


class TestReasons:
    def test_every_fate_but_kept_has_a_reason(self):
        assert set(EXCLUSION_REASONS) == set(CandidateStatus) - {CandidateStatus.KEPT}
        assert len(set(EXCLUSION_REASONS.values())) == len(EXCLUSION_REASONS)

    def test_a_rule_comes_before_the_cap(self):
        rules = {"columns": {"sin": frozenset({"x"})}, "max_complexity": 1}
        assert judged("u[sin]", ["x", "y"], **rules) == [
            CandidateStatus.TOO_COMPLEX,
            CandidateStatus.FORBIDDEN,
        ]

    def test_a_number_may_be_touched_by_every_operator(self):
        rules = {"columns": {"mul": frozenset({"y"})}, "constants": (3,)}
        # 3·3, 3·x, x·x, 3·y, x·y, y·y
        expected = [
            CandidateStatus.CONSTANT,
            CandidateStatus.FORBIDDEN,
            CandidateStatus.FORBIDDEN,
            CandidateStatus.KEPT,
            CandidateStatus.FORBIDDEN,
            CandidateStatus.KEPT,
        ]
        assert judged("b[mul]", ["x", "y"], **rules) == expected

    def test_a_quotient_of_equals_is_constant_even_where_it_is_undefined(self):
        assert judged("b[div]", ["x"]) == [CandidateStatus.CONSTANT]
        assert judged("b[div]", ["x"], [[0.0, 1.0, 2.0]]) == [CandidateStatus.CONSTANT]

    def test_domains_are_told_by_values_alone(self):
        values = [[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]
        assert judged("u[inv,log]", ["x", "y"]) == [CandidateStatus.KEPT] * 4
        assert (
            judged("u[inv,log]", ["x", "y"], values) == [CandidateStatus.UNDEFINED, CandidateStatus.KEPT] * 2
        )

    def test_an_argument_of_a_wider_range_than_allowed_is_left_out(self):
        values = [[0.0, 1.0, 2.0], [1.0, 2.0, 12.0], [-5.0, 0.0, 5.0]]
        names, rules = ["x", "y", "z"], {"max_range": {"exp": 10.0}}
        expected = [CandidateStatus.KEPT, CandidateStatus.WIDE_RANGE, CandidateStatus.KEPT]
        assert judged("u[exp]", names, values, **rules) == expected
        assert judged("u[exp]", names, values, max_range={}) == [CandidateStatus.KEPT] * 3
        assert judged("u[exp]", names, **rules) == [CandidateStatus.KEPT] * 3  # without values

    def test_what_is_undefined_does_not_stand_for_its_equal(self):
        # x/1 is listed before 1·x and stands for it, unless 1 may not be divided by
        everything = judged("b[div,mul]", ["x"], known=False, constants=(1,))
        assert everything[3::2] == [CandidateStatus.KEPT, CandidateStatus.DUPLICATE]
        barred = {"div": (np.ones(2, dtype=bool), np.zeros(2, dtype=bool))}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Pool, "compute_domain_masks", lambda *_: barred)
            found = judged("b[div,mul]", ["x"], known=False, constants=(1,))
        assert found[3::2] == [CandidateStatus.UNDEFINED, CandidateStatus.KEPT]

    def test_what_the_pool_has_is_not_made_again(self):
        # 1·1, 1·x, x·x
        expected = [CandidateStatus.CONSTANT, CandidateStatus.DUPLICATE, CandidateStatus.KEPT]
        assert judged("b[mul]", ["x"], constants=(1,)) == expected
        assert judged("b[mul]", ["x"], constants=(1,), known=False)[1] is CandidateStatus.KEPT


PREDICTED = ["b[mul]", "b[div,sub]", "b[pow,add,absdiff]", "b[min,max,mul,add,sub]", "b[left,right]"]


@pytest.mark.parametrize("text", PREDICTED)
def test_judging_takes_no_more_memory_than_predicted(text, monkeypatch):
    monkeypatch.setattr(operator_tasks, "_KEY_BLOCK_SIZE", 1 << 12)
    monkeypatch.setattr(candidate_filter, "_PASS_ENTRIES", 1 << 15)
    monkeypatch.setattr(candidate_filter, "_MAX_COLLISIONS", 1 << 14)
    names = [f"x{place}" for place in range(200)]
    grammar = replace(load_grammar("basic"), max_complexity=9)
    # of these every candidate but 200 is a duplicate
    own = {
        name: define_operator(name, text, OPERATORS) for name, text in (("left", "x+0*y"), ("right", "y+0*x"))
    }
    parsed = parse_layers(text, (), (), OPERATORS | own)
    structure = build_symbol_table(names, grammar, parsed)
    pool = build_first_pool(structure, grammar, None)
    candidates, nodes = enumerate_candidates(parsed[0], structure, len(pool), {}), pool.nodes
    tracemalloc.start()
    try:
        known = {
            "existing_keys": nodes.keys,
            "tie_break_ranks": operator_tasks.compute_tie_break_rank(nodes.complexity),
            "has_next_layer": True,
            "excluded": {},
        }
        found = candidate_filter.filter_candidates(
            candidates, structure, nodes, grammar, domain_masks={}, range_masks={}, **known
        ).statuses
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert not ("left" in text and (found != CandidateStatus.DUPLICATE).any())
    # half as much again for what does not grow with the candidates
    assert peak <= 1.5 * candidate_filter.estimate_filter_bytes(candidates.total)


def test_a_pass_takes_half_of_the_free_memory_within_bounds():
    least, most = candidate_filter._PASS_ENTRIES, candidate_filter._MAX_PASS_ENTRIES
    choose = candidate_filter.choose_pass_entries
    assert choose(10**9, None) == choose(10**9, 0) == choose(10**9, -(10**9)) == least
    assert choose(10**9, 16 * 50_000_000) == 50_000_000
    assert choose(10**9, 10**12) == most
    assert choose(30_000_000, 10**12) == 30_000_000
