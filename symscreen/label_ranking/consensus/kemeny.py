"""The Kemeny median as an integer program over pairs of labels, where cycles run through many labels.

The exact Kemeny median: min_σ L_P(σ) (Clémençon et al., eq. 3).

Labels are first parted by the majorities' cycles: a pair from two parts is ordered by its majority at no
loss, so each part can be solved for itself. A small part is solved by dynamic programming over its subsets, a
larger one as an integer program over pairs whose triangles are added as they are violated.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.errors import OptionError
from symscreen.label_ranking.consensus.pairwise_probabilities import (
    compute_preferences,
    to_probability_matrix,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.label_ranking.consensus.pairwise_probabilities import Pairwise

    Indices = NDArray[np.int64]

__all__ = [
    "MAX_SUBSET_LABELS",
    "find_cycles",
    "find_kemeny_median",
    "solve_kemeny_by_subsets",
    "solve_kemeny_program",
]

_MAX_PROGRAM_LABELS = 60  # in one cycle: more may take minutes, whatever the nodes
_MAX_NODES = 20_000  # of one integer program: a bound on work that is the same on every machine
_MAX_ROUNDS = 200  # of adding violated triangles
_MAX_ADDED_TRIANGLES = 3_000  # triangles in one round, the most violated first
_FEASIBILITY_TOLERANCE = 1e-6  # of a solver's feasibility
_FALLBACK_HINT = "take median_ranking with method='auto', which falls back on Borda's ranking"
_COST_SCALE = 1e3  # of costs: HiGHS stops at an absolute gap of 1e-6, then 1e-9 of an expected distance


def solve_kemeny_program(costs: Values) -> Indices:
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
    >>> solve_kemeny_program(np.array([[0.0, 0.1, 0.6], [0.9, 0.0, 0.2], [0.4, 0.8, 0.0]])).tolist()
    [0, 1, 2]
    """
    k = len(costs)
    if k > _MAX_PROGRAM_LABELS:
        raise OptionError(
            f"cycles of majorities join {k} labels, and exact medians are sought for up to "
            f"{_MAX_PROGRAM_LABELS}: "
            f"{_FALLBACK_HINT}"
        )
    if k == 1:
        return np.zeros(1, dtype=np.int64)
    first, second = np.triu_indices(k, 1)
    gains = _COST_SCALE * (costs[first, second] - costs[second, first])
    triangles = _list_triangles(k)
    used = np.zeros(len(triangles.ij), dtype=bool)
    whole = False
    for _ in range(_MAX_ROUNDS):
        solution = _solve_program(gains, triangles, np.flatnonzero(used), integer=whole)
        if solution is None:
            break
        circular = solution[triangles.ij] + solution[triangles.jl] - solution[triangles.il]
        excess = np.maximum(-circular, circular - 1.0)
        violated = np.flatnonzero((excess > _FEASIBILITY_TOLERANCE) & ~used)
        if violated.size:
            used[violated[np.argsort(-excess[violated], kind="stable")[:_MAX_ADDED_TRIANGLES]]] = True
        elif np.abs(solution - np.rint(solution)).max() <= _FEASIBILITY_TOLERANCE:
            before = np.zeros((k, k))
            before[first, second] = np.rint(solution)
            before[second, first] = 1.0 - before[first, second]
            return np.argsort(-before.sum(axis=1), kind="stable").astype(np.int64)
        else:
            whole = True
    raise OptionError(
        f"no exact median of {k} labels that cycles of majorities join was found within {_MAX_NODES} nodes: "
        f"{_FALLBACK_HINT}"
    )


class _Triangles(NamedTuple):
    """For every i < j < l the places of its three pairs among all pairs."""

    ij: Indices
    jl: Indices
    il: Indices


