"""Which features stay between two layers: the best of a layer by one or more screeners.

From a table to a space: layers, and cuts between them.
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
from symscreen.expressions.tree import collect_columns
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
    from symscreen.screening.scoring.top_features import FeatureTable
    from symscreen.targets.registry import Target
    from symscreen.units import Units

    PruningCallback = Callable[[Space, PoolPruning], None]

__all__ = [
    "GenerationConfig",
    "PruningResult",
    "generate_space",
    "keep_pool",
    "prune_pool",
    "select_inputs",
    "should_recompute_pool",
]


@dataclass(frozen=True, eq=False)
class PruningResult:
    """A cut and what the run's record tells of it.

    Parameters
    ----------
    cut : Cut
        What stays.
    record : dict
        The layer, how many features were scored and chosen, by which screeners, and of joint ones what they
        were shown and say.
    """

    pruning: PoolPruning
    record: dict[str, Any]


def prune_pool(space: Space, target: Target, scoring: ScoringConfig, pool_size: int | None) -> PruningResult:
    """Choose the features of a space that the next layer is applied to.

    Parameters
    ----------
    space : Space
        What the layers so far have made.
    response : Response, RankingResponse or StagesResponse
        The response.
    request : Request
        The screeners that cut, and how they work; its limit is not used.
    keep : int or None
        How many features to keep at most; None for as many as there are. Column screeners keep their best,
        affine copies merged, and of several the union by the best place in any; joint screeners keep what
        they select, and all that an earlier cut has kept.

    Returns
    -------
    Chosen

    Raises
    ------
    OutOfTime
        If the time for growing was over before all features were scored.
    """
    joint = scoring.joint_screeners
    columns = tuple(one for one in scoring.screeners if isinstance(one, Screener))
    leaders = scoring.prescreeners
    used = columns or leaders
    most = space.size if pool_size is None else pool_size
    limit = add_margin(most)
    keeps = [TopKSpec(place, "affine", mirrored=True, limit=limit) for place in range(len(columns))]
    kinds = sorted({"affine", *(one.equivalence for one in joint)}) if joint else []
    margin = add_margin(scoring.prescreen)
    keeps += [TopKSpec(by, kind, mirrored=True, limit=margin) for kind in kinds for by in range(len(leaders))]
    scorer = Scorer(space, target, used, scoring.sign, tuple(keeps))
    asked = scoring.run_control
    course = RunControl(
        progress=asked.progress, on_progress=asked.on_progress, deadline=asked.generation_deadline
    )
    outcome = score_stream(scorer, scoring.backend, scoring.chunk_size, course)
    if not outcome.is_complete:
        raise DeadlineExceeded
    lists = iter(outcome.top_features)
    own = [finalize_features(next(lists), space, most) for _ in columns]
    showings = {
        kind: build_shortlist([next(lists) for _ in leaders], space, scoring.prescreen, kind)
        for kind in kinds
    }
    told = {}
    for one in joint:
        showing = showings[one.equivalence]
        if len(showing.features):
            ruling = run_joint_screener(one, showing, target, seed=scoring.seed, jobs=scoring.jobs)
            own.append(_select_joint_features(ruling, showings["affine"]))
            told[one.name] = {
                "shown": len(ruling.shortlist.features),
                "settings": dict(one.all_settings),
                **ruling.scores.record,
            }
    chosen = merge_rankings(own, most).number if own else space.pool_indices[:0]
    if joint:
        chosen = np.union1d(np.arange(len(space.pool_indices)), chosen)
    record = {
        "layer": len(space.layer_counts) - 1,
        "screeners": [one.name for one in scoring.screeners],
        "scored": outcome.n_scored,
        "chosen": len(chosen),
        "verdicts": told,
    }
    return PruningResult(PoolPruning(chosen, outcome.n_invalid), record)


def keep_pool(
    space: Space, backend: Backend, chunk_size: int, check_deadline: Callable[[], None] = ignore_deadline
) -> PoolPruning:
    """Keep every feature of a space, for a layer that is not to be cut.

    Parameters
    ----------
    space : Space
        What the layers so far have made.
    backend : Backend
        Where chunks are computed.
    chunk_size : int
        Candidates a task.
    check : callable, optional
        Called after each task; it may raise `DeadlineExceeded`.

    Returns
    -------
    Cut
    """
    useful, lost = [space.pool_indices[:0]], Counter[CandidateStatus]()
    for numbers, useless in backend.map(_ValidFeatureFinder(space), space.split_chunks(chunk_size)):
        check_deadline()
        useful.append(numbers)
        lost.update(useless)
    return PoolPruning(np.concatenate(useful), lost)


@dataclass(frozen=True, eq=False)
class _ValidFeatureFinder:
    """Tells which features of a range have values that are defined and not constant."""

    space: Space

    def __call__(self, chunk: tuple[int, int]) -> tuple[NDArray[np.int64], Counter[CandidateStatus]]:
        """Return their numbers, and how many others have no use."""
        numbers, lost = [self.space.pool_indices[:0]], Counter[CandidateStatus]()
        for block in self.space.evaluate_range(*chunk):
            numbers.append(block.numbers)
            lost.update(block.n_invalid)
        return np.concatenate(numbers), lost


def _select_joint_features(joint_result: JointResult, affine_shortlist: Shortlist) -> FeatureTable:
    """Return what a joint screener selects, best first: every distinct member of a class that it selects.

    Trees cannot tell x from exp(x), but the next layer can: exp(x1) - exp(x2) is no function of x1 - x2.
    """
    places = joint_result.shortlist.find_positions(sort_block(affine_shortlist.values))
    selected = np.flatnonzero((places >= 0) & joint_result.scores.selected[places])
    kept = replace(
        affine_shortlist.features, loss=np.where(places >= 0, joint_result.scores.loss[places], np.inf)
    )
    kept = kept.take(selected)
    return kept.take(kept.compute_member_order())


_POOL_MEMORY_SHARE = 0.25  # a pool is held twice while it grows, and looked at besides
_LARGE_POOL_BYTES = 1 << 29  # bytes; what a search computes of a larger pool costs little beside making it


@dataclass(frozen=True, eq=False)
class GenerationConfig:
    """How spaces are grown.

    Parameters
    ----------
    grammar : Grammar
        The rules.
    pool_kind : {"cumulative", "strict"}
        As in `expand`.
    also : sequence of Expression
        The user's own formulas.
    cut : Request or None
        Who cuts between layers, and how; None for no cuts.
    keeps : mapping of str to int, or None
        How many features stay after each kind of layer; a kind that is not named is not cut. None where the
        screeners that cut say themselves what stays.
    max_bytes : int or None
        The memory that this process may take.
    spread : callable
        As in `expand`; the backend's `map`.
    beside : int
        What scoring will take beside pool and candidates, in bytes.
    searched : bool
        Whether few features will be computed over all rows, so that a pool that is large beside the memory
        allowed need not hold its values.
    watch : callable, optional
        Called with each space that is cut and with what stays of it.
    units : Units or None
        As in `expand`.
    until : float or None
        The moment, by `time.monotonic`, after which no more is grown.
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


