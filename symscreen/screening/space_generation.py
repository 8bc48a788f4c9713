"""Generate a space layer by layer and prune the pool between layers.

After a layer that is pruned, the next layer is applied only to the best features by one or more screeners.
Column screeners keep their best features; joint screeners keep the features that they select.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen._limits import (
    DeadlineExceeded,
    check_memory,
    has_memory_for,
    ignore_deadline,
    make_deadline_check,
    read_resident_bytes,
)
from symscreen.data import take_inputs
from symscreen.expansion import CandidateStatus, PoolPruning, estimate_space_size, expand, presort_pool
from symscreen.expressions.traversal import collect_columns
from symscreen.logs import log_event
from symscreen.messages import name_option
from symscreen.screeners import Screener
from symscreen.screening.memory_estimate import estimate_presort_bytes, estimate_scoring_bytes
from symscreen.screening.scoring.block_scoring import Scorer, make_mirrored_spec
from symscreen.screening.scoring.final_classes import add_margin, finalize_features
from symscreen.screening.scoring.joint_screening import build_shortlist, run_joint_screener
from symscreen.screening.scoring.streaming import score_stream
from symscreen.screening.scoring.top_features import merge_rankings
from symscreen.statistics.ranks.sorted_block import sort_block

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.data import Dataset
    from symscreen.expansion import Space
    from symscreen.grammar import Layer
    from symscreen.screening.scoring.joint_screening import JointResult, Shortlist
    from symscreen.screening.scoring.streaming import StreamResult
    from symscreen.screening.scoring.top_features import EquivalenceKind, FeatureTable
    from symscreen.screening.task import ScreeningTask

    PruningCallback = Callable[[Space, PoolPruning], None]


# share of the free memory for a pool, which is held twice while it grows and is read by a search
_POOL_MEMORY_SHARE = 0.25
_LARGE_POOL_BYTES = 1 << 29  # recomputing the values of a larger pool is cheap compared with building it


@dataclass(frozen=True, eq=False)
class PruningResult:
    """A pruning of the pool and its record.

    Parameters
    ----------
    pruning : PoolPruning
        The features that remain.
    record : dict
        The layer, the numbers of features scored and chosen, the screeners, and the shortlist size, settings
        and own record of each joint screener.
    """

    pruning: PoolPruning
    record: dict[str, Any]


def select_pool_features(space: Space, task: ScreeningTask, pool_size: int | None) -> PruningResult:
    """Choose the features of a space that the next layer is applied to.

    Parameters
    ----------
    space : Space
        The space after the layer.
    task : ScreeningTask
        A task whose screeners prune. Its limit is not used.
    pool_size : int or None
        Number of features to keep; None keeps what joint screeners select.

    Returns
    -------
    PruningResult
        The union of the best features by each column screener, and of the features that each joint screener
        selects. With joint screeners all older features are kept too.

    Raises
    ------
    DeadlineExceeded
        If the deadline passes before all features are scored.
    """
    max_features = space.size if pool_size is None else pool_size
    kinds: list[EquivalenceKind] = []
    if task.joint_screeners:
        kinds = sorted({"affine", *(screener.equivalence for screener in task.joint_screeners)})
    stream_result = _stream_pool(space, task, kinds, max_features)
    feature_lists = iter(stream_result.top_features)
    rankings = [
        finalize_features(next(feature_lists), space, max_features)
        for screener in task.screeners
        if isinstance(screener, Screener)
    ]
    shortlists = {
        kind: build_shortlist([next(feature_lists) for _ in task.prescreeners], space, task.prescreen, kind)
        for kind in kinds
    }
    joint_records = {}
    for screener in task.joint_screeners:
        shortlist = shortlists[screener.equivalence]
        if len(shortlist.features):
            result = run_joint_screener(
                screener, shortlist, task.target, seed=task.options.seed, jobs=task.backend.jobs
            )
            rankings.append(_select_joint_features(result, shortlists["affine"]))
            joint_records[screener.name] = {
                "shown": len(result.shortlist.features),
                "settings": dict(screener.all_settings),
                **result.scores.record,
            }
    chosen = merge_rankings(rankings, max_features).number if rankings else space.pool_indices[:0]
    if task.joint_screeners:
        chosen = np.union1d(np.arange(len(space.pool_indices)), chosen)
    record = {
        "layer": len(space.layer_counts) - 1,
        "screeners": [screener.name for screener in task.screeners],
        "scored": stream_result.n_scored,
        "chosen": len(chosen),
        "verdicts": joint_records,
    }
    return PruningResult(PoolPruning(chosen, stream_result.n_invalid), record)


def _stream_pool(
    space: Space, task: ScreeningTask, kinds: Sequence[EquivalenceKind], max_features: int
) -> StreamResult:
    """Stream the lists of the column screeners, then those of the shortlists of each kind."""
    n_column_screeners = len(task.screeners) - len(task.joint_screeners)
    specs = [
        make_mirrored_spec(index, "affine", add_margin(max_features)) for index in range(n_column_screeners)
    ] + [
        make_mirrored_spec(index, kind, add_margin(task.prescreen))
        for kind in kinds
        for index in range(len(task.prescreeners))
    ]
    scorer = Scorer(space, task.target, task.column_screeners, task.options.sign, tuple(specs))
    run_control = replace(task.run_control, deadline=task.run_control.generation_deadline, checkpoint=None)
    stream_result = score_stream(scorer, task.backend, task.chunk_size, run_control)
    if not stream_result.is_complete:
        raise DeadlineExceeded
    return stream_result


def keep_pool(
    space: Space, backend: Backend, chunk_size: int, check_deadline: Callable[[], None] = ignore_deadline
) -> PoolPruning:
    """Keep every valid feature of a space, for a layer that is not pruned.

    Parameters
    ----------
    space : Space
        The space of the layers so far.
    backend : Backend
        Backend that computes the features.
    chunk_size : int
        Number of candidates per task.
    check_deadline : callable, optional
        Called after each task; it may raise `DeadlineExceeded`.

    Returns
    -------
    PoolPruning
    """
    valid, n_invalid = [space.pool_indices[:0]], Counter[CandidateStatus]()
    for numbers, chunk_invalid in backend.map(_ValidFeatureFinder(space), space.split_chunks(chunk_size)):
        check_deadline()
        valid.append(numbers)
        n_invalid.update(chunk_invalid)
    return PoolPruning(np.concatenate(valid), n_invalid)


@dataclass(frozen=True, eq=False)
class _ValidFeatureFinder:
    """Find the features of a range whose values are defined and not constant."""

    space: Space

    def __call__(self, chunk: tuple[int, int]) -> tuple[NDArray[np.int64], Counter[CandidateStatus]]:
        """Return the numbers of the valid features and the counts of the others by status."""
        numbers, n_invalid = [self.space.pool_indices[:0]], Counter[CandidateStatus]()
        for block in self.space.evaluate_range(*chunk):
            numbers.append(block.numbers)
            n_invalid.update(block.n_invalid)
        return np.concatenate(numbers), n_invalid


def _select_joint_features(joint_result: JointResult, affine_shortlist: Shortlist) -> FeatureTable:
    """Return the affine classes that a joint screener selects, best first.

    A selected rank class contributes all its affine classes. Trees cannot distinguish x from exp(x), but the
    next layer can: exp(x1) - exp(x2) is not a function of x1 - x2.
    """
    positions = joint_result.shortlist.find_positions(sort_block(affine_shortlist.values))
    selected = np.flatnonzero((positions >= 0) & joint_result.scores.selected[positions])
    loss = np.where(positions >= 0, joint_result.scores.loss[positions], np.inf)
    features = replace(affine_shortlist.features, loss=loss).take(selected)
    return features.take(features.compute_member_order())


def generate_space(
    task: ScreeningTask,
    layers: Sequence[Layer] | None = None,
    *,
    reserved_bytes: int = 0,
    on_prune: PruningCallback | None = None,
) -> tuple[Space, tuple[dict[str, Any], ...]]:
    """Generate the space of a task.

    Parameters
    ----------
    task : ScreeningTask
        The task.
    layers : sequence of Layer, optional
        Other layers than those of the task.
    reserved_bytes : int
        Memory in bytes that scoring the space needs.
    on_prune : callable, optional
        Called with each space that is pruned and the result of the pruning.

    Returns
    -------
    Space
        The space. If a deadline passes, that of the completed layers.
    tuple of dict
        Record of each pruning.
    """
    records: list[dict[str, Any]] = []
    layers = task.layers if layers is None else layers
    check_deadline = make_deadline_check(task.run_control.generation_deadline)
    pool_sizes, pool_task = task.options.pool_sizes, replace(task, screeners=task.pool_screeners)

    def prune(space: Space) -> PoolPruning:
        kind = space.layer_counts[-1].kind
        if pool_sizes is not None and kind not in pool_sizes:
            purpose = f"a pool of {space.size:,} features after layer {len(space.layer_counts) - 1}"
            check_memory(space.pool.estimate_bytes(space.size), task.max_bytes, purpose)
            return keep_pool(space, task.backend, task.chunk_size, check_deadline)
        result = select_pool_features(space, pool_task, None if pool_sizes is None else pool_sizes[kind])
        records.append(result.record)
        if on_prune is not None:
            on_prune(space, result.pruning)
        return result.pruning

    space = expand(
        task.dataset.names,
        task.dataset.columns,
        task.grammar,
        layers,
        task.options.pool,
        also=task.formulas,
        indicators=task.dataset.indicators,
        prune=prune if task.pool_screeners else None,
        max_bytes=task.max_bytes,
        reserved_bytes=reserved_bytes,
        map_function=task.backend.map,
        recompute_pool=_should_recompute_layers(task, layers, reserved_bytes),
        units=task.units,
        check_deadline=check_deadline,
        options=task.options,
    )
    return space, tuple(records)


def generate_presorted_space(
    task: ScreeningTask, on_prune: PruningCallback | None = None
) -> tuple[Space, tuple[dict[str, Any], ...]]:
    """Generate a space that is ready to be scored, and the record of each pruning.

    Raises
    ------
    MemoryLimitError
        If scoring the space would exceed the memory limit.
    """
    reserved_bytes = estimate_scoring_bytes(task.target.n, task)
    space, pruning_records = generate_space(task, reserved_bytes=reserved_bytes, on_prune=on_prune)
    log_event("grown", features=space.size, pool=len(space.pool), candidates=space.candidates.total)
    check_scoring_memory(space, task)
    return _presort_pool(space, task), pruning_records


def check_scoring_memory(space: Space, task: ScreeningTask) -> None:
    """Raise an error if the ranking would exceed the memory limit, now that the space's size is known."""
    n_kept = space.size if task.limit is None else min(space.size, add_margin(task.limit))
    has_permutations = task.error_control is not None and task.error_control.permutations
    permutations = f"{name_option('permutations')}, " if has_permutations else ""
    remedies = (
        f"ask for fewer with {permutations}{name_option('top')} or {name_option('prescreen')}",
        f"use {name_option('jobs', 1)}" if task.backend.jobs > 1 else "use fewer operators, inputs or layers",
    )
    check_memory(
        _estimate_space_scoring_bytes(space, task),
        task.max_bytes,
        f"keeping {n_kept:,} features",
        remedies,
    )


