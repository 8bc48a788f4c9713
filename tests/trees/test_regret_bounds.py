from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.tree import DecisionTreeRegressor

from symscreen.errors import OptionError
from symscreen.trees import (
    compute_bart_rate,
    compute_cart_regret_tail,
    compute_ranking_regret,
    compute_regret_bound,
    compute_regret_tail,
    compute_sine_scores,
)

TINY = {"total_variation": 0.0, "complexity_constant": 1e-300, "sup_norm": 0.0}
POSITIVE = st.floats(0.01, 100.0)


def test_every_term_of_equation_16_and_of_its_correction():
    error = compute_cart_regret_tail(0.5, 100, 3, 2, **{**TINY, "approximation_error": 0.01})
    assert error.printed == pytest.approx(1024 * 0.01 / 0.5**4)
    assert error.corrected == pytest.approx(128 * 0.01 / 0.5**2)
    variation = compute_cart_regret_tail(0.5, 100, 3, 2, **{**TINY, "total_variation": 0.1})
    assert variation.printed == pytest.approx(1024 * 0.002 / 0.5**4)  # 0.1²/(2 + 3)
    assert variation.corrected == pytest.approx(128 * 0.002 / 0.5**2)
    leaves = compute_cart_regret_tail(0.5, 100, 3, 2, **{**TINY, "complexity_constant": 1.0})
    growth = 4 * math.log(100) ** 2 * math.log(300) / 100
    assert leaves.printed == pytest.approx(1024 * growth / 0.5**4)
    assert leaves.corrected == pytest.approx(128 * growth / 0.5**2)
    gap = compute_cart_regret_tail(0.5, 100, 3, 2, **{**TINY, "sup_norm": 2.0}, entropy=3.0)
    assert gap.printed == pytest.approx(32 * 6 / (0.25 * 10))
    assert gap.corrected == pytest.approx(16 * 6 / (0.5 * 10))


@given(POSITIVE, POSITIVE, POSITIVE, POSITIVE, POSITIVE, POSITIVE)
def test_only_the_corrected_bound_is_free_of_units(epsilon, unit, variation, error, constant, sup_norm):
    def bound(s):
        return compute_cart_regret_tail(
            epsilon * s,
            1000,
            2,
            3,
            total_variation=variation * s,
            approximation_error=error * s**2,
            complexity_constant=constant * s**2,
            sup_norm=sup_norm * s,
        )

    assert bound(unit).corrected == pytest.approx(bound(1.0).corrected)
    finer = bound(max(unit, 1.0) * 2.0)
    assert finer.printed < bound(max(unit, 1.0)).printed / 2 * (1 + 1e-9)


@given(st.floats(0.01, 2.0), POSITIVE, POSITIVE, POSITIVE)
def test_up_to_two_the_printed_bound_is_the_larger_one(epsilon, variation, constant, sup_norm):
    found = compute_cart_regret_tail(
        epsilon, 500, 2, 4, total_variation=variation, complexity_constant=constant, sup_norm=sup_norm
    )
    assert found.corrected <= found.printed * (1 + 1e-9)


def _simulate_cart(rng, repeats, unit, n=80, depth=3):
    """Return regrets, squared errors on new inputs, and gaps of the norms of trees fitted to noisy rows."""
    fresh = rng.random((4000, 2))
    truth = compute_sine_scores(fresh) * unit
    found = []
    for _ in range(repeats):
        x = rng.random((n, 2))
        means = compute_sine_scores(x) * unit
        tree = DecisionTreeRegressor(max_depth=depth).fit(x, means + unit * rng.normal(0, 0.5, n))
        fitted = tree.predict(x)
        norm = np.sqrt(np.mean((tree.predict(fresh) - truth) ** 2))
        gap = abs(np.sqrt(np.mean((fitted - means) ** 2)) - norm)
        regret = compute_ranking_regret(fitted, means)
        assert regret <= compute_regret_bound(fitted, means)  # (30)
        found.append((regret, norm**2, gap))
    return np.array(found).T


def test_regrets_of_cart_do_not_violate_the_bound_from_their_errors(rng):
    regrets, squares, gaps = _simulate_cart(rng, 60, 1.0)
    bounds = []
    for epsilon in np.linspace(0.05, 12.0, 40):
        bounds.append(compute_regret_tail(epsilon, squares.mean(), gaps.mean()))
        assert (regrets > epsilon).mean() <= bounds[-1]
    assert min(bounds) < 0.6  # some of them say something


def test_the_bound_is_within_a_factor_of_what_a_wrong_order_attains(rng):
    # scores that are slightly reversed in a share p of the tables: E‖f − f_B‖² is about p·E f_B²
    p, means = 0.02, np.sort(rng.uniform(-1.0, 1.0, 2001))
    worst = compute_ranking_regret(-1e-6 * means, means)
    bound = compute_regret_tail(worst * 0.999, p * np.mean(means**2), 0.0)
    assert p < bound < 13 * p  # 16·E f²/Δ² = 12 for uniform means


