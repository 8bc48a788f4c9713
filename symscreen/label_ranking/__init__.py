"""Ranking targets: distances, consensus and learners (Fotakis et al.; Clémençon et al.).

A ranking target of n rows and k labels is an (n, k) array of ranks: 1 is the most preferred label, NaN a
missing label, and equal values are ties.

- Rankings from texts, orders, columns or arrays: `Rankings`, `parse_rankings`, `build_rankings_from_orders`,
  `build_rankings_from_columns`, `format_ranking`, `to_mid_ranks`, `to_orders`.
- Distances and coefficients of two rankings, row by row: `kendall_distance`, `kendall_tau`, `kendall_tau_b`,
  `footrule`, `d2`, `order_list_tau`.
- Pairwise probabilities and statistics based on them: `estimate_pairwise_probabilities`, `is_transitive`,
  `margin`, `dispersion`, `compute_distance_lower_bound`, `compute_expected_distance`, `compute_excess_risk`.
- Consensus: `find_median_ranking`, `find_kemeny_median`, `rank_by_copeland`, `rank_by_borda`, and
  `project_transitive`, the projection onto the transitive set T′.
- Ranking median regression: `KemenyNeighbors`, `ConsensusRankingTree` with `format_tree` and `plot_tree`,
  `ConsensusRankingForest`.
- Label ranking by regression: `RankingEnsemble`, the default, which combines the following learners and
  others; `PairwiseRanker` and `BradleyTerryRanker`, which support incomplete and partial rankings;
  `LabelwiseRegressor`, `BreimanTree`, `LevelSplitsTree` and `HonestForest` for complete rankings.

`symscreen.label_ranking.generators` draws rankings with a known truth. `symscreen.label_ranking.theory`
checks the conditions of Fotakis et al. and computes their sample sizes.
"""

from symscreen.label_ranking.consensus.distances import (
    d2,
    footrule,
    kendall_distance,
    kendall_tau,
    kendall_tau_b,
    mean_kendall_tau,
    order_list_tau,
)
from symscreen.label_ranking.consensus.median import (
    MedianRanking,
    find_kemeny_median,
    find_median_ranking,
    rank_by_borda,
    rank_by_copeland,
)
from symscreen.label_ranking.consensus.pairwise_probabilities import (
    PairwiseProbabilities,
    TransitiveProjection,
    compute_distance_lower_bound,
    compute_excess_risk,
    compute_expected_distance,
    dispersion,
    estimate_pairwise_probabilities,
    is_transitive,
    margin,
    project_transitive,
)
from symscreen.label_ranking.learners.consensus_tree import ConsensusRankingForest, ConsensusRankingTree
from symscreen.label_ranking.learners.ensemble import RankingEnsemble
from symscreen.label_ranking.learners.labelwise import (
    BreimanTree,
    HonestForest,
    LabelwiseRegressor,
    LevelSplitsTree,
)
from symscreen.label_ranking.learners.neighbors import KemenyNeighbors
from symscreen.label_ranking.learners.pairwise import BradleyTerryRanker, PairwiseRanker
from symscreen.label_ranking.learners.tree_plot import format_tree, plot_tree
from symscreen.targets.ranking_notation import (
    Rankings,
    build_rankings_from_columns,
    build_rankings_from_orders,
    format_ranking,
    parse_rankings,
)
from symscreen.targets.ranking_ranks import to_mid_ranks, to_orders

__all__ = [
    "BradleyTerryRanker",
    "BreimanTree",
    "ConsensusRankingForest",
    "ConsensusRankingTree",
    "HonestForest",
    "KemenyNeighbors",
    "LabelwiseRegressor",
    "LevelSplitsTree",
    "MedianRanking",
    "PairwiseProbabilities",
    "PairwiseRanker",
    "RankingEnsemble",
    "Rankings",
    "TransitiveProjection",
    "build_rankings_from_columns",
    "build_rankings_from_orders",
    "compute_distance_lower_bound",
    "compute_excess_risk",
    "compute_expected_distance",
    "d2",
    "dispersion",
    "estimate_pairwise_probabilities",
    "find_kemeny_median",
    "find_median_ranking",
    "footrule",
    "format_ranking",
    "format_tree",
    "is_transitive",
    "kendall_distance",
    "kendall_tau",
    "kendall_tau_b",
    "margin",
    "mean_kendall_tau",
    "order_list_tau",
    "parse_rankings",
    "plot_tree",
    "project_transitive",
    "rank_by_borda",
    "rank_by_copeland",
    "to_mid_ranks",
    "to_orders",
]
