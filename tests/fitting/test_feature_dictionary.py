from __future__ import annotations

import numpy as np
import pytest
from helpers.fitting_cases import dictionary, space_of, table_of

from symscreen.backends import Threads
from symscreen.expressions.traversal import compute_complexity, compute_key, evaluate_expression
from symscreen.fitting import get_input_columns
from symscreen.fitting.feature_dictionary import build_dictionary, make_empty_dictionary, select_terms


@pytest.fixture
def table(rng):
    x = rng.uniform(0.5, 2.0, (2, 30))
    return table_of(x, x[0] ** 3 + x[1] + rng.normal(0, 0.1, 30))


def test_a_named_feature_is_what_its_expression_says(table):
    space = space_of(table, "ub")
    one = build_dictionary(space, space.numbers, 17.0)
    assert len(one) == space.size
    assert set(one.search_sizes.tolist()) == {17.0}
    assert not one.n_constants.any()
    for place, expression in enumerate(one.expressions):
        np.testing.assert_array_equal(
            one.values[place], evaluate_expression(expression, get_input_columns(table))
        )
        assert one.complexity[place] == compute_complexity(expression)
        assert tuple(one.keys[place].tolist()) == compute_key(expression)


@pytest.mark.parametrize("limit", [5, 10_000])
def test_a_space_gives_distinct_features_the_simplest_first(table, limit):
    space = space_of(table, "ub", "strogatz")
    one = select_terms(space, table.target, limit, Threads(1))
    assert one.complexity.tolist() == sorted(one.complexity)
    assert len(np.unique(one.signatures)) == len(one)
    assert set(one.search_sizes.tolist()) == {float(space.size)}
    assert len(one) == limit if limit < space.size else len(one) > 100


def test_new_features_stand_behind_the_old_and_copies_are_told_their_stand_in(rng):
    old, more = dictionary(rng, [1, 2, 3]), dictionary(rng, [4, 5, 6, 7])
    more.values[1] = 5 - 2 * old.values[2]  # an affine copy of an old one
    more.values[3] = more.values[0] / 3  # and one of a new one
    both, places = old.merge(more)
    assert places.tolist() == [3, 2, 4, 3]
    assert len(both) == 5
    np.testing.assert_array_equal(both.values, np.vstack([old.values, more.values[[0, 2]]]))
    assert both.complexity.tolist() == [1, 2, 3, 4, 6]
    again, same = both.merge(more)
    assert len(again) == 5
    assert same.tolist() == places.tolist()


def test_a_simpler_copy_takes_the_place_of_an_older_one(rng):
    old, more = dictionary(rng, [1, 4, 3], rivals=7.0), dictionary(rng, [2, 2, 3], rivals=99.0)
    more.values[:] = -old.values[[1, 1, 2]]
    both, places = old.merge(more)
    assert places.tolist() == [1, 1, 2]
    assert both.complexity.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(both.values, np.vstack([old.values[0], more.values[0], old.values[2]]))
    assert both.search_sizes.tolist() == [7.0] * 3
    assert old.complexity.tolist() == [1, 4, 3]


def test_features_that_are_nearly_the_same_are_two(rng):
    one = dictionary(rng, [1, 1])
    one.values[1] = one.values[0] + 1e-5 * one.values[1]
    assert len(np.unique(one.signatures)) == 2


def test_taking_and_joining_keep_every_field(rng):
    one = dictionary(rng, [1, 2, 3], constants=2)
    back = one.take(np.array([2])).concatenate(one.take(np.array([0, 1])))
    assert back.complexity.tolist() == [3, 1, 2]
    assert [str(term) for term in back.expressions] == ["f2", "f0", "f1"]
    assert back.keys.tolist() == one.keys[[2, 0, 1]].tolist()
    assert back.n_constants.tolist() == [2, 2, 2]
    assert back.search_sizes.tolist() == [10.0] * 3


def test_an_empty_dictionary_takes_all_that_comes(rng):
    more = dictionary(rng, [3, 1], rows=8)
    both, places = make_empty_dictionary(8).merge(more)
    assert places.tolist() == [0, 1]
    np.testing.assert_array_equal(both.values, more.values)
