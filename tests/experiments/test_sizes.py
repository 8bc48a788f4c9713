from __future__ import annotations

from dataclasses import fields

import pytest

from symscreen.experiments.base import EXPERIMENT_SIZES, ExperimentSettings, describe_size
from symscreen.experiments.registry import EXPERIMENTS
from symscreen.messages import COMMAND_LINE, render_message

# full sizes that take less than a minute
NO_LARGER = {"gss"}


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda one: one.name)
def test_every_experiment_declares_three_sizes_of_the_same_kind(experiment):
    assert tuple(experiment.sizes) == EXPERIMENT_SIZES
    small, medium, full = experiment.sizes.values()
    assert type(small) is type(medium) is type(full)
    assert small != medium
    assert (medium != full) == (experiment.name not in NO_LARGER)


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda one: one.name)
def test_a_larger_size_never_has_fewer_repeats(experiment):
    names = [each.name for each in fields(experiment.sizes["small"]) if each.name.endswith("repeats")]
    for name in names:
        counts = [getattr(plan, name) for plan in experiment.sizes.values()]
        assert counts == sorted(counts)


def test_the_default_size_is_the_medium_one():
    assert ExperimentSettings().size == "medium"


def test_the_users_repeats_replace_those_of_every_size():
    experiment = EXPERIMENTS["table1"]
    for size in EXPERIMENT_SIZES:
        plan = ExperimentSettings(size=size, repeats=7).choose_plan(experiment.sizes)
        assert (plan.repeats, plan.bart_repeats) == (7, 7)
        assert plan.bart_options == experiment.sizes[size].bart_options


def test_the_line_of_a_run_names_its_size_and_the_others():
    settings = ExperimentSettings(repeats=3)
    text = render_message(describe_size(EXPERIMENTS["figure4"], settings), COMMAND_LINE)
    assert text == (
        "size medium: repeats 3, null_draws 1000, noise_variances (12 of them). "
        "For another size: --size small or --size full."
    )
    noisy = ExperimentSettings(size="small", noise_ratios=(0.5,))
    assert "noise_ratios 0.5, systems glider2; vdp2" in describe_size(EXPERIMENTS["strogatz"], noisy)


PLANS = {
    "figure4": (
        "repeats 10, null_draws 100, noise_variances 0; 0.01; 10",
        "repeats 50, null_draws 1000, noise_variances (12 of them)",
        "repeats 200, null_draws 1000, noise_variances (12 of them)",
    ),
    "table1": (
        "repeats 3, bart_repeats 1, bart_options permutations; 10; replicates; 1; burn; 10; draws; 10",
        "repeats 100, bart_repeats 5",
        "repeats 100, bart_repeats 20",
    ),
    "figure5": ("repeats 3, is_short True", "repeats 10", "repeats 50"),
    "figure6": (
        "repeats 1, n_timings 1, noise_variances 0; 0.1, row_counts 100, is_short True",
        "repeats 3, n_timings 5, noise_variances 0; 0.01; 0.1; 1, row_counts 50; 100; 200",
        "repeats 50, n_timings 5, noise_variances 0; 0.01; 0.1; 1, row_counts 50; 100; 200",
    ),
    "table3": (
        "repeats 1, tree_step 1, screeners (7 of them), is_short True",
        "repeats 20, tree_step 5, screeners (11 of them)",
        "repeats 50, tree_step 5, screeners (11 of them)",
    ),
    "strogatz": (
        "repeats 1, noise_ratios 0; 0.01, systems glider2; vdp2, fit_layers bub",
        "repeats 1, noise_ratios 0; 0.001; 0.01; 0.1, systems (14 of them)",
        "repeats 10, large_space_draws 3, noise_ratios 0; 0.001; 0.01; 0.1, systems (14 of them)",
    ),
    "srbench": (
        "repeats 1, strogatz_repeats 1, noise_ratios 0; 0.01, problems (44 of them)",
        "repeats 1, strogatz_repeats 3, noise_ratios 0; 0.001; 0.01; 0.1, problems (130 of them)",
        "repeats 10, strogatz_repeats 10, noise_ratios 0; 0.001; 0.01; 0.1, problems (130 of them)",
    ),
    "lr-noise": (
        "repeats 1, n_folds 2, n_rows 400, n_trees 5, families SFN; SFN published, deviations 0.02, thetas 1",
        (
            "repeats 1, n_folds 2, n_rows 5000, n_trees 20, families SFN; SFN published, "
            "deviations 0.001; 0.005; 0.01; 0.015; 0.025, thetas 0.6; 1.4; 2.6; 4.4"
        ),
        (
            "repeats 5, n_folds 10, n_rows 10000, n_trees 50, "
            "families SFN; LFN; SFN published; LFN published, deviations (50 of them), thetas (20 of them)"
        ),
    ),
    "lr-benchmarks": (
        (
            "repeats 1, n_folds 2, n_trees 5, inner_folds 5, learners RF; DT; DTS; DTT; ensemble, "
            "set_names iris; wine, is_short True"
        ),
        (
            "repeats 1, n_folds 10, min_test_rows 200, n_trees 20, inner_folds 3, n_tuning_trees 5, "
            "max_tuning_rows 1000, learners RF; DT; DTS; RFT; DTT, set_names (21 of them)"
        ),
        (
            "repeats 5, n_folds 10, n_trees 50, inner_folds 5, learners RF; DT; DTS; RFT; DTT; ensemble, "
            "set_names (21 of them)"
        ),
    ),
    "rmr-simulated": (
        "repeats 1, label_counts 3; 5",
        "repeats 5, label_counts 3; 5; 8",
        "repeats 50, label_counts 3; 5; 8",
    ),
    "gss": ("repeats 1, max_rows 2000", "repeats 10", "repeats 10"),
    "multistage": (
        (
            "repeats 2, main_readings chained, deviation, max_other_seeds 1, share_seeds 2, "
            "table_options n_users; 40; n_items; 40, is_short True, articles small"
        ),
        (
            "repeats 3, main_readings chained, deviation; chained, features of 50 and 40 levels, "
            "max_other_seeds 1, share_seeds 10"
        ),
        (
            "repeats 50, main_readings chained, deviation; chained, features of 50 and 40 levels, "
            "other_readings (12 of them), max_other_seeds 10, share_seeds 10, articles medium"
        ),
    ),
    "multistage-articles": (
        (
            "share 0.006, outer_folds 2, inner_folds 2, grids (factors 7, balanced True, features tied, "
            "depths few, epochs 10, grid_step 6, rounds 20, lambdas 0.001; 0.005)"
        ),
        (
            "share 0.03, outer_folds 5, inner_folds 3, grids (factors 7, balanced True, features tied, "
            "depths few, epochs 30, grid_step 2, rounds 300, lambdas 0.001; 0.005; 0.01)"
        ),
        (
            "share 1, outer_folds 5, inner_folds 3, grids (factors 7, balanced True, features free, "
            "depths all, epochs 20, grid_step 1, rounds 300, lambdas 0.001; 0.005; 0.01)"
        ),
    ),
}


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda one: one.name)
def test_every_size_has_the_numbers_that_its_line_states(experiment):
    for size, plan in zip(EXPERIMENT_SIZES, PLANS[experiment.name], strict=True):
        line = describe_size(experiment, ExperimentSettings(size=size))
        assert line.startswith(f"size {size}: {plan}. For another size: ")
