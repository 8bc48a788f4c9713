"""SymbolicScreener with columns of categories and with units."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from helpers.requirements import require
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import symscreen
from symscreen.errors import DataError, OptionError

SMALL = {"layers": "b", "binary": "add,mul", "top": 4, "n_jobs": 1}


@pytest.fixture
def data(rng):
    """In group p the response is x1 + x2, in the others x2 alone."""
    frame = pd.DataFrame(rng.uniform(0.5, 2.0, (90, 2)), columns=["x1", "x2"])
    frame.insert(1, "c", rng.choice(["p", "q", "r"], 90))
    return frame, np.where(frame.c == "p", frame.x1 + frame.x2, frame.x2)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["gate", "onehot"])
def test_it_is_what_screen_finds(data, how):
    inputs, y = data
    asked = {**SMALL, "layers": "bb" if how == "onehot" else "b", "categorical": "c", "categorical_as": how}
    screener = symscreen.SymbolicScreener(**asked).fit(inputs, y)
    found = symscreen.screen(inputs, y, **asked)
    pd.testing.assert_frame_equal(screener.ranking_, found.table)
    assert screener.levels_ == {"c": ("p", "q", "r")}
    assert screener.get_support().all()
    np.testing.assert_allclose(screener.transform(inputs)[:, 0], y, rtol=1e-14)
    again = pickle.loads(pickle.dumps(screener))  # noqa: S301  # our own
    assert np.array_equal(again.transform(inputs), screener.transform(inputs))
    assert clone(screener).get_params()["categorical"] == "c"


def test_new_rows_get_columns_of_the_same_levels_and_unseen_ones_are_zero(data):
    inputs, y = data
    screener = symscreen.SymbolicScreener(**SMALL, categorical=["c"]).set_output(transform="pandas")
    screener.fit(inputs, y)
    name = "`x1·1[c = p]` + x2"
    assert screener.get_feature_names_out()[0] == name
    few = inputs.head(6).assign(c=["q", "p", "p", "q", "q", "q"])  # no r among them
    assert screener.transform(few)[name].tolist() == np.where(few.c == "p", few.x1 + few.x2, few.x2).tolist()
    new = inputs.head(6).assign(c=["s", "p", "t", "s", "u", "v"])
    says = r"5 of 6 rows have levels of 'c' that fit did not see \('s', 't', 'u' and 1 more\): .* are 0 there"
    with pytest.warns(UserWarning, match=says):
        features = screener.transform(new)
    assert features[name].tolist() == np.where(new.c == "p", new.x1 + new.x2, new.x2).tolist()
    with pytest.warns(UserWarning, match=r"features are undefined in some of the 2 rows .* in 1"):
        gap = screener.transform(inputs.head(2).assign(c=["p", None]))
    assert gap[name].isna().tolist() == [False, True]


@pytest.mark.slow
def test_arrays_frames_of_objects_and_codes_say_the_same(data):
    inputs, y = data
    screener = symscreen.SymbolicScreener(**SMALL, categorical="c").fit(inputs, y)
    by_place = symscreen.SymbolicScreener(**SMALL, categorical="x2")
    for cells in (inputs.to_numpy(), inputs.to_numpy().tolist()):
        by_place.fit(cells, y)
        assert by_place.get_feature_names_out()[0] == "`x1·1[x2 = p]` + x3"
        assert by_place.get_feature_names_out(["x1", "c", "x2"]).tolist() == list(
            screener.get_feature_names_out()
        )
        assert np.array_equal(by_place.transform(cells), screener.transform(inputs))
    coded = inputs.assign(c=inputs.c.map({"p": 3, "q": 10, "r": 7}))
    numbered = symscreen.SymbolicScreener(**SMALL, categorical="c").fit(coded, y)
    assert numbered.levels_ == {"c": ("3", "7", "10")}
    assert np.array_equal(numbered.transform(coded)[:, 0], screener.transform(inputs)[:, 0])
    assert np.array_equal(numbered.transform(coded.astype(float))[:, 0], screener.transform(inputs)[:, 0])
    every = inputs.astype({"c": "category"})
    assert np.array_equal(clone(screener).fit(every, y).transform(every), screener.transform(inputs))


def test_a_frame_of_polars_has_categories_too(data):
    polars = require("polars")
    inputs, y = data
    frame = polars.from_dict({name: inputs[name].to_list() for name in inputs})
    screener = symscreen.SymbolicScreener(**SMALL, categorical="c").fit(frame, y)
    assert screener.get_feature_names_out()[0] == "`x1·1[c = p]` + x2"
    np.testing.assert_allclose(screener.transform(frame)[:, 0], y, rtol=1e-14)


@pytest.mark.slow
def test_they_stay_inside_the_folds_of_a_grid(data):
    inputs, y = data
    inputs.loc[7, "c"] = "rare"  # in two of three folds only one side knows it
    pipeline = make_pipeline(
        symscreen.SymbolicScreener(**SMALL | {"top": 1}, categorical="c"), LinearRegression()
    )
    grid = {"symbolicscreener__layers": ["u", "b"], "symbolicscreener__unary": ["id"]}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "1 of 30 rows have levels of 'c'")
        search = GridSearchCV(pipeline, grid, cv=3).fit(inputs, y)
    assert search.best_params_["symbolicscreener__layers"] == "b"
    assert search.best_score_ > 0.98


def test_only_categories_will_do(rng):
    inputs = pd.DataFrame({"c": rng.choice(["p", "q"], 40), "d": rng.choice(["s", "t", "u"], 40)})
    y = np.where(inputs.c == "p", 1.0, 0.0) * np.where(inputs.d == "s", 1.0, 0.0)
    asked = {**SMALL, "categorical": ["c", "d"], "categorical_as": "onehot", "top": 1}
    screener = symscreen.SymbolicScreener(**asked).fit(inputs, y)
    assert screener.get_feature_names_out().tolist() == ["`c = p`*`d = s`"]
    assert screener.transform(inputs)[:, 0].tolist() == y.tolist()


def test_gates_need_a_column_of_numbers(data):
    inputs, y = data
    words = inputs[["c"]].assign(d=inputs.c)
    asked = SMALL | {"categorical": ["c", "d"]}
    with pytest.raises(
        DataError, match=r"; give a column of numbers \(X\), or categorical_as='onehot' for categories alone$"
    ):
        symscreen.SymbolicScreener(**asked).fit(words, y)
    assert symscreen.SymbolicScreener(**asked, categorical_as="onehot").fit(words, y).expressions_


@pytest.mark.parametrize(
    ("change", "options", "says"),
    [
        ({}, {"categorical": "k"}, "X has no column 'k' for categorical"),
        ({"c": None}, {"categorical": "c"}, "X has no category in 1 of 90 rows of 'c': fill them"),
        ({}, {"categorical_as": "onehot"}, "categorical_as='onehot' requires categorical"),
        (
            {},
            {"categorical": "c", "categorical_as": "dummy"},
            "categorical_as is 'dummy'; known: gate, onehot$",
        ),
        ({"c": "p"}, {"categorical": "x1"}, "'x1' of categorical= has 90 levels"),
    ],
)
def test_mistakes_are_told_in_one_line(data, change, options, says):
    inputs, y = data
    for name, value in change.items():
        inputs[name] = inputs[name].astype(object)
        inputs.loc[3, name] = value
    if options.get("categorical") != "c":
        inputs = inputs.drop(columns="c") if options.get("categorical") != "x1" else inputs.assign(c=1.0)
    with pytest.raises((OptionError, DataError), match=says) as told:
        symscreen.SymbolicScreener(**SMALL, **options).fit(inputs, y)
    assert "\n" not in str(told.value)


def test_words_without_the_option_are_refused_with_the_option(data):
    with pytest.raises(DataError, match=r"^X has texts in the column 'c', such as '.*categorical=\['c'\]"):
        symscreen.SymbolicScreener(**SMALL).fit(*data)


def test_what_is_no_table_is_refused_in_scikit_learns_words(data):
    inputs, y = data
    screener = symscreen.SymbolicScreener(**SMALL, categorical="x1")
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        screener.fit(inputs.x1.to_numpy(), y)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        screener.fit(csr_matrix(inputs[["x1", "x2"]].to_numpy()), y)
    fitted = clone(screener).set_params(categorical="c").fit(inputs, y)
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing"):
        fitted.transform(inputs[["x1", "x2"]])
    with pytest.raises(ValueError, match="contains NaN"):
        fitted.transform(inputs.assign(x2=np.nan))


def test_units_of_columns_and_of_the_target(rng):
    require("pint")
    inputs = pd.DataFrame(rng.uniform(0.5, 2.0, (60, 3)), columns=["mass", "speed", "time"])
    y = inputs.mass * inputs.speed / inputs.time
    asked = {"layers": "bb", "binary": "add,mul,div", "top": 3, "n_jobs": 1, "target_units": "N"}
    units = {"mass": "g", "speed": "km/h", "time": "s"}
    screener = symscreen.SymbolicScreener(**asked, units=units).fit(inputs, y)
    found = symscreen.screen(inputs, y, **asked, units=units)
    pd.testing.assert_frame_equal(screener.ranking_, found.table)
    assert set(screener.ranking_.unit) == {"kg*m/s**2"}
    assert set(map(str, screener.expressions_[0].arguments)) & {"mass/time", "speed/time", "mass*speed"}
    np.testing.assert_allclose(screener.transform(inputs)[:, 0], y / 1000 / 3.6, rtol=1e-12)
    by_place = symscreen.SymbolicScreener(**asked, units={"x1": "g", "x2": "km/h", "x3": "s"})
    by_place.fit(inputs.to_numpy(), y)
    assert np.array_equal(by_place.transform(inputs.to_numpy()), screener.transform(inputs))
    again = pickle.loads(pickle.dumps(clone(screener).fit(inputs, y)))  # noqa: S301  # our own
    assert np.array_equal(again.transform(inputs), screener.transform(inputs))
