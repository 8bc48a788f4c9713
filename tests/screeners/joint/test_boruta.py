from __future__ import annotations

from math import comb

import numpy as np
import pytest

from symscreen.screeners.joint.forest import confirm_features, count_shadow_hits


@pytest.mark.parametrize(("features", "alpha"), [(1, 0.05), (7, 0.05), (50, 0.01)])
def test_a_feature_is_confirmed_where_so_many_hits_are_unlikely_at_its_share_of_the_level(features, alpha):
    rounds = 12
    for hits in range(rounds + 1):
        tail = sum(comb(rounds, k) for k in range(hits, rounds + 1)) / 2**rounds
        found = confirm_features(np.full(features, hits), rounds, alpha)
        assert found.tolist() == [tail <= alpha / features] * features


def test_a_probability_equal_to_the_share_of_the_level_confirms():
    # two hits of two rounds have the probability 1/4
    assert confirm_features(np.array([2, 1]), 2, 0.5).tolist() == [True, False]
    assert confirm_features(np.array([2, 1]), 2, 0.49).tolist() == [False, False]


def test_hits_are_won_against_the_best_shadow(rng):
    columns = rng.normal(size=(30, 3))
    seen = []

    def importance(shown, _):
        seen.append(shown)
        # the shadows score 1 to 6: the features tie with, beat, and lose to the best
        return np.array([6.0, 7.0, 5.0, *range(1, shown.shape[1] - 2)])

    assert count_shadow_hits(columns, importance, 4, np.random.SeedSequence(1)).tolist() == [0, 4, 0]
    assert len(seen) == 4
    assert len({shown.tobytes() for shown in seen}) == 4


@pytest.mark.parametrize(("features", "shadows"), [(1, 5), (2, 6), (5, 5), (8, 8)])
def test_shadows_are_the_features_in_random_order_and_at_least_five(rng, features, shadows):
    columns = rng.normal(size=(40, features))

    def importance(shown, _):
        assert np.array_equal(shown[:, :features], columns)
        assert shown.shape[1] == features + shadows
        # each in its own order
        assert len({shadow.tobytes() for shadow in shown[:, features:].T}) == shadows
        for place, shadow in enumerate(shown[:, features:].T):
            own = columns[:, place % features]
            assert sorted(shadow) == sorted(own)
            assert not np.array_equal(shadow, own)
        return np.zeros(shown.shape[1])

    assert not count_shadow_hits(columns, importance, 3, np.random.SeedSequence(2)).any()


def test_each_round_draws_its_own_seed(rng):
    states = []

    def importance(shown, seed):
        states.append(tuple(seed.generate_state(2)))
        return np.zeros(shown.shape[1])

    for _ in range(2):
        count_shadow_hits(rng.normal(size=(9, 2)), importance, 3, np.random.SeedSequence(5))
    assert states[:3] == states[3:]
    assert len(set(states)) == 3
