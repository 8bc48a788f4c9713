"""Responses that are chains of stages: a recommender that never contradicts itself (Dai, Shen and Pan).

A user views an item, then likes it, then follows it: each event needs the one before.

- `MonotoneChainRecommender` predicts any later stage from any present one; `tune` chooses K and λ on rows
  that were set aside.
- `read_chains` reads and checks a long table; `list_stage_pairs`, `parse_pair_weights`,
`compute_class_weights` and
  `mask_observed_pairs` say which pairs of stages there are, what they weigh and which rows they have.
- `inconsistency` counts predictions that contradict each other, `misclassification` those that are wrong.
- `solve_offset_svm` is the solver of every block of the fit: a weighted SVM with a fixed offset and
coefficients
  that are not negative; `compute_svm_objective` is what it minimises.
- `simulate_chains` generates chains whose Bayes rule is known.
"""

from symscreen.multistage.base import ErrorRates, Inconsistency, compute_error_rates, count_inconsistencies
from symscreen.multistage.block_fitting import FitStep
from symscreen.multistage.chain_simulation import SimulatedChains, simulate_chains
from symscreen.multistage.chains import Chains, read_chains, read_stage_columns
from symscreen.multistage.factor_model import compute_class_weights
from symscreen.multistage.recommender import MonotoneChainRecommender
from symscreen.multistage.tuning import TuningResult, tune
from symscreen.multistage.weighted_svm import SvmSolution, compute_svm_objective, solve_offset_svm

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
    "read_chains",
    "read_stage_columns",
    "simulate_chains",
    "solve_offset_svm",
    "tune",
]
