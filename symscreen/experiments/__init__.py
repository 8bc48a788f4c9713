"""Reproductions of tables and figures of the papers."""

from symscreen.experiments.base import Experiment, ExperimentOutcome, ExperimentSettings, check_settings

__all__ = ["Experiment", "ExperimentOutcome", "ExperimentSettings", "check_settings"]
