from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import symscreen
from symscreen.expressions.tree import Column, parse_expression
from symscreen.fitting.coefficients import estimate_coefficients
from symscreen.fitting.laws import search
from symscreen.fitting.laws.fitted_laws import fit_laws
from symscreen.fitting.laws.law import Law, build_law_data
from symscreen.fitting.laws.law_forms import limit_search_size
from symscreen.fitting.laws.search import _merge_equal_laws, _share_search_sizes, find_laws
from symscreen.grammar import load_grammar


def make_frame(rng, n=400, noise=0.0):
    m, r, v, angle = rng.uniform(1, 5, (4, n))
    law = 0.5 * m * r * v * np.sin(angle)
    return {"m": m, "r": r, "v": v, "angle": angle, "force": law + noise * law.std() * rng.normal(size=n)}


def check_law_of_frame(result, *, near):
    """Check that a fit found the law of `make_frame`, with a coefficient that is near."""
    assert [str(term) for term in result.formula.terms] == ["m*r*v*sin(angle)"]
    assert result.formula.intercept == 0.0
    assert result.formula.coefficients[0] == pytest.approx(0.5, rel=near)
    assert result.terms["term"].tolist() == ["m*r*v*sin(angle)"]


@pytest.mark.slow
def test_fit_finds_a_law_without_an_intercept(rng):
    result = symscreen.fit(make_frame(rng), target="force", effort="quick")
    check_law_of_frame(result, near=1e-12)


@pytest.mark.slow
def test_the_order_of_rows_and_columns_and_the_number_of_jobs_have_no_effect(rng, change_effort):
    change_effort("quick", pool_formulas=300, n_law_stages=1, layer_candidates=1000)
    frame = make_frame(rng, n=100, noise=0.05)
    order = rng.permutation(100)
    shuffled = {name: frame[name][order] for name in sorted(frame, reverse=True)}
    options = {"target": "force", "effort": "quick", "operators": "basic", "with_operators": "sin"}
    first = symscreen.fit(frame, jobs=1, **options)
    second = symscreen.fit(shuffled, jobs=2, **options)
    assert first.formula.round_numbers(9).text == second.formula.round_numbers(9).text
    check_law_of_frame(first, near=0.02)


def test_given_layers_are_searched_alone(rng):
    result = symscreen.fit(make_frame(rng), target="force", layers="u")
    assert len(result.terms) != 1 or result.formula.intercept != 0.0


def fit_planted(*laws):
    x, y = np.random.default_rng(0).uniform(1, 2, (2, 9))
    return fit_laws(laws, {"x": x, "y": y}, x + y**2)


def test_equal_laws_become_one_with_the_smallest_search_size():
    x, y = Column("x"), Column("y")
    fitted = fit_planted(
        Law((x, y), has_intercept=False, search_size=1e6),
        Law((x,), has_intercept=False, search_size=10.0),
        Law((y, x), has_intercept=False, search_size=1e3),
        Law((x,), has_intercept=True, search_size=5.0),
    )
    merged = [each.law for each in _merge_equal_laws(fitted)]
    assert [(set(law.terms), law.has_intercept, law.search_size) for law in merged] == [
        ({x, y}, False, 1e3),
        ({x}, False, 10.0),
        ({x}, True, 5.0),
    ]


def test_forms_of_one_function_have_the_smallest_of_their_search_sizes(rng):
    s, e = rng.uniform(1, 9, (2, 60))
    target = 3.0 * e * s / (2.5 + s) + 0.01 * rng.normal(size=60)
    sizes = {"e/(0.4 + 1/s)": 9e4, "e*s/(s + 2.5)": 1e4, "e*s/(s + 2.4)": 2e2}
    laws = [
        Law((parse_expression(text),), has_intercept=False, search_size=size, n_constants=1)
        for text, size in sizes.items()
    ]
    laws.append(replace(laws[1], has_intercept=True, search_size=7.0))
    shared = _share_search_sizes(fit_laws(laws, {"s": s, "e": e}, target))
    assert [each.law.search_size for each in shared] == [1e4, 1e4, 2e2, 7.0]


def test_exact_laws_keep_the_sizes_of_their_searches():
    forms = [(parse_expression("x + y**2"), 9.0), (parse_expression("y**2 + x"), 1e4)]
    fitted = fit_planted(*(Law((term,), has_intercept=False, search_size=size) for term, size in forms))
    assert [each.law.search_size for each in _share_search_sizes(fitted)] == [9.0, 1e4]
    assert all(each.unexplained_share == 0.0 for each in fitted)


