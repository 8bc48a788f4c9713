from __future__ import annotations

import numpy as np
import pytest

from symscreen.screeners import SCREENERS, JointScreener, Screener
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.targets import NumericTarget

COLUMN_NAMES = ["t0", "xi", "kendall", "spearman", "pearson"]
JOINT_NAMES = ["lasso", "scad", "mcp", "stepwise", "bart", "crit", "forest"]

COLUMN = {name: one for name, one in SCREENERS.items() if isinstance(one, Screener)}
JOINT = {name: one for name, one in SCREENERS.items() if isinstance(one, JointScreener)}
every_screener = pytest.mark.parametrize("screener", SCREENERS.values(), ids=SCREENERS)
column_screener = pytest.mark.parametrize("screener", COLUMN.values(), ids=COLUMN)
joint_screener = pytest.mark.parametrize("screener", JOINT.values(), ids=JOINT)


def _block(rng, rows=40, features=30):
    values = rng.normal(size=(features, rows))
    values[::3] = np.round(values[::3])
    return values, NumericTarget(np.sort(rng.normal(size=rows)))


def test_names_are_those_that_stay():
    assert list(COLUMN) == COLUMN_NAMES
    assert list(JOINT) == [name for name in JOINT_NAMES if name in JOINT]
    assert {"lasso", "scad", "mcp", "stepwise"} <= set(JOINT)
    assert list(SCREENERS) == [*COLUMN, *JOINT]


@every_screener
def test_a_record_says_everything(screener):
    assert SCREENERS[screener.name] is screener
    assert screener.scope == ("column" if isinstance(screener, Screener) else "joint")
    assert screener.equivalence in {"ranks", "affine"}
    for text in (screener.summary, screener.assumes, screener.fails, screener.cost, screener.source):
        assert text
        assert "\n" not in text


@joint_screener
def test_options_are_named_once_and_take_their_own_defaults(screener):
    names = [option.name for option in screener.options]
    assert len(names) == len(set(names))
    assert screener.settings == {}
    for option in screener.options:
        assert option.parse(option.default) == option.default
        assert option.parse(str(option.default)) == option.default
        assert option.help
        assert "\n" not in option.help


@joint_screener
def test_capacity_is_a_number_of_features(screener):
    for rows in (2, 5, 100, 10_000, 1_000_000):
        most = screener.compute_max_features(rows)
        assert isinstance(most, int)
        assert most >= 1


@column_screener
def test_a_score_depends_on_its_own_feature_alone(screener, rng):
    values, target = _block(rng)
    together = screener.statistic(sort_block(values), target)
    alone = [screener.statistic(sort_block(row[None]), target)[0] for row in values]
    assert together.tolist() == alone


@column_screener
@pytest.mark.parametrize("sign", ["free", "positive"])
def test_the_response_itself_is_ordered_before_noise(screener, sign, rng):
    values, target = _block(rng)
    values[7] = target.values
    scores = screener.statistic(sort_block(values), target)
    loss = screener.loss(scores, target, sign)
    assert np.argmin(loss) == 7
    assert loss.min() < 0.1


@column_screener
def test_a_falling_feature_counts_where_the_sign_is_free(screener, rng):
    values, target = _block(rng)
    values[7] = -target.values
    scores = screener.statistic(sort_block(values), target)
    assert np.argmin(screener.loss(scores, target, "free")) == 7
    if screener.name != "xi":  # ξ has no sign
        assert np.argmax(screener.loss(scores, target, "positive")) == 7
        assert screener.direction(scores)[7] == -1


@column_screener
def test_what_a_screener_is_blind_to_leaves_its_loss_as_it_is(screener, rng):
    values, target = _block(rng)
    copy = np.exp(values) if screener.equivalence == "ranks" else 3.0 * values - 2.0
    losses = [
        screener.loss(screener.statistic(sort_block(block), target), target, "free")
        for block in (values, copy, -copy)
    ]
    if screener.equivalence == "ranks":
        assert np.array_equal(losses[0], losses[1])
        assert np.array_equal(losses[0], losses[2])
    else:
        assert np.allclose(losses[0], losses[1], atol=1e-13)
        assert np.allclose(losses[0], losses[2], atol=1e-13)


NUMBERS = {  # of each option: default, minimum, maximum
    "lasso": {"folds": (10, 2, np.inf)},
    "scad": {"gamma": (3.7, 2.001, 1e6), "folds": (10, 2, np.inf)},
    "mcp": {"gamma": (3.0, 1.001, 1e6), "folds": (10, 2, np.inf)},
    "stepwise": {"max_size": (20, 1, np.inf), "folds": (10, 2, np.inf)},
    "bart": {
        "alpha": (0.05, 0.001, 0.5),
        "permutations": (50, 10, np.inf),
        "replicates": (20, 1, np.inf),
        "trees": (20, 1, 1000),
        "depth": (1, 1, 20),
        "burn": (2000, 0, np.inf),
        "draws": (500, 10, np.inf),
    },
    "crit": {"depth": (5, 1, 30), "leaf": (5, 1, np.inf), "gain": (0.01, 0.0, 1.0)},
    "forest": {"rounds": (20, 5, np.inf), "alpha": (0.05, 1e-6, 0.5), "trees": (200, 10, np.inf)},
}


@joint_screener
def test_options_that_are_numbers_have_their_defaults_and_limits(screener):
    assert NUMBERS[screener.name] == {
        option.name: (option.default, option.min_value, option.max_value)
        for option in screener.options
        if not option.choices
    }