def generate_space(
    dataset: Dataset, generation: GenerationConfig, layers: Sequence[Layer]
) -> tuple[Space, tuple[dict[str, Any], ...]]:
    """Grow a space.

    Parameters
    ----------
    table : Table
        The data.
    growth : Growth
        How.
    layers : sequence of Layer
        What is applied.

    Returns
    -------
    Space
        With values.
    tuple of dict
        What the run's record tells of each cut.
    """
    told: list[dict[str, Any]] = []
    check = make_deadline_check(generation.deadline)
    request = generation.pruning_config

    def prune(space: Space) -> PoolPruning:
        assert request is not None  # noqa: S101  # it is passed on below only then
        kind = space.layer_counts[-1].kind
        if generation.pool_sizes is not None and kind not in generation.pool_sizes:
            what = f"a pool of {space.size:,} features after layer {len(space.layer_counts) - 1}"
            check_memory(space.pool.estimate_bytes(space.size), generation.max_bytes, what)
            return keep_pool(space, request.backend, request.chunk_size, check)
        keep = None if generation.pool_sizes is None else generation.pool_sizes[kind]
        chosen = prune_pool(space, dataset.target, request, keep)
        told.append(chosen.record)
        if generation.on_prune is not None:
            generation.on_prune(space, chosen.pruning)
        return chosen.pruning

    space = expand(
        dataset.names,
        dataset.columns,
        generation.grammar,
        layers,
        generation.pool_kind,
        also=generation.user_expressions,
        prune=None if request is None else prune,
        max_bytes=generation.max_bytes,
        reserved_bytes=generation.reserved_bytes,
        map_function=generation.map_function,
        recompute_pool=generation.is_approximate
        and request is None
        and _should_recompute_layers(dataset, generation, layers),
        units=generation.units,
        check_deadline=check,
    )
    return space, tuple(told)


def should_recompute_pool(pool_size: int, n_rows: int, generation: GenerationConfig) -> bool:
    """Say whether the values of a pool of some size are many, or would take much of what memory is left."""
    if generation.max_bytes is None:
        return pool_size * n_rows * 8 > _LARGE_POOL_BYTES
    return pool_size * n_rows * 8 > min(
        _LARGE_POOL_BYTES,
        _POOL_MEMORY_SHARE * (generation.max_bytes - generation.reserved_bytes - read_resident_bytes()),
    )


def _should_recompute_layers(dataset: Dataset, generation: GenerationConfig, layers: Sequence[Layer]) -> bool:
    if len(layers) == 1:
        return False
    counted = estimate_space_size(
        dataset.names,
        generation.grammar,
        layers[:-1],
        generation.pool_kind,
        max_bytes=generation.max_bytes,
        map_function=generation.map_function,
        units=generation.units and replace(generation.units, target=None),
    )
    return should_recompute_pool(counted.n_features, dataset.target.n, generation)


def select_inputs(dataset: Dataset, generation: GenerationConfig) -> Dataset | None:
    """Leave out the inputs that those who cut do not select.

    Parameters
    ----------
    table : Table
        The data.
    growth : Growth
        Who cuts.

    Returns
    -------
    Table or None
        As it was where nobody cuts; None where they select none.
    """
    if generation.pruning_config is None:
        return dataset
    grammar = generation.grammar.override(unary=["id"])
    space = expand(dataset.names, dataset.columns, grammar, grammar.resolve_layers("u"), "strict")
    chosen = prune_pool(space, dataset.target, generation.pruning_config, None).pruning.numbers.tolist()
    kept = frozenset().union(*(collect_columns(space.build_expression(number)) for number in chosen))
    return take_inputs(dataset, sorted(kept)) if kept else None
