"""Inputs that every learner of rankings accepts or rejects."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

from symscreen.errors import DataError, OptionError
from symscreen.label_ranking import (
    BradleyTerryRanker,
    BreimanTree,
    ConsensusRankingForest,
    ConsensusRankingTree,
    HonestForest,
    KemenyNeighbors,
    LabelwiseRegressor,
    LevelSplitsTree,
    PairwiseRanker,
    RankingEnsemble,
)
from symscreen.label_ranking.base import prepare_training_data
from symscreen.label_ranking.learners import ensemble
from symscreen.targets.ranking_ranks import to_mid_ranks

READ_GAPS = [
    BradleyTerryRanker(),
    ConsensusRankingForest(n_estimators=3, random_state=0),
    ConsensusRankingTree(),
    KemenyNeighbors(3),
    PairwiseRanker(),
]
# it fits many forests
ENSEMBLE = pytest.param(RankingEnsemble(n_estimators=2, inner_folds=2), marks=pytest.mark.slow)
COMPLETE = [BreimanTree(), HonestForest(n_estimators=2), LabelwiseRegressor(), LevelSplitsTree()]
WEIGHTED = [learner for learner in READ_GAPS if not isinstance(learner, KemenyNeighbors)]
by_name = {"ids": lambda learner: type(learner).__name__}


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch):
    monkeypatch.setattr(ensemble, "_MAX_ITER", 20)  # none of these tests asks how exact the ensemble is
    with threadpool_limits(1):  # BLAS threads slow each other down on busy cores
        yield


@pytest.fixture
def table(rng):
    return rng.normal(size=(24, 2)), to_mid_ranks(rng.normal(size=(24, 3)))


@pytest.mark.parametrize("learner", [*READ_GAPS, ENSEMBLE], **by_name)
def test_gaps_of_pandas_are_missing_labels(learner, table):
    rows, ranks = table
    ranks[::3, 2] = np.nan
    whole = pd.DataFrame(to_mid_ranks(ranks), columns=list("abc")).astype("Int64")
    expected = learner.fit(rows, to_mid_ranks(ranks)).predict(rows)
    assert np.array_equal(learner.fit(rows, whole).predict(rows), expected)


@pytest.mark.slow
@pytest.mark.parametrize("learner", COMPLETE, **by_name)
def test_gaps_are_refused_where_rankings_must_be_complete(learner, table):
    rows, ranks = table
    frame = pd.DataFrame(ranks).astype("Int64")
    assert learner.fit(rows, frame).n_labels_ == 3
    frame.iloc[0, 0] = pd.NA
    with pytest.raises(DataError, match="row 0 of the rankings lacks 1 of 3 labels"):
        learner.fit(rows, frame)


@pytest.mark.slow
@pytest.mark.parametrize("learner", [*READ_GAPS, *COMPLETE, ENSEMBLE], **by_name)
def test_what_cannot_be_learnt_from_is_refused_in_words(learner, table):
    rows, ranks = table
    with pytest.raises(DataError, match="X has 24 rows and y 5 rankings: give one ranking for each"):
        learner.fit(rows, ranks[:5])
    with pytest.raises(DataError, match="different lengths"):
        learner.fit(rows, [[1, 2], [1]])
    with pytest.raises(DataError, match="requires y to be passed"):
        learner.fit(rows, None)
    if learner.max_abs_input < np.inf:
        with pytest.raises(DataError, match=r"X contains 1e\+200 in row 2, column 1 .*numbers above 1e\+38"):
            learner.fit(np.where(rows == rows[2, 1], 1e200, rows), ranks)
        fitted = learner.fit(rows, ranks)
        with pytest.raises(DataError, match=r"X contains -1e\+200 in row 0, column 0"):
            fitted.predict([[-1e200, 0.0]])
    else:
        assert np.array_equal(
            learner.fit(rows * 1e300, ranks).predict(rows * 1e300), learner.fit(rows, ranks).predict(rows)
        )


@pytest.mark.parametrize("learner", [*WEIGHTED, ENSEMBLE], **by_name)
def test_weights_that_overflow_are_refused(learner, table):
    rows, ranks = table
    with pytest.raises(OptionError, match=r"the largest weight is 1e\+308.*divide all by the largest"):
        learner.fit(rows, ranks, sample_weight=np.full(24, 1e308))


REGULARISED = [LabelwiseRegressor(Ridge()), LabelwiseRegressor(Ridge(), multi_output=True)]


@pytest.mark.parametrize("learner", [*WEIGHTED, *REGULARISED, ENSEMBLE], **by_name)
@pytest.mark.parametrize("factor", [1e-3, 700.0])
def test_a_common_factor_of_the_weights_changes_nothing(learner, factor, table, rng):
    rows, ranks = table
    weights = rng.uniform(0.2, 3.0, 24)
    one, other = (clone(learner).fit(rows, ranks, sample_weight=by * weights) for by in (1.0, factor))
    assert np.array_equal(one.predict(rows), other.predict(rows))
    if hasattr(one, "decision_function"):
        assert one.decision_function(rows) == pytest.approx(other.decision_function(rows), abs=1e-6)


@pytest.mark.parametrize("learner", [*WEIGHTED, *REGULARISED, ENSEMBLE], **by_name)
def test_equal_weights_are_no_weights(learner, table):
    rows, ranks = table
    plain = clone(learner).fit(rows, ranks).predict(rows)
    assert np.array_equal(
        clone(learner).fit(rows, ranks, sample_weight=np.full(24, 0.01)).predict(rows), plain
    )


def test_ridge_inside_is_that_of_weights_of_mean_one(table, rng):
    rows, ranks = table
    weights = rng.uniform(0.2, 3.0, 24) * 40.0
    share = weights / weights.mean()
    center, middle = np.average(rows, axis=0, weights=share), np.average(ranks / 3, axis=0, weights=share)
    x, y = rows - center, ranks / 3 - middle
    slope = np.linalg.solve((x.T * share) @ x + np.eye(2), (x.T * share) @ y)
    found = LabelwiseRegressor(Ridge()).fit(rows, ranks, sample_weight=weights).decision_function(rows)
    assert found == pytest.approx(middle + x @ slope, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("learner", [*READ_GAPS, *COMPLETE, ENSEMBLE], **by_name)
def test_score_finds_labels_by_their_names(learner, table):
    rows, ranks = table
    named = pd.DataFrame(ranks, columns=["tea", "milk", "cocoa"])
    fitted = clone(learner).fit(rows, named)
    assert fitted.labels_ == ("tea", "milk", "cocoa")
    expected = fitted.score(rows, ranks)
    assert fitted.score(rows, named) == expected
    assert fitted.score(rows, named[["cocoa", "tea", "milk"]]) == expected
    assert fitted.score(rows, named[["cocoa", "tea", "milk"]].to_numpy()) != expected
    with pytest.raises(DataError, match=r"unknown: 'coco'; missing: 'cocoa': use the column names of fit"):
        fitted.score(rows, named.rename(columns={"cocoa": "coco"}))
    with pytest.raises(DataError, match="two columns of the rankings have the name 'tea': rename one"):
        fitted.score(rows, named.rename(columns={"cocoa": "tea"}))


def test_a_learner_without_names_takes_any(table):
    rows, ranks = table
    fitted = KemenyNeighbors(3).fit(rows, ranks)
    assert fitted.labels_ == ("0", "1", "2")
    assert fitted.score(rows, pd.DataFrame(ranks, columns=list("xyz"))) == fitted.score(rows, ranks)
    assert fitted.score(rows, pd.DataFrame(ranks)[[2, 0, 1]]) == fitted.score(rows, ranks)
    with pytest.raises(DataError, match="two columns of the rankings have the name 'x'"):
        fitted.fit(rows, pd.DataFrame(ranks, columns=list("xxz")))


def test_rows_are_in_one_order_and_those_of_weight_zero_left_out(table):
    rows, ranks = table
    weights = np.arange(24.0)
    one = prepare_training_data(ConsensusRankingTree(), rows, ranks, weights)
    other = prepare_training_data(
        ConsensusRankingTree(), rows[::-1], ranks[::-1].tolist(), weights[::-1].tolist()
    )
    assert all(np.array_equal(*both) for both in zip(one, other, strict=True))
    assert len(one.rows) == 23
    assert one.weights.min() == 1.0


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (BradleyTerryRanker(alpha="x"), "alpha is 'x': give a number ≥ 0"),
        (BradleyTerryRanker(alpha=np.inf), "alpha is inf"),
        (BradleyTerryRanker(max_iter=0), "max_iter is 0: give an integer"),
        (RankingEnsemble(n_estimators=2.5), "n_estimators is 2.5: give an integer"),
        (RankingEnsemble(inner_folds="x"), "inner_folds is 'x': give an integer ≥ 2"),
        (HonestForest(base=["level"]), "base is"),
        (KemenyNeighbors([1]), r"n_neighbors is \[1\]"),
        (
            PairwiseRanker(estimator="tree"),
            "estimator is 'tree': give an instance of a scikit-learn classifier",
        ),
        (
            LabelwiseRegressor(estimator="tree"),
            "estimator is 'tree': give an instance of a scikit-learn regressor",
        ),
        (LabelwiseRegressor(estimator=LabelwiseRegressor), "an instance of a scikit-learn regressor"),
    ],
)
def test_options_without_meaning_are_refused_in_words(learner, words, table):
    with pytest.raises(OptionError, match=words):
        learner.fit(*table)


def test_the_ensemble_needs_two_rows(table):
    rows, ranks = table
    with pytest.raises(DataError, match="cannot learn from 1 sample: give at least two rows"):
        RankingEnsemble().fit(rows[:1], ranks[:1])
    with pytest.raises(DataError, match="cannot learn from 1 sample"):
        RankingEnsemble().fit(rows[:2], ranks[:2], sample_weight=[1.0, 0.0])
    assert RankingEnsemble(n_estimators=2).fit(rows[:2], ranks[:2]).predict(rows).shape == (24, 3)
