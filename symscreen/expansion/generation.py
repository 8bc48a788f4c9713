"""Grow a space layer by layer: from the columns of a table to a space whose last layer is streamed.

`expand` runs all layers. Each layer but the last is filtered, evaluated and appended to the pool by
`add_layer`. If the pool is pruned between layers, `prune_pool` keeps only the selected features. The last
layer is filtered by `build_streamed_space`, but its values are not computed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from symscreen._limits import REDUCTION_HINTS, DeadlineExceeded, check_memory, has_memory_for, ignore_deadline
from symscreen.errors import DataError, OptionError
from symscreen.expansion.candidates import Candidates, enumerate_candidates
from symscreen.expansion.feature_values import compute_block_size, estimate_block_bytes, evaluate_candidates
from symscreen.expansion.nodes import build_symbol_table
from symscreen.expansion.operator_tasks import compile_rules, compute_tie_break_rank
from symscreen.expansion.pool import build_first_pool
from symscreen.expansion.pruning import CandidateStatus, estimate_filter_bytes, filter_candidates
from symscreen.expansion.space import LayerCount, Space, evaluate_user_formulas
from symscreen.expansion.validity import (
    compute_feature_stats,
    find_projected_duplicates,
    is_constant,
    is_provably_valid,
)
from symscreen.messages import hint_option, name_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen._limits import DeadlineCheck
    from symscreen.expansion.operator_tasks import PoolUnits
    from symscreen.expansion.pool import Pool
    from symscreen.expansion.pruning import MapFunction
    from symscreen.expansion.space import UserFormulas
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Grammar, Layer, Operator
    from symscreen.units import Units


PoolKind = Literal["cumulative", "strict"]
_BATCH_CANDIDATES = 1 << 18  # candidates processed together; a multiple of 8
_LONG_LAYER_CANDIDATES = 1 << 20  # candidates; shorter layers take less than a second and ignore the deadline
_LONG_LAYER_VALUES = 1 << 25  # computed values; the same limit for evaluation


def find_carried_over(pool: Pool, pool_kind: PoolKind) -> NDArray[np.int64]:
    """Return the indices of the members that the next pool keeps: all, or only the constants."""
    return np.arange(len(pool)) if pool_kind == "cumulative" else pool.constant_indices


def filter_layer(
    pool: Pool,
    layer: Layer,
    grammar: Grammar,
    carried_over: NDArray[np.int64],
    *,
    has_next_layer: bool,
    user_formulas: UserFormulas | None = None,
    max_bytes: int | None,
    reserved_bytes: int = 0,
    map_function: MapFunction = map,
    check_deadline: DeadlineCheck = ignore_deadline,
) -> tuple[Candidates, NDArray[np.uint8], NDArray[np.int64]]:
    """Enumerate the candidates of a layer and decide which of them to compute.

    Parameters
    ----------
    pool : Pool
        The pool that the layer is applied to.
    layer : Layer
        The layer.
    grammar : Grammar
        The rules.
    carried_over : int64 array, shape (s,)
        Indices of the members that the next pool keeps.
    has_next_layer : bool
        Whether another layer follows.
    user_formulas : UserFormulas, optional
        Formulas given by the user. Candidates equal to one of them are duplicates.
    max_bytes, reserved_bytes, map_function, check_deadline
        See `expand`.

    Returns
    -------
    Candidates
        The candidates of the layer.
    uint8 array, shape (candidates.total,)
        Status of each candidate.
    int64 array
        The entries of `carried_over` that no simpler candidate replaces.

    Raises
    ------
    DeadlineExceeded
        If `check_deadline` raises it during a long layer.
    """
    candidates = enumerate_candidates(layer, pool.symbols, len(pool), pool.applied_counts)
    check_deadline = check_deadline if candidates.total > _LONG_LAYER_CANDIDATES else ignore_deadline
    filter_bytes = (
        estimate_filter_bytes(candidates.total) - candidates.total + estimate_block_bytes(pool.n_rows)
    )
    needed = pool.estimate_bytes(0) + candidates.total + max(filter_bytes, reserved_bytes)
    # before the first layer, there is no pool to prune
    hints = (
        REDUCTION_HINTS
        if pool.nodes.layer.any()
        else ("use fewer operators", f"leave out inputs{hint_option('exclude')}")
    )
    check_memory(needed, max_bytes, f"a layer of {candidates.total:,} candidates", hints)
    user_keys = pool.nodes.keys[:0] if user_formulas is None else user_formulas.metadata.keys
    existing_keys = np.concatenate((pool.nodes.keys[carried_over], user_keys))
    nodes = pool.nodes.take(carried_over)
    rules = compile_rules(grammar, pool.symbols)
    member_ranks = compute_tie_break_rank(
        nodes.complexity,
        rules.count_forbidden(nodes.operator_mask, nodes.allowed_mask, nodes.operator)
        if has_next_layer
        else None,
    )
    # user formulas are never replaced
    tie_break_ranks = np.concatenate((member_ranks, np.full(len(user_keys), -1, dtype=np.int32)))
    excluded: dict[int, CandidateStatus] = {}
    checked = np.zeros(-(-candidates.total // 8), dtype=np.uint8)
    while True:
        result = filter_candidates(
            candidates,
            pool.symbols,
            pool.nodes,
            grammar,
            domain_masks=pool.compute_domain_masks(layer.operators),
            existing_keys=existing_keys,
            tie_break_ranks=tie_break_ranks,
            has_next_layer=has_next_layer,
            excluded=excluded,
            units=_select_relevant_units(pool, has_next_layer=has_next_layer),
            map_function=map_function,
            check_deadline=check_deadline,
        )
        # a duplicate may only be dropped if the values of its representative are valid
        invalid = _find_invalid(
            pool, candidates, result.representatives & ~checked, map_function, check_deadline
        )
        if not invalid:
            return (
                candidates,
                result.statuses,
                carried_over[result.replaced_by[: len(carried_over)] < 0],
            )
        checked |= result.representatives  # those that are invalid are excluded in the next pass
        excluded |= invalid


def _select_relevant_units(pool: Pool, *, has_next_layer: bool) -> PoolUnits | None:
    """Return the units of the pool; only the last layer must have the units of the target."""
    if pool.member_units is None or not has_next_layer:
        return pool.member_units
    return replace(pool.member_units, target_exponents=None)


def _find_invalid(
    pool: Pool,
    candidates: Candidates,
    chosen_bits: NDArray[np.uint8],
    map_function: MapFunction,
    check_deadline: DeadlineCheck,
) -> dict[int, CandidateStatus]:
    """Find the undefined and constant ones among candidates packed as bits, shape (ceil(total / 8),)."""
    if pool.feature_stats is None:
        return {}
    batch_starts = range(0, candidates.total, _BATCH_CANDIDATES)
    tasks = [
        (first, batch_bits)
        for first in batch_starts
        if (batch_bits := chosen_bits[first // 8 : (first + _BATCH_CANDIDATES) // 8]).any()
    ]
    results = map_function(partial(_find_invalid_in_task, pool, candidates, check_deadline), tasks)
    return {number: status for result in results for number, status in result.items()}


def _find_invalid_in_task(
    pool: Pool, candidates: Candidates, check_deadline: DeadlineCheck, task: tuple[int, NDArray[np.uint8]]
) -> dict[int, CandidateStatus]:
    """Find the undefined and constant candidates of one batch of bits."""
    check_deadline()
    first, chosen_bits = task
    numbers = first + np.flatnonzero(np.unpackbits(chosen_bits))
    numbers = numbers[~is_provably_valid(pool, candidates, numbers)]
    valid_numbers = []
    for block in evaluate_candidates(candidates, pool, numbers):
        check_deadline()
        valid_numbers.append(block.numbers)
    invalid = {}
    for number in np.setdiff1d(numbers, np.concatenate((numbers[:0], *valid_numbers))):
        n_invalid = next(evaluate_candidates(candidates, pool, np.array([number]))).n_invalid
        invalid[int(number)] = (
            CandidateStatus.UNDEFINED if n_invalid[CandidateStatus.UNDEFINED] else CandidateStatus.CONSTANT
        )
    return invalid


def count_applied(
    pool: Pool, layer: Layer, carried_over: NDArray[np.int64], pool_kind: PoolKind
) -> dict[Operator, int]:
    """Return, for each operator, the size of the prefix of the next pool that it has been applied to."""
    if pool_kind == "strict":
        return {}
    applied = {**pool.applied_counts, **dict.fromkeys(layer.operators, len(pool))}
    return {operator: int(np.searchsorted(carried_over, size)) for operator, size in applied.items()}


def append_layer(
    pool: Pool,
    layer: Layer,
    pool_kind: PoolKind,
    *,
    carried_over: NDArray[np.int64],
    candidates: Candidates,
    numbers: NDArray[np.int64],
    layer_number: int,
    check_deadline: DeadlineCheck = ignore_deadline,
) -> tuple[Pool, Counter[CandidateStatus]]:
    """Make the next pool: the members that are kept, followed by the features of a layer.

    Parameters
    ----------
    pool, layer, pool_kind
        The pool, the layer that is applied to it, and the kind of pool, see `expand`.
    carried_over : int64 array, shape (s,)
        Indices of the members to keep.
    candidates : Candidates
        Candidates of the layer.
    numbers : int64 array, shape (m,), ascending
        Candidate numbers to append.
    layer_number : int
        Number of the layer.
    check_deadline : callable, optional
        Called for each block of a long layer. An exception that it raises ends the evaluation.

    Returns
    -------
    Pool
        Of features that are equal up to rounding, only the simplest is kept.
    Counter of CandidateStatus
        Number of features excluded because of their values.
    """
    if pool.feature_stats is None:
        new_nodes = pool.apply_operators(*candidates.locate(numbers), layer_number)
        return pool.extend(
            carried_over, new_nodes, None, count_applied(pool, layer, carried_over, pool_kind)
        ), Counter()
    values = None
    if not pool.recomputes_values:
        values = np.empty((len(carried_over) + len(numbers), pool.n_rows))
        values[: len(carried_over)] = pool.compute_values(carried_over)
    block_numbers, block_stats, end, n_invalid = (
        [numbers[:0]],
        [pool.feature_stats.take(carried_over)],
        len(carried_over),
        Counter[CandidateStatus](),
    )
    check_deadline = check_deadline if len(numbers) * pool.n_rows > _LONG_LAYER_VALUES else ignore_deadline
    for block in evaluate_candidates(candidates, pool, numbers):
        check_deadline()
        block_numbers.append(block.numbers)
        block_stats.append(compute_feature_stats(block.values))
        start, end = end, end + len(block.numbers)
        if values is not None:
            values[start:end] = block.values
        n_invalid.update(block.n_invalid)
    new_nodes = pool.apply_operators(*candidates.locate(np.concatenate(block_numbers)), layer_number)
    feature_stats = block_stats[0].concatenate(*block_stats[1:])
    used_values = None if values is None else values[:end]
    distinct = find_distinct_features(
        pool.extend(carried_over, new_nodes, used_values, {}, feature_stats), len(carried_over)
    )
    n_invalid[CandidateStatus.NUMERIC_DUPLICATE] = len(distinct) - int(np.count_nonzero(distinct))
    old, kept = carried_over[distinct[: len(carried_over)]], np.flatnonzero(distinct)
    if values is not None:
        used_values = _compact_rows(values, kept)
    new_nodes = new_nodes.take(kept[len(old) :] - len(carried_over))
    return pool.extend(
        old, new_nodes, used_values, count_applied(pool, layer, old, pool_kind), feature_stats.take(kept)
    ), n_invalid


def _compact_rows(values: NDArray[np.float64], kept: NDArray[np.int64]) -> NDArray[np.float64]:
    """Move the kept rows (ascending indices) to the front, without a second array of that size."""
    step = compute_block_size(values.shape[1])
    for first in range(0, len(kept), step):
        batch = kept[first : first + step]
        values[first : first + len(batch)] = values[batch]
    return values[: len(kept)]


def find_distinct_features(pool: Pool, n_old: int) -> NDArray[np.bool_]:
    """Find the features to keep: of equal ones the simplest, and of equally simple ones the first.

    Parameters
    ----------
    pool : Pool
        Old features followed by new ones. Features that allow different operators or have different units are
        not compared.
    n_old : int
        Number of old features.

    Returns
    -------
    bool array, shape (q,)
        Whether each feature is kept. Old features are distinct, so only a new feature can replace an old one.
    """
    assert pool.feature_stats is not None  # noqa: S101  # callers make sure that values are available
    distinct = np.ones(len(pool), dtype=np.bool_)
    for group in _group_comparable(pool):
        preference = np.empty(len(group), dtype=np.int64)
        preference[np.argsort(pool.nodes.complexity[group], kind="stable")] = np.arange(len(group))
        projections, compute_values_at = (
            pool.feature_stats.projection[group],
            partial(_compute_values_at, pool, group),
        )
        representatives = group[
            find_projected_duplicates(projections, compute_values_at, pool.n_rows, preference)
        ]
        distinct[group] = (representatives == group) | ((group < n_old) & (representatives < n_old))
    return distinct


def _group_comparable(pool: Pool) -> Iterator[NDArray[np.int64]]:
    """Yield groups of members, as indices; features with equal values are merged within a group."""
    unit_ids = 0 if pool.member_units is None else pool.member_units.unit_ids
    for allowed_mask in np.unique(pool.nodes.allowed_mask):
        same_mask = pool.nodes.allowed_mask == allowed_mask
        for unit_id in np.unique(unit_ids):
            group = np.flatnonzero(same_mask & (unit_ids == unit_id))
            if len(group):
                yield group


def _compute_values_at(
    pool: Pool, indices: NDArray[np.int64], selected: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Compute the values, shape (m, n), of selected entries of `indices`."""
    return pool.compute_values(indices[selected])


