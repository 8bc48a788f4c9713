"""Noise with heavy tails is no law: the rows that make up its variance are few."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import symscreen


@cache
def fit_noise(kind, seed):
    rng = np.random.default_rng([7, seed])
    columns = {name: rng.normal(size=100) for name in "xyz"}
    target = rng.lognormal(size=100) if kind == "lognormal" else rng.standard_t(3.0, size=100)
    return symscreen.fit(columns, target, effort="quick", jobs=1)


@pytest.mark.slow
def test_no_formula_is_claimed_for_lognormal_noise():
    assert fit_noise("lognormal", 0).record["verdict"]["kind"] == "none"


@pytest.mark.slow
def test_a_formula_is_hardly_ever_claimed_for_noise_with_heavy_tails():
    kinds = [
        fit_noise(kind, seed).record["verdict"]["kind"]
        for kind in ("lognormal", "student")
        for seed in range(2)
    ]
    assert set(kinds) == {"none"}


@pytest.mark.slow
def test_a_law_is_found_under_noise_with_heavy_tails(rng):
    x, y, z = rng.uniform(1, 3, (3, 300))
    target = x * y / z + 0.03 * rng.standard_t(3.0, size=300)
    result = symscreen.fit({"x": x, "y": y, "z": z}, target, effort="quick", jobs=1)
    assert str(result.formula.terms[0]) == "x*y/z"
