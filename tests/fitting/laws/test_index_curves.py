"""Curves with free numbers of a product of powers: Hill, Weibull, Avrami, Sérsic."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from symscreen.fitting.laws.law import build_law_data
from symscreen.fitting.laws.search import find_laws
from symscreen.fitting.laws.single_index import search_single_index_laws
from symscreen.grammar import load_grammar

GRAMMAR = load_grammar("standard")
CURVES = {
    "Hill": lambda m, u: m / (1.0 + u**-2.3),
    "stretched exponential": lambda m, u: m * np.exp(-(u**0.6)),
    "inverse Weibull": lambda m, u: 2.0 * m * np.exp(-(u**-1.7)),
    "Avrami": lambda m, u: m * (1.0 - np.exp(-(u**2.5))),
    "Sersic": lambda m, u: m * np.exp(-7.67 * (u**0.25 - 1.0)),
    "Carreau": lambda m, u: m * (1.0 + u**2) ** -0.35,
    "saturation with an offset": lambda m, u: m * (0.4 + 1.7 * np.exp(-0.8 * u)),
}


def find_best(columns, target):
    """Return the law with the smallest squared error of the stage."""
    data = build_law_data(columns, target, GRAMMAR, pool_limit=2_000)
    with threadpool_limits(1):  # as in a fit
        found = find_laws(data, only_stage="single index")
    return min(found, key=lambda each: each.unexplained_share)


@pytest.mark.parametrize("name", CURVES)
def test_curves_whose_scale_is_an_input_are_exact(name, rng):
    m, x, s = rng.uniform([[1.0], [0.4], [0.8]], [[4.0], [4.0], [2.5]], (3, 400))
    best = find_best({"m": m, "x": x, "s": s}, CURVES[name](m, x / s))
    assert best.unexplained_share < 1e-20


def test_the_numbers_of_a_curve_are_found_with_noise(rng):
    v, x, s = rng.uniform([[1.0], [0.4], [0.8]], [[5.0], [4.0], [2.5]], (3, 500))
    target = v / (1.0 + (s / x) ** 2.3) + 0.01 * rng.normal(size=500)
    data = build_law_data({"v": v, "x": x, "s": s}, target, GRAMMAR, pool_limit=2_000)
    with threadpool_limits(1):
        found = find_laws(data, only_stage="single index")
    assert any(str(each.law.terms[0]) == "v/(1 + (s/x)**2.3)" for each in found)


def test_no_curve_is_fitted_where_the_index_does_not_determine_the_target(rng, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("curves were searched")

    monkeypatch.setattr("symscreen.fitting.laws.index_curves.find_curves", refuse)
    x, y, z = rng.uniform(1.0, 5.0, (3, 400))
    data = build_law_data({"x": x, "y": y, "z": z}, x + np.sin(2.0 * y) + z**2, GRAMMAR, pool_limit=2_000)
    with threadpool_limits(1):
        assert len(list(search_single_index_laws(data))) == 2


def test_curves_do_not_displace_a_simple_law_with_a_number():
    h, w, t = np.random.default_rng(0).uniform(1.0, 5.0, (3, 400))
    best = find_best({"h": h, "w": w, "t": t}, h * w / (2.0 * np.pi * np.expm1(h * w / (2.0 * np.pi * t))))
    assert best.unexplained_share < 1e-24
    assert len(best.law.terms) == 1
