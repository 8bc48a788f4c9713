"""From a table's columns to a space: pools grown layer by layer, the last layer judged but not computed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError, TableError
from symscreen.expansion.candidates import Candidates, candidates_of
from symscreen.expansion.chunks import block_bytes
from symscreen.expansion.cut import cut_pool
from symscreen.expansion.fates import Fate, judging_bytes
from symscreen.expansion.given import given_formulas
from symscreen.expansion.in_time import OutOfTime, untimed
from symscreen.expansion.layer import added, distinct_features, judged, staying, tally, tried
from symscreen.expansion.memory import FEWER, fits, require
from symscreen.expansion.nodes import structure_of
from symscreen.expansion.pool import first_pool
from symscreen.expansion.prune import constant
from symscreen.expansion.space import LayerCount, Space

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.expansion.cut import Cut
    from symscreen.expansion.duplicates import Spread
    from symscreen.expansion.in_time import Check
    from symscreen.expansion.layer import PoolKind
    from symscreen.expansion.pool import Pool
    from symscreen.expression import Expression
    from symscreen.grammar import Grammar, Layer
    from symscreen.units import Units

__all__ = ["Terms", "expand", "inputs_of", "last_layer", "with_layer"]

_SEARCHING = 100_000_000  # bytes that a search takes beside scoring
_NODE = 300  # bytes of a pool's member without values


def expand(
    names: Sequence[str],
    columns: NDArray[np.float64] | None,
    grammar: Grammar,
    layers: Sequence[Layer],
    pool_kind: PoolKind = "cumulative",
    *,
    also: Sequence[Expression] = (),
    cut: Callable[[Space], Cut] | None = None,
    max_bytes: int | None = None,
    beside: int = 0,
    spread: Spread = map,
    thin: bool = False,
    units: Units | None = None,
    check: Check = untimed,
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
        Called again and again while a long layer is grown, as `ends_at` makes it: it raises `OutOfTime` when
        no more may be grown.

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
    >>> expand(["x1", "x2", "x3"], None, grammar, grammar.parsed_layers("bu"), "strict").size
    24
    """
    if pool_kind not in {"cumulative", "strict"}:
        raise OptionError(f"pool is {pool_kind!r}; it must be 'cumulative' or 'strict'")
    terms = Terms(grammar, pool_kind, max_bytes, beside, spread, check)
    pool, count = inputs_of(
        first_pool(structure_of(names, grammar, layers), grammar, columns, thin=thin, units=units)
    )
    counts, number = [count], 1
    by_name = None if columns is None else dict(zip(names, columns, strict=True))
    try:
        for number, layer in enumerate(layers[:-1], start=1):
            if cut is None:
                following = layers[number] if pool.learnt is None else None
                pool, count = with_layer(pool, layer, terms, number=number, following=following)
            else:
                space = last_layer(pool, layer, terms, by_name, grows=True, counts=counts)
                pool, count = cut_pool(space, layer, cut(space), pool_kind)
            counts.append(count)
        number = len(layers)
        return last_layer(pool, layers[-1], terms, by_name, also=also, counts=counts)
    except OutOfTime:
        return _ended(pool, by_name, also, counts, number)


@dataclass(frozen=True, eq=False)
class Terms:
    """On what terms layers are grown; the fields are arguments of `expand`."""

    grammar: Grammar
    pool_kind: PoolKind
    max_bytes: int | None
    beside: int = 0
    spread: Spread = map
    check: Check = untimed


