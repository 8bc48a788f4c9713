"""Laws with formulas of a deep pool."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import symscreen
from symscreen.errors import MemoryLimitError
from symscreen.expressions.traversal import compute_complexity
from symscreen.fitting.effort import EFFORTS
from symscreen.fitting.laws.deep_pool import check_deep_memory, estimate_deep_bytes, find_laws_of_deep_pool
from symscreen.fitting.laws.fitted_laws import fit_laws
from symscreen.fitting.laws.formula_pool import grow_formula_pool
from symscreen.fitting.laws.law import build_law_data
from symscreen.fitting.laws.matched_pairs import find_matched_pairs
from symscreen.grammar import load_grammar
from symscreen.units import Units, parse_unit

BASIC = load_grammar("basic").add_operators(["sin", "cos"])


def make_data(rng, noise=0.0, n=300):
    u, v = rng.uniform(1.0, 4.0, (2, n))
    target = 2.0 + 3.0 * u * np.sin(v) - 0.5 * v * np.exp(-u)
    target += noise * target.std() * rng.normal(size=n)
    return build_law_data({"u": u, "v": v}, target, BASIC, pool_limit=60)


def find_smallest_share(laws, data):
    return min((each.unexplained_share for each in fit_laws(laws, data.columns, data.target)), default=1.0)


@pytest.mark.slow
def test_a_deep_pool_has_the_law_that_a_small_pool_lacks(rng):
    data = make_data(rng)
    assert find_smallest_share(find_matched_pairs(data), data) > 1e-6
    laws = find_laws_of_deep_pool(data, 2000)
    assert find_smallest_share(laws, data) < 1e-20
    assert sum(map(compute_complexity, laws[0].terms)) <= 9


@pytest.mark.slow
def test_a_law_with_noise_is_found_in_a_deep_pool(rng):
    data = make_data(rng, noise=0.01)
    share = find_smallest_share(find_laws_of_deep_pool(data, 2000), data)
    assert share < 1.2e-4


def test_a_deep_pool_has_the_values_of_few_rows_once(rng):
    columns = {"u": rng.uniform(1.0, 4.0, 48)}
    once = grow_formula_pool(columns, BASIC, 500)
    assert once.values.shape == (500, 48)
    many = grow_formula_pool({"u": np.r_[columns["u"], rng.uniform(1.0, 4.0, 200)]}, BASIC, 500)
    common = min(len(once), len(many), 100)
    assert np.array_equal(once.complexity[:common], many.complexity[:common])


def test_a_deep_pool_is_not_searched_with_more_inputs_than_half_of_its_rows(rng):
    columns = {f"x{index}": rng.uniform(1.0, 2.0, 100) for index in range(25)}
    data = build_law_data(columns, columns["x1"] * columns["x2"], BASIC, pool_limit=100)
    assert find_laws_of_deep_pool(data, 1000) == []


def test_the_growth_of_a_deep_pool_ends_at_a_time_limit(rng):
    looks = []

    def should_stop():
        looks.append(None)
        return len(looks) > 3

    assert find_laws_of_deep_pool(make_data(rng), 5000, should_stop) == []
    assert len(looks) == 5  # once after each of four batches, and once at the end


@pytest.mark.slow
def test_pairs_of_a_deep_pool_are_not_ranked_after_a_time_limit(rng):
    data, looks = make_data(rng, noise=0.01), []

    def is_over_after(n_looks):
        looks.append(None)
        return len(looks) > n_looks

    assert find_laws_of_deep_pool(data, 1000, partial(is_over_after, np.inf))
    last = len(looks) - 1
    looks.clear()
    assert find_laws_of_deep_pool(data, 1000, partial(is_over_after, last)) == []


@pytest.mark.slow
@pytest.mark.parametrize("has_units", [False, True])
def test_the_estimate_of_memory_is_a_bound(has_units, rng):
    data = make_data(rng, n=1000)
    peaks = []
    if has_units:
        data = replace(data, units=Units({"u": parse_unit("m"), "v": parse_unit("s")}))
    few, many = (5_000, 15_000) if has_units else (20_000, 50_000)  # units take long
    bytes_per_formula = estimate_deep_bytes(1, has_units=has_units) - estimate_deep_bytes(0)
    for n_formulas in (few, many):
        tracemalloc.start()
        find_laws_of_deep_pool(data, n_formulas)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] < estimate_deep_bytes(few, has_units=has_units)
    assert 0.3 * bytes_per_formula < (peaks[1] - peaks[0]) / (many - few) < bytes_per_formula


def test_too_little_memory_for_a_deep_pool_is_refused_in_one_line():
    check_deep_memory(10**7, None)
    check_deep_memory(10**7, 10**12)
    with pytest.raises(MemoryLimitError, match="a pool of 10,000,000 formulas would take") as caught:
        check_deep_memory(10**7, 2 * 10**9)
    message = str(caught.value)
    assert "effort='default'" in message
    assert "max_ram= to at least" in message
    assert len(message) < 300
    assert "\n" not in message


def test_a_thorough_fit_is_refused_before_it_starts_where_memory_is_too_small(rng):
    x = rng.uniform(1.0, 2.0, (40, 2))
    with pytest.raises(MemoryLimitError, match="use effort='default', or raise max_ram= to at least"):
        symscreen.fit(x, x[:, 0] * x[:, 1], effort="thorough", max_ram="3GB")


@pytest.mark.slow
def test_a_thorough_fit_names_the_deep_pool_as_the_stage_that_found_its_law(rng, monkeypatch):
    small = replace(
        EFFORTS["thorough"],
        pool_formulas=60,
        deep_pool_formulas=2000,
        n_law_stages=1,
        n_refined_laws=4,
        layer_candidates=10,
    )
    monkeypatch.setitem(EFFORTS, "thorough", small)
    data = make_data(rng)
    result = symscreen.fit(
        dict(data.columns),
        data.target,
        effort="thorough",
        operators="basic",
        with_operators="sin,cos",
        max_terms=2,
    )
    assert result.verdict.startswith("exact")
    assert result.record["stage"] == "deep pool"