def _list_triangles(k: int) -> _Triangles:
    place = np.zeros((k, k), dtype=np.int64)
    place[np.triu_indices(k, 1)] = np.arange(k * (k - 1) // 2)
    triples = np.array(list(combinations(range(k), 3)), dtype=np.int64).reshape(-1, 3)
    i, j, last = triples.T
    return _Triangles(place[i, j], place[j, last], place[i, last])


def _solve_program(gains: Values, triangles: _Triangles, active: Indices, *, integer: bool) -> Values | None:
    """Solve with the triangles used; None where the bound on work is passed."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    constraints = []
    if active.size:
        row = np.arange(active.size)
        entries = np.concatenate([np.ones(2 * active.size), -np.ones(active.size)])
        columns = np.concatenate([triangles.ij[active], triangles.jl[active], triangles.il[active]])
        shape = (active.size, gains.size)
        constraints = [LinearConstraint(csr_array((entries, (np.tile(row, 3), columns)), shape), 0.0, 1.0)]
    done = milp(
        gains,
        integrality=np.full(gains.size, int(integer)),
        bounds=Bounds(0.0, 1.0),
        constraints=constraints,
        options={"node_limit": _MAX_NODES, "mip_rel_gap": 0.0},
    )
    return np.asarray(done.x, dtype=np.float64) if done.status == 0 else None


MAX_SUBSET_LABELS = 14  # labels of one part, up to which all its subsets are gone through
_MAX_ENUMERATED_LABELS = 20  # labels whose subsets are gone through if asked for: 2^20 losses are 8 MB
_COST_DECIMALS = 12  # of costs: beyond is rounding of weights, which depends on the order of rows
_LOSS_TOLERANCE = 1e-10  # losses this close are one: their order is rounding


def find_kemeny_median(p: Pairwise) -> Values:
    """Find an exact Kemeny median.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities; pairs never seen cost nothing either way.

    Returns
    -------
    float64 array, shape (k,)
        Ranks 1 to k. Of several medians the one is taken that lists parts with the smallest label first where
        no majority orders them, and inside a part of up to 14 labels the smallest label first, place by
        place.

    Raises
    ------
    OptionError
        If one net of cycles joins more than 60 labels, or the integer program passes its bound on work.

    Examples
    --------
    >>> cycle = np.array([[0.5, 0.9, 0.4], [0.1, 0.5, 0.8], [0.6, 0.2, 0.5]])
    >>> find_kemeny_median(cycle).tolist()
    [1.0, 2.0, 3.0]
    """
    matrix = to_probability_matrix(p)
    parts = find_cycles(p)
    order = np.concatenate([part[_order_component(matrix[np.ix_(part, part)])] for part in parts])
    ranks = np.empty(len(matrix))
    ranks[order] = np.arange(1.0, len(matrix) + 1.0)
    return ranks


def find_cycles(p: Pairwise) -> list[Indices]:
    """Part the labels into those that cycles of strict majorities join.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities.

    Returns
    -------
    list of int64 arrays
        The strongly connected parts of the relation p_ij > ½, each ascending, in an order in which no label
        comes after one that it is preferred to in another part; of parts that could come next the one with
        the smallest label does.

    Examples
    --------
    >>> find_cycles(np.array([[0.5, 0.2], [0.8, 0.5]]))
    [array([1]), array([0])]
    """
    wins = compute_preferences(to_probability_matrix(p)) > 0
    reach = wins | np.eye(len(wins), dtype=bool)
    for middle in range(len(wins)):  # Warshall's closure
        reach |= reach[:, middle, None] & reach[None, middle, :]
    mutual = reach & reach.T
    firsts = mutual.argmax(axis=1)  # the smallest label of each label's part
    waiting = sorted(set(firsts.tolist()))
    parts = []
    while waiting:
        free = next(one for one in waiting if not any(reach[other, one] for other in waiting if other != one))
        parts.append(np.flatnonzero(firsts == free).astype(np.int64))
        waiting.remove(free)
    return parts


def solve_kemeny_by_subsets(p: Pairwise) -> Values:
    """Find the Kemeny median by dynamic programming over subsets of labels, O(2^k k²) compiled.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities, k ≤ 20.

    Returns
    -------
    float64 array, shape (k,)
        Ranks 1 to k; of several medians the one with the smallest label first, place by place.

    Raises
    ------
    OptionError
        If k > 20.

    Examples
    --------
    >>> solve_kemeny_by_subsets(np.full((3, 3), 0.5)).tolist()
    [1.0, 2.0, 3.0]
    """
    costs = _compute_costs(p)
    if len(costs) > _MAX_ENUMERATED_LABELS:
        raise OptionError(
            f"{len(costs)} labels have too many subsets to go through: up to {_MAX_ENUMERATED_LABELS} can "
            "be, "
            "and kemeny_median solves larger ones as an integer program"
        )
    order = np.empty(len(costs), dtype=np.int64)
    _find_best_order(costs, _LOSS_TOLERANCE, order)
    return _to_ranks(order)


def _order_component(matrix: Values) -> Indices:
    if len(matrix) == 1:
        return np.zeros(1, dtype=np.int64)
    if len(matrix) > MAX_SUBSET_LABELS:
        return solve_kemeny_program(_compute_costs(matrix))
    return np.argsort(solve_kemeny_by_subsets(matrix)).astype(np.int64)


def _compute_costs(p: Pairwise) -> Values:
    """Tell what placing i before j costs, p_ji; shape (k, k), 0 on the diagonal and for pairs never seen."""
    costs = np.asarray(
        np.round(np.nan_to_num(to_probability_matrix(p).T, nan=0.0), _COST_DECIMALS), dtype=np.float64
    )
    np.fill_diagonal(costs, 0.0)
    return costs


def _to_ranks(order: Indices) -> Values:
    ranks = np.empty(order.size)
    ranks[order] = np.arange(1.0, order.size + 1.0)
    return ranks


@compile_kernel
def _find_best_order(costs: Values, tolerance: float, order: Indices) -> None:
    """Fill in the order of least cost; `costs[i, j]` is that of placing i before j."""
    k = costs.shape[0]
    least = np.empty(1 << k)  # of ordering the labels of each set after one another
    least[0] = 0.0
    for members in range(1, 1 << k):
        best = np.inf
        for i in range(k):
            if members >> i & 1:
                rest = members & ~(1 << i)
                loss = least[rest]
                for j in range(k):
                    if rest >> j & 1:
                        loss += costs[i, j]
                best = min(best, loss)
        least[members] = best
    members = (1 << k) - 1
    for place in range(k):
        for i in range(k):
            if members >> i & 1:
                rest = members & ~(1 << i)
                loss = least[rest]
                for j in range(k):
                    if rest >> j & 1:
                        loss += costs[i, j]
                if loss <= least[members] + tolerance:
                    order[place] = i
                    members = rest
                    break
