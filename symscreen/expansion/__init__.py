"""Expansion: build a numbered space of features from a grammar and the columns of a table."""

from symscreen.expansion._kernels import EXCLUSION_REASONS, CandidateStatus
from symscreen.expansion.candidate_filter import estimate_filter_bytes
from symscreen.expansion.feature_values import (
    FeatureBlock,
    compute_block_size,
    estimate_block_bytes,
    evaluate_range,
)
from symscreen.expansion.generation import PoolKind, PoolPruning, expand
from symscreen.expansion.nodes import rank_features, sort_features
from symscreen.expansion.size_estimate import (
    SpaceSizeEstimate,
    bound_space_size,
    build_pruned_size_model,
    estimate_space_size,
)
from symscreen.expansion.sort_orders import estimate_order_bytes, estimate_pool_order_bytes, presort_pool
from symscreen.expansion.space import LayerCount, Space, evaluate_user_formulas, permute_space_rows
from symscreen.expansion.validity import compute_feature_stats, find_numeric_duplicates, is_equal_to_rounding

__all__ = [
    "EXCLUSION_REASONS",
    "CandidateStatus",
    "FeatureBlock",
    "LayerCount",
    "PoolKind",
    "PoolPruning",
    "Space",
    "SpaceSizeEstimate",
    "bound_space_size",
    "build_pruned_size_model",
    "compute_block_size",
    "compute_feature_stats",
    "estimate_block_bytes",
    "estimate_filter_bytes",
    "estimate_order_bytes",
    "estimate_pool_order_bytes",
    "estimate_space_size",
    "evaluate_range",
    "evaluate_user_formulas",
    "expand",
    "find_numeric_duplicates",
    "is_equal_to_rounding",
    "permute_space_rows",
    "presort_pool",
    "rank_features",
    "sort_features",
]
