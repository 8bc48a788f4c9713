"""Responses that are chains of stages: a recommender that never contradicts itself (Dai, Shen and Pan).

A user views an item, then likes it, then follows it: each event needs the one before.

- `MonotoneChainRecommender` predicts any later stage from any present one; `tune` chooses K and λ on rows
  that were set aside.
- `read_chains` reads and checks a long table; `stage_pairs`, `pair_weights`, `class_weights` and
  `observed_pairs` say which pairs of stages there are, what they weigh and which rows they have.
- `inconsistency` counts predictions that contradict each other, `misclassification` those that are wrong.
- `drifted_svm` is the solver of every block of the fit: a weighted SVM with a fixed offset and coefficients
  that are not negative; `svm_objective` is what it minimises.
- `simulate_chains` generates chains whose Bayes rule is known.
"""

from symscreen.multistage.chains import Chains, chains_of_columns, read_chains
from symscreen.multistage.consistency import Errors, Inconsistency, inconsistency, misclassification
from symscreen.multistage.fitting import Step
from symscreen.multistage.pairs import class_weights, observed_pairs, pair_weights, stage_pairs
from symscreen.multistage.recommender import MonotoneChainRecommender
from symscreen.multistage.simulation import SimulatedChains, simulate_chains
from symscreen.multistage.svm import Solution, drifted_svm, svm_objective
from symscreen.multistage.tuning import Tuned, tune

__all__ = [
    "Chains",
    "Errors",
    "Inconsistency",
    "MonotoneChainRecommender",
    "SimulatedChains",
    "Solution",
    "Step",
    "Tuned",
    "chains_of_columns",
    "class_weights",
    "drifted_svm",
    "inconsistency",
    "misclassification",
    "observed_pairs",
    "pair_weights",
    "read_chains",
    "simulate_chains",
    "stage_pairs",
    "svm_objective",
    "tune",
]
