"""What the recommender is compared with: one model for each pair of stages, or an ordinal one.

All are estimators of chains as `MonotoneChainRecommender` is: the same table, the same tables of features,
the same predictions. None is consistent by construction.

- `StagePairClassifier` fits a scikit-learn classifier for each pair: `make_linear_svm`, `make_boosted_trees`,
  `make_relu_network`, or any other.
- `StagePairFactors` fits latent factors of users and items (an SVD of what was observed) for each pair.
- `OrdinalStageSVM` fits, for each present stage, one weight vector with ordered thresholds.
- `RIVALS` has them by name, with the grids of the paper; `tune_baseline` chooses on rows that were set aside.
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
