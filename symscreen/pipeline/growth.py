"""From a table to a space: layers, and cuts between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from symscreen.expansion import ends_at, expand, foresee, require, resident
from symscreen.expression import columns_of
from symscreen.result import cut_of, uncut
from symscreen.table import with_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from symscreen.expansion import Cut, PoolKind, Space
    from symscreen.expansion.duplicates import Spread
    from symscreen.expression import Expression
    from symscreen.grammar import Grammar, Layer
    from symscreen.result import Request
    from symscreen.table import Table
    from symscreen.units import Units

    Watch = Callable[[Space, Cut], None]

__all__ = ["Growth", "grown", "holds_no_pool", "with_best_inputs"]

_HELD = 0.25  # a pool is held twice while it grows, and looked at besides
_LARGE = 1 << 29  # bytes; what a search computes of a larger pool costs little beside making it


@dataclass(frozen=True, eq=False)
class Growth:
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
    also: Sequence[Expression]
    cut: Request | None
    keeps: Mapping[str, int] | None
    max_bytes: int | None
    spread: Spread = map
    beside: int = 0
    searched: bool = False
    watch: Watch | None = None
    units: Units | None = None
    until: float | None = None


def grown(table: Table, growth: Growth, layers: Sequence[Layer]) -> tuple[Space, tuple[dict[str, Any], ...]]:
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
    check = ends_at(growth.until)
    request = growth.cut

    def cut(space: Space) -> Cut:
        assert request is not None  # noqa: S101  # it is passed on below only then
        kind = space.counts[-1].kind
        if growth.keeps is not None and kind not in growth.keeps:
            what = f"a pool of {space.size:,} features after layer {len(space.counts) - 1}"
            require(space.pool.bytes_with(space.size), growth.max_bytes, what)
            return uncut(space, request.backend, request.chunk_size, check)
        keep = None if growth.keeps is None else growth.keeps[kind]
        chosen = cut_of(space, table.response, request, keep)
        told.append(chosen.record)
        if growth.watch is not None:
            growth.watch(space, chosen.cut)
        return chosen.cut

    space = expand(
        table.names,
        table.columns,
        growth.grammar,
        layers,
        growth.pool_kind,
        also=growth.also,
        cut=None if request is None else cut,
        max_bytes=growth.max_bytes,
        beside=growth.beside,
        spread=growth.spread,
        thin=growth.searched and request is None and _grows_thin(table, growth, layers),
        units=growth.units,
        check=check,
    )
    return space, tuple(told)


def holds_no_pool(size: int, rows: int, growth: Growth) -> bool:
    """Say whether the values of a pool of some size are many, or would take much of what memory is left."""
    if growth.max_bytes is None:
        return size * rows * 8 > _LARGE
    return size * rows * 8 > min(_LARGE, _HELD * (growth.max_bytes - growth.beside - resident()))


def _grows_thin(table: Table, growth: Growth, layers: Sequence[Layer]) -> bool:
    if len(layers) == 1:
        return False
    counted = foresee(
        table.names,
        growth.grammar,
        layers[:-1],
        growth.pool_kind,
        max_bytes=growth.max_bytes,
        spread=growth.spread,
        units=growth.units and replace(growth.units, target=None),
    )
    return holds_no_pool(counted.features, table.response.n, growth)


def with_best_inputs(table: Table, growth: Growth) -> Table | None:
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
    if growth.cut is None:
        return table
    grammar = growth.grammar.altered(unary=["id"])
    space = expand(table.names, table.columns, grammar, grammar.parsed_layers("u"), "strict")
    chosen = cut_of(space, table.response, growth.cut, None).cut.numbers.tolist()
    kept = frozenset().union(*(columns_of(space.expression(number)) for number in chosen))
    return with_inputs(table, sorted(kept)) if kept else None
