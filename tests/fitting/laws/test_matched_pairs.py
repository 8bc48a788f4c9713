"""Laws of two formulas: planted pairs are found, and a search of all pairs agrees."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from symscreen.expressions.traversal import compute_complexity, evaluate_expression
from symscreen.expressions.tree import Call, Constant
from symscreen.fitting.laws.law import LawData, build_law_data
from symscreen.fitting.laws.matched_pairs import find_matched_pairs
from symscreen.fitting.laws.matched_products import prepare_products
from symscreen.fitting.laws.matched_sums import prepare_sums
from symscreen.grammar import OPERATORS, Grammar, load_grammar

BASIC = load_grammar("basic").add_operators(["sin", "cos"])


def make_columns(rng, names="uvwx", n=150):
    return {name: rng.uniform(1.0, 4.0, n) for name in names}


def compute_relative_error(law, columns, target):
    values = [evaluate_expression(term, columns) for term in law.terms]
    if law.has_intercept:
        values.append(np.ones(len(target)))
    design = np.column_stack(values)
    design = design / np.abs(design).max(axis=0)
    residuals = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
    return np.linalg.norm(residuals) / np.linalg.norm(target - target.mean())


def has_terms(law, columns, terms):
    """Return whether the terms of a law are affine copies of these."""
    values = [evaluate_expression(term, columns) for term in law.terms]
    correlations = np.abs(np.corrcoef([*values, *terms])[: len(values), len(values) :])
    return (correlations.max(axis=0) > 1.0 - 1e-12).all()


def project_out(columns, values):
    basis = np.linalg.qr(np.column_stack(columns))[0]
    values = values - basis @ (basis.T @ values)
    return values - basis @ (basis.T @ values)


def find_exact_pairs(values, target, nuisance):
    """Try all pairs: the target lies in the span of the nuisance columns, A and B, and needs both."""
    target = project_out(nuisance, target)
    target = target / np.linalg.norm(target)
    values = project_out(nuisance, (values / np.linalg.norm(values, axis=1, keepdims=True)).T)
    norms = np.linalg.norm(values, axis=0)
    used = np.flatnonzero(norms > 1e-9)
    columns = values[:, used] / norms[used]
    fits_alone = np.abs(target @ columns) > 1.0 - 1e-14
    pairs = []
    for place, first in enumerate(used.tolist()):
        left = project_out([columns[:, place]], columns)
        lengths = np.linalg.norm(left, axis=0)
        is_new = (lengths > 1e-6) & (used > first) & ~fits_alone & ~fits_alone[place]
        response = project_out([columns[:, place]], target)
        left = left[:, is_new] / lengths[is_new]
        residuals = response[:, None] - left * (response @ left)
        is_exact = np.linalg.norm(residuals, axis=0) < 1e-9
        pairs += [(first, second) for second in used[is_new][is_exact].tolist()]
    return pairs


def plant_pair(rng, data):
    """Choose two formulas that vary and are no affine copies of each other."""
    pool = data.pool
    while True:
        pair = np.sort(rng.choice(len(pool), 2, replace=False)).tolist()
        first, second = (evaluate_expression(pool.build_expression(each), data.columns) for each in pair)
        if abs(np.corrcoef(first, second)[0, 1]) < 0.999:
            return pair, first / first.std(), second / second.std()


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("intercept", [0.0, 0.5, -3.0])
def test_the_simplest_sum_is_that_of_a_search_of_all_pairs(rng, sign, intercept):
    columns = make_columns(rng)
    empty = LawData(columns, columns["u"], BASIC, pool_limit=250)
    pair, first, second = plant_pair(rng, empty)
    c = rng.uniform(0.5, 2.0)
    data = LawData(columns, intercept + first + sign * c * second, BASIC, pool_limit=250)
    laws = find_matched_pairs(data)
    sums = [law for law in laws if law.has_intercept or len(law.terms) > 1]
    assert all(compute_relative_error(law, columns, data.target) < 1e-8 for law in laws)
    pairs = find_exact_pairs(data.pool.values, data.target[data.pool_rows], [np.ones(len(data.pool_rows))])
    assert tuple(pair) in pairs
    singles = [law for law in sums if len(law.terms) == 1]
    if not singles:
        complexity = min(data.pool.complexity[list(each)].sum() for each in pairs)
        assert sum(map(compute_complexity, sums[0].terms)) == complexity
        assert any(has_terms(law, columns, [first, second]) for law in sums)


@pytest.mark.slow
@pytest.mark.parametrize("power", [2, 1, -1, -2])
def test_a_product_is_found_where_a_search_of_all_pairs_finds_it(rng, power):
    columns = make_columns(rng)
    empty = LawData(columns, columns["u"], BASIC, pool_limit=250)
    _, first, second = plant_pair(rng, empty)
    data = LawData(columns, 3.0 * first * second**power / columns["w"], BASIC, pool_limit=250)
    laws = find_matched_pairs(data)
    usable = (data.pool.values != 0.0).all(axis=1) & (np.ptp(data.pool.values, axis=1) > 0.0)
    logs = np.log(np.abs(data.pool.values[usable]))
    nuisance = [np.ones(len(data.pool_rows)), *(np.log(each[data.pool_rows]) for each in columns.values())]
    response = np.log(np.abs(data.target[data.pool_rows]))
    if np.linalg.norm(project_out(nuisance, response)) > 1e-6 and find_exact_pairs(logs, response, nuisance):
        assert all(compute_relative_error(law, columns, data.target) < 1e-7 for law in laws)
        assert any(len(law.terms) == 1 and not law.has_intercept for law in laws)


def test_formulas_of_equal_direction_are_paired_with_each_other_and_not_only_neighbours(rng):
    columns = make_columns(rng)
    target = 2.0 + 3.0 * np.sqrt(columns["u"]) - columns["v"] ** 2
    # both are in the span of the other terms and the target
    columns["s"] = target + 5.0 * np.sqrt(columns["u"])
    columns["t"] = target - 7.0 * np.sqrt(columns["u"])
    laws = find_matched_pairs(LawData(columns, target, BASIC, pool_limit=2000))
    found = {frozenset(map(str, law.terms)) for law in laws}
    of_direction = ["s", "t", "sqrt(u)", "v**2"]
    assert {frozenset(pair) for pair in combinations(of_direction, 2)} <= found


def test_a_third_simple_term_is_projected_out(rng):
    columns = make_columns(rng)
    u, v, w, x = columns.values()
    target = 0.5 + 3.0 * np.sin(u * v) - 2.0 * np.exp(w) * x + 1.5 * v
    law = find_matched_pairs(LawData(columns, target, BASIC, pool_limit=5000))[0]
    assert {str(term) for term in law.terms} == {"sin(u*v)", "x*exp(w)", "v"}
    assert law.has_intercept


def test_a_formula_that_fits_alone_comes_before_pairs(rng):
    columns = make_columns(rng)
    target = 4.0 - 2.0 * np.sin(columns["u"] * columns["x"])
    law = find_matched_pairs(LawData(columns, target, BASIC, pool_limit=2000))[0]
    assert [str(term) for term in law.terms] == ["sin(u*x)"]
    assert law.has_intercept


def test_constants_in_the_pool_are_no_terms(rng):
    columns = make_columns(rng)
    target = 4.0 - 2.0 * np.sin(1.0 + columns["u"]) + columns["v"]
    data = LawData(columns, target, load_grammar("standard"), pool_limit=2000)
    assert sum(isinstance(leaf, Constant) for leaf in data.pool.leaves) == 3
    laws = find_matched_pairs(data)
    assert {str(term) for term in laws[0].terms} == {"sin(u + 1)", "v"}


def test_pairs_whose_directions_agree_by_rounding_alone_are_not_fitted_on_all_rows(rng):
    columns = make_columns(rng)
    # all but one value of these is rounding
    columns |= {name: np.r_[1e15, rng.uniform(1.0, 4.0, 149)] for name in "yz"}
    target = np.sin(columns["v"]) - 3.0 * columns["u"] * columns["x"]
    data = LawData(columns, target, BASIC, pool_limit=2000)
    places = {str(data.pool.build_expression(index)): index for index in range(len(data.pool))}
    pair = (places["sin(v)"], places["u*x"])
    others = [(places["y"], places["z"]), (places["u"], places["x"]), (places["w"], places["w**2"])]
    assert prepare_sums(data)._select_exact([*others, pair]) == [pair]


def test_an_intercept_of_zero_is_left_out(rng):
    columns = make_columns(rng)
    target = 2.0 * np.sqrt(columns["u"]) + np.sin(columns["v"])
    law = find_matched_pairs(LawData(columns, target, BASIC, pool_limit=2000))[0]
    assert {str(term) for term in law.terms} == {"sqrt(u)", "sin(v)"}
    assert not law.has_intercept


def test_a_product_of_formulas_that_change_sign_is_found(rng):
    columns = make_columns(rng)
    u, v, w, x = columns.values()
    target = u * np.sin(v) * (w - x)
    target[:3] = 0.0
    columns["x"][:3] = columns["w"][:3]
    laws = find_matched_pairs(LawData(columns, target, BASIC, pool_limit=2000))
    assert any(compute_relative_error(law, columns, target) < 1e-9 for law in laws)


def test_a_product_that_is_large_in_few_rows_is_found_everywhere(rng):
    columns = make_columns(rng, "uvx", n=200)
    u, v, x = columns.values()
    target = np.exp(8.0 * u**2) * (np.sin(v) + x)
    grammar = BASIC.override(unary=["square", "cube", "exp", "sin"])
    data = build_law_data(columns | {"w": 2.0 * u}, target, grammar, pool_limit=8000)
    assert np.sort(target)[-5] < 0.1 * target.max()
    law = find_matched_pairs(data)[0]
    (term,) = law.terms
    ratios = evaluate_expression(term, data.columns) / data.target
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-9)


def test_exact_laws_are_exact_in_most_rows_of_a_target_with_a_peak(rng):
    columns = make_columns(rng, "uvx", n=200)
    u, v, x = columns.values()
    u[0] = 4.5
    target = np.exp(x / (4.52 - u)) * (np.sin(v) + x)
    grammar = BASIC.override(unary=["square", "exp", "sin"])
    data = build_law_data(columns | {"k": np.full(200, 4.52) - u}, target, grammar, pool_limit=8000)
    laws = find_matched_pairs(data)
    assert laws
    for law in laws:
        design = np.array([evaluate_expression(term, data.columns) for term in law.terms]) / data.target
        coefficients = np.linalg.lstsq(design.T, np.ones(200), rcond=None)[0]
        assert np.median(np.abs(coefficients @ design - 1.0)) < 1e-6


def test_a_factor_is_tried_with_and_without_its_sign(rng):
    columns = {name: rng.uniform(-3.0, 3.0, 150) for name in "uvx"}
    u, v, x = columns.values()
    unary, binary = (
        tuple(OPERATORS[name] for name in names)
        for names in (("square", "sqrt", "sin", "cos"), ("add", "sub", "mul", "div"))
    )
    target = np.abs(np.sin(u)) * (np.cos(v) - x)
    data = LawData(columns, target, Grammar("free", OPERATORS, unary, binary), pool_limit=8000)
    tried = set()

    def record_fit(indices, *_):
        tried.update(str(data.pool.build_expression(index)) for index in indices)

    replace(prepare_products(data, with_inputs=False), fit=record_fit).find_plain_laws()
    assert {"sin(u)", "sqrt(sin(u)**2)"} <= tried


def test_a_product_of_inputs_whose_exponents_are_not_simple_is_found(rng):
    columns = make_columns(rng)
    target = np.sqrt(np.sqrt(columns["u"])) * np.sin(columns["v"])
    law = find_matched_pairs(LawData(columns, target, BASIC, pool_limit=8000))[0]
    assert compute_relative_error(law, columns, target) < 1e-9
    assert len(law.terms) == 1


@pytest.mark.slow
def test_noise_without_a_law_gives_no_exact_law(rng):
    columns = make_columns(rng)
    target = rng.standard_normal(150)
    laws = find_matched_pairs(LawData(columns, target, BASIC, pool_limit=2000))
    assert all(compute_relative_error(law, columns, target) > 0.1 for law in laws)


def test_few_rows_give_no_law(rng):
    columns = make_columns(rng, n=8)
    assert find_matched_pairs(LawData(columns, columns["u"] + columns["v"], BASIC, pool_limit=300)) == []


@pytest.mark.slow
def test_terms_that_are_not_allowed_are_left_out(rng):
    columns = make_columns(rng)
    target = 1.0 + columns["u"] * columns["v"] + np.sin(columns["w"])

    def has_no_sine(term):
        return not (isinstance(term, Call) and term.operator.name == "sin")

    data = LawData(columns, target, BASIC, is_allowed=has_no_sine, pool_limit=2000)
    assert all(has_no_sine(term) for law in find_matched_pairs(data) for term in law.terms)
    free = LawData(columns, target, BASIC, pool_limit=2000)
    assert any(not has_no_sine(term) for law in find_matched_pairs(free) for term in law.terms)


def test_the_order_of_rows_has_no_effect(rng):
    columns = make_columns(rng)
    target = 1.0 + columns["u"] * columns["v"] + np.sin(columns["w"] - columns["x"])
    order = rng.permutation(len(target))
    shuffled = {name: values[order] for name, values in columns.items()}
    laws = find_matched_pairs(build_law_data(columns, target, BASIC, pool_limit=5000))
    again = find_matched_pairs(build_law_data(shuffled, target[order], BASIC, pool_limit=5000))
    assert laws
    assert [tuple(map(str, law.terms)) for law in laws] == [tuple(map(str, law.terms)) for law in again]


def test_the_search_size_counts_pairs_up_to_the_complexity(rng):
    columns = make_columns(rng)
    target = 1.0 + columns["u"] * columns["v"] + np.sin(columns["w"])
    data = LawData(columns, target, BASIC, pool_limit=2000)
    law = next(law for law in find_matched_pairs(data) if len(law.terms) == 2)
    limit = sum(map(compute_complexity, law.terms))
    sums = data.pool.complexity[:, None] + data.pool.complexity[None, :]
    assert law.search_size == (sums <= limit).sum() / 2


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.01])
def test_a_noisy_sum_is_found(rng, noise):
    columns = make_columns(rng, n=500)
    u, v, w, x = columns.values()
    target = 1.0 + 2.0 * np.sin(u * v) - np.sqrt(w + x)
    target += noise * np.sqrt((target**2).mean()) * rng.standard_normal(500)
    law = find_matched_pairs(LawData(columns, target, BASIC, pool_limit=5000))[0]
    assert {str(term) for term in law.terms} == {"sin(u*v)", "sqrt(w + x)"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sum", "product"])
def test_pairs_of_a_pool_of_few_rows_are_ranked_again_on_more(rng, kind):
    columns = make_columns(rng, n=1500)
    u, v, w, x = columns.values()
    first, second = np.sin(u * v) + 3.0, np.sqrt(w + x)
    target = first - second if kind == "sum" else first * second
    target = target + 0.05 * np.sqrt((target**2).mean()) * rng.standard_normal(1500)
    data = replace(build_law_data(columns, target, BASIC, pool_limit=5000), max_pool_rows=60)
    assert len(data.pool_rows) == 60
    laws = find_matched_pairs(data)
    shown = laws[0] if kind == "sum" else next(law for law in laws if "sin(u*v)" in str(law.terms[0]))
    assert "sin(u*v)" in " ".join(map(str, shown.terms))
    assert "w + x" in " ".join(map(str, shown.terms))


@pytest.mark.parametrize("noise", [0.0, pytest.param(0.01, marks=pytest.mark.slow)])
def test_sizes_and_roots_of_roots_are_factors_where_the_grammar_has_them(rng, noise):
    columns = make_columns(rng, n=300)
    u, v, w, _ = columns.values()
    target = np.sqrt(np.sqrt(u)) * np.abs(v - w)
    noisy = target + noise * np.sqrt((target**2).mean()) * rng.standard_normal(300)
    unary, binary = (
        tuple(OPERATORS[name] for name in names)
        for names in (("square", "sqrt", "sin"), ("add", "sub", "mul", "div"))
    )
    grammar = Grammar("free", OPERATORS, unary, binary)
    law = find_matched_pairs(LawData(columns, noisy, grammar, pool_limit=3000))[0]
    assert compute_relative_error(law, columns, target) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.01])
def test_a_noisy_product_is_found(rng, noise):
    columns = make_columns(rng, n=500)
    u, v, w, x = columns.values()
    target = np.sin(u - v) * (w + np.sqrt(x)) / u
    noisy = target + noise * np.sqrt((target**2).mean()) * rng.standard_normal(500)
    laws = find_matched_pairs(LawData(columns, noisy, BASIC, pool_limit=5000))
    products = [law for law in laws if len(law.terms) == 1 and not law.has_intercept]
    assert compute_relative_error(products[0], columns, target) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3])
def test_a_product_is_found_where_most_of_the_target_is_smaller_than_its_noise(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    columns = make_columns(rng, "uvw", n=500)
    u, v, w = columns.values()
    target = (w - 1 / w) ** 5 / np.log(u * v) ** 4
    noise = 0.01 * np.sqrt((target**2).mean())
    assert (np.abs(target) < 2 * noise).mean() > 0.8
    data = LawData(columns, target + noise * rng.normal(size=500), BASIC, pool_limit=1500)
    errors = [compute_relative_error(law, columns, target) for law in find_matched_pairs(data)]
    assert errors[0] < 1e-9
    monkeypatch.setattr("symscreen.fitting.laws.matched_pairs._N_STEPS", 0)
    monkeypatch.setattr("symscreen.fitting.laws.matched_pairs.exchange_factors", lambda *_: [])
    assert min(compute_relative_error(law, columns, target) for law in find_matched_pairs(data)) > 1e-3


@pytest.mark.slow
def test_the_order_of_noisy_rows_has_no_effect(rng):
    columns = make_columns(rng)
    target = columns["u"] * np.sin(columns["v"]) + np.sqrt(columns["w"]) + 0.05 * rng.standard_normal(150)
    order = rng.permutation(len(target))
    shuffled = {name: values[order] for name, values in columns.items()}
    laws = find_matched_pairs(build_law_data(columns, target, BASIC, pool_limit=2000))
    again = find_matched_pairs(build_law_data(shuffled, target[order], BASIC, pool_limit=2000))
    assert laws
    assert [tuple(map(str, law.terms)) for law in laws] == [tuple(map(str, law.terms)) for law in again]
    assert [law.search_size for law in laws] == [law.search_size for law in again]
