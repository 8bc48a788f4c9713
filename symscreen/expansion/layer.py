"""One layer: its candidates judged, computed, and added to what stays of the pool."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from symscreen.expansion.candidates import candidates_of
from symscreen.expansion.cases import burden
from symscreen.expansion.chunks import block_bytes, blocks_at, rows_per_block
from symscreen.expansion.fates import Fate, judge, judging_bytes
from symscreen.expansion.in_time import untimed
from symscreen.expansion.learnt import learnt_of
from symscreen.expansion.memory import FEWER, require
from symscreen.expansion.proof import surely_of_use
from symscreen.expansion.prune import copies_among
from symscreen.expansion.rules import rules_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from symscreen.expansion.candidates import Candidates
    from symscreen.expansion.duplicates import Spread
    from symscreen.expansion.given import Given
    from symscreen.expansion.in_time import Check
    from symscreen.expansion.meanings import PoolUnits
    from symscreen.expansion.pool import Pool
    from symscreen.grammar import Grammar, Layer, Operator

__all__ = ["PoolKind", "added", "distinct_features", "judged", "staying", "tally"]

PoolKind = Literal["cumulative", "strict"]
_TOGETHER = 1 << 18  # candidates looked at together; a multiple of 8
_LONG = 1 << 20  # candidates of a layer that may be given up; fewer are judged in less than a second
_LONG_VALUES = 1 << 25  # the same, of values that are computed


def staying(pool: Pool, pool_kind: PoolKind) -> NDArray[np.int64]:
    """Return the places in the pool of what the next one keeps: all, or only the constants."""
    return np.arange(len(pool)) if pool_kind == "cumulative" else pool.constants


def judged(
    pool: Pool,
    layer: Layer,
    grammar: Grammar,
    stay: NDArray[np.int64],
    *,
    grows: bool,
    given: Given | None = None,
    max_bytes: int | None,
    beside: int = 0,
    spread: Spread = map,
    check: Check = untimed,
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
    candidates = candidates_of(layer, pool.structure, len(pool), pool.tried)
    check = check if candidates.total > _LONG else untimed
    judging = judging_bytes(candidates.total) - candidates.total + block_bytes(pool.rows)
    needed = pool.bytes_with(0) + candidates.total + max(judging, beside)
    # before the first layer there is nothing to cut
    ways = FEWER if pool.nodes.layer.any() else ("use fewer operators", "leave out inputs with --exclude")
    require(needed, max_bytes, f"a layer of {candidates.total:,} candidates", ways)
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
    proved = np.zeros(-(-candidates.total // 8), dtype=np.uint8)
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
            units=_units_that_matter(pool, grows=grows),
            spread=spread,
            check=check,
        )
        # equal by algebra is not yet computable: who stands for others must have values of use
        useless = _useless(pool, candidates, judgement.winners & ~proved, spread, check)
        if not useless:
            return candidates, judgement.fates, stay[judgement.replaced_by[: len(stay)] < 0]
        proved |= judgement.winners  # the useless among them do not win again
        banned |= useless


def _units_that_matter(pool: Pool, *, grows: bool) -> PoolUnits | None:
    """Return the pool's units; what is asked of the last layer is not asked of those before."""
    if pool.measures is None or not grows:
        return pool.measures
    return replace(pool.measures, target=None)


