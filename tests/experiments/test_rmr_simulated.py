from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from symscreen.experiments.base import ExperimentSettings
from symscreen.experiments.median_regression import EXPERIMENT, SIZES


@pytest.fixture(scope="module")
def outcome():
    return EXPERIMENT.run(ExperimentSettings(size="small"))


@pytest.mark.slow
def test_every_cell_is_there(outcome):
    risk = outcome.tables["risk"]
    assert (
        risk.groupby(["setting", "labels"])["set"].agg(list).tolist()
        == [["constant", "mallows 2", "mallows 1"]] * 6
    )
    assert outcome.tables["recovered"][["set", "setting", "labels"]].equals(
        risk[["set", "setting", "labels"]]
    )


def test_no_rule_is_much_better_than_the_true_medians(outcome):
    risk = outcome.tables["risk"]
    for method in ("crit", "knn", "baseline"):
        # a mean over 300 test rows, whose distances have a standard deviation of one or two pairs
        assert (risk[method] >= risk["true_medians"] - 0.25).all()


def test_crit_recovers_the_partition_and_has_the_lowest_risk_where_neighbours_are_not_equal(outcome):
    risk, recovered = outcome.tables["risk"], outcome.tables["recovered"]
    assert (recovered["crit"] > 0.9).all()
    noisy = risk[risk["set"] != "constant"]
    assert (noisy["crit"] < noisy["baseline"]).all()
    points = noisy["setting"] == 3  # both features are categorical, so equal rows are the neighbours
    assert (noisy["crit"] < noisy["knn"])[~points].all()
    assert np.allclose(noisy["crit"][points], noisy["knn"][points], rtol=0.05)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_figures_on_any_number_of_threads(outcome, monkeypatch):
    monkeypatch.setitem(SIZES, "small", replace(SIZES["small"], label_counts=(3,)))
    risk = outcome.tables["risk"]
    own = risk[risk["labels"] == 3].reset_index(drop=True)
    again = EXPERIMENT.run(ExperimentSettings(size="small", jobs=1)).tables["risk"]
    assert again.equals(own)
    other = EXPERIMENT.run(ExperimentSettings(size="small", seed=1)).tables["risk"]
    assert not np.allclose(other["knn"], own["knn"])


def test_remarks_tell_that_the_partition_is_ours(outcome):
    assert "partition is ours" in outcome.remarks[0]
    assert "Of 6 cells" in outcome.remarks[2]


def test_the_remark_on_the_first_setting_has_the_risks_of_its_rows(outcome):
    risk = outcome.tables["risk"]
    rows = risk[(risk["setting"] == 1) & (risk["set"] == "mallows 2")].itertuples()
    texts = [f"{row.labels} labels {row.crit:.3f}, {row.knn:.3f}, {row.baseline:.3f}" for row in rows]
    assert len(texts) == 2
    assert outcome.remarks[1].endswith(f": {', '.join(texts)}.")
