"""The preset ibart: its settings are those of iBART 1.0.3, and its steps keep what iBART keeps."""

from __future__ import annotations

import re

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


@pytest.mark.slow
def test_a_notice_counts_what_each_step_keeps():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(1, 2, (60, 4)), columns=["a", "b", "c", "d"])
    frame["y"] = 4 * frame["a"] * frame["b"] + 0.05 * rng.normal(size=60)
    result = symscreen.fit(
        frame, target="y", preset="ibart", prune_by=QUICK, layers="bu", operators="ablation"
    )
    counts = re.fullmatch(
        r"bart selected (\d+) of 4 inputs, (\d+) of 8 features were kept after layer b; "
        r"the LASSO selected (\d+) of (\d+) features",
        result.notices[0],
    )
    n_inputs, n_kept, n_selected, n_shown = map(int, counts.groups())
    assert n_inputs == 2  # a and b, which layer b makes eight features of
    assert n_inputs <= n_kept <= 8
    assert len(result.formula.terms) <= n_selected <= n_shown


def _simulate_crossed_table(seed):
    """Draw twelve properties of 13 metals and eight of 7 supports, crossed; y has two composite terms."""
    rng = np.random.default_rng(seed)

    def draw_properties(levels, count):
        factors = rng.normal(size=(levels, 3))
        values = factors @ rng.normal(size=(3, count)) + 0.5 * rng.normal(size=(levels, count))
        return np.exp(0.3 * (values - values.mean(0)) / values.std(0))

    metals, supports = draw_properties(13, 12), draw_properties(7, 8)
    metal, support = np.divmod(np.arange(91), 7)
    names = [f"m{i}" for i in range(12)] + [f"o{i}" for i in range(8)]
    frame = pd.DataFrame(np.hstack([metals[metal], supports[support]]), columns=names)
    terms = np.array([frame["m0"] / frame["o0"], frame["m1"] * frame["o1"]])
    first, second = (terms - terms.mean(axis=1, keepdims=True)) / terms.std(axis=1, keepdims=True)
    return frame.assign(y=2 * first - 1.2 * second + 0.2 * rng.normal(size=91))


@pytest.mark.slow
def test_long_chains_keep_inputs_of_a_crossed_table_that_short_ones_lose():
    frame = _simulate_crossed_table(seed=7)
    # iBART's own chains are longer still, and take minutes
    short, long = (
        symscreen.fit(
            frame,
            target="y",
            preset="ibart",
            layers="b",
            prune_by=f"bart[rule=gse,burn={burn},draws={draws},replicates=2,permutations=10]",
            jobs=1,
        )
        for burn, draws in ((200, 100), (500, 250))
    )
    assert short.r2 < 0.5
    assert long.r2 > 0.8
    counts = [int(re.search(r"selected (\d+) of 20", result.notices[0])[1]) for result in (short, long)]
    assert counts[1] > counts[0]
