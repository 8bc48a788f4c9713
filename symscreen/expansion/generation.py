"""One layer: its candidates judged, computed, and added to what stays of the pool.

A cut between two layers: of the features that a layer has made, those that the next is applied to.

From a table's columns to a space: pools grown layer by layer, the last layer judged but not computed.
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


__all__ = [
    "LayerConfig",
    "PoolKind",
    "PoolPruning",
    "add_layer",
    "append_layer",
    "build_streamed_space",
    "clean_inputs",
    "count_excluded",
    "expand",
    "filter_layer",
    "find_carried_over",
    "find_distinct_features",
    "prune_pool",
]

PoolKind = Literal["cumulative", "strict"]
_BATCH_CANDIDATES = 1 << 18  # candidates looked at together; a multiple of 8
_LONG_LAYER_CANDIDATES = (
    1 << 20
)  # candidates of a layer that may be given up; fewer are judged in less than a second
_LONG_LAYER_VALUES = 1 << 25  # the same, of values that are computed


def find_carried_over(pool: Pool, pool_kind: PoolKind) -> NDArray[np.int64]:
    """Return the places in the pool of what the next one keeps: all, or only the constants."""
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
    """Give a layer's candidates their numbers and decide which are worth computing.

    Returns
    -------
    Candidates
        The layer.
    uint8 array, shape (candidates.total,)
        Their fates.
    int64 array
        Of the places in the pool that were to stay, those that no simpler candidate replaces.

    Raises
    ------
    OutOfTime
        Of a long layer, when `check` does.
    """
    candidates = enumerate_candidates(layer, pool.symbols, len(pool), pool.applied_counts)
    check_deadline = check_deadline if candidates.total > _LONG_LAYER_CANDIDATES else ignore_deadline
    judging = estimate_filter_bytes(candidates.total) - candidates.total + estimate_block_bytes(pool.n_rows)
    needed = pool.estimate_bytes(0) + candidates.total + max(judging, reserved_bytes)
    # before the first layer there is nothing to cut
    ways = (
        REDUCTION_HINTS
        if pool.nodes.layer.any()
        else ("use fewer operators", "leave out inputs with --exclude")
    )
    check_memory(needed, max_bytes, f"a layer of {candidates.total:,} candidates", ways)
    keys = pool.nodes.keys[:0] if user_formulas is None else user_formulas.metadata.keys
    known = np.concatenate((pool.nodes.keys[carried_over], keys))
    nodes = pool.nodes.take(carried_over)
    rules = compile_rules(grammar, pool.symbols)
    own = compute_tie_break_rank(
        nodes.complexity,
        rules.count_forbidden(nodes.operator_mask, nodes.allowed_mask, nodes.operator)
        if has_next_layer
        else None,
    )
    # what the user gave stays as it was written
    burdens = np.concatenate((own, np.full(len(keys), -1, dtype=np.int32)))
    banned: dict[int, CandidateStatus] = {}
    proved = np.zeros(-(-candidates.total // 8), dtype=np.uint8)
    while True:
        judgement = filter_candidates(
            candidates,
            pool.symbols,
            pool.nodes,
            grammar,
            domain_masks=pool.compute_domain_masks(layer.operators),
            existing_keys=known,
            tie_break_ranks=burdens,
            has_next_layer=has_next_layer,
            excluded=banned,
            units=_select_relevant_units(pool, has_next_layer=has_next_layer),
            map_function=map_function,
            check_deadline=check_deadline,
        )
        # equal by algebra is not yet computable: who stands for others must have values of use
        useless = _find_invalid(
            pool, candidates, judgement.representatives & ~proved, map_function, check_deadline
        )
        if not useless:
            return (
                candidates,
                judgement.statuses,
                carried_over[judgement.replaced_by[: len(carried_over)] < 0],
            )
        proved |= judgement.representatives  # the useless among them do not win again
        banned |= useless


def _select_relevant_units(pool: Pool, *, has_next_layer: bool) -> PoolUnits | None:
    """Return the pool's units; what is asked of the last layer is not asked of those before."""
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
    """Find, among candidates packed as bits, those that are undefined or constant by their values."""
    if pool.feature_stats is None:
        return {}
    parts = range(0, candidates.total, _BATCH_CANDIDATES)
    tasks = [
        (first, own)
        for first in parts
        if (own := chosen_bits[first // 8 : (first + _BATCH_CANDIDATES) // 8]).any()
    ]
    found = map_function(partial(_find_invalid_in_task, pool, candidates, check_deadline), tasks)
    return {number: fate for part in found for number, fate in part.items()}


def _find_invalid_in_task(
    pool: Pool, candidates: Candidates, check_deadline: DeadlineCheck, task: tuple[int, NDArray[np.uint8]]
) -> dict[int, CandidateStatus]:
    check_deadline()
    first, chosen = task
    numbers = first + np.flatnonzero(np.unpackbits(chosen))
    numbers = numbers[~is_provably_valid(pool, candidates, numbers)]
    good = []
    for block in evaluate_candidates(candidates, pool, numbers):
        check_deadline()
        good.append(block.numbers)
    useless = {}
    for number in np.setdiff1d(numbers, np.concatenate((numbers[:0], *good))):
        lost = next(evaluate_candidates(candidates, pool, np.array([number]))).n_invalid
        useless[int(number)] = (
            CandidateStatus.UNDEFINED if lost[CandidateStatus.UNDEFINED] else CandidateStatus.CONSTANT
        )
    return useless


def count_applied(
    pool: Pool, layer: Layer, carried_over: NDArray[np.int64], pool_kind: PoolKind
) -> dict[Operator, int]:
    """Say how much of the next pool, a prefix, each operator has been applied to."""
    if pool_kind == "strict":
        return {}
    before = {**pool.applied_counts, **dict.fromkeys(layer.operators, len(pool))}
    return {operator: int(np.searchsorted(carried_over, size)) for operator, size in before.items()}


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
    """Make the next pool: what stays of a pool and, behind it, features that a layer makes.

    Parameters
    ----------
    pool, layer, pool_kind
        What the layer is applied to, and as in `expand`.
    stay : int64 array
        The places in the pool of what stays.
    candidates : Candidates
        The layer's.
    numbers : int64 array, ascending
        Those that are made.
    number : int
        The layer's.
    check : callable, optional
        Called for each block of a long layer; what it raises ends the making.

    Returns
    -------
    Pool
        Of features equal up to rounding, only the simplest.
    Counter of Fate
        How many were left out for their values.
    """
    if pool.feature_stats is None:
        new = pool.apply_operators(*candidates.locate(numbers), layer_number)
        return pool.extend(
            carried_over, new, None, count_applied(pool, layer, carried_over, pool_kind)
        ), Counter()
    values = None
    if not pool.recomputes_values:
        values = np.empty((len(carried_over) + len(numbers), pool.n_rows))
        values[: len(carried_over)] = pool.compute_values(carried_over)
    found, learnt, end, lost = (
        [numbers[:0]],
        [pool.feature_stats.take(carried_over)],
        len(carried_over),
        Counter[CandidateStatus](),
    )
    check_deadline = check_deadline if len(numbers) * pool.n_rows > _LONG_LAYER_VALUES else ignore_deadline
    for block in evaluate_candidates(candidates, pool, numbers):
        check_deadline()
        found.append(block.numbers)
        learnt.append(compute_feature_stats(block.values))
        start, end = end, end + len(block.numbers)
        if values is not None:
            values[start:end] = block.values
        lost.update(block.n_invalid)
    new = pool.apply_operators(*candidates.locate(np.concatenate(found)), layer_number)
    known = learnt[0].concatenate(*learnt[1:])
    held = None if values is None else values[:end]
    distinct = find_distinct_features(pool.extend(carried_over, new, held, {}, known), len(carried_over))
    lost[CandidateStatus.NUMERIC_DUPLICATE] = len(distinct) - int(np.count_nonzero(distinct))
    left, kept = carried_over[distinct[: len(carried_over)]], np.flatnonzero(distinct)
    if values is not None:
        held = _compact_rows(values, kept)
    new = new.take(kept[len(left) :] - len(carried_over))
    return pool.extend(left, new, held, count_applied(pool, layer, left, pool_kind), known.take(kept)), lost


def _compact_rows(values: NDArray[np.float64], kept: NDArray[np.int64]) -> NDArray[np.float64]:
    """Leave out rows without a second array of the size; `kept` ascends."""
    step = compute_block_size(values.shape[1])
    for first in range(0, len(kept), step):
        some = kept[first : first + step]
        values[first : first + len(some)] = values[some]
    return values[: len(kept)]


def find_distinct_features(pool: Pool, n_old: int) -> NDArray[np.bool_]:
    """Say which features to keep: of equal ones the simplest, and of equally simple ones the first.

    Parameters
    ----------
    pool : Pool
        Old features and, behind them, new ones. Those that column rules open to different operators, or that
        have different units, are not compared.
    old : int
        How many are old.

    Returns
    -------
    bool array, shape (q,)
        Only a new feature makes an old one leave, for old ones have been compared before.
    """
    assert pool.feature_stats is not None  # noqa: S101  # features are compared by their values
    distinct = np.ones(len(pool), dtype=np.bool_)
    for places in _group_comparable(pool):
        preference = np.empty(len(places), dtype=np.int64)
        preference[np.argsort(pool.nodes.complexity[places], kind="stable")] = np.arange(len(places))
        line, values_at = pool.feature_stats.projection[places], partial(_compute_values_at, pool, places)
        stands_for = places[find_projected_duplicates(line, values_at, pool.n_rows, preference)]
        distinct[places] = (stands_for == places) | ((places < n_old) & (stands_for < n_old))
    return distinct


def _group_comparable(pool: Pool) -> Iterator[NDArray[np.int64]]:
    """Group the members: equal values make two of a group one."""
    kinds = 0 if pool.member_units is None else pool.member_units.unit_ids
    for allowed in np.unique(pool.nodes.allowed_mask):
        same = pool.nodes.allowed_mask == allowed
        for kind in np.unique(kinds):
            places = np.flatnonzero(same & (kinds == kind))
            if len(places):
                yield places


def _compute_values_at(
    pool: Pool, indices: NDArray[np.int64], selected: NDArray[np.int64]
) -> NDArray[np.float64]:
    return pool.compute_values(indices[selected])


def count_excluded(
    statuses: NDArray[np.uint8], n_invalid: Counter[CandidateStatus] | None = None
) -> dict[CandidateStatus, int]:
    """Count the candidates left out, by reason."""
    by_fate = np.zeros(len(CandidateStatus), dtype=np.int64)
    for first in range(0, len(statuses), _BATCH_CANDIDATES):  # numpy counts bytes as int64
        by_fate += np.bincount(statuses[first : first + _BATCH_CANDIDATES], minlength=len(CandidateStatus))
    pruned = Counter(
        {fate: int(by_fate[fate]) for fate in CandidateStatus if fate is not CandidateStatus.KEPT}
    )
    return dict(pruned + (n_invalid or Counter()))


@dataclass(frozen=True, eq=False)
class PoolPruning:
    """What stays of a space.

    Parameters
    ----------
    numbers : int64 array, shape (k,)
        The features that stay; inputs stay beside them.
    lost : mapping of Fate to int
        How many of the layer's candidates had no use once their values were known.
    """

    numbers: NDArray[np.int64]
    n_invalid: Mapping[CandidateStatus, int]


def prune_pool(
    space: Space, layer: Layer, pruning: PoolPruning, pool_kind: PoolKind
) -> tuple[Pool, LayerCount]:
    """Make the pool that the next layer is applied to.

    Parameters
    ----------
    space : Space
        What a layer has made of a pool.
    layer : Layer
        That layer.
    cut : Cut
        What stays of it, inputs and constants apart, which always stay.
    pool_kind : {"cumulative", "strict"}
        As in `expand`; what a strict pool's layer has replaced cannot stay.

    Returns
    -------
    Pool
        Older features first, then the new ones, each in the order of their numbers.
    LayerCount
        With what was cut among the reasons.
    """
    pool, numbers = space.pool, np.unique(pruning.numbers)
    number = len(space.layer_counts) - 1
    older = space.pool_indices[numbers[numbers < len(space.pool_indices)]]
    inputs = space.pool_indices[pool.nodes.layer[space.pool_indices] == 0]
    stay = np.unique(np.concatenate((pool.constant_indices, inputs, older)))
    fresh = numbers[numbers >= space.n_materialized] - space.n_materialized
    grown, lost = append_layer(
        pool,
        layer,
        pool_kind,
        carried_over=stay,
        candidates=space.candidates,
        numbers=fresh,
        layer_number=number,
    )
    lost = Counter({CandidateStatus.NUMERIC_DUPLICATE: lost[CandidateStatus.NUMERIC_DUPLICATE]}) + Counter(
        pruning.n_invalid
    )
    scored = space.size - sum(pruning.n_invalid.values())
    lost[CandidateStatus.PRUNED] = (
        scored - lost[CandidateStatus.NUMERIC_DUPLICATE] - len(grown.feature_indices)
    )
    pruned = Counter(space.layer_counts[-1].n_excluded) + lost
    return grown, LayerCount(
        number, layer.kind, space.candidates.total, dict(pruned), len(grown.feature_indices)
    )


_SEARCH_RESERVED_BYTES = 100_000_000  # bytes that a search takes beside scoring
_MEMBER_BYTES = 300  # bytes of a pool's member without values


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
    """Grow the pool through all layers but the last, and judge the last.

    Parameters
    ----------
    names : sequence of str
        The inputs.
    columns : float64 array, shape (d, n), or None
        Their values; None to count by structure alone, which bounds from above what values will leave.
    grammar : Grammar
        Rules and constants.
    layers : sequence of Layer
        What to apply; at least one.
    pool_kind : {"cumulative", "strict"}
        Whether a layer's output is added to the pool or replaces it.
    also : sequence of Expression
        Formulas of the user's own that join the space, if it does not have them already.
    cut : callable, optional
        Which features of the space that a layer has made the next layer is applied to; asked after each
        layer but the last, whose features are then streamed, too, and never held whole. Needs values.
    max_bytes : int, optional
        The memory that this process may take.
    beside : int
        How much of it what follows will take beside pool and candidates, in bytes.
    spread : callable, optional
        Maps a function over tasks, in order, as the built-in `map` does; in threads, where there are some.
        The space does not depend on it.
    thin : bool
        Whether to hold no values but the inputs', and to compute features again wherever they are needed.
        The space is the same.
    units : Units, optional
        Those of the inputs: only formulas that have a unit are made, and if they name a target, those of the
        last space have that unit.
    check : callable, optional
        Called again and again while a long layer is grown, as `ends_at` makes it: it raises
        `DeadlineExceeded` when no more may be grown.

    Returns
    -------
    Space
        Where the time ran out, that of the layers before: the same as if no more had been asked for.

    Raises
    ------
    TableError
        If every input is constant.
    FormulaError
        If one of `also` is constant, or undefined in some row.
    GrammarError
        If the layers use more than 64 operators.
    OptionError
        If `pool_kind` is neither.
    SpaceError
        If the process would take more than `max_bytes`; nothing large has been allocated by then.

    Examples
    --------
    >>> from symscreen.grammar import load_grammar
    >>> grammar = load_grammar("ablation")
    >>> expand(["x1", "x2", "x3"], None, grammar, grammar.resolve_layers("bu"), "strict").size
    24
    """
    if pool_kind not in {"cumulative", "strict"}:
        raise OptionError(f"pool is {pool_kind!r}; it must be 'cumulative' or 'strict'")
    terms = LayerConfig(grammar, pool_kind, max_bytes, reserved_bytes, map_function, check_deadline)
    pool, count = clean_inputs(
        build_first_pool(
            build_symbol_table(names, grammar, layers),
            grammar,
            columns,
            recompute_pool=recompute_pool,
            units=units,
        )
    )
    counts, number = [count], 1
    by_name = None if columns is None else dict(zip(names, columns, strict=True))
    try:
        for number, layer in enumerate(layers[:-1], start=1):
            if prune is None:
                following = layers[number] if pool.feature_stats is None else None
                pool, count = add_layer(pool, layer, terms, layer_number=number, next_layer=following)
            else:
                space = build_streamed_space(
                    pool, layer, terms, by_name, has_next_layer=True, layer_counts=counts
                )
                pool, count = prune_pool(space, layer, prune(space), pool_kind)
            counts.append(count)
        number = len(layers)
        return build_streamed_space(pool, layers[-1], terms, by_name, also=also, layer_counts=counts)
    except DeadlineExceeded:
        return _build_incomplete_space(pool, by_name, also, counts, number)


@dataclass(frozen=True, eq=False)
class LayerConfig:
    """On what terms layers are grown; the fields are arguments of `expand`."""

    grammar: Grammar
    pool_kind: PoolKind
    max_bytes: int | None
    reserved_bytes: int = 0
    map_function: MapFunction = map
    check_deadline: DeadlineCheck = ignore_deadline


def add_layer(
    pool: Pool, layer: Layer, config: LayerConfig, *, layer_number: int, next_layer: Layer | None
) -> tuple[Pool, LayerCount]:
    """Add a whole layer to the pool; while only counting, refuse in advance what the next could not judge.

    Parameters
    ----------
    pool : Pool
        What the layer is applied to.
    layer : Layer
        The layer.
    terms : Terms
        How.
    number : int
        The layer's, from 1.
    following : Layer or None
        The layer that would have to be judged next.

    Returns
    -------
    Pool
        The next one.
    LayerCount
        What the layer made.
    """
    stay = find_carried_over(pool, config.pool_kind)
    candidates, fates, left = filter_layer(
        pool,
        layer,
        config.grammar,
        stay,
        has_next_layer=True,
        max_bytes=config.max_bytes,
        reserved_bytes=config.reserved_bytes,
        map_function=config.map_function,
        check_deadline=config.check_deadline,
    )
    replaced, size = len(stay) - len(left), len(left) + int((fates == CandidateStatus.KEPT).sum())
    needed = pool.estimate_bytes(size) + max(config.reserved_bytes, estimate_block_bytes(pool.n_rows))
    thin = needed - pool.estimate_bytes(size) + _SEARCH_RESERVED_BYTES + (len(pool) + size) * _MEMBER_BYTES
    thin_fits = not pool.recomputes_values and has_memory_for(thin, config.max_bytes)
    ways = (*REDUCTION_HINTS, "use --search sieve, which holds no pool") if thin_fits else REDUCTION_HINTS
    check_memory(needed, config.max_bytes, f"a pool of {size:,} features after layer {layer_number}", ways)
    if next_layer is not None:
        reached = count_applied(pool, layer, left, config.pool_kind)
        coming = enumerate_candidates(next_layer, pool.symbols, size, reached)
        check_memory(
            estimate_filter_bytes(coming.total), config.max_bytes, f"a layer of {coming.total:,} candidates"
        )
    kept = np.flatnonzero(fates == CandidateStatus.KEPT)
    pool, lost = append_layer(
        pool,
        layer,
        config.pool_kind,
        carried_over=left,
        candidates=candidates,
        numbers=kept,
        layer_number=layer_number,
        check_deadline=config.check_deadline,
    )
    lost[CandidateStatus.DUPLICATE] += replaced
    return pool, LayerCount(
        layer_number, layer.kind, candidates.total, count_excluded(fates, lost), len(pool.feature_indices)
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
    """Judge a layer that will be streamed, and put it behind what stays of the pool."""
    stay = find_carried_over(pool, config.pool_kind)
    given = evaluate_user_formulas(also, columns, pool.nodes.keys[np.intersect1d(stay, pool.feature_indices)])
    candidates, fates, left = filter_layer(
        pool,
        layer,
        config.grammar,
        stay,
        has_next_layer=has_next_layer,
        user_formulas=given,
        max_bytes=config.max_bytes,
        reserved_bytes=config.reserved_bytes,
        map_function=config.map_function,
        check_deadline=config.check_deadline,
    )
    base = np.intersect1d(left, pool.feature_indices)
    asked = base if has_next_layer else _select_target_units(pool, base)
    space = Space(pool, asked, given, candidates, fates, ())
    lost = {
        CandidateStatus.DUPLICATE: len(stay) - len(left),
        CandidateStatus.OTHER_UNITS: len(base) - len(asked),
    }
    pruned = count_excluded(fates, Counter(lost))
    last = LayerCount(len(layer_counts), layer.kind, candidates.total, pruned, space.size)
    return replace(space, layer_counts=(*layer_counts, last))


def _build_incomplete_space(
    pool: Pool,
    columns: Mapping[str, NDArray[np.float64]] | None,
    also: Sequence[Expression],
    layer_counts: Sequence[LayerCount],
    stopped_at_layer: int,
) -> Space:
    """Return the space of the layers that are complete, as if no more had been asked for."""
    base = _select_target_units(pool, pool.feature_indices)
    given = evaluate_user_formulas(also, columns, pool.nodes.keys[pool.feature_indices])
    none = Candidates((), 0)
    lost = {CandidateStatus.OTHER_UNITS: len(pool.feature_indices) - len(base)}
    pruned = Counter(layer_counts[-1].n_excluded) + Counter(lost)
    last = replace(layer_counts[-1], n_excluded=dict(pruned), n_features=len(base) + len(given.expressions))
    return Space(
        pool,
        base,
        given,
        none,
        np.zeros(0, np.uint8),
        (*layer_counts[:-1], last),
        stopped_at_layer=stopped_at_layer,
    )


def _select_target_units(pool: Pool, indices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Leave out members that have other units than a result is asked to have."""
    if pool.member_units is None or pool.member_units.target_exponents is None:
        return indices
    return indices[pool.member_units.matches_target[indices]]


def clean_inputs(pool: Pool) -> tuple[Pool, LayerCount]:
    """Leave out inputs that are constant or repeat another."""
    generated = len(pool.feature_indices)
    if pool.feature_stats is None:
        return pool, LayerCount(0, "inputs", generated, {}, generated)
    still = is_constant(pool.feature_stats.low, pool.feature_stats.high, pool.max_abs)
    if still[pool.feature_indices].all():
        raise DataError(
            "every input is constant: there is nothing to grow features from; choose others with --inputs"
        )
    still[pool.constant_indices] = False
    constants = len(pool.constant_indices)
    pool = pool.select(np.flatnonzero(~still))
    distinct = find_distinct_features(pool, constants)
    pruned = Counter(
        {
            CandidateStatus.CONSTANT: int(still.sum()),
            CandidateStatus.NUMERIC_DUPLICATE: int((~distinct).sum()),
        }
    )
    pool = pool.select(np.flatnonzero(distinct))
    return pool, LayerCount(0, "inputs", generated, dict(+pruned), len(pool.feature_indices))
