"""All experiments by the names that users type."""

from __future__ import annotations

from symscreen.experiments import multistage_studies
from symscreen.experiments.feature_ranking import additive_model, figure4, table1, table3
from symscreen.experiments.rankings import benchmarks, median_regression, noise, social_survey
from symscreen.experiments.strogatz import benchmark

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        figure4.EXPERIMENT,
        table1.EXPERIMENT,
        additive_model.FIGURE5_EXPERIMENT,
        additive_model.FIGURE6_EXPERIMENT,
        table3.EXPERIMENT,
        benchmark.EXPERIMENT,
        noise.EXPERIMENT,
        benchmarks.EXPERIMENT,
        median_regression.EXPERIMENT,
        social_survey.EXPERIMENT,
        multistage_studies.SIMULATION_EXPERIMENT,
        multistage_studies.ARTICLES_EXPERIMENT,
    )
}
