"""What every learner of rankings refuses, and what it reads."""

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

from symscreen.errors import OptionError, TableError
from symscreen.label_ranking import as_rankings
from symscreen.ranking import (
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
from symscreen.ranking.learned import learned_from

READ_GAPS = [
    BradleyTerryRanker(),
    ConsensusRankingForest(n_estimators=3, random_state=0),
    ConsensusRankingTree(),
    KemenyNeighbors(3),
    PairwiseRanker(),
    RankingEnsemble(n_estimators=2, inner_folds=2),
]
COMPLETE = [BreimanTree(), HonestForest(n_estimators=2), LabelwiseRegressor(), LevelSplitsTree()]
WEIGHTED = [learner for learner in READ_GAPS if not isinstance(learner, KemenyNeighbors)]
by_name = {"ids": lambda learner: type(learner).__name__}


@pytest.fixture(autouse=True)
def _one_thread():
    with threadpool_limits(1):  # BLAS's threads wait for each other where the cores are busy
        yield


@pytest.fixture
def table(rng):
    return rng.normal(size=(24, 2)), as_rankings(rng.normal(size=(24, 3)))


@pytest.mark.parametrize("learner", READ_GAPS, **by_name)
def test_gaps_of_pandas_are_missing_labels(learner, table):
    rows, ranks = table
    ranks[::3, 2] = np.nan
    whole = pd.DataFrame(as_rankings(ranks), columns=list("abc")).astype("Int64")
    expected = learner.fit(rows, as_rankings(ranks)).predict(rows)
    assert np.array_equal(learner.fit(rows, whole).predict(rows), expected)


@pytest.mark.parametrize("learner", COMPLETE, **by_name)
def test_gaps_are_refused_where_rankings_must_be_complete(learner, table):
    rows, ranks = table
    frame = pd.DataFrame(ranks).astype("Int64")
    assert learner.fit(rows, frame).n_labels_ == 3
    frame.iloc[0, 0] = pd.NA
    with pytest.raises(TableError, match="row 0 of the rankings lacks 1 of 3 labels"):
        learner.fit(rows, frame)


@pytest.mark.parametrize("learner", [*READ_GAPS, *COMPLETE], **by_name)
def test_what_cannot_be_learnt_from_is_refused_in_words(learner, table):
    rows, ranks = table
    with pytest.raises(TableError, match="X has 24 rows and y 5 rankings: give one ranking for each"):
        learner.fit(rows, ranks[:5])
    with pytest.raises(TableError, match="different lengths"):
        learner.fit(rows, [[1, 2], [1]])
    with pytest.raises(TableError, match="requires y to be passed"):
        learner.fit(rows, None)
    if learner.largest < np.inf:
        with pytest.raises(TableError, match=r"X holds 1e\+200 in row 2, column 1 .*numbers beyond 1e\+38"):
            learner.fit(np.where(rows == rows[2, 1], 1e200, rows), ranks)
        fitted = learner.fit(rows, ranks)
        with pytest.raises(TableError, match=r"X holds -1e\+200 in row 0, column 0"):
            fitted.predict([[-1e200, 0.0]])
    else:
        assert np.array_equal(
            learner.fit(rows * 1e300, ranks).predict(rows * 1e300), learner.fit(rows, ranks).predict(rows)
        )


@pytest.mark.parametrize("learner", WEIGHTED, **by_name)
def test_weights_that_overflow_are_refused(learner, table):
    rows, ranks = table
    with pytest.raises(OptionError, match=r"the largest weight is 1e\+308.*divide all by the largest"):
        learner.fit(rows, ranks, sample_weight=np.full(24, 1e308))


def test_rows_are_in_one_order_and_those_of_weight_zero_left_out(table):
    rows, ranks = table
    weights = np.arange(24.0)
    one = learned_from(ConsensusRankingTree(), rows, ranks, weights)
    other = learned_from(ConsensusRankingTree(), rows[::-1], ranks[::-1].tolist(), weights[::-1].tolist())
    assert all(np.array_equal(*both) for both in zip(one, other, strict=True))
    assert len(one.rows) == 23
    assert one.weights.min() == 1.0


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (BradleyTerryRanker(alpha="x"), "alpha is 'x': give a finite number of at least 0"),
        (BradleyTerryRanker(alpha=np.inf), "alpha is inf"),
        (BradleyTerryRanker(max_iter=0), "max_iter is 0: give a whole number"),
        (RankingEnsemble(n_estimators=2.5), "n_estimators is 2.5: give a whole number"),
        (RankingEnsemble(inner_folds="x"), "inner_folds is 'x': give a whole number of at least 2"),
        (HonestForest(base=["level"]), "base is"),
        (KemenyNeighbors([1]), r"n_neighbors is \[1\]"),
        (PairwiseRanker(estimator="tree"), "estimator is 'tree': give a classifier"),
        (LabelwiseRegressor(estimator="tree"), "estimator is 'tree': give a regressor"),
        (LabelwiseRegressor(estimator=LabelwiseRegressor), "made but not fitted"),
    ],
)
def test_options_without_meaning_are_refused_in_words(learner, words, table):
    with pytest.raises(OptionError, match=words):
        learner.fit(*table)


def test_the_ensemble_needs_two_rows(table):
    rows, ranks = table
    with pytest.raises(TableError, match="cannot learn from 1 sample: give at least two rows"):
        RankingEnsemble().fit(rows[:1], ranks[:1])
    with pytest.raises(TableError, match="cannot learn from 1 sample"):
        RankingEnsemble().fit(rows[:2], ranks[:2], sample_weight=[1.0, 0.0])
    assert RankingEnsemble(n_estimators=2).fit(rows[:2], ranks[:2]).predict(rows).shape == (24, 3)
