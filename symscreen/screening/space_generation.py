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
    ignore_deadline,
    make_deadline_check,
    read_resident_bytes,
)
from symscreen.data import take_inputs
from symscreen.expansion import CandidateStatus, PoolPruning, estimate_space_size, expand
from symscreen.expressions.traversal import collect_columns
from symscreen.screeners import Screener
from symscreen.screening.run_control import RunControl
from symscreen.screening.scoring.block_scoring import Scorer, TopKSpec
from symscreen.screening.scoring.joint_screening import build_shortlist, run_joint_screener
from symscreen.screening.scoring.streaming import add_margin, finalize_features, score_stream
from symscreen.screening.scoring.top_features import merge_rankings
from symscreen.statistics.ranks.sorted_block import sort_block

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.data import Dataset
    from symscreen.expansion import PoolKind, Space
    from symscreen.expansion.pruning import MapFunction
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Grammar, Layer
    from symscreen.screening.scoring.joint_screening import JointResult, Shortlist
    from symscreen.screening.scoring.score_space import ScoringConfig
    from symscreen.screening.scoring.top_features import EquivalenceKind, FeatureTable
    from symscreen.targets import Target
    from symscreen.units import Units

    PruningCallback = Callable[[Space, PoolPruning], None]


_POOL_MEMORY_SHARE = 0.25  # of the free memory; a growing pool is held twice and also read by a search
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


@dataclass(frozen=True, eq=False)
class GenerationConfig:
    """How spaces are generated.

    Parameters
    ----------
    grammar : Grammar
        Operators and rules.
    pool_kind : {"cumulative", "strict"}
        See `expand`.
    user_expressions : sequence of Expression
        Formulas that the user adds to the space.
    pruning_config : ScoringConfig or None
        Screeners that prune the pool between layers, and how they run; None for no pruning.
    pool_sizes : mapping of str to int, or None
        Number of features to keep after each kind of layer. A kind that is missing is not pruned. None lets
        the screeners decide how many features remain.
    max_bytes : int or None
        Memory limit of this process in bytes.
    map_function : callable
        See `expand`; the `map` of the backend.
    reserved_bytes : int
        Memory that scoring will need in addition to pool and candidates, in bytes.
    is_approximate : bool
        Whether only few features will be computed on all rows. A large pool then does not need to store its
        values.
    on_prune : callable, optional
        Called with each space that is pruned and the result of the pruning.
    units : Units or None
        See `expand`.
    deadline : float or None
        Time, as returned by `time.monotonic`, after which generation stops.
    """

    grammar: Grammar
    pool_kind: PoolKind
    user_expressions: Sequence[Expression]
    pruning_config: ScoringConfig | None
    pool_sizes: Mapping[str, int] | None
    max_bytes: int | None
    map_function: MapFunction = map
    reserved_bytes: int = 0
    is_approximate: bool = False
    on_prune: PruningCallback | None = None
    units: Units | None = None
    deadline: float | None = None


