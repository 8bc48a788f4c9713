"""Baselines for the multistage recommender: one model per pair of stages, or an ordinal model.

All are estimators of stage chains with the interface of `MonotoneChainRecommender`: the same tables, features
and predictions. None is consistent by construction.

- `StagePairClassifier` fits a scikit-learn classifier per pair: `make_linear_svm`, `make_boosted_trees`,
  `make_relu_network` or any other.
- `StagePairFactors` fits latent factors of users and items per pair (an SVD of the observed cells).
- `OrdinalStageSVM` fits one weight vector with ordered thresholds per earlier stage.
- `BASELINES` maps names to baselines with the grids of the paper. `tune_baseline` selects a value on
  validation rows.
"""

from symscreen.multistage.baselines.catalog import BASELINES, Baseline, tune_baseline
from symscreen.multistage.baselines.matrix_factorization import StagePairFactors
from symscreen.multistage.baselines.stagewise_classifiers import (
    OrdinalStageSVM,
    StagePairClassifier,
    make_boosted_trees,
    make_linear_svm,
    make_relu_network,
)

__all__ = [
    "BASELINES",
    "Baseline",
    "OrdinalStageSVM",
    "StagePairClassifier",
    "StagePairFactors",
    "make_boosted_trees",
    "make_linear_svm",
    "make_relu_network",
    "tune_baseline",
]
