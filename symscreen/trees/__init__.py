"""The ranking view of trees (Luo and Li 2024, sections 2 to 4): small functions for notebooks and teaching.

A split of a tree divides the target values into two groups. The best two groups are the smaller and the
larger values, so a tree prefers the feature that orders the rows as the target does. In the order of the
paper:

- one decision: `compute_split_loss`, `find_best_split`, `compute_decision_ratio` (sections 2.2 and 2.3);
- the best possible decision: `find_oracle_partition`, `find_attainable_splits`, `compute_swap_gains`,
  `build_interpolator` (section 3.1);
- piecewise monotone features: `PiecewiseMonotone`, `refine_intervals`, `compute_preference`, and
  `compare_interval_losses`, all three cases of Proposition 8 (section 3.2);
- from splits to rankings: `compute_ranking_metric`, `compute_ranking_regret`, `measure_regret`, and
  `compute_cart_regret_tail`, `compute_regret_tail` and `compute_bart_rate`, the bounds of Theorems 10 and 13
  (section 4);
- correlations of transformed inputs: `compare_transformed_correlations` (Remark 16).

The functions take arrays and return arrays or records. Where the text of the paper has an error, the
docstring of the function concerned describes it.
"""

from symscreen.trees.consistency import compute_sine_scores, measure_regret
from symscreen.trees.decisions import (
    OraclePartition,
    Split,
    compute_decision_ratio,
    compute_log_decision_ratio,
    compute_partition_loss,
    compute_ranking_metric,
    compute_ranking_regret,
    compute_regret_bound,
    compute_split_loss,
    compute_split_means,
    compute_swap_gains,
    find_best_split,
    find_local_minima,
    find_oracle_partition,
    rank_rows,
)
from symscreen.trees.interval_losses import IntervalComparison, compare_interval_losses
from symscreen.trees.preference import (
    AttainableSplit,
    Interval,
    PiecewiseMonotone,
    PreferenceExtremes,
    PreferenceStep,
    build_interpolator,
    compute_preference,
    compute_preference_steps,
    count_preimages,
    find_attainable_splits,
    find_extreme_preferences,
    find_preimages,
    refine_intervals,
    shift_above,
)
from symscreen.trees.regret_bounds import (
    ContractionRate,
    RegretTail,
    compute_bart_rate,
    compute_cart_regret_tail,
    compute_regret_tail,
)
from symscreen.trees.transformed_correlation import (
    TransformedCorrelation,
    compare_transformed_correlations,
)

__all__ = [
    "AttainableSplit",
    "ContractionRate",
    "Interval",
    "IntervalComparison",
    "OraclePartition",
    "PiecewiseMonotone",
    "PreferenceExtremes",
    "PreferenceStep",
    "RegretTail",
    "Split",
    "TransformedCorrelation",
    "build_interpolator",
    "compare_interval_losses",
    "compare_transformed_correlations",
    "compute_bart_rate",
    "compute_cart_regret_tail",
    "compute_decision_ratio",
    "compute_log_decision_ratio",
    "compute_partition_loss",
    "compute_preference",
    "compute_preference_steps",
    "compute_ranking_metric",
    "compute_ranking_regret",
    "compute_regret_bound",
    "compute_regret_tail",
    "compute_sine_scores",
    "compute_split_loss",
    "compute_split_means",
    "compute_swap_gains",
    "count_preimages",
    "find_attainable_splits",
    "find_best_split",
    "find_extreme_preferences",
    "find_local_minima",
    "find_oracle_partition",
    "find_preimages",
    "measure_regret",
    "rank_rows",
    "refine_intervals",
    "shift_above",
]
