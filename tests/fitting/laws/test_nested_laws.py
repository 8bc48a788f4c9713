from __future__ import annotations

import numpy as np
import pytest

from symscreen.expressions.traversal import iterate_constants, rebuild_expression
from symscreen.expressions.tree import Constant, parse_expression
from symscreen.fitting.laws.fitted_laws import fit_laws
from symscreen.fitting.laws.law import Law, build_law_data
from symscreen.fitting.laws.law_forms import compute_law_score
from symscreen.fitting.laws.nested_laws import charge_added_terms, compute_shape, extends_law
from symscreen.grammar import load_grammar


def build_law(*texts, has_intercept=False, search_size=1.0):
    """Build a law whose numbers with a decimal point are fitted."""
    terms = tuple(
        rebuild_expression(
            parse_expression(text),
            number=lambda number: Constant(number.value, fitted=not float(number.value).is_integer()),
        )
        for text in texts
    )
    n_constants = sum(number.fitted for term in terms for number in iterate_constants(term))
    return Law(terms, has_intercept, search_size, n_constants)


@pytest.mark.parametrize(
    ("longer", "shorter"),
    [
        (["m*(u**2 + v**2)/(1 - 0.002*u/v)"], ["m*(u**2 + v**2)"]),
        (["m*(u**2 + 1.01*v**2 - 0.004*v*(u - m)**2)"], ["m*(u**2 + v**2)"]),
        (["m**3*(u + v)/(m**2 + 0.004)"], ["m*(u + v)"]),
        (["m*exp(0.01*u)/v**0.003"], ["m"]),
        (["u*cos(0.02*v)"], ["u"]),
        (["m*u**2", "m*v**2", "u*v"], ["m*(u**2 + v**2)"]),
        (["sin(u)/(v + 0.5)", "m"], ["m", "sin(u)/v"]),
    ],
)
def test_a_law_extends_the_one_that_lacks_one_or_two_of_its_fitted_terms(longer, shorter):
    assert extends_law(build_law(*longer), build_law(*shorter))
    assert not extends_law(build_law(*shorter), build_law(*longer))


def test_an_intercept_extends_a_law():
    assert extends_law(build_law("u*v", has_intercept=True), build_law("u*v"))
    assert not extends_law(build_law("u*v"), build_law("u*v", has_intercept=True))


@pytest.mark.parametrize(
    ("law", "other"),
    [
        (["m/sqrt(cos(1.45*u))"], ["m/sqrt(1 - u**2)"]),
        (["m*(u**2 + v**2)/(1 - u/v)"], ["m*(u**2 + v**2)"]),  # without fitted numbers
        (["m", "u", "v", "w"], ["m"]),  # three terms more
        (["0.5*u"], ["u"]),
        (["u/log(0.5*v)"], ["u"]),  # the logarithm of 0
        (["u/(0.5*v)"], ["u"]),
    ],
)
def test_other_laws_do_not_extend_each_other(law, other):
    assert not extends_law(build_law(*law), build_law(*other))


def test_laws_that_differ_in_coefficients_alone_have_one_shape():
    laws = [build_law("2.5*m*(u - 3*v)"), build_law("m*u", "m*v"), build_law("m*u + m*v/7")]
    assert len({compute_shape(law) for law in laws}) == 1
    assert compute_shape(build_law("m*u**2")) != compute_shape(build_law("m*u**3"))
    assert compute_shape(build_law("m*u", has_intercept=True)) != compute_shape(build_law("m*u"))


def make_data(rng, added=0.0):
    m, u, v = rng.uniform(1, 5, (3, 600))
    target = m * u**2 + added * v
    target += 0.05 * target.std() * rng.normal(size=600)
    return build_law_data({"m": m, "u": u, "v": v}, target, load_grammar("basic"), pool_limit=3000)


def test_a_term_that_follows_the_noise_is_charged_for_its_choice(rng):
    data = make_data(rng)
    # of all products of these inputs, the one that fits the residuals best
    residuals = data.target - data.columns["m"] * data.columns["u"] ** 2
    texts = [f"{a}*{b}**{power}" for a in "muv" for b in "muv" for power in (1, 2, 3)]
    candidates = [Law((parse_expression(text),), has_intercept=True, search_size=1.0) for text in texts]
    fits = fit_laws(candidates, data.columns, residuals)
    best = min(fits, key=lambda each: each.unexplained_share).law.terms[0]
    laws = [build_law("m*u**2", search_size=1e9), build_law("m*u**2", str(best), search_size=1e6)]
    short, long = fit_laws(laws, data.columns, data.target)
    assert compute_law_score(long, 600) < compute_law_score(short, 600)  # its search was cheaper
    charged_short, charged_long = charge_added_terms([short, long], data)
    assert charged_short is short
    assert charged_long.law.search_size > 1e9
    assert compute_law_score(charged_long, 600) > compute_law_score(short, 600)


def test_a_term_that_pays_for_its_choice_costs_nothing_more(rng):
    data = make_data(rng, added=5.0)
    laws = [build_law("m*u**2", search_size=1e9), build_law("m*u**2", "v", search_size=1e6)]
    fitted = fit_laws(laws, data.columns, data.target)
    charged = charge_added_terms(fitted, data)
    assert [each is other for each, other in zip(charged, fitted, strict=True)] == [True, True]


def test_the_order_of_the_laws_has_no_effect_on_their_charge(rng):
    data = make_data(rng)
    laws = [
        build_law("m*u**2", search_size=1e9),
        build_law("m*u**2", "v", search_size=1e3),
        build_law("m*u**2", "v", "m*v", search_size=1e2),
    ]
    fitted = fit_laws(laws, data.columns, data.target)
    sizes = [each.law.search_size for each in charge_added_terms(fitted, data)]
    backwards = [each.law.search_size for each in charge_added_terms(fitted[::-1], data)]
    assert backwards[::-1] == sizes
    assert np.all(np.diff(sizes) > 0.0)
