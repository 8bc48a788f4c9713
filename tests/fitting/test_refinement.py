from __future__ import annotations

import importlib

import numpy as np
import pytest
from helpers.fitting_cases import found_in, share_left, table_of

from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import expand
from symscreen.expressions.traversal import compute_complexity, evaluate_expression
from symscreen.fitting import count_constants, get_input_columns, score_models
from symscreen.fitting.constants import refine_constants
from symscreen.grammar import load_grammar

DECAY = """
unary = ["square", "decay"]
binary = ["add", "mul"]
[define.decay]
formula = "exp(-a*x)"
parameters = { a = [0.1, 1] }
"""


@pytest.fixture
def grammar(tmp_path):
    path = tmp_path / "decay.toml"
    path.write_text(DECAY)
    return load_grammar(path)


def _spaces(table, grammar, *layers):
    return [
        expand(table.names, table.columns, grammar, grammar.resolve_layers(one), options=SpaceOptions())
        for one in layers
    ]


def _texts(found, members, digits=6):
    from symscreen.expressions.linear_formula import Formula

    terms = tuple(found.terms.expressions[place] for place in members)
    return [str(term) for term in Formula("y", 0.0, (1.0,) * len(terms), terms).round_numbers(digits).terms]


def _first(found, rows):
    return score_models(found, rows, "ebic")[0]


@pytest.mark.parametrize("layers", [("u",), ("ub",), ("u", "b", "ub", "bu")])
def test_a_constant_between_the_starts_is_found(rng, grammar, layers):
    x = rng.uniform(0.0, 5.0, (2, 60))
    table = table_of(x, 3 * np.exp(-0.37 * x[0]) + 2)
    found = found_in(_spaces(table, grammar, *layers), table)
    best = _first(found, 60)
    assert best.unexplained_share == 0.0
    assert _texts(found, best.term_indices) == ["exp(-0.37*x1)"]


def test_an_exact_model_with_a_fitted_constant_spares_the_larger_spaces(rng, grammar):
    x = rng.uniform(0.0, 5.0, (2, 60))
    table = table_of(x, 3 * np.exp(-0.37 * x[0]) + 2)
    spaces = _spaces(table, grammar, "u", "ub")
    assert found_in(spaces, table, exhaustive_features=20).n_features == spaces[0].size < spaces[1].size


def test_two_occurrences_have_constants_of_their_own(rng, grammar):
    x = rng.uniform(0.0, 5.0, (2, 80))
    table = table_of(x, 3 * np.exp(-0.37 * x[0]) + 2 * np.exp(-2.5 * x[1]) - 1)
    found = found_in(_spaces(table, grammar, "u"), table)
    best = _first(found, 80)
    assert best.unexplained_share == 0.0
    assert sorted(_texts(found, best.term_indices)) == ["exp(-0.37*x1)", "exp(-2.5*x2)"]


@pytest.mark.slow
def test_each_fitted_constant_is_paid_for(rng, grammar):
    x = rng.uniform(0.0, 5.0, (1, 60))
    table = table_of(x, np.exp(-0.5 * x[0]) + 0.01 * rng.normal(size=60))
    found = found_in(_spaces(table, grammar, "u"), table)
    fitted = np.flatnonzero(found.terms.n_constants)
    assert len(fitted)
    assert set(found.terms.n_constants.tolist()) == {0, 1}
    for place in fitted.tolist():
        assert count_constants(found.terms.expressions[place]) == 0
    own = next(
        one
        for one in score_models(found, 60, "bic")
        if one.term_indices in {(place,) for place in fitted.tolist()}
    )
    assert own.score == pytest.approx(60 * np.log(own.unexplained_share) + 3 * np.log(60))


@pytest.mark.slow
def test_what_is_added_is_what_least_squares_leaves_and_never_worse(rng, grammar):
    x = rng.uniform(0.0, 5.0, (2, 50))
    table = table_of(x, x[1] * np.exp(-0.5 * x[0]) + 0.1 * rng.normal(size=50))
    found = found_in(_spaces(table, grammar, "ub"), table)
    for place, term in enumerate(found.terms.expressions):
        np.testing.assert_array_equal(
            found.terms.values[place], evaluate_expression(term, get_input_columns(table))
        )
        assert found.terms.complexity[place] == compute_complexity(term)
    fitted = [members for members in found.models if found.terms.n_constants[list(members)].any()]
    assert {len(members) for members in fitted} == {1, 2, 3, 4}
    for members in fitted:
        share = share_left(found.terms.values[list(members)], table.target.values)
        assert found.models[members] == pytest.approx(share, rel=1e-6)
    for size in (1, 2):
        open_ones = [found.models[m] for m in found.models if len(m) == size and m not in fitted]
        assert min(found.models[m] for m in fitted if len(m) == size) < min(open_ones)


@pytest.mark.slow
def test_formulas_that_differ_in_their_starts_alone_are_fitted_once(rng, grammar, monkeypatch):
    x = rng.uniform(0.0, 5.0, (1, 50))
    table = table_of(x, np.exp(-0.5 * x[0]) + 0.1 * rng.normal(size=50))
    fits = []
    room = importlib.import_module("symscreen.fitting.constants")

    own = room.fit_constants

    def counted(terms, columns, target, row_weights):
        fits.append(tuple(sorted("decay" if "decay" in str(term) else str(term) for term in terms)))
        return own(terms, columns, target, row_weights)

    monkeypatch.setattr(room, "fit_constants", counted)
    found_in(_spaces(table, grammar, "u", "u"), table)
    assert ("decay",) in fits
    assert len(fits) == len(set(fits))


def test_a_fit_that_fails_is_left_out(rng, grammar, monkeypatch):
    room = importlib.import_module("symscreen.fitting.constants")
    x = rng.uniform(0.0, 5.0, (1, 50))
    table = table_of(x, np.exp(-0.5 * x[0]) + 0.1 * rng.normal(size=50))
    monkeypatch.setattr(room, "fit_constants", lambda terms, *_: (tuple(terms), np.inf))
    found = found_in(_spaces(table, grammar, "u"), table)
    assert not found.terms.n_constants.any()
    assert max(found.models.values()) <= 1


def test_a_grammar_without_parameters_costs_nothing(rng, monkeypatch):
    room = importlib.import_module("symscreen.fitting.constants")

    monkeypatch.setattr(room, "fit_constants", None)
    x = rng.normal(size=(2, 30))
    table = table_of(x, x[0] + rng.normal(size=30))
    grammar = load_grammar("ablation")
    found = found_in(_spaces(table, grammar, "ub"), table)
    assert not found.terms.n_constants.any()
    terms, models = refine_constants(
        found.terms, found.models, get_input_columns(table), table.target.values, set()
    )
    assert terms is found.terms
    assert models == found.models


def test_an_exact_model_ends_the_search_for_constants(rng, grammar, monkeypatch):
    room = importlib.import_module("symscreen.fitting.constants")

    x = rng.uniform(0.0, 5.0, (2, 50))
    table = table_of(x, np.exp(-x[0]) + x[1])  # a start is the truth
    monkeypatch.setattr(room, "fit_constants", None)
    assert found_in(_spaces(table, grammar, "u"), table).has_exact_model


def test_too_few_rows_for_more_constants(rng, grammar):
    x = rng.uniform(0.0, 5.0, (2, 5))
    table = table_of(x, rng.normal(size=5))
    found = found_in(_spaces(table, grammar, "u"), table)
    for members, share in found.models.items():
        numbers = 1 + len(members) + found.terms.n_constants[list(members)].sum()
        assert numbers < 5
        assert share > 0
