"""Estimator checks of scikit-learn for every learner by regression."""

import pytest
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator

from symscreen.label_ranking.learners import ensemble
from symscreen.label_ranking.learners.ensemble import RankingEnsemble
from symscreen.label_ranking.learners.labelwise import (
    BreimanTree,
    HonestForest,
    LabelwiseRegressor,
    LevelSplitsTree,
)
from symscreen.label_ranking.learners.pairwise import BradleyTerryRanker, PairwiseRanker

TREE = DecisionTreeRegressor(random_state=0)
LEARNERS = [
    BradleyTerryRanker(),
    BreimanTree(),
    BreimanTree(honest=True),
    HonestForest(n_estimators=3),
    HonestForest("level", n_estimators=3),
    LabelwiseRegressor(TREE),
    LabelwiseRegressor(TREE, multi_output=True),
    LevelSplitsTree(),
    LevelSplitsTree(honest=True),
    PairwiseRanker(),
    PairwiseRanker(voting="soft"),
    RankingEnsemble(n_estimators=2, inner_folds=2),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # the checks use data that cause warnings
@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_scikit_learn_finds_no_fault(learner, monkeypatch):
    # how exactly it fits, and how many models it blends, is no matter of the checks
    monkeypatch.setattr(ensemble, "_MAX_ITER", 5)
    build_model_families = ensemble.build_model_families
    monkeypatch.setattr(ensemble, "build_model_families", lambda *sizes: build_model_families(*sizes)[2:5])
    answers = check_estimator(learner, on_skip=None)
    assert [answer["check_name"] for answer in answers if answer["status"] == "failed"] == []
    assert sum(answer["status"] == "passed" for answer in answers) > 30
