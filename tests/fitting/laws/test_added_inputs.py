"""Laws with an input that is only added, such as the equation of Nernst."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from symscreen.fitting.laws.added_inputs import find_laws_with_added_inputs
from symscreen.fitting.laws.law import build_law_data
from symscreen.grammar import load_grammar


def find_terms(columns, target):
    """Return the terms of the laws as text, best first."""
    data = build_law_data(columns, target, load_grammar("standard"), pool_limit=1000)
    with threadpool_limits(1):  # as in a fit
        return [tuple(sorted(map(str, law.terms))) for law in find_laws_with_added_inputs(data)]


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_the_equation_of_nernst_is_found(rng, noise):
    a, b, t, v = rng.uniform(1.0, 5.0, (4, 400))
    target = v - 0.3 * t * np.log(a / b)
    target += noise * np.sqrt(np.mean(target**2)) * rng.normal(size=400)
    assert find_terms({"a": a, "b": b, "t": t, "v": v}, target)[0] == ("t*log(a/b)", "v")


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_an_input_is_added_to_a_factor_of_another(rng, noise):
    h, s, t, r, q = rng.uniform(1.0, 5.0, (5, 400))
    target = h - t * (s - r * np.log(q))
    target += noise * np.sqrt(np.mean(target**2)) * rng.normal(size=400)
    found = find_terms({"h": h, "s": s, "t": t, "r": r, "q": q}, target)
    assert ("h", "t*(r*log(q))", "t*s") in found


def test_an_input_that_is_multiplied_is_not_only_added(rng):
    a, b, v = rng.uniform(1.0, 5.0, (3, 400))
    assert find_terms({"a": a, "b": b, "v": v}, v * a * b) == []


def test_two_inputs_are_too_few(rng):
    a, v = rng.uniform(1.0, 5.0, (2, 400))
    assert find_terms({"a": a, "v": v}, v + np.log(a)) == []
