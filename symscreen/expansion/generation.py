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

from symscreen._limits import (
    REDUCTION_HINTS,
    DeadlineExceeded,
    check_memory,
    has_memory_for,
    ignore_deadline,
    read_resident_bytes,
)
from symscreen.data import NO_INDICATORS
from symscreen.errors import DataError, OptionError
from symscreen.expansion._kernels import CandidateStatus
from symscreen.expansion.candidate_filter import (
    choose_pass_entries,
    estimate_filter_bytes,
    filter_candidates,
)
from symscreen.expansion.candidates import Candidates, enumerate_candidates
from symscreen.expansion.feature_values import compute_block_size, estimate_block_bytes, evaluate_candidates
from symscreen.expansion.nodes import build_symbol_table
from symscreen.expansion.operator_tasks import compile_rules, compute_tie_break_rank
from symscreen.expansion.pool import build_first_pool
from symscreen.expansion.space import LayerCount, Space, UserFormulas, evaluate_user_formulas
from symscreen.expansion.validity import (
    compute_feature_stats,
    find_projected_duplicates,
    is_constant,
    is_provably_valid,
)
from symscreen.messages import hint_option, name_option, name_subject, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen._limits import DeadlineCheck
    from symscreen.config.screen_options import SpaceOptions
    from symscreen.data import DerivedColumn
    from symscreen.expansion.candidate_filter import MapFunction
    from symscreen.expansion.operator_tasks import PoolUnits
    from symscreen.expansion.pool import Pool
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Grammar, Layer, Operator
    from symscreen.units import Units


PoolKind = Literal["cumulative", "strict"]
_BATCH_CANDIDATES = 1 << 18  # candidates processed together; a multiple of 8
_LONG_LAYER_CANDIDATES = 1 << 20  # candidates; shorter layers take less than a second and ignore the deadline
_LONG_LAYER_VALUES = 1 << 25  # computed values; the same limit for evaluation

_SEARCH_RESERVED_BYTES = 100_000_000  # bytes that a search needs in addition to scoring
_MEMBER_BYTES = 300  # bytes per pool member without values


@dataclass(frozen=True, eq=False)
class LayerConfig:
    """How layers are grown. The fields are arguments of `expand`."""

    grammar: Grammar
    pool_kind: PoolKind
    options: SpaceOptions
    max_bytes: int | None
    reserved_bytes: int = 0
    map_function: MapFunction = map
    check_deadline: DeadlineCheck = ignore_deadline

    def ignore_deadline_unless(self, *, is_long: bool) -> LayerConfig:
        """Return the configuration of a layer, which ignores the deadline if it is short."""
        return self if is_long else replace(self, check_deadline=ignore_deadline)


def find_carried_over(pool: Pool, pool_kind: PoolKind) -> NDArray[np.int64]:
    """Return the indices of the members that the next pool keeps: all, or only the constants."""
    return np.arange(len(pool)) if pool_kind == "cumulative" else pool.constant_indices


