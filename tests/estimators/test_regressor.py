from __future__ import annotations

import numpy as np
import pytest
from helpers.estimator_checks import parametrize_checks, run_check
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import symscreen
from symscreen.errors import DataError, ExtrapolationWarning

SMALL = {"layers": "u", "unary": "id,square", "max_terms": 2}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the checks try what warns
@parametrize_checks(symscreen.SymbolicRegressor(**SMALL))
def test_it_keeps_scikit_learns_promises(estimator, check):
    if "sample_weight_equivalence" in str(check):
        # a repeated row is more evidence for the choice of a formula, so the formula has to be given
        estimator = clone(estimator).set_params(unary="id", max_terms=1, must_use="x1")
    run_check(check, estimator)


def test_weights_are_those_of_a_fit(rng):
    x = rng.uniform(0.5, 2.0, size=(80, 2))
    y = 3 * x[:, 0] ** 2 - x[:, 1]
    is_bad = rng.uniform(size=80) < 0.3
    y[is_bad] += 20.0
    weights = np.where(is_bad, 1e-9, 1.0)
    model = symscreen.SymbolicRegressor(**SMALL).fit(x, y, sample_weight=weights)
    assert model.formula_ == symscreen.fit(x, y, weights=weights, **SMALL).formula
    assert sorted(map(str, model.formula_.terms)) == ["x1**2", "x2"]
    zero = symscreen.SymbolicRegressor(**SMALL).fit(x, y, sample_weight=np.where(is_bad, 0.0, 1.0))
    assert zero.formula_ == symscreen.SymbolicRegressor(**SMALL).fit(x[~is_bad], y[~is_bad]).formula_
    with pytest.raises(DataError, match="sample_weight is -1 in row 3"):
        symscreen.SymbolicRegressor(**SMALL).fit(x, y, sample_weight=np.where(np.arange(80) == 3, -1.0, 1.0))


def test_it_is_what_fit_finds(rng):
    x = rng.normal(size=(60, 2))
    y = 3 * x[:, 0] ** 2 - x[:, 1] + 0.01 * rng.normal(size=60)
    model = symscreen.SymbolicRegressor(**SMALL).fit(x, y)
    found = symscreen.fit(x, y, **SMALL)
    assert model.formula_ == found.formula
    assert [term.rstrip() for term in found.terms["term"]] == ["1", "x2", "x1**2"]
    assert np.array_equal(model.predict(x), found.predict(x))


def test_it_works_in_pipelines_and_grids(rng):
    x = rng.normal(size=(60, 2))
    y = x[:, 0] ** 2
    scaled = make_pipeline(StandardScaler(), symscreen.SymbolicRegressor(**SMALL)).fit(x, y)
    assert scaled.score(x, y) > 0.999999
    grid = GridSearchCV(symscreen.SymbolicRegressor(**SMALL), {"unary": ["id", "id,square"]}, cv=3).fit(x, y)
    assert grid.best_params_ == {"unary": "id,square"}
    assert clone(grid.best_estimator_).get_params()["unary"] == "id,square"


def test_predicting_outside_the_training_range_warns_and_scoring_does_not(rng):
    x = rng.uniform(size=(60, 2))
    y = x[:, 0] ** 2
    model = symscreen.SymbolicRegressor(**SMALL).fit(x, y)
    new = np.array([[5.0, 0.5], [7.0, 0.5]])
    with pytest.warns(ExtrapolationWarning, match="2 of 2 rows") as caught:
        np.testing.assert_allclose(model.predict(new), [25.0, 49.0])
    assert caught[0].filename == __file__
    assert model.score(new, [25.0, 49.0]) == pytest.approx(1.0)
    assert model.score(new, [25.0, 0.0], [1.0, 0.0]) != model.score(new, [25.0, 0.0])


def test_inputs_of_new_rows_are_moved_into_the_box_where_asked(rng):
    x = rng.uniform(1.0, 2.0, size=(60, 2))
    model = symscreen.SymbolicRegressor(**SMALL, ranges={"x1": (0.0, 3.0)}, clip=True)
    model.fit(x, x[:, 0] ** 2)
    assert model.predict([[9.0, 1.5], [-9.0, 1.5]]) == pytest.approx([9.0, 0.0])
    model.set_params(clip=False)
    with pytest.warns(ExtrapolationWarning, match="2 of 2 rows are outside"):
        assert model.predict([[9.0, 1.5], [-9.0, 1.5]]) == pytest.approx([81.0, 81.0])
