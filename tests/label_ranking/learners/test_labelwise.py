import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from symscreen.errors import DataError, OptionError
from symscreen.label_ranking.base import draw_seeds
from symscreen.label_ranking.consensus.median import rank_by_position
from symscreen.label_ranking.learners.labelwise import LabelwiseRegressor
from symscreen.targets.ranking_ranks import to_mid_ranks


@pytest.fixture
def table(rng):
    rows = rng.normal(size=(50, 3))
    return rows, to_mid_ranks(rows @ rng.normal(size=(3, 4)))


@pytest.mark.parametrize("multi_output", [False, True])
def test_noiseless_rankings_come_back(table, multi_output):
    rows, ranks = table
    fitted = LabelwiseRegressor(DecisionTreeRegressor(random_state=0), multi_output=multi_output).fit(
        rows, ranks
    )
    assert (fitted.predict(rows) == ranks).all()
    assert fitted.score(rows, ranks) == 1.0
    assert fitted.decision_function(rows) == pytest.approx(ranks / 4)  # m_C, eq. (6)
    assert len(fitted.estimators_) == (1 if multi_output else 4)


def test_one_linear_model_for_all_labels_is_one_for_each(table):
    rows, ranks = table
    one, many = (
        LabelwiseRegressor(LinearRegression(), multi_output=how).fit(rows, ranks) for how in (True, False)
    )
    assert one.decision_function(rows) == pytest.approx(many.decision_function(rows))


def test_weights_are_passed_on(table, rng):
    rows, ranks = table
    weights = rng.integers(0, 3, 50).astype(float)
    repeated = np.repeat(np.arange(50), weights.astype(int))
    weighted = LabelwiseRegressor(LinearRegression()).fit(rows, ranks, weights)
    expected = LabelwiseRegressor(LinearRegression()).fit(rows[repeated], ranks[repeated])
    assert weighted.decision_function(rows) == pytest.approx(expected.decision_function(rows))
    with pytest.raises(OptionError, match="KNeighborsRegressor does not support weights"):
        LabelwiseRegressor(KNeighborsRegressor()).fit(rows, ranks, weights)


def test_what_has_no_positions_is_refused(table):
    rows, ranks = table
    tied, incomplete = ranks.copy(), ranks.copy()
    tied[7, :2] = 1.0
    incomplete[3, 0] = np.nan
    with pytest.raises(
        DataError, match=r"row 7 of the rankings has ties \(1 rows in total\).*PairwiseRanker"
    ):
        LabelwiseRegressor().fit(rows, tied)
    with pytest.raises(DataError, match="row 3 of the rankings lacks 1 of 4 labels"):
        LabelwiseRegressor().fit(rows, incomplete)


@pytest.mark.slow
def test_the_default_is_a_seeded_forest(table):
    rows, ranks = table
    one, two = (LabelwiseRegressor().fit(rows, ranks).decision_function(rows) for _ in range(2))
    assert (one == two).all()
    many = LabelwiseRegressor(ExtraTreesRegressor(5, random_state=0), multi_output=True).fit(rows, ranks)
    assert many.predict(rows).shape == (50, 4)


def test_positions_equal_to_rounding_are_tied_and_the_smaller_index_wins():
    assert rank_by_position(np.array([[0.3, 0.1 + 0.2, 0.1]])).tolist() == [[2.0, 3.0, 1.0]]


def test_seeds_are_the_same_whatever_follows():
    assert draw_seeds(3, 5)[:2] == draw_seeds(3, 2)
    assert draw_seeds(3, 2) != draw_seeds(4, 2)
