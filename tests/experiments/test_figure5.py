from __future__ import annotations

import numpy as np
import pytest
from helpers.requirements import require

from symscreen.experiments import additive_model
from symscreen.experiments.additive_model import FIGURE5_EXPERIMENT
from symscreen.experiments.base import ExperimentSettings

require("stochtree")


@pytest.fixture(scope="module", autouse=True)
def _short_chains():
    """Rank by fewer draws of BART and trees than the small size, whose chains `test_base` tests."""
    with pytest.MonkeyPatch.context() as patched:
        short = "bart[rule=none,trees=50,depth=10,replicates=1,burn=60,draws=60]"
        patched.setitem(additive_model._SHORT_SPECS, "bart", short)
        patched.setitem(additive_model._SHORT_SPECS, "forest", "forest[rule=none,trees=10]")
        yield


@pytest.fixture(scope="module")
def outcome():
    """Outcome of the small size for the smallest and the largest of its three noise variances."""
    assert additive_model.NOISE_VARIANCES == (0.0, 0.01, 0.1)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(additive_model, "NOISE_VARIANCES", (0.0, 0.1))
        return FIGURE5_EXPERIMENT.run(ExperimentSettings(size="small"))


@pytest.fixture
def run_two_cells(monkeypatch):
    """Return a function that runs one repeat of two cells; it gives the outcome and the progress reports."""
    monkeypatch.setattr(additive_model, "NOISE_VARIANCES", (0.01,))
    monkeypatch.setitem(additive_model._SHORT_SPECS, "bart", "bart[rule=none,replicates=2,burn=5,draws=10]")

    def run(jobs):
        reports = []
        settings = ExperimentSettings(
            size="small", repeats=1, jobs=jobs, progress=lambda done, total: reports.append((done, total))
        )
        return FIGURE5_EXPERIMENT.run(settings), reports

    return run


@pytest.mark.slow
def test_the_area_under_the_mean_curve_is_the_mean_average_precision(outcome):
    areas, curves = outcome.tables["areas"], outcome.tables["curves"]
    keys = ["order", "noise_variance", "screener"]
    for cell, own in curves.groupby(keys):
        assert own.recall.is_monotonic_increasing
        area = (np.diff(own.recall, prepend=0.0) * own.precision).sum()
        known = areas.set_index(keys).loc[cell]
        assert area == pytest.approx(known.average_precision, abs=1e-12)
        assert own.recall.iloc[-1] == 1.0


@pytest.mark.slow
def test_rank_screeners_beat_the_linear_ones(outcome):
    mean = outcome.tables["areas"].groupby("screener").average_precision.mean()
    assert mean[["t0", "kendall", "spearman"]].min() > 0.85
    assert mean[["lasso", "scad", "mcp", "stepwise"]].max() < 0.75


@pytest.mark.slow
def test_the_papers_scoring_is_the_share_of_three_on_another_scale(outcome):
    areas = outcome.tables["areas"]
    assert areas.aip.nunique() > 1
    for _, own in areas.groupby("features"):
        slope, start = np.polyfit(own.aip, own.paper_auc, 1)
        np.testing.assert_allclose(start + slope * own.aip, own.paper_auc, atol=1e-12)
        assert 0 < slope < 0.3
        assert own.paper_auc.max() < 0.6  # the best three features score little more than chance, ½


@pytest.mark.slow
def test_the_first_table_sets_the_cells_beside_each_other(outcome):
    beside = outcome.tables["average-precision"].set_index("screener")
    areas = outcome.tables["areas"].set_index(["order", "noise_variance", "screener"])
    assert beside.loc["t0", "bu 0.1"] == areas.loc[("bu", 0.1, "t0"), "average_precision"]
    assert list(beside) == ["bu 0", "bu 0.1", "ub 0", "ub 0.1"]


@pytest.mark.slow
def test_the_number_of_threads_changes_no_figure(run_two_cells):
    (one, reports), (two, _) = run_two_cells(jobs=1), run_two_cells(jobs=2)
    assert one.remarks == two.remarks
    for name, frame in one.tables.items():
        assert frame.equals(two.tables[name])
    assert reports[-1] == (2, 2)
    assert one.tables["areas"].average_precision_se.isna().all()


@pytest.mark.slow
def test_every_picture_can_be_drawn(outcome):
    cells = {f"{order}-{variance}" for order in ("bu", "ub") for variance in ("0", "0.1")}
    assert set(outcome.pictures) == cells | {"boxes-pr-auc", "boxes-paper-pr-auc-drawn"}
    figure = outcome.pictures["ub-0.1"]()
    assert figure.axes[0].get_title() == "layers ub, noise variance 0.1, n = 100"
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    labels = [text.split(":")[0] for text in texts]
    assert labels[:-1] == ["t0", "xi", "bart", "lasso", "scad", "stepwise"]
    areas = outcome.tables["areas"]
    drawn = areas[(areas["order"] == "ub") & (areas["noise_variance"] == 0.1)].iloc[0]
    assert texts[-1] == f"share of correct features: {drawn['correct'] / drawn['features']:.3g}"


@pytest.mark.slow
def test_the_small_size_has_the_one_method_of_the_figure(outcome):
    areas = outcome.tables["areas"]
    assert (areas[areas.screener == "bart"].n == 3).all()
    assert len(areas[areas.screener == "bart"]) == 4
    mean = areas.groupby("screener").average_precision.mean()
    assert mean["bart"] > mean[["lasso", "scad", "mcp", "stepwise"]].max() + 0.1


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["pr_auc", "paper_pr_auc_drawn"])
def test_box_plots_show_the_medians_over_the_tables(outcome, measure):
    panels = outcome.pictures[f"boxes-{measure.replace('_', '-')}"]().axes
    tables = outcome.tables["tables"]
    cells = list(tables.groupby(["order", "noise_variance"], sort=False))
    assert len(panels) == len(cells) == 4
    for panel, ((order, variance), cell) in zip(panels, cells, strict=True):
        assert panel.get_title() == f"layers {order}, noise variance {variance:g}"
        medians = cell.groupby("screener", sort=False)[measure].median()
        # of each box matplotlib draws seven lines; the median is the orange one
        drawn = [line.get_ydata()[0] for line in panel.lines if line.get_color() == "C1"]
        np.testing.assert_allclose(drawn, medians.to_numpy())


@pytest.mark.slow
def test_the_papers_areas_are_those_of_its_labels(outcome):
    tables, areas = outcome.tables["tables"], outcome.tables["areas"]
    keys = ["order", "noise_variance", "screener"]
    means = tables.groupby(keys)[["pr_auc", "paper_pr_auc"]].mean()
    np.testing.assert_allclose(means, areas.set_index(keys)[["pr_auc", "paper_pr_auc"]].loc[means.index])
    # three correct features at the top beat a random choice by a little, whatever the random scores are
    best = tables[tables.aip == 1.0].groupby("features")
    assert (best.paper_pr_auc.nunique() == 1).all()
    share = tables.correct / tables.features
    assert (tables.paper_pr_auc[tables.aip == 1.0] > share[tables.aip == 1.0]).all()
    assert abs((tables.paper_pr_auc_drawn - tables.paper_pr_auc).mean()) < 0.02
    assert tables.groupby(["order", "noise_variance"]).seed.unique().map(list).tolist() == [[0, 1, 2]] * 4
