"""Which constants are shared, and which vary."""

from __future__ import annotations

import numpy as np
import pytest

from symscreen.expressions.traversal import rebuild_expression
from symscreen.expressions.tree import Constant, parse_expression
from symscreen.fitting.grouped.constant_fit import fit_model
from symscreen.fitting.grouped.form_choice import is_exact, refit_models, select_model, snap_inner_constants
from symscreen.fitting.grouped.grouped_model import GroupedModel, compute_few_rows_correction
from symscreen.fitting.grouped.grouped_rows import GroupedRows

DECAY = rebuild_expression(
    parse_expression("exp(-0.8*x)"),
    number=lambda number: Constant(float(number.value), fitted=True),
)


def make_rows(rng, slopes, rates, noise=0.01, shift=0.0, n_rows=20):
    """Make rows of y = a_g*exp(-b_g*x) + shift*z."""
    x, z = rng.uniform(0.0, 3.0, (2, n_rows * len(slopes)))
    slope, rate = (np.repeat(each, n_rows) for each in (slopes, rates))
    y = slope * np.exp(-rate * x) + shift * z + noise * rng.normal(size=len(x))
    return GroupedRows({"x": x, "z": z}, y, np.arange(len(slopes)) * n_rows)


def choose(rows, *, inner_varies=False, terms=(DECAY,)):
    """Refit one model of the search, and choose."""
    n = len(terms)
    model = GroupedModel(terms, (5.0,) * n, True, (True,) * (n + 1), (False,))  # noqa: FBT003
    return select_model(refit_models([model], rows, "ebic", inner_varies=inner_varies), rows, "ebic")


@pytest.mark.parametrize(("slopes", "varies"), [((1.0, 2.0, -3.0), (True,)), ((2.0, 2.0, 2.0), (False,))])
def test_a_coefficient_varies_only_where_the_groups_differ(rng, slopes, varies):
    chosen = choose(make_rows(rng, slopes, [0.5] * 3))
    assert not chosen.has_intercept
    assert chosen.varies == varies
    assert chosen.constants == pytest.approx([-0.5], abs=0.05)


@pytest.mark.parametrize(("rates", "varies"), [((0.3, 0.7, 1.2), True), ((0.7, 0.7, 0.7), False)])
def test_an_inner_constant_varies_only_where_that_is_declared_and_the_groups_differ(rng, rates, varies):
    rows = make_rows(rng, [1.0, 2.0, -3.0], rates)
    assert choose(rows, inner_varies=True).inner_varies == (varies,)
    assert choose(rows).inner_varies == (False,)


def test_each_coefficient_is_judged_by_itself():
    rows = make_rows(np.random.default_rng(0), [1.0, 2.0, -3.0], [0.5] * 3, shift=1.5)
    assert choose(rows, terms=(DECAY, parse_expression("z"))).varies == (True, False)


def test_the_criterion_counts_a_constant_that_varies_once_for_each_group(rng):
    rows = make_rows(rng, [1.0, 2.0, -3.0], [0.5] * 3)
    model = GroupedModel((DECAY,), (5.0,), True, (False, True), (False,), square=2.0)  # noqa: FBT003
    assert model.count_parameters(rows.n_groups) == 1 + 3 + 1
    expected = 60 * np.log(2.0 / rows.total_square) + 5 * np.log(60) + 2 * np.log(5.0) + 2 * 5 * 6 / 54
    assert model.compute_score(rows, "ebic") == pytest.approx(expected)
    assert model.compute_score(rows, "bic") == pytest.approx(expected - 2 * np.log(5.0))


def test_with_few_rows_a_fitted_number_costs_more_and_the_last_one_most():
    corrections = [compute_few_rows_correction(n_parameters, 24) for n_parameters in range(1, 24)]
    assert (np.diff(corrections[:-1], 2) > 0).all()
    assert corrections[-2:] == [2 * 22 * 23, np.inf]
    assert compute_few_rows_correction(7, 10_000) < 0.02


@pytest.mark.parametrize(("rate", "n_inner"), [(0.5, 0), (0.4871265, 1)])
def test_a_constant_of_an_exact_model_becomes_a_number_if_it_is_simple(rng, rate, n_inner):
    rows = make_rows(rng, [1.0, 2.0, -3.0], [rate] * 3, noise=0.0)
    model = fit_model(GroupedModel((DECAY,), (1.0,), False, (True,), (False,)), rows)  # noqa: FBT003
    snapped = snap_inner_constants(model, rows, [0.0], 0.95)
    assert is_exact(snapped, rows)
    assert len(snapped.constants) == n_inner
