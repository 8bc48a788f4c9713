from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.expansion.candidates import OperatorRange, enumerate_candidates
from symscreen.expansion.nodes import build_symbol_table
from symscreen.grammar import OPERATORS, load_grammar, parse_layers

KINDS = ["one", "unordered", "ordered"]
GRAMMAR = load_grammar("basic")


def pairs_among(pairs, size):
    """All arguments among the first places of a pool, in no order of their own."""
    if pairs == "one":
        return {(place, place) for place in range(size)}
    everything = set(product(range(size), repeat=2))
    return everything if pairs == "ordered" else {(a, b) for a, b in everything if a <= b}


def segment(pairs, size, tried, start=0):
    left_out = len(pairs_among(pairs, tried))
    return OperatorRange(0, pairs, start, len(pairs_among(pairs, size)) - left_out, left_out)


def decoded(one, numbers):
    left, right = one.decode(np.asarray(numbers, dtype=np.int64))
    return list(zip(left.tolist(), right.tolist(), strict=True))


@given(st.sampled_from(KINDS), st.integers(0, 40), st.integers(0, 40), st.integers(0, 10**12))
def test_numbers_are_the_pairs_that_have_not_been_tried(pairs, size, tried, start):
    tried = min(size, tried)
    one = segment(pairs, size, tried, start)
    found = decoded(one, np.arange(one.count) + start)
    assert len(found) == one.count
    assert set(found) == pairs_among(pairs, size) - pairs_among(pairs, tried)
    later = [max(pair) for pair in found]
    assert later == sorted(later)


large = st.integers(0, 2 * 10**6) | st.integers(10**6, 10**9)


@given(st.sampled_from(["unordered", "ordered"]), large, st.data())
def test_large_numbers_are_decoded_exactly(pairs, later, data):
    """Around the first pair of a place a float root would be one off; Python's integers are not."""
    other = data.draw(st.sampled_from([0, later]) | st.integers(0, later))
    if pairs == "unordered":
        number, pair = later * (later + 1) // 2 + other, (other, later)
    else:
        number, pair = later**2 + other, (other, later)
        if other < later:
            assert decoded(segment(pairs, 0, 0), [number + later + 1]) == [(later, other)]
    assert decoded(segment(pairs, 0, 0), [number]) == [pair]


@pytest.mark.parametrize(
    ("pairs", "first"), [("unordered", lambda j: j * (j + 1) // 2), ("ordered", lambda j: j * j)]
)
@pytest.mark.parametrize("later", [1_414_213, 10**6, 94_906_267, 10**9])
def test_the_numbers_around_a_first_pair(pairs, first, later):
    number = first(later)
    before, after = decoded(segment(pairs, 0, 0), [number - 1, number])
    assert before == ((later - 1, later - 1) if pairs == "unordered" else (later - 1, later - 2))
    assert after == (0, later)


@st.composite
def layers(draw):
    kind, arity = draw(st.sampled_from([("u", 1), ("b", 2)]))
    names = [name for name, operator in OPERATORS.items() if operator.arity == arity]
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True))
    (layer,) = parse_layers(f"{kind}[{','.join(chosen)}]", (), (), OPERATORS)
    size = draw(st.integers(0, 12))
    tried = draw(st.dictionaries(st.sampled_from(layer.operators), st.integers(0, size)))
    return layer, size, tried


@given(layers())
def test_a_layer_numbers_what_each_operator_has_not_tried(drawn):
    layer, size, tried = drawn
    structure = build_symbol_table(["x"], GRAMMAR, [layer])
    candidates = enumerate_candidates(layer, structure, size, tried)
    codes, left, right = candidates.locate(np.arange(candidates.total))
    found = list(zip(codes.tolist(), left.tolist(), right.tolist(), strict=True))
    expected = set()
    for operator in layer.operators:
        pairs = "one" if operator.arity == 1 else "unordered" if operator.commutative else "ordered"
        fresh = pairs_among(pairs, size) - pairs_among(pairs, tried.get(operator, 0))
        expected |= {(structure.get_code(operator), *pair) for pair in fresh}
    assert len(found) == len(set(found)) == candidates.total
    assert set(found) == expected
    assert codes.tolist() == sorted(
        codes.tolist(), key=[structure.get_code(one) for one in layer.operators].index
    )


@given(layers(), st.integers(0, 300), st.integers(0, 300))
def test_parts_cover_a_range_once_operator_by_operator(drawn, start, stop):
    layer, size, tried = drawn
    candidates = enumerate_candidates(layer, build_symbol_table(["x"], GRAMMAR, [layer]), size, tried)
    parts = candidates.split_range(start, stop)
    numbers = [number for _, first, last in parts for number in range(first, last)]
    assert numbers == list(range(min(start, candidates.total), min(stop, candidates.total)))
    for one, first, last in parts:
        assert one.start <= first < last <= one.start + one.count


@given(layers(), st.randoms())
def test_locate_takes_numbers_in_any_order(drawn, random):
    layer, size, tried = drawn
    candidates = enumerate_candidates(layer, build_symbol_table(["x"], GRAMMAR, [layer]), size, tried)
    numbers = list(range(candidates.total))
    random.shuffle(numbers)
    shuffled = np.array(numbers, dtype=np.int64)
    for one, other in zip(
        candidates.locate(shuffled), candidates.locate(np.arange(len(numbers))), strict=True
    ):
        assert (one == other[shuffled]).all()
