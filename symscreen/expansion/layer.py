"""One layer: its candidates judged, computed, and added to what stays of the pool."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from symscreen.errors import SpaceError
from symscreen.expansion.candidates import candidates_of
from symscreen.expansion.cases import burden
from symscreen.expansion.chunks import blocks_of
from symscreen.expansion.fates import Fate, judge, judging_bytes
from symscreen.expansion.prune import numeric_copies
from symscreen.expansion.rules import rules_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.expansion.candidates import Candidates
    from symscreen.expansion.duplicates import Spread
    from symscreen.expansion.given import Given
    from symscreen.expansion.nodes import Nodes
    from symscreen.expansion.pool import Pool
    from symscreen.grammar import Grammar, Layer, Operator

__all__ = ["PoolKind", "distinct_features", "judged", "made", "require", "staying", "tally", "tried"]

PoolKind = Literal["cumulative", "strict"]
_TOGETHER = 1 << 18  # candidates looked at together; a multiple of 8


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
    spread: Spread = map,
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
    require(needed, max_bytes, f"a layer of {candidates.total:,} candidates")
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
            spread=spread,
        )
        # equal by algebra is not yet computable: who stands for others must have values of use
        useless = _useless(pool, candidates, judgement.winners & ~proved, spread)
        if not useless:
            return candidates, judgement.fates, stay[judgement.replaced_by[: len(stay)] < 0]
        proved |= judgement.winners  # the useless among them do not win again
        banned |= useless


def _useless(
    pool: Pool, candidates: Candidates, chosen: NDArray[np.uint8], spread: Spread
) -> dict[int, Fate]:
    """Find, among candidates packed as bits, those that are undefined or constant by their values."""
    if pool.values is None:
        return {}
    parts = range(0, candidates.total, _TOGETHER)
    tasks = [(first, own) for first in parts if (own := chosen[first // 8 : (first + _TOGETHER) // 8]).any()]
    found = spread(partial(_useless_from, pool, candidates), tasks)
    return {number: fate for part in found for number, fate in part.items()}


def _useless_from(pool: Pool, candidates: Candidates, task: tuple[int, NDArray[np.uint8]]) -> dict[int, Fate]:
    first, chosen = task
    fates = np.where(np.unpackbits(chosen), np.uint8(Fate.KEPT), np.uint8(Fate.DUPLICATE))
    here = candidates.counted_from(first)
    good = [block.numbers for block in blocks_of(here, pool, fates, 0, len(fates))]
    useless = {}
    for number in np.setdiff1d(np.flatnonzero(fates == Fate.KEPT), np.concatenate(good)).tolist():
        lost = next(blocks_of(here, pool, fates, number, number + 1)).lost
        useless[first + number] = Fate.UNDEFINED if lost[Fate.UNDEFINED] else Fate.CONSTANT
    return useless


def tried(pool: Pool, layer: Layer, stay: NDArray[np.int64], pool_kind: PoolKind) -> dict[Operator, int]:
    """Say how much of the next pool, a prefix, each operator has been applied to."""
    if pool_kind == "strict":
        return {}
    before = {**pool.tried, **dict.fromkeys(layer.operators, len(pool))}
    return {operator: int(np.searchsorted(stay, size)) for operator, size in before.items()}


def made(
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
    distinct = distinct_features(values[:end], pool.nodes.take(stay).joined(new), len(stay))
    lost[Fate.NUMERIC_DUPLICATE] = int((~distinct).sum())
    old, fresh = distinct[: len(stay)], distinct[len(stay) :]
    return new.take(np.flatnonzero(fresh)), values[:end][distinct], lost, stay[old]


def distinct_features(values: NDArray[np.float64], nodes: Nodes, old: int) -> NDArray[np.bool_]:
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


def tally(fates: NDArray[np.uint8], lost: Counter[Fate] | None = None) -> dict[Fate, int]:
    """Count the candidates left out, by reason."""
    by_fate = np.zeros(len(Fate), dtype=np.int64)
    for first in range(0, len(fates), _TOGETHER):  # numpy counts bytes as int64
        by_fate += np.bincount(fates[first : first + _TOGETHER], minlength=len(Fate))
    pruned = Counter({fate: int(by_fate[fate]) for fate in Fate if fate is not Fate.KEPT})
    return dict(pruned + (lost or Counter()))


def require(needed: int, max_bytes: int | None, what: str) -> None:
    """Refuse what would take more memory than is allowed.

    Parameters
    ----------
    needed : int
        Bytes.
    max_bytes : int or None
        What is allowed.
    what : str
        What would take them, for the message.

    Raises
    ------
    SpaceError
        If it is too much.
    """
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