def test_a_law_costs_no_more_than_all_formulas_that_are_not_more_complex(rng):
    data = build_law_data(
        dict(zip("xy", rng.uniform(1, 2, (2, 50)), strict=True)),
        rng.normal(size=50),
        load_grammar("basic").add_operators(["sin", "cos"]),
        pool_limit=2000,
    )
    pool = data.pool
    term, other = parse_expression("x*y"), parse_expression("sin(x)")
    n_term, n_other = ((pool.complexity <= size).sum() for size in (3, 2))
    number = parse_expression("x*8")  # 8 is not in the grammar, and there are 8 numbers up to it
    known = (((term,), n_term), ((term, other), n_term * n_other), ((number,), 8 * n_term))
    for terms, expected in known:
        assert (
            limit_search_size(Law(terms, has_intercept=False, search_size=1e9), data).search_size == expected
        )
        assert limit_search_size(Law(terms, has_intercept=False, search_size=2.0), data).search_size == 2.0


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_later_stages_are_not_run_after_a_clear_winner(noise, rng, monkeypatch):
    frame = make_frame(rng, n=600, noise=noise)
    target = frame.pop("force")
    runs = []
    search_stages = search._STAGES
    stages = [
        stage._replace(search=lambda data, stage=stage: runs.append(stage.name) or stage.search(data))
        for stage in search_stages
    ]
    monkeypatch.setattr(search, "_STAGES", stages)
    found = find_laws(
        build_law_data(frame, target, load_grammar("basic").add_operators(["sin", "cos"]), pool_limit=5000)
    )
    assert runs == ["power products"]
    assert {each.law.stage for each in found} == {"power products"}


def test_a_search_is_not_repeated_once_a_law_explains_all(rng, monkeypatch):
    frame = make_frame(rng, n=600, noise=0.01)
    target = frame.pop("force")
    data = build_law_data(frame, target, load_grammar("standard"), pool_limit=300)
    (laws,) = (stage.search(data) for stage in search._STAGES if stage.name == "power products")
    first_round = next(laws)
    rounds = []

    def search_in_rounds(_):
        for number in range(3):
            rounds.append(number)
            yield first_round[: 60 * number]

    monkeypatch.setattr(search, "_STAGES", (search._Stage("power products", search_in_rounds),))
    found = find_laws(data)
    assert rounds == [0, 1]
    assert "m*r*v*sin(angle)" in {str(each.law.terms[0]) for each in found}


def test_a_model_without_an_intercept_has_the_estimates_of_a_regression_through_the_origin(rng):
    values, target = rng.normal(size=(2, 30)), rng.normal(size=30) + 1
    estimates = estimate_coefficients(values, target, has_intercept=False)
    solution, (square,), _, _ = np.linalg.lstsq(values.T, target, rcond=None)
    assert estimates.coefficients.tolist() == pytest.approx([0.0, *solution])
    assert estimates.unexplained_share == pytest.approx(square / ((target - target.mean()) ** 2).sum())
    covariance = np.linalg.inv(values @ values.T) * square / 28
    half_width = 2.0484071417952445 * np.sqrt(np.diag(covariance))  # Student's t with 28 degrees, 0.975
    assert estimates.high[1:] - solution == pytest.approx(half_width)
    assert estimates.low[0] == estimates.high[0] == 0.0


@pytest.mark.slow
def test_a_sum_of_features_is_also_fitted_without_an_intercept(rng, change_effort):
    change_effort("quick", n_law_stages=0)  # features are searched in layers
    x, z = rng.uniform(-3, 3, (2, 300))
    target = 0.5 * np.sin(z - x) - np.sin(z)
    noisy = target + 0.01 * np.sqrt(np.mean(target**2)) * rng.normal(size=300)
    result = symscreen.fit({"x": x, "z": z}, noisy, effort="quick", jobs=1)
    assert result.formula.intercept == 0.0
    np.testing.assert_allclose(result.predict({"x": x, "z": z}), target, atol=1e-9)


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.1])
def test_the_exponent_of_a_formula_of_hydraulics_becomes_a_fraction(rng, noise):
    roughness, radius, slope = rng.uniform([[0.01], [0.2], [1e-4]], [[0.05], [3.0], [1e-2]], (3, 500))
    velocity = radius ** (2 / 3) * np.sqrt(slope) / roughness
    velocity += noise * np.sqrt(np.mean(velocity**2)) * rng.normal(size=500)
    data = {"roughness": roughness, "radius": radius, "slope": slope, "velocity": velocity}
    assert str(symscreen.fit(data, target="velocity").formula) == "radius**(2/3)*sqrt(slope)/roughness"
