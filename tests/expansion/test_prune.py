from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import CandidateStatus, expand, validity
from symscreen.expansion.validity import find_numeric_duplicates, is_constant, is_equal_to_rounding
from symscreen.expressions.printing import to_text
from symscreen.grammar import OPERATORS, Grammar, parse_layers

EPS = np.finfo(float).eps


def last_layer(layers, columns, names="xyz"):
    """Stream the last layer; return its formulas and what was lost for its values."""
    grammar = Grammar("all", OPERATORS, (), ())
    space = expand(
        list(names[: len(columns)]),
        np.array(columns),
        grammar,
        parse_layers(layers, (), (), OPERATORS),
        options=SpaceOptions(),
    )
    blocks = list(space.evaluate_range(space.n_materialized, space.total))
    found = {to_text(space.build_expression(int(number))) for block in blocks for number in block.numbers}
    lost = {
        fate: sum(block.n_invalid[fate] for block in blocks)
        for fate in (CandidateStatus.CONSTANT, CandidateStatus.UNDEFINED)
    }
    return found, lost, space


class TestConstant:
    @given(st.floats(1e-300, 1e300), st.integers(0, 20), st.sampled_from([-1.0, 1.0]))
    def test_a_few_units_of_rounding_are_constant(self, value, units, sign):
        values = sign * value * (1 + EPS * np.arange(units + 1))
        low, high = values.min(keepdims=True), values.max(keepdims=True)
        assert is_constant(low, high, np.abs(values).max(keepdims=True))[0]

    @given(st.floats(-1e300, 1e300), st.floats(1e-12, 1.0))
    def test_more_is_not(self, value, change):
        other = value + change * max(abs(value), 1e-300)
        low, high = np.array([min(value, other)]), np.array([max(value, other)])
        assert not is_constant(low, high, np.maximum(np.abs(low), np.abs(high)))[0]

    def test_zeros_are_constant(self):
        assert is_constant(np.zeros(1), np.zeros(1), np.zeros(1))[0]

    def test_sines_and_cosines_add_up_to_one(self, rng):
        layers = "u[sin,cos] u[square] b[add]"
        found, lost, _ = last_layer(layers, [rng.uniform(0, 9, 50)])
        assert "sin(x)**2 + cos(x)**2" not in found
        assert lost == {CandidateStatus.CONSTANT: 1, CandidateStatus.UNDEFINED: 0}

    def test_what_a_difference_leaves_of_equals_is_noise(self, rng):
        x, y = rng.uniform(0.5, 2.0, (2, 50))
        noise = np.log(x / y) + np.log(y / x)
        assert np.ptp(noise) > 0
        found, lost, _ = last_layer("b[div] u[log] b[add]", [x, y])
        assert "log(x/y) + log(y/x)" not in found
        assert "log(x/y) + x" in found or "x + log(x/y)" in found
        assert lost[CandidateStatus.CONSTANT] >= 1

    @pytest.mark.parametrize("operator", ["sub", "absdiff"])
    def test_a_difference_of_numeric_copies_is_noise(self, operator, rng):
        x, y = rng.uniform(0.5, 2.0, (2, 50))
        # the inputs z and x·y are equal up to rounding, not by algebra
        z = np.exp(np.log(x) + np.log(y))
        assert np.ptp(z - x * y) > 0
        found, lost, space = last_layer(f"b[{operator}]", [x, y, z])
        assert len(space.pool_indices) == 3
        assert lost[CandidateStatus.CONSTANT] == 0
        assert len(found) == space.size - 3


class TestUndefined:
    def test_logarithms_of_what_is_not_positive(self):
        for bad in (0.0, -1.0):
            found, _, space = last_layer("u[log,sqrt]", [[bad, 1.0, 2.0], [1.0, 2.0, 3.0]])
            assert found == ({"log(y)", "sqrt(y)"} if bad < 0 else {"log(y)", "sqrt(x)", "sqrt(y)"})
            assert space.layer_counts[-1].n_excluded == {CandidateStatus.UNDEFINED: 2 if bad < 0 else 1}

    def test_division_by_zero(self):
        found, _, space = last_layer("b[div]", [[0.0, 1.0, 2.0], [1.0, 2.0, 4.0]])
        assert found == {"x/y"}
        assert space.layer_counts[-1].n_excluded == {
            CandidateStatus.CONSTANT: 2,
            CandidateStatus.UNDEFINED: 1,
        }

    def test_no_operator_makes_a_number_of_infinity(self):
        # 1/exp(800) would be 0 and 1/(1/0) would be 0 again
        found, lost, space = last_layer("u[exp] u[inv]", [[800.0, 1.0, 2.0]])
        assert found == {"1/x"}
        assert space.layer_counts[1].n_excluded == {CandidateStatus.UNDEFINED: 1}
        found, _, _ = last_layer("u[inv] u[inv]", [[0.0, 1.0, 2.0]])
        assert found == set()
        assert lost[CandidateStatus.UNDEFINED] == 0

    def test_overflow(self):
        found, lost, _ = last_layer("b[mul,add]", [[1e200, 1.0, 2.0], [1e110, 1.0, 3.0]])
        assert found == {"y*y", "x + x", "x + y", "y + y"}
        assert lost == {CandidateStatus.UNDEFINED: 2, CandidateStatus.CONSTANT: 0}


