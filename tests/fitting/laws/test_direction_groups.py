"""Groups of equal direction, and sums of equal value, agree with a search of all pairs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from symscreen.fitting.laws import direction_groups
from symscreen.fitting.laws.direction_groups import find_sums, project_formulas


def make_blocks(values):
    return [(part, values[part]) for part in np.array_split(np.arange(len(values)), 3)]


def test_groups_contain_the_formulas_with_equal_directions_up_to_sign(rng):
    base = rng.standard_normal((40, 60))
    kinds = rng.integers(0, 40, 200)
    values = base[kinds] * rng.choice([-3.0, -1.0, 1e-6, 1.0, 1e9], 200)[:, None] + 5.0
    groups = project_formulas(make_blocks(values), np.ones((60, 1)), np.empty((60, 0))).group()
    expected = [np.flatnonzero(kinds == kind).tolist() for kind in range(40) if (kinds == kind).sum() > 1]
    assert sorted(group.tolist() for group in groups) == sorted(expected)


def test_merging_keeps_the_first_of_equal_directions_and_no_constants(rng):
    base = rng.standard_normal((3, 30))
    values = np.array([np.full(30, 2.0), base[0], base[1], 1.0 - base[0], base[2], base[1] * 7.0])
    merged, copies = project_formulas(make_blocks(values), np.ones((30, 1)), np.empty((30, 0))).merge_copies()
    assert merged.indices.tolist() == [1, 2, 4]
    assert sorted(each.tolist() for each in copies) == [[1, 3], [2, 5]]


def test_formulas_of_which_nothing_is_left_have_no_groups(rng):
    nuisance = rng.standard_normal((30, 2))
    projections = project_formulas(make_blocks(nuisance.T * 3.0), nuisance, rng.standard_normal((30, 1)))
    merged, copies = projections.merge_copies()
    assert (len(merged.indices), copies) == (0, [])
    assert merged.group() == []


def test_vectors_that_are_removed_are_free(rng):
    first, second, vector = rng.standard_normal((3, 50))
    values = np.array([first, second, 2.0 * first - 4.0 * vector, vector])
    projections = project_formulas(make_blocks(values), np.ones((50, 1)), vector[:, None])
    assert projections.group() == []
    left = projections.remove(6)
    assert [group.tolist() for group in left.group()] == [[0, 2]]
    assert left.find_zeros().tolist() == [3]


@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, -1)])
def test_sums_are_those_of_a_search_of_all_pairs(rng, signs):
    values = rng.integers(-4, 5, (60, 20)).astype(float) * rng.choice([1.0, 1e5], 60)[:, None]
    nuisance = np.ones((20, 1))
    response = signs[0] * values[7] + signs[1] * values[30] + 3.0
    values[50] = response - values[11]
    expected = set()
    for a, b in combinations(range(60), 2):
        for sign, other in [(1, 1), (1, -1), (-1, 1), (-1, -1)]:
            if np.ptp(sign * values[a] + other * values[b] - response) < 1e-6:
                expected.add((a, b))
    assert {(7, 30), (11, 50)} <= expected
    assert set(find_sums(make_blocks(values), response, nuisance)[0]) == expected


def test_candidates_of_a_sum_are_compared_in_blocks(rng, monkeypatch):
    values = rng.integers(0, 3, (40, 12)).astype(float)
    response = values[3] + values[8]
    expected = find_sums(make_blocks(values), response, np.ones((12, 1)))
    monkeypatch.setattr(direction_groups, "_BLOCK_CANDIDATES", 3)
    pairs, copies = find_sums(make_blocks(values), response, np.ones((12, 1)))
    assert (3, 8) in pairs
    assert pairs == expected[0]
    assert {index: group.tolist() for index, group in copies.items()} == {
        index: group.tolist() for index, group in expected[1].items()
    }


def test_few_pairs_are_compared_where_rounding_hides_all_formulas(rng):
    values = 1e-9 * rng.standard_normal((400, 20))
    response = values[3] + values[8] + 1e9  # its rounding is larger than all formulas
    pairs, _ = find_sums(make_blocks(values), response, np.ones((20, 1)))
    assert len(pairs) < 0.5 * 400**2 / 2


def test_equal_values_are_used_once_in_sums_and_listed_as_copies(rng):
    values = rng.standard_normal((5, 40))
    values[3] = values[1] + 8.0
    response = values[1] - values[2]
    pairs, copies = find_sums(make_blocks(values), response, np.ones((40, 1)))
    assert pairs == [(1, 2)]
    assert {index: group.tolist() for index, group in copies.items()} == {1: [1, 3], 2: [2]}
