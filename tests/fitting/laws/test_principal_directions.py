from __future__ import annotations

from itertools import product
from math import gcd

import numpy as np
import pytest

from symscreen.expressions.traversal import evaluate_expression
from symscreen.fitting.laws.law import build_law_data
from symscreen.fitting.laws.log_scale import compute_log_scale
from symscreen.fitting.laws.principal_directions import count_indices, estimate_hessian, propose_indices
from symscreen.fitting.laws.single_index import find_single_index_laws
from symscreen.grammar import load_grammar

INDICES = [(1, 1, -1, -1, 0, 0), (1, -2, 0, 0, 0, 0), (1, 1, 1, -1, -2, 0), (2, -1, -1, 1, 0, 0)]
FUNCTIONS = {"sum": lambda z: 1 + z, "exp": lambda z: np.exp(-z), "tanh": np.tanh}


def make_scale(rng, index, function, noise=0.0, n=3000):
    x = rng.uniform(1, 4, (6, n))
    theta = np.prod(x ** np.array(index)[:, None], axis=0)
    target = x[0] * x[5] ** 2 * function(theta / np.median(theta))
    target = target + noise * np.sqrt(np.mean(target**2)) * rng.normal(size=n)
    return {f"x{place}": values for place, values in enumerate(x)}, target


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("index", INDICES)
def test_the_exponents_of_the_index_are_proposed(rng, index, function, noise):
    assert index in propose_indices(compute_log_scale(*make_scale(rng, index, FUNCTIONS[function], noise)))


def test_a_proposal_has_no_common_divisor_and_begins_positive(rng):
    for _ in range(20):
        columns = {f"x{place}": rng.uniform(1, 4, 200) for place in range(4)}
        for powers in propose_indices(compute_log_scale(columns, rng.lognormal(size=200))):
            assert gcd(*powers) == 1
            assert sum(map(bool, powers)) > 1
            assert next(power for power in powers if power) > 0


def test_the_hessian_of_a_quadratic_function_is_exact(rng):
    hessian = rng.normal(size=(3, 3))
    hessian = hessian + hessian.T
    logs = rng.normal(size=(3, 100))
    target = np.exp(0.5 * np.einsum("in,ij,jn->n", logs, hessian, logs) + logs[0])
    scale = compute_log_scale({f"x{place}": np.exp(each) for place, each in enumerate(logs)}, target)
    for weights in (scale.weights, np.ones(100)):
        np.testing.assert_allclose(estimate_hessian(scale, weights), hessian, atol=1e-6)


def test_few_rows_or_a_zero_target_propose_nothing(rng):
    columns = {f"x{place}": rng.uniform(1, 4, 20) for place in range(4)}
    assert propose_indices(compute_log_scale(columns, rng.uniform(1, 2, 20))) == []
    assert propose_indices(compute_log_scale({"a": np.ones(50), "b": np.ones(50)}, np.zeros(50))) == []


@pytest.mark.parametrize("powers", [(1, -1), (1, 1, -2), (3, 0), (1, 1, 1, 1)])
def test_the_count_is_that_of_all_products_up_to_sign(powers):
    size = sum(map(abs, powers))
    vectors = product(range(-size, size + 1), repeat=len(powers))
    n = sum(0 < sum(map(abs, vector)) <= size for vector in vectors)
    assert count_indices(powers) == n / 2


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.02])
def test_an_index_of_five_of_eight_inputs_is_found(rng, noise):
    columns = dict(zip("abcdefgh", rng.uniform(1, 4, (8, 500)), strict=True))
    a, b, c, d, e, f, g, h = columns.values()
    target = f * g / h * (1 + a * b / (c * d * e**2))
    target = target + noise * np.sqrt(np.mean(target**2)) * rng.normal(size=500)
    data = build_law_data(
        columns, target, load_grammar("basic").add_operators(["sin", "cos"]), pool_limit=500
    )
    values = [evaluate_expression(law.terms[0], columns) for law in find_single_index_laws(data)]
    residuals = [target - each * (each @ target) / (each @ each) for each in values]
    assert min(np.mean(each**2) for each in residuals) < max(1.1 * noise**2, 1e-20) * np.mean(target**2)
