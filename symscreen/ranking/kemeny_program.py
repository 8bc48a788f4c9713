"""The Kemeny median as an integer program over pairs of labels, where cycles run through many labels."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Places = NDArray[np.int64]

__all__ = ["order_by_program"]

_MOST_LABELS = 60  # in one cycle: more may take minutes, whatever the nodes
_MOST_NODES = 20_000  # of one integer program: a bound on work that is the same on every machine
_MOST_ROUNDS = 200  # of adding violated triangles
_MOST_ADDED = 3_000  # triangles in one round, the most violated first
_SLACK = 1e-6  # of a solver's feasibility
_ELSE = "take median_ranking with method='auto', which falls back on Borda's ranking"
_SCALE = 1e3  # of costs: HiGHS stops at an absolute gap of 1e-6, then 1e-9 of an expected distance


def order_by_program(costs: Values) -> Places:
    """Order labels at least cost by scipy's HiGHS.

    Parameters
    ----------
    costs : float64 array, shape (k, k)
        `costs[i, j]` is that of placing i before j.

    Returns
    -------
    int64 array, shape (k,)
        The labels from first to last; of several best orders whichever the solver comes to, the same for the
        same costs.

    Raises
    ------
    OptionError
        If there are more than 60 labels, or the solver passes its bound on work.

    Notes
    -----
    One variable x_ij for i < j, 1 where i comes before j and 0 where it comes after; for every i < j < l the
    triangle 0 ≤ x_ij + x_jl − x_il ≤ 1: no cycles. Only triangles that a solution violates are added, first
    to the linear relaxation, which alone often has a whole solution, then to the integer program.

    Examples
    --------
    >>> order_by_program(np.array([[0.0, 0.1, 0.6], [0.9, 0.0, 0.2], [0.4, 0.8, 0.0]])).tolist()
    [0, 1, 2]
    """
    k = len(costs)
    if k > _MOST_LABELS:
        raise OptionError(
            f"cycles of majorities join {k} labels, and exact medians are sought for up to {_MOST_LABELS}: "
            f"{_ELSE}"
        )
    if k == 1:
        return np.zeros(1, dtype=np.int64)
    first, second = np.triu_indices(k, 1)
    gains = _SCALE * (costs[first, second] - costs[second, first])
    triangles = _triangles_of(k)
    used = np.zeros(len(triangles.ij), dtype=bool)
    whole = False
    for _ in range(_MOST_ROUNDS):
        solution = _solved(gains, triangles, np.flatnonzero(used), whole=whole)
        if solution is None:
            break
        circular = solution[triangles.ij] + solution[triangles.jl] - solution[triangles.il]
        excess = np.maximum(-circular, circular - 1.0)
        violated = np.flatnonzero((excess > _SLACK) & ~used)
        if violated.size:
            used[violated[np.argsort(-excess[violated], kind="stable")[:_MOST_ADDED]]] = True
        elif np.abs(solution - np.rint(solution)).max() <= _SLACK:
            before = np.zeros((k, k))
            before[first, second] = np.rint(solution)
            before[second, first] = 1.0 - before[first, second]
            return np.argsort(-before.sum(axis=1), kind="stable").astype(np.int64)
        else:
            whole = True
    raise OptionError(
        f"no exact median of {k} labels that cycles of majorities join was found within {_MOST_NODES} nodes: "
        f"{_ELSE}"
    )


class _Triangles(NamedTuple):
    """For every i < j < l the places of its three pairs among all pairs."""

    ij: Places
    jl: Places
    il: Places


def _triangles_of(k: int) -> _Triangles:
    place = np.zeros((k, k), dtype=np.int64)
    place[np.triu_indices(k, 1)] = np.arange(k * (k - 1) // 2)
    triples = np.array(list(combinations(range(k), 3)), dtype=np.int64).reshape(-1, 3)
    i, j, last = triples.T
    return _Triangles(place[i, j], place[j, last], place[i, last])


def _solved(gains: Values, triangles: _Triangles, used: Places, *, whole: bool) -> Values | None:
    """Solve with the triangles used; None where the bound on work is passed."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    constraints = []
    if used.size:
        row = np.arange(used.size)
        entries = np.concatenate([np.ones(2 * used.size), -np.ones(used.size)])
        columns = np.concatenate([triangles.ij[used], triangles.jl[used], triangles.il[used]])
        shape = (used.size, gains.size)
        constraints = [LinearConstraint(csr_array((entries, (np.tile(row, 3), columns)), shape), 0.0, 1.0)]
    done = milp(
        gains,
        integrality=np.full(gains.size, int(whole)),
        bounds=Bounds(0.0, 1.0),
        constraints=constraints,
        options={"node_limit": _MOST_NODES, "mip_rel_gap": 0.0},
    )
    return np.asarray(done.x, dtype=np.float64) if done.status == 0 else None
