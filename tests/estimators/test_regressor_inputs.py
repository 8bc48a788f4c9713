"""SymbolicRegressor with columns of categories, and with targets of every name and shape."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import symscreen
from symscreen.errors import DataError

SMALL = {"layers": "u", "operators": "ablation", "max_terms": 2, "n_jobs": 1}


@pytest.fixture
def data(rng):
    """In group p the response is 3 x1 + x2, in the others x2 alone."""
    frame = pd.DataFrame(rng.uniform(0.5, 2.0, (60, 2)), columns=["x1", "x2"])
    frame.insert(1, "c", rng.choice(["p", "q", "r"], 60))
    return frame, np.where(frame.c == "p", 3 * frame.x1 + frame.x2, frame.x2)


def test_a_level_lets_its_term_in(data):
    inputs, y = data
    model = symscreen.SymbolicRegressor(**SMALL, categorical="c", snap=True).fit(inputs, y)
    assert model.formula_.text == "x2 + 3*`x1·1[c = p]`"
    assert model.levels_ == {"c": ("p", "q", "r")}
    np.testing.assert_allclose(model.predict(inputs), y, rtol=1e-13)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301  # our own
    assert np.array_equal(again.predict(inputs), model.predict(inputs))
    few = inputs.head(5).assign(c=["q", "p", "p", "q", "q"])  # no r among them
    np.testing.assert_allclose(model.predict(few), np.where(few.c == "p", 3 * few.x1 + few.x2, few.x2))


def test_levels_that_fit_did_not_see_are_zero_with_a_warning_and_missing_ones_nan(data):
    inputs, y = data
    model = symscreen.SymbolicRegressor(**SMALL, categorical=["c"]).fit(inputs, y)
    with pytest.warns(UserWarning, match=r"2 of 3 rows have levels of 'c' that fit did not see \('s', 't'\)"):
        found = model.predict(inputs.head(3).assign(c=["s", "p", "t"]))
    np.testing.assert_allclose(found, inputs.x2.head(3) + np.array([0.0, 3 * inputs.x1[1], 0.0]))
    with pytest.warns(UserWarning, match="undefined in 1 of the 2 rows"):
        assert np.isnan(model.predict(inputs.head(2).assign(c=["p", None]))).tolist() == [False, True]


def test_indicators_arrays_and_several_targets(data):
    inputs, y = data
    both = pd.DataFrame({"v": y, "u": np.where(inputs.c == "q", 1.0, 0.0)})
    model = symscreen.SymbolicRegressor(**SMALL, categorical="c", categorical_as="onehot")
    model.fit(inputs, both.u)
    assert model.formula_.equation == "u = `c = q`"
    assert model.predict(inputs).tolist() == pytest.approx(both.u.tolist(), abs=1e-14)
    gated = symscreen.SymbolicRegressor(**SMALL | {"max_terms": 4}, categorical="x2").fit(
        inputs.to_numpy(), both
    )
    assert gated.predict(inputs.to_numpy()).shape == (60, 2)
    np.testing.assert_allclose(gated.predict(inputs.to_numpy())[:, 0], y, atol=1e-12)


def test_they_stay_inside_the_folds(data):
    inputs, y = data
    inputs.loc[7, "c"] = "rare"
    model = clone(symscreen.SymbolicRegressor(**SMALL, categorical="c"))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "1 of 20 rows have levels of 'c'")
        assert cross_val_score(model, inputs, y, cv=3).min() > 0.99


def test_columns_of_y_that_share_a_name_are_refused_in_one_line(rng):
    x = rng.normal(size=(30, 2))
    twice = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "a"])
    says = r"^y has more than one column named 'a': rename or remove the others$"
    with pytest.raises(DataError, match=says):
        symscreen.SymbolicRegressor(**SMALL).fit(x, twice)
    with pytest.raises(DataError, match=says):
        symscreen.SymbolicScreener(layers="u").fit(x, twice)
    with pytest.raises(DataError, match=says):
        symscreen.fit(x, twice)


def test_columns_without_names_are_called_what_no_input_is(rng):
    x = pd.DataFrame(rng.normal(size=(40, 2)), columns=["y1", "y2"])
    y = np.column_stack([x.y1**3, 2 * x.y2])
    model = symscreen.SymbolicRegressor(**SMALL).fit(x, y)
    assert model.formula_.targets == ("y1_", "y2_")
    np.testing.assert_allclose(model.predict(x), y, atol=1e-12)
    assert symscreen.fit(x, y, layers="u", operators="ablation").formula == model.formula_


def test_columns_of_y_and_x_of_one_name_are_refused(rng):
    x = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    with pytest.raises(DataError, match=r"^'b' is the name of a column of y and of X: rename one"):
        symscreen.SymbolicRegressor(**SMALL).fit(x, x.assign(c=1.0 + x.a)[["c", "b"]])
    with pytest.raises(DataError, match=r"^'b' is the name of a column of y and of the frame: rename one"):
        symscreen.fit(x, x.assign(c=1.0 + x.a)[["c", "b"]])


def test_one_target_keeps_its_name_and_its_shape(rng):
    x = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    y = pd.DataFrame({"the yield": 2.0 * x.a})
    asked = symscreen.SymbolicRegressor(**SMALL, snap=True)
    assert asked.fit(x, y).formula_.equation == "`the yield` = 2*a"
    assert asked.predict(x).shape == (40, 1)
    assert asked.fit(x, y["the yield"]).formula_.equation == "`the yield` = 2*a"
    assert asked.predict(x).shape == (40,)
    assert asked.fit(x, y.to_numpy()).formula_.equation == "y = 2*a"
    assert asked.predict(x).shape == (40, 1)
    assert asked.fit(x, y.rename(columns={"the yield": "a"})).formula_.equation == "a_ = 2*a"
