"""Properties of every baseline: scikit-learn conventions, tables as for the recommender, inconsistency."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from symscreen.errors import DataError, OptionError
from symscreen.multistage import MonotoneChainRecommender, count_inconsistencies, simulate_chains
from symscreen.multistage.baselines import BASELINES, StagePairClassifier, make_relu_network, tune_baseline

QUICK = {"DeepNN": {"learner__max_iter": 10}}


@pytest.fixture(scope="module")
def made():
    """Small chains with one categorical feature per side; not all rows reach each stage."""
    return simulate_chains(n_users=20, n_items=20, user_levels=(4,), item_levels=(5,), random_state=3)


def rival(name, stages, **options):
    return BASELINES[name].make(stages, **options).set_params(**QUICK.get(name, {}))


@pytest.mark.slow
@pytest.mark.parametrize("name", BASELINES)
def test_it_is_cloned_pickled_and_predicts_as_the_recommender_does(made, name):
    model = rival(name, made.stages, random_state=0)
    assert clone(model).get_params().keys() == model.get_params().keys()
    given = {"user_features": made.user_features, "item_features": made.item_features}
    model.fit(made.table, **given)
    assert not hasattr(clone(model), "models_")
    f = model.decision_function(made.table, **given)
    assert f.shape == (400, 3)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301  # what was just written
    assert np.array_equal(again.decision_function(made.table, **given), f)
    one = model.decision_function(made.table, present="stage0", stage="stage2", **given)
    assert np.array_equal(one, f[:, 1])
    signs = model.predict(made.table, **given)
    never = made.outcomes[:, 1] == -1
    assert (signs[never, 2] == -1).all()  # their present stage was not reached
    free = model.predict(made.table[["user", "item"]], **given)
    assert np.array_equal(free, np.where(f > 0, 1, -1))
    assert 0.5 < model.score(made.table, **given) <= 1.0


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_is_pickled_before_it_makes_an_estimator(name):
    again = pickle.loads(pickle.dumps(BASELINES[name]))  # noqa: S301  # what was just written
    assert again == BASELINES[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", BASELINES)
def test_the_order_of_rows_changes_no_byte(made, name, rng):
    mixed = made.table.iloc[rng.permutation(len(made.table))]
    found = [
        rival(name, made.stages, random_state=0).fit(table).decision_function(made.table)
        for table in (made.table, mixed)
    ]
    assert found[0].tobytes() == found[1].tobytes()


@pytest.mark.slow
def test_rivals_contradict_themselves_and_the_recommender_does_not():
    made = simulate_chains(n_users=50, n_items=50, random_state=1)
    training, asked = made.select_part("training"), made.table[["user", "item"]]
    for name, value in {"SVM": 1.0, "OSVM": 1.0, "SVD": 0.5, "DeepNN": (32,)}.items():
        model = rival(name, made.stages, random_state=0).set_params(**{BASELINES[name].parameter: value})
        found = count_inconsistencies(model.fit(training).predict(asked))
        assert found.rows > 0, name
        assert found.backward > 0, name
        assert (found.forward == 0) == (name == "OSVM")  # OSVM is ordered for each present stage
    ours = MonotoneChainRecommender(made.stages, random_state=0).fit(training)
    assert count_inconsistencies(ours.predict(asked)) == (0.0, 0, 0, 0)


@pytest.mark.parametrize("name", BASELINES)
def test_one_class_alone_is_predicted(name):
    table = pd.DataFrame({"user": list("aabb"), "item": list("xyxy"), "s": 1, "t": 1, "u": [1, 0, 1, 0]})
    model = rival(name, ["s", "t", "u"]).fit(table)
    assert (model.predict(table, present="s", stage="t") == 1).all()


@pytest.mark.parametrize("name", ["SVM", "OSVM", "DeepNN", "GradBoost"])
def test_balanced_classes_help_the_rare_one(name, rng):
    """A rare level reaches the stage in a third of its rows, other levels almost never."""
    n = 600
    rare = rng.random(n) < 0.2
    table = pd.DataFrame({"user": range(n), "item": "x", "s": 1})
    table["t"] = (rng.random(n) < np.where(rare, 0.35, 0.03)).astype(int)
    users = pd.DataFrame({"user": range(n), "level": np.where(rare, "rare", "usual")})
    hits = []
    for weight in (None, "balanced"):
        model = rival(name, ["s", "t"], class_weight=weight, random_state=0, user_effects=False)
        if name == "DeepNN":
            model.set_params(learner__max_iter=60)
        signs = model.fit(table, user_features=users).predict(table, stage="t", present="s")
        hits.append((signs[rare] == 1).mean())
    assert hits == [0.0, 1.0]


def test_a_learner_without_weights_is_shown_balanced_classes(made):
    from sklearn.neighbors import KNeighborsClassifier

    model = StagePairClassifier(made.stages, learner=KNeighborsClassifier(1), class_weight="balanced")
    model.set_params(random_state=0).fit(made.table)
    own = made.outcomes[:, 2]  # every row is at stage 0
    assert model.models_[1].n_samples_fit_ == 2 * max((own == 1).sum(), (own == -1).sum())


def test_who_is_new_is_predicted_from_features(made):
    given = {"user_features": made.user_features, "item_features": made.item_features}
    new = pd.DataFrame({"user": ["zoe"], "item": [7]})
    zoe = pd.DataFrame({"user": ["zoe"], "user_level1": ["level0"]})
    for name in BASELINES:
        model = rival(name, made.stages, random_state=0).fit(made.table, **given)
        assert model.predict(new, user_features=zoe).shape == (1, 3)
        with pytest.raises(DataError, match="give user_features for it"):
            model.predict(new)


def test_what_nobody_reached_is_refused(made):
    table = made.table.assign(stage2=None)
    with pytest.raises(DataError, match="nothing is observed at stage 'stage2'"):
        rival("SVM", made.stages).fit(table)


def test_tuning_keeps_the_value_that_errs_least(made):
    rows = made.select_part("training"), made.select_part("validation")
    found = tune_baseline("SVM", made.stages, *rows, values=[0.001, 0.5], random_state=0)
    assert found.table["error"].idxmin() == found.table["learner__C"].tolist().index(found.model.learner.C)
    assert 1.0 - found.model.score(rows[1]) == pytest.approx(found.table["error"].min())


def test_the_grids_are_the_papers():
    sizes = {name: len(one.grid) for name, one in BASELINES.items()}
    assert sizes == {"SVD": 12, "GradBoost": 7, "SVM": 12, "DeepNN": 7, "OSVM": 12}
    assert [len(one) for one in BASELINES["DeepNN"].grid] == [1, 2, 3, 5, 7, 9, 11]
    assert make_relu_network(11).hidden_layer_sizes in BASELINES["DeepNN"].grid


def test_options_without_meaning_are_refused(made):
    rows = made.select_part("training"), made.select_part("validation")
    with pytest.raises(OptionError, match=r"unknown baseline 'SWM'.*SVM"):
        tune_baseline("SWM", made.stages, *rows)
    with pytest.raises(OptionError, match="no setting to try"):
        tune_baseline("SVM", made.stages, *rows, values=[])
    with pytest.raises(OptionError, match="cost is -1"):
        rival("OSVM", made.stages).set_params(cost=-1).fit(rows[0])
    with pytest.raises(OptionError, match="strength is 0"):
        rival("SVD", made.stages).set_params(strength=0).fit(rows[0])
