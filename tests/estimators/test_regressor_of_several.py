"""The regressor with a response of several columns."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.multioutput import RegressorChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import symscreen

SMALL = {"layers": "u", "unary": "id,square", "max_terms": 2}


@pytest.fixture
def rows(rng):
    x = rng.normal(size=(60, 2))
    shared = np.stack([x[:, 0] ** 2, x[:, 1]])
    return x, ([[3.0, 1.0], [1.0, -200.0]] @ shared).T + rng.normal(0, 0.01, (60, 2))


def test_it_is_what_fit_finds_and_predicts_a_column_for_each_target(rows):
    x, y = rows
    model = symscreen.SymbolicRegressor(**SMALL).fit(x, y)
    found = symscreen.fit(x, y, **SMALL)
    assert model.formula_ == found.formula
    assert model.predict(x).shape == (60, 2)
    np.testing.assert_array_equal(model.predict(x), found.predict(x))
    assert model.score(x, y) > 0.99


def test_columns_come_in_the_order_of_the_response_whatever_their_names(rows):
    x, y = rows
    frame = pd.DataFrame(y, columns=["z", "a"])
    model = symscreen.SymbolicRegressor(**SMALL).fit(x, frame)
    assert model.formula_.targets == ("a", "z")
    np.testing.assert_allclose(model.predict(x), y, atol=3.0)
    many = np.column_stack([y, *(k * x[:, 0] + y[:, 1] for k in range(9))])  # y10 stands before y2 by name
    predicted = symscreen.SymbolicRegressor(**SMALL).fit(x, many).predict(x)
    assert (np.abs(predicted - many).mean(axis=0) < 0.5 * many.std(axis=0)).all()


def test_a_response_of_one_column_stays_a_column(rows):
    x, y = rows
    model = symscreen.SymbolicRegressor(**SMALL).fit(x, y[:, :1])
    assert model.predict(x).shape == (60, 1)
    flat = symscreen.SymbolicRegressor(**SMALL).fit(x, y[:, 0])
    np.testing.assert_array_equal(model.predict(x)[:, 0], flat.predict(x))


def test_it_is_cloned_pickled_and_put_into_pipelines(rows):
    x, y = rows
    model = make_pipeline(StandardScaler(), symscreen.SymbolicRegressor(**SMALL)).fit(x, y)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301  # our own
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    assert clone(model[-1]).get_params() == model[-1].get_params()
    chain = RegressorChain(symscreen.SymbolicRegressor(**SMALL)).fit(x, y)
    assert chain.predict(x).shape == (60, 2)
