"""Missing values: refused, dropped, filled with medians or marked; new rows are filled as the old ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import symscreen
from symscreen.data import FilledColumn, MissingIndicator, read_dataset
from symscreen.errors import DataError, OptionError
from symscreen.report.data_profile import list_profile_facts

N = 40


@pytest.fixture
def gappy(rng):
    """Forty rows of two inputs, of which one has no value in six rows, and a target without one in a row."""
    frame = pd.DataFrame({"a": rng.normal(5, 1, N), "b": rng.uniform(1, 2, N)})
    frame["y"] = 2 * frame["a"] + frame["b"]
    frame.loc[range(6), "a"] = np.nan
    frame.loc[10, "y"] = np.nan
    return frame


def median_of_rows_with_target(frame):
    return float(np.nanmedian(frame.loc[frame["y"].notna(), "a"]))


def test_up_to_a_tenth_of_the_rows_are_dropped_by_default(gappy):
    few = gappy.iloc[3:]
    few.loc[10, "y"] = 1.0
    dataset = read_dataset(few)
    assert (dataset.n_dropped, dataset.target.n) == (3, N - 6)
    assert dataset.notices[-1].startswith(
        "dropped: 3 rows of 37 with missing values (rows 1, 2, 3; in 'a'); choose"
    )


def test_more_are_refused_with_the_choices(gappy):
    with pytest.raises(DataError) as caught:
        read_dataset(gappy)
    assert str(caught.value) == (
        "the frame has 7 rows of 40 with missing values (rows 1, 2, 3, 4, 5, 6, 11; in 'y', 'a'), more "
        "than a "
        "tenth: fill them with medians (missing='impute'), mark them, too (missing='indicator'), or drop "
        "the rows "
        "(missing='drop')"
    )


def test_one_row_is_refused_if_that_is_asked_for(gappy):
    with pytest.raises(DataError, match="7 rows of 40 with missing values"):
        read_dataset(gappy, missing="refuse")


def test_an_unknown_policy_is_refused(gappy):
    with pytest.raises(OptionError, match="choose refuse, drop, impute or indicator"):
        read_dataset(gappy, missing="guess")


def test_inputs_are_filled_with_the_median_of_the_rows_that_have_a_target(gappy):
    dataset = read_dataset(gappy, missing="impute")
    median = median_of_rows_with_target(gappy)
    assert dataset.names == ("a", "b")
    assert dataset.target.n == N - 1
    assert {*dataset.source_rows[dataset.columns_by_name["a"] == median]} >= {*range(6)}
    assert dict(dataset.indicators) == {"a": FilledColumn("a", median)}
    assert f"filled with the median: 'a' ({median:g} in 6 rows)" in dataset.notices


def test_indicators_mark_where_values_were_missing(gappy):
    dataset = read_dataset(gappy, missing="indicator")
    assert dataset.names == ("a", "a is missing", "b")
    assert sorted(dataset.source_rows[dataset.columns_by_name["a is missing"] == 1.0]) == list(range(6))
    assert dataset.indicators["a is missing"] == MissingIndicator("a")


def test_filling_does_not_depend_on_the_order_of_rows(gappy):
    shuffled = gappy.sample(frac=1, random_state=0)
    assert (
        read_dataset(gappy, missing="indicator").digest == read_dataset(shuffled, missing="indicator").digest
    )


def test_a_column_without_values_is_no_input_and_cannot_be_filled():
    source = {"a": [None] * 6, "b": [1, 2, 3, 4, 5, 6], "y": [2, 1, 4, 3, 6, 5]}
    assert read_dataset(source, missing="impute").names == ("b",)
    with pytest.raises(DataError, match="'a'"):
        read_dataset(source, missing="impute", inputs=["a", "b"])


def test_a_screen_fills_new_rows_with_the_same_medians(gappy, tmp_path):
    result = symscreen.screen(gappy, missing="indicator", layers="b", binary="add,mul", top=5)
    median = median_of_rows_with_target(gappy)
    rows = pd.DataFrame({"a": [np.nan, 4.0], "b": [1.5, 1.0]})
    filled = rows.fillna({"a": median}).assign(**{"a is missing": [1.0, 0.0]})
    values = result.transform(rows)
    assert not values.isna().any().any()
    pd.testing.assert_frame_equal(values, result.transform(filled))
    assert result.record["options"]["missing"] == "indicator"
    assert result.record["options"]["imputation"] == {"filled": {"a": median}, "marked": ["a"]}
    symscreen.save_bundle(result.expressions, tmp_path / "f.json")
    applied = symscreen.apply_bundle(tmp_path / "f.json", rows)
    np.testing.assert_array_equal(applied.to_numpy(), values.to_numpy())


def test_a_fit_predicts_rows_with_missing_values(gappy, tmp_path):
    result = symscreen.fit(gappy, missing="impute", layers="b", binary="add")
    rows, median = pd.DataFrame({"a": [np.nan, 4.0], "b": [1.5, 1.0]}), median_of_rows_with_target(gappy)
    predicted = result.predict(rows)
    np.testing.assert_array_equal(predicted, result.predict(rows.fillna({"a": median})))
    symscreen.save_bundle(result.formula, tmp_path / "m.json")
    applied = symscreen.apply_bundle(tmp_path / "m.json", rows)
    np.testing.assert_array_equal(applied["y"], predicted)


@pytest.fixture
def gappy_with_levels(gappy, rng):
    """The same rows with a category of two levels, which decides how much a counts."""
    frame = gappy[gappy["y"].notna()].reset_index(drop=True)
    frame["c"] = rng.permutation(["p", "q"] * N)[: len(frame)]
    frame["y"] = np.where(frame["c"] == "p", 3.0, -2.0) * frame["a"].fillna(5.0) + frame["b"]
    return frame


@pytest.mark.parametrize("inputs", [None, ["b", "a"]])
def test_inputs_that_a_level_multiplies_are_filled_with_the_median_of_the_column(gappy_with_levels, inputs):
    median = float(gappy_with_levels["a"].median())
    kwargs = {"categorical": ["c"], "inputs": inputs, "layers": "b", "binary": "add", "top": 5}
    result = symscreen.screen(gappy_with_levels, missing="impute", **kwargs)
    complete = symscreen.screen(gappy_with_levels.fillna({"a": median}), **kwargs)
    assert result.record["data"]["rows_dropped"] == 0
    assert result.record["options"]["imputation"]["filled"] == {"a": median}
    assert list(result.table["expression"]) == list(complete.table["expression"])
    assert any("1[c = " in formula for formula in result.table["expression"])
    assert sum("filled with the median: 'a'" in notice for notice in result.notices) == 1
    facts = {fact.title: fact.value for fact in list_profile_facts(result)}
    assert facts["missing values"] == f"{gappy_with_levels['a'].isna().sum()} cells filled"
    rows = pd.DataFrame({"a": [np.nan, np.nan, 4.0], "b": [1.5, 1.0, 1.0], "c": ["p", "q", "q"]})
    values = result.transform(rows)
    assert not values.isna().any().any()
    pd.testing.assert_frame_equal(values, complete.transform(rows.fillna({"a": median})))


def test_a_bundle_fills_inputs_that_a_level_multiplies(gappy_with_levels, tmp_path):
    result = symscreen.fit(gappy_with_levels, missing="impute", categorical=["c"], layers="b", binary="add")
    rows = pd.DataFrame({"a": [np.nan, 4.0], "b": [1.5, 1.2], "c": ["q", "p"]})
    predicted = result.predict(rows)
    assert "1[c = " in result.formula.equation
    assert np.isfinite(predicted).all()
    symscreen.save_bundle(result.formula, tmp_path / "m.json")
    np.testing.assert_array_equal(symscreen.apply_bundle(tmp_path / "m.json", rows)["y"], predicted)


@pytest.mark.parametrize("policy", ["impute", "indicator"])
def test_estimators_fill_with_the_medians_of_the_training_rows(gappy, policy):
    known = gappy[gappy["y"].notna()]
    inputs, y = known[["a", "b"]], known["y"]
    screener = symscreen.SymbolicScreener(missing=policy, layers="b", binary="add,mul", top=3).fit(inputs, y)
    rows = pd.DataFrame({"a": [np.nan, 4.0], "b": [1.5, 1.0]})
    assert np.isfinite(screener.transform(rows)).all()
    assert screener.__sklearn_tags__().input_tags.allow_nan
    with pytest.raises(ValueError, match="NaN"):
        symscreen.SymbolicScreener(layers="b").fit(inputs, y)
