from __future__ import annotations

import numpy as np
import pytest
from helpers.search_cases import drawn, losses_of, space_of

from symscreen.backends import Threads
from symscreen.expansion import CandidateStatus
from symscreen.screeners import PEARSON, T0
from symscreen.screening.search import modes
from symscreen.screening.search.modes import audit_dropped_features
from symscreen.screening.search.successive_halving import SearchGoal, restrict_space


def _case(rng, screener, share_lost):
    """Drop at random a share of the good, and all of the others."""
    x, response = drawn(rng, "strong", rows=300, inputs=6)
    space = space_of(x)
    numbers, losses, _ = losses_of(space, response, screener)
    loss = float(np.round(np.quantile(losses, 0.2), 12))
    good = numbers[losses <= loss]
    kept = good[rng.random(len(good)) >= share_lost]
    lost = len(good) - len(kept)
    return space, restrict_space(space, kept), response, SearchGoal(screener, "free", 5), loss, lost


@pytest.mark.parametrize("screener", [T0, PEARSON])
def test_a_census_finds_every_lost_feature(rng, screener):
    space, left, response, wanted, loss, lost = _case(rng, screener, 0.3)
    found = audit_dropped_features(
        space, left, response, wanted, loss_threshold=loss, rng=rng, backend=Threads(1)
    )
    assert found.dropped == space.size - left.size
    assert found.lost >= lost * found.sampled / found.dropped * 0.8
    if found.sampled == found.dropped:
        assert (found.lost, found.estimate, found.at_most) == (lost, lost, lost)
    assert lost > 10


@pytest.mark.slow
@pytest.mark.parametrize("screener", [T0, PEARSON])
def test_a_sample_estimates_the_lost_and_its_interval_covers(rng, monkeypatch, screener):
    monkeypatch.setattr(modes, "_EXACT_SAMPLE_SIZE", 150)
    monkeypatch.setattr(modes, "_PAIRS_SAMPLE_SIZE", 150)
    estimates, covered = [], 0
    for _ in range(40):
        space, left, response, wanted, loss, lost = _case(rng, screener, 0.3)
        found = audit_dropped_features(
            space, left, response, wanted, loss_threshold=loss, rng=rng, backend=Threads(1)
        )
        assert found.sampled == 150
        estimates.append(found.estimate / lost)
        covered += found.at_most >= lost
    assert np.mean(estimates) == pytest.approx(1.0, abs=0.15)
    assert covered >= 35


def test_nothing_dropped_is_nothing_lost(rng):
    x, response = drawn(rng)
    space = space_of(x)
    found = audit_dropped_features(
        space, space, response, SearchGoal(T0, "free", 5), loss_threshold=0.5, rng=rng, backend=Threads(1)
    )
    assert (found.dropped, found.sampled, found.at_most) == (0, 0, 0.0)


def test_a_large_space_is_sampled_without_a_list_of_the_dropped(rng, monkeypatch):
    monkeypatch.setattr(modes, "_PAIRS_SAMPLE_SIZE", 64)
    x, _ = drawn(rng, inputs=8)
    space = space_of(x)
    kept = np.flatnonzero(space.statuses == CandidateStatus.KEPT)[::2]
    left = restrict_space(space, kept)
    numbers = modes._draw_dropped(space, left, 64, space.size - left.size, rng)
    assert len(set(numbers.tolist())) == 64
    assert (space.statuses[numbers] == CandidateStatus.KEPT).all()
    assert not np.isin(numbers, kept).any()
    assert numbers.tolist() == sorted(numbers.tolist())
