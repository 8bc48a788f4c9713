from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from helpers.estimator_checks import parametrize_checks, run_check
from helpers.requirements import require
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import symscreen
from symscreen.errors import DataError, InputError, OptionError
from symscreen.expressions.tree import parse_expression

SMALL = {"layers": "b", "binary": "mul,div", "top": 4, "max_terms": 2, "folds": 3, "n_jobs": 1}


@pytest.fixture(scope="module")
def data():
    """Rows whose class is whether a ratio of two columns is large; no column tells it alone."""
    rng = np.random.default_rng(5)
    x = pd.DataFrame(rng.uniform(0.5, 2.0, (160, 3)), columns=["mass", "size", "age"])
    return x, pd.Series(np.where(x["mass"] / x["size"] > 1.1, "heavy", "light"), name="kind")


@pytest.fixture(scope="module")
def fitted(data):
    return symscreen.SymbolicClassifier(**SMALL).fit(*data)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the checks try what warns
@parametrize_checks(
    symscreen.SymbolicClassifier(layers="u", unary="square", top=2, max_terms=2, folds=2, n_jobs=1)
)
def test_it_keeps_scikit_learns_promises(estimator, check):
    run_check(check, estimator)


@pytest.mark.slow
def test_it_finds_the_formula_that_tells_the_classes_apart(data, fitted):
    x, y = data
    assert fitted.classes_.tolist() == ["heavy", "light"]
    assert any(str(each) in {"mass/size", "size/mass"} for each in fitted.expressions_)
    assert fitted.score(x, y) > 0.95
    assert cross_val_score(fitted, x, y, cv=3).mean() > 0.9
    assert len(fitted.expressions_) <= 2
    assert fitted.n_features_in_ == 3
    assert fitted.feature_names_in_.tolist() == ["mass", "size", "age"]


def test_formulas_that_are_unsafe_on_new_rows_are_no_terms(data, fitted):
    assert fitted.get_params()["unsafe"] == "drop"
    x, _ = data
    near_zero = x.assign(size=x["size"] - 0.5)  # quotients by size are unbounded in its box
    model = symscreen.SymbolicClassifier(**SMALL).fit(near_zero, x["mass"] > 1.2)
    assert not any("/size" in str(each) for each in model.expressions_)


def test_the_formula_is_the_log_odds(data, fitted):
    x, _ = data
    assert fitted.formula_.equation.startswith("log_odds_light = ")
    scores = fitted.decision_function(x)
    assert scores.shape == (160,)
    np.testing.assert_allclose(scores, fitted.formula_.predict(x))
    read = parse_expression(fitted.formula_.text)
    assert read == fitted.formula_.expression
    probabilities = fitted.predict_proba(x)
    np.testing.assert_allclose(probabilities[:, 1], 1.0 / (1.0 + np.exp(-scores)))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(x)), probabilities)
    assert fitted.predict(x).tolist() == np.where(scores > 0.0, "light", "heavy").tolist()


def test_several_classes_have_a_score_each_with_shared_terms():
    iris = load_iris(as_frame=True)
    x, names = iris.data.iloc[:, 2:].set_axis(["length", "width"], axis=1), iris.target_names[iris.target]
    model = symscreen.SymbolicClassifier(**SMALL).fit(x, names)
    assert model.formula_.targets == ("score_setosa", "score_versicolor", "score_virginica")
    scores = model.decision_function(x)
    assert scores.shape == (150, 3)
    np.testing.assert_allclose(scores, model.formula_.predict(x))
    weights = np.exp(scores)
    np.testing.assert_allclose(model.predict_proba(x), weights / weights.sum(axis=1, keepdims=True))
    assert (model.predict(x) == names).mean() > 0.93


@pytest.mark.slow
@pytest.mark.parametrize(
    "convert",
    [
        lambda y: np.where(y == "heavy", 7, -2),
        lambda y: (y == "heavy").to_numpy(),
        lambda y: y.astype("category"),
        lambda y: np.where(y == "heavy", "", "light"),
        lambda y: np.where(y == "heavy", 0.5, 1.5).astype(int),
    ],
    ids=["integers", "booleans", "categories", "an empty text", "zero and one"],
)
def test_classes_may_be_anything_that_scikit_learn_takes(data, fitted, convert):
    x, y = data
    labels = convert(y)
    model = symscreen.SymbolicClassifier(**SMALL).fit(x, labels)
    assert model.classes_.tolist() == np.unique(labels).tolist()
    assert (model.predict(x) == np.asarray(labels)).mean() > 0.95
    assert {str(each) for each in model.expressions_} == {str(each) for each in fitted.expressions_}