def count_excluded(
    statuses: NDArray[np.uint8], n_invalid: Counter[CandidateStatus] | None = None
) -> dict[CandidateStatus, int]:
    """Count the excluded candidates by reason."""
    counts = np.zeros(len(CandidateStatus), dtype=np.int64)
    for first in range(
        0, len(statuses), _BATCH_CANDIDATES
    ):  # in batches, because bincount converts bytes to int64
        counts += np.bincount(statuses[first : first + _BATCH_CANDIDATES], minlength=len(CandidateStatus))
    n_excluded = Counter(
        {status: int(counts[status]) for status in CandidateStatus if status is not CandidateStatus.KEPT}
    )
    return dict(n_excluded + (n_invalid or Counter()))


@dataclass(frozen=True, eq=False)
class PoolPruning:
    """The features of a space that are kept when the pool is pruned.

    Parameters
    ----------
    numbers : int64 array, shape (k,)
        Numbers of the features to keep. Inputs are always kept.
    n_invalid : mapping of CandidateStatus to int
        Number of candidates of the layer with invalid values.
    """

    numbers: NDArray[np.int64]
    n_invalid: Mapping[CandidateStatus, int]


def prune_pool(
    space: Space, layer: Layer, pruning: PoolPruning, pool_kind: PoolKind
) -> tuple[Pool, LayerCount]:
    """Make the pool that the next layer is applied to from selected features of a space.

    Parameters
    ----------
    space : Space
        The space that the layer made.
    layer : Layer
        The layer.
    pruning : PoolPruning
        The features to keep. Inputs and constants are always kept.
    pool_kind : {"cumulative", "strict"}
        See `expand`. Features that a strict pool has replaced cannot be kept.

    Returns
    -------
    Pool
        Old features followed by new ones, each in the order of their numbers.
    LayerCount
        Counts of the layer, including pruned features.
    """
    pool, numbers = space.pool, np.unique(pruning.numbers)
    layer_number = len(space.layer_counts) - 1
    older = space.pool_indices[numbers[numbers < len(space.pool_indices)]]
    inputs = space.pool_indices[pool.nodes.layer[space.pool_indices] == 0]
    carried_over = np.unique(np.concatenate((pool.constant_indices, inputs, older)))
    new_numbers = numbers[numbers >= space.n_materialized] - space.n_materialized
    next_pool, n_lost = append_layer(
        pool,
        layer,
        pool_kind,
        carried_over=carried_over,
        candidates=space.candidates,
        numbers=new_numbers,
        layer_number=layer_number,
    )
    n_lost = Counter(
        {CandidateStatus.NUMERIC_DUPLICATE: n_lost[CandidateStatus.NUMERIC_DUPLICATE]}
    ) + Counter(pruning.n_invalid)
    n_valid = space.size - sum(pruning.n_invalid.values())
    n_lost[CandidateStatus.PRUNED] = (
        n_valid - n_lost[CandidateStatus.NUMERIC_DUPLICATE] - len(next_pool.feature_indices)
    )
    n_excluded = Counter(space.layer_counts[-1].n_excluded) + n_lost
    return next_pool, LayerCount(
        layer_number, layer.kind, space.candidates.total, dict(n_excluded), len(next_pool.feature_indices)
    )


