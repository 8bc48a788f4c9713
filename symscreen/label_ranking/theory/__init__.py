"""Conditions and sample sizes of the theorems of Fotakis et al. (2022), computed for given data.

- Conditions, for functions of at most 12 binary features under an exact distribution: `check_submodularity`
  (Conditions 1, 3 and 8), `check_diminishing_returns` (4 and 9), `check_strong_sparsity` (5) and
  `check_marginal_density` (6). Each finds the best constant and what decides it.
- What the conditions are made of: `compute_heterogeneity` (Ṽ, eq. 7), `find_relevant_features` (the set R)
  and `build_binary_inputs`.
- Sample sizes: `compute_tree_sample_size` (Theorems A.3 and A.4), `compute_forest_sample_size` (A.5 and A.6),
  `compute_pairwise_sample_size` (A.7 and C.2) with `compute_tsybakov_constant`. The theorems hide constants
  and logarithmic factors, so these numbers show how the size grows, not how many rows a table needs.
"""

from symscreen.label_ranking.theory.binary_functions import (
    build_binary_inputs,
    compute_heterogeneity,
    find_relevant_features,
)
from symscreen.label_ranking.theory.conditions import (
    DiminishingReturnsCheck,
    MarginalDensityCheck,
    StrongSparsityCheck,
    SubmodularityCheck,
    check_diminishing_returns,
    check_marginal_density,
    check_strong_sparsity,
    check_submodularity,
)
from symscreen.label_ranking.theory.sample_sizes import (
    ForestSampleSize,
    TreeSampleSize,
    compute_forest_sample_size,
    compute_pairwise_sample_size,
    compute_tree_sample_size,
    compute_tsybakov_constant,
)

__all__ = [
    "DiminishingReturnsCheck",
    "ForestSampleSize",
    "MarginalDensityCheck",
    "StrongSparsityCheck",
    "SubmodularityCheck",
    "TreeSampleSize",
    "build_binary_inputs",
    "check_diminishing_returns",
    "check_marginal_density",
    "check_strong_sparsity",
    "check_submodularity",
    "compute_forest_sample_size",
    "compute_heterogeneity",
    "compute_pairwise_sample_size",
    "compute_tree_sample_size",
    "compute_tsybakov_constant",
    "find_relevant_features",
]
