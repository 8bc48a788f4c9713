from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from helpers.fitting_cases import share_left

from symscreen.fitting import find_path_models

ONE = np.ones(40, dtype=np.int64)


def _swaps(members, q):
    """Yield all models that differ in one feature."""
    for place, other in product(range(len(members)), range(q)):
        if other not in members:
            yield tuple(sorted({*members} - {members[place]} | {other}))


def _noisy(rng, q=25, n=60, terms=8):
    values = rng.normal(size=(q, n)) + rng.normal(size=n)  # correlated, so that greedy errs
    return values, rng.normal(size=terms) @ values[:terms] + 0.5 * rng.normal(size=n)


def test_sizes_are_those_wanted_and_shares_those_of_least_squares(rng):
    values, y = _noisy(rng)
    found = find_path_models(values, y, ONE[:25], min_terms=5, max_terms=9)
    assert {len(members) for members in found} == {5, 6, 7, 8, 9}
    for members, share in found.items():
        assert list(members) == sorted(set(members))
        assert share == pytest.approx(share_left(values[list(members)], y), rel=1e-9)


def test_no_single_exchange_betters_the_best_of_a_size(rng):
    values, y = _noisy(rng)
    found = find_path_models(values, y, ONE[:25], min_terms=5, max_terms=9)
    for size in range(5, 10):
        best = min((one for one in found if len(one) == size), key=found.get)
        others = [share_left(values[list(other)], y) for other in _swaps(best, 25)]
        assert found[best] <= min(others) * (1 + 1e-8)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_six_terms_among_forty_are_found(rng, noise):
    values = rng.normal(size=(40, 80))
    truth = (3, 8, 13, 21, 30, 39)
    y = rng.choice([-2.0, -1.0, 1.0, 2.0], 6) @ values[list(truth)] + noise * rng.normal(size=80)
    found = find_path_models(values, y, ONE, min_terms=5, max_terms=6)
    assert min((one for one in found if len(one) == 6), key=found.get) == truth


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_of_features_that_span_the_same_the_simplest_are_taken(noise):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(30, 60))
    values[20:26] = values[:6] + values[[1, 2, 3, 4, 5, 0]]  # sums of neighbours, more complex
    complexity = np.where(np.arange(30) < 20, 1, 3)
    y = np.array([3.0, 1.0, -2.0, 0.5, 1.0, -1.0]) @ values[:6] + noise * rng.normal(size=60)
    mixed = rng.permutation(30)
    found = find_path_models(values[mixed], y, complexity[mixed], min_terms=6, max_terms=6)
    best = min(found, key=lambda one: (round(found[one], 12), complexity[mixed[list(one)]].sum()))
    assert sorted(mixed[list(best)].tolist()) == [0, 1, 2, 3, 4, 5]


def test_scales_and_near_copies_do_no_harm(rng):
    values = rng.normal(size=(20, 60))
    values[10] = values[0] + 1e-9 * values[10]
    y = values[:6].sum(axis=0)
    one = find_path_models(values, y, ONE[:20], min_terms=5, max_terms=7)
    other = find_path_models(
        values * 2.0 ** rng.integers(-300, 300, (20, 1)), y * 2.0**200, ONE[:20], min_terms=5, max_terms=7
    )
    assert one.keys() == other.keys()
    assert min(one.values()) < 1e-15
    for members in one:
        assert not {0, 10} <= set(members) or share_left(values[list(members)], y) < 1e-9


def test_a_good_start_is_grown_to_every_size(rng):
    values, y = _noisy(rng)
    plain = find_path_models(values, y, ONE[:25], min_terms=5, max_terms=8)
    grown = find_path_models(
        values, y, ONE[:25], min_terms=5, max_terms=8, starts=[(0, 1, 2, 3), (4, 5, 6, 7)]
    )
    assert plain.items() <= grown.items()
    for size in range(5, 9):
        for members in grown.keys() - plain.keys():
            if len(members) == size:
                others = [share_left(values[list(other)], y) for other in _swaps(members, 25)]
                assert grown[members] <= min(others) * (1 + 1e-8)
    assert min(grown.values()) <= share_left(values[:8], y) * (1 + 1e-9)


def test_fewer_features_than_terms(rng):
    values = rng.normal(size=(6, 30))
    found = find_path_models(values, rng.normal(size=30), ONE[:6], min_terms=5, max_terms=20)
    assert {len(members) for members in found} == {5, 6}
