from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from symscreen.screening.search.race import compute_log_confidence_budget, compute_rejection_threshold

shares = st.floats(0.0, 0.6)
pair_counts = st.sampled_from([1, 7, 32, 64, 200, 1000])
odds = st.floats(0.1, 30.0)


@given(pair_counts, shares, odds)
def test_a_coin_of_the_true_share_exceeds_the_count_as_rarely_as_stated(pairs, share, log_odds):
    fewest = compute_rejection_threshold(pairs, share, log_odds)
    # binom.sf itself is good to some 1e-12 of the figure
    assert binom.sf(math.ceil(fewest / 2) - 1, pairs, share) <= math.exp(-log_odds) * (1 + 1e-9)


@given(pair_counts, shares, odds)
def test_one_count_less_would_not_be_enough_by_the_bound(pairs, share, log_odds):
    fewest = compute_rejection_threshold(pairs, share, log_odds)
    assert 0 <= fewest <= 2 * pairs + 1
    x = (fewest - 1) / (2 * pairs)
    if share < x < 1.0 and share > 0.0:
        divergence = x * math.log(x / share) + (1 - x) * math.log((1 - x) / (1 - share))
        assert pairs * divergence < log_odds * (1 + 1e-12)


def test_throws_of_unequal_chance_and_half_counts_keep_to_the_bound(rng):
    # the exact law of Σ of independent throws in {0, ½, 1} with mean share p over all, by convolution
    for _ in range(40):
        pairs = int(rng.integers(5, 60))
        chance = rng.beta(0.3, 1.5, pairs)  # unequal: some strata are all against, most are not
        half = rng.uniform(0.0, 1.0, pairs)
        law = np.ones(1)
        for p, h in zip(chance, half, strict=True):
            ties = h * min(p, 1 - p)  # the mean stays p
            law = np.convolve(law, [1 - p - ties / 2, ties, p - ties / 2])
        for log_odds in (0.7, 3.0, 9.0):
            fewest = compute_rejection_threshold(pairs, float(chance.mean()), log_odds)
            assert law[fewest:].sum() <= math.exp(-log_odds) * (1 + 1e-9)


@given(pair_counts, odds)
def test_more_to_beat_needs_more_discordant_pairs(pairs, log_odds):
    limits = [compute_rejection_threshold(pairs, share, log_odds) for share in np.linspace(0.0, 1.0, 21)]
    assert limits == sorted(limits)


def test_a_perfect_rival_is_beaten_by_one_half_discordance():
    assert compute_rejection_threshold(10, 0.0, 20.0) == 1


def test_nothing_excludes_what_may_be_as_bad_as_can_be():
    assert compute_rejection_threshold(10, 1.0, 1.0) == 21


def test_the_risk_is_shared_among_classes_and_rounds():
    assert math.exp(-compute_log_confidence_budget(0.01, n_classes=5, n_rounds=4)) * 20 == pytest.approx(0.01)
