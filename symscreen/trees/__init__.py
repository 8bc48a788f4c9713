"""The rank view of trees (Luo and Li 2024, §2–4): small functions for notebooks and teaching.

A split of a tree parts the responses in two, and the best two parts are the smaller and the larger ones: a
tree prefers the feature that has the response's order. In the order of the paper:

- one decision: `compute_split_loss`, `find_best_split`, `compute_decision_ratio` (§2.2–2.3);
- the best that a decision could do: `find_oracle_partition`, `attainable`, `compute_swap_gains`,
`interpolator` (§3.1);
- features that rise and fall: `PiecewiseMonotone`, `refine_intervals`, `preference` (§3.2);
- from splits to rankings: `compute_ranking_metric`, `compute_ranking_regret`, `measure_regret` (§4).

Arrays in, arrays and records out. Where the paper's text has a slip, the docstring of the function that meets
it says so.
"""

from symscreen.trees.consistency import compute_sine_scores, measure_regret
from symscreen.trees.decision import (
    Split,
    compute_decision_ratio,
    compute_log_decision_ratio,
    compute_ranking_metric,
    compute_ranking_regret,
    compute_regret_bound,
    compute_split_loss,
    compute_split_means,
    find_best_split,
    rank_rows,
)
from symscreen.trees.monotone_maps import (
    Interval,
    PiecewiseMonotone,
    build_interpolator,
    find_preimages,
    refine_intervals,
    shift_above,
)
from symscreen.trees.partitions import (
    OraclePartition,
    compute_partition_loss,
    compute_swap_gains,
    find_local_minima,
    find_oracle_partition,
)
from symscreen.trees.preference import (
    AttainableSplit,
    PreferenceExtremes,
    PreferenceStep,
    compute_preference,
    compute_preference_steps,
    count_preimages,
    find_attainable_splits,
    find_extreme_preferences,
)

__all__ = [
    "AttainableSplit",
    "Interval",
    "OraclePartition",
    "PiecewiseMonotone",
    "PreferenceExtremes",
    "PreferenceStep",
    "Split",
    "build_interpolator",
    "compute_decision_ratio",
    "compute_log_decision_ratio",
    "compute_partition_loss",
    "compute_preference",
    "compute_preference_steps",
    "compute_ranking_metric",
    "compute_ranking_regret",
    "compute_regret_bound",
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
