"""One model for several targets: all subsets tried, against brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.errors import DataError
from symscreen.linear_models.exhaustive_subsets import find_best_models, search_core_subsets
from symscreen.linear_models.gram import compute_gram, normalize_target

SIZES = (1, 2, 3, 4)


def mean_share(values, targets):
    """Return the mean over targets of what least squares leaves of each, as a share of its variance."""
    design = np.vstack([np.ones(targets.shape[1]), values]).T
    left = targets.T - design @ np.linalg.lstsq(design, targets.T, rcond=None)[0]
    return float(((left**2).sum(axis=0) / ((targets.T - targets.mean(axis=1)) ** 2).sum(axis=0)).mean())


def planted(rng, q, tasks, n=25):
    """Targets of the same two features, with units that have nothing to do with one another."""
    values = rng.normal(size=(q, n)) + rng.normal(size=n)
    mixed = rng.normal(size=(tasks, 2)) @ values[[0, -1]] + rng.normal(size=(tasks, n))
    return values, (mixed + 3.0) * 10.0 ** rng.integers(-6, 7, (tasks, 1))


@settings(max_examples=25)
@given(
    st.sampled_from(SIZES), st.integers(1, 10), st.integers(2, 4), st.integers(1, 20), st.integers(0, 2**32)
)
def test_as_brute_force(size, q, tasks, keep, seed):
    values, targets = planted(np.random.default_rng(seed), q, tasks)
    members, left = find_best_models(compute_gram(values, targets), size, keep)
    tried = {some: mean_share(values[list(some)], targets) for some in combinations(range(q), size)}
    expected = sorted(tried, key=lambda some: (round(np.sqrt(tried[some]), 12), some))[:keep]
    assert list(map(tuple, members.tolist())) == expected
    np.testing.assert_allclose(left, [tried[some] for some in expected], atol=1e-12)


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_a_stream_with_a_core_as_brute_force(size, rng):
    values, targets = planted(rng, 14, 3)
    core, stream = values[:6], values[6:]
    (found,) = search_core_subsets(stream, compute_gram(core, targets), sizes=[size], keep=8)
    for feature, subset, left in zip(found.features, found.subsets, found.unexplained, strict=True):
        tried = {
            some: mean_share(np.vstack([core[list(some)], stream[feature]]), targets)
            for some in combinations(range(6), size)
        }
        best = min(tried, key=tried.get)
        assert tuple(subset.tolist()) == best
        assert left == pytest.approx(tried[best], abs=1e-12)
    assert sorted(found.features.tolist()) == list(range(8))
    assert (np.diff(found.unexplained) >= -1e-12).all()


@pytest.mark.parametrize("size", SIZES)
def test_copies_of_one_target_make_the_model_of_that_target(size, rng):
    values, (target, *_) = planted(rng, 12, 2)
    alone, left = find_best_models(compute_gram(values, target), size, 10)
    both, also = find_best_models(compute_gram(values, np.stack([target, 7 - 1e5 * target])), size, 10)
    assert np.array_equal(both, alone)
    np.testing.assert_allclose(also, left, atol=1e-13)


@pytest.mark.parametrize("size", SIZES)
def test_jobs_change_no_bit_and_the_order_of_features_names_only(size, rng):
    values, targets = planted(rng, 25, 3)
    order = rng.permutation(25)
    one, two = (find_best_models(compute_gram(values, targets), size, 30, jobs) for jobs in (1, 2))
    assert [part.tobytes() for part in one] == [part.tobytes() for part in two]
    members, left = find_best_models(compute_gram(values[order], targets), size, 30)
    assert np.array_equal(np.sort(order[members], axis=1), one[0])
    assert np.array_equal(left, one[1])


def test_blocks_of_a_stream_and_lanes_change_no_bit(rng):
    values, targets = planted(rng, 300, 2)
    core = compute_gram(values[:5], targets)
    whole = search_core_subsets(values[5:], core, sizes=[2], keep=300)[0]
    parts = [
        search_core_subsets(values[a:b], core, sizes=[2], keep=300, first_feature=a - 5)[0]
        for a, b in ((5, 9), (9, 300))
    ]
    left = dict(
        pair for part in parts for pair in zip(part.features.tolist(), part.unexplained.tolist(), strict=True)
    )
    assert left == dict(zip(whole.features.tolist(), whole.unexplained.tolist(), strict=True))


def test_targets_weigh_the_same_whatever_their_units(rng):
    _, targets = planted(rng, 2, 4)
    aim = normalize_target(targets)
    np.testing.assert_allclose((aim * aim).sum(axis=1), 0.25, rtol=1e-12)
    np.testing.assert_allclose(aim.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(normalize_target(1e9 * targets - 4), aim, atol=1e-6)
    with pytest.raises(DataError, match="the target is constant"):
        compute_gram(rng.normal(size=(3, 25)), np.vstack([targets, np.full(25, 2.0)]))
