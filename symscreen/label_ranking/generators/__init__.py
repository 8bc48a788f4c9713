"""Generators of rankings with a known truth, from papers on label ranking."""

from symscreen.label_ranking.generators.input_dependent import (
    ConvertedDataset,
    PiecewisePartition,
    RankingExamples,
    RankingOracle,
    SparseScores,
    convert_classification,
    convert_regression,
    draw_lfn_oracle,
    draw_piecewise_partition,
    draw_sfn_oracle,
    draw_sparse_scores,
    make_binary_input_sampler,
)
from symscreen.label_ranking.generators.label_noise import (
    inconsistency,
    kendall_gap,
    make_bucket_mechanism,
    make_survivor_mechanism,
    make_truncated_gaussian_noise,
    make_uniform_noise,
)
from symscreen.label_ranking.generators.rank_models import (
    compute_mallows_mean_distance,
    compute_mallows_probability,
    compute_plackett_luce_probability,
    draw_mallows,
    draw_plackett_luce,
    rank_by_score,
)

__all__ = [
    "ConvertedDataset",
    "PiecewisePartition",
    "RankingExamples",
    "RankingOracle",
    "SparseScores",
    "compute_mallows_mean_distance",
    "compute_mallows_probability",
    "compute_plackett_luce_probability",
    "convert_classification",
    "convert_regression",
    "draw_lfn_oracle",
    "draw_mallows",
    "draw_piecewise_partition",
    "draw_plackett_luce",
    "draw_sfn_oracle",
    "draw_sparse_scores",
    "inconsistency",
    "kendall_gap",
    "make_binary_input_sampler",
    "make_bucket_mechanism",
    "make_survivor_mechanism",
    "make_truncated_gaussian_noise",
    "make_uniform_noise",
    "rank_by_score",
]
