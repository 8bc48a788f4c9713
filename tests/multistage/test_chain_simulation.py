from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from symscreen.errors import DataError, OptionError
from symscreen.multistage import compute_error_rates, simulate_chains
from symscreen.targets.stages import list_stage_pairs

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
    assert ((made.step_probabilities >= 0) & (made.step_probabilities <= 1)).all()
    for t in range(3):
        reached = y[:, t] == 1
        p = made.step_probabilities[reached, t]
        spread = np.sqrt((p * (1 - p)).sum())
        assert abs((y[reached, t + 1] == 1).sum() - p.sum()) < 5 * spread + 1
    counted = compute_error_rates(made.compute_bayes_rule(), y).overall
    assert counted == pytest.approx(made.compute_bayes_error(), abs=0.02)
    assert made.compute_expected_error(-made.compute_bayes_rule()) == pytest.approx(
        1 - made.compute_bayes_error()
    )


def test_the_readings_differ_in_how_many_reach_the_last_stage():
    shares = {
        reading: np.mean(
            [
                simulate_chains(reading=reading, random_state=seed).compute_stage_shares()[2]
                for seed in range(5)
            ]
        )
        for reading in ("chained", "summed")
    }
    assert shares["summed"] < 0.25 < shares["chained"]


def _drawn(n, m, k, last, seed):
    """Draw a, b and q as the simulation does."""
    rng = np.random.default_rng(seed)
    return rng.chisquare(1, size=(n, k)), rng.chisquare(1, size=(m, k)), rng.chisquare(1, size=(last, k))


def test_the_exact_reading_has_its_bayes_rule_in_the_model():
    made = simulate_chains(reading="exact", n_users=12, n_items=9, n_factors=5, n_stages=3, random_state=3)
    a, b, q = _drawn(12, 9, 5, 3, 3)
    for row, (i, j) in enumerate(zip(made.table.user, made.table.item, strict=True)):
        g = a[i] * b[j]
        assert np.allclose(
            made.step_probabilities[row], [2.0 ** (-(g @ q[t]) / g.sum()) for t in range(3)], rtol=1e-12
        )
        # f_{t′,t} of eq. (8), with a scaled such that g sums to 1
        f = [1 - sum(g @ q[t] for t in range(start, end)) / g.sum() for start, end in list_stage_pairs(3)]
        assert made.compute_bayes_rule()[row].tolist() == [1 if one > 0 else -1 for one in f]


@pytest.mark.parametrize("reading", ["chained", "summed"])
@pytest.mark.parametrize("noise_is", ["deviation", "variance"])
@pytest.mark.parametrize("relative", [True, False])
def test_the_other_readings_are_those_defined(reading, noise_is, relative):
    options = {"reading": reading, "noise_is": noise_is, "relative_noise": relative, "noise": 0.2}
    made = simulate_chains(n_users=12, n_items=9, n_factors=5, n_stages=2, random_state=4, **options)
    a, b, q = _drawn(12, 9, 5, 2, 4)
    for t in range(2):
        used = q[: t + 1].sum(axis=0) if reading == "summed" else q[t]
        p = np.array(
            [(a[i] * b[j]) @ (1 - used) for i, j in zip(made.table.user, made.table.item, strict=True)]
        )
        sigma = (0.2 if noise_is == "deviation" else np.sqrt(0.2)) * (p.std() if relative else 1.0)
        assert np.allclose(made.step_probabilities[:, t], norm.cdf(p / sigma), rtol=1e-9, atol=1e-12)


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
    assert [len(made.select_part(part)) for part in ("training", "validation", "test")] == [500, 250, 250]
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
        simulate_chains(n_users=5, n_items=5).select_part("tests")
    with pytest.raises(DataError, match="there are no rows of the part 'validation'"):
        simulate_chains(n_users=5, n_items=5, shares=(0.5, 0, 0.5)).compute_bayes_error("validation")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"noise": -0.1}, r"noise is -0\.1: give a number ≥ 0"),
        ({"noise": float("nan")}, "noise is nan"),
        ({"noise": -1, "noise_is": "variance"}, "noise is -1"),
        ({"noise": "a"}, "noise is 'a'"),
        ({"shares": (float("nan"), 0, 1)}, "that sum to 1"),
        ({"shares": 0.5}, r"shares are 0\.5"),
        ({"shares": ("a", 0, 1)}, "that sum to 1"),
        ({"user_levels": 3}, "user_levels is 3: give a sequence"),
        ({"item_levels": (0,)}, "item_levels is 0"),
        ({"relative_noise": "no"}, "relative_noise is 'no': give True or False"),
    ],
)
def test_nonsense_is_refused(options, words):
    with pytest.raises(OptionError, match=words):
        simulate_chains(n_users=5, n_items=5, **options)


def test_names_may_have_factors_beside_those_of_their_levels():
    options = {"n_users": 12, "n_items": 9, "n_factors": 5, "user_levels": (3,), "item_levels": (2, 4)}
    made = simulate_chains(reading="exact", own_factors=True, random_state=3, **options)
    rng = np.random.default_rng(3)

    def side(n, sizes):
        found = rng.chisquare(1, size=(n, 5))
        for size in sizes:
            level = rng.integers(size, size=n)
            found = found + rng.chisquare(1, size=(size, 5))[level]
        return found

    a, b = side(12, (3,)), side(9, (2, 4))
    q = rng.chisquare(1, size=(2, 5))
    g = a[made.table.user] * b[made.table.item]
    assert np.allclose(
        made.step_probabilities, 2.0 ** -((g @ q.T) / g.sum(axis=1, keepdims=True)), rtol=1e-12
    )
    assert list(made.item_features) == ["item", "item_level1", "item_level2"]
    without = simulate_chains(reading="exact", random_state=3, **options)
    assert not np.allclose(without.step_probabilities, made.step_probabilities)
