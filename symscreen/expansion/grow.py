"""From a table's columns to a space: pools grown layer by layer, the last layer judged but not computed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from symscreen.errors import OptionError, SpaceError, TableError
from symscreen.expansion.candidates import candidates_of
from symscreen.expansion.chunks import blocks_of
from symscreen.expansion.fates import Fate, burden, judge, judging_bytes
from symscreen.expansion.given import given_formulas
from symscreen.expansion.nodes import structure_of
from symscreen.expansion.pool import first_pool
from symscreen.expansion.prune import constant, numeric_copies
from symscreen.expansion.rules import rules_of
from symscreen.expansion.space import LayerCount, Space

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.expansion.candidates import Candidates
    from symscreen.expansion.given import Given
    from symscreen.expansion.nodes import Nodes
    from symscreen.expansion.pool import Pool
    from symscreen.expression import Expression
    from symscreen.grammar import Grammar, Layer, Operator

__all__ = ["PoolKind", "expand"]

PoolKind = Literal["cumulative", "strict"]


def expand(
    names: Sequence[str],
    columns: NDArray[np.float64] | None,
    grammar: Grammar,
    layers: Sequence[Layer],
    pool_kind: PoolKind = "cumulative",
    *,
    also: Sequence[Expression] = (),
    max_bytes: int | None = None,
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
    max_bytes : int, optional
        The memory that pool and candidates may take.

    Returns
    -------
    Space

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
        If the space does not fit into `max_bytes`; nothing large has been allocated by then.

    Examples
    --------
    >>> from symscreen.grammar import load_grammar
    >>> grammar = load_grammar("ablation")
    >>> expand(["x1", "x2", "x3"], None, grammar, grammar.parsed_layers("bu"), "strict").size
    24
    """
    if pool_kind not in {"cumulative", "strict"}:
        raise OptionError(f"pool is {pool_kind!r}; it must be 'cumulative' or 'strict'")
    pool, count = _inputs(first_pool(structure_of(names, grammar, layers), grammar, columns))
    counts = [count]
    for number, layer in enumerate(layers[:-1], start=1):
        stay = _staying(pool, pool_kind)
        candidates, fates, left = _judged(pool, layer, grammar, stay, grows=True, max_bytes=max_bytes)
        replaced, size = len(stay) - len(left), len(left) + int((fates == Fate.KEPT).sum())
        _require(pool.bytes_with(size), max_bytes, f"a pool of {size:,} features after layer {number}")
        if pool.values is None:
            # counting is exact, so a layer too large to be judged is known before this one is made
            following = candidates_of(
                layers[number], pool.structure, size, _tried(pool, layer, left, pool_kind)
            )
            _require(judging_bytes(following.total), max_bytes, f"a layer of {following.total:,} candidates")
        new, values, lost, left = _made(pool, left, candidates, fates, number)
        lost[Fate.DUPLICATE] += replaced
        pool = pool.grown(left, new, values, _tried(pool, layer, left, pool_kind))
        counts.append(
            LayerCount(number, layer.kind, candidates.total, _tally(fates, lost), len(pool.features))
        )
    stay = _staying(pool, pool_kind)
    by_name = None if columns is None else dict(zip(names, columns, strict=True))
    given = given_formulas(also, by_name, pool.nodes.keys[np.intersect1d(stay, pool.features)])
    candidates, fates, left = _judged(
        pool, layers[-1], grammar, stay, grows=False, given=given, max_bytes=max_bytes
    )
    space = Space(pool, np.intersect1d(left, pool.features), given, candidates, fates, ())
    pruned = _tally(fates, Counter({Fate.DUPLICATE: len(stay) - len(left)}))
    last = LayerCount(len(layers), layers[-1].kind, candidates.total, pruned, space.size)
    return replace(space, counts=(*counts, last))


def _staying(pool: Pool, pool_kind: PoolKind) -> NDArray[np.int64]:
    """Return the places in the pool of what the next one keeps: all, or only the constants."""
    return np.arange(len(pool)) if pool_kind == "cumulative" else pool.constants


def _inputs(pool: Pool) -> tuple[Pool, LayerCount]:
    """Leave out inputs that are constant or repeat another."""
    generated = len(pool.features)
    if pool.values is None:
        return pool, LayerCount(0, "inputs", generated, {}, generated)
    values = pool.values
    still = constant(values.min(axis=1), values.max(axis=1), pool.scale)
    if still[pool.features].all():
        raise TableError(
            "every input is constant: there is nothing to grow features from; choose others with --inputs"
        )
    still[pool.constants] = False
    kept = np.flatnonzero(~still)
    distinct = _distinct(values[kept], pool.nodes.take(kept), len(pool.constants))
    pruned = Counter({Fate.CONSTANT: int(still.sum()), Fate.NUMERIC_DUPLICATE: int((~distinct).sum())})
    kept = kept[distinct]
    pool = replace(pool, members=pool.members[kept], values=values[kept])
    return pool, LayerCount(0, "inputs", generated, dict(+pruned), len(pool.features))