_SEARCH_RESERVED_BYTES = 100_000_000  # bytes that a search needs in addition to scoring
_MEMBER_BYTES = 300  # bytes per pool member without values


def expand(
    names: Sequence[str],
    columns: NDArray[np.float64] | None,
    grammar: Grammar,
    layers: Sequence[Layer],
    pool_kind: PoolKind = "cumulative",
    *,
    also: Sequence[Expression] = (),
    prune: Callable[[Space], PoolPruning] | None = None,
    max_bytes: int | None = None,
    reserved_bytes: int = 0,
    map_function: MapFunction = map,
    recompute_pool: bool = False,
    units: Units | None = None,
    check_deadline: DeadlineCheck = ignore_deadline,
) -> Space:
    """Grow the pool through all layers but the last, and filter the last layer.

    Parameters
    ----------
    names : sequence of str
        Names of the d inputs.
    columns : float64 array, shape (d, n), or None
        Values of the inputs. None to count by structure alone, which gives an upper bound of the size.
    grammar : Grammar
        Rules and constants.
    layers : sequence of Layer
        Layers to apply, at least one.
    pool_kind : {"cumulative", "strict"}
        Whether the output of a layer is added to the pool or replaces it.
    also : sequence of Expression
        Formulas to add to the space if it does not contain them.
    prune : callable, optional
        Selects the features that the next layer is applied to. Called with the space after each layer but
        the last. Those layers are then streamed too, and never stored whole. Requires values.
    max_bytes : int, optional
        Memory limit of this process in bytes.
    reserved_bytes : int
        Memory in bytes that later steps need in addition to pool and candidates.
    map_function : callable, optional
        Maps a function over tasks, in order, like the built-in `map`; possibly in threads. Does not affect
        the result.
    recompute_pool : bool
        Whether to store only the values of the inputs, and to recompute other features on demand. Does not
        affect the result.
    units : Units, optional
        Units of the inputs. Only formulas that have a unit are made. If a target unit is given, the features
        of the last layer have that unit.
    check_deadline : callable, optional
        Called repeatedly during long layers. Raises `DeadlineExceeded` to stop.

    Returns
    -------
    Space
        If the deadline is exceeded, the space of the completed layers.

    Raises
    ------
    DataError
        If every input is constant.
    FormulaError
        If a formula of `also` is constant, or undefined in some row.
    GrammarError
        If the layers use more than 64 operators.
    OptionError
        If `pool_kind` is invalid.
    MemoryLimitError
        If the process would need more than `max_bytes`. Raised before large arrays are allocated.

    Examples
    --------
    >>> from symscreen.grammar import load_grammar
    >>> grammar = load_grammar("ablation")
    >>> expand(["x1", "x2", "x3"], None, grammar, grammar.resolve_layers("bu"), "strict").size
    24
    """
    if pool_kind not in {"cumulative", "strict"}:
        raise OptionError(f"pool is {pool_kind!r}; it must be 'cumulative' or 'strict'")
    config = LayerConfig(grammar, pool_kind, max_bytes, reserved_bytes, map_function, check_deadline)
    pool, count = clean_inputs(
        build_first_pool(
            build_symbol_table(names, grammar, layers),
            grammar,
            columns,
            recompute_pool=recompute_pool,
            units=units,
        )
    )
    layer_counts, layer_number = [count], 1
    columns_by_name = None if columns is None else dict(zip(names, columns, strict=True))
    try:
        for layer_number, layer in enumerate(layers[:-1], start=1):
            if prune is None:
                following = layers[layer_number] if pool.feature_stats is None else None
                pool, count = add_layer(pool, layer, config, layer_number=layer_number, next_layer=following)
            else:
                space = build_streamed_space(
                    pool, layer, config, columns_by_name, has_next_layer=True, layer_counts=layer_counts
                )
                pool, count = prune_pool(space, layer, prune(space), pool_kind)
            layer_counts.append(count)
        layer_number = len(layers)
        return build_streamed_space(
            pool, layers[-1], config, columns_by_name, also=also, layer_counts=layer_counts
        )
    except DeadlineExceeded:
        return _build_incomplete_space(pool, columns_by_name, also, layer_counts, layer_number)


