"""Nodes to values: features computed again from the inputs, where they are not held.

A feature of a pool is a small tree, so that to compute it is cheaper than to hold it for all rows. Each node
that is needed is computed once for a tile of rows, together with all others of its layer and operator.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion.nodes import COLUMN, CONSTANT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.expansion.nodes import Nodes, Structure

__all__ = ["values_of"]

_TILE_BYTES = 1 << 20  # of values of all nodes needed: they fit the cache
_FEWEST_ROWS = 16
_AT_A_TIME = 1 << 12  # nodes asked for that are computed together


def values_of(
    structure: Structure, nodes: Nodes, wanted: NDArray[np.int64], columns: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute nodes' values.

    Parameters
    ----------
    structure : Structure
        What the nodes refer to.
    nodes : Nodes
        All nodes.
    wanted : int64 array, shape (m,)
        The places of those whose values are wanted; in any order, and more than once.
    columns : float64 array, shape (d, n)
        The inputs, over the rows that are wanted.

    Returns
    -------
    float64 array, shape (m, n), C-contiguous
        To the bit what a layer computed of them, whatever else is wanted and whichever rows.
    """
    out = np.empty((len(wanted), columns.shape[1]))
    for first in range(0, len(wanted), _AT_A_TIME):
        part = slice(first, first + _AT_A_TIME)
        _fill(out[part], structure, _walk_to(nodes, wanted[part]), columns)
    return out


@dataclass(frozen=True, eq=False)
class _Walk:
    """What is computed on the way, the nodes needed in the order of their layers.

    Parameters
    ----------
    steps : list of (int, int, int)
        An operator's code, and from where to where nodes are made by it, all of one layer.
    left, right : int64 arrays, shape (k,)
        Where among the nodes needed the arguments are; for leaves the place of the name or constant.
    goal : int64 array, shape (m,)
        Where those wanted are.
    """

    steps: list[tuple[int, int, int]]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    goal: NDArray[np.int64]


def _walk_to(nodes: Nodes, wanted: NDArray[np.int64]) -> _Walk:
    needed = fringe = np.unique(wanted)
    while len(inner := fringe[nodes.operator[fringe] >= 0]):
        arguments = np.unique(np.concatenate((nodes.left[inner], nodes.right[inner]))).astype(np.int64)
        fringe = np.setdiff1d(arguments, needed, assume_unique=True)
        needed = np.union1d(needed, fringe)
    operator, layer = nodes.operator[needed], nodes.layer[needed]
    # arguments are of older layers, so that one layer's nodes do not wait for each other
    order = np.lexsort((operator, layer))
    place = np.empty(len(needed), dtype=np.int64)
    place[order] = np.arange(len(needed))
    operator, layer = operator[order], layer[order]
    left, right = nodes.left[needed[order]].astype(np.int64), nodes.right[needed[order]].astype(np.int64)
    made = operator >= 0
    left[made] = place[np.searchsorted(needed, left[made])]
    right[made] = place[np.searchsorted(needed, right[made])]
    new = np.flatnonzero((operator[1:] != operator[:-1]) | (layer[1:] != layer[:-1])) + 1
    ends = [0, *new.tolist(), len(needed)]
    steps = [(int(operator[a]), a, b) for a, b in pairwise(ends) if a < b]
    return _Walk(steps, left, right, place[np.searchsorted(needed, wanted)])


def _fill(out: NDArray[np.float64], structure: Structure, walk: _Walk, columns: NDArray[np.float64]) -> None:
    """Take the walk, some rows at a time."""
    nodes, n = len(walk.left), columns.shape[1]
    constants = np.array(structure.constants, dtype=np.float64)
    rows = max(_FEWEST_ROWS, _TILE_BYTES // (8 * max(1, nodes)))
    space = np.empty(nodes * min(rows, n))
    for first in range(0, n, rows):
        last = min(first + rows, n)
        tile = space[: nodes * (last - first)].reshape(nodes, last - first)
        with np.errstate(all="ignore"):
            for code, a, b in walk.steps:
                left, right = walk.left[a:b], walk.right[a:b]
                if code == COLUMN:
                    tile[a:b] = columns[left, first:last]
                elif code == CONSTANT:
                    tile[a:b] = constants[left, None]
                elif structure.operators[code].arity == 1:
                    tile[a:b] = structure.operators[code].numeric(tile[left])
                else:
                    tile[a:b] = structure.operators[code].numeric(tile[left], tile[right])
        out[:, first:last] = tile[walk.goal]
