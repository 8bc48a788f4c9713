"""Noise with heavy tails is no law: the rows that make up its variance are few."""

from __future__ import annotations

import numpy as np
import pytest

import symscreen


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lognormal", "student"])
def test_no_formula_is_claimed_for_noise_with_heavy_tails(kind, change_effort):
    change_effort("quick", pool_formulas=1000, n_law_stages=1, layer_candidates=2000)
    rng = np.random.default_rng(6)  # the benchmark law_claims counts claims over many tables
    columns = {name: rng.normal(size=100) for name in "xyz"}
    target = rng.lognormal(size=100) if kind == "lognormal" else rng.standard_t(3.0, size=100)
    result = symscreen.fit(columns, target, effort="quick", jobs=1)
    assert result.record["verdict"]["kind"] == "none"


@pytest.mark.slow
def test_a_law_is_found_under_noise_with_heavy_tails(rng, change_effort):
    change_effort("quick", pool_formulas=1000, n_law_stages=1, layer_candidates=1000)
    x, y, z = rng.uniform(1, 3, (3, 300))
    target = x * y / z + 0.03 * rng.standard_t(3.0, size=300)
    result = symscreen.fit({"x": x, "y": y, "z": z}, target, effort="quick", jobs=1)
    assert str(result.formula.terms[0]) == "x*y/z"