@dataclass(frozen=True, eq=False)
class LayerConfig:
    """How layers are grown. The fields are arguments of `expand`."""

    grammar: Grammar
    pool_kind: PoolKind
    max_bytes: int | None
    reserved_bytes: int = 0
    map_function: MapFunction = map
    check_deadline: DeadlineCheck = ignore_deadline


def add_layer(
    pool: Pool, layer: Layer, config: LayerConfig, *, layer_number: int, next_layer: Layer | None
) -> tuple[Pool, LayerCount]:
    """Append a whole layer to the pool.

    While only counting, this also checks the memory that filtering the next layer would need.

    Parameters
    ----------
    pool : Pool
        The pool that the layer is applied to.
    layer : Layer
        The layer.
    config : LayerConfig
        How the layer is grown.
    layer_number : int
        Number of the layer, from 1.
    next_layer : Layer or None
        The layer that would be filtered next.

    Returns
    -------
    Pool
        The next pool.
    LayerCount
        Counts of the layer.
    """
    carried_over = find_carried_over(pool, config.pool_kind)
    candidates, statuses, not_replaced = filter_layer(
        pool,
        layer,
        config.grammar,
        carried_over,
        has_next_layer=True,
        max_bytes=config.max_bytes,
        reserved_bytes=config.reserved_bytes,
        map_function=config.map_function,
        check_deadline=config.check_deadline,
    )
    n_replaced, size = (
        len(carried_over) - len(not_replaced),
        len(not_replaced) + int((statuses == CandidateStatus.KEPT).sum()),
    )
    pool_bytes = pool.estimate_bytes(size) + max(config.reserved_bytes, estimate_block_bytes(pool.n_rows))
    recompute_bytes = (
        pool_bytes - pool.estimate_bytes(size) + _SEARCH_RESERVED_BYTES + (len(pool) + size) * _MEMBER_BYTES
    )
    recompute_fits = not pool.recomputes_values and has_memory_for(recompute_bytes, config.max_bytes)
    hints = (
        (*REDUCTION_HINTS, f"use {name_option('search', 'sieve')}, which holds no pool")
        if recompute_fits
        else REDUCTION_HINTS
    )
    check_memory(
        pool_bytes, config.max_bytes, f"a pool of {size:,} features after layer {layer_number}", hints
    )
    if next_layer is not None:
        applied = count_applied(pool, layer, not_replaced, config.pool_kind)
        next_candidates = enumerate_candidates(next_layer, pool.symbols, size, applied)
        check_memory(
            estimate_filter_bytes(next_candidates.total),
            config.max_bytes,
            f"a layer of {next_candidates.total:,} candidates",
        )
    kept = np.flatnonzero(statuses == CandidateStatus.KEPT)
    pool, n_invalid = append_layer(
        pool,
        layer,
        config.pool_kind,
        carried_over=not_replaced,
        candidates=candidates,
        numbers=kept,
        layer_number=layer_number,
        check_deadline=config.check_deadline,
    )
    n_invalid[CandidateStatus.DUPLICATE] += n_replaced
    return pool, LayerCount(
        layer_number,
        layer.kind,
        candidates.total,
        count_excluded(statuses, n_invalid),
        len(pool.feature_indices),
    )


