from __future__ import annotations

import numpy as np
import pytest

from symscreen.expressions.tree import parse_expression
from symscreen.fitting.laws.fitted_laws import fit_laws
from symscreen.fitting.laws.law import Law, build_law_data
from symscreen.fitting.laws.sufficiency import compute_pool_lack_of_fit, is_law_sufficient
from symscreen.grammar import load_grammar


def make_data(rng, noise, n=800):
    columns = dict(zip("abcde", rng.uniform(1, 3, (5, n)), strict=True))
    target = columns["a"] * columns["b"] / columns["c"]
    target += noise * target.std() * rng.normal(size=n)
    return build_law_data(
        columns, target, load_grammar("basic").add_operators(["sin", "cos"]), pool_limit=3000
    )


def fit(data, *texts, search_size=100.0):
    laws = [Law((parse_expression(text),), has_intercept=False, search_size=search_size) for text in texts]
    return fit_laws(laws, data.columns, data.target)


def test_the_true_law_is_sufficient_and_a_wrong_one_is_not(rng):
    data = make_data(rng, noise=0.05)
    assert is_law_sufficient(fit(data, "a*b/c"), data)
    assert not is_law_sufficient(fit(data, "a*b/sqrt(c)"), data)
    assert not is_law_sufficient([], data)


def test_a_law_with_a_close_competitor_is_no_clear_winner(rng):
    data = make_data(rng, noise=0.5)
    laws = fit(data, "a*b/c", "a*b*(a + 30)/c")
    assert is_law_sufficient(laws, data)
    assert not is_law_sufficient(laws, data, max_cost=29.0)
    assert is_law_sufficient(laws, data, max_cost=30.0)  # it pays 9.2 for its search, and 20 less are allowed
    assert is_law_sufficient(laws[:1], data, max_cost=10.0)


def test_laws_that_extend_the_best_one_are_no_competitors(rng):
    data = make_data(rng, noise=0.5)
    longer = Law((parse_expression("a*b/c"), parse_expression("d")), has_intercept=False, search_size=100.0)
    laws = [*fit(data, "a*b/c"), *fit_laws([longer], data.columns, data.target)]
    assert is_law_sufficient(laws, data, max_cost=10.0)


def test_a_law_that_pays_much_for_its_search_is_no_clear_winner(rng):
    data = make_data(rng, noise=0.05)
    laws = fit(data, "a*b/c", search_size=1e6)
    assert is_law_sufficient(laws, data, max_cost=28.0)
    assert not is_law_sufficient(laws, data, max_cost=27.0)


def test_few_rows_end_no_search_unless_the_law_is_exact(rng):
    noisy, exact = make_data(rng, noise=0.05, n=100), make_data(rng, noise=0.0, n=100)
    assert not is_law_sufficient(fit(noisy, "a*b/c"), noisy)
    assert is_law_sufficient(fit(exact, "a*b/c"), exact, max_cost=20.0)


@pytest.mark.slow
def test_noise_is_seldom_correlated_with_a_formula(rng):
    data = make_data(rng, noise=0.05)
    p_values = [compute_pool_lack_of_fit(rng.normal(size=800), data) for _ in range(10)]
    assert sum(p_value < 0.05 for p_value in p_values) <= 2


def test_a_part_of_the_residuals_of_five_inputs_is_found_where_neighbours_are_far_apart(rng):
    data = make_data(rng, noise=0.05)
    missing = np.log(data.columns["d"] * data.columns["e"])
    residuals = 0.5 * (missing - missing.mean()) + rng.normal(size=800) * missing.std()
    assert compute_pool_lack_of_fit(residuals, data) < 1e-6


@pytest.mark.parametrize("residuals", [np.zeros(800), np.full(800, 0.5)])
def test_constant_residuals_are_no_evidence(residuals, rng):
    assert compute_pool_lack_of_fit(residuals, make_data(rng, noise=0.05)) == 1.0
