"""The papers' tables and figures, made again: one file each, and a registry."""

from symscreen.experiments.base import Experiment, ExperimentOutcome, ExperimentSettings, check_settings

__all__ = ["Experiment", "ExperimentOutcome", "ExperimentSettings", "check_settings"]