def _presort_pool(space: Space, task: ScreeningTask) -> Space:
    """Sort the rows of the pool's features once, if that saves time and fits into memory."""
    order_bytes = 0 if space.pool.values is None else estimate_presort_bytes(space, space.n_rows, task)
    scoring_bytes = _estimate_space_scoring_bytes(space, task)
    if not order_bytes or not has_memory_for(order_bytes + scoring_bytes, task.max_bytes):
        return space
    return presort_pool(space, task.backend.map)


def _estimate_space_scoring_bytes(space: Space, task: ScreeningTask) -> int:
    """Estimate the memory of scoring a generated space."""
    return estimate_scoring_bytes(
        space.n_rows, task, n_features=space.size, n_candidates=space.candidates.total
    )


def should_recompute_pool(pool_size: int, task: ScreeningTask, reserved_bytes: int) -> bool:
    """Return whether the values of a pool are too large to store, absolutely or relative to free memory."""
    if task.search == "exact":
        return False
    max_pool_bytes: float = _LARGE_POOL_BYTES
    if task.max_bytes is not None:
        free_bytes = task.max_bytes - reserved_bytes - read_resident_bytes()
        max_pool_bytes = min(max_pool_bytes, _POOL_MEMORY_SHARE * free_bytes)
    return pool_size * task.target.n * 8 > max_pool_bytes


