from __future__ import annotations

import pytest
from helpers.requirements import require

from symscreen import datasets, screen
from symscreen.experiments import additive_model
from symscreen.experiments.additive_model import FIGURE6_EXPERIMENT
from symscreen.experiments.base import ExperimentSettings

require("stochtree")


@pytest.fixture(scope="module")
def outcome():
    return FIGURE6_EXPERIMENT.run(ExperimentSettings(size="small"))


@pytest.fixture(scope="module")
def once():
    """The accuracies of one repeat, of seed 3; those of BART, which no test reads, are of few draws."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(additive_model._SHORT_SPECS, "bart", "bart[rule=none,replicates=1,burn=5,draws=10]")
        return FIGURE6_EXPERIMENT.run(ExperimentSettings(size="small", repeats=1, seed=3)).tables["aip"]


@pytest.mark.slow
def test_one_repeat_has_an_accuracy_for_every_cell(once):
    assert set(once.screener) == {"t0", "bart", "lasso", "scad", "stepwise"}
    assert once.aip.between(0.0, 1.0).all()


def test_the_accuracy_of_t0_is_the_share_of_its_three_best_features_without_x2(once):
    accuracies = once[once.screener == "t0"]
    assert len(accuracies) == 4
    for cell in accuracies.itertuples():
        data = datasets.make_additive(n=cell.rows, noise_variance=cell.noise_variance, seed=3)
        ranking = screen(
            data.frame, operators="ablation", layers=cell.order, pool="strict", sign="positive", top="all"
        ).table
        correct = ~ranking.expression.str.contains("x2")
        third = ranking.t0.nsmallest(3).max()
        better, tied = ranking.t0 < third, ranking.t0 == third  # ties at the boundary count in shares
        expected = (correct[better].sum() + (3 - better.sum()) * correct[tied].mean()) / 3
        assert cell.aip == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_t0_and_bart_choose_three_correct_features_where_the_noise_is_small(outcome):
    aip = outcome.tables["aip"].set_index("screener").aip
    assert aip.loc[["t0", "bart"]].min() >= 0.99
    assert aip.between(0.0, 1.0).all()
    assert aip.loc[["lasso", "stepwise"]].min() < 0.9  # not all features that can be selected are correct


@pytest.mark.slow
def test_every_method_is_timed_on_the_same_features(outcome):
    seconds = outcome.tables["seconds"]
    assert (seconds.seconds > 0).all()
    assert (
        seconds.groupby("features").screener.agg(list).tolist()
        == [["t0", "bart", "lasso", "scad", "stepwise"]] * 2
    )
    assert seconds.features.unique().tolist() == [24, 42]


@pytest.mark.slow
def test_cells_stand_beside_each_other(outcome):
    beside, aip = outcome.tables["beside"], outcome.tables["aip"]
    for row in beside.to_dict("records"):
        cell = aip[
            (aip.order == row["order"])
            & (aip["rows"] == row["rows"])
            & (aip.noise_variance == row["noise_variance"])
        ]
        assert {name: row[name] for name in cell.screener} == dict(zip(cell.screener, cell.aip, strict=True))


@pytest.mark.slow
def test_the_pictures_have_a_panel_for_each_number_of_rows(outcome):
    figure = outcome.pictures["bu"]()
    assert [panel.get_title() for panel in figure.axes] == ["n = 100"]
