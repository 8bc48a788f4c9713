"""The preset ibart: its settings are those of iBART 1.0.3, and its steps keep what iBART keeps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers.requirements import require

import symscreen

require("stochtree")

QUICK = "bart[rule=gse,burn=100,draws=100,replicates=2,permutations=10]"
# R/BART_iter.R of iBART 1.0.3: the arguments' defaults and num_trees_for_permute; α of bartMachine
PUBLISHED = {
    "rule": "gse",
    "alpha": 0.05,
    "permutations": 50,
    "replicates": 10,
    "trees": 20,
    "burn": 10_000,
    "draws": 5_000,
}


@pytest.fixture
def prepared(monkeypatch):
    """Function from options of a fit to its task, without the search."""
    monkeypatch.setattr("symscreen.fitting.fit.run_fit", lambda task: task)
    frame = pd.DataFrame({"x1": np.arange(9.0), "x2": np.arange(9.0) ** 2 % 5, "y": np.arange(9.0)})
    return lambda **options: symscreen.fit(frame, target="y", preset="ibart", **options)


def test_bart_has_the_settings_of_ibart(prepared):
    (screener,) = prepared().pool_screeners
    settings = screener.all_settings
    assert {name: settings[name] for name in PUBLISHED} == PUBLISHED
    assert settings["depth"] == 10  # which the prior never reaches
    assert [layer.kind for layer in prepared().layer_schedule[-1]] == ["b", "u", "b"]


def test_the_options_of_the_user_take_precedence(prepared):
    task = prepared(layers="u", prune_by="bart[rule=local,burn=7]")
    (screener,) = task.pool_screeners
    assert (screener.all_settings["rule"], screener.all_settings["burn"]) == ("local", 7)
    assert [layer.kind for layer in task.layer_schedule[-1]] == ["u"]


def test_all_inputs_are_kept_if_none_is_selected():
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, (40, 3))
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(y=x[:, 0] * x[:, 1])
    result = symscreen.fit(
        frame, target="y", preset="ibart", prune_by=QUICK, layers="b", operators="ablation"
    )
    assert result.notices[0].startswith("bart selected none of the 3 inputs, so all were kept; the LASSO")
    assert 1 - result.r2 < 1e-20
    assert [str(term) for term in result.formula.terms] == ["a*b"]


def test_a_notice_counts_what_each_step_keeps():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(1, 2, (60, 4)), columns=["a", "b", "c", "d"])
    frame["y"] = 4 * frame["a"] * frame["b"] + 0.05 * rng.normal(size=60)
    result = symscreen.fit(
        frame, target="y", preset="ibart", prune_by=QUICK, layers="bu", operators="ablation"
    )
    inputs, layer, lasso = result.notices[0].replace(";", ",").split(", ")
    assert inputs == "bart selected 2 of 4 inputs"
    assert layer.endswith("of 8 features were kept after layer b")
    assert lasso.startswith("the LASSO selected ")
    assert "a*b" in [str(term) for term in result.formula.terms]
