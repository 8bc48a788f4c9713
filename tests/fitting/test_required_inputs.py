"""Inputs that every model must have."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symscreen
from symscreen.config.screen_options import SpaceOptions
from symscreen.errors import DataError, OptionError
from symscreen.expansion import expand
from symscreen.expressions.traversal import collect_columns
from symscreen.expressions.tree import parse_expression
from symscreen.fitting.effort import EFFORTS
from symscreen.fitting.required_inputs import RequiredInputs
from symscreen.grammar import load_grammar
from symscreen.linear_models.exhaustive_subsets import RequiredParts, find_best_models, search_core_subsets
from symscreen.linear_models.gram import compute_gram

SMALL = {"operators": "ablation", "layers": "ub"}


def _draw(rng, n=60, noise=0.1):
    x = rng.uniform(0.5, 2.0, (n, 4))
    return x, 2 * x[:, 0] ** 3 - x[:, 1] + noise * rng.normal(size=n)


def _columns(result):
    return collect_columns(*result.formula.terms)


@pytest.mark.slow
@pytest.mark.parametrize("names", ["x3", "x3,x4", ["x1", "x4"]])
def test_every_model_shown_has_the_required_inputs(rng, names):
    x, y = _draw(rng)
    result = symscreen.fit(x, y, must_use=names, max_terms=6, **SMALL)
    required = set(names.split(",") if isinstance(names, str) else names)
    for formula in [*result.front.formula, *result.alternatives.formula]:
        assert required <= collect_columns(parse_expression(formula))
    assert required <= _columns(result)
    assert result.record["must_use"] == names


def test_inputs_that_the_law_has_change_nothing(rng):
    x, y = _draw(rng)
    free, bound = (symscreen.fit(x, y, must_use=names, **SMALL) for names in ((), "x1,x2"))
    assert bound.formula == free.formula
    assert bound.notices == free.notices


@pytest.mark.slow
def test_an_input_that_matters_too_little_is_not_found_by_default_options(rng, monkeypatch):
    small = replace(EFFORTS["default"], pool_formulas=2000, n_law_stages=2, layer_candidates=5000)
    monkeypatch.setitem(EFFORTS, "default", small)
    x = rng.uniform(1.0, 2.0, (100, 3))
    y = 3 * x[:, 0] * np.exp(0.001 * x[:, 2]) / x[:, 1]
    noisy = y * np.exp(0.05 * rng.normal(size=100))
    assert _columns(symscreen.fit(x, noisy, operators="basic", jobs=1)) == {"x1", "x2"}


@pytest.mark.slow
def test_a_law_with_a_required_input_is_found_by_default_options(rng):
    x = rng.uniform(1.0, 2.0, (100, 3))
    y = 3 * x[:, 0] * np.exp(0.001 * x[:, 2]) / x[:, 1]
    result = symscreen.fit(x, y, must_use="x3", operators="basic")
    assert "x3" in _columns(result)
    assert all("x3" in collect_columns(parse_expression(text)) for text in result.front.formula)


def test_an_input_without_effect_is_kept_with_a_notice(rng):
    x, y = _draw(rng)
    result = symscreen.fit(x, y, must_use="x3", **SMALL)
    assert {"x1", "x2", "x3"} <= _columns(result)
    assert "the rows do not show that 'x3' matters" in " ".join(result.notices)


def test_of_noise_the_required_formula_is_given_but_not_claimed(rng):
    result = symscreen.fit(rng.normal(size=(80, 2)), rng.normal(size=80), must_use="x2", **SMALL)
    assert _columns(result) >= {"x2"}
    assert result.record["verdict"]["kind"] == "none"
    assert "no formula with 'x2' is better than the mean: must_use= alone keeps it" in result.notices


def test_where_no_formula_can_have_it_the_mean_remains(rng):
    x, y = _draw(rng, n=6)
    table = pd.DataFrame(x, columns=list("abcd")).assign(b=1.0)
    result = symscreen.fit(table, y, must_use="b", **SMALL)
    assert result.formula.terms == ()
    assert "no formula with 'b' can be fitted to these rows, so the result is the mean" in result.notices


def test_a_category_is_used_where_one_of_its_levels_is(rng):
    x, y = _draw(rng)
    kind = np.where(rng.uniform(size=60) < 0.5, "p", "q")
    frame = pd.DataFrame(x, columns=["x1", "x2", "x3", "x4"]).assign(kind=kind, y=y + 2.0 * (kind == "q"))
    result = symscreen.fit(
        frame, target="y", categorical="kind", categorical_as="onehot", must_use="kind", **SMALL
    )
    assert any("kind" in name for name in _columns(result))


def test_an_unknown_name_is_refused_with_the_nearest(rng):
    x, y = _draw(rng)
    frame = pd.DataFrame(x, columns=["height", "width", "age", "mass"]).assign(y=y)
    with pytest.raises(DataError, match=r"no input 'hieght' for must_use=; did you mean 'height'\?"):
        symscreen.fit(frame, must_use="hieght")
    with pytest.raises(DataError, match="no input 'y' for must_use="):
        symscreen.fit(frame, target="y", must_use="y")
    many = {f"c{i}": rng.normal(size=9) for i in range(61)}
    with pytest.raises(OptionError, match="61 names; give at most 60"):
        symscreen.fit(many, y[:9], must_use=list(many))


def test_the_estimator_takes_required_inputs(rng):
    x, y = _draw(rng)
    model = symscreen.SymbolicRegressor(must_use=["x4"], **SMALL).fit(x, y)
    assert "x4" in collect_columns(*model.formula_.terms)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("jobs", [1, 2])
def test_the_best_allowed_subsets_are_those_of_brute_force(rng, size, jobs):
    q, required = 9, 0b11
    gram = compute_gram(rng.normal(size=(q, 30)), rng.normal(size=30))
    parts = rng.integers(0, 4, q)
    members, shares = find_best_models(gram, size, 500, jobs, RequiredParts(required, parts))
    allowed = {m for m in combinations(range(q), size) if np.bitwise_or.reduce(parts[list(m)]) == required}
    everything = dict(zip(*map(list, _list_models(gram, size)), strict=True))
    assert {tuple(m) for m in members.tolist()} == allowed
    np.testing.assert_array_equal(shares, sorted(shares))
    assert all(everything[tuple(m)] == s for m, s in zip(members.tolist(), shares, strict=True))


def _list_models(gram, size):
    members, shares = find_best_models(gram, size, 500)
    return map(tuple, members.tolist()), shares.tolist()


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_streamed_features_come_with_their_best_allowed_subset(rng, size):
    s, m, required = 6, 40, 0b101
    x, y = rng.normal(size=(s + m, 30)), rng.normal(size=30)
    parts = rng.choice([0, 1, 2, 4, 5], s + m)
    core = compute_gram(x[:s], y)
    requirement = RequiredParts(required, parts[:s], parts[s:])
    (models,) = search_core_subsets(x[s:], core, sizes=[size], keep=m, required_parts=requirement)
    found = dict(zip(models.features.tolist(), models.subsets.tolist(), strict=True))
    for feature in range(m):
        allowed = [
            subset
            for subset in combinations(range(s), size)
            if np.bitwise_or.reduce([parts[s + feature], *parts[list(subset)]]) & required == required
        ]
        if not allowed:
            assert feature not in found
            continue
        best = min(allowed, key=lambda subset: _share(x[[*subset, s + feature]], y))
        assert tuple(found[feature]) == best


def _share(values, y):
    design = np.vstack([np.ones(len(y)), values]).T
    return ((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).sum()


def test_the_inputs_of_features_of_a_space_are_those_of_their_formulas(rng):
    x = rng.uniform(0.5, 2.0, (3, 20))
    grammar, also = load_grammar("basic"), (parse_expression("x1*x2 - x3**3"),)
    layers = grammar.resolve_layers("ub")
    space = expand(("x1", "x2", "x3"), x, grammar, layers, options=SpaceOptions(), also=also)
    required = RequiredInputs(("x1", "x3"), (frozenset({"x1"}), frozenset({"x3"})))
    numbers = space.numbers
    expected = required.find_term_parts([space.build_expression(number) for number in numbers.tolist()])
    np.testing.assert_array_equal(required.find_feature_parts(space, numbers), expected)
    assert set(expected.tolist()) == {0, 1, 2, 3}


@given(st.lists(st.sampled_from(["x1", "x2 + x1", "sin(x3)", "x2*x3/x4", "x4**2"]), min_size=1, max_size=4))
def test_a_model_has_what_its_terms_have(texts):
    required = RequiredInputs(("x1", "x3"), (frozenset({"x1"}), frozenset({"x3"})))
    terms = [parse_expression(text) for text in texts]
    parts = required.find_term_parts(terms)
    assert required.has_all(terms) == (np.bitwise_or.reduce(parts) == required.all_parts)
    assert required.has_all(terms) == ({"x1", "x3"} <= collect_columns(*terms))
