"""Responses that are rankings: distances, consensus, learners (Fotakis et al.; Clémençon et al.).

A response of n rows that rank k labels is an (n, k) array of ranks: 1 is the most preferred, NaN a label that
is missing, equal values are ties. `symscreen.label_ranking` reads and checks them; here is what is done with
them:

- distances and coefficients of two rankings, row by row: `kendall_distance`, `kendall_tau`, `kendall_tau_b`,
  `footrule`, `d2`, `order_list_tau`;
- pairwise probabilities and what they tell: `pairwise_probabilities`, `transitive`, `margin`, `dispersion`,
  `lower_bound`, `expected_distance`, `excess_risk`;
- consensus: `median_ranking`, `kemeny_median`, `copeland`, `borda`, and the `projection` onto
  the transitive set T′;
- ranking median regression: `KemenyNeighbors`, `ConsensusRankingTree` with `tree_text` and `draw_tree`,
  `ConsensusRankingForest`;
- label ranking by regression: `RankingEnsemble`, the default, which blends what follows and more;
  `PairwiseRanker` and `BradleyTerryRanker`, which read incomplete and partial rankings; `LabelwiseRegressor`,
  `BreimanTree`, `LevelSplitsTree` and `HonestForest` for complete ones.

Rankings whose truth is known are drawn by `symscreen.ranking.generators`.
"""

from symscreen.label_ranking import (
    Rankings,
    as_rankings,
    orders_of,
    rankings_of_columns,
    rankings_of_orders,
    read_rankings,
    text_of,
)
from symscreen.ranking.bradley_terry import BradleyTerryRanker
from symscreen.ranking.consensus import Median, borda, copeland, median_ranking
from symscreen.ranking.distances import (
    d2,
    footrule,
    kendall_distance,
    kendall_tau,
    kendall_tau_b,
    mean_kendall_tau,
    order_list_tau,
)
from symscreen.ranking.drawn_tree import draw_tree, tree_text
from symscreen.ranking.forest import ConsensusRankingForest
from symscreen.ranking.honest import BreimanTree, HonestForest, LevelSplitsTree
from symscreen.ranking.kemeny import kemeny_median
from symscreen.ranking.labelwise import LabelwiseRegressor
from symscreen.ranking.neighbors import KemenyNeighbors
from symscreen.ranking.pairwise import (
    PairwiseProbabilities,
    dispersion,
    excess_risk,
    expected_distance,
    lower_bound,
    margin,
    pairwise_probabilities,
    transitive,
)
from symscreen.ranking.pairwise_ranker import PairwiseRanker
from symscreen.ranking.stack import RankingEnsemble
from symscreen.ranking.transitive_set import Projection, projection
from symscreen.ranking.tree import ConsensusRankingTree

__all__ = [
    "BradleyTerryRanker",
    "BreimanTree",
    "ConsensusRankingForest",
    "ConsensusRankingTree",
    "HonestForest",
    "KemenyNeighbors",
    "LabelwiseRegressor",
    "LevelSplitsTree",
    "Median",
    "PairwiseProbabilities",
    "PairwiseRanker",
    "Projection",
    "RankingEnsemble",
    "Rankings",
    "as_rankings",
    "borda",
    "copeland",
    "d2",
    "dispersion",
    "draw_tree",
    "excess_risk",
    "expected_distance",
    "footrule",
    "kemeny_median",
    "kendall_distance",
    "kendall_tau",
    "kendall_tau_b",
    "lower_bound",
    "margin",
    "mean_kendall_tau",
    "median_ranking",
    "order_list_tau",
    "orders_of",
    "pairwise_probabilities",
    "projection",
    "rankings_of_columns",
    "rankings_of_orders",
    "read_rankings",
    "text_of",
    "transitive",
    "tree_text",
]