def _should_recompute_layers(task: ScreeningTask, layers: Sequence[Layer], reserved_bytes: int) -> bool:
    """Return whether the pool of the last layer is too large to store."""
    if task.search == "exact" or task.pool_screeners or len(layers) == 1:
        return False
    estimate = estimate_space_size(
        task.dataset.names,
        task.grammar,
        layers[:-1],
        task.options.pool,
        max_bytes=task.max_bytes,
        map_function=task.backend.map,
        units=task.units and replace(task.units, target=None),
        options=task.options,
    )
    return should_recompute_pool(estimate.n_features, task, reserved_bytes)


def select_inputs(task: ScreeningTask) -> Dataset | None:
    """Remove the inputs that the pruning screeners do not select.

    Returns
    -------
    Dataset or None
        The dataset with the inputs that are kept: all without pruning. None if no input is selected.
    """
    if not task.pool_screeners:
        return task.dataset
    grammar = task.grammar.override(unary=["id"])
    space = expand(
        task.dataset.names,
        task.dataset.columns,
        grammar,
        grammar.resolve_layers("u"),
        "strict",
        options=task.options,
    )
    pruning = select_pool_features(space, replace(task, screeners=task.pool_screeners), None).pruning
    selected = frozenset().union(
        *(collect_columns(space.build_expression(number)) for number in pruning.numbers.tolist())
    )
    return take_inputs(task.dataset, sorted(selected)) if selected else None
