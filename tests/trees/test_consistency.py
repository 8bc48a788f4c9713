from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers.requirements import require

from symscreen.errors import DataError, OptionError
from symscreen.trees import compute_bart_rate, compute_sine_scores, consistency, measure_regret

require("stochtree")


@pytest.fixture(scope="module")
def found():
    return measure_regret(rows=[50, 400], repeats=3)


@pytest.mark.slow
def test_the_regret_falls_with_the_rows(found):
    # Theorems 10 and 13
    for _, one in found.groupby("learner"):
        assert one.regret.iloc[1] + 2 * one.standard_error.iloc[1] < one.regret.iloc[0]


def test_the_regret_of_bart_falls_at_least_as_fast_as_the_rate_of_theorem_13(found):
    small, large = (compute_bart_rate(n, 2).regret for n in (50, 400))
    for learner in ("bart", "bart_draws"):
        regret = found.set_index(["learner", "rows"]).regret[learner]
        assert regret[400] / regret[50] < large / small


def test_every_figure_is_what_it_says(found):
    assert found.learner.unique().tolist() == ["cart", "bart", "bart_draws"]
    assert found["rows"].tolist() == [50, 400] * 3
    assert (found.regret > 0).all()
    assert (found.regret < found.bound).all()  # (30), (38)
    assert (found.share < 0.5).all()
    # Δ of the same tables does not depend on the learner
    delta = (found.regret / found.share).to_numpy().reshape(3, 2)
    np.testing.assert_allclose(delta, np.tile(delta[0], (3, 1)), rtol=0.05)


def test_the_mean_of_the_posterior_ranks_better_than_its_draws(found):
    regret = found.set_index(["learner", "rows"]).regret
    assert (regret["bart"] < regret["bart_draws"]).all()


def test_one_learner_or_size_more_changes_no_other(found):
    alone = measure_regret(["bart_draws"], rows=[50], repeats=3)
    kept = found[(found.learner == "bart_draws") & (found["rows"] == 50)].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, kept, check_exact=True)


def test_another_seed_gives_other_figures():
    one, two = (measure_regret(["cart"], rows=[50], repeats=1, seed=seed) for seed in (0, 1))
    assert one.regret[0] != two.regret[0]
    assert np.isnan(one.standard_error[0])


def test_noise_costs_and_its_absence_does_not():
    regret = [
        measure_regret(["cart"], rows=[100], noise_variance=variance).regret[0]
        for variance in (0.0, 0.25, 25.0)
    ]
    assert regret == sorted(regret)
    assert regret[0] < 0.5 * regret[2]


def test_the_standard_error_is_that_of_the_mean():
    each = []
    for repeat in range(4):
        rng = np.random.default_rng([7, 60, repeat])
        x = rng.random((60, 1))
        means = x[:, 0]
        y = means + 0.5 * rng.standard_normal(60)
        scores = consistency._fit_cart(x, y, int(rng.integers(2**31)))
        each.append(
            np.mean(
                [
                    abs(means[i] - means[j])
                    * (1 - np.sign(scores[i] - scores[j]) * np.sign(means[i] - means[j]))
                    for i in range(60)
                    for j in range(60)
                    if i != j
                ]
            )
        )
    found = measure_regret(
        ["cart"], rows=[60], repeats=4, seed=7, inputs=1, scoring=lambda x: x[:, 0], noise_variance=0.25
    )
    assert found.regret[0] == pytest.approx(np.mean(each))
    assert found.standard_error[0] == pytest.approx(np.std(each, ddof=1) / 2)


def test_the_regular_design_is_the_same_in_every_repeat(rng):
    one, two = (consistency._draw_inputs(20, 2, "regular", rng) for _ in range(2))
    assert (one == two).all()
    assert ((one >= 0) & (one < 1)).all()
    # every quarter of the square contains a quarter of a regular design
    corners = np.bincount(2 * (one[:, 0] >= 0.5) + (one[:, 1] >= 0.5))
    assert corners.min() >= 4
    assert (consistency._draw_inputs(20, 2, "random", rng) != one).any()
    assert measure_regret(["cart"], rows=[50], repeats=2, design="regular").standard_error[0] > 0


def test_the_waves_are_additive():
    x = np.array([[0.1, 0.2], [0.3, 0.4]])
    crossed = np.array([[0.1, 0.4], [0.3, 0.2]])
    assert compute_sine_scores(x).sum() == pytest.approx(compute_sine_scores(crossed).sum())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"learners": ["carts"]}, "did you mean 'cart'"),
        ({"design": "fixed"}, "known: random, regular"),
        ({"rows": [5]}, "at least 10"),
        ({"repeats": 0}, "repeats is 0"),
        ({"inputs": 0}, "inputs is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"noise_variance": -0.1}, "noise variance"),
        ({"noise_variance": np.nan}, "noise variance"),
    ],
)
def test_an_option_that_has_no_meaning_is_refused(options, said):
    with pytest.raises(OptionError, match=said):
        measure_regret(**options)


@pytest.mark.parametrize(
    "scoring",
    [lambda x: x, lambda x: np.zeros(len(x)), lambda x: np.full(len(x), np.nan), lambda x: 1.0],  # noqa: ARG005
)
def test_invalid_scoring_functions_are_rejected(scoring):
    with pytest.raises(DataError, match="one finite number per row"):
        measure_regret(["cart"], scoring=scoring)


def test_without_stochtree_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setattr(consistency, "find_spec", lambda name: None)  # noqa: ARG005  # not installed
    with pytest.raises(OptionError, match=r"pip install 'symscreen\[bart\]'"):
        measure_regret(["bart_draws"])
    assert len(measure_regret(["cart"], rows=[50], repeats=1)) == 1
