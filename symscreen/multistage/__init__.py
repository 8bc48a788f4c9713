"""Multistage recommender: predicts chains of stages without contradictions (Dai, Shen and Pan).

In a chain of stages each event requires the previous one: a user views an item, then likes it, then follows
it.

- `MonotoneChainRecommender` predicts any later stage from any earlier one. `tune` selects K and λ on
  validation rows.
- `read_chains` and `read_stage_columns` read and check tables.
- `list_stage_pairs` lists the pairs of stages, `mask_observed_pairs` finds the rows in which each pair is
  observed, and `parse_pair_weights` computes the weights of the pairs.
- `compute_error_rates` counts wrong predictions, `count_inconsistencies` predictions that contradict each
  other.
- `solve_offset_svm` solves the convex problem of each block of the fit: a weighted SVM with fixed offsets and
  non-negative coefficients. `compute_svm_objective` computes its objective.
- `compute_class_weights` computes the weights of balanced classes.
- `simulate_chains` generates chains with a known Bayes rule.
"""

from symscreen.multistage.base import ErrorRates, Inconsistency, compute_error_rates, count_inconsistencies
from symscreen.multistage.block_fitting import FitStep
from symscreen.multistage.chain_simulation import SimulatedChains, simulate_chains
from symscreen.multistage.chains import Chains, read_chains, read_stage_columns
from symscreen.multistage.factor_model import compute_class_weights
from symscreen.multistage.recommender import MonotoneChainRecommender
from symscreen.multistage.tuning import TuningResult, tune
from symscreen.multistage.weighted_svm import SvmSolution, compute_svm_objective, solve_offset_svm
from symscreen.targets.stages import list_stage_pairs, mask_observed_pairs, parse_pair_weights

__all__ = [
    "Chains",
    "ErrorRates",
    "FitStep",
    "Inconsistency",
    "MonotoneChainRecommender",
    "SimulatedChains",
    "SvmSolution",
    "TuningResult",
    "compute_class_weights",
    "compute_error_rates",
    "compute_svm_objective",
    "count_inconsistencies",
    "list_stage_pairs",
    "mask_observed_pairs",
    "parse_pair_weights",
    "read_chains",
    "read_stage_columns",
    "simulate_chains",
    "solve_offset_svm",
    "tune",
]