def prune_pool(space: Space, target: Target, scoring: ScoringConfig, pool_size: int | None) -> PruningResult:
    """Choose the features of a space that the next layer is applied to.

    Parameters
    ----------
    space : Space
        The space of the layers so far.
    target : Target
        The target.
    scoring : ScoringConfig
        The screeners that prune, and how they run. Its `limit` is not used.
    pool_size : int or None
        Maximum number of features to keep; None for no maximum. Column screeners keep their best features
        with affine copies merged; the lists of several screeners are united by the best rank in any of them.
        Joint screeners keep what they select, and everything that an earlier pruning kept.

    Returns
    -------
    PruningResult

    Raises
    ------
    DeadlineExceeded
        If the deadline for generation passed before all features were scored.
    """
    joint_screeners, prescreeners = scoring.joint_screeners, scoring.prescreeners
    column_screeners = tuple(screener for screener in scoring.screeners if isinstance(screener, Screener))
    max_features = space.size if pool_size is None else pool_size
    limit, shortlist_limit = add_margin(max_features), add_margin(scoring.prescreen)
    kinds: list[EquivalenceKind] = []
    if joint_screeners:
        kinds = sorted({"affine", *(screener.equivalence for screener in joint_screeners)})
    specs = [TopKSpec(index, "affine", mirrored=True, limit=limit) for index in range(len(column_screeners))]
    specs += [
        TopKSpec(index, kind, mirrored=True, limit=shortlist_limit)
        for kind in kinds
        for index in range(len(prescreeners))
    ]
    scorer = Scorer(space, target, column_screeners or prescreeners, scoring.sign, tuple(specs))
    run_control = RunControl(
        progress=scoring.run_control.progress,
        on_progress=scoring.run_control.on_progress,
        deadline=scoring.run_control.generation_deadline,
    )
    stream_result = score_stream(scorer, scoring.backend, scoring.chunk_size, run_control)
    if not stream_result.is_complete:
        raise DeadlineExceeded
    feature_lists = iter(stream_result.top_features)
    rankings = [finalize_features(next(feature_lists), space, max_features) for _ in column_screeners]
    shortlists = {
        kind: build_shortlist([next(feature_lists) for _ in prescreeners], space, scoring.prescreen, kind)
        for kind in kinds
    }
    joint_records = {}
    for screener in joint_screeners:
        shortlist = shortlists[screener.equivalence]
        if len(shortlist.features):
            result = run_joint_screener(screener, shortlist, target, seed=scoring.seed, jobs=scoring.jobs)
            rankings.append(_select_joint_features(result, shortlists["affine"]))
            joint_records[screener.name] = {
                "shown": len(result.shortlist.features),
                "settings": dict(screener.all_settings),
                **result.scores.record,
            }
    chosen = merge_rankings(rankings, max_features).number if rankings else space.pool_indices[:0]
    if joint_screeners:
        chosen = np.union1d(np.arange(len(space.pool_indices)), chosen)
    record = {
        "layer": len(space.layer_counts) - 1,
        "screeners": [screener.name for screener in scoring.screeners],
        "scored": stream_result.n_scored,
        "chosen": len(chosen),
        "verdicts": joint_records,
    }
    return PruningResult(PoolPruning(chosen, stream_result.n_invalid), record)


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
    dataset: Dataset, generation: GenerationConfig, layers: Sequence[Layer]
) -> tuple[Space, tuple[dict[str, Any], ...]]:
    """Generate a space.

    Parameters
    ----------
    dataset : Dataset
        The data.
    generation : GenerationConfig
        How the space is generated.
    layers : sequence of Layer
        The layers that are applied.

    Returns
    -------
    Space
        The space with values.
    tuple of dict
        Record of each pruning.
    """
    records: list[dict[str, Any]] = []
    check_deadline = make_deadline_check(generation.deadline)
    pruning_config = generation.pruning_config

    def prune(space: Space) -> PoolPruning:
        assert pruning_config is not None  # noqa: S101  # this function is passed on only in that case
        kind = space.layer_counts[-1].kind
        if generation.pool_sizes is not None and kind not in generation.pool_sizes:
            purpose = f"a pool of {space.size:,} features after layer {len(space.layer_counts) - 1}"
            check_memory(space.pool.estimate_bytes(space.size), generation.max_bytes, purpose)
            return keep_pool(space, pruning_config.backend, pruning_config.chunk_size, check_deadline)
        pool_size = None if generation.pool_sizes is None else generation.pool_sizes[kind]
        result = prune_pool(space, dataset.target, pruning_config, pool_size)
        records.append(result.record)
        if generation.on_prune is not None:
            generation.on_prune(space, result.pruning)
        return result.pruning

    space = expand(
        dataset.names,
        dataset.columns,
        generation.grammar,
        layers,
        generation.pool_kind,
        also=generation.user_expressions,
        prune=None if pruning_config is None else prune,
        max_bytes=generation.max_bytes,
        reserved_bytes=generation.reserved_bytes,
        map_function=generation.map_function,
        recompute_pool=generation.is_approximate
        and pruning_config is None
        and _should_recompute_layers(dataset, generation, layers),
        units=generation.units,
        check_deadline=check_deadline,
    )
    return space, tuple(records)


def should_recompute_pool(pool_size: int, n_rows: int, generation: GenerationConfig) -> bool:
    """Return whether the values of a pool are too large to store, absolutely or relative to free memory."""
    max_pool_bytes: float = _LARGE_POOL_BYTES
    if generation.max_bytes is not None:
        free_bytes = generation.max_bytes - generation.reserved_bytes - read_resident_bytes()
        max_pool_bytes = min(max_pool_bytes, _POOL_MEMORY_SHARE * free_bytes)
    return pool_size * n_rows * 8 > max_pool_bytes


def _should_recompute_layers(dataset: Dataset, generation: GenerationConfig, layers: Sequence[Layer]) -> bool:
    """Return whether the pool of the last layer is too large to store."""
    if len(layers) == 1:
        return False
    estimate = estimate_space_size(
        dataset.names,
        generation.grammar,
        layers[:-1],
        generation.pool_kind,
        max_bytes=generation.max_bytes,
        map_function=generation.map_function,
        units=generation.units and replace(generation.units, target=None),
    )
    return should_recompute_pool(estimate.n_features, dataset.target.n, generation)


def select_inputs(dataset: Dataset, generation: GenerationConfig) -> Dataset | None:
    """Remove the inputs that the pruning screeners do not select.

    Parameters
    ----------
    dataset : Dataset
        The data.
    generation : GenerationConfig
        The configuration with the screeners.

    Returns
    -------
    Dataset or None
        The same dataset if there is no pruning; None if the screeners select no input.
    """
    if generation.pruning_config is None:
        return dataset
    grammar = generation.grammar.override(unary=["id"])
    space = expand(dataset.names, dataset.columns, grammar, grammar.resolve_layers("u"), "strict")
    numbers = prune_pool(space, dataset.target, generation.pruning_config, None).pruning.numbers.tolist()
    selected = frozenset().union(*(collect_columns(space.build_expression(number)) for number in numbers))
    return take_inputs(dataset, sorted(selected)) if selected else None