class TestEqualToRounding:
    def test_a_wide_range_keeps_its_small_values_apart(self):
        a = np.array([[1e12, 1.0, 2.0]])
        assert not is_equal_to_rounding(a, np.array([[1e12, 1.0 + 1e-6, 2.0]]))[0]
        assert not is_equal_to_rounding(a, np.array([[1e12 * (1 + 1e-12), 1.0, 2.0]]))[0]
        assert is_equal_to_rounding(a, np.array([[1e12 * (1 + 1e-14), 1.0 + 1e-10, 2.0]]))[0]

    def test_the_largest_numbers_do_not_overflow(self):
        a = np.array([[1.7e308, -1.7e308]])
        assert is_equal_to_rounding(a, a)[0]
        assert not is_equal_to_rounding(a, -a)[0]


@st.composite
def near_copies(draw):
    """Features of which many are copies of one another, exactly, nearly, or but for a row."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.integers(1, 9))
    originals = rng.normal(size=(4, n)) * np.exp(
        draw(st.sampled_from([0.0, 1.0, 40.0])) * rng.normal(size=(4, n))
    )
    originals[rng.random((4, n)) < draw(st.sampled_from([0.0, 0.2]))] = 0.0
    rows = []
    for _ in range(draw(st.integers(0, 25))):
        row = originals[rng.integers(4)] * draw(st.sampled_from([1.0, 1.0, -1.0, 2.0]))
        noise = draw(st.sampled_from([0.0, 1e-15, 4e-14, 7e-14, 2e-13, 1e-10, 1e-9, 3e-9]))
        row = row * (1 + noise * rng.choice([-1, 0, 1], n))
        if draw(st.booleans()):
            row[rng.integers(n)] *= draw(st.sampled_from([1.0, 1 + 1e-12, 0.0, -1.0]))
        rows.append(row)
    return np.array(rows).reshape(-1, n), rng.permutation(len(rows))


def copies_by_hand(values, preference):
    """Compare all pairs; the preferred one of those linked stands for them."""
    q = len(values)
    group = list(range(q))
    for a in range(q):
        for b in range(a):
            if is_equal_to_rounding(values[a][None], values[b][None])[0]:
                old, new = group[a], group[b]
                group = [new if one == old else one for one in group]
    return [
        min((p for p in range(q) if group[p] == group[place]), key=lambda p: preference[p])
        for place in range(q)
    ]


@pytest.mark.slow
@settings(max_examples=200)
@given(near_copies(), st.sampled_from([1, 20, 1 << 17]))
def test_numeric_copies_are_those_of_all_pairs(drawn, at_a_time):
    values, preference = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validity, "_BATCH_VALUES", at_a_time)
        assert find_numeric_duplicates(values, preference).tolist() == copies_by_hand(values, preference)


@pytest.mark.parametrize("preference", list(permutations(range(4))))
def test_a_chain_of_copies_is_one_whoever_is_preferred(preference):
    # each is a copy of the next, none of the one after
    values = np.array([[1.0], [1 + 7e-14], [1 + 14e-14], [1 + 21e-14]])
    assert not is_equal_to_rounding(values[:2], values[2:]).any()
    assert find_numeric_duplicates(values, np.array(preference)).tolist() == [preference.index(0)] * 4


def test_copies_are_found_beside_features_of_other_sizes():
    # values that cancel in any sum, with a small feature between them in every such order
    big = np.array([1e8, -1e8, 1e8, -1e8, 3.0])
    values = np.array([big, big * 1e-16, big * (1 + 2e-14), big * 2e-16, -big])
    assert find_numeric_duplicates(values, np.arange(5)).tolist() == [0, 1, 0, 3, 4]


def test_extreme_values_neither_overflow_nor_vanish():
    values = np.array([[1.79e308] * 8, [-1.79e308] * 8, [5e-324] * 8, [0.0] * 8, [1.79e308] * 8, [0.0] * 8])
    assert find_numeric_duplicates(values, np.arange(6)[::-1]).tolist() == [4, 1, 2, 5, 4, 5]


def test_many_copies_are_one(rng):
    values = np.repeat(rng.normal(size=(3, 6)), 200, axis=0)[rng.permutation(600)]
    places = find_numeric_duplicates(values, np.arange(600))
    assert len(set(places.tolist())) == 3
    assert (values[places] == values).all()


def test_logarithms_of_products_are_sums_of_logarithms(rng):
    x, y = rng.uniform(1.5, 4.0, (2, 50))
    _, _, space = last_layer("u[log] b[add,mul] u[log] b[sub]", [x, y])
    found = {to_text(space.build_expression(place)) for place in range(space.n_materialized)}
    assert {"log(x*y)", "x*y", "log(log(x))"} <= found
    assert "log(x) + log(y)" not in found
    assert space.layer_counts[3].n_excluded[CandidateStatus.NUMERIC_DUPLICATE] >= 1