def filter_layer(
    pool: Pool,
    layer: Layer,
    config: LayerConfig,
    carried_over: NDArray[np.int64],
    *,
    has_next_layer: bool,
    user_formulas: UserFormulas | None = None,
) -> tuple[Candidates, NDArray[np.uint8], NDArray[np.int64]]:
    """Enumerate the candidates of a layer and decide which of them to compute.

    Parameters
    ----------
    pool, layer, config
        The pool, the layer that is applied to it, and how layers are grown.
    carried_over : int64 array, shape (s,)
        Indices of the members that the next pool keeps.
    has_next_layer : bool
        Whether another layer follows.
    user_formulas : UserFormulas, optional
        Formulas given by the user. Candidates equal to one of them are duplicates.

    Returns
    -------
    Candidates
        The candidates of the layer.
    uint8 array, shape (candidates.total,)
        Status of each candidate.
    int64 array
        The entries of `carried_over` that no simpler candidate replaces.
    """
    candidates = enumerate_candidates(layer, pool.symbols, len(pool), pool.applied_counts)
    config = config.ignore_deadline_unless(is_long=candidates.total > _LONG_LAYER_CANDIDATES)
    filter_bytes = estimate_filter_bytes(candidates.total) + estimate_block_bytes(pool.n_rows)
    needed = pool.estimate_bytes(0) + max(filter_bytes, candidates.total + config.reserved_bytes)
    # the first layer has no pool to prune
    has_pool = pool.nodes.layer.any()
    hints = (
        REDUCTION_HINTS if has_pool else ("use fewer operators", f"leave out inputs{hint_option('exclude')}")
    )
    check_memory(needed, config.max_bytes, f"a layer of {candidates.total:,} candidates", hints)
    free_bytes = None if config.max_bytes is None else config.max_bytes - read_resident_bytes() - needed
    user_keys = pool.nodes.keys[:0] if user_formulas is None else user_formulas.metadata.keys
    nodes, n_forbidden = pool.nodes.take(carried_over), None
    if has_next_layer:
        rules = compile_rules(config.grammar, pool.symbols)
        n_forbidden = rules.count_forbidden(nodes.operator_mask, nodes.allowed_mask, nodes.operator)
    member_ranks = compute_tie_break_rank(nodes.complexity, n_forbidden)
    excluded: dict[int, CandidateStatus] = {}
    checked = np.zeros(-(-candidates.total // 8), dtype=np.uint8)
    while True:
        result = filter_candidates(
            candidates,
            pool.symbols,
            pool.nodes,
            config.grammar,
            domain_masks=pool.compute_domain_masks(layer.operators),
            range_masks=pool.compute_range_masks(config.grammar.max_range),
            existing_keys=np.concatenate((nodes.keys, user_keys)),
            # user formulas are never replaced
            tie_break_ranks=np.concatenate((member_ranks, np.full(len(user_keys), -1, dtype=np.int32))),
            has_next_layer=has_next_layer,
            excluded=excluded,
            units=_select_relevant_units(pool, has_next_layer=has_next_layer),
            map_function=config.map_function,
            check_deadline=config.check_deadline,
            pass_entries=choose_pass_entries(candidates.total, free_bytes),
        )
        # a duplicate may only be dropped if the values of its representative are valid
        invalid = _find_invalid(pool, candidates, result.representatives & ~checked, config)
        if not invalid:
            return candidates, result.statuses, carried_over[result.replaced_by[: len(carried_over)] < 0]
        checked |= result.representatives  # those that are invalid are excluded in the next pass
        excluded |= invalid


def _select_relevant_units(pool: Pool, *, has_next_layer: bool) -> PoolUnits | None:
    """Return the units of the pool; only the last layer must have the units of the target."""
    if pool.member_units is None or not has_next_layer:
        return pool.member_units
    return replace(pool.member_units, target_exponents=None)


def _find_invalid(
    pool: Pool, candidates: Candidates, chosen_bits: NDArray[np.uint8], config: LayerConfig
) -> dict[int, CandidateStatus]:
    """Find the undefined and constant ones among candidates packed as bits, shape (ceil(total / 8),)."""
    if pool.feature_stats is None:
        return {}
    tasks = [
        (first, batch_bits)
        for first in range(0, candidates.total, _BATCH_CANDIDATES)
        if (batch_bits := chosen_bits[first // 8 : (first + _BATCH_CANDIDATES) // 8]).any()
    ]
    find_in_task = partial(_find_invalid_in_task, pool, candidates, config.check_deadline)
    results = config.map_function(find_in_task, tasks)
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
    config: LayerConfig,
    *,
    carried_over: NDArray[np.int64],
    candidates: Candidates,
    numbers: NDArray[np.int64],
    layer_number: int,
) -> tuple[Pool, Counter[CandidateStatus]]:
    """Make the next pool: the members that are kept, followed by the features of a layer.

    Parameters
    ----------
    pool, layer, config
        The pool, the layer that is applied to it, and how layers are grown.
    carried_over : int64 array, shape (s,)
        Indices of the members to keep.
    candidates : Candidates
        Candidates of the layer.
    numbers : int64 array, shape (m,), ascending
        Candidate numbers to append.
    layer_number : int
        Number of the layer.

    Returns
    -------
    Pool
        The pool, with only the simplest of features that are equal up to rounding.
    Counter of CandidateStatus
        Number of features excluded because of their values.
    """
    if pool.feature_stats is None:
        new_nodes = pool.apply_operators(*candidates.locate(numbers), layer_number)
        applied_counts = count_applied(pool, layer, carried_over, config.pool_kind)
        return pool.extend(carried_over, new_nodes, None, applied_counts), Counter()
    values, n_old = None, len(carried_over)
    if not pool.recomputes_values:
        values = np.empty((n_old + len(numbers), pool.n_rows))
        values[:n_old] = pool.compute_values(carried_over)
    block_numbers, block_stats = [numbers[:0]], [pool.feature_stats.take(carried_over)]
    end, n_invalid = n_old, Counter[CandidateStatus]()
    config = config.ignore_deadline_unless(is_long=len(numbers) * pool.n_rows > _LONG_LAYER_VALUES)
    for block in evaluate_candidates(candidates, pool, numbers):
        config.check_deadline()
        block_numbers.append(block.numbers)
        block_stats.append(compute_feature_stats(block.values))
        start, end = end, end + len(block.numbers)
        if values is not None:
            values[start:end] = block.values
        n_invalid.update(block.n_invalid)
    new_nodes = pool.apply_operators(*candidates.locate(np.concatenate(block_numbers)), layer_number)
    feature_stats = block_stats[0].concatenate(*block_stats[1:])
    used_values = None if values is None else values[:end]
    all_features = pool.extend(carried_over, new_nodes, used_values, {}, feature_stats)
    kept = np.flatnonzero(find_distinct_features(all_features, n_old))
    n_invalid[CandidateStatus.NUMERIC_DUPLICATE] = len(all_features) - len(kept)
    old = carried_over[kept[kept < n_old]]
    if values is not None:
        used_values = _compact_rows(values, kept)
    new_nodes = new_nodes.take(kept[len(old) :] - n_old)
    applied_counts = count_applied(pool, layer, old, config.pool_kind)
    return pool.extend(old, new_nodes, used_values, applied_counts, feature_stats.take(kept)), n_invalid


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
        compute_values_at = partial(_compute_values_at, pool, group)
        projections = pool.feature_stats.projection[group]
        duplicates = find_projected_duplicates(projections, compute_values_at, pool.n_rows, preference)
        representatives = group[duplicates]
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
    # in batches, because bincount converts bytes to int64
    for first in range(0, len(statuses), _BATCH_CANDIDATES):
        counts += np.bincount(statuses[first : first + _BATCH_CANDIDATES], minlength=len(CandidateStatus))
    counts[CandidateStatus.KEPT] = 0
    n_excluded = Counter(dict(zip(CandidateStatus, counts.tolist(), strict=True)))
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
    space: Space, layer: Layer, pruning: PoolPruning, config: LayerConfig
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
    config : LayerConfig
        How layers are grown. Features that a strict pool has replaced cannot be kept.

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
    next_pool, n_lost = append_layer(
        pool,
        layer,
        replace(config, check_deadline=ignore_deadline),
        carried_over=carried_over,
        candidates=space.candidates,
        numbers=numbers[numbers >= space.n_materialized] - space.n_materialized,
        layer_number=layer_number,
    )
    n_features, n_duplicates = len(next_pool.feature_indices), n_lost[CandidateStatus.NUMERIC_DUPLICATE]
    n_excluded = Counter({CandidateStatus.NUMERIC_DUPLICATE: n_duplicates}) + Counter(pruning.n_invalid)
    n_valid = space.size - sum(pruning.n_invalid.values())
    n_excluded[CandidateStatus.PRUNED] = n_valid - n_excluded[CandidateStatus.NUMERIC_DUPLICATE] - n_features
    n_excluded = Counter(space.layer_counts[-1].n_excluded) + n_excluded
    return next_pool, LayerCount(
        layer_number, layer.kind, space.candidates.total, dict(n_excluded), n_features
    )


def prune_inputs(
    pool: Pool, count: LayerCount, prune: Callable[[Space], PoolPruning]
) -> tuple[Pool, LayerCount]:
    """Keep the inputs that `prune` selects, and the constants; count the others as pruned."""
    inputs = pool.feature_indices
    no_formulas = UserFormulas((), np.empty((0, pool.n_rows)))
    space = Space(pool, inputs, no_formulas, Candidates((), 0), np.zeros(0, np.uint8), (count,))
    kept = inputs[np.unique(prune(space).numbers)]
    n_excluded = Counter(count.n_excluded) + Counter({CandidateStatus.PRUNED: len(inputs) - len(kept)})
    pool = pool.select(np.union1d(pool.constant_indices, kept))
    return pool, replace(count, n_excluded=dict(n_excluded), n_features=len(kept))


def expand(
    names: Sequence[str],
    columns: NDArray[np.float64] | None,
    grammar: Grammar,
    layers: Sequence[Layer],
    pool_kind: PoolKind = "cumulative",
    *,
    options: SpaceOptions,
    also: Sequence[Expression] = (),
    indicators: Mapping[str, DerivedColumn] = NO_INDICATORS,
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
    options : SpaceOptions
        Options of the space, for the rules that are not part of a grammar.
    also : sequence of Expression
        Formulas to add to the space if it does not contain them.
    indicators : mapping of str to DerivedColumn
        How the inputs are computed that are derived from categorical columns; the formulas carry it.
    prune : callable, optional
        Selects the features that the next layer is applied to. Called with the space after each layer but
        the last, and with the inputs if `options.pool_size` limits them. Those layers are then streamed too,
        and never stored whole. Requires values.
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
    >>> from symscreen.config.screen_options import SpaceOptions
    >>> from symscreen.grammar import load_grammar
    >>> grammar, options = load_grammar("ablation"), SpaceOptions()
    >>> layers = grammar.resolve_layers("bu")
    >>> expand(["x1", "x2", "x3"], None, grammar, layers, "strict", options=options).size
    24
    """
    if pool_kind not in {"cumulative", "strict"}:
        raise OptionError(f"{name_subject('pool')} is {quote(pool_kind)}; give cumulative or strict")
    config = LayerConfig(grammar, pool_kind, options, max_bytes, reserved_bytes, map_function, check_deadline)
    symbols = build_symbol_table(names, grammar, layers, indicators)
    first_pool = build_first_pool(symbols, grammar, columns, recompute_pool=recompute_pool, units=units)
    pool, count = clean_inputs(first_pool)
    if prune is not None and "inputs" in (options.pool_sizes or {}):
        pool, count = prune_inputs(pool, count, prune)
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
                pool, count = prune_pool(space, layer, prune(space), config)
            layer_counts.append(count)
        layer_number = len(layers)
        return build_streamed_space(
            pool, layers[-1], config, columns_by_name, also=also, layer_counts=layer_counts
        )
    except DeadlineExceeded:
        return _build_incomplete_space(pool, columns_by_name, also, layer_counts, layer_number)


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
    candidates, statuses, not_replaced = filter_layer(pool, layer, config, carried_over, has_next_layer=True)
    size = len(not_replaced) + int(np.count_nonzero(statuses == CandidateStatus.KEPT))
    work_bytes = max(config.reserved_bytes, estimate_block_bytes(pool.n_rows))
    recompute_bytes = work_bytes + _SEARCH_RESERVED_BYTES + (len(pool) + size) * _MEMBER_BYTES
    recompute_fits = not pool.recomputes_values and has_memory_for(recompute_bytes, config.max_bytes)
    hints = (
        *REDUCTION_HINTS,
        *([f"use {name_option('search', 'sieve')}, which holds no pool"] if recompute_fits else []),
    )
    what = f"a pool of {size:,} features after layer {layer_number}"
    check_memory(pool.estimate_bytes(size) + work_bytes, config.max_bytes, what, hints)
    if next_layer is not None:
        applied = count_applied(pool, layer, not_replaced, config.pool_kind)
        n_next = enumerate_candidates(next_layer, pool.symbols, size, applied).total
        check_memory(estimate_filter_bytes(n_next), config.max_bytes, f"a layer of {n_next:,} candidates")
    pool, n_invalid = append_layer(
        pool,
        layer,
        config,
        carried_over=not_replaced,
        candidates=candidates,
        numbers=np.flatnonzero(statuses == CandidateStatus.KEPT),
        layer_number=layer_number,
    )
    n_invalid[CandidateStatus.DUPLICATE] += len(carried_over) - len(not_replaced)
    n_excluded = count_excluded(statuses, n_invalid)
    return pool, LayerCount(layer_number, layer.kind, candidates.total, n_excluded, len(pool.feature_indices))


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
        pool, layer, config, carried_over, has_next_layer=has_next_layer, user_formulas=user_formulas
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
    no_candidates, no_statuses = Candidates((), 0), np.zeros(0, np.uint8)
    space = Space(pool, in_space, user_formulas, no_candidates, no_statuses, (), stopped_at_layer)
    n_dropped = Counter({CandidateStatus.OTHER_UNITS: len(pool.feature_indices) - len(in_space)})
    n_excluded = dict(Counter(layer_counts[-1].n_excluded) + n_dropped)
    last_count = replace(layer_counts[-1], n_excluded=n_excluded, n_features=space.size)
    return replace(space, layer_counts=(*layer_counts[:-1], last_count))


def _select_target_units(pool: Pool, indices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of the members that have the units of the target, if one is given."""
    if pool.member_units is None or pool.member_units.target_exponents is None:
        return indices
    return indices[pool.member_units.matches_target[indices]]


def clean_inputs(pool: Pool) -> tuple[Pool, LayerCount]:
    """Drop inputs that are constant or repeat another input.

    Raises
    ------
    DataError
        If all inputs are constant.
    """
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
    n_duplicates = int(np.count_nonzero(~distinct))
    counts = {CandidateStatus.CONSTANT: int(constant.sum()), CandidateStatus.NUMERIC_DUPLICATE: n_duplicates}
    pool = pool.select(np.flatnonzero(distinct))
    return pool, LayerCount(0, "inputs", n_generated, dict(+Counter(counts)), len(pool.feature_indices))
