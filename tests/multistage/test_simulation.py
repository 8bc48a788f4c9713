from __future__ import annotations

import numpy as np
import pytest

from symscreen.errors import OptionError
from symscreen.multistage import misclassification, simulate_chains, stage_pairs

READINGS = [
    {"reading": reading, "noise_is": noise_is, "relative_noise": relative}
    for reading in ("chained", "summed")
    for noise_is in ("deviation", "variance")
    for relative in (True, False)
]


@pytest.mark.parametrize("options", [*READINGS, {"reading": "exact"}])
def test_outcomes_obey_the_chain_and_follow_their_probabilities(options):
    made = simulate_chains(n_users=150, n_items=150, n_stages=3, random_state=1, **options)
    y = made.outcomes
    assert (y[:, 0] == 1).all()
    assert (np.diff(y, axis=1) <= 0).all()
    assert ((made.steps >= 0) & (made.steps <= 1)).all()
    for t in range(3):
        reached = y[:, t] == 1
        p = made.steps[reached, t]
        spread = np.sqrt((p * (1 - p)).sum())
        assert abs((y[reached, t + 1] == 1).sum() - p.sum()) < 5 * spread + 1
    counted = misclassification(made.bayes_rule(), y).overall
    assert counted == pytest.approx(made.bayes_error(), abs=0.02)
    assert made.expected_error(-made.bayes_rule()) == pytest.approx(1 - made.bayes_error())


def test_the_readings_differ_in_how_many_reach_the_last_stage():
    shares = {
        reading: np.mean(
            [simulate_chains(reading=reading, random_state=seed).positives()[2] for seed in range(5)]
        )
        for reading in ("chained", "summed")
    }
    assert shares["summed"] < 0.25 < shares["chained"]


def test_the_exact_reading_has_its_bayes_rule_in_the_model():
    made = simulate_chains(reading="exact", n_users=20, n_items=20, n_stages=3, random_state=3)
    f = np.stack([1 + np.log2(made.steps[:, a:b]).sum(axis=1) for a, b in stage_pairs(3)], axis=1)
    assert np.array_equal(made.bayes_rule(), np.where(f > 0, 1, -1))


def test_levels_rows_and_parts_are_as_asked_for():
    made = simulate_chains(
        n_users=40,
        n_items=30,
        user_levels=(4, 3),
        item_levels=(5,),
        n_rows=1000,
        shares=(0.5, 0.25, 0.25),
        random_state=0,
    )
    assert list(made.user_features) == ["user", "user_level1", "user_level2"]
    assert made.user_features.nunique().tolist() == [40, 4, 3]
    assert [len(made.taken(part)) for part in ("training", "validation", "test")] == [500, 250, 250]
    again = simulate_chains(
        n_users=40,
        n_items=30,
        user_levels=(4, 3),
        item_levels=(5,),
        n_rows=1000,
        shares=(0.5, 0.25, 0.25),
        random_state=0,
    )
    assert made.table.equals(again.table)


def test_options_without_meaning_are_refused():
    with pytest.raises(OptionError, match="reading is 'chain'; did you mean 'chained'"):
        simulate_chains(reading="chain")
    with pytest.raises(OptionError, match="that sum to 1"):
        simulate_chains(shares=(0.5, 0.5, 0.5))
    with pytest.raises(OptionError, match="n_users is 0"):
        simulate_chains(n_users=0)
    with pytest.raises(OptionError, match="did you mean 'test'"):
        simulate_chains(n_users=5, n_items=5).taken("tests")
