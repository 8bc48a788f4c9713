"""All experiments, by the names that users type."""

from __future__ import annotations

from symscreen.experiments import (
    figure4,
    figure5,
    figure6,
    gss,
    lr_benchmarks,
    lr_noise,
    multistage,
    multistage_articles,
    rmr_simulated,
    strogatz,
    table1,
    table3,
)

__all__ = ["EXPERIMENTS"]

EXPERIMENTS = {
    one.EXPERIMENT.name: one.EXPERIMENT
    for one in (
        figure4,
        table1,
        figure5,
        figure6,
        table3,
        strogatz,
        lr_noise,
        lr_benchmarks,
        rmr_simulated,
        gss,
        multistage,
        multistage_articles,
    )
}
