from __future__ import annotations

import numpy as np
import pytest

from symscreen.fitting.lack_of_fit import compute_formula_lack_of_fit, compute_lack_of_fit
from symscreen.grammar import load_grammar


@pytest.mark.parametrize(("n_inputs", "n"), [(1, 60), (3, 300)])
def test_the_p_values_of_noise_are_nearly_uniform(n_inputs, n, rng):
    inputs = rng.uniform(size=(200, n_inputs, n))
    spread = 0.1 + inputs[:, 0]  # the variance of the noise may depend on the inputs
    residuals = spread * rng.normal(size=(200, n))
    p_values = np.array(
        [compute_lack_of_fit(list(columns), noise) for columns, noise in zip(inputs, residuals, strict=True)]
    )
    # 200 uniform p-values: three standard deviations around the expected counts
    assert abs((p_values < 0.1).sum() - 20) <= 13
    assert abs((p_values < 0.5).sum() - 100) <= 21


def test_a_missing_smooth_part_gives_a_small_p_value(rng):
    x, z = rng.uniform(size=(2, 500))
    assert compute_lack_of_fit([x, z], np.sin(4 * x * z) - 0.5 + 0.3 * rng.normal(size=500)) < 1e-6


def test_the_order_of_rows_and_the_scales_of_inputs_have_no_effect(rng):
    columns, residuals = rng.uniform(size=(2, 200)), rng.normal(size=200)
    order = rng.permutation(200)
    p_value = compute_lack_of_fit(list(columns), residuals)
    assert compute_lack_of_fit(list(columns[:, order]), residuals[order]) == p_value
    assert compute_lack_of_fit([np.exp(columns[0]), 1e9 * columns[1]], residuals * 2.0**-900) == p_value


def test_few_rows_and_exact_fits_give_one():
    assert compute_lack_of_fit([np.arange(5.0)], np.ones(5)) == 1.0
    assert compute_lack_of_fit([np.arange(50.0)], np.zeros(50)) == 1.0


def test_rows_with_equal_inputs_are_neighbours_of_each_other(rng):
    # the same inputs with opposite residuals: what is left cannot be explained by the inputs
    x = np.repeat(rng.uniform(size=100), 2)
    assert compute_lack_of_fit([x], np.tile([1.0, -1.0], 100) * rng.uniform(0.5, 1, 200)) > 0.99


def test_copies_of_rows_have_no_effect(rng):
    columns, residuals = rng.uniform(size=(2, 200)), rng.normal(size=200)
    copied = [np.repeat(values, 3) for values in columns]
    assert compute_lack_of_fit(copied, np.repeat(residuals, 3)) == compute_lack_of_fit(
        list(columns), residuals
    )


def test_a_part_along_a_formula_is_found_and_noise_is_not(rng):
    names, grammar = "abcde", load_grammar("basic")
    columns = dict(zip(names, rng.uniform(1.0, 3.0, (5, 400)), strict=True))
    noise = columns["a"] * rng.standard_t(3, size=400)
    part = 1.5 * np.sin(12.0 * columns["b"] / columns["d"])
    assert compute_formula_lack_of_fit(columns, part + noise / 4.0, grammar) < 1e-4
    assert compute_lack_of_fit([*columns.values()], part + noise / 4.0) > 1e-4
    assert compute_formula_lack_of_fit(columns, noise, grammar) > 0.01


def test_levels_of_inputs_do_not_order_rows_by_their_residuals(rng):
    columns = {name: rng.integers(1, 4, 300).astype(float) for name in "ab"}
    p_values = [
        compute_formula_lack_of_fit(columns, rng.normal(size=300), load_grammar("basic")) for _ in range(20)
    ]
    assert min(p_values) > 0.001
    order = rng.permutation(300)
    noise = rng.normal(size=300)
    moved = {name: values[order] for name, values in columns.items()}
    assert compute_formula_lack_of_fit(moved, noise[order], load_grammar("basic")) == (
        compute_formula_lack_of_fit(columns, noise, load_grammar("basic"))
    )
