"""Fits of one form to groups where the errors grow with the target."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.expressions.tree import parse_expression
from symscreen.fitting.grouped.constant_fit import estimate_constants, fit_model
from symscreen.fitting.grouped.grouped_model import GroupedModel
from symscreen.fitting.grouped.grouped_rows import GroupedRows
from symscreen.fitting.grouped.weighted_rows import weigh_grouped_rows
from symscreen.linear_models.row_weights import build_row_weights

OPTIONS = {"target": "drop", "per": "site", "operators": "basic", "jobs": 1}
TRUTH = {"p": 0.9, "q": 1.2, "r": 0.7, "s": 1.0, "t": 0.8}


def make_frame(seed, n=150, relative=0.03, absolute=0.0):
    """Make rows of drop = 2 + a·flow²/width, where a differs by site, with errors of either kind."""
    rng = np.random.default_rng(seed)
    flow, width = rng.uniform(1, 10, n), rng.uniform(0.5, 3, n)
    site = np.array([*TRUTH])[np.arange(n) % len(TRUTH)]
    clean = 2.0 + np.array([TRUTH[each] for each in site]) * flow**2 / width
    drop = clean * (1.0 + relative * rng.normal(size=n)) + absolute * rng.normal(size=n)
    return pd.DataFrame({"flow": flow, "width": width, "site": site, "drop": drop})


def make_rows(rng, weights=None):
    x = rng.uniform(1, 3, 40)
    target = np.repeat([2.0, -1.0], 20) * x**2 + 0.5 + rng.normal(size=40)
    rows = GroupedRows({"x": x}, target, np.array([0, 20]))
    return (
        rows
        if weights is None
        else GroupedRows(rows.columns, target, rows.starts, row_weights=build_row_weights(weights))
    )


def build_model(varies=(False, True)):
    return GroupedModel((parse_expression("x**2"),), (1.0,), has_intercept=True, varies=varies)


def test_weighted_estimates_are_those_of_repeated_rows(rng):
    counts = rng.integers(1, 5, 40)
    weighted = make_rows(rng, counts.astype(float))
    places = np.repeat(np.arange(40), counts)
    starts = np.array([0, counts[:20].sum()])
    repeated = GroupedRows({"x": weighted.columns["x"][places]}, weighted.target[places], starts)
    first, second = (estimate_constants(build_model(), rows) for rows in (weighted, repeated))
    assert first.coefficients == pytest.approx(second.coefficients, rel=1e-10)
    scale = counts.mean()
    assert fit_model(build_model(), weighted).square * scale == pytest.approx(second.square, rel=1e-10)
    assert weighted.total_square * scale == pytest.approx(repeated.total_square, rel=1e-10)


def test_errors_of_one_size_are_not_weighted(rng):
    rows = make_rows(rng)
    models = [fit_model(build_model(), rows)]
    assert weigh_grouped_rows(models, models[0], rows, "ebic", lambda _: pytest.fail("weighted")) is None


def test_an_approximation_is_not_weighted(rng):
    x = np.sort(rng.uniform(1, 10, 200))
    target = x**3 * (1.0 + 0.02 * rng.normal(size=200))
    rows = GroupedRows({"x": x}, target, np.array([0, 100]))
    models = [fit_model(build_model(varies=(True, True)), rows)]
    assert weigh_grouped_rows(models, models[0], rows, "ebic", lambda _: pytest.fail("weighted")) is None


@pytest.mark.parametrize("seed", [0, 1])
def test_a_law_with_relative_errors_is_found(seed):
    result = symscreen.fit(make_frame(seed), **OPTIONS)
    assert result.formula.round_numbers(2).equation.endswith(" + a[site]*flow**2/width")
    low, high = result.constants["a_low"], result.constants["a_high"]
    inside = [low[k] < TRUTH[site] < high[k] for k, site in enumerate(result.constants["site"])]
    assert sum(inside) >= 4
    assert result.record["error_scale"]["proportional"] == pytest.approx(0.03, rel=0.3)
    assert result.record["groups"]["residual_std"] == pytest.approx(1.0, rel=0.2)
    assert result.record["verdict"]["kind"] == "noise"
    (notice,) = [each for each in result.notices if "errors grow" in each]
    assert "weights=" not in notice  # groups take no weights of the user


def test_a_law_with_errors_of_one_size_has_no_weights():
    result = symscreen.fit(make_frame(0, relative=0.0, absolute=1.0), **OPTIONS)
    assert "error_scale" not in result.record
    assert not any("errors grow" in each for each in result.notices)


def test_a_new_group_is_fitted_with_the_weights_of_the_fit(tmp_path):
    result = symscreen.fit(make_frame(0), **OPTIONS)
    result.save(tmp_path / "model.json")
    # a row of a large target with a large error, and a row of a small target without
    rows = pd.DataFrame(
        {"flow": [2.0, 2.0, 10.0], "width": [1.0, 1.0, 0.5], "site": "new", "drop": [6.0, 6.0, 260.0]}
    )
    own, loaded = (
        symscreen.adapt(model, rows).get_formula("new").coefficients[0]
        for model in (result, str(tmp_path / "model.json"))
    )
    assert own == loaded
    assert 1.0 < own < 1.2  # least squares without weights gives 1.29, and 1 fits the small targets
