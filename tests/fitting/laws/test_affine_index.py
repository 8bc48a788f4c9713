"""Laws M·(c + d·h(θ)^p), such as a kinetic energy."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from symscreen.expressions.traversal import evaluate_expression
from symscreen.fitting.laws.fitted_laws import fit_laws
from symscreen.fitting.laws.law import build_law_data
from symscreen.fitting.laws.single_index import find_single_index_laws
from symscreen.grammar import load_grammar


def find_sums(columns, target):
    """Return the best law of two terms, or of one term and an intercept, with its share 1 − R²."""
    data = build_law_data(columns, target, load_grammar("standard"), pool_limit=1000)
    with threadpool_limits(1):  # as in a fit
        found = find_single_index_laws(data)
    sums = [law for law in found if len(law.terms) + law.has_intercept == 2]
    return min(fit_laws(sums, data.columns, data.target, None), key=lambda each: each.unexplained_share)


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_relativistic_kinetic_energy_is_a_sum_of_two_terms(rng, noise):
    m, v = rng.uniform([[1.0], [0.1]], [[5.0], [0.9]], (2, 400))
    target = m * (1.0 / np.sqrt(1.0 - v**2) - 1.0)
    target += noise * np.sqrt(np.mean(target**2)) * rng.normal(size=400)
    best = find_sums({"m": m, "v": v}, target)
    assert set(map(str, best.law.terms)) == {"m/sqrt(1 - v**2)", "m"}


def test_a_factor_that_contains_the_index_is_found(rng):
    a, x = rng.uniform(1.0, 3.0, (2, 300))
    best = find_sums({"a": a, "x": x}, a * x * (3.0 - 2.0 * np.tanh(x)))
    assert best.unexplained_share < 1e-20


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_factors_are_compared_by_what_is_left_of_the_target_itself(rng, noise):
    a, t, v = rng.uniform(1.0, 5.0, (3, 1_000))
    target = t * v * np.exp(-a / (t * v)) + a
    target += noise * np.sqrt(np.mean(target**2)) * rng.normal(size=1_000)
    columns = {"a": a, "t": t, "v": v}
    best = find_sums(columns, target)
    values = [evaluate_expression(term, columns) for term in best.law.terms]
    assert any(np.allclose(each, t * v * np.exp(-a / (t * v)), rtol=1e-12) for each in values)
