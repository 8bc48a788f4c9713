from __future__ import annotations

import importlib
from itertools import combinations

import numpy as np
import pytest
from helpers.fitting_cases import (
    best_share,
    dictionary,
    every_feature,
    found_in,
    share_left,
    space_of,
    table_of,
)

from symscreen.backends import Threads
from symscreen.data import replace_target, take_rows
from symscreen.fitting import (
    EXACT_SHARE,
    FitData,
    ModelSearchBudget,
    compute_rounding_share,
    get_input_columns,
    search_all_subsets,
)
from symscreen.fitting.feature_dictionary import select_terms
from symscreen.fitting.subset_search import ModelSearchResult, merge_search_results
from symscreen.targets import NumericTarget


def _noisy(rng, n=40, d=2):
    x = rng.uniform(-2.0, 2.0, (d, n))
    return table_of(x, x[0] ** 3 - x[1] + x[0] * x[1] + rng.normal(size=n))


def _of_size(found, size):
    return {members: share for members, share in found.models.items() if len(members) == size}


def _texts(found, members):
    return [str(found.terms.expressions[place]) for place in members]


def _assert_true(found, y):
    """Every model is ascending, and its share is what least squares leaves."""
    for members, share in found.models.items():
        assert list(members) == sorted(set(members))
        assert share == pytest.approx(share_left(found.terms.values[list(members)], y), rel=1e-7, abs=1e-15)


@pytest.mark.slow
def test_a_small_spaces_best_models_are_those_of_brute_force(rng):
    table = _noisy(rng)
    space, y = space_of(table, "ub"), table.target.values
    found = found_in([space], table, models_per_size=10)
    assert found.n_features == space.size
    _assert_true(found, y)
    distinct = found.terms.values
    for size in (1, 2, 3):
        brute = sorted(
            share_left(distinct[list(some)], y) for some in combinations(range(len(distinct)), size)
        )
        assert sorted(_of_size(found, size).values())[:10] == pytest.approx(brute[:10], rel=1e-7)
    _, values = every_feature(space)  # affine copies and all
    for size in (1, 2, 3):
        assert min(_of_size(found, size).values()) == pytest.approx(best_share(values, y, size), rel=1e-7)
    assert min(_of_size(found, 4).values()) == pytest.approx(best_share(distinct, y, 4), rel=1e-7)


@pytest.mark.parametrize("terms", [1, 2, 3])
def test_no_model_is_larger_than_was_asked(rng, terms):
    table = _noisy(rng)
    found = found_in([space_of(table, "ub")], table, max_terms=terms)
    assert set(map(len, found.models)) == set(range(1, terms + 1))


@pytest.mark.parametrize(("rows", "most"), [(5, 3), (4, 2), (3, 1)])
def test_no_model_passes_through_all_points_for_want_of_rows(rng, rows, most):
    table = take_rows(_noisy(rng), np.arange(rows) * 3)
    found = found_in([space_of(table, "ub")], table)
    assert max(map(len, found.models)) == most
    assert not found.has_exact_model


@pytest.mark.slow
def test_each_feature_of_a_large_space_is_tried_with_the_core(rng):
    table = _noisy(rng, d=3)
    space, y = space_of(table, "bub"), table.target.values
    effort = {"exhaustive_features": 25, "core_features": 6, "models_per_size": 5}
    assert space.size > 800
    found = found_in([space], table, **effort)
    _assert_true(found, y)
    _, values = every_feature(space)
    simple = select_terms(space, table.target, 25, Threads(1))
    # the core is six of the simplest; whichever six they are, no other choice of the ties is better
    core = [place for place in range(25) if simple.complexity[place] <= simple.complexity[5]]
    near = np.argsort([share_left(simple.values[[place]], y) for place in core])
    core = sorted(core, key=lambda place: (simple.complexity[place], list(near).index(core.index(place))))[:6]
    for size in (0, 1, 2):
        brute = min(
            share_left(np.vstack([values[[k]], simple.values[list(some)]]), y)
            for k in range(0, len(values), 4)  # a quarter of the features
            for some in combinations(core, size)
        )
        assert min(_of_size(found, size + 1).values()) <= brute * (1 + 1e-9)


