"""Rankings drawn from models whose truth is known: the generators of papers on label ranking."""

from symscreen.ranking.generators.bounded_noise import truncated_gaussian, uniform_noise
from symscreen.ranking.generators.by_score import ranks_by_score
from symscreen.ranking.generators.converted import Converted, type_a, type_b
from symscreen.ranking.generators.mallows import mallows, mallows_mean_distance, mallows_probability
from symscreen.ranking.generators.mechanisms import buckets, survivors
from symscreen.ranking.generators.noise_levels import inconsistency, kendall_gap
from symscreen.ranking.generators.nonparametric import (
    Examples,
    Oracle,
    SparseScores,
    binary_inputs,
    lfn,
    sfn,
    sparse_scores,
)
from symscreen.ranking.generators.piecewise import Partition, piecewise_partition
from symscreen.ranking.generators.plackett_luce import plackett_luce, plackett_luce_probability

__all__ = [
    "Converted",
    "Examples",
    "Oracle",
    "Partition",
    "SparseScores",
    "binary_inputs",
    "buckets",
    "inconsistency",
    "kendall_gap",
    "lfn",
    "mallows",
    "mallows_mean_distance",
    "mallows_probability",
    "piecewise_partition",
    "plackett_luce",
    "plackett_luce_probability",
    "ranks_by_score",
    "sfn",
    "sparse_scores",
    "survivors",
    "truncated_gaussian",
    "type_a",
    "type_b",
    "uniform_noise",
]
