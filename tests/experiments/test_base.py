from __future__ import annotations

import numpy as np
import pytest
from helpers.requirements import require

from symscreen import datasets
from symscreen.experiments import additive_model, table1, table3
from symscreen.experiments.base import BART_TREES, write_bart_spec
from symscreen.screeners import parse_screeners
from symscreen.screeners.joint.bart import BART

SPECS = {
    "figures 5 and 6": additive_model.SCREENER_SPECS["bart"],
    "figures 5 and 6, short": additive_model._SHORT_SPECS["bart"],
    "table 3": table3._SCREENER_SPECS["bart"],
    "table 3, short": table3._SHORT_SPECS["bart"],
}


@pytest.mark.parametrize("experiment", SPECS)
def test_rankings_by_bart_have_fifty_trees_limited_by_their_prior_and_no_rule(experiment):
    settings = parse_screeners([SPECS[experiment]])[0].all_settings
    assert (settings["trees"], settings["depth"], settings["rule"]) == (50, 10, "none")
    assert SPECS[experiment] == write_bart_spec(is_short=experiment.endswith("short"))


def test_table_1_has_the_same_trees_and_the_chains_of_its_documentation():
    settings = BART.replace_settings(table1._BART_OPTIONS).all_settings
    assert {name: settings[name] for name in BART_TREES} == {"trees": 50, "depth": 10}
    chains = {"replicates": 5, "burn": 150, "draws": 150, "permutations": 19}
    assert {name: settings[name] for name in chains} == chains


@pytest.mark.slow
def test_the_limit_of_ten_splits_is_never_reached():
    require("stochtree")
    data = datasets.make_additive(n=100, noise_variance=0.0, seed=1)
    losses = [
        additive_model.screen(data.frame, operators="ablation", layers="bu", screener=spec, top="all")
        .table["bart"]
        .to_numpy()
        for spec in (
            write_bart_spec(is_short=True),
            write_bart_spec(is_short=True).replace("depth=10", "depth=20"),
            write_bart_spec(is_short=True).replace("depth=10", "depth=1"),
        )
    ]
    np.testing.assert_array_equal(losses[0], losses[1])
    assert not np.array_equal(losses[0], losses[2])


def test_bart_has_the_chains_of_bartmachine_and_shorter_ones_at_the_small_size():
    trees = "bart[rule=none,trees=50,depth=10,replicates="
    assert write_bart_spec(is_short=False) == f"{trees}5,burn=250,draws=1000]"
    assert write_bart_spec(is_short=True) == f"{trees}2,burn=100,draws=200]"