def with_layer(
    pool: Pool, layer: Layer, terms: Terms, *, number: int, following: Layer | None
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
    stay = staying(pool, terms.pool_kind)
    candidates, fates, left = judged(
        pool,
        layer,
        terms.grammar,
        stay,
        grows=True,
        max_bytes=terms.max_bytes,
        beside=terms.beside,
        spread=terms.spread,
        check=terms.check,
    )
    replaced, size = len(stay) - len(left), len(left) + int((fates == Fate.KEPT).sum())
    needed = pool.bytes_with(size) + max(terms.beside, block_bytes(pool.rows))
    thin = needed - pool.bytes_with(size) + _SEARCHING + (len(pool) + size) * _NODE
    thin_fits = not pool.thin and fits(thin, terms.max_bytes)
    ways = (*FEWER, "use --search sieve, which holds no pool") if thin_fits else FEWER
    require(needed, terms.max_bytes, f"a pool of {size:,} features after layer {number}", ways)
    if following is not None:
        reached = tried(pool, layer, left, terms.pool_kind)
        coming = candidates_of(following, pool.structure, size, reached)
        require(judging_bytes(coming.total), terms.max_bytes, f"a layer of {coming.total:,} candidates")
    kept = np.flatnonzero(fates == Fate.KEPT)
    pool, lost = added(
        pool,
        layer,
        terms.pool_kind,
        stay=left,
        candidates=candidates,
        numbers=kept,
        number=number,
        check=terms.check,
    )
    lost[Fate.DUPLICATE] += replaced
    return pool, LayerCount(number, layer.kind, candidates.total, tally(fates, lost), len(pool.features))


def last_layer(
    pool: Pool,
    layer: Layer,
    terms: Terms,
    columns: Mapping[str, NDArray[np.float64]] | None,
    *,
    grows: bool = False,
    also: Sequence[Expression] = (),
    counts: Sequence[LayerCount],
) -> Space:
    """Judge a layer that will be streamed, and put it behind what stays of the pool."""
    stay = staying(pool, terms.pool_kind)
    given = given_formulas(also, columns, pool.nodes.keys[np.intersect1d(stay, pool.features)])
    candidates, fates, left = judged(
        pool,
        layer,
        terms.grammar,
        stay,
        grows=grows,
        given=given,
        max_bytes=terms.max_bytes,
        beside=terms.beside,
        spread=terms.spread,
        check=terms.check,
    )
    base = np.intersect1d(left, pool.features)
    asked = base if grows else _as_asked(pool, base)
    space = Space(pool, asked, given, candidates, fates, ())
    lost = {Fate.DUPLICATE: len(stay) - len(left), Fate.OTHER_UNITS: len(base) - len(asked)}
    pruned = tally(fates, Counter(lost))
    last = LayerCount(len(counts), layer.kind, candidates.total, pruned, space.size)
    return replace(space, counts=(*counts, last))


def _ended(
    pool: Pool,
    columns: Mapping[str, NDArray[np.float64]] | None,
    also: Sequence[Expression],
    counts: Sequence[LayerCount],
    layer: int,
) -> Space:
    """Return the space of the layers that are complete, as if no more had been asked for."""
    base = _as_asked(pool, pool.features)
    given = given_formulas(also, columns, pool.nodes.keys[pool.features])
    none = Candidates((), 0)
    lost = {Fate.OTHER_UNITS: len(pool.features) - len(base)}
    pruned = Counter(counts[-1].pruned) + Counter(lost)
    last = replace(counts[-1], pruned=dict(pruned), features=len(base) + len(given.expressions))
    return Space(pool, base, given, none, np.zeros(0, np.uint8), (*counts[:-1], last), ended_in=layer)


def _as_asked(pool: Pool, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Leave out members that have other units than a result is asked to have."""
    if pool.measures is None or pool.measures.target is None:
        return places
    return places[pool.measures.asked[places]]


def inputs_of(pool: Pool) -> tuple[Pool, LayerCount]:
    """Leave out inputs that are constant or repeat another."""
    generated = len(pool.features)
    if pool.learnt is None:
        return pool, LayerCount(0, "inputs", generated, {}, generated)
    still = constant(pool.learnt.low, pool.learnt.high, pool.scale)
    if still[pool.features].all():
        raise TableError(
            "every input is constant: there is nothing to grow features from; choose others with --inputs"
        )
    still[pool.constants] = False
    constants = len(pool.constants)
    pool = pool.only(np.flatnonzero(~still))
    distinct = distinct_features(pool, constants)
    pruned = Counter({Fate.CONSTANT: int(still.sum()), Fate.NUMERIC_DUPLICATE: int((~distinct).sum())})
    pool = pool.only(np.flatnonzero(distinct))
    return pool, LayerCount(0, "inputs", generated, dict(+pruned), len(pool.features))
