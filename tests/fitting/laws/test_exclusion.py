from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import symscreen
from symscreen.fitting.laws.exclusion import compute_exclusion, find_complete_complexity
from symscreen.fitting.laws.law import build_law_data
from symscreen.grammar import load_grammar
from symscreen.linear_models.row_weights import build_row_weights
from symscreen.units import Units

TINY = load_grammar("basic").override(unary=["square", "inv"], binary=["add", "mul", "sub", "div"])
UNARY = {"square": np.square, "inv": np.reciprocal}
BINARY = {"add": np.add, "mul": np.multiply, "sub": np.subtract, "div": np.divide}


def list_all_values(columns, complexity):
    """List the values of every formula up to a complexity, by brute force and with repetitions."""
    by_size = {1: list(columns)}
    for size in range(2, complexity + 1):
        by_size[size] = [function(values) for values in by_size[size - 1] for function in UNARY.values()]
        for left in range(1, size - 1):
            pairs = product(by_size[left], by_size[size - 1 - left])
            by_size[size] += [function(*pair) for pair in pairs for function in BINARY.values()]
    return [values for size in by_size.values() for values in size]


def compute_errors(formulas, target):
    errors = []
    for values in formulas:
        if np.isfinite(values).all() and np.ptp(values) > 1e-9 * np.abs(values).max():
            correlation = np.corrcoef(values, target)[0, 1]
            errors.append(np.sqrt(max(0.0, 1.0 - correlation**2)))
    return np.array(errors)


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 1_500])
def test_no_formula_has_a_smaller_error_and_on_few_rows_one_has_it(n, rng):
    x, z = rng.uniform(1, 3, (2, n))
    target = x**2 / z + np.sin(3 * z) + 0.2 * rng.normal(size=n)
    data = build_law_data({"x": x, "z": z}, target, TINY, pool_limit=1_000)
    excluded = compute_exclusion(data)
    assert excluded.complexity >= 4
    with np.errstate(all="ignore"):
        errors = compute_errors(list_all_values([x, z], excluded.complexity), target)
    assert excluded.error <= errors.min() * (1 + 1e-9)
    if n <= len(data.pool_rows):
        assert excluded.error == pytest.approx(errors.min(), rel=1e-9)
    else:
        assert excluded.error > 0.5 * errors.min() * np.sqrt(len(data.pool_rows) / n)


def test_many_rows_give_a_bound_that_is_tight_where_one_formula_is_much_better(rng):
    x, z = rng.uniform(1, 3, (2, 5_000))
    target = x / z + 1e-3 * rng.normal(size=5_000)
    excluded = compute_exclusion(build_law_data({"x": x, "z": z}, target, TINY, pool_limit=1_000))
    assert excluded.error == pytest.approx(np.sqrt(1 - np.corrcoef(x / z, target)[0, 1] ** 2), rel=1e-6)


def test_a_complexity_that_the_limit_cuts_does_not_count(rng):
    x, z = rng.uniform(1, 3, (2, 60))
    for limit in (10, 100, 1_000):
        data = build_law_data({"x": x, "z": z}, x + z**2, TINY, pool_limit=limit)
        complexity = find_complete_complexity(data.pool, limit)
        assert complexity == int(data.pool.complexity[-1]) - 1
        larger = build_law_data({"x": x, "z": z}, x + z**2, TINY, pool_limit=50 * limit).pool
        assert (larger.complexity <= complexity).sum() == (data.pool.complexity <= complexity).sum()
    limited = replace(TINY, max_complexity=3)
    data = build_law_data({"x": x, "z": z}, x + z**2, limited, pool_limit=1_000)
    assert find_complete_complexity(data.pool, 1_000) == 3


def test_nothing_is_claimed_with_units_or_weights(rng):
    x, z = rng.uniform(1, 3, (2, 60))
    data = build_law_data({"x": x, "z": z}, x + z**2, TINY, pool_limit=100)
    assert compute_exclusion(replace(data, units=Units({}))) is None
    assert compute_exclusion(replace(data, row_weights=build_row_weights(x))) is None


@pytest.mark.slow
def test_fit_says_what_it_excluded_unless_a_formula_is_exact(rng, change_effort):
    change_effort("quick", pool_formulas=2000, n_law_stages=1, layer_candidates=1000)
    x, z = rng.uniform(1, 3, (2, 200))
    columns = {"x": x, "z": z}
    noisy = symscreen.fit(columns, x * z + 0.1 * rng.normal(size=200), effort="quick", jobs=1)
    excluded = noisy.record["exclusion"]
    assert excluded["error"] <= np.sqrt(1 - noisy.r2) * (1 + 1e-9)
    assert noisy.exclusion.startswith(
        f"no single term without fitted numbers inside, up to complexity {excluded['complexity']} ("
    )
    exact = symscreen.fit(columns, x * z, effort="quick", jobs=1)
    assert exact.exclusion is None
    with_layers = symscreen.fit(columns, x * z + 0.1 * rng.normal(size=200), layers="u", jobs=1)
    assert with_layers.exclusion is None


@pytest.mark.parametrize(
    ("error", "text"),
    [(0.0317, "0.001"), (0.317, "0.1"), (0.000317, "1e-07"), (1.0, "1"), (0.129, "0.016"), (0.0, None)],
)
def test_the_error_is_rounded_down_so_that_the_statement_stays_true(error, text, rng):
    x = rng.uniform(1, 3, 60)
    result = symscreen.fit({"x": x}, x + rng.normal(size=60), layers="u", jobs=1)
    record = result.record | {"exclusion": {"complexity": 5, "formulas": 23412, "error": error}}
    changed = replace(result, record=record)
    statement = "no single term without fitted numbers inside, up to complexity 5 (23,412 tried), "
    statement += f"has 1 - R2 below {text}"
    assert changed.exclusion == (None if text is None else statement)
