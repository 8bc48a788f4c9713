from __future__ import annotations

import inspect
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from helpers.estimator_checks import parametrize_checks, run_check
from helpers.forked import run_forked
from helpers.forked_runs import predict_from_pickles
from helpers.requirements import require
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import symscreen
from symscreen.config.screen_options import ScreenOptions
from symscreen.errors import DataError, InputError, OptionError
from symscreen.expressions.tree import parse_expression

SMALL = {"layers": "ub", "unary": "id,square", "binary": "mul", "top": 3, "n_jobs": 1}
# What names columns of a file, or rows that are missing, is scikit-learn's business.
NOT_FOR_ESTIMATORS = {
    *("target", "inputs", "exclude", "groups", "weights", "time", "trajectory"),
    *(
        "backend",
        "scheduler",
        "checkpoint",
        "quiet",
        "time_limit",
        "on_progress",
    ),  # of a run at a terminal, or a cluster
}


@pytest.fixture
def data(frame):
    return frame.drop(columns="target"), frame["target"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the checks try what warns
@parametrize_checks(symscreen.SymbolicScreener(layers="u", unary="id,square", top=3, n_jobs=1))
def test_it_keeps_scikit_learns_promises(estimator, check):
    run_check(check, estimator)


def test_it_has_the_options_of_a_screen_and_their_defaults():
    own = {
        name: one.default for name, one in inspect.signature(symscreen.SymbolicScreener).parameters.items()
    }
    own = {{"n_jobs": "jobs", "random_state": "seed"}.get(name, name): own[name] for name in own}
    those = {name: one.default for name, one in inspect.signature(symscreen.screen).parameters.items()}
    assert {name for name in own if own[name] != those.get(name, own)} == {"unsafe", "clip"}
    assert (own["unsafe"], own["clip"], those["unsafe"]) == ("drop", False, "mark")
    assert set(vars(ScreenOptions())) - set(own) == NOT_FOR_ESTIMATORS


def test_it_is_what_screen_finds(data):
    inputs, y = data
    screener = symscreen.SymbolicScreener(**SMALL, screener="t0,xi").fit(inputs, y)
    found = symscreen.screen(inputs, y, **SMALL, screener="t0,xi")
    pd.testing.assert_frame_equal(screener.ranking_, found.table)
    assert screener.expressions_ == found.expressions
    assert screener.get_feature_names_out().tolist() == found.table.expression.tolist()
    assert np.array_equal(screener.transform(inputs), found.transform(inputs).to_numpy())
    assert np.array_equal(
        symscreen.SymbolicScreener(**SMALL).fit_transform(inputs, y), screener.transform(inputs)
    )


def test_the_transform_is_the_formulas_values(data):
    inputs, y = data
    screener = symscreen.SymbolicScreener(**SMALL).set_output(transform="pandas").fit(inputs, y)
    features = screener.transform(inputs.set_axis(range(100, 160)))
    assert features.index.tolist() == list(range(100, 160))
    for name in features:
        expected = eval(name, {}, {one: inputs[one].to_numpy() for one in inputs})  # noqa: S307  # our own formulas
        np.testing.assert_allclose(features[name], expected, rtol=1e-14)


def test_it_makes_frames_of_polars(data):
    polars = require("polars")
    screener = symscreen.SymbolicScreener(**SMALL).set_output(transform="polars").fit(*data)
    features = screener.transform(polars.from_dict({name: data[0][name].to_list() for name in data[0]}))
    assert isinstance(features, polars.DataFrame)
    assert features.columns == screener.get_feature_names_out().tolist()


def test_support_tells_which_columns_are_used(rng):
    inputs = rng.uniform(1, 2, size=(80, 4))
    screener = symscreen.SymbolicScreener(layers="b", binary="div", top=1, n_jobs=1).fit(
        inputs, inputs[:, 3] / inputs[:, 1]
    )
    assert screener.get_support().tolist() == [False, True, False, True]
    assert screener.get_support(indices=True).tolist() == [1, 3]
    assert screener.get_feature_names_out().tolist() == ["x4/x2"]
    assert screener.get_feature_names_out(["a", "b b", "c", "d"]).tolist() == ["d/`b b`"]


def test_names_for_an_array_are_as_many_as_its_columns_and_those_of_a_frame_the_same(data):
    inputs, y = data
    screener = symscreen.SymbolicScreener(**SMALL).fit(inputs, y)
    with pytest.raises(DataError, match="not equal to feature_names_in_"):
        screener.get_feature_names_out(["a", "b", "c"])
    with pytest.raises(DataError, match=r"features \(3\), got 2"):
        symscreen.SymbolicScreener(**SMALL).fit(inputs.to_numpy(), y).get_feature_names_out(["a", "b"])


@pytest.mark.slow
@settings(max_examples=15)
@given(names=st.lists(st.text(max_size=6), min_size=3, max_size=3, unique=True))
def test_columns_may_have_any_names(names):
    rng = np.random.default_rng(0)
    x = np.arange(20.0)
    inputs = pd.DataFrame(np.column_stack([x, rng.normal(size=(20, 2))]), columns=names)
    screener = symscreen.SymbolicScreener(layers="u", unary="id,exp", top=2, n_jobs=1).fit(inputs, x**3)
    first, second = screener.get_feature_names_out()
    assert parse_expression(first) == screener.expressions_[0]
    assert first != second
    assert screener.get_support(indices=True)[0] == 0
    assert np.array_equal(screener.transform(inputs)[:, 0], x)


@pytest.mark.parametrize("names", [["id", "y", "target"], [0, 1, 2], ["sin", "pi", "`"]])
def test_no_column_is_left_out_for_its_name(names):
    x = np.arange(20.0)
    inputs = pd.DataFrame(np.column_stack([x, np.cos(x), np.sin(9 * x)]), columns=names)
    screener = symscreen.SymbolicScreener(layers="b", binary="add", top="all", n_jobs=1).fit(inputs, x)
    assert screener.get_support().all()
    assert len(set(screener.get_feature_names_out())) == 9


def test_columns_of_one_name_are_refused_in_one_line():
    inputs = pd.DataFrame(np.eye(6), columns=list("abcabd"))
    for estimator in (symscreen.SymbolicScreener(), symscreen.SymbolicRegressor()):
        with pytest.raises(DataError, match=r"^X has more than one column named 'a': rename or remove"):
            estimator.fit(inputs, np.arange(6.0))


def test_rows_outside_a_domain_are_counted_and_nan(rng):
    inputs = pd.DataFrame({"a": rng.uniform(1, 2, 50), "b": rng.uniform(1, 2, 50)})
    screener = symscreen.SymbolicScreener(layers="u", unary="log", top="all", n_jobs=1).fit(
        inputs, np.log(inputs.a)
    )
    new = inputs.head(5).assign(a=[1.0, 0.0, -1.0, 1.0, 1.0], b=[1.0, 1.0, -1.0, 1.0, 1.0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        features = screener.set_output(transform="pandas").transform(new)
    outside, undefined = (str(each.message) for each in caught)
    assert outside.startswith("2 of 5 rows are outside the box of the inputs (a: 0.90")
    assert undefined.startswith("2 of 4 features are undefined in some of the 5 rows")
    assert undefined.endswith("'log(a)' in 2")
    assert features["log(a)"].isna().tolist() == [False, True, True, False, False]
    assert features["log(b)"].isna().tolist() == [False, False, True, False, False]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        screener.transform(inputs)


def test_nothing_that_would_not_be_heeded_is_taken(data):
    inputs, y = data
    for estimator in (
        symscreen.SymbolicScreener(**SMALL),
        symscreen.SymbolicRegressor(layers="u", unary="id"),
    ):
        with pytest.raises(OptionError, match="takes no 'group'"):
            estimator.fit(inputs, y, group=np.ones(60))
        estimator.fit(inputs, y, sample_weight=None)
    with pytest.raises(OptionError, match="did you mean 'groups'"):
        symscreen.SymbolicScreener().fit(inputs, y, group=np.ones(60))
    with pytest.raises(OptionError, match="takes no 'weights'; did you mean 'sample_weight'"):
        make_pipeline(symscreen.SymbolicRegressor(layers="u", unary="id")).fit(
            inputs, y, symbolicregressor__weights=np.ones(60)
        )


def test_mistakes_are_told_in_one_line(data):
    inputs, y = data
    with pytest.raises(InputError, match="did you mean 'square'"):
        symscreen.SymbolicScreener(layers="u", unary="squar").fit(inputs, y)
    with pytest.raises(InputError, match="top is 0"):
        symscreen.SymbolicScreener(layers="u", top=0).fit(inputs, y)
    with pytest.raises(NotFittedError):
        symscreen.SymbolicScreener().transform(inputs)


@pytest.mark.slow
def test_groups_stay_together_where_rows_are_halved(data, rng):
    inputs, y = data
    groups = rng.integers(0, 12, 60)
    screener = symscreen.SymbolicScreener(**SMALL, stability=3)
    found = screener.fit(inputs, y, groups=groups).ranking_
    frame = inputs.assign(site=groups)
    direct = symscreen.screen(frame, y, groups="site", **SMALL, stability=3).table
    pd.testing.assert_series_equal(found.stability, direct.stability)
    with pytest.raises(OptionError, match=r"^groups is not used: give stability="):
        symscreen.SymbolicScreener(**SMALL).fit(inputs, y, groups=groups)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = make_pipeline(clone(screener).set_fit_request(groups=True), LinearRegression())
        routed.fit(inputs, y, groups=groups)
        pd.testing.assert_frame_equal(routed[0].ranking_, found)
        weighed = Ridge().set_fit_request(sample_weight=True)  # the model's own business
        unweighed = symscreen.SymbolicScreener(**SMALL).set_fit_request(sample_weight=False)
        make_pipeline(unweighed, weighed).fit(inputs, y, sample_weight=np.arange(60))
        assert "weighted" not in unweighed.fit(inputs, y).result_.record["data"]


@pytest.mark.slow
def test_grids_pipelines_and_column_transformers(rng):
    inputs = pd.DataFrame({"a": rng.uniform(1, 2, 90), "b": rng.uniform(1, 2, 90), "site": list("pqr") * 30})
    y = inputs.a * inputs.b + 0.01 * rng.normal(size=90)
    columns = ColumnTransformer([("formulas", symscreen.SymbolicScreener(**SMALL), ["a", "b"])])
    pipeline = make_pipeline(columns, LinearRegression())
    grid = {
        "columntransformer__formulas__layers": ["u", "ub"],
        "columntransformer__formulas__top": [1, 2],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(inputs, y)
    assert search.best_params_["columntransformer__formulas__layers"] == "ub"
    assert search.best_score_ > 0.98
    made = search.best_estimator_[0].get_feature_names_out()
    assert made[0] == "formulas__a*b"


def test_a_copy_is_unfitted_and_has_the_same_options(data):
    screener = symscreen.SymbolicScreener(screener=["t0", symscreen.screeners.XI], also=["x1*x2"], n_jobs=1)
    other = clone(screener.fit(*data))
    assert not hasattr(other, "result_")
    assert other.get_params()["also"] == ["x1*x2"]
    assert other.fit(*data).expressions_ == screener.expressions_


@pytest.mark.slow
def test_another_process_reads_a_pickle_and_computes_the_same(data, tmp_path):
    inputs, y = data
    grammar = tmp_path / "own.toml"
    grammar.write_text('unary = ["wave", "decay"]\n[define.wave]\nformula = "sin(x)**2"\n'
                       '[define.decay]\nformula = "exp(-a*x)"\nparameters = {a = [0.5, 2]}\n')  # fmt: skip
    screener = symscreen.SymbolicScreener(operators=str(grammar), layers="u", top="all", n_jobs=1).fit(
        inputs, y
    )
    model = symscreen.SymbolicRegressor(operators=str(grammar), layers="u", max_terms=2, n_jobs=1).fit(
        inputs, y
    )
    grammar.unlink()  # what was fitted needs it no more
    for name, one in (("screener", screener), ("model", model)):
        (tmp_path / f"{name}.pickle").write_bytes(pickle.dumps(one))
    inputs.to_pickle(tmp_path / "inputs.pickle")
    assert run_forked(predict_from_pickles, tmp_path) == 0
    assert np.array_equal(np.load(tmp_path / "features.npy"), screener.transform(inputs))
    assert np.array_equal(np.load(tmp_path / "predicted.npy"), model.predict(inputs))
    again = pickle.loads(pickle.dumps(screener))  # noqa: S301  # our own
    assert again.expressions_ == screener.expressions_