def test_the_printed_bound_does_not_hold_in_small_units(rng):
    # constants grow with the target as their definitions demand, and generously
    unit = 1e6
    regrets, _, _ = _simulate_cart(rng, 20, unit)
    found = compute_cart_regret_tail(
        0.1 * unit,
        80,
        2,
        3,
        total_variation=8.0 * unit,  # two sines of variation 4
        complexity_constant=100.0 * unit**2,
        sup_norm=4.0 * unit,
        entropy=10.0,
    )
    assert (regrets > 0.1 * unit).mean() > 0.9
    assert found.printed < 0.05
    assert found.corrected > 1.0


@given(st.floats(0.1, 1.0), st.integers(1, 5), st.integers(10, 10**6))
def test_the_rate_balances_bias_and_variance_of_cells(nu, d, n):
    # cells of width h: squared bias h^(2ν) and variance 1/(N·h^d); the theorem adds √(log N)
    def risk(rows):
        best = minimize_scalar(
            lambda log_h: math.exp(2 * nu * log_h) + math.exp(-d * log_h) / rows, bounds=(-30, 5)
        )
        return math.sqrt(best.fun)

    one, two = (compute_bart_rate(rows, d, nu).error / math.sqrt(math.log(rows)) for rows in (n, 7 * n))
    assert two / one == pytest.approx(risk(7 * n) / risk(n), rel=1e-5)


@given(st.floats(0.1, 1.0), st.integers(1, 5), st.floats(0.1, 10.0))
def test_the_rate_falls_from_where_it_says(nu, d, multiple):
    turn = compute_bart_rate(100, d, nu).decreasing_from
    if 4 <= turn <= 1e15:
        before, at, after = (
            compute_bart_rate(max(round(turn * share), 2), d, nu).error for share in (0.5, 1, 2)
        )
        assert before < at > after
    found = compute_bart_rate(100, d, nu, multiple=multiple)
    assert found.regret == 4 * found.error
    assert found.error == pytest.approx(multiple * compute_bart_rate(100, d, nu).error)


def test_means_of_cells_have_errors_and_regrets_within_the_rate(rng):
    # a Lipschitz function on a regular design in one dimension, ν = 1; every cell has one mean
    shares = []
    for n in (100, 1000, 10_000):
        x = (np.arange(n) + 0.5) / n
        means = np.sin(2 * np.pi * x)
        y = means + rng.normal(0, 0.5, n)
        cells = np.floor(x * round(n ** (1 / 3))).astype(int)
        scores = (np.bincount(cells, y) / np.bincount(cells))[cells]
        error = np.sqrt(np.mean((scores - means) ** 2))
        assert compute_ranking_regret(scores, means) <= 4 * error
        shares.append(error / compute_bart_rate(n, 1).error)
    assert shares[0] > shares[1] > shares[2]  # √(log N) is to spare
    assert shares[0] < 1


def test_huge_arguments_give_an_infinite_bound():
    assert compute_cart_regret_tail(1e-200, 100, 2, 5000, total_variation=1.0).corrected == math.inf
    assert compute_bart_rate(100, 5000, 0.1).decreasing_from == math.inf


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: compute_cart_regret_tail(0.0, 100, 2, 2, total_variation=1.0), "epsilon is 0.0"),
        (lambda: compute_cart_regret_tail(0.1, 1, 2, 2, total_variation=1.0), "n_rows is 1"),
        (lambda: compute_cart_regret_tail(0.1, 100, 0, 2, total_variation=1.0), "n_inputs is 0"),
        (lambda: compute_cart_regret_tail(0.1, 100, 2, 0, total_variation=1.0), "depth is 0"),
        (lambda: compute_cart_regret_tail(0.1, 100, 2, 2, total_variation=-1.0), "total_variation is -1.0"),
        (
            lambda: compute_cart_regret_tail(0.1, 100, 2, 2, total_variation=1.0, entropy=math.inf),
            "entropy is inf",
        ),
        (lambda: compute_regret_tail(-1.0, 1.0, 1.0), "epsilon is -1.0"),
        (lambda: compute_regret_tail(1.0, -1.0, 1.0), "squared_error is -1.0"),
        (lambda: compute_regret_tail(1.0, 1.0, math.nan), "norm_gap is nan"),
        (lambda: compute_bart_rate(1, 2), "n_rows is 1"),
        (lambda: compute_bart_rate(100, 0), "n_inputs is 0"),
        (lambda: compute_bart_rate(100, 2, 1.5), "holder_exponent is 1.5"),
        (lambda: compute_bart_rate(100, 2, multiple=0.0), "multiple is 0.0"),
    ],
)
def test_a_number_that_has_no_meaning_is_refused(call, said):
    with pytest.raises(OptionError, match=said):
        call()
