"""Missing values of inputs are filled with medians of the rows that a model is found from."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import symscreen
from symscreen.data import read_dataset, read_frame, take_rows
from symscreen.data.categories import add_categorical_columns
from symscreen.data.missing_values import refill_inputs
from symscreen.linear_models.model_criteria import assign_folds

OPTIONS = {"operators": "ablation", "layers": "u", "jobs": 1, "missing": "impute"}
N = 60


@pytest.fixture
def gappy(rng):
    """A table without a value of a in every fifth row, sorted by the target as the rows of a fit are."""
    import pandas as pd

    a, b = rng.uniform(0.5, 2.0, (2, N))
    frame = pd.DataFrame({"a": a, "b": b, "y": 3 * a**3 - b + rng.normal(0, 0.5, N)})
    frame.loc[::5, "a"] = np.nan
    return frame.sort_values("y", ignore_index=True)


def compute_r2(target, predicted):
    return 1.0 - ((target - predicted) ** 2).sum() / ((target - target.mean()) ** 2).sum()


def test_medians_are_those_of_the_rows_named(gappy, rng):
    dataset = read_dataset(gappy, missing="impute")
    rows = np.sort(rng.permutation(N)[:25])
    filled, medians = refill_inputs(dataset, rows)
    assert medians == {"a": np.nanmedian(gappy["a"][rows])}
    np.testing.assert_array_equal(filled.columns_by_name["a"], gappy["a"].fillna(medians["a"]))
    np.testing.assert_array_equal(filled.source_rows, dataset.source_rows)
    part = take_rows(dataset, rows[::-1])
    np.testing.assert_array_equal(part.filled_cells["a"], gappy["a"].isna()[part.source_rows])


def test_inputs_that_a_level_multiplies_have_the_median_of_these_rows(gappy, rng):
    frame = gappy.assign(c=rng.permutation(["p", "q"] * (N // 2)))
    source, _ = add_categorical_columns(read_frame(frame), ["c"], "gate", ["a"], [])
    dataset = read_dataset(source, target="y", inputs=["a", "a·1[c = p]"], missing="impute")
    rows = np.sort(rng.permutation(N)[:25])
    filled, medians = refill_inputs(dataset, rows)
    median = np.nanmedian(gappy["a"][rows])
    assert medians == {"a": median, "a·1[c = p]": median}
    expected = gappy["a"].fillna(median) * (frame["c"] == "p")
    np.testing.assert_array_equal(filled.columns_by_name["a·1[c = p]"], expected)


def test_an_input_without_a_value_in_these_rows_keeps_the_median_of_all(gappy):
    dataset = read_dataset(gappy, missing="impute")
    filled, medians = refill_inputs(dataset, np.flatnonzero(gappy["a"].isna()))
    assert medians == {}
    np.testing.assert_array_equal(filled.columns, dataset.columns)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::symscreen.errors.ExtrapolationWarning")
def test_folds_of_a_comparison_do_not_see_the_medians_of_their_test_rows(gappy):
    found = symscreen.compare_baselines(gappy, n_folds=3, **OPTIONS)
    folds = assign_folds(N, 3, seed=0)
    predicted = np.empty(N)
    for fold in range(3):
        training, test = gappy[folds != fold], gappy[folds == fold]
        predicted[folds == fold] = symscreen.fit(training, **OPTIONS).predict(test)
    assert found.r2["formula"] == pytest.approx(compute_r2(gappy["y"], predicted), abs=1e-12)
    ridge = make_pipeline(
        SimpleImputer(strategy="median"), StandardScaler(), RidgeCV(alphas=np.logspace(-3.0, 3.0, 13))
    )
    predicted = cross_val_predict(ridge, gappy[["a", "b"]].to_numpy(), gappy["y"], cv=PredefinedSplit(folds))
    assert found.r2["ridge"] == pytest.approx(compute_r2(gappy["y"], predicted), abs=1e-9)


@pytest.mark.parametrize("name", ["a", "a (mm)"])
def test_rows_that_are_kept_from_the_search_do_not_change_its_medians(gappy, name):
    units = {"units": "strict"} if name == "a (mm)" else {}
    frame = gappy.rename(columns={"a": name})
    result = symscreen.fit(frame, split=0.4, must_use=name, **units, **OPTIONS)
    held_out = np.random.default_rng(0).permutation(N)[: round(0.4 * N)]
    median = np.nanmedian(np.delete(gappy["a"].to_numpy(), held_out))
    assert result.record["options"]["imputation"]["filled"] == {name: pytest.approx(median, rel=1e-12)}
    rows = frame.head(3).assign(**{name: np.nan})
    np.testing.assert_allclose(result.predict(rows), result.predict(rows.fillna(median)), rtol=1e-12)
    assert any("the rows that the search sees (split=0.4): " in notice for notice in result.notices)
