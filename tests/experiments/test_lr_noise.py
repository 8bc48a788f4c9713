from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers.requirements import require

from symscreen.errors import DataError
from symscreen.experiments.base import ExperimentSettings
from symscreen.experiments.ranking_noise import (
    EXPERIMENT,
    LEARNER_NAMES,
    MALLOWS_THETAS,
    NOISE_DEVIATIONS,
    PUBLISHED_FILE,
    _format_published_remark,
    draw_levels,
    draw_order_list_mallows,
    find_matching_deviation,
    generate_noisy_sets,
    measure_published_sets,
)
from symscreen.label_ranking import kendall_distance
from symscreen.label_ranking.generators import (
    compute_mallows_mean_distance,
    draw_mallows,
    draw_sfn_oracle,
    rank_by_score,
)
from symscreen.targets.ranking_ranks import to_orders


@pytest.fixture(scope="module")
def outcome():
    return EXPERIMENT.run(ExperimentSettings(size="small"))


@pytest.mark.slow
def test_every_learner_is_judged_on_every_set(outcome):
    sets = outcome.tables["sets"]
    assert (
        sets.groupby(["family", "figure", "operator"], sort=False)["learner"].agg(list).tolist()
        == [list(LEARNER_NAMES)] * 8
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
    axes = outcome.pictures["figure2-sfn-published"]().axes
    assert [axis.get_title() for axis in axes] == ["mallows", "order-list mallows", "gaussian"]
    assert [axis.get_ylabel() for axis in axes] == ["mean kτ", "", ""]
    assert len(outcome.pictures["figure1-sfn"]().axes) == 2


def test_the_papers_levels():
    assert (len(NOISE_DEVIATIONS), NOISE_DEVIATIONS[0], NOISE_DEVIATIONS[-1]) == (50, 0.0005, 0.025)
    assert (len(MALLOWS_THETAS), MALLOWS_THETAS[0], MALLOWS_THETAS[1], MALLOWS_THETAS[-1]) == (
        20,
        0.6,
        0.8,
        4.4,
    )


def test_gaussian_noise_is_matched_in_alpha(rng):
    oracle = draw_sfn_oracle(rng, as_published=True)
    x = oracle.input_sampler(1500, rng)
    drawn = list(generate_noisy_sets(oracle, x, (0.01,), (1.0, 2.0), seed=3))
    assert [one.operator for one in drawn[1:4]] == ["mallows", "order-list mallows", "gaussian"]
    for at in (1, 4):
        assert drawn[at + 2].alpha == pytest.approx(drawn[at].alpha, abs=2 / 1500)
    assert find_matching_deviation(oracle, x, 1.0, [0]) == 5.0  # more than any noise within ±1/4 gives


def test_the_two_mallows_noises_of_a_theta_are_independent(rng):
    oracle = draw_sfn_oracle(rng, as_published=True)
    x = oracle.input_sampler(1000, rng)
    truth = oracle.compute_true_ranks(x)
    ranks, lists, _ = (one.ranks for one in generate_noisy_sets(oracle, x, (), (0.6,), seed=3))
    moved = kendall_distance(ranks, truth), kendall_distance(to_orders(lists) + 1.0, to_orders(truth) + 1.0)
    assert abs(np.corrcoef(*moved)[0, 1]) < 0.15


def test_a_picture_has_the_sets_of_its_figure_and_family():
    require("matplotlib")
    rows = [
        (figure, family, operator, learner, figure + 0.1 * place + step, 0.9, 0.8)
        for place, family in enumerate(("SFN", "LFN"))
        for figure, operators in ((1, ["gaussian"]), (2, ["mallows", "order-list mallows", "gaussian"]))
        for operator in operators
        for learner in LEARNER_NAMES
        for step in (0.01, 0.02)
    ]
    columns = ["figure", "family", "operator", "learner", "alpha", "beta", "tau"]
    canvas = draw_levels(pd.DataFrame(rows, columns=columns), 2, "LFN")
    for axis in canvas.axes:
        for line in axis.get_lines():
            assert line.get_xdata() == pytest.approx([2.11, 2.12])


def test_the_published_sets_are_described_by_their_farthest_distances():
    columns = {
        "rank_distance": [3.0, 2.5],
        "order_list_distance": [2.1, 1.96],
        "expected_distance": [2.0, 2.0],
    }
    text = _format_published_remark(pd.DataFrame(columns))
    assert "at most 1.00 from the model's in rank vectors, and 0.10 in order lists" in text
    assert "they were drawn in order lists" in text


def test_lists_move_by_the_models_distance(rng):
    truth = rank_by_score(rng.random((4000, 5)))
    noisy = draw_order_list_mallows(truth, 1.2, rng)
    lists = kendall_distance(to_orders(noisy) + 1.0, to_orders(truth) + 1.0).mean()
    assert lists == pytest.approx(compute_mallows_mean_distance(1.2, 5), abs=0.08)
    assert kendall_distance(noisy, truth).mean() > lists + 0.5


def written(folder, rng, ranks_of):
    """Write sets in the format of the published file, drawn by a function of (truth, θ)."""
    truth = rank_by_score(rng.random((1500, 5)))
    columns = {"original": truth} | {
        f"mallows_{at:02d}": ranks_of(truth, theta) for at, theta in enumerate(MALLOWS_THETAS)
    }
    texts = {
        name: ["".join(map(str, order)) for order in to_orders(ranks)] for name, ranks in columns.items()
    }
    pd.DataFrame(texts).to_csv(folder / PUBLISHED_FILE, index=False)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rank_distance", "order_list_distance"])
def test_what_sets_were_drawn_in_is_recognised(kind, tmp_path, rng):
    draw = {
        "rank_distance": lambda truth, theta: draw_mallows(truth, theta, len(truth), rng),
        "order_list_distance": lambda truth, theta: draw_order_list_mallows(truth, theta, rng),
    }[kind]
    written(tmp_path, rng, draw)
    table = measure_published_sets(tmp_path)
    np.testing.assert_allclose(table[kind], table["expected_distance"], atol=0.2)
    np.testing.assert_allclose(table["alpha"], table["expected_alpha"], atol=0.05)
    other = {"rank_distance", "order_list_distance"} - {kind}
    assert (table[other.pop()] > table["expected_distance"]).mean() > 0.9


def test_a_folder_without_the_sets_is_refused(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        measure_published_sets(tmp_path)
    pd.DataFrame({"original": ["01234"], "mallows_01": ["10234"]}).to_csv(
        tmp_path / PUBLISHED_FILE, index=False
    )
    with pytest.raises(DataError, match="20 noisy ones"):
        measure_published_sets(tmp_path)


@pytest.mark.slow
def test_the_published_sets_were_drawn_in_order_lists():
    table = measure_published_sets(require("label-ranking"))  # of 10,000 rows each
    np.testing.assert_allclose(table["order_list_distance"], table["expected_distance"], atol=0.05)
    assert (table["rank_distance"] > 1.3 * table["order_list_distance"]).all()
