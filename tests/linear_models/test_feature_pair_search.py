"""The search for pairs, against the search of all subsets and against its own definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.errors import OptionError
from symscreen.linear_models import feature_pair_search
from symscreen.linear_models.exhaustive_subsets import RequiredParts, find_best_models
from symscreen.linear_models.feature_pair_search import find_best_pairs
from symscreen.linear_models.gram import compute_gram, compute_unexplained_shares, normalize_rows


def make_formulas(rng, q, n, n_inputs=3):
    """Make products of powers of a few inputs: features that a few directions describe."""
    inputs = rng.uniform(0.5, 2.0, (n_inputs, n))
    powers = rng.integers(-2, 3, (q, n_inputs))
    return np.exp(powers @ np.log(inputs)) + 1e-3 * rng.normal(size=(q, n))


def compute_h(x, y, tau):
    """Compute h of the module for all pairs."""
    z, t = normalize_rows(x), normalize_rows(np.atleast_2d(y))[0]
    r, g = z @ t, z @ z.T
    return tau - r[:, None] ** 2 - r**2 + 2 * r[:, None] * r * g - tau * g * g


@settings(max_examples=25)
@given(
    q=st.integers(2, 120),
    n=st.integers(5, 60),
    n_targets=st.integers(1, 3),
    is_formulas=st.booleans(),
    n_best=st.integers(1, 12),
    exponent=st.sampled_from([-150, 0, 150]),
    seed=st.integers(0, 10_000),
)
def test_the_pairs_are_those_of_the_search_of_all_subsets(
    q, n, n_targets, is_formulas, n_best, exponent, seed
):
    rng = np.random.default_rng(seed)
    x = make_formulas(rng, q, n) if is_formulas else rng.normal(size=(q, n))
    y = x[rng.integers(0, q, n_targets)] + 0.3 * rng.normal(size=(n_targets, n))
    found = find_best_pairs(10.0**exponent * x, y, n_best)
    members, unexplained = find_best_models(compute_gram(x, y), 2, n_best)
    if exponent == 0:
        assert found.members.tolist() == members.tolist()
        assert found.unexplained.tolist() == unexplained.tolist()
    assert found.unexplained == pytest.approx(unexplained, rel=1e-9)
    assert found.n_tried == q * (q - 1) // 2


@pytest.mark.parametrize("is_formulas", [False, True])
def test_tiles_and_threads_change_no_bit(rng, monkeypatch, is_formulas):
    x = make_formulas(rng, 300, 80) if is_formulas else rng.normal(size=(300, 80))
    y = x[20] - 2.0 * x[250] + rng.normal(size=80)
    expected = find_best_pairs(x, y, 20)
    monkeypatch.setattr(feature_pair_search, "_TILE_FEATURES", 32)
    found = find_best_pairs(x, y, 20, jobs=2)
    assert found.members.tolist() == expected.members.tolist()
    assert found.unexplained.tolist() == expected.unexplained.tolist()
    assert found.n_tried == expected.n_tried == 300 * 299 // 2


@pytest.mark.parametrize("tau", [0.0, 0.4, 0.95, 1.0])
@pytest.mark.parametrize("n_directions", [None, 4, 8, 16])
def test_the_bound_is_below_h_of_every_pair(rng, tau, n_directions):
    x, y = make_formulas(rng, 150, 64), rng.normal(size=64)
    x[1] = 3.0 * x[0] - 1.0  # collinear
    columns, target = normalize_rows(x), normalize_rows(y[None])
    directions = np.linalg.svd(columns, full_matrices=False)[2]
    features = feature_pair_search._prepare_features(
        columns, target @ columns.T, None if n_directions is None else directions[:n_directions]
    )
    products, bounds = features.coordinates @ features.coordinates.T, np.empty(150, dtype=np.float32)
    exact = compute_h(x, y, tau)
    for row in range(150):
        n_possible = feature_pair_search._fill_bounds(products[row], features, tau, row, 0, row, bounds)
        assert (bounds[:row] - features.bound_error <= exact[row, :row]).all()
        assert n_possible >= (exact[row, :row] <= 0.0).sum()
    if n_directions is None:
        assert np.abs(bounds[:149] - exact[149, :149]).max() < 1e-5


def test_few_directions_are_chosen_for_formulas_and_none_for_noise(rng):
    for x, is_chosen in ((make_formulas(rng, 2000, 200), True), (rng.normal(size=(2000, 200)), False)):
        columns = normalize_rows(x)
        target = normalize_rows((x[3] + x[5])[None])
        features = feature_pair_search._choose_features(columns, target @ columns.T, 0.99)
        assert (features.coordinates.shape[1] < 200) == is_chosen


def test_copies_of_a_feature_are_no_pair_and_equal_pairs_are_sorted_by_their_features(rng):
    x = rng.normal(size=(4, 30))
    x = np.vstack([x, x[2], -2.0 * x[1] + 5.0])
    found = find_best_pairs(x, x[1] + x[2] + 0.1 * rng.normal(size=30), 20)
    pairs = found.members.tolist()
    assert pairs[:4] == [[1, 2], [1, 4], [2, 5], [4, 5]]
    assert [2, 4] not in pairs
    assert [1, 5] not in pairs
    assert len(pairs) == 13


def test_pairs_without_the_required_parts_are_left_out(rng):
    x = rng.normal(size=(80, 40))
    y = x[3] + x[8] + 0.1 * rng.normal(size=40)
    parts = RequiredParts(3, np.where(np.arange(80) % 4 == 0, 1, np.where(np.arange(80) % 7 == 0, 2, 0)))
    found = find_best_pairs(x, y, 10, required_parts=parts)
    members, unexplained = find_best_models(compute_gram(x, y), 2, 10, required_parts=parts)
    assert found.members.tolist() == members.tolist()
    assert found.unexplained.tolist() == unexplained.tolist()


def test_a_stopped_search_has_the_best_of_the_pairs_that_it_tried(rng, monkeypatch):
    monkeypatch.setattr(feature_pair_search, "_TILE_FEATURES", 16)
    x, y = rng.normal(size=(64, 50)), rng.normal(size=50)
    answers = iter([False] * 3 + [True] * 10)
    found = find_best_pairs(x, y, 5, should_stop=lambda: next(answers))
    assert found.n_tried == 16 * 15 // 2 * 2 + 16 * 16
    order = np.argsort(-np.abs(normalize_rows(x) @ normalize_rows(y[None])[0]), kind="stable")
    tried = np.sort(order[:32][np.array(np.triu_indices(32, 1)).T], axis=1)
    started = np.sort(order[np.array([(a, b) for a in range(32) for b in range(a + 1, 64)])], axis=1)
    shares = compute_unexplained_shares(normalize_rows(x), normalize_rows(y[None]), tried)
    assert (found.unexplained <= np.sort(shares)[:5]).all()
    possible = set(map(tuple, np.vstack([tried, started]).tolist()))
    assert set(map(tuple, found.members.tolist())) <= possible


def test_a_search_for_no_pairs_is_refused():
    with pytest.raises(OptionError, match="must be at least 1: it is 0"):
        find_best_pairs(np.eye(3), np.arange(3.0), 0)


@pytest.mark.parametrize("q", [0, 1])
def test_fewer_than_two_features_have_no_pairs(q):
    found = find_best_pairs(np.arange(5.0 * q).reshape(q, 5), np.arange(5.0) ** 2, 3)
    assert (found.members.shape, found.n_tried) == ((0, 2), 0)