@pytest.mark.slow
def test_one_deep_term_and_two_simple_ones_are_found_exactly(rng):
    x = rng.uniform(0.5, 2.0, (3, 60))
    table = table_of(x, 3 * (x[0] * x[1]) ** 3 * x[2] ** 3 - 2 * x[0] + 0.5 * x[1] + 7)
    spaces = [space_of(table, layers) for layers in ("b", "bu", "bub")]
    found = found_in(spaces, table, exhaustive_features=40)
    assert found.has_exact_model
    exact = [members for members, share in _of_size(found, 3).items() if share == 0.0]
    assert any(set(_texts(found, members)) > {"x1", "x2"} for members in exact)
    assert not any(share == 0.0 for size in (1, 2) for share in _of_size(found, size).values())


def test_a_deep_term_that_shows_only_beside_two_simple_ones_is_found(rng):
    x = rng.uniform(0.5, 2.0, (3, 60))
    table = table_of(x, 5 * x[0] - 3 * x[1] + 1e-4 * (x[0] * x[2]) ** 3 * x[1])
    found = found_in([space_of(table, "bub")], table, exhaustive_features=20, models_per_size=3)
    assert found.has_exact_model
    assert min(len(members) for members, share in found.models.items() if share == 0.0) == 3


@pytest.mark.slow
def test_simple_models_are_kept_beside_better_ones_of_deep_features(rng):
    table = _noisy(rng)
    found = found_in(
        [space_of(table, "bub")], table, exhaustive_features=10_000, models_per_size=2, max_terms=2
    )
    y, simple = table.target.values, np.argsort(found.terms.complexity, kind="stable")
    for size in (1, 2):
        shares = {
            some: share_left(found.terms.values[list(some)], y)
            for some in combinations(range(len(simple)), size)
        }
        for count in (len(simple), len(simple) // 2, len(simple) // 4, len(simple) // 8):
            chosen = np.sort(simple[:count]).tolist()
            assert min(combinations(chosen, size), key=shares.get) in found.models


def test_the_core_is_the_simplest_and_of_equals_the_nearest_to_the_response(rng):
    room = importlib.import_module("symscreen.fitting.subset_search")
    terms = dictionary(rng, [3, 1, 2, 2, 2, 1])
    y = np.sort(rng.normal(size=30))
    terms.values[3], terms.values[4] = y + 0.1 * rng.normal(size=30), -y + rng.normal(size=30)
    found = room.ModelSearchResult(terms, {}, 0, 0)
    assert room._select_core(
        found, FitData({}, NumericTarget(y)), ModelSearchBudget(core_features=4)
    ).tolist() == [1, 3, 4, 5]
    assert room._select_core(
        found, FitData({}, NumericTarget(y)), ModelSearchBudget(core_features=99)
    ).tolist() == [
        0,
        1,
        2,
        3,
        4,
        5,
    ]


def test_once_exact_no_larger_space_is_searched(rng):
    x = rng.uniform(0.5, 2.0, (2, 30))
    table = table_of(x, x[0] ** 3 + x[1])
    small, large = space_of(table, "u"), space_of(table, "bub")
    assert found_in([small, large], table, exhaustive_features=100).n_features == small.size
    assert found_in([small, large], table, exhaustive_features=10_000).n_features == small.size + large.size


@pytest.mark.slow
@pytest.mark.parametrize("layers", ["ub", "bub"])
def test_the_answer_is_the_same_to_the_bit_for_any_threads_and_order(rng, layers):
    x = rng.uniform(-2.0, 2.0, (3, 60))
    y = x[0] ** 3 - x[1] * x[2] + rng.normal(size=60)
    table = table_of(x, y)
    other = rng.permutation(60)
    again = table_of(x[:, other], y[other])
    spaces = [space_of(table, layers)]
    one = found_in(spaces, table, exhaustive_features=60)
    for found in (
        found_in(spaces, table, jobs=2, exhaustive_features=60),
        found_in([space_of(again, layers)], again, exhaustive_features=60),
    ):
        assert found.models == one.models
        assert found.terms.values.tobytes() == one.terms.values.tobytes()
        assert [str(term) for term in found.terms.expressions] == [
            str(term) for term in one.terms.expressions
        ]


def test_copies_of_a_feature_take_no_places(rng):
    x = rng.uniform(0.5, 2.0, (2, 60))
    table = table_of(x, x[0] / x[1] + np.sin(x[0]) + rng.normal(0, 0.05, 60))
    found = found_in([space_of(table, "ub", "strogatz")], table, exhaustive_features=100, models_per_size=20)
    assert len(np.unique(found.terms.signatures)) == len(found.terms)
    singles = sorted(_of_size(found, 1).values())
    _, values = every_feature(space_of(table, "ub", "strogatz"))
    brute = sorted({round(share_left(values[[k]], table.target.values), 10) for k in range(len(values))})
    assert singles[:20] == pytest.approx(brute[:20], abs=2e-10)


def test_two_inputs_that_are_nearly_the_same_do_not_spoil_the_search(rng):
    x = rng.normal(size=(3, 50))
    x[2] = x[0] + 1e-9 * x[2]
    table = table_of(x, 2 * x[0] - x[1] + 0.1 * rng.normal(size=50))
    found = found_in([space_of(table, "u")], table)
    _assert_true(found, table.target.values)
    best = min(_of_size(found, 2), key=found.models.get)
    assert sorted(_texts(found, best)) in (["x1", "x2"], ["x2", "x3"])


def test_rounding_counts_as_nothing_however_far_the_response_is_from_zero(rng):
    x = rng.uniform(0.5, 2.0, (2, 40))
    for offset in (0.0, 1e7, -1e10):
        table = table_of(x, offset + x[0] ** 3 + x[1])
        found = found_in([space_of(table, "ub")], table)
        assert found.has_exact_model
    assert not found_in([space_of(table, "b")], table, max_terms=2).has_exact_model


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_the_share_of_rounding_does_not_depend_on_the_scale(scale):
    near, far = np.array([-1.0, 0.5, 2.0]), 2.0**20 + np.array([-1.0, 0.5, 2.0])
    assert compute_rounding_share(near * scale) == EXACT_SHARE
    expected = (16 * 2.0**-52) ** 2 * 3 * 2.0**40 / ((near - near.mean()) ** 2).sum()
    assert compute_rounding_share(far * scale) == pytest.approx(expected, rel=1e-4)


def test_features_chosen_by_others_are_all_tried(rng):
    table = _noisy(rng)
    space, y = space_of(table, "ub"), table.target.values
    terms = select_terms(space, table.target, 10_000, Threads(1)).take(np.arange(8))
    found = search_all_subsets(
        terms,
        99,
        FitData(get_input_columns(table), table.target),
        Threads(1),
        ModelSearchBudget(models_per_size=1),
    )
    assert found.n_features == 99
    assert min(found.models.values()) == pytest.approx(best_share(terms.values, y, 4), rel=1e-8)


def test_results_of_two_searches_are_merged_by_affine_copies(rng):
    first, second = dictionary(rng, [1, 3], rivals=100.0), dictionary(rng, [2, 1, 4], rivals=20.0)
    second.values[1] = 3 - 2 * first.values[1]  # a simpler copy of the first search's second term
    one = ModelSearchResult(first, {(0,): 0.5, (0, 1): 0.25}, 7, 11)
    two = ModelSearchResult(second, {(0,): 0.4, (1, 2): 0.1, (1,): 0.6}, 5, 9)
    both = merge_search_results(one, two)
    assert both.models == {(0,): 0.5, (0, 1): 0.25, (2,): 0.4, (1, 3): 0.1, (1,): 0.6}
    assert both.terms.complexity.tolist() == [1, 1, 2, 4]
    assert both.terms.search_sizes.tolist() == [100.0, 20.0, 20.0, 20.0]
    np.testing.assert_array_equal(both.terms.values[1:], second.values[[1, 0, 2]])
    assert (both.n_features, both.n_models) == (12, 20)


def test_a_space_of_one_feature(rng):
    x = rng.normal(size=(1, 20))
    table = table_of(x, x[0] + rng.normal(size=20))
    found = found_in([space_of(table, "u[id]")], table)
    assert list(found.models) == [(0,)]


def _count_pair_searches(monkeypatch):
    """Return a list that each search for pairs extends by its number of features."""
    module = importlib.import_module("symscreen.fitting.subset_search")
    sizes, search = [], module.find_best_pairs

    def count(values, *arguments, **keywords):
        sizes.append(len(values))
        return search(values, *arguments, **keywords)

    monkeypatch.setattr(module, "find_best_pairs", count)
    return sizes


def test_the_best_pair_of_a_large_space_is_found_where_all_pairs_are_tried(rng, monkeypatch):
    table = _noisy(rng, d=3)
    _, values = every_feature(space_of(table, "bub"))
    near = np.abs(np.corrcoef(values)) - np.eye(len(values))
    near[:400] = near[:, :400] = 0.0  # of complex features, which are not in the core
    pair = list(np.unravel_index(np.where(near < 0.999, near, 0.0).argmax(), near.shape))
    first, second = values[pair] / values[pair].std(axis=1, keepdims=True)
    target = first - np.sign(np.corrcoef(first, second)[0, 1]) * second
    table = replace_target(table, target + 1e-4 * target.std() * rng.normal(size=len(target)))
    space = space_of(table, "bub")  # of the rows in the order of the new target
    effort = {"exhaustive_features": 25, "core_features": 3, "models_per_size": 5, "max_terms": 2}
    sizes = _count_pair_searches(monkeypatch)
    without = found_in([space], table, **effort)
    found = found_in([space], table, **effort, pair_features=space.size)
    assert sizes == [space.size]
    _assert_true(found, table.target.values)
    true_share = share_left(every_feature(space)[1][pair], table.target.values)
    assert min(_of_size(found, 2).values()) <= true_share * (1 + 1e-9) < 1e-3
    assert min(_of_size(without, 2).values()) > 10 * true_share
    assert found.n_models - without.n_models >= space.size * (space.size - 1) // 2


@pytest.mark.parametrize(
    "limits",
    [{"pair_features": 100}, {"max_terms": 1, "pair_features": 10_000}, {"exhaustive_features": 10_000}],
)
def test_pairs_of_spaces_beyond_the_limit_are_not_all_tried(rng, monkeypatch, limits):
    table = _noisy(rng, d=3)
    sizes = _count_pair_searches(monkeypatch)
    found_in([space_of(table, "bub")], table, **({"exhaustive_features": 25, "core_features": 3} | limits))
    assert sizes == []


def test_spaces_of_too_many_values_for_memory_have_no_search_for_pairs(rng, monkeypatch):
    table = _noisy(rng, d=3)
    space = space_of(table, "bub")
    sizes = _count_pair_searches(monkeypatch)
    for n_values, expected in (
        (space.size * table.target.n - 1, []),
        (space.size * table.target.n, [space.size]),
    ):
        monkeypatch.setattr("symscreen.fitting.subset_search.MAX_PAIR_VALUES", n_values)
        found_in([space], table, exhaustive_features=25, core_features=3, max_terms=2, pair_features=10_000)
        assert sizes == expected
