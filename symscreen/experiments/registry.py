"""All experiments by the names that users type."""

from __future__ import annotations

from symscreen.experiments import (
    additive_model,
    figure4,
    median_regression,
    multistage_comparison,
    ranking_benchmarks,
    ranking_noise,
    social_survey,
    strogatz_benchmark,
    table1,
    table3,
)
from symscreen.experiments.srbench import benchmark as srbench_benchmark

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        figure4.EXPERIMENT,
        table1.EXPERIMENT,
        additive_model.FIGURE5_EXPERIMENT,
        additive_model.FIGURE6_EXPERIMENT,
        table3.EXPERIMENT,
        strogatz_benchmark.EXPERIMENT,
        srbench_benchmark.EXPERIMENT,
        ranking_noise.EXPERIMENT,
        ranking_benchmarks.EXPERIMENT,
        median_regression.EXPERIMENT,
        social_survey.EXPERIMENT,
        multistage_comparison.SIMULATION_EXPERIMENT,
        multistage_comparison.ARTICLES_EXPERIMENT,
    )
}
