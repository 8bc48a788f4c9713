"""The columns of p- and q-values of the features that are shown, and their record.

A screen counts the p-values, or the statistics, of its whole space (`InferenceState`). At its end the figures
of the features shown are looked up in these counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.config.parsing import DEFAULT_FDR
from symscreen.statistics.inference.max_t import compute_max_t_p_values, count_exchangeable_groups
from symscreen.statistics.inference.p_value_counts import (
    compute_q_values,
    count_p_values_per_bin,
    decode_p_values,
)
from symscreen.statistics.inference.statistic_counts import compute_permutation_q_values
from symscreen.statistics.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from symscreen.screening.inference.error_control import ErrorControl, InferenceConfig, InferenceState
    from symscreen.statistics.nulls.null_table import NullDistribution
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets import Target


@dataclass(frozen=True, eq=False)
class FeaturePValues:
    """The p-values of the k features that are shown. Arrays are empty if their figure is not wanted.

    Parameters
    ----------
    keys : int32 array, shape (k,) or (0,)
        Encoded p-values (see `encode_p_values`).
    family : float64 array, shape (k,) or (0,)
        Max-T p-values.
    is_bound : bool array, shape (k,) or (0,)
        Whether a p-value is an upper bound, because values of the feature repeat.
    levels : int64 array, shape (k,) or (0,)
        Levels of the statistics (see `StatisticCounts`).
    """

    keys: NDArray[np.int32]
    family: NDArray[np.float64]
    is_bound: NDArray[np.bool_]
    levels: NDArray[np.int64]


def compute_feature_p_values(
    inference: InferenceConfig, inference_state: InferenceState, blocks: Iterator[SortedBlock], target: Target
) -> FeaturePValues:
    """Compute the p-values of the features that are shown.

    Parameters
    ----------
    inference : InferenceConfig
        The configuration of the stream.
    inference_state : InferenceState
        The state of the whole space.
    blocks : iterator of SortedBlock
        The k features shown, in their order.
    target : Target
        The target, n rows.

    Returns
    -------
    FeaturePValues
    """
    keys, family = [np.zeros(0, dtype=np.int32)], [np.zeros(0)]
    is_bound, levels = [np.zeros(0, dtype=np.bool_)], [np.zeros(0, dtype=np.int64)]
    permuted_target, workspace = inference.permuted_target, Workspace()
    for block in blocks:
        if inference.null is not None:
            statistics = inference.screener.statistic(block, target)
            keys.append(inference.encode_p_values(block, statistics))
            is_bound.append(_find_bounds(inference.null, block))
        if permuted_target is None or inference_state.max_statistics is None:
            continue
        if inference.counts_permutations:
            block_keys, own, _ = inference.permute(block, workspace)
            keys.append(block_keys)
            levels.append(permuted_target.level_scale.find_levels(own))
        else:
            own = permuted_target.compute_statistics(block)
        family.append(compute_max_t_p_values(own, inference_state.max_statistics))
    return FeaturePValues(
        np.concatenate(keys), np.concatenate(family), np.concatenate(is_bound), np.concatenate(levels)
    )


def _find_bounds(null: NullDistribution, block: SortedBlock) -> NDArray[np.bool_]:
    """Find the features of a block whose p-values are upper bounds, shape (m,); none by default."""
    find_bounds = getattr(null, "find_bounds", None)
    return np.zeros(len(block.values), dtype=np.bool_) if find_bounds is None else find_bounds(block)


def compute_error_control(
    inference: InferenceConfig,
    error_control: ErrorControl,
    inference_state: InferenceState,
    blocks: Iterator[SortedBlock],
    target: Target,
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Compute the error control columns of the features that are shown.

    Parameters
    ----------
    inference : InferenceConfig
        The configuration of the stream.
    error_control : ErrorControl
        Settings of error control.
    inference_state : InferenceState
        The state of the whole space.
    blocks : iterator of SortedBlock
        The k features shown, in their order.
    target : Target
        The target, n rows.

    Returns
    -------
    columns : dict of str to array, shape (k,)
        ``p_value`` and ``q_value``, ``p_family``: those that were requested. ``p_is_bound``, bool, if some
        p-values are upper bounds.
    record : dict
        Method, counts and settings, for the record.
    """
    found = compute_feature_p_values(inference, inference_state, blocks, target)
    columns: dict[str, NDArray[Any]] = {}
    record: dict[str, Any] = {}
    if inference.has_p_values:
        counts, rate = inference_state.p_value_counts, error_control.fdr or DEFAULT_FDR
        q, q_counts, places = _compute_q_values(error_control, inference_state, found)
        columns = {"p_value": decode_p_values(found.keys), "q_value": q[places]}
        record = {
            "source": error_control.source,
            "method": error_control.method,
            "tests": counts.total,
            "histogram": count_p_values_per_bin(counts).tolist(),
            "fdr": error_control.fdr,
            "rate": rate,
            "passing": int(q_counts[q <= rate].sum()),
            "least_q": float(q.min()) if len(q) else None,
            "best_is_bound": bool(found.is_bound[:1].any()),
        }
        if found.is_bound.any():
            columns["p_is_bound"] = found.is_bound
    if inference.permuted_target is not None:
        columns["p_family"] = found.family
        record["permutations"] = error_control.permutations
        if error_control.groups is not None:
            record["groups"] = {
                "units": int(error_control.groups.max()) + 1,
                "trade_places": count_exchangeable_groups(error_control.groups),
            }
        if error_control.runs is not None:
            record["runs"] = len(error_control.runs)
    return columns, record


def _compute_q_values(
    error_control: ErrorControl, inference_state: InferenceState, found: FeaturePValues
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.intp]]:
    """Compute the q-values of a space, the number of features of each, and the places of those shown."""
    counts, levels = inference_state.p_value_counts, inference_state.statistic_counts
    if levels is None:
        q = compute_q_values(counts, error_control.method)
        return q, counts.counts, np.searchsorted(counts.keys, found.keys)
    q = compute_permutation_q_values(levels, error_control.permutations, error_control.method)
    return q, levels.observed, np.searchsorted(levels.levels, found.levels, side="right") - 1
