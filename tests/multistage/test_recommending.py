"""Recommended items, and invariance to the order of tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from symscreen.errors import DataError, OptionError
from symscreen.multistage import MonotoneChainRecommender, tune
from symscreen.multistage.baselines import BASELINES

STAGES = ["v", "l", "f"]


@pytest.fixture
def table():
    rows = [("a", "x", 1, 0, None), ("a", "y", 1, 1, 1), ("a", "z", 1, 1, None), ("b", "x", 1, 1, 1),
            ("b", "y", 1, 1, 1), ("b", "z", 1, 1, None), ("c", "x", 1, 1, 1), ("c", "y", 1, 1, 1),
            ("c", "z", 1, 0, 0)]  # fmt: skip
    return pd.DataFrame(rows, columns=["user", "item", *STAGES])


def fitted(table, **features):
    effects = {} if not features else {"item_effects": False}
    model = MonotoneChainRecommender(STAGES, n_factors=3, random_state=0, **effects)
    return model.fit(table, **features)


@pytest.mark.parametrize("present", ["v", "l"])
def test_what_the_chain_has_ruled_out_is_not_recommended(table, present):
    model = fitted(table)
    assert model.recommend("a", "f", present=present).item.tolist() == ["z"]
    every = model.recommend("a", "f", present=present, seen=True).set_index("item").predicted
    assert every["x"] == -1
    assert every["y"] == 1
    f = model.decision_function(pd.DataFrame({"user": ["a"], "item": ["z"]}), present=present, stage="f")
    assert every["z"] == (1 if f[0] > 0 else -1)
    assert model.recommend("new", "f", seen=True).item.nunique() == 3


def test_new_items_of_equal_score_stand_in_the_order_of_their_names(table):
    old = pd.DataFrame({"item": ["x", "y", "z"], "group": ["p", "q", "p"]})
    model = fitted(table, item_features=old)
    new = pd.DataFrame({"item": ["w2", "w1", "zz"], "group": ["p", "p", "p"]})
    for given in (new, new.iloc[::-1], new.set_index("item")):
        found = model.recommend("new", "f", item_features=given, seen=True)
        assert found.item[found.score == found.score[found.item == "x"].iloc[0]].tolist() == [
            "w1", "w2", "x", "z", "zz",
        ]  # fmt: skip


def features():
    users = pd.DataFrame({"user": list("abc"), "age": [20, 50, 35], "income": [3.0, 1.0, 9.0]})
    users = users.assign(region=["N", "S", "N"], flag=[True, True, False])
    return users, users[["flag", "income", "user", "region", "age"]]


@pytest.mark.parametrize("name", ["ours", *BASELINES])
def test_the_order_of_columns_changes_no_byte(table, name):
    given, found = features(), []
    for users, columns in zip(given, (table.columns, table.columns[::-1]), strict=True):
        if name == "ours":
            model = MonotoneChainRecommender(STAGES, n_factors=3, random_state=0, max_iter=5)
        else:
            model = BASELINES[name].make(STAGES, random_state=0)
        if name == "DeepNN":
            model.set_params(learner__max_iter=5)
        if name == "GradBoost":
            model.set_params(learner__max_features=0.4)
        found.append(model.fit(table[columns], user_features=users).decision_function(table).tobytes())
    assert found[0] == found[1]


def test_the_first_row_of_features_at_fault_is_named(table):
    users = pd.DataFrame({"user": list("cba"), "age": [1.0, np.nan, np.nan], "b": [1.0, 1.0, np.inf]})
    with pytest.raises(DataError, match="row 2 of user_features: 'age' of user 'b' is nan"):
        fitted(table, user_features=users)


def test_predict_copies_no_outcome_but_a_present_stage_that_was_not_reached(table):
    model = fitted(table)
    free = model.predict(table[["user", "item"]])
    known = model.predict(table)
    assert np.array_equal(known[:, :2], free[:, :2])  # stage v was always reached
    assert (known[table.l == 0, 2] == -1).all()
    assert np.array_equal(known[table.l == 1, 2], free[table.l == 1, 2])


def test_names_of_another_type_are_told_and_not_taken_for_new(table):
    numbered = table.assign(user=table.user.map({"a": 1, "b": 2, "c": 3}))
    model = fitted(numbered)
    with pytest.raises(DataError, match="user '2' is of type str, and fit had 2 of type int"):
        model.predict(pd.DataFrame({"user": ["2"], "item": ["x"]}))
    assert model.predict(pd.DataFrame({"user": [2.0, 9], "item": ["x", "x"]})).shape == (2, 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"user_effects": "no"}, "user_effects is 'no': give True or False"),
        ({"warm_start": "no"}, "warm_start is 'no': give True or False"),
        ({"loss": ["hinge"]}, r"loss is \['hinge'\]"),
        ({"class_weight": ["balanced"]}, r"class_weight is \['balanced'\]"),
        ({"user": "item"}, "item is 'item', and so is user: give two columns"),
        ({"item": "v"}, "item is 'v', and so is a stage"),
    ],
)
def test_options_without_meaning_are_refused(table, options, words):
    with pytest.raises(OptionError, match=words):
        MonotoneChainRecommender(STAGES, n_factors=2).set_params(**options).fit(table)


def test_what_tells_nothing_or_names_nobody_is_refused(table):
    model = fitted(table)
    with pytest.raises(DataError, match="no row has an observed stage after a reached one"):
        model.score(table.assign(**dict.fromkeys(STAGES)))
    with pytest.raises(DataError, match="'user' holds complex numbers"):
        model.fit(table.assign(user=1j))
    with pytest.raises(OptionError, match=r"lambdas is 0\.1: give a sequence"):
        tune(model, table, table, lambdas=0.1)
    with pytest.raises(OptionError, match="n_factors is 3: give a sequence"):
        tune(model, table, table, n_factors=3)
    with pytest.raises(OptionError, match="seen is 'no': give True or False"):
        model.recommend("a", "f", seen="no")
