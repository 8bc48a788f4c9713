from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from helpers.expansion_oracles import problems
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import CandidateStatus, expand, feature_values
from symscreen.expansion.space import Space
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import compute_complexity, compute_key, evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.grammar import load_grammar

FEWER = settings(max_examples=60)


def spaces():
    return problems().map(
        lambda problem: (problem, expand(*problem.arguments, also=problem.also, options=SpaceOptions()))
    )


def streamed(space, start=0, stop=None):
    blocks = list(space.evaluate_range(start, space.total if stop is None else stop))
    numbers = np.concatenate([np.zeros(0, dtype=np.int64), *(block.numbers for block in blocks)])
    return numbers, np.concatenate(
        [np.zeros((0, space.pool.values.shape[1])), *(block.values for block in blocks)]
    )


@FEWER
@given(spaces())
def test_expressions_have_the_values_that_are_streamed(drawn):
    problem, space = drawn
    for number, row in zip(*streamed(space), strict=True):
        assert (evaluate_expression(space.build_expression(int(number)), problem.by_name) == row).all()


@FEWER
@given(spaces(), st.randoms())
def test_features_are_described_as_their_expressions_are(drawn, random):
    _, space = drawn
    numbers = list(range(space.total))
    random.shuffle(numbers)
    features = space.get_metadata(np.array(numbers, dtype=np.int64))
    expressions = [space.build_expression(number) for number in numbers]
    assert features.complexity.tolist() == [compute_complexity(one) for one in expressions]
    assert features.keys.tolist() == [list(compute_key(one)) for one in expressions]
    last = len(space.layer_counts) - 1
    for layer, number in zip(features.layer.tolist(), numbers, strict=True):
        if number < len(space.pool_indices):
            assert layer < last
        elif number < space.n_materialized:
            assert layer == 0
        else:
            assert layer <= last


@FEWER
@given(spaces(), st.randoms())
def test_values_are_computed_again_to_the_bit(drawn, random):
    _, space = drawn
    numbers, values = streamed(space)
    chosen = random.sample(range(len(numbers)), min(20, len(numbers)))
    places = np.array(chosen, dtype=np.int64)
    assert space.compute_values(numbers[places]).tobytes() == values[places].tobytes()


@FEWER
@given(spaces(), st.integers(1, 300), st.sampled_from([1, 10**3, 10**6]))
def test_chunks_cover_all_numbers_once_and_stream_the_same_bytes(drawn, size, block_bytes):
    _, space = drawn
    ranges = space.split_chunks(size)
    assert [number for start, stop in ranges for number in range(start, stop)] == list(range(space.total))
    assert all(stop - start == size for start, stop in ranges[:-1])
    numbers, values = streamed(space)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feature_values, "_BLOCK_BYTES", block_bytes)
        parts = [streamed(space, *each) for each in ranges]
    assert [number for part, _ in parts for number in part.tolist()] == numbers.tolist()
    assert b"".join(part.tobytes() for _, part in parts) == values.tobytes()


@pytest.mark.slow
@FEWER
@given(spaces())
def test_a_space_is_what_is_at_hand_and_the_candidates(drawn):
    problem, space = drawn
    assert space.n_materialized == len(space.pool_indices) + len(space.user_formulas.expressions)
    assert (
        space.total
        == space.n_materialized + space.candidates.total
        == space.n_materialized + len(space.statuses)
    )
    assert space.size == space.n_materialized + (space.statuses == CandidateStatus.KEPT).sum()
    if problem.pool_kind == "strict":
        assert not len(space.pool_indices)
    numbers, _ = streamed(space)
    assert numbers[: space.n_materialized].tolist() == list(range(space.n_materialized))
    assert (np.diff(numbers) > 0).all()


def test_inputs_come_in_blocks_as_large_as_those_of_candidates(rng):
    grammar, columns = load_grammar("basic"), rng.uniform(1.0, 2.0, (60, 10_000))
    names = [f"x{place}" for place in range(60)]
    space = expand(names, columns, grammar, grammar.resolve_layers("u"), options=SpaceOptions())
    size = feature_values.compute_block_size(10_000)
    assert 30 <= size < 60
    blocks = [len(block.numbers) for block in space.evaluate_features(np.arange(60))]
    assert blocks == [size, 60 - size]


def test_names_come_back_as_they_went_in(rng):
    names = ["a b", "lambda", "λ", "x`y", "N", "sin"]
    grammar = load_grammar("basic")
    space = expand(
        names, rng.uniform(0.5, 2, (6, 9)), grammar, grammar.resolve_layers("b"), options=SpaceOptions()
    )
    by_name = dict(zip(names, space.pool.values, strict=True))
    for number, row in zip(*streamed(space), strict=True):
        expression = space.build_expression(int(number))
        assert (
            evaluate_expression(parse_expression(to_text(expression), column_names=names), by_name) == row
        ).all()


def test_an_identity_is_of_the_layer_of_what_it_repeats():
    grammar = load_grammar("ablation")
    columns = np.arange(1.0, 9.0).reshape(1, 8)
    space = expand(["x"], columns, grammar, grammar.resolve_layers("uu"), "strict", options=SpaceOptions())
    numbers, _ = streamed(space)
    found = dict(
        zip(
            [to_text(space.build_expression(int(n))) for n in numbers],
            space.get_metadata(numbers).layer.tolist(),
            strict=True,
        )
    )
    assert found == {"x": 0, "x**3": 1, "(x**3)**3": 2}


@pytest.mark.parametrize(("features", "by_features"), [(100, False), (13, False), (12, True), (2, True)])
def test_chunks_count_features_where_fewer_than_a_sixteenth_of_the_numbers_are(features, by_features):
    numbers = np.linspace(0, 207, features).astype(np.int64)
    chunks = Space.split_chunks(SimpleNamespace(size=features, total=208, numbers=numbers), 10)
    assert [start for start, _ in chunks[1:]] == [stop for _, stop in chunks[:-1]]
    assert (chunks[0][0], chunks[-1][1]) == (0, 208)
    if by_features:
        held = [int(((numbers >= start) & (numbers < stop)).sum()) for start, stop in chunks]
        assert held == [10] * (features // 10) + [features % 10] * (features % 10 > 0)
    else:
        assert {stop - start for start, stop in chunks[:-1]} == {10}
