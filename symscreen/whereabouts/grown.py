"""A space with the cuts that led to it, and what it holds in the place of a formula's part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion.nodes import expression_of
from symscreen.expansion.prune import equal_to_rounding, projection
from symscreen.expression import evaluate, key
from symscreen.pipeline.rounds import space_of
from symscreen.whereabouts.match import by_key, by_values, simplest_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen.expansion import Cut, Space
    from symscreen.expansion.pool import Pool
    from symscreen.expression import Expression
    from symscreen.pipeline.rounds import Job
    from symscreen.table import Table

__all__ = ["Grown", "Lost", "grown_with_cuts"]

_NEAR = 2e-9  # on the line of `projection`, features equal up to rounding stand closer


@dataclass(frozen=True, eq=False)
class Lost:
    """A feature that a cut took.

    Parameters
    ----------
    layer : int
        After which layer.
    space : Space
        What was cut.
    number : int
        The feature's number there.
    """

    layer: int
    space: Space
    number: int


@dataclass(frozen=True, eq=False)
class Grown:
    """A space, and how it was grown.

    Parameters
    ----------
    table : Table
        The data.
    job : Job
        The screen.
    space : Space
        What the screen scores.
    cuts : tuple of (Space, Cut)
        The spaces that were cut on the way, with what stayed of each.
    """

    table: Table
    job: Job
    space: Space
    cuts: tuple[tuple[Space, Cut], ...]

    @property
    def columns(self) -> Mapping[str, NDArray[np.float64]]:
        """The inputs by name."""
        return dict(zip(self.table.names, self.table.columns, strict=True))

    def in_place_of(self, part: Expression) -> Expression | None:
        """Return what the pool of the last layer has, or had, in the place of a formula's part.

        Parameters
        ----------
        part : Expression
            Defined in every row.

        Returns
        -------
        Expression or None
            Equal to it by algebra or, up to rounding, by its values; None where there is nothing.
        """
        pool = self.space.pool
        own = np.array(key(part), dtype=np.uint64)
        members = np.flatnonzero((pool.nodes.keys == own).all(axis=1))
        if len(members):
            simplest = members[np.argmin(pool.nodes.complexity[members])]
            return expression_of(pool.structure, pool.all_nodes, int(pool.members[simplest]))
        if self.job.pool_kind == "strict":  # it has dropped what its members are made of, but for their nodes
            nodes = np.flatnonzero((pool.all_nodes.keys == own).all(axis=1))
            if len(nodes):
                simplest = nodes[np.argmin(pool.all_nodes.complexity[nodes])]
                return expression_of(pool.structure, pool.all_nodes, int(simplest))
        place = _with_values(pool, evaluate(part, self.columns))
        return None if place is None else expression_of(pool.structure, pool.all_nodes, place)

    def lost_to_a_cut(self, part: Expression) -> Lost | None:
        """Find the last cut that took a formula's part.

        Parameters
        ----------
        part : Expression
            Defined in every row, and not in the pool any more.

        Returns
        -------
        Lost or None
        """
        request = self.job.request
        for space, cut in reversed(self.cuts):
            kept = by_key(space, key(part), request.backend).kept
            if not len(kept):
                values = evaluate(part, self.columns)
                kept, _ = by_values(space, values, request.backend, request.chunk_size)
            if len(kept) and not np.isin(kept, cut.numbers).any():
                return Lost(len(space.counts) - 1, space, simplest_in(space, kept))
        return None


def _with_values(pool: Pool, values: NDArray[np.float64]) -> int | None:
    """Find the node of a member of a pool with some values."""
    assert pool.learnt is not None  # noqa: S101  # a space that is scored has values
    near = np.flatnonzero(np.abs(pool.learnt.line - projection(values[None])[0]) <= _NEAR)
    near = near[np.isin(near, pool.features)]
    found = pool.computed(near)
    same = near[equal_to_rounding(found, np.broadcast_to(values, found.shape))] if len(near) else near
    return int(pool.members[same[0]]) if len(same) else None


def grown_with_cuts(table: Table, job: Job) -> Grown:
    """Grow the space of a job, and keep what was cut.

    Parameters
    ----------
    table : Table
        The data.
    job : Job
        The screen.

    Returns
    -------
    Grown
    """
    cuts: list[tuple[Space, Cut]] = []
    space, _ = space_of(table, job, lambda before, cut: cuts.append((before, cut)))
    return Grown(table, job, space, tuple(cuts))
