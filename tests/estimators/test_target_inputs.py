"""SymbolicScreener against every kind of response that a screen takes, in scikit-learn's own manner."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

import symscreen
from symscreen.errors import DataError, InputError, OptionError

SMALL = {"layers": "b", "binary": "sub,mul", "top": 4, "n_jobs": 1}
STAGES = ["viewed", "liked", "followed"]


@pytest.fixture
def inputs(rng):
    return pd.DataFrame(rng.uniform(0.5, 2.0, (90, 3)), columns=["x1", "x2", "x3"])


@pytest.fixture
def z(inputs):
    """What every response is made of."""
    return (inputs.x1 * inputs.x3).to_numpy()


def _lived(z, rng):
    seen = rng.uniform(0.5, 4.0, len(z))
    return np.array(
        list(zip(z <= seen, np.minimum(z, seen), strict=True)), dtype=[("died", "?"), ("days", "f8")]
    )


def _stages(z):
    reached = np.stack([z > 0.6, z > 1.1, z > 1.6]).astype(float)
    reached[2, reached[1] == 0] = np.nan
    return pd.DataFrame(reached.T, columns=STAGES)


def _cases(z, rng):
    """What goes to the estimator, and what to `screen`: response and options of each."""
    words = np.where(z < 1, "low", np.where(z < 1.8, "middle", "high"))
    whole, several = np.digitize(z, [1.0, 1.8]), np.column_stack([z, -(z**3)])
    lived, stages = _lived(z, rng), _stages(z)
    ranks = np.argsort(np.argsort(np.column_stack([z, np.full(90, 1.3), 2.6 - z]), axis=1), axis=1) + 1.0
    return {
        "words": (words, {}, {"y": words}, {}),
        "truths": (z < 1, {"target_type": "classes"}, {"y": z < 1}, {"target_type": "classes"}),
        "integers": (whole, {"target_type": "classes"}, {"y": whole}, {"target_type": "classes"}),
        "a list of words": (words.tolist(), {}, {"y": words}, {}),
        "a categorical": (pd.Series(words, dtype="category"), {}, {"y": words}, {}),
        "several": (several, {"aggregate": "worst"}, {"y1": several[:, 0], "y2": several[:, 1]},
                    {"target": ["y1", "y2"], "aggregate": "worst"}),
        "a frame of several": (pd.DataFrame(several, columns=["a", "b"]), {}, {"a": z, "b": several[:, 1]},
                               {"target": ["a", "b"]}),
        "survival": (lived, {}, {"days": lived["days"], "died": lived["died"]},
                     {"target": "days", "event": "died"}),
        "a frame of survival": (pd.DataFrame({"died": lived["died"] * 1, "days": lived["days"]}),
                                {"event": "died"}, {"days": lived["days"], "died": lived["died"]},
                                {"target": "days", "event": "died"}),
        "stages": (stages, {"stages": STAGES, "stage_weight": "next"}, dict(stages),
                   {"stages": STAGES, "stage_weight": "next"}),
        "an array of stages": (stages.to_numpy(), {"stages": "viewed,liked,followed"}, dict(stages),
                               {"stages": STAGES}),
        "ranks": (ranks, {"ranking": ["p", "q", "r"]}, dict(zip("pqr", ranks.T, strict=True)),
                  {"ranking": ["p", "q", "r"]}),
        "texts of rankings": (np.where(z < 1.3, "p>q", "q>p"), {"ranking": "taste"},
                              {"taste": np.where(z < 1.3, "p>q", "q>p")}, {"ranking": "taste"}),
    }  # fmt: skip


CASES = list(_cases(np.linspace(0.5, 2.5, 90), np.random.default_rng(0)))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_it_is_what_screen_finds(inputs, z, rng, case):
    y, own, columns, options = _cases(z, rng)[case]
    screener = symscreen.SymbolicScreener(**SMALL, **own).fit(inputs, y)
    options = {"target": next(iter(columns)), **options} if "y" in columns else options
    found = symscreen.screen(inputs.assign(**columns), inputs=list(inputs), **SMALL, **options)
    pd.testing.assert_frame_equal(screener.ranking_, found.table)
    assert screener.ranking_.expression[0] == "x1*x3"
    assert np.array_equal(screener.transform(inputs)[:, 0], z)
    assert screener.get_support().tolist()[0]
    again = pickle.loads(pickle.dumps(screener))  # noqa: S301  # our own
    assert np.array_equal(again.transform(inputs), screener.transform(inputs))
    other = clone(screener)
    assert other.get_params() == screener.get_params()
    features = other.set_output(transform="pandas").fit_transform(inputs, y)
    assert features.columns.tolist() == screener.get_feature_names_out().tolist()


def test_rows_in_another_order_change_nothing(inputs, z, rng):
    order = rng.permutation(90)
    for case in ("words", "several", "survival", "stages"):
        y, own, _, _ = _cases(z, np.random.default_rng(1))[case]
        shuffled = y.iloc[order] if hasattr(y, "iloc") else y[order]
        screener = symscreen.SymbolicScreener(**SMALL, **own)
        first = screener.fit(inputs, y).ranking_
        pd.testing.assert_frame_equal(clone(screener).fit(inputs.iloc[order], shuffled).ranking_, first)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_a_grid_over_layers_finds_what_tells_classes_apart(inputs, z, rng, classes):
    bounds = [1.3] if classes == 2 else [1.0, 1.8]
    y = np.array(["low", "middle", "high"])[np.digitize(z + rng.normal(0, 0.02, 90), bounds)]
    screener = symscreen.SymbolicScreener(unary="id", binary="mul", top=1, n_jobs=1)
    pipeline = make_pipeline(screener, LogisticRegression(C=100.0))
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(pipeline, {"symbolicscreener__layers": ["u", "b"]}, cv=folds).fit(inputs, y)
    assert search.best_params_ == {"symbolicscreener__layers": "b"}
    assert search.best_score_ > 0.9
    assert search.best_estimator_[0].get_feature_names_out()[0] == "x1*x3"
    assert set(search.predict(inputs)) == set(y)


def test_several_targets_and_times_pass_through_folds(inputs, z, rng):
    several = np.column_stack([z, -z])
    pipeline = make_pipeline(symscreen.SymbolicScreener(**SMALL | {"top": 1}), Ridge(alpha=1e-9))
    assert cross_val_score(pipeline, inputs, several, cv=3).min() > 0.999
    lived = _lived(z, rng)
    screener = symscreen.SymbolicScreener(**SMALL)
    search = GridSearchCV(
        screener, {"layers": ["u", "b"]}, cv=3, scoring=lambda fitted, *_: fitted.ranking_.harrell_c[0]
    )
    search.set_params(estimator__unary="id").fit(inputs, lived)
    assert search.best_params_ == {"layers": "b"}


def test_a_column_of_one_target_is_taken_with_scikit_learns_warning(inputs, z):
    with pytest.warns(DataConversionWarning, match="column-vector y was passed"):
        screener = symscreen.SymbolicScreener(**SMALL).fit(inputs, z[:, None])
    plain = symscreen.SymbolicScreener(**SMALL).fit(inputs, z)
    pd.testing.assert_frame_equal(screener.ranking_, plain.ranking_)


def test_the_responses_own_name_is_told(inputs, z):
    fitted = symscreen.SymbolicScreener(**SMALL).fit(inputs, pd.Series(z, name="yield"))
    assert fitted.result_.record["data"]["target"] == "yield"
    taken = symscreen.SymbolicScreener(**SMALL).fit(inputs, pd.Series(z, name="x1"))
    assert taken.result_.record["data"]["target"] == "x1_"


@pytest.mark.parametrize(
    ("y", "options", "says"),
    [
        ("frame", {"event": "dead"}, "y has no column 'dead' for event; did you mean 'died'"),
        ("z", {"event": "died"}, "y has no names: give a structured array or a data frame"),
        ("three", {}, r"y has the fields 'a', 'b', 'c': a time until an event takes two"),
        ("frame", {"stages": STAGES}, "y has no column 'viewed' for stages"),
        ("stages", {"stages": STAGES[:2]}, "y has a column 'followed' that stages does not name"),
        ("array", {"stages": STAGES}, r"y has shape \(90, 2\), and stages names 3 columns of it"),
        ("stages", {"stages": STAGES, "ranking": "a"}, "both ranking and stages are given"),
        ("stages", {"stages": STAGES, "target_type": "classes"}, "both stages= and target_type='classes'"),
        ("array", {"target_type": "classes"}, r"2 targets \(y\), but target_type='classes' takes one"),
        ("z", {"target_type": "several"}, "target_type='several' needs several targets"),
        ("z", {"stage_weight": "next"}, "stage_weight= requires stages="),
        ("clash", {}, "'x1' is the name of a column of y and of X: rename one or leave it out"),
        ("twice", {}, "y has more than one column named"),
        ("one class", {}, "all 90 rows are of one class"),
        ("gap", {}, "1 row of 90 with missing values"),
        ("none", {}, "y has no value in 1 of 90 rows: leave these rows out"),
        ("words", {"target_type": "numeric"}, "the target 'y' holds text; numbers are needed"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_one_line(inputs, z, rng, y, options, says):
    lived, two = _lived(z, rng), np.column_stack([z, -z])
    words = np.where(z < 1, "low", "high").astype(object)
    given = {
        "z": z,
        "words": words,
        "frame": pd.DataFrame(lived),
        "three": np.zeros(90, dtype=[("a", "?"), ("b", "?"), ("c", "f8")]),
        "stages": _stages(z),
        "array": two,
        "clash": pd.DataFrame(two, columns=["x1", "b"]),
        "twice": pd.DataFrame(two, columns=["b", "b"]),
        "one class": np.full(90, "p"),
        "none": pd.Series(words, dtype="string").where(np.arange(90) != 3),
        "gap": np.where(np.arange(90) == 3, None, words),
    }
    with pytest.raises((OptionError, DataError), match=says) as told:
        symscreen.SymbolicScreener(**SMALL, **options).fit(inputs, given[y])
    assert "\n" not in str(told.value)


def test_a_regressor_refuses_what_is_no_column_of_numbers(inputs, z, rng):
    words = np.where(z < 1, "low", "high")
    for y, says in (
        (words, "^y holds text"),
        (_lived(z, rng), "^y has the fields '.*numbers"),
    ):
        with pytest.raises((InputError, ValueError), match=says):
            symscreen.SymbolicRegressor(layers="u", unary="id").fit(inputs, y)
