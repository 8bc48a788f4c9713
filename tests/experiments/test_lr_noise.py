from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from symscreen.errors import TableError
from symscreen.experiments import Settings
from symscreen.experiments.lr_noise import EXPERIMENT, LEARNERS
from symscreen.experiments.lr_noise_published import FILE, published_sets
from symscreen.experiments.lr_noise_sets import (
    DEVIATIONS,
    SPREADS,
    matched_deviation,
    noisy_sets,
    order_list_mallows,
)
from symscreen.ranking import kendall_distance, orders_of
from symscreen.ranking.generators import mallows, mallows_mean_distance, ranks_by_score, sfn

PUBLISHED = Path(__file__).resolve().parents[3] / "shared" / "data" / "label-ranking"


@pytest.fixture(scope="module")
def outcome():
    return EXPERIMENT.run(Settings(quick=True))


def test_every_learner_is_judged_on_every_set(outcome):
    sets = outcome.tables["sets"]
    assert (
        sets.groupby(["family", "figure", "operator"], sort=False)["learner"].agg(list).tolist()
        == [list(LEARNERS)] * 8
    )
    assert sets[["tau", "order_list_tau"]].abs().max().max() <= 1.0
    assert (sets["tau_sd"] >= 0).all()


def test_full_trees_fit_the_noise_and_shallow_ones_do_not(outcome):
    sets = outcome.tables["sets"]
    own = sets[(sets["family"] == "SFN published") & (sets["operator"] == "gaussian")]
    means = own.groupby("learner")["tau"].mean()
    assert means["shallow"] > means["full"] + 0.05


def test_the_summary_is_the_mean_of_the_sets(outcome):
    sets, summary = outcome.tables["sets"], outcome.tables["summary"]
    for row in summary.to_dict("records"):
        own = sets
        for name in ("figure", "family", "operator", "learner"):
            own = own[own[name] == row[name]]
        assert row["tau"] == pytest.approx(own["tau"].mean())
        beside = outcome.tables["beside"].set_index(["figure", "family", "operator"])
        assert beside.loc[(row["figure"], row["family"], row["operator"]), row["learner"]] == row["tau"]
        assert row["tau_to_beta"] == pytest.approx((own["tau"] / own["beta"]).mean())


def test_remarks_and_pictures_cover_both_figures(outcome):
    assert sum(remark.startswith("Figure 1") for remark in outcome.remarks) == 2
    assert sum(remark.startswith("Figure 2") for remark in outcome.remarks) == 2
    panels = [axis.get_title() for axis in outcome.pictures["figure2-sfn-published"]().axes]
    assert panels == ["mallows", "order-list mallows", "gaussian"]
    assert len(outcome.pictures["figure1-sfn"]().axes) == 2


def test_the_papers_levels():
    assert (len(DEVIATIONS), DEVIATIONS[0], DEVIATIONS[-1]) == (50, 0.0005, 0.025)
    assert (len(SPREADS), SPREADS[0], SPREADS[1], SPREADS[-1]) == (20, 0.6, 0.8, 4.4)


def test_gaussian_noise_is_matched_in_alpha(rng):
    oracle = sfn(rng, as_published=True)
    x = oracle.inputs(1500, rng)
    drawn = list(noisy_sets(oracle, x, (0.01,), (1.0, 2.0), seed=3))
    assert [one.operator for one in drawn[1:4]] == ["mallows", "order-list mallows", "gaussian"]
    for at in (1, 4):
        assert drawn[at + 2].alpha == pytest.approx(drawn[at].alpha, abs=2 / 1500)
    assert matched_deviation(oracle, x, 1.0, [0]) == 5.0  # more than any noise within ±1/4 gives


def test_lists_move_by_the_models_distance(rng):
    truth = ranks_by_score(rng.random((4000, 5)))
    noisy = order_list_mallows(truth, 1.2, rng)
    lists = kendall_distance(orders_of(noisy) + 1.0, orders_of(truth) + 1.0).mean()
    assert lists == pytest.approx(mallows_mean_distance(1.2, 5), abs=0.08)
    assert kendall_distance(noisy, truth).mean() > lists + 0.5


def written(folder, rng, ranks_of):
    """Write sets as the published file has them, drawn by a function of (truth, θ)."""
    truth = ranks_by_score(rng.random((1500, 5)))
    columns = {"original": truth} | {
        f"mallows_{at:02d}": ranks_of(truth, theta) for at, theta in enumerate(SPREADS)
    }
    texts = {
        name: ["".join(map(str, order)) for order in orders_of(ranks)] for name, ranks in columns.items()
    }
    pd.DataFrame(texts).to_csv(folder / FILE, index=False)


@pytest.mark.parametrize("kind", ["rank_distance", "order_list_distance"])
def test_what_sets_were_drawn_in_is_recognised(kind, tmp_path, rng):
    draw = {
        "rank_distance": lambda truth, theta: mallows(truth, theta, len(truth), rng),
        "order_list_distance": lambda truth, theta: order_list_mallows(truth, theta, rng),
    }[kind]
    written(tmp_path, rng, draw)
    table = published_sets(tmp_path)
    np.testing.assert_allclose(table[kind], table["expected_distance"], atol=0.2)
    np.testing.assert_allclose(table["alpha"], table["expected_alpha"], atol=0.05)
    other = {"rank_distance", "order_list_distance"} - {kind}
    assert (table[other.pop()] > table["expected_distance"]).mean() > 0.9


def test_a_folder_without_the_sets_is_refused(tmp_path):
    with pytest.raises(TableError, match="no such file"):
        published_sets(tmp_path)
    pd.DataFrame({"original": ["01234"], "mallows_01": ["10234"]}).to_csv(tmp_path / FILE, index=False)
    with pytest.raises(TableError, match="20 noisy ones"):
        published_sets(tmp_path)


def test_the_published_sets_were_drawn_in_order_lists():
    if not (PUBLISHED / FILE).is_file():
        pytest.skip("the published sets are not beside the checkout (../shared/data/label-ranking)")
    table = published_sets(PUBLISHED)  # of 10,000 rows each
    np.testing.assert_allclose(table["order_list_distance"], table["expected_distance"], atol=0.05)
    assert (table["rank_distance"] > 1.3 * table["order_list_distance"]).all()
