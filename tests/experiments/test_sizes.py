from __future__ import annotations

from dataclasses import fields

import pytest

from symscreen.experiments import EXPERIMENTS, ExperimentSettings, describe_size
from symscreen.experiments.base import EXPERIMENT_SIZES
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
