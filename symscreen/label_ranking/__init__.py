"""Responses that are rankings: distances, consensus, learners (Fotakis et al.; Clémençon et al.).

A response of n rows that rank k labels is an (n, k) array of ranks: 1 is the most preferred, NaN a label that
is missing, equal values are ties. `symscreen.label_ranking` reads and checks them; here is what is done with
them:

- distances and coefficients of two rankings, row by row: `kendall_distance`, `kendall_tau`, `kendall_tau_b`,
  `footrule`, `d2`, `order_list_tau`;
- pairwise probabilities and what they tell: `estimate_pairwise_probabilities`, `transitive`, `margin`,
`dispersion`,
  `compute_distance_lower_bound`, `compute_expected_distance`, `compute_excess_risk`;
- consensus: `find_median_ranking`, `find_kemeny_median`, `copeland`, `borda`, and the `projection` onto
  the transitive set T′;
- ranking median regression: `KemenyNeighbors`, `ConsensusRankingTree` with `format_tree` and `plot_tree`,
  `ConsensusRankingForest`;
- label ranking by regression: `RankingEnsemble`, the default, which blends what follows and more;
  `PairwiseRanker` and `BradleyTerryRanker`, which read incomplete and partial rankings; `LabelwiseRegressor`,
  `BreimanTree`, `LevelSplitsTree` and `HonestForest` for complete ones.

Rankings whose truth is known are drawn by `symscreen.label_ranking.generators`.
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
from symscreen.label_ranking.consensus.kemeny import find_kemeny_median
from symscreen.label_ranking.consensus.median import (
    MedianRanking,
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
from symscreen.label_ranking.learners.bradley_terry import BradleyTerryRanker
from symscreen.label_ranking.learners.consensus_tree import ConsensusRankingForest, ConsensusRankingTree
from symscreen.label_ranking.learners.ensemble import RankingEnsemble
from symscreen.label_ranking.learners.honest_forest import BreimanTree, HonestForest, LevelSplitsTree
from symscreen.label_ranking.learners.labelwise import LabelwiseRegressor
from symscreen.label_ranking.learners.neighbors import KemenyNeighbors
from symscreen.label_ranking.learners.pairwise_ranker import PairwiseRanker
from symscreen.label_ranking.learners.tree_plot import format_tree, plot_tree

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
    "TransitiveProjection",
    "compute_distance_lower_bound",
    "compute_excess_risk",
    "compute_expected_distance",
    "d2",
    "dispersion",
    "estimate_pairwise_probabilities",
    "find_kemeny_median",
    "find_median_ranking",
    "footrule",
    "format_tree",
    "is_transitive",
    "kendall_distance",
    "kendall_tau",
    "kendall_tau_b",
    "margin",
    "mean_kendall_tau",
    "order_list_tau",
    "plot_tree",
    "project_transitive",
    "rank_by_borda",
    "rank_by_copeland",
]