def build_streamed_space(
    pool: Pool,
    layer: Layer,
    config: LayerConfig,
    columns: Mapping[str, NDArray[np.float64]] | None,
    *,
    has_next_layer: bool = False,
    also: Sequence[Expression] = (),
    layer_counts: Sequence[LayerCount],
) -> Space:
    """Filter a layer that will be streamed, and return the space of the kept members and the layer."""
    carried_over = find_carried_over(pool, config.pool_kind)
    user_formulas = evaluate_user_formulas(
        also, columns, pool.nodes.keys[np.intersect1d(carried_over, pool.feature_indices)]
    )
    candidates, statuses, not_replaced = filter_layer(
        pool,
        layer,
        config.grammar,
        carried_over,
        has_next_layer=has_next_layer,
        user_formulas=user_formulas,
        max_bytes=config.max_bytes,
        reserved_bytes=config.reserved_bytes,
        map_function=config.map_function,
        check_deadline=config.check_deadline,
    )
    base = np.intersect1d(not_replaced, pool.feature_indices)
    in_space = base if has_next_layer else _select_target_units(pool, base)
    space = Space(pool, in_space, user_formulas, candidates, statuses, ())
    n_dropped = {
        CandidateStatus.DUPLICATE: len(carried_over) - len(not_replaced),
        CandidateStatus.OTHER_UNITS: len(base) - len(in_space),
    }
    n_excluded = count_excluded(statuses, Counter(n_dropped))
    layer_count = LayerCount(len(layer_counts), layer.kind, candidates.total, n_excluded, space.size)
    return replace(space, layer_counts=(*layer_counts, layer_count))


