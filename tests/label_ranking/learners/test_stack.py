import pickle

import numpy as np
import pytest

from symscreen.errors import DataError, OptionError
from symscreen.label_ranking.base import TrainingData
from symscreen.label_ranking.learners import ensemble
from symscreen.label_ranking.learners.ensemble import RankingEnsemble, build_model_families, impute_positions
from symscreen.targets.ranking_ranks import to_mid_ranks

SMALL = {"n_estimators": 10, "inner_folds": 2}


@pytest.fixture
def linear(rng):
    rows = rng.normal(size=(120, 3))
    return rows, to_mid_ranks(rows @ rng.normal(size=(3, 5)))


@pytest.fixture
def few_iterations(monkeypatch):
    """Fit linear scores less closely, where two fits are compared."""
    monkeypatch.setattr(ensemble, "_MAX_ITER", 20)


@pytest.mark.slow
def test_linear_rankings_are_left_to_linear_scores(linear):
    rows, ranks = linear
    fitted = RankingEnsemble(**SMALL).fit(rows[:80], ranks[:80])
    assert fitted.score(rows[80:], ranks[80:]) > 0.93
    assert next(iter(fitted.weights_)).startswith(("linear", "squares"))
    assert sum(fitted.weights_.values()) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.slow
def test_steps_are_left_to_trees(rng):
    rows = rng.uniform(size=(150, 4))
    kinds = np.array([rng.permutation(4) + 1.0 for _ in range(9)])
    ranks = kinds[(3 * rows[:, 0]).astype(int) * 3 + (3 * rows[:, 1]).astype(int)]
    fitted = RankingEnsemble(**SMALL).fit(rows[:110], ranks[:110])
    assert fitted.score(rows[110:], ranks[110:]) > 0.7
    assert any(name.startswith(("extra trees", "random forest")) for name in list(fitted.weights_)[:2])


@pytest.mark.slow
def test_incomplete_and_partial_rankings_are_learnt(linear, rng):
    rows, ranks = linear
    values = np.where(rng.random(ranks.shape) < 0.4, np.nan, np.ceil(ranks / 1.5))
    values[np.isnan(values).all(axis=1), 0] = 1.0
    fitted = RankingEnsemble(**SMALL).fit(rows[:80], values[:80])
    assert fitted.score(rows[80:], ranks[80:]) > 0.85


def test_labels_are_compared_through_others():
    rows = np.zeros((20, 1))
    ranks = np.array([[1, 2, np.nan], [np.nan, 1, 2]] * 10)  # no row ranks both 0 and 2
    assert RankingEnsemble(**SMALL).fit(rows, ranks).predict([[0.0]]).tolist() == [[1.0, 2.0, 3.0]]


def test_completed_rankings_keep_what_is_shown(linear, rng):
    rows, ranks = linear
    values = ranks.copy()
    values[rng.random(ranks.shape) < 0.3] = np.nan
    values[np.isnan(values).all(axis=1), 0] = 1.0
    known = to_mid_ranks(values)
    positions = impute_positions(TrainingData(rows, known, np.ones(120)))
    assert impute_positions(TrainingData(rows, ranks, np.ones(120))) is ranks
    assert positions.sum(axis=1) == pytest.approx(np.full(120, 15.0))
    whole = ~np.isnan(known).any(axis=1)
    assert positions[whole] == pytest.approx(known[whole])
    assert np.abs(positions - ranks).mean() < 0.5


@pytest.mark.slow
@pytest.mark.usefixtures("few_iterations")
def test_the_seed_decides_and_a_fitted_blend_can_be_kept(linear, rng):
    rows, ranks = (each[:40] for each in linear)
    noisy = to_mid_ranks(ranks + rng.normal(0, 2, ranks.shape))
    one = RankingEnsemble(**SMALL).fit(rows, noisy)
    found = one.decision_function(rows)
    assert (RankingEnsemble(**SMALL).fit(rows, noisy).decision_function(rows) == found).all()
    assert (pickle.loads(pickle.dumps(one)).decision_function(rows) == found).all()  # noqa: S301
    assert (RankingEnsemble(**SMALL, random_state=1).fit(rows, noisy).decision_function(rows) != found).any()


def test_few_rows_are_blended_evenly(linear):
    rows, ranks = linear
    fitted = RankingEnsemble(n_estimators=5).fit(rows[:6], ranks[:6])
    assert len(set(np.round(list(fitted.weights_.values()), 12))) == 1
    assert len(fitted.weights_) == sum(len(family.names) for family in build_model_families(6, 3, 5))


@pytest.mark.slow
@pytest.mark.usefixtures("few_iterations")
def test_rows_of_weight_zero_are_not_there(linear):
    rows, ranks = (each[:48] for each in linear)
    weights = (np.arange(48) < 24).astype(float)
    one = RankingEnsemble(**SMALL).fit(rows, ranks, weights).decision_function(rows)
    assert (one == RankingEnsemble(**SMALL).fit(rows[:24], ranks[:24]).decision_function(rows)).all()


def test_families_fit_the_table():
    def names(n, d):
        return {family.names[0].split(",")[0] for family in build_model_families(n, d, 10)}

    assert "boosting" in names(1000, 3) - names(999, 3)
    assert "products" in names(50, 24) - names(50, 25)


def test_what_cannot_be_learnt_is_refused():
    rows = np.zeros((4, 1))
    with pytest.raises(DataError, match="no row orders label 2 against any other"):
        RankingEnsemble().fit(rows, [[1, 2, np.nan], [2, 1, np.nan], [2, 1, np.nan], [np.nan, np.nan, 1]])
    with pytest.raises(OptionError, match="inner_folds is 1"):
        RankingEnsemble(inner_folds=1).fit(rows, [[1, 2]] * 4)
    with pytest.raises(OptionError, match="n_estimators is 0"):
        RankingEnsemble(n_estimators=0).fit(rows, [[1, 2]] * 4)


@pytest.mark.slow
@pytest.mark.usefixtures("few_iterations")
def test_row_order_does_not_matter(linear, rng):
    rows, ranks = (each[:40] for each in linear)
    mixed = rng.permutation(40)
    one = RankingEnsemble(**SMALL).fit(rows, ranks).decision_function(rows)
    assert (one == RankingEnsemble(**SMALL).fit(rows[mixed], ranks[mixed]).decision_function(rows)).all()
