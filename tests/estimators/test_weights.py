"""Weights of rows in the estimators, alone and routed through pipelines and grids."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

import symscreen
from symscreen.errors import DataError, OptionError

SMALL = {"layers": "b", "binary": "add,mul", "top": 3, "n_jobs": 1}


@pytest.fixture
def data(rng):
    """The response is x1 + x2 in the upper half of the rows, where rows weigh, and x1·x2 in the lower."""
    x = pd.DataFrame(rng.uniform(0.5, 4.0, (60, 2)), columns=["x1", "x2"])
    upper = x.index < 30
    return x, pd.Series(np.where(upper, x.x1 + x.x2, x.x1 * x.x2), name="y"), np.where(upper, 50.0, 1.0)


def test_they_are_those_of_a_screen(data):
    x, y, w = data
    screener = symscreen.SymbolicScreener(**SMALL)
    found = symscreen.screen(x.assign(y=y, w=w), target="y", weights="w", **SMALL)
    pd.testing.assert_frame_equal(screener.fit(x, y, sample_weight=w).ranking_, found.table)
    assert screener.expressions_[0] != screener.fit(x, y, sample_weight=51.0 - w).expressions_[0]
    one = screener.fit(x, y, sample_weight=np.full(60, 3)).ranking_
    pd.testing.assert_frame_equal(one, screener.fit(x, y).ranking_)
    for cells in (list(w), pd.Series(w, index=x.index[::-1])):  # by place, as everywhere in scikit-learn
        pd.testing.assert_frame_equal(screener.fit(x, y, sample_weight=cells).ranking_, found.table)


def test_a_number_is_the_weight_of_every_row(data):
    x, y, _ = data
    plain = symscreen.SymbolicScreener(**SMALL).fit(x, y).ranking_
    for number in (2.0, 3, np.array(0.5)):
        found = symscreen.SymbolicScreener(**SMALL).fit(x, y, sample_weight=number).ranking_
        pd.testing.assert_frame_equal(found, plain)


def test_equal_weights_are_routed_to_screens_that_take_none(data):
    x, y, _ = data
    words, equal = np.where(y > y.median(), "high", "low"), np.full(60, 0.3)
    times = np.array(list(zip(y > 3, y, strict=True)), dtype=[("met", bool), ("time", float)])
    for response, options in ((words, {}), (times, {}), (y, {"screener": "xi"}), (y, {"p_values": True})):
        screener = symscreen.SymbolicScreener(**SMALL | options)
        found = screener.fit(x, response, sample_weight=equal).ranking_
        pd.testing.assert_frame_equal(found, screener.fit(x, response).ranking_)


def test_columns_of_any_name_stay_inputs(data):
    x, y, w = data
    named = x.rename(columns={"x1": "weights", "x2": "groups"})
    screener = symscreen.SymbolicScreener(**SMALL).fit(named, y, sample_weight=w)
    assert screener.get_support().all()
    plain = symscreen.SymbolicScreener(**SMALL).fit(x, y, sample_weight=w)
    assert np.array_equal(screener.ranking_.t0, plain.ranking_.t0)


def test_they_are_routed_through_a_pipeline_and_a_grid(data):
    x, y, w = data
    with sklearn.config_context(enable_metadata_routing=True):
        screen = symscreen.SymbolicScreener(**SMALL | {"top": 1}).set_fit_request(sample_weight=True)
        model = LinearRegression().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = Pipeline([("screen", screen), ("model", model)])
        search = GridSearchCV(pipeline, {"screen__layers": ["u", "b"], "screen__unary": ["id"]}, cv=3)
        search.fit(x, y, sample_weight=w)
        assert search.best_params_["screen__layers"] == "b"
        told = [step["screen"].result_.record["data"] for step in (search.best_estimator_,)]
        assert told[0]["weighted"]["effective_rows"] == pytest.approx(w.sum() ** 2 / (w**2).sum())
        assert search.best_estimator_["screen"].get_feature_names_out().tolist() == ["x1 + x2"]
        not_asked = Pipeline([("screen", symscreen.SymbolicScreener(**SMALL)), ("model", model)])
        with pytest.raises(ValueError, match=r"sample_weight.* not explicitly set as requested"):
            not_asked.fit(x, y, sample_weight=w)


def test_without_routing_a_step_is_named(data):
    x, y, w = data
    pipeline = Pipeline([("screen", symscreen.SymbolicScreener(**SMALL)), ("model", LinearRegression())])
    pipeline.fit(x, y, screen__sample_weight=w)
    assert "weighted" in pipeline["screen"].result_.record["data"]


@pytest.mark.parametrize(
    ("weights", "error", "says"),
    [
        (np.ones(7), ValueError, "inconsistent numbers of samples"),
        (np.ones((60, 1)), DataError, r"^sample_weight has shape \(60, 1\): one number for each row"),
        (np.arange(60) - 1.0, DataError, r"^sample_weight is -1 in row 0: give numbers of at least 0$"),
        (np.full(60, np.nan), ValueError, "sample_weight contains NaN"),
        (np.zeros(60), DataError, "^sample_weight is zero in every row: no row is left$"),
        (["a"] * 60, ValueError, "could not convert string to float"),
        (-2.0, DataError, "^sample_weight is -2 in row 0: give numbers of at least 0$"),
        (0, DataError, "^sample_weight is zero in every row: no row is left$"),
    ],
)
def test_other_weights_are_refused(data, weights, error, says):
    x, y, _ = data
    with pytest.raises(error, match=says):
        symscreen.SymbolicScreener(**SMALL).fit(x, y, sample_weight=weights)


def test_screeners_and_figures_without_weights_say_so(data):
    x, y, w = data
    for asked in ({"screener": "xi"}, {"fdr": 0.1}, {"stability": 4}):
        with pytest.raises(OptionError, match="weight"):
            symscreen.SymbolicScreener(**SMALL, **asked).fit(x, y, sample_weight=w)
