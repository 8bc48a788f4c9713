"""What the recommender is compared with: one model for each pair of stages, or an ordinal one.

All are estimators of chains as `MonotoneChainRecommender` is: the same table, the same tables of features,
the same predictions. None is consistent by construction.

- `StagePairClassifier` fits a scikit-learn classifier for each pair: `linear_svm`, `boosted_trees`,
  `relu_network`, or any other.
- `StagePairFactors` fits latent factors of users and items (an SVD of what was observed) for each pair.
- `OrdinalStageSVM` fits, for each present stage, one weight vector with ordered thresholds.
- `RIVALS` has them by name, with the grids of the paper; `tune_rival` chooses on rows that were set aside.
"""

from symscreen.multistage.rivals.boosting import boosted_trees
from symscreen.multistage.rivals.factors import StagePairFactors
from symscreen.multistage.rivals.named import RIVALS, Rival, tune_rival
from symscreen.multistage.rivals.network import relu_network
from symscreen.multistage.rivals.ordinal import OrdinalStageSVM
from symscreen.multistage.rivals.pairwise import StagePairClassifier
from symscreen.multistage.rivals.svm import linear_svm

__all__ = [
    "RIVALS",
    "OrdinalStageSVM",
    "Rival",
    "StagePairClassifier",
    "StagePairFactors",
    "boosted_trees",
    "linear_svm",
    "relu_network",
    "tune_rival",
]
