from __future__ import annotations

import numpy as np
import pytest
from helpers.fitting_cases import every_feature, space_of, table_of

from symscreen.backends import Threads
from symscreen.screening.scoring.best_features import find_simplest_features, find_top_features


@pytest.fixture
def table(rng):
    x = rng.uniform(0.5, 2.0, (2, 40))
    return table_of(x, x[0] ** 3 + x[1] + rng.normal(0, 0.1, 40))


def _correlations(values):
    centered = values - values.mean(axis=1, keepdims=True)
    unit = centered / np.linalg.norm(centered, axis=1, keepdims=True)
    return np.abs(unit @ unit.T)


def _kinds(values):
    """Number the classes of affine copies, by brute force."""
    copies = _correlations(values) > 1 - 1e-13
    return copies.argmax(axis=1)


def _order(space, numbers):
    features = space.get_metadata(numbers)
    return list(zip(features.complexity.tolist(), *features.keys.T.tolist(), strict=True))


@pytest.mark.parametrize("limit", [1, 7, 60, 10**4])
def test_the_simplest_come_in_order_and_no_two_are_affine_copies(table, limit):
    space = space_of(table, "ub", "strogatz")
    numbers, values = every_feature(space)
    kind_of = dict(zip(numbers.tolist(), _kinds(values).tolist(), strict=True))
    expected, seen = [], set()
    for _, number in sorted(zip(_order(space, numbers), numbers.tolist(), strict=True)):
        if kind_of[number] not in seen:
            seen.add(kind_of[number])
            expected.append(number)
    assert find_simplest_features(space, limit).tolist() == expected[:limit]


def test_what_overflows_takes_nobodys_place(rng):
    x = rng.uniform(1.0, 2.0, (3, 40)) * 1e200  # products and cubes are infinite
    table = table_of(x, x[0] / 1e200 + rng.normal(size=40))
    space = space_of(table, "b")
    found = find_simplest_features(space, 50)
    assert {str(space.build_expression(one)) for one in found.tolist()} == {
        *("x1", "x2", "x3"),
        *("x1 + x2", "x1 + x3", "x2 + x3"),
    }
    assert _order(space, found) == sorted(_order(space, found))
    assert space.size > 9
    assert len(find_simplest_features(space, 4)) == 4


def test_numbers_in_the_pool_do_not_fill_the_simplest_with_copies(table):
    space = space_of(table, "bub", "strogatz")
    found = find_simplest_features(space, 200)
    copies = _correlations(space.compute_values(found))
    np.fill_diagonal(copies, 0.0)
    assert len(found) == 200
    assert copies.max() < 1 - 1e-12


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_best_are_distinct_and_hold_the_best_by_correlation(table, jobs):
    space = space_of(table, "ub", "strogatz")
    numbers, values = every_feature(space)
    y = table.target.values
    found = find_top_features(space, table.target, 30, Threads(jobs))
    assert len(found) == 30
    copies = _correlations(space.compute_values(found))
    np.fill_diagonal(copies, 0.0)
    assert copies.max() < 1 - 1e-12
    by_pearson = numbers[np.argmax(_correlations(np.vstack([values, y]))[-1, :-1])]
    assert str(space.build_expression(int(by_pearson))) in {
        str(space.build_expression(one)) for one in found.tolist()
    }
    assert found.tolist() == find_top_features(space, table.target, 30, Threads(3 - jobs)).tolist()


def test_of_affine_copies_the_best_is_the_simplest(table):
    space = space_of(table, "b", "strogatz")
    texts = {
        str(space.build_expression(one))
        for one in find_top_features(space, table.target, 100, Threads(1)).tolist()
    }
    assert {"x1", "x2"} <= texts
    assert not texts & {"1 + x1", "x1 - 2", "x1 + x1", "x1/2"}