def _useless(
    pool: Pool, candidates: Candidates, chosen: NDArray[np.uint8], spread: Spread, check: Check
) -> dict[int, Fate]:
    """Find, among candidates packed as bits, those that are undefined or constant by their values."""
    if pool.learnt is None:
        return {}
    parts = range(0, candidates.total, _TOGETHER)
    tasks = [(first, own) for first in parts if (own := chosen[first // 8 : (first + _TOGETHER) // 8]).any()]
    found = spread(partial(_useless_from, pool, candidates, check), tasks)
    return {number: fate for part in found for number, fate in part.items()}


def _useless_from(
    pool: Pool, candidates: Candidates, check: Check, task: tuple[int, NDArray[np.uint8]]
) -> dict[int, Fate]:
    check()
    first, chosen = task
    numbers = first + np.flatnonzero(np.unpackbits(chosen))
    numbers = numbers[~surely_of_use(pool, candidates, numbers)]
    good = []
    for block in blocks_at(candidates, pool, numbers):
        check()
        good.append(block.numbers)
    useless = {}
    for number in np.setdiff1d(numbers, np.concatenate((numbers[:0], *good))):
        lost = next(blocks_at(candidates, pool, np.array([number]))).lost
        useless[int(number)] = Fate.UNDEFINED if lost[Fate.UNDEFINED] else Fate.CONSTANT
    return useless


def tried(pool: Pool, layer: Layer, stay: NDArray[np.int64], pool_kind: PoolKind) -> dict[Operator, int]:
    """Say how much of the next pool, a prefix, each operator has been applied to."""
    if pool_kind == "strict":
        return {}
    before = {**pool.tried, **dict.fromkeys(layer.operators, len(pool))}
    return {operator: int(np.searchsorted(stay, size)) for operator, size in before.items()}


def added(
    pool: Pool,
    layer: Layer,
    pool_kind: PoolKind,
    *,
    stay: NDArray[np.int64],
    candidates: Candidates,
    numbers: NDArray[np.int64],
    number: int,
    check: Check = untimed,
) -> tuple[Pool, Counter[Fate]]:
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
    if pool.learnt is None:
        new = pool.applied(*candidates.locate(numbers), number)
        return pool.grown(stay, new, None, tried(pool, layer, stay, pool_kind)), Counter()
    values = None
    if not pool.thin:
        values = np.empty((len(stay) + len(numbers), pool.rows))
        values[: len(stay)] = pool.computed(stay)
    found, learnt, end, lost = [numbers[:0]], [pool.learnt.take(stay)], len(stay), Counter[Fate]()
    check = check if len(numbers) * pool.rows > _LONG_VALUES else untimed
    for block in blocks_at(candidates, pool, numbers):
        check()
        found.append(block.numbers)
        learnt.append(learnt_of(block.values))
        start, end = end, end + len(block.numbers)
        if values is not None:
            values[start:end] = block.values
        lost.update(block.lost)
    new = pool.applied(*candidates.locate(np.concatenate(found)), number)
    known = learnt[0].joined(*learnt[1:])
    held = None if values is None else values[:end]
    distinct = distinct_features(pool.grown(stay, new, held, {}, known), len(stay))
    lost[Fate.NUMERIC_DUPLICATE] = len(distinct) - int(np.count_nonzero(distinct))
    left, kept = stay[distinct[: len(stay)]], np.flatnonzero(distinct)
    if values is not None:
        held = _moved_up(values, kept)
    new = new.take(kept[len(left) :] - len(stay))
    return pool.grown(left, new, held, tried(pool, layer, left, pool_kind), known.take(kept)), lost


def _moved_up(values: NDArray[np.float64], kept: NDArray[np.int64]) -> NDArray[np.float64]:
    """Leave out rows without a second array of the size; `kept` ascends."""
    step = rows_per_block(values.shape[1])
    for first in range(0, len(kept), step):
        some = kept[first : first + step]
        values[first : first + len(some)] = values[some]
    return values[: len(kept)]


def distinct_features(pool: Pool, old: int) -> NDArray[np.bool_]:
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
    assert pool.learnt is not None  # noqa: S101  # features are compared by their values
    distinct = np.ones(len(pool), dtype=np.bool_)
    for places in _comparable(pool):
        preference = np.empty(len(places), dtype=np.int64)
        preference[np.argsort(pool.nodes.complexity[places], kind="stable")] = np.arange(len(places))
        line, values_at = pool.learnt.line[places], partial(_values_at, pool, places)
        stands_for = places[copies_among(line, values_at, pool.rows, preference)]
        distinct[places] = (stands_for == places) | ((places < old) & (stands_for < old))
    return distinct


def _comparable(pool: Pool) -> Iterator[NDArray[np.int64]]:
    """Group the members: equal values make two of a group one."""
    kinds = 0 if pool.measures is None else pool.measures.kinds
    for allowed in np.unique(pool.nodes.allowed):
        same = pool.nodes.allowed == allowed
        for kind in np.unique(kinds):
            places = np.flatnonzero(same & (kinds == kind))
            if len(places):
                yield places


def _values_at(pool: Pool, places: NDArray[np.int64], some: NDArray[np.int64]) -> NDArray[np.float64]:
    return pool.computed(places[some])


def tally(fates: NDArray[np.uint8], lost: Counter[Fate] | None = None) -> dict[Fate, int]:
    """Count the candidates left out, by reason."""
    by_fate = np.zeros(len(Fate), dtype=np.int64)
    for first in range(0, len(fates), _TOGETHER):  # numpy counts bytes as int64
        by_fate += np.bincount(fates[first : first + _TOGETHER], minlength=len(Fate))
    pruned = Counter({fate: int(by_fate[fate]) for fate in Fate if fate is not Fate.KEPT})
    return dict(pruned + (lost or Counter()))
