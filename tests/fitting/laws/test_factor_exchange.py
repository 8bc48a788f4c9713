"""Exchanging one factor of a noisy product: the partner is the best formula of the pool."""

from __future__ import annotations

import numpy as np
import pytest

from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import apply_operator, parse_expression
from symscreen.fitting.laws.factor_exchange import exchange_factors
from symscreen.fitting.laws.law import Law, LawData
from symscreen.fitting.laws.pair_search import rank_law
from symscreen.fitting.laws.power_products import compute_share_without_intercept
from symscreen.grammar import OPERATORS, load_grammar

STANDARD = load_grammar("standard")


def make_data(rng, noise=0.01):
    """Draw y = log(u)·cos(v)³ with noise; more than half of it is smaller than twice its noise."""
    columns = {name: rng.uniform(1.0, 3.0, 300) for name in "uv"}
    target = np.log(columns["u"]) * np.cos(columns["v"]) ** 3
    errors = noise * np.sqrt((target**2).mean()) * rng.normal(size=300)
    return LawData(columns, target + errors, STANDARD, pool_limit=5000)


def rank_product(text, data):
    term = parse_expression(text)
    values = evaluate_expression(term, data.columns)
    share = compute_share_without_intercept(values, data.target)
    return rank_law(share, Law((term,), has_intercept=False, search_size=1e6), len(values))


def find_best(laws):
    return str(min(laws, key=lambda each: each[:2]).law.terms[0])


@pytest.mark.parametrize("start", ["log(u)*exp(v)", "u*cos(v)**3", "sqrt(u)*cos(v)**3/v"])
def test_a_wrong_factor_is_exchanged_for_the_right_one(rng, start):
    data = make_data(rng)
    assert find_best(exchange_factors([rank_product(start, data)], data)) in {
        "log(u)*cos(v)**3",
        "cos(v)**3*log(u)",
    }


def test_the_partner_is_that_of_a_search_of_all_formulas(rng, monkeypatch):
    monkeypatch.setattr("symscreen.fitting.laws.factor_exchange._N_ROUNDS", 1)
    data = make_data(rng, noise=0.2)
    factor = parse_expression("log(u)")
    values = evaluate_expression(factor, data.columns)
    mul = OPERATORS["mul"]
    # of formulas that explain equally much, the simplest; none of the others comes close here
    shares = [compute_share_without_intercept(values * each, data.target) for each in data.pool.values]
    best = apply_operator(mul, factor, data.pool.build_expression(int(np.argmin(np.round(shares, 10)))))
    found = exchange_factors([rank_product("log(u)*v", data)], data)
    least = min(law.share for law in found if str(law.law.terms[0]).startswith("log(u)*"))
    expected = compute_share_without_intercept(evaluate_expression(best, data.columns), data.target)
    assert least == pytest.approx(expected, rel=1e-6)


def test_sums_and_laws_with_an_intercept_have_no_factors_to_exchange(rng):
    data = make_data(rng)
    known = rank_product("log(u)*cos(v)", data)
    with_intercept = known._replace(law=Law(known.law.terms, has_intercept=True, search_size=1.0))
    two_terms = known._replace(
        law=Law((*known.law.terms, parse_expression("u")), has_intercept=False, search_size=1.0)
    )
    assert exchange_factors([with_intercept, two_terms], data) == []


def test_only_allowed_laws_are_found(rng):
    data = make_data(rng)
    allowed = LawData(
        data.columns, data.target, STANDARD, lambda term: "cos" not in str(term), pool_limit=500
    )
    found = exchange_factors([rank_product("log(u)*v", data)], allowed)
    assert found
    assert all("cos" not in str(law.law.terms[0]) for law in found)
