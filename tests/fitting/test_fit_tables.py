from __future__ import annotations

import numpy as np
import pytest
from helpers.fitting_cases import found_in, share_left, space_of, table_of

from symscreen.expressions.traversal import compute_complexity, evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.fitting import (
    build_model_table,
    build_term_table,
    find_alternatives,
    find_pareto_front,
    fit_formulas,
    get_input_columns,
    score_models,
)


@pytest.fixture
def table(rng):
    x = rng.uniform(0.5, 2.0, (2, 40))
    return table_of(x, 3 - 2 * x[0] + x[1] ** 3 + 0.1 * rng.normal(size=40))


@pytest.fixture
def laid_out(table):
    found = found_in([space_of(table, "ub")], table)
    candidates = score_models(found, 40, "bic")
    chosen = candidates[0]
    terms = [found.terms.expressions[place] for place in chosen.term_indices]
    fits = fit_formulas(terms, table, 0.95, snap=True)
    tables = (
        build_term_table(fits, None),
        build_model_table(found, table, find_pareto_front(candidates), "bic", chosen),
        build_model_table(found, table, find_alternatives(chosen, candidates, 10.0, 7), "bic"),
    )
    return fits[0][0], fits[0][1], chosen, candidates, tables


def test_the_terms_stand_with_the_formulas_own_numbers_and_the_fitted_intervals(laid_out):
    formula, estimates, _, _, (terms, _, _) = laid_out
    assert terms["term"].tolist() == ["1", *map(str, formula.terms)]
    assert terms["coefficient"].tolist() == [formula.intercept, *formula.coefficients]
    assert terms["low"].tolist() == estimates.low.tolist()
    assert terms["high"].tolist() == estimates.high.tolist()
    assert terms["complexity"].tolist() == [0, *map(compute_complexity, formula.terms)]


def test_the_models_are_those_given_with_their_own_fit(laid_out, table):
    _, _, chosen, candidates, (_, shown, rivals) = laid_out
    y = table.target.values
    for frame, expected in (
        (shown, find_pareto_front(candidates)),
        (rivals, find_alternatives(chosen, candidates, 10.0, 7)),
    ):
        assert frame["complexity"].tolist() == [one.complexity for one in expected]
        assert frame["terms"].tolist() == [len(one.term_indices) for one in expected]
        assert frame["bic"].tolist() == [one.score for one in expected]
        assert frame["rewritings"].tolist() == [one.n_rewritings for one in expected]
        assert frame["stage"].tolist() == [one.stage or "" for one in expected]
        for row in frame.to_dict("records"):
            values = np.broadcast_to(
                evaluate_expression(parse_expression(row["formula"]), get_input_columns(table)), 40
            )
            left = ((y - values) ** 2).sum() / ((y - y.mean()) ** 2).sum()
            assert 1 - left == pytest.approx(row["r2"], abs=1e-5)  # numbers are shown to six digits
            if row["terms"]:
                assert left >= share_left(values[None, :], y) - 1e-9
    assert shown["chosen"].tolist() == [one is chosen for one in find_pareto_front(candidates)]
    assert "chosen" not in rivals


def test_without_rivals_the_columns_stay(laid_out, table):
    chosen = laid_out[2]
    found = found_in([space_of(table, "u")], table)
    shown = build_model_table(found, table, [], "aic", chosen)
    rivals = build_model_table(found, table, [], "aic")
    assert list(rivals) == ["complexity", "terms", "r2", "aic", "rewritings", "stage", "formula"]
    assert list(shown) == [*rivals, "chosen"]
    assert len(rivals) == len(shown) == 0