def _build_incomplete_space(
    pool: Pool,
    columns: Mapping[str, NDArray[np.float64]] | None,
    also: Sequence[Expression],
    layer_counts: Sequence[LayerCount],
    stopped_at_layer: int,
) -> Space:
    """Return the space of the completed layers, as if no more layers were requested."""
    in_space = _select_target_units(pool, pool.feature_indices)
    user_formulas = evaluate_user_formulas(also, columns, pool.nodes.keys[pool.feature_indices])
    no_candidates = Candidates((), 0)
    n_dropped = {CandidateStatus.OTHER_UNITS: len(pool.feature_indices) - len(in_space)}
    n_excluded = Counter(layer_counts[-1].n_excluded) + Counter(n_dropped)
    last_count = replace(
        layer_counts[-1],
        n_excluded=dict(n_excluded),
        n_features=len(in_space) + len(user_formulas.expressions),
    )
    return Space(
        pool,
        in_space,
        user_formulas,
        no_candidates,
        np.zeros(0, np.uint8),
        (*layer_counts[:-1], last_count),
        stopped_at_layer=stopped_at_layer,
    )


def _select_target_units(pool: Pool, indices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of the members that have the units of the target, if one is given."""
    if pool.member_units is None or pool.member_units.target_exponents is None:
        return indices
    return indices[pool.member_units.matches_target[indices]]


def clean_inputs(pool: Pool) -> tuple[Pool, LayerCount]:
    """Drop inputs that are constant or repeat another input."""
    n_generated = len(pool.feature_indices)
    if pool.feature_stats is None:
        return pool, LayerCount(0, "inputs", n_generated, {}, n_generated)
    constant = is_constant(pool.feature_stats.low, pool.feature_stats.high, pool.max_abs)
    if constant[pool.feature_indices].all():
        raise DataError(
            "every input is constant, so no features can be built; choose other "
            f"inputs{hint_option('inputs')}"
        )
    constant[pool.constant_indices] = False
    n_constants = len(pool.constant_indices)
    pool = pool.select(np.flatnonzero(~constant))
    distinct = find_distinct_features(pool, n_constants)
    n_excluded = Counter(
        {
            CandidateStatus.CONSTANT: int(constant.sum()),
            CandidateStatus.NUMERIC_DUPLICATE: int((~distinct).sum()),
        }
    )
    pool = pool.select(np.flatnonzero(distinct))
    return pool, LayerCount(0, "inputs", n_generated, dict(+n_excluded), len(pool.feature_indices))