@pytest.mark.slow
def test_arrays_grids_pipelines_clones_and_pickles(data):
    x, y = data
    model = symscreen.SymbolicClassifier(**SMALL).fit(x.to_numpy(), y.to_numpy())
    assert {"x1/x2", "x2/x1"} & {str(each) for each in model.expressions_}
    again = pickle.loads(pickle.dumps(model))  # noqa: S301  # our own
    assert np.array_equal(again.predict_proba(x.to_numpy()), model.predict_proba(x.to_numpy()))
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), clone(model))
    grid = GridSearchCV(pipeline, {"symbolicclassifier__max_terms": [1, 2]}, cv=2).fit(x + 9.0, y)
    assert grid.best_score_ > 0.7


def test_results_do_not_depend_on_the_number_of_threads_or_repetition(data):
    x, y = data
    first, second = (
        symscreen.SymbolicClassifier(**SMALL | {"n_jobs": jobs}).fit(x, y).formula_ for jobs in (1, 2)
    )
    assert first == second


def test_rows_outside_the_domain_of_a_term_get_its_mean_and_a_warning(data, fitted):
    x, _ = data
    rows = x.head(3).assign(mass=[0.0, 1.0, 1.0], size=[0.0, 1.0, 1.0])
    with pytest.warns(UserWarning, match=r"undefined in 1 of the 3 rows, such as '.*': its mean over the tr"):
        probabilities = fitted.predict_proba(rows)
    assert np.isfinite(probabilities).all()


def test_categories_are_taken(data):
    x, _ = data
    kind = np.where(np.arange(160) % 2 == 0, "a", "b")
    labels = np.where((kind == "a") == (x["mass"] > 1.2), "yes", "no")
    model = symscreen.SymbolicClassifier(
        layers="u", unary="id", categorical="kind", top=6, max_terms=6, n_jobs=1
    ).fit(x.assign(kind=kind), labels)
    assert model.score(x.assign(kind=kind), labels) > 0.8
    with pytest.warns(UserWarning, match="have levels of 'kind' that fit did not see"):
        model.predict(x.assign(kind="c"))


def test_units_leave_the_formula_in_the_units_of_the_table(data):
    require("pint")
    x, y = data
    plain = symscreen.SymbolicClassifier(**SMALL).fit(x, y)
    units = {"mass": "g", "size": "g", "age": "h"}
    model = symscreen.SymbolicClassifier(**SMALL, units=units).fit(x, y)
    np.testing.assert_allclose(model.formula_.predict(x), model.decision_function(x))
    assert model.score(x, y) > plain.score(x, y) - 0.05


@pytest.mark.parametrize(
    ("options", "y", "says"),
    [
        ({}, ["a"] * 160, "^y has one class, 'a': a classifier needs at least two$"),
        (
            {},
            pd.Series(["a", "b", None, "b"] * 40),
            "^y has no value in 40 of 160 rows: leave these rows out$",
        ),
        ({}, np.linspace(0.0, 1.0, 160), "^Unknown label type: continuous"),
        ({"max_terms": 0}, None, "^max_terms is 0; give an integer of at least 1$"),
        ({"folds": 1}, None, "^folds is 1; give at least 2$"),
        ({"layers": "x"}, None, "^layers, character 1: expected u or b"),
        ({"random_state": -1}, None, "^random_state is -1; give an integer of at least 0$"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line(data, options, y, says):
    x, labels = data
    with pytest.raises(ValueError, match=says) as told:
        symscreen.SymbolicClassifier(**SMALL | options).fit(x, labels if y is None else y)
    assert "\n" not in str(told.value)


def test_what_is_no_parameter_or_argument_is_refused(data):
    for name in ("target_type", "stages", "ranking", "event"):
        with pytest.raises(OptionError, match=f"SymbolicClassifier has no parameter '{name}'"):
            symscreen.SymbolicClassifier(**{name: "x"})
    with pytest.raises(InputError, match="fit of SymbolicClassifier takes no 'sample_weight'"):
        symscreen.SymbolicClassifier(**SMALL).fit(*data, sample_weight=np.ones(160))
    with pytest.raises(DataError, match=re.escape("requires y to be passed, but the target y is None")):
        symscreen.SymbolicClassifier(**SMALL).fit(data[0])


@pytest.mark.slow
def test_it_is_as_good_as_a_logistic_regression_on_wine():
    wine = load_wine(as_frame=True)
    model = symscreen.SymbolicClassifier(layers="b", n_jobs=1)
    found = cross_val_score(model, wine.data, wine.target, cv=3).mean()
    plain = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    assert found > cross_val_score(plain, wine.data, wine.target, cv=3).mean() - 0.03