def _judged(
    pool: Pool,
    layer: Layer,
    grammar: Grammar,
    stay: NDArray[np.int64],
    *,
    grows: bool,
    given: Given | None = None,
    max_bytes: int | None,
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
    """
    candidates = candidates_of(layer, pool.structure, len(pool), pool.tried)
    needed = pool.bytes_with(0) + judging_bytes(candidates.total)
    _require(needed, max_bytes, f"a layer of {candidates.total:,} candidates")
    keys = pool.nodes.keys[:0] if given is None else given.features.keys
    known = np.concatenate((pool.nodes.keys[stay], keys))
    nodes = pool.nodes.take(stay)
    rules = rules_of(grammar, pool.structure)
    own = burden(
        nodes.complexity, rules.count(nodes.inside, nodes.allowed, nodes.operator) if grows else None
    )
    # what the user gave stays as it was written
    burdens = np.concatenate((own, np.full(len(keys), -1, dtype=np.int32)))
    banned: dict[int, Fate] = {}
    proved = np.zeros(0, dtype=np.int64)
    while True:
        judgement = judge(
            candidates,
            pool.structure,
            pool.nodes,
            grammar,
            defined=pool.defined(layer.operators),
            known=known,
            burdens=burdens,
            grows=grows,
            banned=banned,
        )
        # equal by algebra is not yet computable: who stands for others must have values of use
        useless = _useless(pool, candidates, np.setdiff1d(judgement.winners, proved))
        if not useless:
            return candidates, judgement.fates, stay[judgement.replaced_by[: len(stay)] < 0]
        proved = np.setdiff1d(np.union1d(proved, judgement.winners), list(useless))
        banned |= useless


def _useless(pool: Pool, candidates: Candidates, numbers: NDArray[np.int64]) -> dict[int, Fate]:
    """Find candidates that are undefined or constant by their values."""
    if pool.values is None or not len(numbers):
        return {}
    chosen = np.full(candidates.total, Fate.DUPLICATE, dtype=np.uint8)
    chosen[numbers] = Fate.KEPT
    good = [block.numbers for block in blocks_of(candidates, pool, chosen, 0, candidates.total)]
    useless = {}
    for number in np.setdiff1d(numbers, np.concatenate(good)).tolist():
        lost = next(blocks_of(candidates, pool, chosen, number, number + 1)).lost
        useless[number] = Fate.UNDEFINED if lost[Fate.UNDEFINED] else Fate.CONSTANT
    return useless


def _tried(pool: Pool, layer: Layer, stay: NDArray[np.int64], pool_kind: PoolKind) -> dict[Operator, int]:
    """Say how much of the next pool, a prefix, each operator has been applied to."""
    if pool_kind == "strict":
        return {}
    tried = {**pool.tried, **dict.fromkeys(layer.operators, len(pool))}
    return {operator: int(np.searchsorted(stay, size)) for operator, size in tried.items()}


def _made(
    pool: Pool, stay: NDArray[np.int64], candidates: Candidates, fates: NDArray[np.uint8], number: int
) -> tuple[Nodes, NDArray[np.float64] | None, Counter[Fate], NDArray[np.int64]]:
    """Make the features that a layer adds to those that stay.

    Returns
    -------
    Nodes
        The new features; of those equal up to rounding only the simplest.
    float64 array, shape (len(stay) + len(new), n), or None
        The values of those that stay and, behind them, of the new.
    Counter of Fate
        How many were left out for their values.
    int64 array
        Of the places in the pool that were to stay, those that no simpler new feature equals up to rounding.
    """
    numbers = np.flatnonzero(fates == Fate.KEPT)
    if pool.values is None:
        return pool.applied(*candidates.locate(numbers), number), None, Counter(), stay
    values = np.empty((len(stay) + len(numbers), pool.values.shape[1]))
    values[: len(stay)] = pool.values[stay]
    found, end, lost = [numbers[:0]], len(stay), Counter[Fate]()
    for block in blocks_of(candidates, pool, fates, 0, candidates.total):
        found.append(block.numbers)
        start, end = end, end + len(block.numbers)
        values[start:end] = block.values
        lost.update(block.lost)
    new = pool.applied(*candidates.locate(np.concatenate(found)), number)
    distinct = _distinct(values[:end], pool.nodes.take(stay).joined(new), len(stay))
    lost[Fate.NUMERIC_DUPLICATE] = int((~distinct).sum())
    old, fresh = distinct[: len(stay)], distinct[len(stay) :]
    return new.take(np.flatnonzero(fresh)), values[:end][distinct], lost, stay[old]


def _distinct(values: NDArray[np.float64], nodes: Nodes, old: int) -> NDArray[np.bool_]:
    """Say which features to keep: of equal ones the simplest, and of equally simple ones the first.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        Old features and, behind them, new ones.
    nodes : Nodes
        Their nodes. Features that column rules open to different operators are not compared.
    old : int
        How many are old.

    Returns
    -------
    bool array, shape (q,)
        Only a new feature makes an old one leave, for old ones have been compared before.
    """
    distinct = np.ones(len(values), dtype=np.bool_)
    for allowed in np.unique(nodes.allowed):
        places = np.flatnonzero(nodes.allowed == allowed)
        preference = np.empty(len(places), dtype=np.int64)
        preference[np.argsort(nodes.complexity[places], kind="stable")] = np.arange(len(places))
        alike = values if len(places) == len(values) else values[places]
        stands_for = places[numeric_copies(alike, preference)]
        distinct[places] = (stands_for == places) | ((places < old) & (stands_for < old))
    return distinct


def _tally(fates: NDArray[np.uint8], lost: Counter[Fate] | None = None) -> dict[Fate, int]:
    """Count the candidates left out, by reason."""
    by_fate = np.bincount(fates, minlength=len(Fate)).tolist()
    pruned = Counter({fate: by_fate[fate] for fate in Fate if fate is not Fate.KEPT})
    return dict(pruned + (lost or Counter()))


def _require(needed: int, max_bytes: int | None, what: str) -> None:
    if max_bytes is not None and needed > max_bytes:
        raise SpaceError(
            f"{what} would take {_amount(needed)}, {_amount(max_bytes)} are allowed: use fewer operators, "
            "inputs or layers, or raise --max-ram"
        )


def _amount(size: int) -> str:
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size / 1e3:.1f} kB"
